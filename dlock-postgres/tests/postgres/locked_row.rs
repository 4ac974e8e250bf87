//! A row that another session keeps locked costs the lease in it, and no other.

use std::time::Duration;

use dlock_core::{DLock, Guard};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use crate::support::{Table, server};

const GUARDS: usize = 50;
/// One in the middle: half of the others are renewed before it, half after it.
const LOCKED: usize = 25;
/// How often a case is played if the machine was too busy for it.
const PLAYS: usize = 3;

/// Fifty guarded locks of one client.
struct Fifty {
    table: Table,
    guards: Vec<Guard>,
}

impl Fifty {
    async fn hold(duration: Duration) -> Self {
        let table = Table::create().await;
        let first = DLock::builder()
            .name("lock")
            .duration(duration)
            .provider(table.provider(server().await.pool(4)))
            .build()
            .unwrap();
        let mut guards = Vec::with_capacity(GUARDS);
        for n in 0..GUARDS {
            let lock = first.named(format!("lock {n:02}")).unwrap();
            guards.push(lock.hold().await.unwrap());
        }
        Self { table, guards }
    }

    /// The leases that are lost, but for the one in the middle.
    fn lost(&self) -> Vec<usize> {
        let guards = self.guards.iter().enumerate();
        guards
            .filter(|(n, guard)| *n != LOCKED && !guard.is_valid())
            .map(|(n, _)| n)
            .collect()
    }
}

/// Locks one row of fifty for one lease and a half: who else is lost? `None` if the machine was so busy that
/// leases were lost beside no locked row, too.
async fn lost_beside_one(duration: Duration) -> Option<Vec<usize>> {
    let control = Fifty::hold(duration).await;
    let fifty = Fifty::hold(duration).await;
    let locker = server().await.client().await;
    locker.batch_execute("BEGIN").await.unwrap();
    let lock = format!(
        "SELECT FROM \"{}\".lock WHERE name = 'lock {LOCKED}' FOR UPDATE",
        fifty.table.schema()
    );
    locker.batch_execute(&lock).await.unwrap();

    let end = Instant::now() + duration * 3 / 2;
    timeout(duration * 3 / 2, fifty.guards[LOCKED].ended())
        .await
        .expect("its row is locked, so nobody can renew it");
    while fifty.lost().is_empty() && Instant::now() < end {
        sleep(duration / 50).await;
    }
    let lost = fifty.lost();
    if !lost.is_empty() && !control.lost().is_empty() {
        return None;
    }
    Some(lost)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn locked_row_costs_no_other_lease_of_its_batch() {
    let mut durations = JoinSet::new();
    for millis in [1_500, 3_000, 4_000, 6_000, 15_000] {
        durations.spawn(async move {
            let duration = Duration::from_millis(millis);
            let mut lost = None;
            for play in 1..=PLAYS {
                // A batch that waits for the row loses leases each time; a busy machine now and then.
                match lost_beside_one(duration).await {
                    Some(none) if none.is_empty() => return (duration, none),
                    Some(some) => lost = Some(some),
                    None => println!("{duration:?}, play {play}: the machine was too busy"),
                }
            }
            let lost = lost
                .unwrap_or_else(|| panic!("{duration:?}: the machine was too busy {PLAYS} times"));
            (duration, lost)
        });
    }
    let mut others = durations.join_all().await;
    others.sort();
    others.retain(|(_, lost)| !lost.is_empty());
    assert!(
        others.is_empty(),
        "leases that others were lost beside, and which: {others:?}"
    );
}
