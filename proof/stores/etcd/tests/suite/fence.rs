//! Storage that refuses a stale token (T3).

use std::time::Duration;

use async_trait::async_trait;
use dlock_core::{FencingToken, Stale};
use dlock_etcd::fence::{Fence, FenceError};
use dlock_etcd_proof::{Server, client};
use dlock_testkit::storage::{self, Storage};
use etcd_client::{Client, Compare, CompareOp, Txn, TxnOp, TxnOpResponse};

/// A resource of two keys.
#[derive(Clone)]
struct Pages(Client);

const LIMIT: Duration = Duration::from_secs(60);

async fn pages(server: &Server) -> Pages {
    Pages(client(server.address(), LIMIT).await)
}

fn token(value: u64) -> FencingToken {
    FencingToken::new(value).unwrap()
}

#[async_trait]
impl Storage for Pages {
    async fn another(&self) -> Self {
        self.clone()
    }

    async fn write(&self, token: FencingToken, value: u64) -> Result<(), Stale> {
        let put = |key| TxnOp::put(key, value.to_string(), None);
        let write = [put("left"), put("right")];
        match Fence::default()
            .transact(&self.0, "pages", token, write)
            .await
        {
            Ok(answers) => {
                assert_eq!(answers.len(), 2);
                Ok(())
            }
            Err(FenceError::Stale(stale)) => Err(stale),
            Err(other) => panic!("{other:?}"),
        }
    }

    async fn read(&self) -> Option<(u64, FencingToken)> {
        let keys = ["left", "right", "dlock-fence/pages"];
        let read = Txn::new().and_then(keys.map(|key| TxnOp::get(key, None)));
        let read = self.0.kv_client().txn(read).await.unwrap();
        let numbers = read.op_responses().into_iter().filter_map(|answer| {
            let TxnOpResponse::Get(found) = answer else {
                panic!("{answer:?}");
            };
            found
                .kvs()
                .first()
                .map(|found| found.value_str().unwrap().parse().unwrap())
        });
        let numbers: Vec<u64> = numbers.collect();
        let [left, right, fence] = numbers[..] else {
            assert!(numbers.is_empty(), "{numbers:?}");
            return None;
        };
        assert_eq!(left, right, "of one write");
        Some((left, token(fence)))
    }
}

#[tokio::test]
async fn equal_and_greater_tokens_pass_and_a_lower_one_changes_nothing() {
    let server = Server::start().await;
    storage::only_lower_tokens_are_refused(&pages(&server).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_with_random_tokens_leave_the_highest() {
    let server = Server::start().await;
    storage::random_tokens_leave_the_highest(pages(&server).await).await;
}

/// The holder is paused past the end of its lease; another takes over and writes; the first wakes up and writes with
/// its old token.
#[tokio::test]
async fn paused_holder_is_refused_by_the_storage() {
    let server = Server::start().await;
    let at = server.address();
    let provider = move || dlock_etcd_proof::provider(at, LIMIT);
    storage::paused_holder_is_refused(provider, &pages(&server).await).await;
}

#[tokio::test]
async fn refused_holder_raises_its_floor_and_gets_above() {
    let server = Server::start().await;
    storage::refused_holder_gets_above(|| server.provider(), &pages(&server).await).await;
}

#[tokio::test]
async fn what_is_no_token_is_found_and_left_alone() {
    let server = Server::start().await;
    let pages = pages(&server).await;
    for foreign in ["", "x", "7", "0000000000000000", "9007199254740992"] {
        pages
            .0
            .kv_client()
            .put("dlock-fence/pages", foreign, None)
            .await
            .unwrap();
        let write = [TxnOp::put("left", "1", None)];
        let refused = Fence::default()
            .transact(&pages.0, "pages", token(5), write)
            .await;
        assert!(
            matches!(refused, Err(FenceError::Foreign { .. })),
            "{foreign:?}: {refused:?}"
        );
        let mut keys = pages.0.kv_client();
        let left = keys.get("dlock-fence/pages", None).await.unwrap();
        assert_eq!(left.kvs()[0].value_str().unwrap(), foreign);
        assert!(keys.get("left", None).await.unwrap().kvs().is_empty());
    }
}

#[tokio::test]
async fn writers_own_condition_still_counts_and_is_not_called_stale() {
    let server = Server::start().await;
    let Pages(client) = pages(&server).await;
    for (expected, holds) in [("a", false), ("", true)] {
        let own = Txn::new()
            .when([Compare::value("left", CompareOp::Equal, expected)])
            .and_then([TxnOp::put("left", "b", None)]);
        client.kv_client().put("left", "", None).await.unwrap();
        let fence = Fence::new("ours");
        let answers = fence
            .transact(&client, "left", token(5), [TxnOp::txn(own)])
            .await;
        let Some(TxnOpResponse::Txn(own)) = answers.unwrap().pop() else {
            panic!("it was a transaction");
        };
        assert_eq!(own.succeeded(), holds);
        let found = client.kv_client().get("left", None).await.unwrap();
        assert_eq!(found.kvs()[0].value(), if holds { &b"b"[..] } else { b"" });
    }
}
