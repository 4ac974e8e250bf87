//! Subscribers of `tracing` may panic: that costs no leadership, no work and no read of the leader.

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{Arc, Mutex},
};

use dlock_election::{AlwaysLeader, Coordinator};
use dlock_proof::traces::names_in;
use dlock_testkit::{
    faults::{Fault, Op},
    memory::MemoryStore,
};
use tokio::time::sleep;
use tracing::{
    Dispatch, Event, Metadata, Subscriber,
    span::{Attributes, Id, Record},
    subscriber::NoSubscriber,
};

use crate::support::{Instance, SECOND, Stage, until};

/// Panics at every event of elections, and at one operation of each span; keeps the names.
#[derive(Clone)]
struct Panics {
    at: Moment,
    told: Arc<Mutex<BTreeSet<String>>>,
}

/// The operation of a span at which it panics: later ones of that span do not reach it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    Made,
    Entered,
    Left,
}

impl Panics {
    fn hears(&self, of: &Metadata<'_>) {
        self.told.lock().unwrap().insert(of.name().to_owned());
    }
}

impl Subscriber for Panics {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("dlock_election")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.hears(span.metadata());
        assert!(self.at != Moment::Made, "on purpose, at a new span");
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {
        panic!("on purpose, at a field");
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        self.hears(event.metadata());
        panic!("on purpose, at {}", event.metadata().name());
    }

    fn enter(&self, _: &Id) {
        assert!(
            self.at != Moment::Entered,
            "on purpose, at a span's beginning"
        );
    }

    fn exit(&self, _: &Id) {
        panic!("on purpose, at a span's end");
    }

    fn try_close(&self, _: Id) -> bool {
        panic!("on purpose, at the last of a span");
    }
}

#[tokio::test(start_paused = true)]
async fn a_subscriber_that_panics_ends_no_election() {
    // With a single subscriber, a callsite that a thread without a subscriber reaches first is switched off for all
    // threads.
    let _second = Dispatch::new(NoSubscriber::default());
    for at in [Moment::Made, Moment::Entered, Moment::Left] {
        let told = Arc::default();
        let panics = Panics { at, told };
        let watching = tracing::subscriber::set_default(panics.clone());
        leads_through_trouble().await;
        stops_while_the_store_is_silent().await;
        always_leads().await;
        drop(watching);
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        assert_eq!(*panics.told.lock().unwrap(), names_in(&sources).unwrap());
    }
}

async fn leads_through_trouble() {
    let (store, stage) = (MemoryStore::store_clock(), Stage::default());
    let leader = Instance::new(&store, "leader", 1.0).on(&stage);
    leader
        .election
        .lead(|_| async { panic!("work that panics on purpose") });
    let runs = stage.clone();
    leader.election.every("task", 10 * SECOND, move |_| {
        runs.ran("leader");
        async { panic!("a run that panics on purpose") }
    });
    leader.provider.next(Op::Acquire, Fault::FATAL);
    let mut leader = leader.start();
    until(100 * SECOND, || stage.working() == 1).await;
    leader.provider.everything(Fault::THROTTLED);
    sleep(40 * SECOND).await;
    leader.provider.clear();
    sleep(20 * SECOND).await;
    assert!(stage.working() == 1 && stage.runs().len() >= 6);
    let shown = leader.election.leader().await.unwrap().unwrap();
    assert_eq!(shown.owner, "leader");
    let first = leader.election.leadership().unwrap().token();
    store.wipe();
    let leads_anew = || {
        let leadership = leader.election.leadership();
        leadership.is_some_and(|leadership| leadership.token() > first)
    };
    until(120 * SECOND, leads_anew).await;
    until(SECOND, || stage.working() == 1).await;
    leader.stop().await;
    let told = leader.told().await.join(", ");
    let obstacle = "ineligible: a fault refused the call";
    let lost = "lost: has no record in the store any more";
    assert_eq!(
        told,
        format!("{obstacle}, gained, unsure, recovered, {lost}, gained, resigned: Shutdown")
    );
}

async fn stops_while_the_store_is_silent() {
    let mut follower = Instance::new(&MemoryStore::store_clock(), "follower", 1.0);
    follower.provider.everything(Fault::LoseRequest);
    follower = follower.start();
    sleep(SECOND).await;
    follower.stop().await;
}

async fn always_leads() {
    let (always, stage) = (AlwaysLeader::new(), Stage::default());
    let works = stage.clone();
    always.lead(move |_| {
        let works = works.clone();
        async move {
            let _working = works.work();
            sleep(1000 * SECOND).await;
        }
    });
    always.run(Box::pin(sleep(SECOND))).await.unwrap();
    assert_eq!((stage.most(), stage.working()), (1, 0));
}
