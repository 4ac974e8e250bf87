//! The payload of a task, which selects its handler.

use serde::{Serialize, de::DeserializeOwned};

use crate::{BadJson, NewTask, NewTaskBuilder};

/// The payload of a task, as a separate type for each kind.
///
/// ```
/// use dlock_tasks::{NewTask, Payload};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Resize { image: u64 }
///
/// impl Payload for Resize {
///     const KIND: &'static str = "resize";
/// }
/// # fn main() -> Result<(), dlock_tasks::BadJson> {
/// let task = NewTask::of(&Resize { image: 7 })?.queue("images").build();
/// # Ok(()) }
/// ```
pub trait Payload: Serialize + DeserializeOwned + Send + 'static {
    /// The kind, which selects the handler. It is stored with every task: changing it changes the format of stored
    /// data.
    const KIND: &'static str;
}

/// The builder that [`NewTask::of`] returns: kind and payload are set.
type Begun = NewTaskBuilder<((String,), (serde_json::Value,), (), (), (), (), (), (), ())>;

impl NewTask {
    /// Begins a task with this payload.
    ///
    /// # Errors
    /// The payload cannot be written as JSON, such as a map whose keys are not text.
    pub fn of<P: Payload>(payload: &P) -> Result<Begun, BadJson> {
        let value = serde_json::to_value(payload).map_err(BadJson::payload)?;
        Ok(Self::builder().kind(P::KIND).payload(value))
    }
}
