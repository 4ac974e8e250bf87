//! What a lock was built with.

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

/// The name of a lock, which is none of a reservation (W8).
pub(crate) fn checked_name(name: impl AsRef<str>) -> Result<Name, BuildError> {
    let name = Name::new(name)?;
    if name.reservation_of().is_some() {
        return Err(BuildError::Name {
            reason: "it is that of a reservation, which waiters make by themselves",
        });
    }
    Ok(name)
}

/// What is stored beside a lock.
pub(crate) fn checked_data(data: Vec<u8>) -> Result<Vec<u8>, BuildError> {
    match data.len() {
        bytes if bytes > Record::MAX_DATA => Err(BuildError::Data { bytes }),
        _ => Ok(data),
    }
}

/// The label of a lock.
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
