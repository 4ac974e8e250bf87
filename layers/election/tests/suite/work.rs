//! Work runs only on the leader, and ends before another instance leads.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use dlock_election::{Coordinator, Work};
use dlock_testkit::{
    faults::{Fault, Op},
    memory::MemoryStore,
};
use tokio::time::{Instant, sleep};

use crate::support::{Instance, SECOND, Stage, newest, stores, until};

#[tokio::test(start_paused = true)]
async fn tasks_run_in_their_period_on_the_leader_alone_and_survive_a_panic() {
    for store in stores() {
        let stage = Stage::default();
        let instance = |id: &'static str| {
            let instance = Instance::new(&store, id, 1.0);
            let stage = stage.clone();
            instance
                .election
                .every("fast", 30 * SECOND, move |leadership| {
                    assert!(leadership.is_valid());
                    let stage = stage.clone();
                    async move {
                        let _working = stage.work();
                        stage.ran(id);
                        sleep(5 * SECOND).await;
                    }
                });
            let panics = Arc::new(AtomicUsize::new(0));
            instance.election.every("broken", 60 * SECOND, move |_| {
                panics.fetch_add(1, Ordering::SeqCst);
                async { panic!("a run that panics on purpose") }
            });
            instance.start()
        };
        let mut first = instance("first");
        until(SECOND, || first.election.is_leader()).await;
        let second = instance("second");
        sleep(305 * SECOND).await;
        let runs = stage.runs();
        assert_eq!(runs.len(), 11, "{runs:?}");
        assert!(runs.iter().all(|(who, _)| who == "first"));
        let gaps = runs.windows(2).map(|pair| pair[1].1 - pair[0].1);
        for gap in gaps {
            assert!(gap >= 30 * SECOND && gap < 31 * SECOND, "{gap:?}");
        }
        first.crash().await;
        until(200 * SECOND, || second.election.is_leader()).await;
        sleep(SECOND).await;
        let runs = stage.runs();
        assert_eq!(runs.last().unwrap().0, "second");
        // No two runs overlapped, and the gap at the change is that of the takeover.
        let gap = runs[runs.len() - 1].1 - runs[runs.len() - 2].1;
        assert!(gap < (60 + 30 + 6 + 1 + 30) * SECOND, "{gap:?}");
        assert_eq!(stage.most(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_that_takes_longer_than_its_period_is_never_beside_itself() {
    let store = MemoryStore::store_clock();
    let stage = Stage::default();
    let leader = Instance::new(&store, "leader", 1.0);
    let seen = stage.clone();
    leader.election.every("slow", 10 * SECOND, move |_| {
        let seen = seen.clone();
        async move {
            let _working = seen.work();
            seen.ran("leader");
            sleep(25 * SECOND).await;
        }
    });
    let leader = leader.start();
    sleep(101 * SECOND).await;
    assert!(leader.election.is_leader());
    assert_eq!((stage.most(), stage.runs().len()), (1, 5));
}

/// Work in its own task is not dropped with the leadership, and has only the signal.
#[tokio::test(start_paused = true)]
async fn a_loss_is_told_to_the_work_at_the_deadline_and_before_another_leads() {
    for store in stores() {
        let stage = Stage::default();
        let instance = |id: &'static str| {
            let instance = Instance::new(&store, id, 1.0);
            let seen = stage.clone();
            instance.election.lead(move |leadership| {
                let working = seen.work();
                let seen = seen.clone();
                async move {
                    tokio::spawn(async move {
                        let _working = working;
                        leadership.ending().await;
                        assert!(!leadership.is_valid());
                        seen.ran(id);
                    });
                    std::future::pending::<()>().await;
                }
            });
            instance.start()
        };
        let first = instance("first");
        until(SECOND, || stage.working() == 1).await;
        let second = instance("second");
        sleep(300 * SECOND).await;
        assert!(stage.runs().is_empty(), "told without a loss");
        let sent = newest(&first);
        first.provider.everything(Fault::LoseRequest);
        until(200 * SECOND, || second.election.is_leader()).await;
        sleep(SECOND).await;
        let runs = stage.runs();
        let [(who, at)] = &runs[..] else {
            panic!("{runs:?}")
        };
        // A holder trusts 0.8 of its lease of a minute.
        assert!(who == "first" && *at - sent <= 48 * SECOND, "{runs:?}");
        assert_eq!((stage.working(), stage.most()), (1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn work_ends_before_the_release_and_has_its_grace() {
    for store in stores() {
        let stage = Stage::default();
        let mut leader = Instance::new(&store, "leader", 1.0);
        let seen = stage.clone();
        leader.election.lead(move |leadership| {
            let seen = seen.clone();
            async move {
                let _working = seen.work();
                leadership.ending().await;
                // The work is still protected while it cleans up.
                assert!(leadership.is_valid());
                sleep(3 * SECOND).await;
                assert!(leadership.is_valid());
                seen.ran("put away");
            }
        });
        leader = leader.start();
        until(SECOND, || leader.election.is_leader()).await;
        sleep(SECOND).await;
        let started = Instant::now();
        leader.stop().await;
        assert!(started.elapsed() >= 3 * SECOND && started.elapsed() < 4 * SECOND);
        assert_eq!((stage.working(), stage.runs().len()), (0, 1));
        assert_eq!(leader.provider.count(Op::Release), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn an_elector_that_is_dropped_drops_its_work_before_it_gives_back() {
    let store = MemoryStore::store_clock();
    let stage = Stage::default();
    let leader = Instance::new(&store, "leader", 1.0).on(&stage);
    let election = leader.election.clone();
    let running = tokio::spawn(async move { election.run(Box::pin(std::future::pending())).await });
    until(SECOND, || stage.working() == 1).await;
    running.abort();
    drop(running.await);
    assert!(!leader.election.is_leader());
    until(SECOND, || leader.provider.count(Op::Release) == 1).await;
    assert_eq!(stage.working(), 0);
}

/// A closure that panics before it returns a future does not end the leadership either.
#[tokio::test(start_paused = true)]
async fn work_that_panics_before_it_has_begun_ends_nothing_else() {
    for store in stores() {
        let stage = Stage::default();
        let leader = Instance::new(&store, "leader", 1.0);
        leader.election.add(Work::new("broken", |leadership| {
            assert!(!leadership.is_valid(), "a panic on purpose");
            async {}
        }));
        let mut leader = leader.on(&stage).start();
        until(SECOND, || stage.working() == 1).await;
        sleep(200 * SECOND).await;
        assert!(leader.election.is_leader());
        assert_eq!(leader.told().await, ["gained"]);
        leader.stop().await;
    }
}

/// The state of the elector's own task does not matter: a program that waits elsewhere in the task that runs the
/// election must not keep the work of a lost leadership alive.
#[tokio::test(start_paused = true)]
async fn work_ends_at_the_deadline_although_nobody_polls_the_elector() {
    for store in stores() {
        let stage = Stage::default();
        let leader = Instance::new(&store, "leader", 1.0).on(&stage);
        let election = leader.election.clone();
        let mut running = election.run(Box::pin(std::future::pending()));
        tokio::select! {
            _ = &mut running => panic!("it ends by itself"),
            _ = until(SECOND, || stage.working() == 1) => {}
        }
        leader.provider.everything(Fault::LoseRequest);
        sleep(49 * SECOND).await;
        assert_eq!(
            stage.working(),
            0,
            "work goes on although the leadership is lost"
        );
        drop(running);
    }
}
