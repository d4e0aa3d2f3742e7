//! What each key does.

use std::time::Duration;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::state::{Note, Proposal, Sort, State, View, Wish};

/// The intervals to choose from, in seconds.
pub const INTERVALS: [u64; 6] = [1, 2, 5, 10, 30, 60];

/// Characters of what is typed, at most.
const TYPED: usize = 200;

/// Lines that a page key moves.
const PAGE: usize = 10;

impl State {
    /// What is to be asked because of this key.
    pub fn key(&mut self, key: KeyEvent) -> Option<Wish> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return (key.code == KeyCode::Char('c')).then_some(Wish::Quit);
        }
        self.note = None;
        match std::mem::take(&mut self.view) {
            View::List => self.in_list(key.code),
            View::Help => None,
            View::Filter(before) => self.in_filter(key.code, before),
            View::Details { id, text, from } => self.in_details(key.code, id, text, from),
            View::Ttl { id, ttl } => self.in_ttl(key.code, id, ttl),
            View::Confirm { proposal, from } => self.in_confirm(key.code, proposal, from),
            // What was sent cannot be called back; its answer is shown when it comes.
            View::Waiting(what) => {
                self.view = View::Waiting(what);
                (key.code == KeyCode::Char('q')).then_some(Wish::Quit)
            }
        }
    }

    fn in_list(&mut self, code: KeyCode) -> Option<Wish> {
        match code {
            KeyCode::Char('q') => return Some(Wish::Quit),
            KeyCode::Char('?') => self.view = View::Help,
            KeyCode::Char('/') => self.view = View::Filter(self.filter.clone()),
            KeyCode::Char('p' | ' ') => self.paused = !self.paused,
            KeyCode::Char('+' | '>') => return self.interval(1),
            KeyCode::Char('-' | '<') => return self.interval(-1),
            KeyCode::Char('c') => self.sort = Sort::Calls,
            KeyCode::Char('t') => self.sort = Sort::Time,
            KeyCode::Char('m') => self.sort = Sort::Mean,
            KeyCode::Char('r') => self.sort = Sort::Rows,
            KeyCode::Char('e') => self.sort = Sort::Errors,
            KeyCode::Char('h') => self.sort = Sort::Hits,
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Up | KeyCode::Char('k') => self.go(|at, _| at.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => self.go(|at, _| at + 1),
            KeyCode::PageUp => self.go(|at, _| at.saturating_sub(PAGE)),
            KeyCode::PageDown => self.go(|at, _| at + PAGE),
            KeyCode::Home => self.go(|_, _| 0),
            KeyCode::End => self.go(|_, last| last),
            KeyCode::Enter => {
                let id = self.at_hand()?;
                self.view = View::Waiting("asking about the digest");
                return Some(Wish::Details(id));
            }
            KeyCode::Char('a') => {
                let id = self.at_hand()?;
                self.view = View::Ttl { id, ttl: String::new() };
            }
            _ => {}
        }
        None
    }

    fn interval(&mut self, step: isize) -> Option<Wish> {
        let at = INTERVALS.iter().position(|s| *s >= self.every.as_secs()).unwrap_or(INTERVALS.len() - 1);
        let at = at.saturating_add_signed(step).min(INTERVALS.len() - 1);
        self.every = Duration::from_secs(INTERVALS[at]);
        Some(Wish::Every(self.every))
    }

    /// Chooses the row at the place that `to` makes of the one now and of the last.
    fn go(&mut self, to: impl FnOnce(usize, usize) -> usize) {
        let listed = self.listed();
        let last = listed.len().saturating_sub(1);
        let place = to(self.place(&listed), last).min(last);
        self.chosen = listed.get(place).map(|row| row.id.clone());
    }

    fn in_filter(&mut self, code: KeyCode, before: String) -> Option<Wish> {
        match code {
            KeyCode::Enter => return None,
            KeyCode::Esc => {
                self.filter = before;
                return None;
            }
            code => typed(&mut self.filter, code),
        }
        self.view = View::Filter(before);
        None
    }

    fn in_details(&mut self, code: KeyCode, id: String, text: String, from: u16) -> Option<Wish> {
        let last = u16::try_from(text.lines().count().saturating_sub(1)).unwrap_or(u16::MAX);
        let from = match code {
            KeyCode::Esc | KeyCode::Enter | KeyCode::Char('q') => return None,
            KeyCode::Char('a') => {
                self.view = View::Ttl { id, ttl: String::new() };
                return None;
            }
            KeyCode::Up | KeyCode::Char('k') => from.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => from.saturating_add(1),
            KeyCode::PageUp => from.saturating_sub(PAGE as u16),
            KeyCode::PageDown => from.saturating_add(PAGE as u16),
            KeyCode::Home => 0,
            KeyCode::End => last,
            _ => from,
        };
        self.view = View::Details { id, text, from: from.min(last) };
        None
    }

    fn in_confirm(&mut self, code: KeyCode, proposal: Proposal, from: u16) -> Option<Wish> {
        let from = match code {
            KeyCode::Char('y' | 'Y') => {
                self.view = View::Waiting("adding the rule");
                return Some(Wish::Add(proposal));
            }
            KeyCode::Char('n' | 'N' | 'q') | KeyCode::Esc => {
                self.note = Some(Note { text: "nothing was changed".to_owned(), bad: false });
                return None;
            }
            KeyCode::Up | KeyCode::Char('k') => from.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => from.saturating_add(1),
            _ => from,
        };
        self.view = View::Confirm { proposal, from: from.min(SCROLLED) };
        None
    }

    fn in_ttl(&mut self, code: KeyCode, id: String, mut ttl: String) -> Option<Wish> {
        match code {
            KeyCode::Esc => return None,
            KeyCode::Enter if !ttl.is_empty() && is_ttl(&ttl) => {
                self.view = View::Waiting("making the rule");
                return Some(Wish::Propose { id, ttl });
            }
            KeyCode::Enter if !ttl.is_empty() => {
                let text = format!("`{ttl}` is no TTL: a number and a unit, as 30s, 5m or 1h30m");
                self.note = Some(Note { text, bad: true });
            }
            code => typed(&mut ttl, code),
        }
        self.view = View::Ttl { id, ttl };
        None
    }
}

/// The rest, such as the greatest one, the running Weir knows.
fn is_ttl(text: &str) -> bool {
    weir_config::duration(text).is_some_and(|ttl| !ttl.is_zero())
}

/// Lines that a rule is scrolled at most. 200: the longest digest that is kept, on a narrow screen.
const SCROLLED: u16 = 200;

fn typed(text: &mut String, code: KeyCode) {
    match code {
        KeyCode::Backspace => drop(text.pop()),
        KeyCode::Char(c) if text.chars().count() < TYPED => text.push(c),
        _ => {}
    }
}
