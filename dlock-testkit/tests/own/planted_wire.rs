//! For every driver with a bug, a wire case fails.

use std::{net::SocketAddr, time::Duration};

use dlock_testkit::wire::{CASES, Case, Wired, caught};

use crate::tcp::{Bug, Tcp, TcpProvider};

/// One test for each bug. The named case runs first, which saves the search.
macro_rules! planted {
    ($($test:ident: $bug:ident first $case:ident;)*) => {
        $(
            #[test]
            fn $test() {
                let is_first = |case: &&Case| case.name == stringify!($case);
                let first = CASES.iter().filter(is_first);
                let rest = CASES.iter().filter(|case| !is_first(case));
                let fails = |case| caught(Tcp::with(Some(Bug::$bug)), case).is_err();
                assert!(first.chain(rest).any(fails), "no case fails for {:?}", Bug::$bug);
            }
        )*
    };
}

planted! {
    kept_connection_is_caught: KeepsItsConnection first silent_call_ends_and_its_connection_with_it;
    lent_broken_connection_is_caught: KeepsBrokenConnections first call_cut_at_any_moment_is_told_truly_and_its_repeat_answered;
    hidden_repeat_is_caught: Repeats first release_that_let_the_next_holder_in_is_not_denied;
    call_without_a_limit_is_caught: NoLimit first silent_call_ends_and_its_connection_with_it;
    fatal_reset_is_caught: FatalWhenCut first call_cut_at_any_moment_is_told_truly_and_its_repeat_answered;
    denied_request_is_caught: DeniesWhatItSent first call_cut_at_any_moment_is_told_truly_and_its_repeat_answered;
    doubted_refusal_is_caught: UnsureOfRefusals first refused_connection_is_not_applied;
    repeat_as_somebody_else_is_caught: AsksAnew first call_cut_at_any_moment_is_told_truly_and_its_repeat_answered;
    assumed_grant_is_caught: AssumesItsGrants first call_cut_at_any_moment_is_told_truly_and_its_repeat_answered;
    false_loss_is_caught: LostWhenUnanswered first lost_reply_of_a_renewal_costs_nothing;
    assumed_renewal_is_caught: AssumesItsRenewals first silent_partition_ends_the_lease_in_time;
    assumed_release_is_caught: AssumesItsReleases first lost_reply_of_a_release_is_a_release;
    forgotten_release_is_caught: ForgetsItsReleases first call_cut_at_any_moment_is_told_truly_and_its_repeat_answered;
    release_of_a_stranger_is_caught: ReleasesAnybody first request_that_arrives_late_changes_nothing;
    long_lease_is_caught: KeepsTooLong first silent_partition_ends_the_lease_in_time;
    short_lease_is_caught: KeepsTooShort first silent_partition_ends_the_lease_in_time;
}

/// A driver that declares that its calls share a connection.
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

/// A shared connection may be silent for a while, but a wrong answer is never forgiven.
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
