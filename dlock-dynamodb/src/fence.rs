//! Storage in DynamoDB that refuses a stale fencing token: rule T3, inside the write that changes
//! the data.
//!
//! A resource accepts a token that is at least the highest it has seen, and remembers the highest
//! in the same atomic write. For a resource that is one item, [`Fence::update`] adds both to the
//! user's own `UpdateItem`. For one that spans items, [`Fence::transact`] adds to the user's own
//! transaction an item that remembers the token for all of them.
//!
//! ```
//! use aws_sdk_dynamodb::{Client, types::AttributeValue};
//! use dlock_core::FencingToken;
//! use dlock_dynamodb::fence::{Fence, FenceError};
//!
//! # async fn example(client: Client, token: FencingToken) -> Result<(), Box<dyn std::error::Error>> {
//! let write = client
//!     .update_item()
//!     .table_name("accounts")
//!     .key("id", AttributeValue::S("a-17".into()))
//!     .update_expression("SET balance = :b")
//!     .expression_attribute_values(":b", AttributeValue::N("40".into()));
//! match Fence::default().update(write, token).await {
//!     Ok(_) => {}
//!     // A later holder has written since: stop.
//!     Err(FenceError::Stale(stale)) => eprintln!("{stale}"),
//!     Err(other) => return Err(other.into()),
//! }
//! # Ok(()) }
//! ```
//!
//! The SDK may repeat a request whose answer was lost. The fence admits the repeat, since its token is the same; an
//! update that increments (`ADD n :one`) then increments twice, with or without a fence.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use aws_sdk_dynamodb::{
    Error,
    error::SdkError,
    operation::{
        transact_write_items::{
            TransactWriteItemsError, TransactWriteItemsOutput,
            builders::TransactWriteItemsFluentBuilder,
        },
        update_item::{UpdateItemError, UpdateItemOutput, builders::UpdateItemFluentBuilder},
    },
    types::{AttributeValue, ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update},
};
use dlock_core::FencingToken;

const NAME: &str = "#dlock_fence";
const VALUE: &str = ":dlock_token";
const CONDITION: &str = "(attribute_not_exists(#dlock_fence) OR #dlock_fence <= :dlock_token)";
const ASSIGNMENT: &str = "#dlock_fence = :dlock_token";

/// The reason why a write was not made; see [there](dlock_core::FenceError). A condition of the caller's own that does
/// not hold is a `Store` error.
pub type FenceError = dlock_core::FenceError<Box<Error>>;

/// Where resources remember the highest token they have seen: in an attribute, `fence` by default, of their own item,
/// or of one that stands for several. Cheap to make; holds no client.
#[derive(Clone, Debug)]
pub struct Fence {
    attribute: String,
}

impl Default for Fence {
    fn default() -> Self {
        Self {
            attribute: "fence".to_owned(),
        }
    }
}

impl Fence {
    /// Another attribute for the highest token. All writers of a resource must use the same attribute.
    #[must_use]
    pub fn attribute(mut self, attribute: impl Into<String>) -> Self {
        self.attribute = attribute.into();
        self
    }

    /// Makes an update of one item and remembers the token there, unless the token is stale.
    ///
    /// # Errors
    /// [`FenceError::Stale`] if a later holder has written; then nothing changed, and the writer
    /// should stop. A condition of the update's own that does not hold is [`FenceError::Store`]. So is a stale
    /// token on a compatible store that does not return the item a condition failed on.
    ///
    /// # Cancel safety
    /// The update may have been made.
    pub async fn update(
        &self,
        update: UpdateItemFluentBuilder,
        token: FencingToken,
    ) -> Result<UpdateItemOutput, FenceError> {
        match self.guard(update, token).send().await {
            Ok(output) => Ok(output),
            Err(error) => Err(self.explain(error, token)),
        }
    }

    /// Adds the fence to an update that the caller sends: the condition, the assignment of the token, and the request
    /// for the old item if the condition fails. [`Fence::explain`] then distinguishes a stale token from other
    /// failures.
    #[must_use]
    pub fn guard(
        &self,
        update: UpdateItemFluentBuilder,
        token: FencingToken,
    ) -> UpdateItemFluentBuilder {
        let condition = match update.get_condition_expression() {
            Some(own) => format!("({own}) AND {CONDITION}"),
            None => CONDITION.to_owned(),
        };
        let assignment = assign(update.get_update_expression().as_deref().unwrap_or(""));
        update
            .condition_expression(condition)
            .update_expression(assignment)
            .expression_attribute_names(NAME, &self.attribute)
            .expression_attribute_values(VALUE, value(token))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
    }

    /// Classifies the failure of a guarded update.
    #[must_use]
    pub fn explain<R>(&self, error: SdkError<UpdateItemError, R>, token: FencingToken) -> FenceError
    where
        R: Send + Sync + std::fmt::Debug + 'static,
    {
        let refusal = match error.as_service_error() {
            Some(UpdateItemError::ConditionalCheckFailedException(refused)) => {
                refused.item().and_then(|item| self.refusal(item, token))
            }
            _ => None,
        };
        refusal.unwrap_or_else(|| FenceError::Store(Box::new(error.into())))
    }

    /// Makes a transaction, unless the token is stale for the resource that `key` of `table` stands for: a separate
    /// item that remembers the highest token for everything the transaction writes.
    ///
    /// # Errors
    /// [`FenceError::Stale`] if a later holder has written; then nothing changed, and the writer
    /// should stop. Any other reason is [`FenceError::Store`].
    ///
    /// # Cancel safety
    /// The transaction may have been made.
    pub async fn transact(
        &self,
        transaction: TransactWriteItemsFluentBuilder,
        table: &str,
        key: HashMap<String, AttributeValue>,
        token: FencingToken,
    ) -> Result<TransactWriteItemsOutput, FenceError> {
        let place = transaction
            .get_transact_items()
            .as_ref()
            .map_or(0, Vec::len);
        let item = self.item(table, key, token)?;
        match transaction.transact_items(item).send().await {
            Ok(output) => Ok(output),
            Err(error) => Err(self.explain_transaction(error, place, token)),
        }
    }

    /// The fence's item for a transaction that the caller sends. [`Fence::explain_transaction`] then distinguishes a
    /// stale token from other failures.
    ///
    /// # Errors
    /// [`FenceError::Store`] if the SDK finds it incomplete.
    pub fn item(
        &self,
        table: &str,
        key: HashMap<String, AttributeValue>,
        token: FencingToken,
    ) -> Result<TransactWriteItem, FenceError> {
        let update = Update::builder()
            .table_name(table)
            .set_key(Some(key))
            .condition_expression(CONDITION)
            .update_expression(assign(""))
            .expression_attribute_names(NAME, &self.attribute)
            .expression_attribute_values(VALUE, value(token))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .build()
            .map_err(|error| FenceError::Store(Box::new(error.into())))?;
        Ok(TransactWriteItem::builder().update(update).build())
    }

    /// Classifies the failure of a transaction. The fence's item is number `place` in it, counted from 0.
    #[must_use]
    pub fn explain_transaction<R>(
        &self,
        error: SdkError<TransactWriteItemsError, R>,
        place: usize,
        token: FencingToken,
    ) -> FenceError
    where
        R: Send + Sync + std::fmt::Debug + 'static,
    {
        let refusal = match error.as_service_error() {
            Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => cancelled
                .cancellation_reasons()
                .get(place)
                .filter(|reason| reason.code() == Some("ConditionalCheckFailed"))
                .and_then(|reason| self.refusal(reason.item()?, token)),
            _ => None,
        };
        refusal.unwrap_or_else(|| FenceError::Store(Box::new(error.into())))
    }

    /// Reads the fence from the item that failed the condition; `None` if it admits the token.
    fn refusal(
        &self,
        item: &HashMap<String, AttributeValue>,
        token: FencingToken,
    ) -> Option<FenceError> {
        let highest = match item.get(&self.attribute)? {
            AttributeValue::N(text) => text.parse().ok().and_then(FencingToken::new),
            _ => None,
        };
        let admits = highest.is_some_and(|highest| token >= highest);
        (!admits).then(|| {
            FenceError::refused(token, highest, || {
                format!("the attribute {:?} of the item", self.attribute)
            })
        })
    }
}

fn value(token: FencingToken) -> AttributeValue {
    AttributeValue::N(token.to_string())
}

/// An update expression with the fence's assignment in its SET clause, which may be missing: each clause may occur only
/// once.
fn assign(expression: &str) -> String {
    let part_of_a_name = |c: char| c.is_alphanumeric() || "_#:.-".contains(c);
    let mut from = 0;
    while let Some(start) = expression[from..].find(part_of_a_name).map(|at| from + at) {
        let end = expression[start..]
            .find(|c| !part_of_a_name(c))
            .map_or(expression.len(), |at| start + at);
        // An attribute of that name can only be written with an alias, because `SET` is a reserved word.
        if expression[start..end].eq_ignore_ascii_case("SET") {
            let (head, tail) = expression.split_at(end);
            return format!("{head} {ASSIGNMENT},{tail}");
        }
        from = end;
    }
    format!("{expression} SET {ASSIGNMENT}")
        .trim_start()
        .to_owned()
}
