//! The trap: a mutex does not give "once per period". And the way out: `at_least`.

use crate::place::Place;

async fn job_runs_once_where_a_mutex_runs_it_three_times(place: Place) {
    let printed = place.cron().await;
    let lines: Vec<&str> = printed
        .lines()
        .map(|line| line.split(", token ").next().unwrap())
        .collect();
    assert_eq!(
        lines,
        [
            "== a mutex, and clocks 1.5s apart",
            "a: writes the report",
            "b: writes the report",
            "c: writes the report",
            "== runs: 3",
            "== at_least, and clocks 1.5s apart",
            "a: writes the report",
            "b: nothing to do, a has done it",
            "c: nothing to do, a has done it",
            "== runs: 1",
        ],
        "{printed}"
    );
}

on_every_store!(job_runs_once_where_a_mutex_runs_it_three_times);
