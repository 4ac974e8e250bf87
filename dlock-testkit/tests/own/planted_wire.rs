//! Every wire case catches a driver with a bug, and every bug is caught by the cases that say so.

use std::{collections::BTreeSet, net::SocketAddr, time::Duration};

use dlock_testkit::wire::{CASES, Wired, caught};

use crate::tcp::{Bug, Tcp, TcpProvider};

/// One test for each bug, and the table.
macro_rules! planted {
    ($($test:ident: $bug:ident by [$($case:ident),* $(,)?];)*) => {
        $(
            #[test]
            fn $test() {
                for case in [$(stringify!($case)),*] {
                    let case = CASES.iter().find(|known| known.name == case).expect("a case");
                    let ended = caught(Tcp::with(Some(Bug::$bug)), case);
                    assert!(ended.is_err(), "{case:?} misses {:?}", Bug::$bug);
                }
            }
        )*

        const CAUGHT: &[&[&str]] = &[$(&[$(stringify!($case)),*]),*];
    };
}

planted! {
    kept_connection_is_caught: KeepsItsConnection by [
        silent_call_ends_and_its_connection_with_it,
        dropped_call_leaves_its_connection_to_nobody,
    ];
    lent_broken_connection_is_caught: KeepsBrokenConnections by [
        call_cut_at_any_moment_is_told_truly_and_its_repeat_answered,
        idle_connections_that_ended_are_replaced,
    ];
    hidden_repeat_is_caught: Repeats by [
        release_that_let_the_next_holder_in_is_not_denied,
    ];
    call_without_a_limit_is_caught: NoLimit by [
        silent_call_ends_and_its_connection_with_it,
    ];
    fatal_reset_is_caught: FatalWhenCut by [
        call_cut_at_any_moment_is_told_truly_and_its_repeat_answered,
        lock_works_through_a_cut_at_any_moment,
    ];
    denied_request_is_caught: DeniesWhatItSent by [
        call_cut_at_any_moment_is_told_truly_and_its_repeat_answered,
    ];
    doubted_refusal_is_caught: UnsureOfRefusals by [
        refused_connection_is_not_applied,
    ];
    repeat_as_somebody_else_is_caught: AsksAnew by [
        call_cut_at_any_moment_is_told_truly_and_its_repeat_answered,
        lost_reply_of_an_acquire_is_found_by_its_repeat,
    ];
    assumed_grant_is_caught: AssumesItsGrants by [
        call_cut_at_any_moment_is_told_truly_and_its_repeat_answered,
        lost_reply_of_an_acquire_is_found_by_its_repeat,
        random_faults_never_give_one_lock_to_two,
    ];
    false_loss_is_caught: LostWhenUnanswered by [
        lost_reply_of_a_renewal_costs_nothing,
        renewal_cut_at_any_moment_loses_no_lease,
        outage_within_the_ride_through_bound_loses_no_lease,
    ];
    assumed_renewal_is_caught: AssumesItsRenewals by [
        silent_partition_ends_the_lease_in_time,
        hung_renewals_delay_no_loss,
    ];
    assumed_release_is_caught: AssumesItsReleases by [
        lost_reply_of_a_release_is_a_release,
        lock_works_through_a_cut_at_any_moment,
    ];
    forgotten_release_is_caught: ForgetsItsReleases by [
        call_cut_at_any_moment_is_told_truly_and_its_repeat_answered,
    ];
    release_of_a_stranger_is_caught: ReleasesAnybody by [
        request_that_arrives_late_changes_nothing,
        silent_partition_ends_the_lease_in_time,
    ];
    long_lease_is_caught: KeepsTooLong by [
        silent_partition_ends_the_lease_in_time,
        acquire_without_an_answer_stops_blocking_in_time,
        cancelled_acquire_leaves_nothing,
        waiter_takes_over_through_random_faults,
    ];
    short_lease_is_caught: KeepsTooShort by [
        silent_partition_ends_the_lease_in_time,
        hung_renewals_delay_no_loss,
    ];
}

/// A driver that says that its calls share a connection.
struct Sharing(Tcp);

impl Wired for Sharing {
    type Provider = TcpProvider;

    const HANDSHAKE: usize = Tcp::HANDSHAKE;

    const SHARED: bool = true;

    async fn start() -> Self {
        Self(Tcp::start().await)
    }

    fn server(&self) -> SocketAddr {
        self.0.server()
    }

    async fn provider(&self, address: SocketAddr, limit: Duration) -> TcpProvider {
        self.0.provider(address, limit).await
    }
}

/// What is forgiven a shared connection is a while, and no wrong answer.
#[test]
fn bugs_of_a_shared_connection_are_caught() {
    for (bug, name) in [
        (
            Bug::KeepsItsConnection,
            "dropped_call_leaves_its_connection_to_nobody",
        ),
        (
            Bug::ReleasesAnybody,
            "silent_partition_ends_the_lease_in_time",
        ),
    ] {
        let case = CASES
            .iter()
            .find(|known| known.name == name)
            .expect("a case");
        let start = async { Sharing(Tcp::with(Some(bug)).await) };
        let ended = caught(start, case);
        assert!(ended.is_err(), "{name} misses {bug:?}");
    }
}

#[test]
fn every_case_catches_a_bug() {
    let caught: BTreeSet<&str> = CAUGHT.iter().copied().flatten().copied().collect();
    for case in CASES {
        assert!(caught.contains(case.name), "{case:?} has no planted bug");
    }
    let bugs = CAUGHT.len();
    println!("figures: {{\"planted\": \"in a driver\", \"bugs\": {bugs}}}");
}
