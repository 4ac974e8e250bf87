//! Observations of locks in a folder (O4): one small file for each lock, named by a hash, written under another name
//! and renamed.
//!
//! Nothing is synced: after a power cut the machine has another boot id, which makes the files worthless anyway.
//! Of two processes that write one file at once one wins, and both were right.

#[cfg(test)]
mod tests;

use std::{
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use dlock_core::{Name, Observations};

/// The most files that are kept; beyond that the oldest quarter is deleted. A missing file costs one observation.
const MOST: usize = 1024;

/// More than any file of this crate has.
const LONGEST: u64 = 64 * 1024;

/// The unfinished file of a crashed writer is removed at this age.
const ABANDONED: Duration = Duration::from_secs(3600);

const KEPT: &str = "seen";
const UNFINISHED: &str = "seen-tmp";

/// A folder on a local disk that keeps a client's observations of held locks for later processes of this host: see
/// [`Client::observations`](dlock_core::Client::observations).
///
/// - **The folder** is this program's own: `/var/lib/myapp/seen`. It is made if it does not exist. Processes of a host
///   may share it. A folder that any user may write to is refused, since a process that writes there can have a live
///   lock taken; and so is a network's file system, or any that is not known to be local.
/// - **The store** is your name for the provider's place (`"orders, eu-central-1"`), so that the same lock in two
///   stores has two files. A mix-up would cost time and nothing else: a claim is for one version, whose uuid no other
///   store has.
/// - **It has** one file of some 300 bytes a lock, at most about a thousand; the oldest are deleted first.
/// - **Clones of a virtual machine** whose memory was copied have the same boot id and clocks that stood still for
///   different times. Observations from before the copy count in each of them. A later observation of one must not come
///   to another: do not copy the folder between them.
///
/// ```no_run
/// # // no_run: needs a provider, and this crate opens none without features.
/// # fn example(provider: impl dlock_core::Provider) -> Result<(), dlock_core::BuildError> {
/// use dlock_core::{Client, DLock};
/// use dlock_stores::ObservationFolder;
///
/// let folder = ObservationFolder::new("/var/lib/myapp/seen", "orders, eu-central-1");
/// let client = Client::new(provider).observations(folder);
/// let lock = DLock::builder().name("nightly").provider(&client).build()?;
/// # drop(lock);
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct ObservationFolder {
    path: PathBuf,
    store: String,
}

impl ObservationFolder {
    /// The folder, and a name that distinguishes this store from others. Touches no disk.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, store: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            store: store.into(),
        }
    }

    /// The file of a lock, and its first line. Two locks that share a file overwrite each other's, which costs time and
    /// nothing else.
    fn file(&self, lock: &Name) -> (PathBuf, String) {
        let lock = format!("{:?} {:?}\n", self.store, lock.as_str());
        let file = format!("{:016x}.{KEPT}", fnv(lock.as_bytes()));
        (self.path.join(file), lock)
    }
}

impl Observations for ObservationFolder {
    fn load(&self, lock: &Name) -> io::Result<Option<String>> {
        usable(&self.path)?;
        let (file, lock) = self.file(lock);
        match read(&file) {
            Ok(text) => Ok(text.strip_prefix(&lock).map(str::to_owned)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn store(&self, lock: &Name, text: &str) -> io::Result<()> {
        usable(&self.path)?;
        let (file, lock) = self.file(lock);
        if !file.exists() {
            prune(&self.path)?;
        }
        replace(&self.path, &file, &format!("{lock}{text}"))
    }
}

/// FNV-1a of 64 bits (Fowler, Noll, Vo).
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn read(file: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    fs::File::open(file)?
        .take(LONGEST)
        .read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes under another name and renames: a reader sees one text or the other.
fn replace(folder: &Path, file: &Path, text: &str) -> io::Result<()> {
    // Where two writers draw the same name, the second fails.
    let unfinished = folder.join(format!("{:016x}.{UNFINISHED}", fastrand::u64(..)));
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options
        .open(&unfinished)
        .and_then(|mut beside| beside.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&unfinished, file));
    if written.is_err() {
        // It may not even exist; `prune` finds files that stay.
        drop(fs::remove_file(&unfinished));
    }
    written
}

/// Makes room for one more file. Touches only files of this crate.
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

/// Makes the folder for this user alone, and refuses one that any user may write to.
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
            "any user may write to this folder, and so have locks taken early; name one of this program's own",
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

/// Clones of a virtual machine have one boot id, and clocks that stood still for different times: an instant that one
/// of them saw means nothing to another. So they may not share a folder, and only file systems that certainly belong to
/// one kernel are accepted.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn local(folder: &Path) -> io::Result<()> {
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
