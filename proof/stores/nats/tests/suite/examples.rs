//! The programs of the package `dlock-examples` on NATS: the store and the storage that they are made of.

use dlock_core::{Client, DLock, FencingToken};
use dlock_examples::store::choose;
use dlock_nats_proof::Server;

#[tokio::test]
async fn store_of_the_examples_locks_and_checks_tokens() {
    let server = Server::bare("").await;
    let url = format!("nats://{}/examples", server.address());
    let store = choose(Some(&url)).unwrap();
    let client = Client::new(store.provider().await.unwrap());
    let lock = DLock::builder().name("door").provider(&client);
    let lock = lock.build().unwrap();
    let lease = lock.acquire().await.unwrap();
    let storage = store.storage("notes").await.unwrap();
    assert_eq!(storage.read().await.unwrap(), None);
    let written = storage.write(lease.token(), "mine").await.unwrap();
    assert_eq!(written, Ok(()));
    let stale = FencingToken::new(lease.token().get() - 1).unwrap();
    let refused = storage.write(stale, "late").await.unwrap();
    assert_eq!(refused.unwrap_err().highest, lease.token());
    let text = storage.read().await.unwrap();
    assert_eq!(text.as_deref(), Some("mine"));
    lease.release().await.unwrap();
    client.close().await;
}
