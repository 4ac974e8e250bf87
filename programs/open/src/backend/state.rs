//! This user's state directory, for data that a machine remembers from one run to the next.

use std::path::PathBuf;
use std::{fs, io, path::Path};

/// `$XDG_STATE_HOME/dlock`, by default in `~/.local/state` (the XDG base directory specification,
/// which also says to ignore a relative path). `None` if the user has no home directory.
pub(crate) fn directory() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let home = || {
        let home = std::env::home_dir().filter(|home| home.is_absolute())?;
        Some(home.join(".local/state"))
    };
    Some(named.or_else(home)?.join("dlock"))
}

/// Makes a directory that no other user may read.
#[cfg(unix)]
pub(crate) fn make_private(directory: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}

#[cfg(not(unix))]
pub(crate) fn make_private(directory: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).create(directory)
}
