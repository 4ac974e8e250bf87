//! What a lock was built with.

use std::sync::Arc;

use crate::{BuildError, Name, names::NameState, store::Store, time::Plan};

/// A lock's name and settings, checked.
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
