//! Objects that refuse a stale token (T3).

use std::{mem, time::Duration};

use async_trait::async_trait;
use dlock_core::{FencingToken, Stale};
use dlock_kubernetes::fence::{Fence, FenceError};
use dlock_kubernetes_proof::{ADMIN, Server, client, provider};
use dlock_testkit::storage::{self, Storage};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Error, ResourceExt,
    api::{ObjectMeta, PostParams},
};
use tokio::{
    runtime::Handle,
    task::block_in_place,
    time::{Instant, timeout},
};

const NAME: &str = "page";

const LIMIT: Duration = Duration::from_secs(20);

/// An object with two values.
#[derive(Clone)]
struct Page(Api<ConfigMap>);

/// An empty one, in a namespace of its own.
async fn page() -> Page {
    page_of(Server::shared().await).await
}

async fn page_of(server: &Server) -> Page {
    let namespace = server.namespace().await;
    let maps: Api<ConfigMap> = Api::namespaced(server.client(ADMIN).await, &namespace);
    let mut map = ConfigMap::default();
    map.metadata.name = Some(NAME.into());
    maps.create(&PostParams::default(), &map).await.unwrap();
    Page(maps)
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
        let write = |map: &mut ConfigMap| {
            for key in ["left", "right"] {
                let data = map.data.get_or_insert_default();
                data.insert(key.into(), value.to_string());
            }
        };
        match Fence::default().update(&self.0, NAME, token, write).await {
            Ok(_) => Ok(()),
            Err(FenceError::Stale(stale)) => Err(stale),
            Err(other) => panic!("{other:?}"),
        }
    }

    async fn read(&self) -> Option<(u64, FencingToken)> {
        let map = self.0.get(NAME).await.unwrap();
        let data = map.data.as_ref()?;
        assert_eq!(data["left"], data["right"], "of one write");
        let seen = map.annotations()["dlock/fence"].parse().unwrap();
        Some((data["left"].parse().unwrap(), token(seen)))
    }
}

#[tokio::test]
async fn equal_and_greater_tokens_pass_and_a_lower_one_changes_nothing() {
    storage::only_lower_tokens_are_refused(&page().await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_with_random_tokens_leave_the_highest() {
    storage::random_tokens_leave_the_highest(page().await).await;
}

/// The holder is paused past the end of its lease; another takes over and writes; the first wakes up and writes with its
/// old token.
#[tokio::test]
async fn paused_holder_is_refused_by_the_object() {
    // Its leases are short, so no other test may keep this server busy.
    let server = Server::start().await;
    let page = page_of(&server).await;
    let namespace = page.0.namespace().unwrap().to_owned();
    let kubeconfig = server.kubeconfig(ADMIN);
    // A client is bound to the runtime on which it was created.
    let provider = move || {
        let (kubeconfig, namespace) = (kubeconfig.clone(), namespace.clone());
        async move { provider(client(&kubeconfig, LIMIT).await, &namespace) }
    };
    storage::paused_holder_is_refused(provider, &page).await;
}

#[tokio::test]
async fn refused_holder_raises_its_floor_and_gets_above() {
    let page = page().await;
    let namespace = page.0.namespace().unwrap().to_owned();
    let server = Server::shared().await;
    storage::refused_holder_gets_above(|| server.provider(&namespace), &page).await;
}

#[tokio::test]
async fn what_is_no_token_is_found_and_left_alone() {
    let Page(maps) = page().await;
    for foreign in ["", "x", "0", "9007199254740992"] {
        let mut map = maps.get(NAME).await.unwrap();
        map.annotations_mut()
            .insert("dlock/fence".into(), foreign.into());
        let before = maps
            .replace(NAME, &PostParams::default(), &map)
            .await
            .unwrap();
        let write = |_: &mut ConfigMap| {};
        let refused = Fence::default().update(&maps, NAME, token(5), write).await;
        assert!(
            matches!(refused, Err(FenceError::Foreign { .. })),
            "{foreign:?}: {refused:?}"
        );
        assert_eq!(maps.get(NAME).await.unwrap(), before);
    }
    let write = |_: &mut ConfigMap| {};
    let missing = Fence::new("x")
        .update(&maps, "missing", token(5), write)
        .await;
    assert!(matches!(missing, Err(FenceError::Store(_))), "{missing:?}");
}

/// A `change` may replace the object that was read by one of its own: with another name and version, or with
/// none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn change_that_replaces_the_object_does_not_drop_the_condition() {
    let other = || Some("1".to_owned());
    let metadata = [
        ObjectMeta {
            name: Some(NAME.into()),
            ..ObjectMeta::default()
        },
        ObjectMeta::default(),
        ObjectMeta {
            name: other(),
            namespace: other(),
            uid: other(),
            resource_version: other(),
            ..ObjectMeta::default()
        },
    ];
    for metadata in metadata {
        let page = page().await;
        let desired = ConfigMap {
            metadata,
            ..ConfigMap::default()
        };
        let fence = Fence::default();
        let replaced = fence.update(&page.0, NAME, token(5), |map: &mut ConfigMap| {
            *map = desired.clone();
        });
        let replaced = timeout(LIMIT, replaced).await.unwrap().unwrap();
        assert_eq!(replaced.annotations()["dlock/fence"], "5");

        let mut overtaken = true;
        let late = |map: &mut ConfigMap| {
            if mem::take(&mut overtaken) {
                at_once(page.write(token(20), 20)).unwrap();
            }
            *map = desired.clone();
        };
        let late = fence.update(&page.0, NAME, token(10), late);
        let late = timeout(LIMIT, late).await.unwrap();
        assert!(matches!(late, Err(FenceError::Stale(_))), "{late:?}");
        assert_eq!(page.read().await, Some((20, token(20))));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writer_that_others_always_overtake_pauses_and_gives_up() {
    let page = page().await;
    let mut tries = 0;
    let overtaken = |_: &mut ConfigMap| {
        tries += 1;
        at_once(page.write(token(5), tries)).unwrap();
    };
    let fence = Fence::default();
    let began = Instant::now();
    let write = fence.update(&page.0, NAME, token(5), overtaken);
    let gave_up = timeout(LIMIT * 3, write).await.unwrap();
    let took = began.elapsed();
    let is_conflict = |error: &Error| matches!(error, Error::Api(status) if status.code == 409);
    assert!(
        matches!(&gave_up, Err(FenceError::Store(error)) if is_conflict(error)),
        "{gave_up:?}"
    );
    assert_eq!(page.read().await, Some((tries, token(5))));
    // The pauses grow, and each is at least half of its maximum.
    assert!((10..=32).contains(&tries), "{tries} tries");
    assert!(took >= Duration::from_secs(2), "{tries} tries in {took:?}");
}

/// Finishes this action before the caller continues.
fn at_once<F: Future>(action: F) -> F::Output {
    block_in_place(|| Handle::current().block_on(action))
}
