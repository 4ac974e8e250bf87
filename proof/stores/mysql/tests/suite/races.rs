//! Many clients that try for names that were never held.

use std::time::Duration;

use dlock_core::{Provider, provider::AcquireOutcome};
use dlock_mysql_proof::{provider, server};
use tokio::task::JoinSet;

use crate::support::term;

const RACERS: usize = 12;
const NAMES: usize = 60;

/// At the default isolation level of the server's sessions most such races deadlock, and at a stricter one even more.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn race_for_a_new_name_has_one_winner_and_no_deadlock() {
    for level in ["REPEATABLE-READ", "SERIALIZABLE"] {
        let database = server().await.database().await;
        database.provider(1).await;
        let mut racers = JoinSet::new();
        for _ in 0..RACERS {
            let init = vec![format!("SET tx_isolation = '{level}'")];
            let ours = provider(database.options(1).init(init), Duration::from_secs(20));
            racers.spawn(async move {
                let mut won = Vec::new();
                for number in 0..NAMES {
                    let a = term(&format!("{number}"));
                    // An error here would be a deadlock.
                    match ours.acquire(&a).await.unwrap() {
                        AcquireOutcome::Acquired(_) => won.push(number),
                        AcquireOutcome::Held(_) => {}
                        other => panic!("{other:?}"),
                    }
                }
                won
            });
        }
        let mut won: Vec<usize> = racers.join_all().await.into_iter().flatten().collect();
        won.sort_unstable();
        assert_eq!(won, (0..NAMES).collect::<Vec<_>>(), "{level}");
    }
}
