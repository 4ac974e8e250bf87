//! `quickstart` prints the expected line at every step.

use crate::place::Place;

async fn tour(place: Place) {
    let printed = place.quickstart().await;
    let lines: Vec<&str> = printed.lines().collect();
    let [writing, wrote, holding, held, released, other] = lines[..] else {
        panic!("{printed}");
    };
    let token = |line: &str, before: &str| -> u64 {
        let rest = line
            .strip_prefix(before)
            .unwrap_or_else(|| panic!("{line}"));
        rest.split(' ').next().unwrap().parse().unwrap()
    };
    let first = token(writing, "writing the report with token ");
    assert_eq!(wrote, "wrote 3 rows");
    let second = token(holding, "holding nightly-report with token ");
    assert!(second > first, "{printed}");
    assert_eq!(
        held,
        "this process holds it already (locks are not re-entrant)"
    );
    assert_eq!(released, "released: Released");
    assert_eq!(other, "holding customer-7, renewed until it is dropped");
}

on_every_store!(tour);
