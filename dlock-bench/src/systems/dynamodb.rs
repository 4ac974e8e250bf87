//! The DynamoDB-compatible store without a lock manager, and the peers on it.

use std::{sync::Arc, time::Duration};

use ::dlock_0_2::{
    DLock as OldLock, DynamodbLease as OldLease, DynamodbProvider as OldProvider,
    Lease as OldRelease, error::DLockError,
};
use anyhow::{Context, Result, anyhow};
use async_trait::async_trait;
use aws_sdk_dynamodb::{
    Client, Config,
    config::{
        BehaviorVersion, Credentials, IdentityCache, Intercept, Region,
        StalledStreamProtectionConfig, retry::RetryConfig, timeout::TimeoutConfig,
    },
    types::{AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure},
};
use aws_smithy_http_client::Connector;
use uuid::Uuid;

use super::{Held, LEASE, Lock, Places, System};
use crate::counters::Meter;

/// How long a waiter of the raw calls sleeps between two tries.
const POLL: Duration = Duration::from_millis(50);

const RAW_TABLE: &str = "raw";
const LEASE_TABLE: &str = "dynamodb-lease";
const OLD_TABLE: &str = "dlock-0-2";

/// The tables of the raw calls and of the peers, and their keys.
pub(crate) const fn tables() -> [(&'static str, &'static str); 3] {
    [
        (RAW_TABLE, "name"),
        (LEASE_TABLE, "key"),
        (OLD_TABLE, OldProvider::NAME_ATTRIBUTE),
    ]
}

/// A client that talks plain HTTP to the store, and counts.
pub(crate) fn client_at(places: &Places) -> Result<Client> {
    client_with(places, Meter)
}

/// The same with an interceptor of the caller's.
pub(crate) fn client_with(
    places: &Places,
    interceptor: impl Intercept + 'static,
) -> Result<Client> {
    let port = places
        .dynamodb
        .context("there is no DynamoDB-compatible store")?;
    let http = aws_smithy_http_client::Builder::new()
        .build_with_connector_fn(|_, _| Connector::builder().build_http());
    let config = Config::builder()
        .retry_config(RetryConfig::disabled())
        .timeout_config(TimeoutConfig::disabled())
        .identity_cache(IdentityCache::no_cache())
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .behavior_version(BehaviorVersion::latest())
        .region(Region::from_static("eu-central-1"))
        .credentials_provider(Credentials::new("bench", "bench", None, None, "bench"))
        .endpoint_url(format!("http://127.0.0.1:{port}"))
        .http_client(http)
        .interceptor(interceptor)
        .build();
    Ok(Client::from_conf(config))
}

// Two UpdateItem calls.

pub(super) async fn raw(places: Places) -> Result<Arc<dyn System>> {
    Ok(Arc::new(Raw(client_at(&places)?)))
}

struct Raw(Client);

struct RawLock(Client, String);

struct RawHeld(Client, String, String);

impl System for Raw {
    fn lock(&self, name: &str) -> Result<Box<dyn Lock>> {
        Ok(Box::new(RawLock(self.0.clone(), name.to_owned())))
    }
}

#[async_trait]
impl Lock for RawLock {
    async fn acquire(&self) -> Result<Box<dyn Held>> {
        let Self(client, name) = self;
        let uuid = Uuid::new_v4().to_string();
        loop {
            let text = |text: &str| AttributeValue::S(text.to_owned());
            let number = |number: u128| AttributeValue::N(number.to_string());
            let taken = client
                .update_item()
                .table_name(RAW_TABLE)
                .key("name", text(name))
                .condition_expression("attribute_not_exists(#k) OR #r = :true")
                .update_expression(
                    "SET #u = :u, #d = :d, #r = :false, #t = if_not_exists(#t, :zero) + :one",
                )
                .set_expression_attribute_names(Some(aliases(&["#k", "#u", "#d", "#r", "#t"])))
                .expression_attribute_values(":u", text(&uuid))
                .expression_attribute_values(":d", number(LEASE.as_millis()))
                .expression_attribute_values(":zero", number(0))
                .expression_attribute_values(":one", number(1))
                .expression_attribute_values(":true", AttributeValue::Bool(true))
                .expression_attribute_values(":false", AttributeValue::Bool(false))
                .return_values(ReturnValue::AllNew)
                .return_values_on_condition_check_failure(
                    ReturnValuesOnConditionCheckFailure::AllOld,
                )
                .send()
                .await;
            match taken {
                Ok(_) => {
                    return Ok(Box::new(RawHeld(client.clone(), name.clone(), uuid)));
                }
                Err(error)
                    if error
                        .as_service_error()
                        .is_some_and(|error| error.is_conditional_check_failed_exception()) => {}
                Err(error) => return Err(error.into()),
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

#[async_trait]
impl Held for RawHeld {
    async fn release(self: Box<Self>) -> Result<()> {
        let Self(client, name, uuid) = *self;
        client
            .update_item()
            .table_name(RAW_TABLE)
            .key("name", AttributeValue::S(name))
            .condition_expression("#u = :u")
            .update_expression("SET #r = :true")
            .set_expression_attribute_names(Some(aliases(&["#u", "#r"])))
            .expression_attribute_values(":u", AttributeValue::S(uuid))
            .expression_attribute_values(":true", AttributeValue::Bool(true))
            .return_values(ReturnValue::AllNew)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .send()
            .await?;
        Ok(())
    }
}

fn aliases(used: &[&str]) -> std::collections::HashMap<String, String> {
    let all = [
        ("#k", "name"),
        ("#u", "uuid"),
        ("#d", "duration"),
        ("#r", "released"),
        ("#t", "token"),
    ];
    all.iter()
        .filter(|(alias, _)| used.contains(alias))
        .map(|(alias, name)| ((*alias).to_owned(), (*name).to_owned()))
        .collect()
}

// dynamodb-lease: polls every second across processes, queues in a process.

pub(super) async fn lease(places: Places) -> Result<Arc<dyn System>> {
    let client = dynamodb_lease::Client::builder()
        .table_name(LEASE_TABLE)
        .lease_ttl_seconds(u32::try_from(LEASE.as_secs())?)
        .build_and_check_db(client_at(&places)?);
    Ok(Arc::new(Leases(client.await?)))
}

struct Leases(dynamodb_lease::Client);

struct LeaseLock(dynamodb_lease::Client, String);

impl System for Leases {
    fn lock(&self, name: &str) -> Result<Box<dyn Lock>> {
        Ok(Box::new(LeaseLock(self.0.clone(), name.to_owned())))
    }
}

#[async_trait]
impl Lock for LeaseLock {
    async fn acquire(&self) -> Result<Box<dyn Held>> {
        Ok(Box::new(self.0.acquire(&self.1).await?))
    }
}

#[async_trait]
impl Held for dynamodb_lease::Lease {
    async fn release(self: Box<Self>) -> Result<()> {
        dynamodb_lease::Lease::release(*self).await
    }
}

// dlock 0.2.0, the crate of that name on crates.io: tries again at once, without a pause.

pub(super) async fn dlock_0_2(places: Places) -> Result<Arc<dyn System>> {
    let provider = OldProvider::builder()
        .client(client_at(&places)?)
        .table_name(OLD_TABLE.to_owned())
        .build();
    Ok(Arc::new(Old(provider)))
}

struct Old(OldProvider);

struct OldWaiter(OldLock<OldProvider>);

impl System for Old {
    fn lock(&self, name: &str) -> Result<Box<dyn Lock>> {
        let lock = OldLock::builder()
            .name(name.to_owned())
            .owner("bench".to_owned())
            .duration(LEASE)
            .provider(self.0.clone())
            .build();
        Ok(Box::new(OldWaiter(lock)))
    }
}

#[async_trait]
impl Lock for OldWaiter {
    // The way its own `with` waits, with the pause that is its default.
    async fn acquire(&self) -> Result<Box<dyn Held>> {
        let mut seen = None;
        loop {
            let answer = match seen.take() {
                None => self.0.acquire().await,
                Some(retry) => self.0.retry(retry).await,
            };
            match answer {
                Ok(lease) => return Ok(Box::new(lease)),
                Err(DLockError::AlreadyAcquired(retry)) => seen = Some(retry),
                Err(DLockError::AlreadyReleased) => {}
                Err(DLockError::ProviderError(error)) => return Err(anyhow!(error)),
            }
            tokio::time::sleep(Duration::ZERO).await;
        }
    }
}

#[async_trait]
impl Held for OldLease {
    async fn release(self: Box<Self>) -> Result<()> {
        let released = OldRelease::release(&*self).await;
        released.map_err(|error| anyhow!("dlock 0.2.0: {error}"))
    }
}
