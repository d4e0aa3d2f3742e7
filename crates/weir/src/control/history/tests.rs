use super::*;

/// 2026-11-22 12:00:30 UTC.
const NOW: u64 = 1_795_348_830;

fn words<'a>(window: Option<&'a str>, from: Option<&'a str>, to: Option<&'a str>) -> Words<'a> {
    Words { window, from, to }
}

#[test]
fn a_time_is_named_by_two_of_its_three_ends() {
    let noon = "2026-11-22T12:00:00Z";
    let noon_s = NOW - 30;
    for (asked, expected) in [
        (words(None, None, None), None),
        (words(Some("15m"), None, None), Some((NOW + 1 - 900, NOW + 1))),
        (words(Some("1h30m"), None, Some(noon)), Some((noon_s - 5400, noon_s))),
        (words(Some("10s"), Some(noon), None), Some((noon_s, noon_s + 10))),
        (words(None, Some("2026-11-22T13:00:00+01:00"), None), Some((noon_s, NOW + 1))),
        (words(None, Some("1795348800"), Some("1795348860")), Some((noon_s, noon_s + 60))),
    ] {
        assert_eq!(period(&asked, NOW).unwrap(), expected);
    }
    for asked in [
        words(None, None, Some(noon)),
        words(Some("1m"), Some(noon), Some(noon)),
        words(Some("0s"), None, None),
        words(Some("1500ms"), None, None),
        words(Some("soon"), None, None),
        words(None, Some("1969-12-31T00:00:00Z"), Some(noon)),
        words(None, Some("yesterday"), None),
        words(None, Some("2026-11-22T12:00:00"), None),
        words(None, Some(noon), Some(noon)),
    ] {
        assert_eq!(period(&asked, NOW).unwrap_err().code, Code::BadRequest);
    }
}

#[test]
fn periods_that_are_compared_are_whole_minutes_and_never_overlap() {
    let minute = NOW - 30;
    let text = |text: &str| Some(text.to_owned());
    let asked = |window: &str, against: Option<&str>| CompareAsked {
        window: text(window),
        against: against.map(str::to_owned),
        ..CompareAsked::default()
    };
    let end = minute + 60;
    let hour = (end - 3600, end);
    for (asked, expected) in [
        (CompareAsked::default(), [hour, (end - 7200, end - 3600)]),
        (asked("1h", Some("1h")), [hour, (end - 7200, end - 3600)]),
        (asked("1h", Some("1d")), [hour, (end - 90_000, end - 86_400)]),
        (asked("90s", None), [(end - 120, end), (end - 240, end - 120)]),
        (
            CompareAsked {
                against_from: text("1795000000"),
                against_to: text("1795000100"),
                ..asked("1h", None)
            },
            [hour, (1_794_999_960, 1_795_000_140)],
        ),
    ] {
        assert_eq!(periods(&asked, NOW).unwrap().map(|(whole, _)| whole), expected, "{asked:?}");
    }
    // A minute that has just begun has not seen what comes every few seconds.
    let early = |asked: &CompareAsked, at: u64| periods(asked, at).unwrap().map(|(whole, _)| whole);
    for (at, (from, then)) in [
        (minute + 1, (minute - 60, minute - 180)),
        (minute + 29, (minute - 60, minute - 180)),
        (minute + 30, (minute, minute - 60)),
    ] {
        assert_eq!(early(&asked("1m", Some("1m")), at), [(from, end), (then, from)], "{at}");
        assert_eq!(early(&asked("1m", None), at), [(from, end), (then, from)], "{at}");
    }
    assert_eq!(early(&asked("1m", Some("1h")), minute + 1)[1], (minute - 3660, end - 3600));
    // What was asked for is told as well.
    let wanted = |asked: &CompareAsked| periods(asked, NOW).unwrap().map(|(_, wanted)| wanted);
    let now = NOW + 1;
    assert_eq!(wanted(&asked("90s", None)), [(now - 90, now), (now - 180, now - 90)]);
    assert_eq!(wanted(&asked("90s", Some("130s"))), [(now - 90, now), (now - 220, now - 130)]);
    for wrong in [
        asked("1h", Some("30m")),
        asked("1h", Some("0s")),
        CompareAsked { against_from: text("1795000000"), ..asked("1h", None) },
        CompareAsked { against_from: text("5000"), against_to: text("100"), ..asked("1h", None) },
        CompareAsked {
            against_from: text("1795000000"),
            against_to: text("1795400000"),
            ..asked("1h", None)
        },
    ] {
        let error = periods(&wrong, NOW).unwrap_err();
        assert_eq!(error.code, Code::BadRequest, "{wrong:?}");
        // Who asks with the command line knows no `against`.
        assert!(wrong.against.is_none() || error.message.contains("`--compare`"), "{wrong:?}: {error}");
    }
}

#[test]
fn without_a_history_it_is_said_how_to_get_one() {
    let error = show(None, &HistoryAsked::default()).unwrap_err();
    assert_eq!(error.code, Code::NoHistory);
    assert!(error.message.contains("history.file"), "{error}");
    let error = show(
        None,
        &HistoryAsked { window: Some("40d".into()), step: Some("1s".into()), ..HistoryAsked::default() },
    );
    assert!(error.unwrap_err().message.contains("10000 points"));
}
