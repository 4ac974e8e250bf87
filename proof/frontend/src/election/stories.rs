//! The stories. Each says where its bound comes from; the book's design/time.md has the formulas ("How long things take").

use std::time::Duration;

use dlock_core::{
    Name, Provider,
    provider::{Admin, Revoke, RevokeOutcome},
};
use dlock_election::{Coordinator, Reason, Transition};
use dlock_testkit::slow::in_time;
use tokio::time::{Instant, sleep, sleep_until};

use super::{
    instance::Instance,
    measure::pair,
    voters::{Voters, until},
};

/// The limit for events that should happen soon.
const SOON: Duration = Duration::from_secs(20);

/// The bound counts from the instant at which the dead leader's last renewal was sent; it is longer where contenders
/// observe than where a store's clock decides. From its last task to the next leader's first, that time and a period
/// pass at most.
pub(super) async fn crashed_leader_is_followed_within_the_bound(voters: Voters) {
    let (mut first, second) = pair(&voters).await;
    let sent = first.between_renewals().await;
    first.crash().await;
    let gained = second.gained(sent, SOON).await;
    let bound = voters.failover(second.discipline());
    let took = gained - sent;
    assert!(
        took >= voters.lease,
        "{took:?}: before the lease was over (I1)"
    );
    at_most(took, bound);

    let stage = &voters.stage;
    until("the task runs again", SOON, || {
        stage.runs().last().is_some_and(|(who, _)| who == "second")
    })
    .await;
    let runs = stage.runs();
    let change = runs
        .windows(2)
        .find(|pair| pair[0].0 != pair[1].0)
        .map(|pair| pair[1].1 - pair[0].1)
        .unwrap_or_default();
    let (period, most) = (voters.lease / 2, bound + voters.lease / 2);
    assert!(change >= period, "{change:?} between runs of two leaders");
    at_most(change, most);
    stage.is_sound();
}

/// The other instance leads at once with wake-ups, and at its next attempt without them. The lease is longer where a
/// wake-up has to be distinguished from an attempt.
pub(super) async fn stopped_leader_is_followed_at_once(voters: Voters) {
    let woken = voters.wakes().await;
    let voters = if woken { voters.longer(8) } else { voters };
    let (mut first, second) = pair(&voters).await;
    let stopped = Instant::now();
    first.stop().await;
    let took = second.gained(stopped, SOON).await - stopped;
    let bound = if woken {
        Duration::from_secs(1)
    } else {
        voters.attempts() + voters.attempts() / 5 + voters.slack()
    };
    at_most(took, bound);
    in_time(first.losses() == 0, "what was still to be done");
    voters.stage.is_sound();
}

/// A silent partition. The worst moment to be cut off is right before a renewal; even then a partition of nearly half
/// of a lease, less the time of an attempt and the pause after it, can be survived (V6). A longer one ends the
/// leadership at 0.8 of a lease after the last good renewal was sent (V1), without a word from the store, and before
/// another instance can win. An answer that arrives late restores nothing.
pub(super) async fn leader_that_is_cut_off_rides_it_out_or_steps_down_before_a_rival(
    voters: Voters,
) {
    let (first, second) = pair(&voters).await;
    let lease = voters.lease;
    let sent = first.renewed().await;
    sleep_until(sent + lease * 3 / 10).await;
    first.cut_off();
    sleep_until(sent + lease * 11 / 20).await;
    first.mend().await;
    first.renewed().await;
    let rival = second.election.is_leader();
    let kept = first.election.is_leader();
    in_time(
        kept && first.losses() == 0,
        "what should have been ridden out",
    );
    assert!(!rival, "two lead");

    let sent = first.between_renewals().await;
    first.cut_off();
    let lost = first.lost(sent, SOON).await - sent;
    let validity = voters.validity();
    at_most(lost, validity + voters.slack() / 2);
    // The renewal is recorded a moment after it was sent.
    at_most(validity, lost + lease / 20);
    until("its work ends", voters.slack(), || {
        voters.stage.working() == 0
    })
    .await;
    let rival = second.election.is_leader();
    at_most(sent.elapsed(), lease);
    assert!(!rival, "a rival before the lease was over");
    let gained = second.gained(sent, SOON).await - sent;
    assert!(gained >= lease, "{gained:?}: before the lease was over");
    let bound = voters.failover(second.discipline());
    at_most(gained, bound);

    first.mend().await;
    second.renewed().await;
    second.renewed().await;
    in_time(second.losses() == 0, "what should have kept it in office");
    assert_eq!(first.losses(), 1);
    assert!(!first.election.is_leader(), "what came late restored it");
    voters.stage.is_sound();
}

pub(super) async fn store_that_is_down_for_all_stops_all_work_until_it_is_back(voters: Voters) {
    let stage = &voters.stage;
    let all = [
        voters.instance("first").await,
        voters.instance("second").await,
        voters.instance("third").await,
    ];
    until("an instance leads", SOON, || stage.working() == 1).await;
    let leads = |instance: &&Instance| instance.election.is_leader();
    if let Some(leader) = all.iter().find(leads) {
        leader.between_renewals().await;
    }
    let down = Instant::now();
    for instance in &all {
        instance.lose_the_store().await;
    }
    until("no instance leads", SOON, || {
        !all.iter().any(|instance| leads(&instance))
    })
    .await;
    at_most(down.elapsed(), voters.lease);
    until("no instance works", voters.slack(), || stage.working() == 0).await;
    while down.elapsed() < 2 * voters.lease {
        assert_eq!(stage.working(), 0, "work without a store");
        sleep(voters.lease / 50).await;
    }
    for instance in &all {
        instance.mend().await;
    }
    let back = Instant::now();
    until("an instance leads again", SOON, || stage.working() == 1).await;
    // Where contenders observe, their observation may begin only now.
    let bound = voters.failover(all[0].discipline()) + voters.lease / 3;
    at_most(back.elapsed(), bound);
    stage.is_sound();
}

/// The term is revoked in the store (B1), which the leader learns from its next renewal, at the latest a third of a
/// lease after the last one.
pub(super) async fn refused_renewal_ends_the_leadership_at_once(voters: Voters) {
    let (first, second) = pair(&voters).await;
    let Some(leadership) = first.election.leadership() else {
        panic!("it has just led");
    };
    first.renewed().await;
    let revoked = Instant::now();
    revoke(&second, &voters.name).await;
    let lost = first.lost(revoked, SOON).await - revoked;
    at_most(lost, voters.lease / 3 + voters.slack());
    assert!(!leadership.is_valid());
    let again = || [&first, &second].map(|instance| instance.election.leadership());
    until("an instance leads again", SOON, || {
        again().iter().any(Option::is_some)
    })
    .await;
    for leader in again().into_iter().flatten() {
        assert!(leader.token() > leadership.token(), "tokens grow (I3)");
    }
    assert!(!leadership.is_valid(), "nothing brings it back");
    voters.stage.is_sound();
}

/// While answers are an eighth of a lease late, the deadline is never later than the sending of the newest answered
/// renewal plus 0.8 of a lease. Answers that come later than an attempt lasts (a sixth) do not count.
pub(super) async fn slow_renewal_counts_from_when_it_left(voters: Voters) {
    let leader = voters.instance("leader").await;
    leader.leads().await;
    let lease = voters.lease;
    leader.renewed().await;
    leader.slow_down(lease / 8);
    let began = Instant::now();
    while began.elapsed() < 2 * lease {
        let Some(leadership) = leader.election.leadership() else {
            // Only answers that are later than that end it: those of a slow store, or of a slow machine.
            return in_time(false, "answers that are an eighth of a lease late");
        };
        let deadline = Instant::now() + leadership.remaining();
        // Read after the deadline: the renewal on which that rests is known by then.
        let sent = leader.newest().unwrap_or(began);
        let most = sent + voters.validity() + lease / 100;
        assert!(deadline <= most, "{:?} too late", deadline - most);
        sleep(lease / 100).await;
    }
    in_time(
        leader.losses() == 0,
        "answers that are an eighth of a lease late",
    );

    let sent = leader.renewed().await;
    leader.slow_down(lease / 4);
    let lost = leader.lost(sent, SOON).await - sent;
    // A renewal that was sent before may still have been in time.
    at_most(
        lost,
        voters.validity() + lease / 3 + lease / 6 + voters.slack(),
    );
    until("its work ends", voters.slack(), || {
        voters.stage.working() == 0
    })
    .await;
    leader.mend().await;
    leader.gained(sent, SOON).await;
    voters.stage.is_sound();
}

/// The leader learns of the request from its next renewal (B3).
pub(super) async fn leader_resigns_when_another_instance_asks(voters: Voters) {
    let (first, second) = pair(&voters).await;
    first.renewed().await;
    let asked = Instant::now();
    match second.election.ask_leader_to_resign(&second.provider).await {
        Ok(true) => {}
        other => in_time(false, format_args!("a leader that can be asked: {other:?}")),
    }
    let gained = second.gained(asked, SOON).await - asked;
    let attempt = voters.attempts() + voters.attempts() / 5;
    at_most(gained, voters.lease / 3 + attempt + voters.slack());
    first
        .told("it has resigned", asked, SOON, |transition| {
            matches!(
                transition,
                Transition::Resigned {
                    reason: Reason::Asked,
                    ..
                }
            )
        })
        .await;
    in_time(first.losses() == 0, "its resignation");
    let leader = first.election.leader().await;
    in_time(
        matches!(&leader, Ok(Some(leader)) if leader.owner == "second"),
        format_args!("the second one leads: {leader:?}"),
    );
    voters.stage.is_sound();
}

/// Revokes the leader's term.
async fn revoke(by: &Instance, name: &str) {
    let name = match Name::new(name) {
        Ok(name) => name,
        Err(error) => panic!("{error}"),
    };
    let began = Instant::now();
    while began.elapsed() < SOON {
        let read = by.provider.read(&name).await;
        let Ok(Some(record)) = read else {
            return in_time(false, format_args!("a look at the leader: {read:?}"));
        };
        let outcome = match Revoke::new(name.clone(), record.version()) {
            Ok(request) => by.provider.revoke(&request).await,
            Err(error) => panic!("{error}"),
        };
        match outcome {
            Ok(RevokeOutcome::Revoked) => return,
            // A renewal came in between.
            Ok(_) => {}
            Err(error) => return in_time(false, format_args!("the revocation: {error}")),
        }
    }
    in_time(false, format_args!("the revocation: not within {SOON:?}"));
}

/// Ends the round if it took longer than that.
#[track_caller]
fn at_most(took: Duration, bound: Duration) {
    in_time(
        took <= bound,
        format_args!("{took:?} is more than {bound:?}"),
    );
}
