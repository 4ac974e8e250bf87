//! Pages of leases.

use std::time::Duration;

use dlock_core::{
    Name, Provider,
    provider::{Acquire, Admin, List},
};
use dlock_server::router;
use tokio::net::TcpListener;
use uuid::Uuid;

use crate::support::{Api, connect};

/// The store may be used without a server.
#[tokio::test]
async fn record_without_a_name_in_its_namespace_is_left_out() {
    let api = Api::new();
    for name in ["default/", "default/a", "default/b", "other/c"] {
        let name = Name::new(name).unwrap();
        let term = Acquire::new(name, Uuid::new_v4(), Duration::from_secs(30));
        api.store.acquire(&term).await.unwrap();
    }
    let whole = api.get("/v1/default/leases").await;
    assert_eq!(whole.body["leases"].as_array().unwrap().len(), 2);

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = router(&api.service);
    tokio::spawn(async move { axum::serve(listener, router).await });
    let client = connect(&[address], Duration::from_secs(60)).await;
    let mut names = Vec::new();
    let mut after = None;
    loop {
        let list = List::new("").after(after).limit(1);
        let page = client.list(&list).await.unwrap();
        names.extend(page.records.into_iter().map(|(name, _)| name));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(names, ["a", "b"].map(|name| Name::new(name).unwrap()));
}
