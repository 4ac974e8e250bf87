//! Storage that refuses a stale token (T3).

use std::{sync::Arc, time::Duration};

use async_nats::Client;
use async_trait::async_trait;
use dlock_core::{FencingToken, Stale};
use dlock_nats::fence::{Fence, FenceError, TOKEN};
use dlock_nats_proof::{Server, client};
use dlock_testkit::storage::{self, Storage};
use serde_json::json;

use super::{create, put};

/// A resource of one key.
#[derive(Clone)]
struct Page {
    fence: Arc<Fence>,
    client: Client,
}

const LIMIT: Duration = Duration::from_secs(60);
const KEY: &str = "pages/one.left";

async fn page(server: &Server) -> Page {
    let client = client(server.address(), LIMIT).await;
    create(&client, "pages", json!({})).await;
    Page {
        fence: Arc::new(Fence::new(client.clone(), "pages")),
        client,
    }
}

impl Page {
    async fn stored(&self) -> Option<(String, Option<String>)> {
        let stream = async_nats::jetstream::new(self.client.clone());
        let stream = stream.get_stream("KV_pages").await.unwrap();
        let subject = format!("$KV.pages.{KEY}");
        let found = stream
            .get_last_raw_message_by_subject(&subject)
            .await
            .ok()?;
        let token = found.headers.get(TOKEN).map(ToString::to_string);
        Some((String::from_utf8(found.payload.to_vec()).unwrap(), token))
    }
}

fn token(value: u64) -> FencingToken {
    FencingToken::new(value).unwrap()
}

#[async_trait]
impl Storage for Page {
    async fn another(&self) -> Self {
        self.clone()
    }

    async fn write(&self, token: FencingToken, value: u64) -> Result<(), Stale> {
        match self.fence.put(KEY, token, value.to_string()).await {
            Ok(_) => Ok(()),
            Err(FenceError::Stale(stale)) => Err(stale),
            Err(other) => panic!("{other:?}"),
        }
    }

    async fn read(&self) -> Option<(u64, FencingToken)> {
        let (text, highest) = self.stored().await?;
        let highest = highest.unwrap().parse().unwrap();
        Some((text.parse().unwrap(), token(highest)))
    }
}

#[tokio::test]
async fn equal_and_greater_tokens_pass_and_a_lower_one_changes_nothing() {
    let server = Server::start().await;
    storage::only_lower_tokens_are_refused(&page(&server).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_with_random_tokens_leave_the_highest() {
    let server = Server::start().await;
    storage::random_tokens_leave_the_highest(page(&server).await).await;
}

/// The holder is paused past the end of its lease; another takes over and writes; the first wakes up and writes with
/// its old token.
#[tokio::test]
async fn paused_holder_is_refused_by_the_storage() {
    let server = Server::start().await;
    let at = server.address();
    let provider = move || dlock_nats_proof::provider(at, LIMIT);
    storage::paused_holder_is_refused(provider, &page(&server).await).await;
}

#[tokio::test]
async fn refused_holder_raises_its_floor_and_gets_above() {
    let server = Server::start().await;
    storage::refused_holder_gets_above(|| server.provider(), &page(&server).await).await;
}

#[tokio::test]
async fn what_is_no_token_is_found_and_left_alone() {
    let server = Server::start().await;
    let page = page(&server).await;
    let subject = format!("$KV.pages.{KEY}");
    put(&page.client, &subject, &[], "mine").await;
    let refused = page.fence.put(KEY, token(5), "x").await;
    assert!(
        matches!(refused, Err(FenceError::Foreign { .. })),
        "{refused:?}"
    );
    for foreign in ["x", "0", "07", "+7", "9007199254740992", "-1"] {
        put(&page.client, &subject, &[(TOKEN, foreign)], "mine").await;
        let refused = page.fence.put(KEY, token(5), "x").await;
        assert!(
            matches!(refused, Err(FenceError::Foreign { .. })),
            "{foreign:?}: {refused:?}"
        );
        let left = page.stored().await.unwrap();
        assert_eq!(left, ("mine".to_owned(), Some(foreign.to_owned())));
    }
    // A key that was deleted by the tools of NATS can be written again.
    put(&page.client, &subject, &[("KV-Operation", "DEL")], "").await;
    page.fence.put(KEY, token(5), "y").await.unwrap();
    for wrong in ["", ".", "a.", "a..b", "a b", "a.*", ">", "\u{e9}"] {
        let refused = page.fence.put(wrong, token(5), "x").await;
        assert!(
            matches!(refused, Err(FenceError::NoPlace { .. })),
            "{wrong:?}: {refused:?}"
        );
    }
}
