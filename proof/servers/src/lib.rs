//! Real servers for tests: child processes on free loopback ports, in separate folders, never
//! left behind.
//!
//! A server runs under a guard, a small `sh` script that reads a pipe held open by the test process.
//! However that process ends (return, panic, abort, `kill -9`, Ctrl-C), the pipe closes, and the
//! guard ends the server and removes its folder. (`PR_SET_PDEATHSIG` would not do: it fires when the
//! *thread* that started the server ends, and test runners give each test a thread.)

#![cfg(unix)]

#[cfg(feature = "certificates")]
pub mod certificates;
#[cfg(feature = "dynamodb")]
pub mod dynamodb;
pub mod etcd;
mod place;
pub mod postgres;
pub mod redis;

use std::{
    fmt, fs,
    future::Future,
    io::{self, Error, ErrorKind, Write},
    os::unix::{fs::chown, process::CommandExt},
    path::PathBuf,
    process::{Child, ChildStdin, Command, Stdio},
    time::Duration,
};

use tokio::time::{Instant, sleep};

pub use self::place::{Place, User};

const GUARD: &str = include_str!("guard.sh");

/// A server that runs until this value is dropped, or until this process ends in any way.
pub struct Service {
    place: Place,
    guard: Child,
    /// The guard reads it; `None` only while dropping.
    lifeline: Option<ChildStdin>,
    limit: Duration,
}

/// The settings of a server to start. See [`Service::builder`].
pub struct ServiceBuilder<C> {
    command: C,
    user: Option<User>,
    signal: &'static str,
    patience: Duration,
    limit: Duration,
}

impl Service {
    /// A server started by this command, which learns its port and its folder from the [`Place`].
    /// To run something first, let a shell do both: `sh -c 'initdb .. && exec postgres ..'`.
    ///
    /// ```no_run
    /// // Needs a redis-server.
    /// # use std::process::Command;
    /// # use dlock_test_servers::{Place, Service};
    /// # async fn start() -> std::io::Result<()> {
    /// let redis = Service::builder(|place: &Place| {
    ///     let mut command = Command::new("redis-server");
    ///     command.args(["--port", &place.port().to_string(), "--dir"]).arg(place.dir());
    ///     command
    /// })
    /// .spawn(|place| async move { place.accepts_connections().await })
    /// .await?;
    /// println!("listening on 127.0.0.1:{}", redis.place().port());
    /// # Ok(()) }
    /// ```
    pub const fn builder<C: Fn(&Place) -> Command>(command: C) -> ServiceBuilder<C> {
        ServiceBuilder {
            command,
            user: None,
            signal: "TERM",
            patience: Duration::from_secs(5),
            limit: Duration::from_secs(120),
        }
    }

    /// The server's port and folder.
    #[must_use]
    pub const fn place(&self) -> &Place {
        &self.place
    }

    /// Sends the server a signal: `"STOP"`, `"CONT"`, `"KILL"`, `"TERM"`. A server that has ended gets
    /// none.
    ///
    /// # Errors
    /// If the guard is gone.
    pub fn signal(&mut self, name: &str) -> io::Result<()> {
        self.tell(name)
    }

    /// Stops the server until it gets `"CONT"`: it keeps its connections and answers nothing.
    ///
    /// # Errors
    /// If the guard is gone, or the server does not stop.
    pub async fn freeze(&mut self) -> io::Result<()> {
        self.tell("STOP")?;
        let deadline = Instant::now() + self.limit;
        while !self.place.is_stopped() {
            if Instant::now() >= deadline {
                return Err(Error::other("the server did not stop"));
            }
            sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    /// Kills the server hard, like a crash, and starts it again with the same port and folder.
    ///
    /// # Errors
    /// If it does not become ready again.
    pub async fn restart<F: Future<Output = bool>>(
        &mut self,
        mut ready: impl FnMut(Place) -> F,
    ) -> io::Result<()> {
        self.tell("KILL")?;
        let deadline = Instant::now() + self.limit;
        while self.place.exited().is_none() {
            if Instant::now() >= deadline {
                return Err(Error::other("the server did not end"));
            }
            sleep(Duration::from_millis(10)).await;
        }
        loop {
            let ended = self.place.pid();
            self.tell("start")?;
            while self.place.pid().is_none() || self.place.pid() == ended {
                if Instant::now() >= deadline {
                    return Err(Error::other("the guard did not start the server again"));
                }
                sleep(Duration::from_millis(10)).await;
            }
            match self.place.until_ready(self.limit, &mut ready).await {
                // Meanwhile another process's connection took its port. That connection will end.
                Err(error) if error.kind() == ErrorKind::AddrInUse && Instant::now() < deadline => {
                    sleep(Duration::from_millis(200)).await;
                }
                ready => return ready,
            }
        }
    }

    fn tell(&mut self, line: &str) -> io::Result<()> {
        match &mut self.lifeline {
            Some(pipe) => writeln!(pipe, "{line}").and_then(|()| pipe.flush()),
            None => Err(Error::other("the guard is gone")),
        }
    }
}

impl<C: Fn(&Place) -> Command> ServiceBuilder<C> {
    /// Runs the server as this user. Takes effect only in a process of root.
    #[must_use]
    pub const fn user(mut self, user: User) -> Self {
        self.user = Some(user);
        self
    }

    /// The signal that ends the server in an orderly way, and how long that may take before it is
    /// killed. `"TERM"` and 5 s if not set.
    #[must_use]
    pub const fn stop_with(mut self, signal: &'static str, patience: Duration) -> Self {
        self.signal = signal;
        self.patience = patience;
        self
    }

    /// How long the server may take to become ready; 120 s if not set.
    #[must_use]
    pub const fn ready_within(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Starts the server and waits until `ready` returns true.
    ///
    /// # Errors
    /// If it is not installed, ends on its own, or is not ready in time; with the server's output.
    pub async fn spawn<F: Future<Output = bool>>(
        self,
        mut ready: impl FnMut(Place) -> F,
    ) -> io::Result<Service> {
        let mut tries = 0;
        loop {
            tries += 1;
            let service = self.launch()?;
            match service.place.until_ready(self.limit, &mut ready).await {
                Ok(()) => return Ok(service),
                // Another process may have taken the free port in between.
                Err(error) if error.kind() == io::ErrorKind::AddrInUse && tries < 3 => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn launch(&self) -> io::Result<Service> {
        let place = Place::new()?;
        let command = (self.command)(&place);
        let mut guard = Command::new("sh");
        guard.args(["-c", GUARD, "sh"]).arg(place.root());
        guard
            .arg(self.signal)
            .arg((self.patience.as_millis() / 50).to_string());
        guard.arg(command.get_program()).args(command.get_args());
        for (key, value) in command.get_envs() {
            match value {
                Some(value) => guard.env(key, value),
                None => guard.env_remove(key),
            };
        }
        // The guard inherits no output, or the reader of ours would wait for the guard. A separate process group:
        // Ctrl-C is for the tests, and the guard must outlive them.
        guard
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        let own = |root: &PathBuf, user: User| {
            for folder in [root.clone(), root.join("control"), root.join("data")] {
                chown(folder, Some(user.uid), Some(user.gid))?;
            }
            Ok::<(), Error>(())
        };
        if let Some(user) = self.user
            && place.is_roots()?
        {
            own(&place.root().to_owned(), user)?;
            guard.uid(user.uid).gid(user.gid);
        }
        match guard.spawn() {
            Ok(mut guard) => {
                let lifeline = guard.stdin.take();
                Ok(Service {
                    place,
                    guard,
                    lifeline,
                    limit: self.limit,
                })
            }
            Err(error) => {
                fs::remove_dir_all(place.root())?;
                Err(error)
            }
        }
    }
}

/// Unwraps a result without which a test cannot begin.
///
/// # Panics
/// On an error.
#[expect(clippy::panic, reason = "it is a test that fails here")]
pub fn must<T, E: fmt::Debug>(what: &str, result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| panic!("{what}: {error:?}"))
}

impl Drop for Service {
    fn drop(&mut self) {
        // This signals the guard to end the server and to remove the folder; the guard itself ends last.
        drop(self.lifeline.take());
        drop(self.guard.wait());
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service")
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

impl<C> fmt::Debug for ServiceBuilder<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceBuilder")
            .field("user", &self.user)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
