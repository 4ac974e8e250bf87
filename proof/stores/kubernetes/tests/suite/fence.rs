//! Objects that refuse a stale token (T3).

use std::time::Duration;

use async_trait::async_trait;
use dlock_core::{FencingToken, Stale};
use dlock_kubernetes::fence::{Fence, FenceError};
use dlock_kubernetes_proof::{ADMIN, Server, client, provider};
use dlock_testkit::storage::{self, Storage};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, ResourceExt, api::PostParams};

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
async fn thousands_of_writes_with_random_tokens_leave_the_highest() {
    storage::random_tokens_leave_the_highest(page().await).await;
}

/// The holder is paused past the end of its lease; another takes over and writes; the first wakes up and writes with its
/// old token.
#[tokio::test]
async fn paused_holder_is_refused_by_the_object() {
    // Its leases are short: nobody else keeps this server busy.
    let server = Server::start().await;
    let page = page_of(&server).await;
    let namespace = page.0.namespace().unwrap().to_owned();
    let kubeconfig = server.kubeconfig(ADMIN);
    // A client lives on the runtime that it was made on.
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
