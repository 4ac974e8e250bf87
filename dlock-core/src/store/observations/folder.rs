//! The folder: one small file for each lock, named by a hash, written beside and renamed. Everything
//! here blocks.
//!
//! Nothing is synced: after a power cut the boot is another one, and the files are worthless anyway.
//! Of two processes that write one file at once one wins, and both were right.

#[cfg(test)]
mod tests;

use std::{
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::sight::{Damaged, Sight, fnv};
use crate::{Clock, Name, contract::system_uuid, time::ContenderInstant};

/// The most files that are kept; beyond that the oldest quarter goes. A file that is missed costs one observation.
pub(super) const MOST: usize = 1024;

/// More than any file of ours has.
const LONGEST: u64 = 64 * 1024;

/// The unfinished file of a crashed writer is removed when it is so old.
const ABANDONED: Duration = Duration::from_secs(3600);

const KEPT: &str = "seen";
const UNFINISHED: &str = "seen-tmp";

/// A folder, and which store the locks are in.
pub(super) struct Folder {
    path: PathBuf,
    store: String,
}

impl Folder {
    pub(super) const fn new(path: PathBuf, store: String) -> Self {
        Self { path, store }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps when this version was first seen, unless an instant for it is kept already. Returns the one kept.
    pub(super) fn exchange(
        &self,
        clock: &Clock,
        name: &Name,
        seen: Sight,
    ) -> io::Result<ContenderInstant> {
        let origin = clock.origin()?;
        usable(&self.path)?;
        let lock = format!("{:?} {:?}", self.store, name.as_str());
        let file = self.file(&lock);
        let kept = match read(&file) {
            Ok(text) => Sight::parse(&text, &lock, &origin),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                prune(&self.path)?;
                Ok(None)
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(Damaged),
            Err(error) => return Err(error),
        };
        if kept.is_err() {
            tracing::warn!(name: "observation_damaged", file = %file.display(), "a file of observations is damaged or another program's; it counts for nothing");
        }
        let same = |kept: &Sight| kept.version == seen.version && clock.has_reached(kept.first);
        let kept = kept.ok().flatten().filter(same);
        if let Some(Sight { first, .. }) = kept {
            return Ok(first);
        }
        replace(&self.path, &file, &seen.render(&lock, &origin))?;
        Ok(kept.unwrap_or(seen).first)
    }

    /// Two locks that share a file take it from each other, which costs time and nothing else.
    fn file(&self, lock: &str) -> PathBuf {
        self.path
            .join(format!("{:016x}.{KEPT}", fnv(lock.as_bytes())))
    }
}

fn read(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    fs::File::open(file)?
        .take(LONGEST)
        .read_to_string(&mut text)?;
    Ok(text)
}

/// Writes beside and renames: a reader sees one text or the other.
fn replace(folder: &Path, file: &Path, text: &str) -> io::Result<()> {
    let id = system_uuid().map_err(io::Error::other)?;
    let unfinished = folder.join(format!("{}.{UNFINISHED}", id.simple()));
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options
        .open(&unfinished)
        .and_then(|mut beside| beside.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&unfinished, file));
    if written.is_err() {
        // It may not even exist; `prune` finds what stays.
        drop(fs::remove_file(&unfinished));
    }
    written
}

/// Makes room for one more file. Touches nothing but files of ours.
fn prune(folder: &Path) -> io::Result<()> {
    let mut kept = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.extension().and_then(|extension| extension.to_str()) {
            Some(KEPT) => kept.push(path),
            Some(UNFINISHED) if written(&path).elapsed().is_ok_and(|age| age > ABANDONED) => {
                remove(&path)?;
            }
            _ => {}
        }
    }
    if kept.len() < MOST {
        return Ok(());
    }
    kept.sort_by_cached_key(|path| written(path));
    let surplus = kept.len() - MOST * 3 / 4;
    kept.iter().take(surplus).try_for_each(|path| remove(path))
}

/// When the file was last written; a file that is gone counts as the oldest.
fn written(file: &Path) -> SystemTime {
    let modified = fs::metadata(file).and_then(|found| found.modified());
    modified.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Another process may have been faster.
fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes the folder for this user alone, and refuses one that everybody may write to.
#[cfg(unix)]
fn usable(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};

    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    if fs::metadata(folder)?.mode() & 0o002 != 0 {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "everybody may write to this folder, and who writes there can have locks taken early; name one of this program's own",
        ));
    }
    #[cfg(any(target_os = "linux", target_os = "android"))]
    local(folder)?;
    Ok(())
}

#[cfg(not(unix))]
fn usable(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Clones of a virtual machine have one boot id, and clocks that stood still for different times: an
/// instant that one of them saw means nothing to another. So they may not share a folder, and only
/// file systems that certainly are one kernel's own are taken.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn local(folder: &Path) -> io::Result<()> {
    /// `statfs(2)`: ext2 to ext4, XFS, Btrfs, F2FS, ZFS, bcachefs, tmpfs, ramfs, overlay.
    const LOCAL: &[i128] = &[
        0xEF53,
        0x5846_5342,
        0x9123_683E,
        0xF2F5_2010,
        0x2FC1_2FC1,
        0xCA45_1A4E,
        0x0102_1994,
        0x8584_58F6,
        0x794C_7630,
    ];
    // A signed word of 32 bits on some machines.
    let kind = i128::from(rustix::fs::statfs(folder)?.f_type) & 0xFFFF_FFFF;
    if LOCAL.contains(&kind) {
        return Ok(());
    }
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        format!(
            "this folder is on a file system that other machines may share (type 0x{kind:x}); name one on a local disk"
        ),
    ))
}
