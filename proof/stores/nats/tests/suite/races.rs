//! Many clients create one lock at a time: one of them does.

use dlock_core::{
    Provider,
    provider::{AcquireOutcome, Release},
};
use dlock_nats_proof::Server;

use super::term;

const RACERS: usize = 12;
const LOCKS: usize = 40;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_many_first_comers_is_granted_a_lock() {
    let server = Server::start().await;
    let mut providers = Vec::new();
    for _ in 0..RACERS {
        providers.push(server.provider().await);
    }
    for lock in 0..LOCKS {
        let name = format!("door-{lock}");
        let mut token = None;
        // First of a lock that was never there, then of one that was released.
        for _ in 0..2 {
            let tries = providers.iter().cloned().map(|provider| {
                let a = term(&name);
                tokio::spawn(async move { (provider.acquire(&a).await, a) })
            });
            let tries: Vec<_> = tries.collect();
            let mut granted = Vec::new();
            for acquire in tries {
                match acquire.await.unwrap() {
                    (Ok(AcquireOutcome::Acquired(tokens)), a) => granted.push((tokens.last(), a)),
                    (Ok(AcquireOutcome::Held(_)), _) => {}
                    (other, _) => panic!("{other:?}"),
                }
            }
            assert_eq!(granted.len(), 1, "{name}: {granted:?}");
            let (next, a) = granted.pop().unwrap();
            assert!(Some(next) > token, "{name}");
            token = Some(next);
            let release = Release::new(a.name, a.new, token);
            providers[lock % RACERS].release(&release).await.unwrap();
        }
    }
}
