//! A port for one server, from a range that the system does not assign automatically.
//!
//! The system may assign a port that it gave out (port 0) again until a server listens on it: to a second server, to a
//! listener or to a connection of another test. Then our server cannot start, and the test reaches the other one.
//! So the numbers come from below that range, and each is claimed by a lock on a file, which tests of other processes
//! respect.

use std::{
    fs::{self, File, TryLockError},
    io::{self, Error, ErrorKind},
    net::{Ipv4Addr, TcpListener},
    ops::Range,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use uuid::Uuid;

/// A node of a Redis cluster listens on the port 10000 above as well.
const NUMBERS: Range<u16> = 12_000..22_000;

// Linux assigns the ports from 32768 on automatically, macOS those from 49152 on.
const _: () = assert!(NUMBERS.end + 10_000 <= 32_768);

/// Claimed until this value is dropped.
#[derive(Debug)]
pub(super) struct Port {
    number: u16,
    path: PathBuf,
    _claim: File,
}

impl Port {
    /// A free port that no other process has claimed.
    pub(super) fn claim() -> io::Result<Self> {
        for _ in NUMBERS {
            let [low, high, ..] = Uuid::new_v4().into_bytes();
            let drawn = u16::from_le_bytes([low, high]);
            let number = NUMBERS.start + drawn % (NUMBERS.end - NUMBERS.start);
            let path = std::env::temp_dir().join(format!("dlock-port-{number}"));
            let Some(claim) = lock(&path)? else { continue };
            let port = Self {
                number,
                path,
                _claim: claim,
            };
            match TcpListener::bind((Ipv4Addr::LOCALHOST, number)) {
                Ok(_free) => return Ok(port),
                Err(error) if error.kind() == ErrorKind::AddrInUse => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::new(ErrorKind::AddrInUse, "no port is free"))
    }

    pub(super) const fn number(&self) -> u16 {
        self.number
    }
}

/// The lock on this file, unless another process has it.
fn lock(path: &Path) -> io::Result<Option<File>> {
    let file = match File::create(path) {
        Ok(file) => file,
        // The file belongs to another user.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(None),
        Err(error) => return Err(error),
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    // The previous service of this port removes the file, possibly after it was opened here.
    let same_file = fs::metadata(path).is_ok_and(|there| {
        file.metadata()
            .is_ok_and(|here| (here.dev(), here.ino()) == (there.dev(), there.ino()))
    });
    Ok(same_file.then_some(file))
}

impl Drop for Port {
    fn drop(&mut self) {
        // Removed before the lock on it ends.
        drop(fs::remove_file(&self.path));
    }
}
