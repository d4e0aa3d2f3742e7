use super::*;

fn settings(max_lifetime: Duration) -> PoolSettings {
    let limits = PoolLimits {
        max: 8,
        min_idle: 0,
        idle_timeout: Duration::from_secs(60),
        max_waiting: 8,
        max_pinned: 8,
    };
    PoolSettings {
        sharing: Sharing::Transaction,
        limits,
        warm_up: false,
        server_statements: 100,
        max_lifetime,
        queue_timeout: Duration::from_secs(10),
        reuse_timeout: Duration::ZERO,
    }
}

#[test]
fn connections_that_were_made_together_end_within_the_last_tenth_of_their_time_and_not_together() {
    let (born, life) = (Instant::now(), Duration::from_secs(1800));
    let settings = settings(life);
    let ends: Vec<Duration> = (0..1000).map(|id| settings.until(born, id, DAY, born) - born).collect();
    assert!(ends.iter().all(|end| *end <= life && *end > life * 9 / 10), "{ends:?}");
    let mut each = ends.clone();
    each.sort();
    each.dedup();
    assert_eq!(each.len(), 100, "a hundred moments");
    // One that is older than that is used no more, whenever it comes back.
    let later = born + life;
    assert!(settings.until(born, 7, DAY, later) <= later);
}

#[test]
fn a_connection_is_idle_no_longer_than_its_server_allows_and_at_most_a_day() {
    let now = Instant::now();
    let forever = settings(Duration::ZERO);
    assert_eq!(forever.until(now, 1, Duration::from_millis(1600), now) - now, Duration::from_millis(1600));
    assert_eq!(forever.until(now, 1, 10 * DAY, now) - now, DAY);
}
