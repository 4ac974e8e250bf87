//! The system's notification of a write to the write-ahead log: with it a read comes right after a commit instead of
//! some milliseconds later. A file system may send none (for example one that is shared with another machine); then the
//! reads come at their usual pace.

#[cfg(target_os = "linux")]
pub(super) use self::linux::Changes;
#[cfg(not(target_os = "linux"))]
pub(super) use self::none::Changes;

#[cfg(target_os = "linux")]
mod linux {
    use std::{mem::MaybeUninit, path::Path, time::Duration};

    use rustix::{
        event::{PollFd, PollFlags, poll},
        fd::OwnedFd,
        fs::inotify::{self, CreateFlags, WatchFlags},
        io::read,
    };

    /// Notifications about one file. Other readers and writers of the file are not affected: it is not opened here.
    pub(in super::super) struct Changes(OwnedFd);

    impl Changes {
        /// `None` if the system has none left: the number per user may be limited.
        pub(in super::super) fn of(log: &Path) -> Option<Self> {
            let words = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
            inotify::add_watch(&words, log, WatchFlags::MODIFY).ok()?;
            Some(Self(words))
        }

        /// Sleeps until a write, or returns at once after a write since the last sleep; at most `limit`.
        pub(in super::super) fn sleep(&self, limit: Duration) {
            // Without a limit it would sleep for ever.
            let Ok(limit) = limit.try_into() else { return };
            let written = poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&limit));
            if written.is_ok_and(|ready| ready > 0) {
                // The system does not repeat a notification that is still unread, so one reading gets all of them.
                let mut words = [MaybeUninit::uninit(); 4096];
                let _read = read(&self.0, &mut words);
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod none {
    use std::{convert::Infallible, path::Path, time::Duration};

    pub(in super::super) struct Changes(Infallible);

    impl Changes {
        pub(in super::super) const fn of(_: &Path) -> Option<Self> {
            None
        }

        pub(in super::super) fn sleep(&self, _: Duration) {
            match self.0 {}
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::{fs, io::Write, time::Duration};

    use tokio::time::Instant;

    use super::*;

    const LONG: Duration = Duration::from_secs(120);

    /// A write during a read causes another read.
    #[test]
    fn sleep_ends_with_what_was_written_before_it_or_during_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = fs::File::create(&path).unwrap();
        let changes = Changes::of(&path).unwrap();
        let began = Instant::now();
        for _ in 0..3 {
            log.write_all(b"before").unwrap();
            changes.sleep(LONG);
        }
        let writes = std::thread::spawn(move || log.write_all(b"during").unwrap());
        changes.sleep(LONG);
        writes.join().unwrap();
        assert!(began.elapsed() < LONG);

        let began = Instant::now();
        changes.sleep(Duration::from_millis(20));
        let nothing = began.elapsed();
        assert!(nothing >= Duration::from_millis(20), "{nothing:?}");
    }

    #[test]
    fn file_that_is_not_there_has_no_changes() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Changes::of(&folder.path().join("log")).is_none());
    }
}
