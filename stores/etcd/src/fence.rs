//! Storage in etcd that refuses a stale fencing token: rule T3, inside the transaction that changes the data.
//!
//! A resource accepts a token that is at least the highest it has seen, and remembers the highest in the same atomic
//! write. The token is in a separate key next to the data, so a resource may be one key or many.
//!
//! ```no_run
//! // Needs an etcd.
//! use dlock_core::FencingToken;
//! use dlock_etcd::fence::{Fence, FenceError};
//! use etcd_client::{Client, TxnOp};
//!
//! # async fn example(client: Client, token: FencingToken) -> Result<(), Box<dyn std::error::Error>> {
//! let write = [TxnOp::put("accounts/a-17", "40", None)];
//! match Fence::default().transact(&client, "a-17", token, write).await {
//!     Ok(_) => {}
//!     // A later holder has written: stop.
//!     Err(FenceError::Stale(stale)) => eprintln!("{stale}"),
//!     Err(other) => return Err(other.into()),
//! }
//! # Ok(()) }
//! ```

use dlock_core::FencingToken;
use etcd_client::{Client, Compare, CompareOp, Error, Txn, TxnOp, TxnOpResponse, TxnResponse};

/// Why a write was not made; see [there](dlock_core::FenceError).
pub type FenceError = dlock_core::FenceError<Box<Error>>;

/// The place where resources remember the highest token they have seen: the key `PREFIX/RESOURCE`. Cheap to make; holds
/// no client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    prefix: String,
}

impl Default for Fence {
    /// In keys that start with `dlock-fence/`.
    fn default() -> Self {
        Self::new("dlock-fence")
    }
}

impl Fence {
    /// In keys that start with `prefix/`. All writers of a resource must use the same prefix.
    #[must_use]
    pub fn new(prefix: impl Into<String>) -> Self {
        Self {
            prefix: prefix.into(),
        }
    }

    /// Applies these operations if the token is not stale for the resource, and remembers the token: all in one
    /// transaction. Their answers are returned in their order. A condition of the writer goes into a transaction among
    /// them ([`TxnOp::txn`]). None of them may write the fence's key, and no other writer may: etcd compares it as
    /// text, so a text that is no token, and yet sorts among tokens, is taken for one.
    ///
    /// # Errors
    /// [`FenceError::Stale`] if a later holder has written; then nothing changed, and the writer should stop.
    /// [`FenceError::Foreign`] if the fence's key holds something other than a token that sorts before or after it;
    /// then nothing changed either. [`FenceError::Store`] for every other reason: the operations may have been applied.
    ///
    /// # Cancel safety
    /// The operations may have been applied.
    pub async fn transact(
        &self,
        client: &Client,
        resource: &str,
        token: FencingToken,
        operations: impl Into<Vec<TxnOp>>,
    ) -> Result<Vec<TxnOpResponse>, FenceError> {
        let key = format!("{}/{resource}", self.prefix);
        let mut write = operations.into();
        write.push(TxnOp::put(&*key, written(token.get()), None));
        // etcd compares texts, and these have one length. A condition on a text never holds for a missing key.
        let seen = [
            Compare::value(&*key, CompareOp::Greater, written(0)),
            Compare::value(&*key, CompareOp::Less, written(token.get() + 1)),
        ];
        let where_it_was_seen = Txn::new()
            .when(seen)
            .and_then(write.clone())
            .or_else([TxnOp::get(&*key, None)]);
        let transaction = Txn::new()
            .when([Compare::create_revision(&*key, CompareOp::Equal, 0)])
            .and_then(write)
            .or_else([TxnOp::txn(where_it_was_seen)]);
        let store = |error| FenceError::Store(Box::new(error));
        let first = client.kv_client().txn(transaction).await.map_err(store)?;
        if first.succeeded() {
            return Ok(answers(&first));
        }
        match first.op_responses().pop() {
            Some(TxnOpResponse::Txn(second)) if second.succeeded() => Ok(answers(&second)),
            Some(TxnOpResponse::Txn(second)) => Err(refusal(&second, &key, token)),
            _ => Err(store(Error::Internal(
                "a transaction without its answer".into(),
            ))),
        }
    }
}

/// A token in its stored form: the highest has as many digits.
fn written(token: u64) -> String {
    format!("{token:016}")
}

/// The answers to the writer's own operations: the last answer is the fence's.
fn answers(response: &TxnResponse) -> Vec<TxnOpResponse> {
    let mut answers = response.op_responses();
    answers.pop();
    answers
}

/// The contents of the fence's key that refused the write.
fn refusal(response: &TxnResponse, key: &str, token: FencingToken) -> FenceError {
    let highest = match response.op_responses().pop() {
        Some(TxnOpResponse::Get(found)) => found
            .kvs()
            .first()
            .and_then(|found| found.value_str().ok())
            .filter(|text| text.len() == written(0).len())
            .and_then(|text| text.parse().ok())
            .and_then(FencingToken::new),
        _ => None,
    };
    FenceError::refused(token, highest, || format!("the key {key:?}"))
}
