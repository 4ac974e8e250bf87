//! One table through the user's client: single requests and their outcomes. It decides none of the
//! rules.

use std::{error::Error as StdError, sync::Arc};

use aws_sdk_dynamodb::{
    Client,
    config::http::HttpResponse,
    error::{ProvideErrorMetadata, SdkError},
    operation::update_item::UpdateItemError,
    types::{ReturnValue, ReturnValuesOnConditionCheckFailure},
};
use dlock_core::{ProviderError, Record};

use crate::{
    call::Calls,
    clock::Wall,
    error,
    key::{Key, Layout},
    record::{self, Item},
    requests::expression::Update,
};

/// The table, and how requests to it are sent.
#[derive(Clone)]
pub(crate) struct Store {
    pub(crate) client: Client,
    pub(crate) table: String,
    pub(crate) layout: Arc<Layout>,
    /// The attribute by which DynamoDB may delete records, and whether releases write it.
    pub(crate) ttl_attribute: String,
    pub(crate) expire_released: bool,
    pub(crate) calls: Calls,
    pub(crate) wall: Wall,
}

/// The outcome of a conditional write.
#[derive(Debug)]
pub(crate) enum Written {
    /// The write was made: the record as it is now, if the store shows it.
    Applied(Option<Record>),
    /// The condition failed: the record as it was then, or, if the store does not show it, as it
    /// was read afterwards.
    Refused(Option<Record>),
}

impl Store {
    /// Makes a write if its condition holds.
    pub(crate) async fn write(&self, key: &Key, update: &Update) -> Result<Written, ProviderError> {
        let request = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(key.attributes()))
            .condition_expression(&update.condition)
            .update_expression(&update.update)
            .set_expression_attribute_names(Some(
                update.names(self.layout.name(), &self.ttl_attribute),
            ))
            .set_expression_attribute_values(Some(update.values.clone()))
            .return_values(ReturnValue::AllNew)
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
        let sent = request
            .customize()
            .config_override(self.calls.once())
            .send()
            .await;
        match sent {
            Ok(output) => {
                let shown = output.attributes.filter(|item| !item.is_empty());
                Ok(Written::Applied(self.shown(key, shown.as_ref())?))
            }
            Err(error) => match refusal(&error) {
                // No item in a refusal: either the item does not exist, or this store does not show
                // it (some compatible ones do not).
                Some(None) => Ok(Written::Refused(self.read(key).await?)),
                Some(shown) => Ok(Written::Refused(self.shown(key, shown)?)),
                None => Err(self.error(error)),
            },
        }
    }

    /// The record as it is.
    pub(crate) async fn read(&self, key: &Key) -> Result<Option<Record>, ProviderError> {
        let request = self
            .client
            .get_item()
            .table_name(&self.table)
            .set_key(Some(key.attributes()))
            .consistent_read(true)
            .customize()
            .config_override(self.calls.repeated());
        let output = request.send().await.map_err(|error| self.error(error))?;
        self.shown(key, output.item.as_ref())
    }

    fn shown(&self, key: &Key, item: Option<&Item>) -> Result<Option<Record>, ProviderError> {
        item.map(|item| self.record(item, &key.text)).transpose()
    }

    /// Classifies the failure of a request.
    pub(crate) fn error<E>(&self, error: SdkError<E, HttpResponse>) -> ProviderError
    where
        E: ProvideErrorMetadata + StdError + Send + Sync + 'static,
    {
        error::provider_error(&self.table, error)
    }

    /// An item as a record.
    pub(crate) fn record(&self, item: &Item, key: &str) -> Result<Record, ProviderError> {
        record::read(item).map_err(|flaw| error::bad_item(&self.table, key, &flaw))
    }
}

/// `None` if the write failed for another reason than its condition; otherwise the item that failed
/// the condition, if the store showed it.
fn refusal(error: &SdkError<UpdateItemError, HttpResponse>) -> Option<Option<&Item>> {
    match error.as_service_error()? {
        UpdateItemError::ConditionalCheckFailedException(refused) => {
            Some(refused.item().filter(|item| !item.is_empty()))
        }
        _ => None,
    }
}
