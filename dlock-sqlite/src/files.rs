//! Whether the path still leads to the file that was opened.
//!
//! A process keeps using a file that was deleted or renamed, while others make a new one under the
//! old path: each of the two would give the same lock away. The same happens when the `-wal` or
//! `-shm` file of a database in use is removed, and when a database has two names (hard links),
//! because each name has its own `-wal` and `-shm`.
//!
//! Files are examined with `stat` only. Opening and closing the database with anything but SQLite
//! would drop the POSIX locks that this process has on it.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use dlock_core::ProviderError;

use crate::error;

/// The identity of a file among others of the same name. On a system without one, no replacement is
/// noticed; Windows does not delete a file in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FileId {
    #[cfg(unix)]
    device: u64,
    #[cfg(unix)]
    inode: u64,
}

/// The database and the two files that SQLite keeps next to it as long as any process has it open.
#[derive(Clone, Debug)]
pub(crate) struct Files([(PathBuf, FileId); 3]);

impl FileId {
    /// The file that a path leads to now.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        fs::metadata(path).map(|metadata| Self::from_metadata(&metadata))
    }

    #[cfg(unix)]
    pub(crate) fn from_metadata(metadata: &fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }

    #[cfg(not(unix))]
    pub(crate) fn from_metadata(_: &fs::Metadata) -> Self {
        Self {}
    }
}

/// How many names a file has.
#[cfg(unix)]
pub(crate) fn links(metadata: &fs::Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;
    metadata.nlink()
}

#[cfg(not(unix))]
pub(crate) fn links(_: &fs::Metadata) -> u64 {
    1
}

/// The path of a database's companion file: SQLite follows symbolic links first.
fn beside(path: &Path, suffix: &str) -> io::Result<PathBuf> {
    let mut name = path.canonicalize()?.into_os_string();
    name.push(suffix);
    Ok(name.into())
}

/// Whether a database has a write-ahead log with something in it.
pub(crate) fn has_log(path: &Path) -> bool {
    beside(path, "-wal")
        .and_then(fs::metadata)
        .is_ok_and(|log| log.len() > 0)
}

impl Files {
    /// The files of a database that is open and has been read. `main`: the file that its path led
    /// to when it was opened.
    pub(crate) fn new(path: &Path, main: FileId) -> io::Result<Self> {
        let companion = |suffix| {
            let path = beside(path, suffix)?;
            FileId::of(&path).map(|id| (path, id))
        };
        Ok(Self([
            (path.to_owned(), main),
            companion("-wal")?,
            companion("-shm")?,
        ]))
    }

    /// The path of the database, and its identity.
    pub(crate) fn database(&self) -> (&Path, FileId) {
        let [(path, id), ..] = &self.0;
        (path, *id)
    }

    /// The file to which SQLite writes commits.
    pub(crate) fn log(&self) -> &Path {
        let [_, (path, _), _] = &self.0;
        path
    }

    /// # Errors
    /// `Fatal` if one of the files is gone or was replaced, or has a second name.
    pub(crate) fn check(&self) -> Result<(), ProviderError> {
        let [(main, _), ..] = &self.0;
        for (path, id) in &self.0 {
            match fs::metadata(path) {
                Ok(found) if FileId::from_metadata(&found) != *id => {
                    return Err(error::moved(main, path));
                }
                Ok(found) if links(&found) > 1 => return Err(error::linked(path)),
                Ok(_) => {}
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                    ) =>
                {
                    return Err(error::moved(main, path));
                }
                Err(error) => return Err(error::unseen(path, error)),
            }
        }
        Ok(())
    }
}
