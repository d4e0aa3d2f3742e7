//! Times on the command line.

use super::At;
use clap::Args;

/// Totals over time.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub struct HistoryArgs {
    #[command(flatten)]
    pub period: PeriodArgs,
    /// The time of each line, for example 10s or 1h [default: such that there are up to 60]
    #[arg(long, value_name = "DURATION")]
    pub step: Option<String>,
    #[command(flatten)]
    pub at: At,
}

const HELP: &str = "Examples:\n\n    \
weir history -c weir.toml                              # the last 15 minutes\n    \
weir history -c weir.toml --window 7d --step 6h\n    \
weir history -c weir.toml --from '2026-11-21 14:00' --to '2026-11-21 14:10' --step 1m";

/// A time, in the zone of this machine where none is given.
#[derive(Debug, Args)]
#[command(next_help_heading = "A time")]
pub struct PeriodArgs {
    /// So much time until now, or until --to, for example 15m, 1h or 7d
    #[arg(long, value_name = "DURATION")]
    pub window: Option<String>,
    /// From this moment on: 2026-11-21, '2026-11-21 14:00', 14:00 of today, or with a zone 2026-11-21T14:00:00+01:00
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub from: Option<i64>,
    /// Until this moment [default: now]
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub to: Option<i64>,
}

impl PeriodArgs {
    /// As the API takes it.
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        let moment = |moment: Option<i64>| moment.map(|moment| moment.to_string());
        let all = [("window", self.window.clone()), ("from", moment(self.from)), ("to", moment(self.to))];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// What a time is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Against {
    /// The same time so much earlier.
    Back(String),
    FromTo(i64, i64),
}

impl Against {
    /// As the API takes it.
    pub fn pairs(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Back(back) => vec![("against", back.clone())],
            Self::FromTo(from, to) => {
                vec![("against_from", from.to_string()), ("against_to", to.to_string())]
            }
        }
    }
}

pub fn against(text: &str) -> Result<Against, String> {
    match text.split_once("..") {
        Some((from, to)) => Ok(Against::FromTo(moment(from)?, moment(to)?)),
        None if weir_config::duration(text).is_some() => Ok(Against::Back(text.to_owned())),
        None => {
            Err("give a time such as 1d, which is the same window one day earlier, or FROM..TO".to_owned())
        }
    }
}

/// Seconds since 1970.
fn moment(text: &str) -> Result<i64, String> {
    moment_in(text.trim(), &jiff::Zoned::now())
}

fn moment_in(text: &str, now: &jiff::Zoned) -> Result<i64, String> {
    use jiff::civil::{Date, DateTime, Time};
    if let Ok(moment) = text.parse::<jiff::Timestamp>() {
        return Ok(moment.as_second());
    }
    let civil = match (text.parse::<Time>(), text.parse::<DateTime>(), text.parse::<Date>()) {
        // Without a day: today.
        (Ok(time), ..) if text.contains(':') && !text.contains('-') => Ok(now.date().to_datetime(time)),
        (_, Ok(moment), _) => Ok(moment),
        (_, _, Ok(day)) => Ok(day.to_datetime(Time::midnight())),
        _ => Err(()),
    };
    let zoned = civil.and_then(|civil| civil.to_zoned(now.time_zone().clone()).map_err(|_| ()));
    zoned
        .map(|zoned| zoned.timestamp().as_second())
        .map_err(|()| "give a time such as '2026-11-21 14:00', 14:00 or 2026-11-21T14:00:00Z".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_the_zone_of_the_machine() {
        let now: jiff::Zoned = "2026-11-22T10:00:00+01:00[+01:00]".parse().unwrap();
        for (text, expected) in [
            ("2026-11-21T14:00:00Z", "2026-11-21T14:00:00Z"),
            ("2026-11-21T14:00:00+03:00", "2026-11-21T11:00:00Z"),
            ("2026-11-21 14:00", "2026-11-21T13:00:00Z"),
            ("2026-11-21 14:00:30", "2026-11-21T13:00:30Z"),
            ("2026-11-21", "2026-11-20T23:00:00Z"),
            ("09:30", "2026-11-22T08:30:00Z"),
        ] {
            let expected = expected.parse::<jiff::Timestamp>().unwrap().as_second();
            assert_eq!(moment_in(text, &now), Ok(expected), "{text}");
        }
        for text in ["", "yesterday", "25:00", "2026-13-01", "15m"] {
            assert!(moment_in(text, &now).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_compared_with_is_a_time_back_or_two_moments() {
        assert_eq!(against("1d"), Ok(Against::Back("1d".to_owned())));
        let two = against("2026-11-21T14:00:00Z..2026-11-21T15:00:00Z").unwrap();
        assert_eq!(two, Against::FromTo(1_795_269_600, 1_795_273_200));
        assert!(against("").is_err() && against("a day").is_err() && against("1d..").is_err());
    }
}
