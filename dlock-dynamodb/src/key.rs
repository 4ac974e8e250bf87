//! The item of a lock: the table's key attributes, and where prefix and name go.

#[cfg(test)]
mod tests;

use std::{collections::HashMap, sync::Arc};

use aws_sdk_dynamodb::types::AttributeValue;
use dlock_core::{
    Name, ProviderError,
    provider::{InvalidPrefix, Prefix},
};

use crate::{error::BuildError, record};

/// The key attributes of a table, all of them strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) partition: String,
    pub(crate) sort: Option<String>,
}

/// Where the names of one provider are kept.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    layout: Arc<Layout>,
    prefix: Prefix,
}

/// The key of one item.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    attributes: HashMap<String, AttributeValue>,
    /// For error messages.
    pub(crate) text: String,
}

impl Layout {
    pub(crate) fn new(partition: String, sort: Option<String>) -> Result<Self, BuildError> {
        for attribute in std::iter::once(&partition).chain(&sort) {
            check_attribute(attribute)?;
        }
        if sort.as_ref() == Some(&partition) {
            return Err(BuildError::Attribute {
                attribute: partition,
                reason: "it cannot be both the partition key and the sort key",
            });
        }
        Ok(Self { partition, sort })
    }

    /// The attribute that ends with the name.
    pub(crate) fn name(&self) -> &str {
        self.sort.as_ref().unwrap_or(&self.partition)
    }

    pub(crate) fn contains(&self, attribute: &str) -> bool {
        self.partition == attribute || self.sort.as_deref() == Some(attribute)
    }
}

/// Checks DynamoDB's limit for key attributes, and that the name is none that a record uses.
pub(crate) fn check_attribute(attribute: &str) -> Result<(), BuildError> {
    let reason = if attribute.is_empty() {
        "it is empty"
    } else if attribute.len() > 255 {
        "it is longer than 255 bytes"
    } else if record::ATTRIBUTES
        .iter()
        .any(|(_, name)| *name == attribute)
    {
        "records use an attribute of that name"
    } else {
        return Ok(());
    };
    Err(BuildError::Attribute {
        attribute: attribute.to_owned(),
        reason,
    })
}

impl Keys {
    pub(crate) fn new(layout: Arc<Layout>, prefix: &str) -> Result<Self, BuildError> {
        if prefix.is_empty() && layout.sort.is_some() {
            let reason = "in a table with a sort key it is the value of the partition key, which cannot be empty";
            return Err(InvalidPrefix::new(reason).into());
        }
        let prefix = Prefix::new(prefix)?;
        Ok(Self { layout, prefix })
    }

    pub(crate) const fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    pub(crate) fn prefix(&self) -> &str {
        self.prefix.as_str()
    }

    /// The item of a lock.
    ///
    /// # Errors
    /// `Fatal` if prefix and name together are too long.
    pub(crate) fn key(&self, name: &Name) -> Result<Key, ProviderError> {
        self.prefix.check(name)?;
        Ok(self.of(self.stored(name.as_str())))
    }

    /// The item whose key attribute that ends with the name has this value.
    pub(crate) fn of(&self, stored: String) -> Key {
        let Layout { partition, sort } = &*self.layout;
        let text = match sort {
            Some(_) => format!("{}, {stored}", self.prefix),
            None => stored.clone(),
        };
        let attributes = match sort {
            Some(sort) => HashMap::from([
                (
                    partition.clone(),
                    AttributeValue::S(self.prefix.to_string()),
                ),
                (sort.clone(), AttributeValue::S(stored)),
            ]),
            None => HashMap::from([(partition.clone(), AttributeValue::S(stored))]),
        };
        Key { attributes, text }
    }

    /// The value of the key attribute that ends with the name, for names that start with `start`.
    ///
    /// With a sort key that is the name alone. In a table with one key attribute it is
    /// `prefix/name`, where a `/` or `%` of the prefix is escaped: the first `/` ends the prefix,
    /// so no two pairs have the same value.
    pub(crate) fn stored(&self, start: &str) -> String {
        if self.layout.sort.is_some() {
            return start.to_owned();
        }
        let prefix = self.prefix.as_str().replace('%', "%25").replace('/', "%2F");
        format!("{prefix}/{start}")
    }

    /// The name of a lock's item, if it has this prefix.
    pub(crate) fn name(&self, item: &record::Item) -> Option<Name> {
        let stored = item.get(self.layout.name())?.as_s().ok()?;
        Name::new(stored.strip_prefix(&self.stored(""))?).ok()
    }
}

impl Key {
    pub(crate) fn attributes(&self) -> HashMap<String, AttributeValue> {
        self.attributes.clone()
    }
}
