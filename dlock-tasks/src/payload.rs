//! What handlers are told apart by.

use serde::{Serialize, de::DeserializeOwned};

use crate::{BadJson, NewTask, NewTaskBuilder};

/// What a task is about, as a type of its own.
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
    /// Which handler it is for. Kept with every task: a change of it is one of the stored data.
    const KIND: &'static str;
}

/// [`NewTask::of`]'s: kind and payload are set.
type Begun = NewTaskBuilder<((String,), (serde_json::Value,), (), (), (), (), (), (), ())>;

impl NewTask {
    /// Begins a task about this.
    ///
    /// # Errors
    /// What cannot be written as JSON, such as a map whose keys are no text.
    pub fn of<P: Payload>(payload: &P) -> Result<Begun, BadJson> {
        let value = serde_json::to_value(payload).map_err(BadJson::payload)?;
        Ok(Self::builder().kind(P::KIND).payload(value))
    }
}
