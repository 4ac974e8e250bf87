//! Many want a lock that has never been there: one gets it.

use dlock_core::{Provider, provider::AcquireOutcome};
use dlock_object_proof::provider;

use crate::{fresh, term};

const RIVALS: usize = 12;
/// Some losers wait for a second, in the server.
const LOCKS: usize = 15;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_many_creates_a_lock() {
    let server = crate::server().await;
    // A process each.
    let providers: Vec<_> = (0..RIVALS)
        .map(|_| provider(server.address(), dlock_object_proof::LIMIT))
        .collect();
    for _ in 0..LOCKS {
        let name = fresh("door");
        let tries = providers.iter().map(|provider| {
            let (provider, a) = (provider.clone(), term(&name));
            tokio::spawn(async move {
                let outcome = provider.acquire(&a).await;
                (a.new, outcome)
            })
        });
        let tries: Vec<_> = tries.collect();
        let mut winners = Vec::new();
        for one in tries {
            let (uuid, outcome) = one.await.unwrap();
            match outcome.unwrap() {
                AcquireOutcome::Acquired(_) => winners.push(uuid),
                AcquireOutcome::Held(_) => {}
                other => panic!("{other:?}"),
            }
        }
        let record = providers[0].read(&term(&name).name).await.unwrap().unwrap();
        assert_eq!(winners, [record.uuid]);
    }
}
