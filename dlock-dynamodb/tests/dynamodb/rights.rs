//! The permissions that the README lists, against the requests that each call sends.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
    time::Duration,
};

use aws_sdk_dynamodb::{
    Client,
    config::{
        ConfigBag, Intercept, RuntimeComponents, interceptors::BeforeTransmitInterceptorContextRef,
    },
    error::BoxError,
};
use dlock_core::{
    Provider,
    provider::{Acquire, Admin, Ask, List, Release, Renew, Revoke},
};
use dlock_dynamodb::{DynamodbProvider, fence::Fence};
use uuid::Uuid;

use super::admin::aged;
use crate::common::{PATIENCE, key, provider, settings, table_name, term, url};

/// The operations that a client has sent.
#[derive(Clone, Debug, Default)]
struct Sent(Arc<Mutex<BTreeSet<String>>>);

impl Intercept for Sent {
    fn name(&self) -> &'static str {
        "Sent"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let target = context.request().headers().get("x-amz-target");
        let operation = target.and_then(|target| target.rsplit_once('.')).unwrap().1;
        self.0.lock().unwrap().insert(operation.to_owned());
        Ok(())
    }
}

impl Sent {
    async fn client(&self) -> Client {
        Client::from_conf(settings(url().await).interceptor(self.clone()).build())
    }

    /// Compares the operations sent since the last comparison with a row of the README.
    fn are_the_rights_of(&self, row: &str) {
        let sent = std::mem::take(&mut *self.0.lock().unwrap());
        let begins = format!("| {row} |");
        let line = include_str!("../../README.md")
            .lines()
            .find(|line| line.starts_with(&begins));
        let line = line.unwrap_or_else(|| panic!("the README has no row {row}"));
        let listed = line
            .split('`')
            .filter_map(|word| word.strip_prefix("dynamodb:"));
        assert_eq!(
            listed.map(str::to_owned).collect::<BTreeSet<_>>(),
            sent,
            "{row}"
        );
    }
}

async fn on(sent: &Sent, table: &str, sort_key: bool, expires: bool) -> DynamodbProvider {
    let provider = DynamodbProvider::builder()
        .client(sent.client().await)
        .table_name(table)
        .prefix(if sort_key { "locks" } else { "" })
        .sort_key_opt(sort_key.then(|| "sort".to_owned()))
        .expire_released(expires)
        .attempt_timeout(PATIENCE)
        .call_timeout(PATIENCE);
    provider.build().unwrap()
}

#[tokio::test]
async fn every_call_sends_what_the_page_asks_permission_for_and_nothing_else() {
    let sent = Sent::default();
    let plain = on(&sent, &table_name(), false, false).await;
    plain.create_table().await.unwrap();
    sent.are_the_rights_of("`create_table`");
    plain.verify_table().await.unwrap();
    sent.are_the_rights_of("`verify_table`");
    let expiring = on(&sent, &table_name(), false, true).await;
    expiring.create_table().await.unwrap();
    sent.are_the_rights_of("`create_table` with `expire_released`");
    expiring.verify_table().await.unwrap();
    sent.are_the_rights_of("`verify_table` with `expire_released`");

    let held = term("held");
    plain.acquire(&held).await.unwrap();
    plain.acquire(&term("held")).await.unwrap();
    let floor = Acquire::new(term("floor").name, Uuid::new_v4(), Duration::from_secs(60));
    plain.acquire(&floor.floor((1 << 52) + 7)).await.unwrap();
    plain
        .renew(&Renew::new(held.name.clone(), held.new, 1))
        .await
        .unwrap();
    let version = plain.read(&held.name).await.unwrap().unwrap().version();
    plain
        .ask(&Ask::new(held.name.clone(), held.new))
        .await
        .unwrap();
    plain
        .release(&Release::new(held.name.clone(), held.new, None))
        .await
        .unwrap();
    sent.are_the_rights_of("locks");
    plain
        .revoke(&Revoke::new(held.name.clone(), version).unwrap())
        .await
        .unwrap();
    sent.are_the_rights_of("`ask`, `revoke`");

    plain.list(&List::new("")).await.unwrap();
    sent.are_the_rights_of("`list`");
    let sorted = on(&sent, &table_name(), true, false).await;
    sorted.create_table().await.unwrap();
    sent.0.lock().unwrap().clear();
    sorted.list(&List::new("")).await.unwrap();
    sent.are_the_rights_of("`list` with a sort key");
    let theirs = provider().await;
    aged(&theirs, "old", true, 8).await;
    let purging = on(&sent, theirs.table_name(), false, false).await;
    assert_eq!(purging.purge(10).await.unwrap(), 1);
    sent.are_the_rights_of("`purge`");

    let write = sent.client().await.update_item();
    let write = write
        .table_name(plain.table_name())
        .set_key(Some(key("page")));
    let write = write.update_expression("REMOVE draft");
    let token = dlock_core::FencingToken::new(7).unwrap();
    Fence::default().update(write, token).await.unwrap();
    sent.are_the_rights_of("a write past the fence");
}
