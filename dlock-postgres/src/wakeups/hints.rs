//! The notification of a release: the channel, which is the table's, and the text, which identifies
//! the lock. Nothing here communicates with the database.

#[cfg(test)]
mod tests;

use dlock_core::{Name, provider::Prefix};

use crate::schema::Schema;

/// The hints about the locks of one prefix in one table.
#[derive(Debug)]
pub(crate) struct Hints {
    channel: String,
    /// Everything before the name: the table, since a channel's name may have been truncated; then
    /// the prefix after its length, so that ("ab", "c") and ("a", "bc") differ.
    head: String,
}

impl Hints {
    pub(crate) fn new(schema: &Schema, prefix: &Prefix) -> Self {
        let (table, prefix) = (schema.table_unquoted(), prefix.as_str());
        Self {
            channel: schema.channel(),
            head: format!("{table}:{}:{prefix}", prefix.len()),
        }
    }

    /// Its name, which needs no more than quotes to be an identifier.
    pub(crate) fn channel(&self) -> &str {
        &self.channel
    }

    /// The hint that this lock may be free. With the longest of all names it has 1.2 KB; the server
    /// accepts 8.
    pub(crate) fn about(&self, name: &Name) -> String {
        format!("{}{name}", self.head)
    }

    /// The lock that a hint is about; `None` if it is not ours.
    pub(crate) fn name(&self, hint: &str) -> Option<Name> {
        Name::new(hint.strip_prefix(&self.head)?).ok()
    }
}
