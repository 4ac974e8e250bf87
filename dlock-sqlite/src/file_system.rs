//! Whether all processes that open a lock file meet there.
//!
//! SQLite keeps the log and the index of a database next to it, by its name, and processes share
//! the index through the memory of one machine. A file that is mounted alone is the same file under
//! another name, without its companions; a network file system is shared by machines, but their
//! memory is not. In both cases nothing fails, and a lock has two holders.
//!
//! Not covered here: a file with several links, which `files.rs` finds with `stat`.

#[cfg(target_os = "linux")]
mod mounts;

use std::path::Path;

use crate::error::OpenError;

/// Refuses a file that is a mount point, and one on a file system that several machines may share
/// unless `any_file_system`. A file that is missing will lie in its directory.
#[cfg(target_os = "linux")]
pub(crate) fn check(path: &Path, any_file_system: bool) -> Result<(), OpenError> {
    use std::io::ErrorKind::NotFound;

    let other = |error| OpenError::other(path, error);
    // SQLite follows symbolic links, and keeps the companions next to the file they lead to.
    let place = match path.canonicalize() {
        Err(error) if error.kind() == NotFound => {
            match path.parent().map(Path::canonicalize).transpose() {
                Ok(Some(directory)) => directory,
                Err(error) if error.kind() != NotFound => return Err(other(error)),
                // Opening reports what is missing.
                _ => return Ok(()),
            }
        }
        place => place.map_err(other)?,
    };
    let mounts = mounts::Mounts::read().map_err(other)?;
    if !place.is_dir() && mounts.contains(&place) {
        return Err(OpenError::MountPoint {
            path: path.to_owned(),
        });
    }
    if any_file_system {
        return Ok(());
    }
    match mounts.shared_file_system(&place).map_err(other)? {
        Some(kind) => Err(OpenError::FileSystem {
            path: path.to_owned(),
            kind,
        }),
        None => Ok(()),
    }
}

/// Other systems report this in other ways, which are untested.
#[cfg(not(target_os = "linux"))]
pub(crate) fn check(_: &Path, _: bool) -> Result<(), OpenError> {
    Ok(())
}
