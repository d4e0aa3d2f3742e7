//! A Control for tests, with two rules and no memory but of what it was asked.

#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

use std::sync::Mutex;

use serde_json::json;
use weir_model::{Role, Token};

use crate::*;

/// What the holder of the role sends with each request.
pub(crate) fn token(role: Role) -> String {
    format!("weir_{}", role.as_str())
}

/// One token for each role, named after it.
pub(crate) fn access() -> Arc<Access> {
    let token = |role: &Role| Token {
        name: role.as_str().to_owned(),
        role: *role,
        hash: weir_auth::token_hash(token(*role).as_bytes()),
    };
    Access::new(Role::ALL.iter().map(token).collect())
}

#[derive(Default)]
pub(crate) struct Fake {
    pub asked: Mutex<Vec<String>>,
}

impl Fake {
    fn note(&self, what: impl std::fmt::Debug) {
        self.asked.lock().unwrap().push(format!("{what:?}"));
    }

    fn changed(&self, rule: &str) -> Result<Changed, ApiError> {
        match rule {
            "broken" => panic!("a bug"),
            "gone" => Err(ApiError::new(Code::UnknownRule, "there is no rule `gone`")),
            _ => Ok(Changed {
                rule: rule.to_owned(),
                position: Some(1),
                file: None,
                warnings: Vec::new(),
                not_served: 0,
                wiped: Covered::default(),
            }),
        }
    }
}

fn state(name: &str) -> RuleState {
    RuleState {
        name: name.to_owned(),
        position: 1,
        rule: json!({"name": name, "match": {}}),
        toml: format!("[[rule]]\nname = \"{name}\"\n"),
        hits: 7,
        last_hit: None,
        time_seconds: 0.25,
        done: Default::default(),
        warnings: Vec::new(),
        not_served: 0,
        cache: Some(CacheCounts::default()),
        effect: None,
    }
}

fn digest() -> DigestShown {
    DigestShown { id: "0123456789abcdef".to_owned(), text: "SELECT ?".to_owned() }
}

fn session() -> Session {
    Session {
        id: 1_073_741_824,
        user: "app".to_owned(),
        client: "unix".to_owned(),
        tls: None,
        schema: None,
        state: SessionState::Idle,
        state_seconds: 0.5,
        age_seconds: 1.0,
        commands: 3,
        bytes_in: 10,
        bytes_out: 20,
        not_served: None,
        pins: Vec::new(),
        pinned_seconds: None,
        server: None,
        server_connection_id: None,
        statement: None,
    }
}

fn advised(id: &str) -> Advised {
    Advised {
        id: id.to_owned(),
        digest: digest().text,
        digest_cut: false,
        user: None,
        schema: None,
        cached_by: None,
        mode: None,
        calls: 3,
        server_seconds: 0.5,
        unchanged_seconds: 0.25,
        seconds: 60.0,
        keys: 1,
        one_of: 1,
        best: None,
        not_worth: None,
        command: None,
        ladder: Vec::new(),
    }
}

impl Control for Fake {
    fn rules(&self, asked: RulesAsked) -> Result<RuleTable, ApiError> {
        let rules = [state("one"), state("test")];
        let page = rules.iter().skip(asked.offset.unwrap_or(0)).take(asked.limit.unwrap_or(usize::MAX));
        Ok(RuleTable {
            rules: page.cloned().collect(),
            total: 2,
            offset: asked.offset.unwrap_or(0),
            version: "v1".to_owned(),
            file: None,
            not_served: 0,
        })
    }

    fn rule(&self, name: &str) -> Result<RuleState, ApiError> {
        self.changed(name).map(|done| state(&done.rule))
    }

    fn add(&self, new: &NewRule, _: Option<&str>) -> Result<Changed, ApiError> {
        self.note(new);
        self.changed("new")
    }

    fn name_in(&self, toml: &str) -> Option<String> {
        toml.strip_prefix("name = ").map(str::to_owned)
    }

    fn replace(&self, name: &str, new: &RuleText, _: Option<&str>) -> Result<Changed, ApiError> {
        self.note((name, new));
        self.changed(name)
    }

    fn move_to(&self, name: &str, place: &Place, _: Option<&str>) -> Result<Changed, ApiError> {
        self.note((name, place));
        self.changed(name)
    }

    fn remove(&self, name: &str, _: Option<&str>) -> Result<Changed, ApiError> {
        self.note(name);
        self.changed(name)
    }

    fn test(&self, question: &Question) -> Result<Tested, ApiError> {
        self.note(question);
        Ok(Tested { digest: digest(), decides: None, actions: Vec::new(), tried: Vec::new() })
    }

    fn explain(&self, _: &Question) -> Result<Explanation, ApiError> {
        Err(ApiError::new(Code::BadRequest, "there is no statement"))
    }

    fn queries(&self, asked: &QueriesAsked) -> Result<Queries, ApiError> {
        self.note(asked);
        let query = Query {
            id: digest().id,
            digest: digest().text,
            digest_cut: false,
            user: "app".to_owned(),
            schema: String::new(),
            server: "main".to_owned(),
            together: None,
            quadrant: Quadrant::OftenSlow,
            cacheable: true,
            sample: None,
            counts: QueryCounts::default(),
        };
        let (other, quadrants) = (Some(QueryCounts::default()), Vec::new());
        Ok(Queries {
            enabled: true,
            queries: vec![query],
            selected: 0,
            offset: 0,
            rows: 1,
            other,
            quadrants,
            evicted: 0,
            memory: 0,
            period: None,
        })
    }

    fn query(&self, id: &str, _: QueryAsked) -> Result<QueryShown, ApiError> {
        self.note(id);
        let (all, rows) = (QueryCounts::default(), Vec::new());
        Ok(QueryShown {
            id: id.to_owned(),
            digest: digest().text,
            digest_cut: false,
            all,
            rows,
            total: 0,
            offset: 0,
        })
    }

    fn reset_queries(&self) -> Reset {
        Reset { rows: 3 }
    }

    fn cache(&self) -> CacheState {
        let total = CacheCounts::default();
        CacheState {
            memory: 1,
            used: 2,
            max_entry: 3,
            user_memory: Some(7),
            users: vec![UserCacheState { user: "app".to_owned(), bytes: 5 }],
            entries: 4,
            past_ttl: Covered::default(),
            flights: 5,
            total,
            rules: Vec::new(),
        }
    }

    fn preview(&self, selection: &Selection) -> Result<Covered, ApiError> {
        self.note(selection);
        Ok(Covered { entries: 1, bytes: 2 })
    }

    fn without_literals(&self, selection: &Selection) -> Selection {
        Selection { digest: selection.digest.as_ref().map(|_| digest().text), ..selection.clone() }
    }

    fn wipe(&self, selection: &Selection) -> Result<Covered, ApiError> {
        self.preview(selection)
    }

    fn reload(&self) -> Result<Reloaded, ApiError> {
        Ok(Reloaded { changes: vec!["log.level: info -> warn".to_owned()] })
    }

    fn sessions(&self, asked: &SessionsAsked) -> Result<Sessions, ApiError> {
        self.note(asked);
        Ok(Sessions { sessions: vec![session()], total: 7, offset: 0, not_served: 0 })
    }

    fn session(&self, id: &str) -> Result<Session, ApiError> {
        self.note(id);
        Ok(session())
    }

    fn status(&self) -> Status {
        Status {
            version: "1.2.3".to_owned(),
            started: 1,
            uptime_seconds: 2.0,
            config_file: None,
            draining: false,
            server: ServerStatus {
                name: "main".to_owned(),
                address: "127.0.0.1:3306".to_owned(),
                family: None,
                version: None,
                reachable: false,
                error: Some("not tried yet".to_owned()),
            },
            clients: ClientsStatus {
                connected: 1,
                limit: 2,
                logging_in: 0,
                waiting: 0,
                running: 0,
                in_transaction: 0,
                pinned: 0,
                not_served: 0,
            },
            connections: ConnectionsStatus { open: 1, limit: 2, in_use: 1, idle: 0, pinned: 0, waiting: 0 },
            traffic: Traffic {
                seconds: 1.0,
                statements_per_second: 2.0,
                errors_per_second: 0.0,
                bytes_in_per_second: 0.0,
                bytes_out_per_second: 0.0,
                hit_ratio: None,
            },
            cache: CacheStatus {
                memory: 1,
                used: 0,
                entries: 0,
                hit_ratio: None,
                shadow_seen: 0,
                shadow_hits: 0,
            },
            process: ProcessStatus::now(),
            rules: 2,
            shadow_rules: 0,
            last_reload: None,
            warnings: Vec::new(),
            suggestions: Vec::new(),
        }
    }

    fn kill(&self, id: &str, what: KillWhat) -> Result<SessionKilled, ApiError> {
        self.note((id, what));
        Ok(SessionKilled { id: 5, what, state: SessionState::Running })
    }

    fn advise_pins(&self, asked: PinsAsked) -> Result<PinAdvice, ApiError> {
        self.note(asked);
        Ok(PinAdvice {
            enabled: true,
            observed_seconds: 1.5,
            connections: 0.0,
            sessions_now: 0,
            reasons: Vec::new(),
            statements: Vec::new(),
            total_statements: 0,
            users: Vec::new(),
            total_users: 0,
            offset: asked.offset.unwrap_or(0),
        })
    }

    fn advise_cache(&self, asked: &AdviceAsked) -> Result<CacheAdvice, ApiError> {
        self.note(asked);
        Ok(CacheAdvice {
            enabled: true,
            statements: vec![advised(&digest().id)],
            total: 1,
            offset: 0,
            left_out: 3,
            least_seconds: 0.5,
            least_hit_ratio: 0.1,
            server_seconds: 50.0,
            observed_seconds: 60.0,
            watched: 1,
            memory: 2,
        })
    }

    fn advise_cache_of(&self, id: &str) -> Result<AdvisedShown, ApiError> {
        self.note(id);
        Ok(AdvisedShown { all: advised(id), rows: Vec::new() })
    }

    fn history(&self, asked: &HistoryAsked) -> Result<HistoryShown, ApiError> {
        self.note(asked);
        let period = Period { from: 60, to: 120, covered_seconds: 1.5, asked_from: 70, asked_to: 110 };
        let points = vec![HistoryPoint { at: 60, ..HistoryPoint::default() }];
        Ok(HistoryShown { period, step_seconds: 60, points, state: HistoryState::default() })
    }

    fn compare(&self, asked: &CompareAsked) -> Result<Compared, ApiError> {
        self.note(asked);
        Err(ApiError::new(Code::NoHistory, "there is no history"))
    }
}
