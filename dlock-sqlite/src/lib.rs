//! The embedded store of dlock: one SQLite file, shared by every process of one host. No server,
//! nothing to configure; [`SqliteProvider::open`] makes the file.
//!
//! ```
//! use dlock_sqlite::SqliteProvider;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().join("locks.db");
//! let provider = SqliteProvider::open(path)?;
//! # Ok(()) }
//! ```
//!
//! # What it guarantees
//! - Every request is one transaction under SQLite's write lock, or one look at one committed state.
//!   A refused try takes no lock and writes nothing, so waiters never slow the holder down.
//! - The store's clock decides ([`Discipline::StoreClock`](dlock_core::Discipline::StoreClock)), and
//!   it is `CLOCK_BOOTTIME`, read after the wait for the lock: it counts suspends, and setting or
//!   synchronising the wall clock moves it neither forward nor backward. A lease of a process that
//!   died can be taken at its expiry, not before.
//! - After a restart of the machine every earlier lease is over at once: the file remembers the boot
//!   id beside each expiry, and who held a lock in another boot is dead.
//! - Records and fencing tokens survive the death of every process. A power cut undoes nothing under
//!   [`Synchronous::Full`]; under [`Synchronous::Normal`] it may undo the last commits, but it also
//!   ends their holders, and tokens grow with the wall clock.
//! - The wall clock serves tokens (microseconds since 1970, or one more than the last) and the
//!   `since` that people read. If it goes backward, tokens still grow.
//! - A record that somebody spoilt, a foreign file, a full disk, a missing permission: an error that
//!   says what to do; nothing is overwritten.
//!
//! # How it can lose a lock
//! A fencing token ([`fence`]) protects the resource in each of these cases; the lease alone does not.
//! - **The file is deleted, renamed or replaced** while leases live, or its `-wal` or `-shm` file is.
//!   Who starts afterwards makes a new file and finds no lock in it. Providers that still have the
//!   old one notice at their next call and answer
//!   [`Fatal`](dlock_core::ErrorKind::Fatal) until their processes are restarted, so their leases
//!   end; until then two may believe. Keep the file out of directories that are cleaned up by age.
//! - **A network file system**, or a directory shared between virtual machines: SQLite's log needs
//!   one machine's memory, and a holder on another machine counts as dead. Opening refuses the kinds
//!   it knows (NFS, SMB, 9p, AFS, Ceph, Lustre, GPFS, OCFS2 and their like), and every file system in
//!   user space (FUSE) but disks of this machine and the layers of a container (fuse-overlayfs);
//!   [`danger_accept_any_file_system`](SqliteProviderBuilder::danger_accept_any_file_system) is for
//!   those who know better. A kind that nobody has heard of, or a file system of one machine that
//!   lies on a shared one, is not noticed.
//! - **Copies.** A copied, restored or rolled back file is another store that remembers leases of the
//!   old one; stop every process first. To copy a file in use, ask SQLite (`VACUUM INTO`). A program
//!   that uses this crate must not open the file by other means: on POSIX systems closing *any*
//!   handle drops the locks of the whole process.
//! - **A snapshot or clone of a virtual machine** brings back holders that believe, with the clock of
//!   that moment. No clock of a guest counts the gap.
//! - **Containers** may share a file with each other and the host if they share the kernel: mount the
//!   *directory* of the file (`--volume /srv/locks:/srv/locks`). A file that is mounted by itself, or
//!   has several names (hard links), is one file with several `-wal` and `-shm`: it is refused at
//!   opening, and a second name also later, at every call until it is gone. A file in an image, on a
//!   container's own layers, is another file in each container: such locks exclude only processes of
//!   one container, and nothing tells (overlayfs is fine within one). Where a
//!   container shows a boot id of its own (LXC, systemd-nspawn) nobody can tell a dead holder's boot
//!   from a living neighbour's; then an expiry of the other side proves nothing, and a dead holder is
//!   replaced after one full lease of watching instead. Time namespaces are accounted for.
//! - **Systems other than Linux** have no such clock here: the wall clock decides there, and a step
//!   forward ends leases early. Nor are mount points and file systems looked at. The crate compiles,
//!   but it is tested on Linux.
//!
//! # Waiting
//! A waiter asks once and then hears of the release: at once in the process of the releaser, within
//! some milliseconds in another. A hint follows from what the file says, so that a releaser that
//! dies, or another program that changes the file, loses none. For this a process in which somebody
//! was refused has a thread that asks SQLite every 5 ms whether the file has changed, and if so looks
//! at the locks that are waited for; it goes when nobody waits. That takes a fraction of a percent of
//! one processor, and a twentieth at most. Other processes pay nothing, and a renewal wakes nobody.
//! Where hints fail, a waiter asks at its interval.
//!
//! # What it costs
//! A call is a hop to the provider's thread and some microseconds of SQLite, as much as the bare
//! statements on a blocking thread of the runtime; commits of all processes follow one another. A process must not `fork` without `exec` while it has a provider open.
//! Dropping the last clone of a provider closes the file, which may move the log into it.
//! Deleting old records ([`Admin::purge`](dlock_core::Admin::purge)) takes those of an earlier boot
//! once this one is 7 days old.
//!
//! # Beside other users of SQLite
//! A program links one `libsqlite3-sys`, so all crates that use it must agree on its version. This one
//! takes any of `rusqlite` 0.32 to 0.41, and so goes with `sqlx` 0.8 and `sea-orm` 1 (`libsqlite3-sys`
//! 0.30); it is tested on both ends. What a program has is [`rusqlite`], re-exported here.

mod admin;
mod boot;
mod clock;
mod error;
pub mod fence;
mod files;
mod key;
mod open;
mod place;
mod provider;
mod record;
mod requests;
mod store;
mod synchronous;
#[cfg(test)]
mod tests;
mod wakeups;
mod worker;

pub use rusqlite;

pub use self::{
    error::OpenError,
    provider::{SqliteProvider, SqliteProviderBuilder},
    synchronous::Synchronous,
};
