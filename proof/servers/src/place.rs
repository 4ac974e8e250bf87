//! The place of a server: its port, its folder, and the notes of its guard there.

mod port;

use std::{
    fs::{self, DirBuilder},
    future::Future,
    io::{self, Error, ErrorKind},
    net::Ipv4Addr,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    net::TcpStream,
    time::{Instant, sleep},
};
use uuid::Uuid;

use self::port::Port;

/// A folder, and a port that was free a moment ago and belongs to no other service.
#[derive(Clone, Debug)]
pub struct Place {
    port: Arc<Port>,
    others: Arc<Mutex<Vec<Port>>>,
    root: PathBuf,
    data: PathBuf,
}

/// The user that a server runs as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct User {
    /// The number of the user.
    pub uid: u32,
    /// The number of its group.
    pub gid: u32,
}

impl Place {
    pub(super) fn new() -> io::Result<Self> {
        let port = Arc::new(Port::claim()?);
        let root = std::env::temp_dir().join(format!("dlock-service-{}", Uuid::new_v4().simple()));
        let data = root.join("data");
        let mut private = DirBuilder::new();
        private.mode(0o700);
        for folder in [&root, &root.join("control"), &data] {
            private.create(folder)?;
        }
        Ok(Self {
            port,
            others: Arc::default(),
            root,
            data,
        })
    }

    /// The port on 127.0.0.1 that the server is to listen on.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// One more port, for a server that listens on several.
    ///
    /// # Errors
    /// If no port is free, or if the claim cannot be recorded.
    pub fn another_port(&self) -> io::Result<u16> {
        let port = Port::claim()?;
        let number = port.number();
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        others.push(port);
        Ok(number)
    }

    /// The server's own folder, empty at its start; also its working directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.data
    }

    /// The server's standard output and error so far.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read(self.root.join("control/log")).map_or_else(
            |_| String::new(),
            |log| String::from_utf8_lossy(&log).into_owned(),
        )
    }

    /// The server's process, if it was started.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        fs::read_to_string(self.root.join("control/pid"))
            .ok()?
            .trim()
            .parse()
            .ok()
    }

    /// The server's status, if it has ended.
    #[must_use]
    pub fn exited(&self) -> Option<i32> {
        fs::read_to_string(self.root.join("control/exited"))
            .ok()?
            .trim()
            .parse()
            .ok()
    }

    /// Whether something listens on the port.
    pub async fn accepts_connections(&self) -> bool {
        TcpStream::connect((Ipv4Addr::LOCALHOST, self.port()))
            .await
            .is_ok()
    }

    /// Whether each of the server's threads is stopped.
    pub(super) fn is_stopped(&self) -> bool {
        let pid = self.pid().unwrap_or_default();
        let threads = fs::read_dir(format!("/proc/{pid}/task"));
        threads.is_ok_and(|threads| {
            threads.filter_map(Result::ok).all(|thread| {
                let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
                // The name before the state is in parentheses.
                stat.rsplit(')')
                    .next()
                    .is_some_and(|rest| rest.starts_with(" T"))
            })
        })
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Whether this process runs as root, so that root owns the files that it creates.
    pub(super) fn is_roots(&self) -> io::Result<bool> {
        Ok(fs::metadata(&self.root)?.uid() == 0)
    }

    pub(super) async fn until_ready<F: Future<Output = bool>>(
        &self,
        limit: Duration,
        mut ready: impl FnMut(Self) -> F,
    ) -> io::Result<()> {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.exited() {
                return Err(self.ended(status));
            }
            if self.pid().is_some() && ready(self.clone()).await {
                return Ok(());
            }
            if Instant::now() >= deadline {
                let message = format!(
                    "the server was not ready within {limit:?}; it wrote:\n{}",
                    self.log()
                );
                return Err(Error::new(ErrorKind::TimedOut, message));
            }
            sleep(Duration::from_millis(20)).await;
        }
    }

    fn ended(&self, status: i32) -> Error {
        let log = self.log();
        let kind = match status {
            // A shell's error for a command that it cannot find.
            127 => ErrorKind::NotFound,
            _ if log.to_lowercase().contains("address already in use") => ErrorKind::AddrInUse,
            _ => ErrorKind::Other,
        };
        let missing = if status == 127 {
            " (not installed?)"
        } else {
            ""
        };
        Error::new(
            kind,
            format!("the server ended with status {status}{missing}; it wrote:\n{log}"),
        )
    }
}

impl User {
    /// A user by numbers.
    #[must_use]
    pub const fn new(uid: u32, gid: u32) -> Self {
        Self { uid, gid }
    }

    /// A user of this machine by name: `nobody` for servers that refuse to run as root.
    ///
    /// # Errors
    /// If `/etc/passwd` cannot be read or knows no such user.
    pub fn named(name: &str) -> io::Result<Self> {
        let users = fs::read_to_string("/etc/passwd")?;
        let found = users.lines().find_map(|line| {
            let mut fields = line.split(':');
            let (user, _password, uid, gid) = (
                fields.next()?,
                fields.next()?,
                fields.next()?,
                fields.next()?,
            );
            (user == name).then_some(Self {
                uid: uid.parse().ok()?,
                gid: gid.parse().ok()?,
            })
        });
        found.ok_or_else(|| {
            Error::new(
                ErrorKind::NotFound,
                format!("this machine has no user {name}"),
            )
        })
    }
}
