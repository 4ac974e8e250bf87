//! The storage, not the lock, refuses the holder that was paused.

use crate::place::Place;

async fn late_writer_is_refused(place: Place) {
    let printed = place.fencing().await;
    let tokens: Vec<u64> = printed
        .lines()
        .filter_map(|line| line.split_once("acquired")?.1.rsplit(' ').next())
        .map(|token| token.parse().unwrap())
        .collect();
    let [first, second] = tokens[..] else {
        panic!("{printed}");
    };
    assert!(first < second, "{printed}");
    assert_eq!(
        printed.lines().collect::<Vec<_>>(),
        [
            "A ->> Lock: acquire",
            &format!("Lock ->> A: acquired, token {first}"),
            &format!("A ->> Storage: write with token {first}"),
            "Storage ->> A: written",
            "A ->> A: do I hold the lock? true",
            "A ->> A: (paused)",
            "B ->> Lock: acquire",
            &format!("Lock ->> B: acquired when A's lease had ended, token {second}"),
            &format!("B ->> Storage: write with token {second}"),
            "Storage ->> B: written",
            "A ->> A: (awake, and about to do what it had decided)",
            &format!("A ->> Storage: write with token {first}"),
            &format!(
                "Storage ->> A: refused, stale fencing token {first}: the resource has already seen {second}"
            ),
            "A ->> A: do I hold the lock? false",
            "A ->> Lock: release",
            "Lock ->> A: another holder has it by now",
            "B ->> Lock: release",
            "Lock ->> B: released",
            "Storage: \"written by B\"",
        ]
    );
}

on_every_store!(late_writer_is_refused);
