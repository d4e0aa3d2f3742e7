use super::*;

#[test]
fn numbers_have_the_digits_that_matter() {
    for (value, text) in [
        (0.0, "0"),
        (0.0123, "0.012"),
        (1.5, "1.50"),
        (12.34, "12.3"),
        (999.6, "1,000"),
        (12_345.6, "12,346"),
        (-1_234_567.0, "-1,234,567"),
    ] {
        assert_eq!(number(value), text);
    }
}

#[test]
fn an_axis_ends_above_the_largest_value_on_a_round_number() {
    for (largest, limit, step) in [
        (0.0, 1.0, 0.2),
        (7.0, 8.0, 2.0),
        (250.0, 250.0, 50.0),
        (84_000.0, 100_000.0, 20_000.0),
        (11.0, 12.5, 2.5),
    ] {
        let axis = Axis::up_to(largest);
        assert!(
            (axis.limit - limit).abs() < 1e-6 && (axis.step - step).abs() < 1e-6,
            "{largest}: {}",
            axis.limit
        );
        assert!((axis.place(axis.limit) - TOP).abs() < 1e-6);
        assert!((axis.ticks().last().unwrap() - axis.limit).abs() < 1e-6);
    }
}

#[test]
fn ticks_of_an_axis_have_the_same_decimals() {
    for (largest, texts) in [
        (15.0, vec!["0", "5", "10", "15"]),
        (11.0, vec!["0.0", "2.5", "5.0", "7.5", "10.0", "12.5"]),
        (0.9, vec!["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (4_000.0, vec!["0", "1,000", "2,000", "3,000", "4,000"]),
    ] {
        let axis = Axis::up_to(largest);
        assert_eq!(axis.ticks().map(|tick| axis.text(tick)).collect::<Vec<_>>(), texts);
    }
}

#[test]
fn each_doubling_of_clients_takes_as_much_room() {
    let xs = distinct([64, 1, 8, 8].into_iter());
    let [(1, first), (8, second), (64, third)] = xs[..] else { panic!("{xs:?}") };
    assert!((second - first - (third - second)).abs() < 1e-6);
    assert!((third - (WIDTH - RIGHT)).abs() < 1e-6);
    // One number alone stands in the middle.
    assert!((distinct([8].into_iter())[0].1 - (LEFT + INNER_WIDTH / 2.0)).abs() < 1e-6);
}

#[test]
fn a_graph_holds_its_points_and_no_markup_of_names() {
    let lines = vec![Line { name: "a <b>", slot: 1, points: vec![(1, 5.0), (8, 20.0)] }];
    let svg = super::lines(&Lines { y: "per second", unit: "q/s", lines, limit: Some(10.0) });
    assert!(svg.contains("a &lt;b&gt;, 8 clients: 20.0 q/s") && !svg.contains("<b>"), "{svg}");
    assert_eq!(svg.matches("<svg").count(), svg.matches("</svg>").count());
    assert_eq!(svg.matches("class=\"mark s1\"").count(), 2);
    let part = |class, value| Part { name: "server", class, value };
    let bars = vec![(8, vec![part("c-server", 0.5), part("c-server-sys", 0.25)])];
    let svg = super::bars(&Bars { y: "cores", unit: "cores", bars, limit: 2.0 });
    let heights: Vec<&str> =
        svg.split("height=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(heights, ["60.0", "30.0"], "{svg}");
}
