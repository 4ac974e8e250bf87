//! A leader whose store is silent, slow or forgetful.

use std::time::Duration;

use dlock_election::Coordinator;
use dlock_testkit::faults::{Fault, Op};
use tokio::time::{Instant, sleep};

use crate::support::{Instance, SECOND, Stage, newest, stores, until};

const INELIGIBLE: &str = "ineligible: a fault refused the call";

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_cut_off_rides_out_what_it_can_and_steps_down_by_itself() {
    for store in stores() {
        // Cut off right before a renewal, for 16.5 s less a round trip: the leadership survives.
        let stage = Stage::default();
        let mut leader = Instance::new(&store, "leader", 1.0).on(&stage).start();
        until(SECOND, || leader.election.is_leader()).await;
        let sent = Instant::now();
        sleep(Duration::from_millis(19_950)).await;
        leader.provider.everything(Fault::LoseRequest);
        sleep(Duration::from_millis(36_400) - sent.elapsed()).await;
        leader.provider.clear();
        sleep(100 * SECOND).await;
        assert_eq!(leader.told().await, ["gained", "unsure", "recovered"]);
        // Cut off right after a renewal had left, until 36.5 s after that: the leadership survives too.
        let sent = newest(&leader);
        sleep((sent + 20 * SECOND).saturating_duration_since(Instant::now()) + SECOND / 2).await;
        let sent = newest(&leader);
        assert!(sent.elapsed() < SECOND);
        leader.provider.everything(Fault::LoseRequest);
        sleep(Duration::from_millis(36_400) - sent.elapsed()).await;
        leader.provider.clear();
        sleep(20 * SECOND).await;
        assert_eq!(leader.told().await, ["unsure", "recovered"]);

        // Cut off for good: the leadership is gone by 48 s after the last good `sent`, without an answer from the
        // store.
        let rival = Instance::new(&store, "rival", 1.0).on(&stage).start();
        sleep(20 * SECOND).await;
        let sent = newest(&leader);
        leader.provider.everything(Fault::LoseRequest);
        until(60 * SECOND, || !leader.election.is_leader()).await;
        let took = sent.elapsed();
        assert!(took <= Duration::from_millis(48_050), "{took:?}");
        assert!(took >= Duration::from_millis(47_900), "{took:?}");
        assert!(!rival.election.is_leader());
        until(SECOND, || stage.working() == 0).await;
        until(120 * SECOND, || rival.election.is_leader()).await;
        assert_eq!(stage.most(), 1);
        let told = leader.told().await;
        let [unsure, lost] = &told[..] else {
            panic!("{told:?}")
        };
        assert_eq!(unsure, "unsure");
        assert!(
            lost.starts_with("lost: ran out because its renewals failed: "),
            "{lost}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_down_for_all_stops_the_work_until_it_is_back() {
    for store in stores() {
        let stage = Stage::default();
        let all: Vec<Instance> = ["a", "b", "c"]
            .map(|id| Instance::new(&store, id, 1.0).on(&stage).start())
            .into();
        until(SECOND, || stage.working() == 1).await;
        sleep(30 * SECOND).await;
        for instance in &all {
            instance.provider.everything(Fault::THROTTLED);
        }
        until(60 * SECOND, || stage.working() == 0).await;
        sleep(600 * SECOND).await;
        assert_eq!(stage.working(), 0);
        assert!(all.iter().all(|instance| !instance.election.is_leader()));
        for instance in &all {
            instance.provider.clear();
        }
        until(120 * SECOND, || stage.working() == 1).await;
        assert_eq!(stage.most(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_renewal_ends_the_leadership_at_once() {
    for store in stores() {
        let stage = Stage::default();
        let mut leader = Instance::new(&store, "leader", 1.0).on(&stage).start();
        until(SECOND, || leader.election.is_leader()).await;
        let token = leader.election.leadership().unwrap().token();
        store.wipe();
        // Lost with the next renewal. The lock is free then, so the instance may well lead once more, with another
        // token.
        sleep(21 * SECOND).await;
        let told = leader.told().await;
        let lost = "lost: has no record in the store any more";
        assert_eq!(told, ["gained", lost, "gained"]);
        assert!(leader.election.leadership().unwrap().token() > token);
        assert_eq!(stage.most(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_renewal_counts_from_when_it_left() {
    for store in stores() {
        let leader = Instance::new(&store, "leader", 1.0).start();
        until(SECOND, || leader.election.is_leader()).await;
        leader
            .provider
            .next(Op::Renew, Fault::DelayReply(9 * SECOND));
        sleep(Duration::from_millis(29_500)).await;
        let sent = newest(&leader);
        let leadership = leader.election.leadership().unwrap();
        let deadline = Instant::now() + leadership.remaining();
        assert!(deadline <= sent + 48 * SECOND, "{:?}", deadline - sent);
        assert!(deadline > sent + 47 * SECOND, "the renewal counted");
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_of_no_use_is_told_once_and_the_instance_leads_when_it_is_mended() {
    for store in stores() {
        let only = Instance::new(&store, "only", 1.0);
        only.provider.everything(Fault::FATAL);
        let mut only = only.start();
        sleep(200 * SECOND).await;
        // It keeps trying, once every attempt interval.
        assert_eq!(only.provider.count(Op::Acquire), 7);
        assert_eq!(only.told().await, [INELIGIBLE]);
        only.provider.clear();
        until(31 * SECOND, || only.election.is_leader()).await;
        assert_eq!(only.told().await, ["gained"]);
        // A different obstacle was reported since, so this one is reported again.
        store.wipe();
        only.provider.always(Op::Acquire, Fault::FATAL);
        sleep(100 * SECOND).await;
        let lost = "lost: has no record in the store any more";
        assert_eq!(only.told().await, [lost, INELIGIBLE]);
    }
}

/// When one obstacle is mended, the next one may show.
#[tokio::test(start_paused = true)]
async fn another_reason_why_a_store_is_of_no_use_is_told_too() {
    const THREE_CENTURIES: Duration = Duration::from_secs(300 * 366 * 86_400);
    for store in stores() {
        let only = Instance::new(&store, "only", 1.0);
        only.provider.everything(Fault::FATAL);
        let mut only = only.start();
        sleep(100 * SECOND).await;
        store.wall_forward(THREE_CENTURIES);
        only.provider.clear();
        sleep(100 * SECOND).await;
        let told = only.told().await;
        let [first, second] = &told[..] else {
            panic!("{told:?}")
        };
        assert_eq!(first, INELIGIBLE);
        assert!(
            second.starts_with("ineligible: the lock has used up its fencing tokens"),
            "{second}"
        );
        store.wall_backward(THREE_CENTURIES);
        until(31 * SECOND, || only.election.is_leader()).await;
        assert_eq!(only.told().await, ["gained"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_was_of_use_in_between_is_told_of_again() {
    for store in stores() {
        let leader = Instance::new(&store, "leader", 1.0).start();
        until(SECOND, || leader.election.is_leader()).await;
        let mut follower = Instance::new(&store, "follower", 1.0).start();
        for _ in 0..2 {
            sleep(100 * SECOND).await;
            follower.provider.everything(Fault::FATAL);
            sleep(200 * SECOND).await;
            follower.provider.clear();
            assert_eq!(follower.told().await, [INELIGIBLE]);
        }
        assert!(leader.election.is_leader());
    }
}

/// Temporary trouble does not make the instance ineligible: no operator has to mend it.
#[tokio::test(start_paused = true)]
async fn a_store_that_refuses_for_now_makes_nobody_ineligible() {
    for store in stores() {
        let only = Instance::new(&store, "only", 1.0);
        only.provider.everything(Fault::THROTTLED);
        let mut only = only.start();
        sleep(600 * SECOND).await;
        assert_eq!(only.told().await, [""; 0]);
    }
}
