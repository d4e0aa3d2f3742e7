use super::*;

#[test]
fn durations_are_read_and_written() {
    for (text, ms) in [
        ("0s", 0),
        ("250ms", 250),
        ("10s", 10_000),
        ("5m", 300_000),
        ("1h30m", 5_400_000),
        ("1d1ms", 86_400_001),
    ] {
        assert_eq!(duration(text), Some(Duration::from_millis(ms)), "{text}");
        assert_eq!(duration_text(Duration::from_millis(ms)), text);
    }
    assert_eq!(duration("0"), Some(Duration::ZERO));
    assert_eq!(duration("90m"), Some(Duration::from_secs(5400)));
}

#[test]
fn bad_durations_are_refused() {
    for text in [
        "",
        "10",
        "s",
        "1.5s",
        "-1s",
        "10 s",
        "1s1s",
        "1m1h",
        "1x",
        "1S",
        "99999999999999999999s",
        "9999999999999999999d",
        "s1",
    ] {
        assert_eq!(duration(text), None, "{text}");
    }
}

#[test]
fn sizes_are_read_and_written() {
    for (text, bytes) in
        [("512B", 512), ("32KiB", 32_768), ("1MiB", 1 << 20), ("3GiB", 3 << 30), ("1025B", 1025)]
    {
        assert_eq!(size(text), Some(bytes), "{text}");
        assert_eq!(size_text(bytes), text);
    }
    assert_eq!(size_text(0), "0B");
    for text in
        ["", "1", "KiB", "1KB", "1kib", "1 KiB", "1KiB2", "-1B", "99999999999999999999B", "99999999999GiB"]
    {
        assert_eq!(size(text), None, "{text}");
    }
}
