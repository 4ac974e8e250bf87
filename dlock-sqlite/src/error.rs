//! Error texts that say what to do: the errors of opening, and the one place where SQLite's errors become the three
//! kinds of the protocol.

#[cfg(test)]
mod tests;

use std::{
    error::Error as StdError,
    fs::File,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use dlock_core::{ErrorKind, ProviderError, provider::InvalidPrefix};
use rusqlite::{ErrorCode, ffi::SQLITE_IOERR_SHMSIZE};

/// The reason why a lock file cannot be used. A foreign file was not written to.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The path names no file that processes could share.
    #[error("{path:?} is not the path of a lock file: {reason}")]
    Path {
        /// The path that was given.
        path: PathBuf,
        /// The flaw of the path.
        reason: &'static str,
    },
    /// The directory of the file does not exist.
    #[error(
        "the directory of the lock file {path:?} does not exist: create it, or name another file"
    )]
    NoDirectory {
        /// The lock file.
        path: PathBuf,
    },
    /// The user may not write the file or its directory.
    #[error(
        "no permission to use the lock file {path:?}: this user must be able to read and write the file, \
         and to create and delete files next to it (`-wal` and `-shm`)"
    )]
    Permission {
        /// The lock file.
        path: PathBuf,
    },
    /// The file is not an SQLite database, or it is damaged.
    #[error(
        "{path:?} is not an SQLite database, or a damaged one: name another file, or restore this one"
    )]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The file is the database of another application.
    #[error("{path:?} is a database of another program: name another file for the locks")]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// A newer release of this crate made the file.
    #[error(
        "the lock file {path:?} has layout {found}, and this release knows {known}: \
         use the newer release in every process"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The version of its layout.
        found: i64,
        /// The newest version this release knows.
        known: i64,
    },
    /// The file system has no shared memory for SQLite's write-ahead log.
    #[error(
        "the lock file {path:?} is on a file system that SQLite cannot share between processes: \
         put it on a local disk"
    )]
    NotShared {
        /// The file.
        path: PathBuf,
    },
    /// The file has several names (hard links). Each has its own `-wal` and `-shm`, so that processes that open it by
    /// another name would hold the same locks.
    #[error(
        "the lock file {path:?} has {links} names (hard links), and processes that use different ones \
         do not see each other's locks: leave it one name"
    )]
    Linked {
        /// The file.
        path: PathBuf,
        /// The number of its names.
        links: u64,
    },
    /// The file itself is a mount point, as `docker run --volume FILE:FILE` makes it. Its `-wal` and `-shm` are not
    /// mounted with it, so that processes that see it elsewhere would hold the same locks.
    #[error(
        "the lock file {path:?} is a mount point of its own, and processes that have it elsewhere do not \
         see its locks: mount its directory instead"
    )]
    MountPoint {
        /// The file.
        path: PathBuf,
    },
    /// The file is on a file system that several machines may share, and locks of one machine do not count on another.
    /// [`SqliteProviderBuilder`](crate::SqliteProviderBuilder) has a setting to accept it nevertheless.
    #[error(
        "the lock file {path:?} is on a file system that other machines may share ({kind}), and they do not \
         see its locks: put it on a local disk, or use a store for several machines, such as PostgreSQL, \
         Redis or DynamoDB"
    )]
    FileSystem {
        /// The file.
        path: PathBuf,
        /// The kind of file system.
        kind: String,
    },
    /// Another connection kept the file locked.
    #[error("the lock file {path:?} was locked by another process for {waited:?}: try again")]
    Busy {
        /// The file.
        path: PathBuf,
        /// How long the opening waited.
        waited: Duration,
    },
    /// Another program keeps replacing the file.
    #[error("the lock file {path:?} was replaced while it was being opened: try again")]
    Replaced {
        /// The file.
        path: PathBuf,
    },
    /// The disk is full.
    #[error("there is no room to create the lock file {path:?}: free space on its disk")]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// The prefix.
    #[error(transparent)]
    Prefix(#[from] InvalidPrefix),
    /// The busy timeout.
    #[error("a busy timeout of {timeout:?} is not possible: at most one minute")]
    BusyTimeout {
        /// The timeout that was given.
        timeout: Duration,
    },
    /// The system does not reveal the id of this boot.
    #[error(
        "the boot id of this machine cannot be read, and leases depend on it{}",
        if .source.kind() == io::ErrorKind::NotFound { ": mount /proc" } else { "" }
    )]
    Clock {
        /// The error that the system reported.
        source: io::Error,
    },
    /// The system or SQLite failed in another way.
    #[error("the lock file {path:?} cannot be opened")]
    Other {
        /// The file.
        path: PathBuf,
        /// The error that was reported.
        source: Box<dyn StdError + Send + Sync>,
    },
}

impl OpenError {
    /// The system or SQLite failed in a way that has no name here.
    pub(crate) fn other(path: &Path, error: impl StdError + Send + Sync + 'static) -> Self {
        Self::Other {
            path: path.to_owned(),
            source: Box::new(error),
        }
    }

    /// SQLite cannot write the file, and gives no reason. The system also reports a read-only file system, and too many
    /// open files.
    pub(crate) fn not_writable(path: &Path) -> Self {
        let rights = [io::ErrorKind::PermissionDenied, io::ErrorKind::NotFound];
        match File::options().read(true).write(true).open(path) {
            Err(error) if !rights.contains(&error.kind()) => Self::other(path, error),
            _ => Self::Permission {
                path: path.to_owned(),
            },
        }
    }

    /// Classifies SQLite's failure to open `path`.
    pub(crate) fn from_sqlite(path: &Path, error: rusqlite::Error, waited: Duration) -> Self {
        let path = path.to_owned();
        if let Some(failed) = error.sqlite_error()
            && failed.extended_code == SQLITE_IOERR_SHMSIZE
        {
            return Self::Full { path };
        }
        match code(&error) {
            Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                if !path.parent().is_some_and(Path::is_dir) {
                    return Self::NoDirectory { path };
                }
                Self::not_writable(&path)
            }
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                Self::NotADatabase { path }
            }
            Some(
                ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::FileLockingProtocolFailed,
            ) => Self::Busy { path, waited },
            Some(ErrorCode::DiskFull) => Self::Full { path },
            _ => Self::Other {
                path,
                source: Box::new(error),
            },
        }
    }
}

/// Whether SQLite gave up waiting for another connection.
pub(crate) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(
        code(error),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

/// Another connection had the write lock for longer than the call could wait; so far it has had it for `so_far`.
pub(crate) fn locked(path: &Path, so_far: Duration, error: rusqlite::Error) -> ProviderError {
    let so_far = Duration::from_millis(u64::try_from(so_far.as_millis()).unwrap_or(u64::MAX));
    ProviderError::not_applied(format!(
        "the lock file {} is locked by another program, for {so_far:?} so far: `lslocks` tells which has a \
         lock on its -shm",
        path.display()
    ))
    .with_source(error)
}

/// Classifies SQLite's failure of a call. A transaction that failed was rolled back.
pub(crate) fn provider_error(path: &Path, error: rusqlite::Error) -> ProviderError {
    let path = path.display();
    let (kind, message) = match code(&error) {
        Some(
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::FileLockingProtocolFailed,
        ) => (
            ErrorKind::NotApplied,
            format!(
                "the lock file {path} was locked by another program for longer than the busy timeout"
            ),
        ),
        Some(ErrorCode::DiskFull) => (
            ErrorKind::NotApplied,
            format!("there is no room to write the lock file {path}: free space on its disk"),
        ),
        Some(
            ErrorCode::ReadOnly
            | ErrorCode::PermissionDenied
            | ErrorCode::AuthorizationForStatementDenied,
        ) => (
            ErrorKind::Fatal,
            format!("the lock file {path} cannot be written: give this user permission to"),
        ),
        Some(ErrorCode::CannotOpen) => (
            ErrorKind::Fatal,
            format!(
                "the lock file {path} or its -wal or -shm cannot be opened: look at their permissions \
                 and at this process's limit of open files"
            ),
        ),
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => (
            ErrorKind::Fatal,
            format!(
                "the lock file {path} is damaged: stop its users, then restore or delete it with its -wal and -shm"
            ),
        ),
        // The log may hold the commit although writing or syncing it failed, and a recovery may
        // find it; memory may have run out after it.
        Some(
            ErrorCode::SystemIoFailure
            | ErrorCode::OutOfMemory
            | ErrorCode::OperationAborted
            | ErrorCode::OperationInterrupted,
        ) => (
            ErrorKind::Unknown,
            format!("the lock file {path} failed in the middle of a call"),
        ),
        // A missing table or column, a broken constraint, an impossible type: the layout was changed.
        _ => (
            ErrorKind::Fatal,
            format!(
                "the lock file {path} is not laid out as it was made: restore it, or name another file"
            ),
        ),
    };
    ProviderError::new(kind, message).with_source(error)
}

/// A record that no client can have written. It stays as it is, because what it protected is unknown.
pub(crate) fn bad_record(path: &Path, prefix: &str, name: &str, flaw: &str) -> ProviderError {
    ProviderError::fatal(format!(
        "the record of lock {name:?} (prefix {prefix:?}) in {} cannot be read: {flaw}; \
         when the lock is free, delete its row from the table `lock`",
        path.display()
    ))
}

/// The path no longer leads to the file that was opened.
pub(crate) fn moved(path: &Path, file: &Path) -> ProviderError {
    ProviderError::fatal(format!(
        "{} was deleted or replaced while it was in use, so other processes no longer see the locks of {}: \
         stop every process that uses it, then start them again",
        file.display(),
        path.display()
    ))
}

/// The file has acquired a second name.
pub(crate) fn linked(file: &Path) -> ProviderError {
    ProviderError::fatal(format!(
        "{} has got another name (hard link), and processes that use that one do not see the locks of this \
         one: remove it",
        file.display()
    ))
}

/// The file's state could not be read.
pub(crate) fn unseen(file: &Path, error: io::Error) -> ProviderError {
    let kind = match error.kind() {
        io::ErrorKind::PermissionDenied => ErrorKind::Fatal,
        _ => ErrorKind::NotApplied,
    };
    let message = format!(
        "{} cannot be examined, so it may no longer be the lock file",
        file.display()
    );
    ProviderError::new(kind, message).with_source(error)
}

fn code(error: &rusqlite::Error) -> Option<ErrorCode> {
    error.sqlite_error_code()
}
