//! The DynamoDB-compatible store without a lock manager.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, Result};
use async_trait::async_trait;
use aws_sdk_dynamodb::{
    Client, Config,
    config::{
        BehaviorVersion, Credentials, IdentityCache, Region, StalledStreamProtectionConfig,
        retry::RetryConfig, timeout::TimeoutConfig,
    },
    operation::update_item::UpdateItemError,
    types::{AttributeValue, ReturnValue, ReturnValuesOnConditionCheckFailure},
};
use aws_smithy_http_client::Connector;
use uuid::Uuid;

use super::{Held, LEASE, Lock, Places, System};
use crate::counters::Meter;

/// How long a waiter of the raw calls sleeps between two tries.
const POLL: Duration = Duration::from_millis(50);

const RAW_TABLE: &str = "raw";

/// The tables of the raw calls and of the peers, and their keys.
pub(crate) const fn tables() -> &'static [(&'static str, &'static str)] {
    &[
        (RAW_TABLE, "name"),
        #[cfg(feature = "peers")]
        super::dynamodb_lease::TABLE,
        #[cfg(feature = "peers")]
        super::dlock_0_2::TABLE,
    ]
}

/// A client that uses plain HTTP to the store, and counts its requests.
pub(crate) fn client_at(places: &Places) -> Result<Client> {
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
        .interceptor(Meter)
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
                        .is_some_and(UpdateItemError::is_conditional_check_failed_exception) => {}
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
