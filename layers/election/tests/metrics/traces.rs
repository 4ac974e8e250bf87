//! The spans and events of elections are those that the chapter lists.

use std::path::Path;

use dlock_election::Coordinator;
use dlock_proof::traces::{Chapter, Seen, names_in};
use dlock_testkit::{
    faults::{Fault, Op},
    memory::MemoryStore,
};
use tokio::time::sleep;

use crate::service::{Instance, SECOND, until};

const CHAPTER: &str = include_str!("../../METRICS.md");

#[tokio::test(start_paused = true)]
async fn what_is_traced_is_as_the_chapter_says() {
    let seen = Seen::install("dlock_election").unwrap();
    let chapter = Chapter::read(CHAPTER);
    let store = MemoryStore::store_clock();
    let leader = Instance::new(&store, "leader");
    leader
        .election
        .lead(|_| async { panic!("work that panics on purpose") });
    leader.election.every("task", 30 * SECOND, |_| async {
        panic!("a run that panics on purpose")
    });
    leader.provider.next(Op::Acquire, Fault::FATAL);
    let mut leader = leader.start();
    until(100 * SECOND, || leader.election.is_leader()).await;
    leader.provider.everything(Fault::THROTTLED);
    sleep(40 * SECOND).await;
    leader.provider.clear();
    sleep(20 * SECOND).await;
    store.wipe();
    until(60 * SECOND, || seen.names().contains("lost")).await;
    until(60 * SECOND, || leader.election.is_leader()).await;
    leader.stop().await;
    let follower = Instance::new(&store, "follower");
    follower.provider.everything(Fault::LoseRequest);
    let mut follower = follower.start();
    sleep(SECOND).await;
    follower.stop().await;
    assert_eq!(seen.names(), chapter.names());
    assert_eq!(seen.unlike(&chapter), [""; 0]);
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    assert_eq!(names_in(&sources).unwrap(), chapter.names());
}
