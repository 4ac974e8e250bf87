//! Objects that refuse a stale token (T3).

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_core::{ErrorKind, FencingToken, Stale};
use dlock_object_proof::{LIMIT, Server, User, bucket, provider};
use dlock_object_store::{
    Objects,
    fence::{self, Fence, FenceError},
};
use dlock_testkit::{
    proxy::{Fault, Happening, Moment, Proxy, Rule},
    storage::{self, Storage},
};
use futures_util::future::join_all;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutPayload, path::Path};
use tokio::time::{sleep, timeout};

use crate::{azure::azurite, fresh, server};

/// The delay of a late request. If the other requests take longer than that, it still arrives in time.
const LATE: Duration = Duration::from_secs(1);

/// A resource of one object.
#[derive(Clone)]
struct Page {
    bucket: Arc<dyn ObjectStore>,
    fence: Fence,
    path: Path,
}

impl Page {
    /// A resource that was never written.
    fn new(bucket: impl ObjectStore) -> Self {
        let bucket: Arc<dyn ObjectStore> = Arc::new(bucket);
        Self {
            fence: Fence::new(Objects::new(Arc::clone(&bucket)).sent_once()),
            bucket,
            path: Path::from(format!("{}/left", fresh("pages"))),
        }
    }

    /// The same resource, through another client.
    fn through(&self, bucket: impl ObjectStore) -> Self {
        Self {
            path: self.path.clone(),
            ..Self::new(bucket)
        }
    }

    async fn put(&self, token: u64, text: &str) -> Result<(), FenceError> {
        let text = text.to_owned();
        self.fence.put(&self.path, self::token(token), text).await
    }

    /// The token that the fence remembers, and the writer's text.
    async fn text(&self) -> Option<(u64, String)> {
        let found = match self.bucket.get(&self.path).await {
            Err(Error::NotFound { .. }) => return None,
            found => found.unwrap().bytes().await.unwrap(),
        };
        let (token, text) = fence::split(&found).unwrap();
        Some((token.get(), String::from_utf8(text.to_vec()).unwrap()))
    }
}

async fn on_s3() -> Page {
    Page::new(server().await.bucket(User::LOCKER))
}

async fn on_azure() -> Page {
    Page::new(azurite().await.container("locks"))
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
        // A busy server leaves one request in hundreds without an answer. Like any caller, this writes again.
        for _ in 0..3 {
            match self.put(token.get(), &value.to_string()).await {
                Ok(()) => return Ok(()),
                Err(FenceError::Stale(stale)) => return Err(stale),
                Err(FenceError::Store(error)) if error.kind() == ErrorKind::Unknown => {}
                Err(other) => panic!("{other:?}"),
            }
        }
        panic!("three writes in a row got no answer");
    }

    async fn read(&self) -> Option<(u64, FencingToken)> {
        let (highest, text) = self.text().await?;
        Some((text.parse().unwrap(), token(highest)))
    }
}

#[tokio::test]
async fn equal_and_greater_tokens_pass_and_a_lower_one_changes_nothing() {
    for page in [on_s3().await, on_azure().await] {
        storage::only_lower_tokens_are_refused(&page).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_with_random_tokens_leave_the_highest() {
    storage::random_tokens_leave_the_highest(on_s3().await).await;
}

/// The holder is paused past the end of its lease; another takes over and writes; the first wakes up and writes with its
/// old token.
#[tokio::test]
async fn paused_holder_is_refused_by_the_object() {
    // Its leases are short, so no other test may keep this server busy.
    let server = Server::start().await;
    let at = server.address();
    let page = Page::new(bucket(at, LIMIT));
    let provider = move || async move { provider(at, LIMIT) };
    storage::paused_holder_is_refused(provider, &page).await;
}

#[tokio::test]
async fn refused_holder_raises_its_floor_and_gets_above() {
    let server = server().await;
    let provider = || async { server.provider() };
    storage::refused_holder_gets_above(provider, &on_s3().await).await;
    let azurite = azurite().await;
    let provider = || async { azurite.provider() };
    storage::refused_holder_gets_above(provider, &on_azure().await).await;
}

#[tokio::test]
async fn highest_of_many_creators_stays() {
    for page in [on_s3().await, on_azure().await] {
        let highest = 8;
        let writes = (1..=highest).map(|token| {
            let page = page.clone();
            async move { (token, page.put(token, &token.to_string()).await) }
        });
        for (token, outcome) in join_all(writes).await {
            match outcome {
                Ok(()) => {}
                Err(FenceError::Stale(stale)) => {
                    assert!(
                        token < highest && stale.highest > stale.presented,
                        "{stale}"
                    );
                }
                Err(other) => panic!("{token}: {other:?}"),
            }
        }
        assert_eq!(page.text().await, Some((highest, highest.to_string())));
    }
}

#[tokio::test]
async fn what_was_not_written_through_a_fence_is_left_alone() {
    for page in [on_s3().await, on_azure().await] {
        for foreign in ["", "40", &"x".repeat(100_000)] {
            let payload = PutPayload::from(foreign.to_owned());
            page.bucket.put(&page.path, payload).await.unwrap();
            let refused = page.put(5, "x").await;
            assert!(
                matches!(refused, Err(FenceError::Foreign { .. })),
                "{refused:?}"
            );
            let left = page.bucket.get(&page.path).await.unwrap();
            assert_eq!(left.bytes().await.unwrap(), foreign.as_bytes());
        }
    }
}

#[tokio::test]
async fn bucket_that_refuses_or_is_not_there_is_said_so() {
    let server = server().await;
    for bucket in [server.bucket(User::READER), server.bucket_named("none")] {
        let refused = Page::new(bucket).put(5, "x").await;
        let is_fatal =
            matches!(&refused, Err(FenceError::Store(error)) if error.kind() == ErrorKind::Fatal);
        assert!(is_fatal, "{refused:?}");
    }
}

/// S3 names versions by the contents: when this writer's put arrives, the object has the same contents again as when
/// the writer read it.
#[tokio::test]
async fn older_token_does_not_replace_equal_contents_of_a_later_one() {
    let server = server().await;
    let proxy = Proxy::start(server.address()).await.unwrap();
    let until_late = async {
        loop {
            let page = on_s3().await;
            let ours = page.through(bucket(proxy.address(), LIMIT));
            page.put(5, "a").await.unwrap();
            let struck = proxy.struck();
            proxy.inject(Rule::new(Fault::DelayRequest(LATE)).skip(1).times(1));
            let others = async {
                proxy.until_struck(struck + 1).await;
                page.put(7, "a").await.unwrap();
            };
            let (late, ()) = tokio::join!(ours.put(6, "b"), others);
            assert_eq!(page.text().await, Some((7, "a".to_owned())), "{late:?}");
            match late {
                // The put came in time.
                Ok(()) => {}
                Err(FenceError::Stale(stale)) => return assert_eq!(stale.highest, token(7)),
                Err(other) => panic!("{other:?}"),
            }
        }
    };
    timeout(3 * LIMIT, until_late).await.unwrap();
}

#[tokio::test]
async fn put_that_comes_late_changes_nothing_after_its_repeat() {
    let server = server().await;
    let proxy = Proxy::start(server.address()).await.unwrap();
    let page = on_s3().await;
    let ours = page.through(bucket(proxy.address(), LIMIT));
    page.put(5, "z").await.unwrap();
    proxy.inject(Rule::new(Fault::Late(LATE)).skip(1).times(1));
    let lost = ours.put(5, "a").await;
    let is_unknown =
        matches!(&lost, Err(FenceError::Store(error)) if error.kind() == ErrorKind::Unknown);
    assert!(is_unknown, "{lost:?}");
    for text in ["a", "z"] {
        page.put(5, text).await.unwrap();
    }
    // The late put has been answered.
    let is_over = || {
        proxy
            .log()
            .iter()
            .any(|event| matches!(event.what, Happening::Ended { .. }))
    };
    let until_over = async {
        while !is_over() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LIMIT, until_over).await.unwrap();
    assert_eq!(page.text().await, Some((5, "z".to_owned())));
}

/// Wherever a connection breaks: a write that was answered was done, one that was denied was not; it may be repeated.
#[tokio::test]
async fn write_cut_at_any_moment_is_told_truly_and_may_be_made_again() {
    let server = server().await;
    let proxy = Proxy::start(server.address()).await.unwrap();
    let cuts = Moment::ALL
        .map(Fault::Reset)
        .into_iter()
        .chain(Moment::ALL.map(Fault::Close));
    for fault in cuts {
        let page = on_s3().await;
        let ours = page.through(bucket(proxy.address(), LIMIT));
        page.put(5, "z").await.unwrap();
        let struck = proxy.struck();
        proxy.inject(Rule::new(fault).skip(1).times(1));
        let answer = ours.put(6, "a").await;
        timeout(LIMIT, proxy.until_struck(struck + 1))
            .await
            .unwrap();
        let done = page.text().await == Some((6, "a".to_owned()));
        // The proxy's promise, without which this test would prove nothing.
        assert_eq!(done, fault.executed(), "{fault}: {answer:?}");
        match &answer {
            Ok(()) => assert!(done, "{fault}: answered, and not done"),
            Err(FenceError::Store(error)) => {
                assert_ne!(error.kind(), ErrorKind::Fatal, "{fault}: {error:?}");
                let denied = error.kind() == ErrorKind::NotApplied;
                assert!(!(denied && done), "{fault}: done, and denied: {error:?}");
            }
            Err(other) => panic!("{fault}: {other:?}"),
        }
        let until_answered = async {
            while let Err(error) = ours.put(6, "a").await {
                assert!(matches!(error, FenceError::Store(_)), "{fault}: {error:?}");
            }
        };
        timeout(LIMIT, until_answered).await.unwrap();
        assert_eq!(page.text().await, Some((6, "a".to_owned())));
        page.put(7, "b").await.unwrap();
        let late = ours.put(6, "a").await;
        assert!(
            matches!(late, Err(FenceError::Stale(_))),
            "{fault}: {late:?}"
        );
    }
}
