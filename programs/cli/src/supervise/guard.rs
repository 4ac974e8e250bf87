//! The guard process, as `dlock run` sees it. `helper::guard` is its other side.

use std::{
    fs,
    io::{self, Read, Write},
    os::unix::net::UnixStream,
    path::Path,
    process::Child,
    time::Duration,
};

use tokio::io::Interest;

use super::signals;
use crate::{
    clock::HolderTime,
    group::Group,
    helper::{
        self,
        wire::{Deadline, Order, Report},
    },
};

/// How long a dismissed guard may take to exit.
const PATIENCE: Duration = Duration::from_secs(2);

/// A running guard process. Dropping it makes it kill the group that it watches.
pub(super) struct GuardProcess {
    process: Child,
    channel: UnixStream,
    /// The same socket, to wait on. Reading and writing bypass the runtime, which learns only some time
    /// later what has arrived and what there is room for.
    watched: tokio::net::UnixStream,
    sent: Option<Deadline>,
}

impl GuardProcess {
    /// Starts a guard that watches nothing yet. Call it after listening to SIGCHLD: a guard that
    /// inherited "ignored" could keep no anchor.
    pub(super) fn start() -> io::Result<Self> {
        if !children_share_our_clock(Path::new("/proc/self/ns")) {
            return Err(io::Error::other(
                "the processes that this one starts are in another time namespace than it, so its \
                 guard would read another clock; start it with 'unshare --time --fork'",
            ));
        }
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let mut command = helper::guard_command(theirs)?;
        let process = signals::with_all_blocked(|| command.spawn())??;
        drop(command);
        let watched = tokio::net::UnixStream::from_std(ours.try_clone()?)?;
        Ok(Self {
            process,
            channel: ours,
            watched,
            sent: None,
        })
    }

    pub(super) fn number(&self) -> i32 {
        i32::try_from(self.process.id()).unwrap_or(0)
    }

    /// Whether the guard is ending the group by now, going by the last deadline it was sent.
    pub(super) fn is_ending(&self) -> bool {
        self.sent
            .is_some_and(|sent| sent.terminate <= HolderTime::now())
    }

    /// Moves the deadline, if it is later than the one the guard knows.
    pub(super) fn extend(&mut self, deadline: Deadline) -> io::Result<()> {
        if self.sent.is_some_and(|sent| deadline.kill <= sent.kill) {
            return Ok(());
        }
        self.sent = Some(deadline);
        self.send(Order::Extend(deadline))
    }

    /// When the guard will send KILL, going by the last deadline it was sent.
    pub(super) fn kill_at(&self) -> Option<HolderTime> {
        self.sent.map(|sent| sent.kill)
    }

    /// Makes the guard watch this group; the group can't outlive the last deadline once this has
    /// returned.
    pub(super) async fn watch(&mut self, group: Group) -> io::Result<()> {
        self.send(Order::Watch {
            group: group.number(),
        })?;
        match self.report().await {
            Some(Report::Ready) => Ok(()),
            // It can be late already, if this machine is very slow.
            Some(Report::Terminating) | None => {
                Err(io::Error::other("the guard process did not get ready"))
            }
        }
    }

    /// The next report; `None` when the guard is gone. Cancel safe.
    pub(super) async fn report(&self) -> Option<Report> {
        self.watched
            .async_io(Interest::READABLE, || self.try_report())
            .await
            .ok()
            .flatten()
    }

    /// A report that has already arrived; `WouldBlock` if there is none.
    pub(super) fn try_report(&self) -> io::Result<Option<Report>> {
        let mut byte = [0];
        Ok(match (&self.channel).read(&mut byte)? {
            0 => None,
            _ => Report::decode(byte[0]),
        })
    }

    /// Ends the guard. Call it only when the group is empty.
    pub(super) async fn dismiss(mut self) {
        // If the order can't be sent, the guard is gone or stuck; a stuck one is ended below.
        drop(self.send(Order::Dismiss));
        let gone = async { while self.report().await.is_some() {} };
        if tokio::time::timeout(PATIENCE, gone).await.is_err() {
            drop(self.process.kill());
        }
        drop(self.process.wait());
    }

    /// Never blocks: a guard that does not read its orders is as good as gone.
    fn send(&self, order: Order) -> io::Result<()> {
        let frame = order.encode();
        if (&self.channel).write(&frame)? == frame.len() {
            Ok(())
        } else {
            Err(io::ErrorKind::WriteZero.into())
        }
    }
}

/// Whether the processes that this one starts read the same `CLOCK_BOOTTIME`, by the namespaces in this
/// folder of `/proc`. On older kernels that is not so for a program that was started by `unshare
/// --time` alone: it keeps its own time namespace, and its children are born in the new one. Without
/// such namespaces there is one clock.
fn children_share_our_clock(namespaces: &Path) -> bool {
    let own = fs::read_link(namespaces.join("time"));
    let childrens = fs::read_link(namespaces.join("time_for_children"));
    !matches!((own, childrens), (Ok(own), Ok(childrens)) if own != childrens)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn guard_in_another_time_namespace_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let namespaces = folder.path();
        let shared = || children_share_our_clock(namespaces);
        assert!(shared(), "a kernel without time namespaces");
        symlink("time:[4026531834]", namespaces.join("time")).unwrap();
        symlink("time:[4026531834]", namespaces.join("time_for_children")).unwrap();
        assert!(shared());
        fs::remove_file(namespaces.join("time_for_children")).unwrap();
        symlink("time:[4026532179]", namespaces.join("time_for_children")).unwrap();
        assert!(!shared());
        assert!(children_share_our_clock(Path::new("/proc/self/ns")));
    }
}
