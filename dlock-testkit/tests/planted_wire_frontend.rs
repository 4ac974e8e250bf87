//! The wire cases catch bugs of the frontend as well, over a real socket and in real time. Built only
//! with `--cfg dlock_planted`, as `planted_frontend`, which has the whole table.

#![cfg(dlock_planted)]

mod tcp;

use std::thread;

use dlock_core::{Bug, plant};
use dlock_testkit::wire::{CASES, caught};

use self::tcp::Tcp;

const CAUGHT: &[(Bug, &[&str])] = &[
    (
        Bug::ReplyTimeBase,
        &["lost_reply_of_an_acquire_is_found_by_its_repeat"],
    ),
    (
        Bug::RetryRestartsClock,
        &["lost_reply_of_an_acquire_is_found_by_its_repeat"],
    ),
    (
        Bug::FreshUuidPerRepeat,
        &["lost_reply_of_an_acquire_is_found_by_its_repeat"],
    ),
    (Bug::NoMargin, &["silent_partition_ends_the_lease_in_time"]),
    (
        Bug::ErrorIsLoss,
        &[
            "lost_reply_of_a_renewal_costs_nothing",
            "renewal_cut_at_any_moment_loses_no_lease",
            "outage_within_the_ride_through_bound_loses_no_lease",
        ],
    ),
    (Bug::LossWaitsForRenewal, &["hung_renewals_delay_no_loss"]),
    (
        Bug::RenewalGivesUp,
        &[
            "renewal_cut_at_any_moment_loses_no_lease",
            "outage_within_the_ride_through_bound_loses_no_lease",
        ],
    ),
    (
        Bug::RenewalUnbounded,
        &["outage_within_the_ride_through_bound_loses_no_lease"],
    ),
    (
        Bug::ReleaseOnce,
        &["lock_works_through_a_cut_at_any_moment"],
    ),
    (
        Bug::RepeatIsStale,
        &["lost_reply_of_a_release_is_a_release"],
    ),
    (
        Bug::StaleReleaseHidden,
        &["silent_partition_ends_the_lease_in_time"],
    ),
    (Bug::CancelForgets, &["cancelled_acquire_leaves_nothing"]),
    (
        Bug::TryNeverGivenUp,
        &["acquire_without_an_answer_stops_blocking_in_time"],
    ),
];

// One test: the switch is the whole process's.
#[test]
fn frontend_bugs_are_caught_on_the_wire() {
    let mut survivors = Vec::new();
    for (bug, cases) in CAUGHT {
        plant(Some(*bug));
        thread::scope(|scope| {
            let caught = |name: &'static str| {
                let case = CASES.iter().find(|case| case.name == name).unwrap();
                (name, caught(Tcp::with(None), case))
            };
            let all: Vec<_> = cases
                .iter()
                .map(|name| scope.spawn(move || caught(name)))
                .collect();
            for case in all {
                if let (name, Ok(())) = case.join().unwrap() {
                    survivors.push(format!("{bug:?} survives {name}"));
                }
            }
        });
        plant(None);
    }
    assert!(survivors.is_empty(), "{survivors:#?}");
}
