//! This user's state directory, where what a machine remembers from one run to the next belongs.

use std::path::PathBuf;

/// `$XDG_STATE_HOME/dlock`, by default in `~/.local/state` (the XDG base directory specification,
/// which also says to ignore a relative path). `None` if the user has no home directory.
pub(super) fn directory() -> Option<PathBuf> {
    let named = std::env::var_os("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let home = || {
        let home = std::env::home_dir().filter(|home| home.is_absolute())?;
        Some(home.join(".local/state"))
    };
    Some(named.or_else(home)?.join("dlock"))
}
