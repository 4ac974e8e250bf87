//! The settings that a lock was built with.

use std::sync::Arc;

use crate::{BuildError, Name, Record, names::NameState, store::Store, time::Plan};

/// A lock's name and settings, checked.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) store: Arc<Store>,
    pub(crate) state: Arc<NameState>,
    pub(crate) name: Name,
    pub(crate) owner: Arc<str>,
    pub(crate) plan: Arc<Plan>,
    pub(crate) data: Option<Arc<[u8]>>,
}

impl Settings {
    /// Whether a lease of the other lock may continue a term of this one: the record would show the same, and the
    /// term's deadline and renewals mean the same to both.
    pub(crate) fn shares_terms_with(&self, other: &Self) -> bool {
        let Self {
            store: _,
            state: _,
            name: _,
            owner,
            plan,
            data,
        } = self;
        plan.has_terms_like(&other.plan) && *owner == other.owner && *data == other.data
    }
}

/// Checks the data that is stored next to a lock.
pub(crate) fn checked_data(data: Vec<u8>) -> Result<Vec<u8>, BuildError> {
    match data.len() {
        bytes if bytes > Record::MAX_DATA => Err(BuildError::Data { bytes }),
        _ => Ok(data),
    }
}

/// Checks the label of a lock.
pub(crate) fn checked_owner(owner: String) -> Result<String, BuildError> {
    if owner.len() > Record::MAX_OWNER {
        Err(BuildError::Owner {
            reason: "it is longer than 1024 bytes",
        })
    } else if owner.contains('\0') {
        Err(BuildError::Owner {
            reason: "it contains a NUL character",
        })
    } else {
        Ok(owner)
    }
}
