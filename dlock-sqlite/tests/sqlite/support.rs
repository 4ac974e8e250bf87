//! A scratch file, direct access to it without the provider, and child processes that cannot
//! outlive their parent.

use std::{
    env, fs,
    io::{BufRead, BufReader, ErrorKind, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{self, Child, ChildStdin, Command, Stdio},
    sync::{Arc, mpsc},
    task::{Context, Wake},
    thread,
    time::Duration,
};

use dlock_core::{
    FencingToken, Name, Provider, ProviderError, Record,
    provider::{Acquire, AcquireOutcome},
};
use dlock_sqlite::SqliteProvider;
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

/// How long anything that must happen may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A directory with a lock file in it, gone when dropped.
pub(crate) struct Scratch {
    directory: TempDir,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.path().join("locks.db")
    }

    pub(crate) fn provider(&self) -> SqliteProvider {
        SqliteProvider::open(self.path()).unwrap()
    }

    /// The file as SQLite shows it to any program.
    pub(crate) fn raw(&self) -> Connection {
        let raw = Connection::open(self.path()).unwrap();
        raw.busy_timeout(PATIENCE).unwrap();
        raw
    }

    pub(crate) fn count(&self) -> i64 {
        self.raw()
            .query_row("SELECT count(*) FROM lock", [], |row| row.get(0))
            .unwrap()
    }

    /// Every file of the directory with its bytes. Only while no connection of this process has one
    /// of them open: closing a file drops this process's locks on it.
    pub(crate) fn contents(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files: Vec<_> = fs::read_dir(self.directory())
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.clone(), fs::read(path).unwrap()))
            .collect();
        files.sort();
        files
    }
}

pub(crate) fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

pub(crate) fn request(text: &str, duration: Duration) -> Acquire {
    Acquire::new(name(text), Uuid::new_v4(), duration).owner("suite")
}

/// Takes a free lock.
pub(crate) async fn take(
    provider: &impl Provider,
    text: &str,
    duration: Duration,
) -> (Uuid, FencingToken) {
    let request = request(text, duration);
    match provider.acquire(&request).await {
        Ok(AcquireOutcome::Acquired(tokens)) => (request.new, tokens.last()),
        other => panic!("{text:?} was not free: {other:?}"),
    }
}

/// The record that refuses an attempt.
pub(crate) async fn refused(provider: &impl Provider, text: &str) -> Record {
    match provider
        .acquire(&request(text, Duration::from_secs(1)))
        .await
    {
        Ok(AcquireOutcome::Held(record)) => record,
        other => panic!("{text:?} was not held: {other:?}"),
    }
}

/// The thread that the calls of a provider run on.
pub(crate) struct Worker(PathBuf);

impl Worker {
    pub(crate) fn of(provider: &impl Provider) -> Self {
        /// That thread wakes the caller.
        struct Noted(mpsc::Sender<PathBuf>);
        impl Wake for Noted {
            fn wake(self: Arc<Self>) {
                drop(self.0.send(fs::canonicalize("/proc/thread-self").unwrap()));
            }
        }
        let (sender, woken) = mpsc::channel();
        let waker = Arc::new(Noted(sender)).into();
        let nothing = name("nothing");
        loop {
            let mut call = provider.read(&nothing);
            let polled = call.as_mut().poll(&mut Context::from_waker(&waker));
            // An answer that is there already wakes no caller.
            if polled.is_pending() {
                return Self(woken.recv_timeout(PATIENCE).unwrap());
            }
        }
    }

    /// Returns once a call waits for another writer of the file: the thread pauses between its attempts.
    pub(crate) async fn until_it_waits(&self) {
        let (before, began) = (self.pauses(), Instant::now());
        while self.pauses() < before + 10 {
            assert!(began.elapsed() < PATIENCE, "no call waits");
            sleep(Duration::from_millis(1)).await;
        }
    }

    fn pauses(&self) -> u64 {
        let status = fs::read_to_string(self.0.join("status")).unwrap();
        let label = "voluntary_ctxt_switches:";
        let count = status.lines().find_map(|line| line.strip_prefix(label));
        count.unwrap().trim().parse().unwrap()
    }
}

/// The error and its causes.
pub(crate) fn chain(error: &ProviderError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

/// This test program again, running one test in another role.
pub(crate) struct Kid {
    child: Child,
    input: ChildStdin,
    lines: mpsc::Receiver<String>,
}

const ROLE: &str = "DLOCK_SQLITE_TEST_ROLE";
const FILE: &str = "DLOCK_SQLITE_TEST_FILE";
const SAYS: &str = "child says: ";

impl Kid {
    /// `test`: the path of the test that begins by reading its [`Role`].
    pub(crate) fn start(test: &str, role: &str, file: &Path) -> Self {
        Self::spawn(Command::new(env::current_exe().unwrap()), test, role, file)
    }

    /// The same as the user `nobody`, from a copy that this user can read.
    pub(crate) fn start_as_nobody(test: &str, role: &str, file: &Path, copy: &Path) -> Self {
        use std::os::unix::process::CommandExt;
        const NOBODY: u32 = 65_534;
        let mut command = Command::new(copy);
        command.uid(NOBODY).gid(NOBODY).current_dir("/");
        Self::spawn(command, test, role, file)
    }

    /// The same in its own mount namespace: no other process sees its mounts.
    pub(crate) fn start_with_mounts(test: &str, role: &str, file: &Path) -> Self {
        let mut command = crate::mounts::namespace();
        command.arg(env::current_exe().unwrap());
        Self::spawn(command, test, role, file)
    }

    pub(crate) fn spawn(mut command: Command, test: &str, role: &str, file: &Path) -> Self {
        command
            .args([test, "--exact", "--nocapture", "--test-threads=1"])
            .env(ROLE, role)
            .env(FILE, file)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut patience = 1000;
        let mut child = loop {
            match command.spawn() {
                // A fresh copy of the program: a process that another test is just starting still
                // has it open for writing.
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy && patience > 0 => {
                    patience -= 1;
                    thread::sleep(Duration::from_millis(10));
                }
                spawned => break spawned.unwrap(),
            }
        };
        let input = child.stdin.take().unwrap();
        let errors = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in errors.lines().map_while(Result::ok) {
                match line.strip_prefix(SAYS) {
                    // The receiver may be gone.
                    Some(said) => drop(sender.send(said.to_owned())),
                    None => eprintln!("[child] {line}"),
                }
            }
        });
        Self {
            child,
            input,
            lines,
        }
    }

    pub(crate) fn tell(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }

    pub(crate) fn hear(&self) -> String {
        self.lines
            .recv_timeout(PATIENCE)
            .expect("the child says nothing")
    }

    /// SIGKILL: no more code of the child runs. Returns what it had said by then, if anything.
    pub(crate) fn kill(mut self) -> Option<String> {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.lines.recv_timeout(PATIENCE).ok()
    }

    /// Waits for the child to end without being killed.
    pub(crate) fn join(mut self) {
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
    }
}

impl Drop for Kid {
    fn drop(&mut self) {
        // Both fail only for a child that is gone already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The task of a child.
pub(crate) struct Role {
    pub(crate) role: String,
    pub(crate) file: PathBuf,
    heard: mpsc::Receiver<String>,
}

impl Role {
    /// `None` in the parent. In a child: from now on it ends when its parent does, because the pipe
    /// to its standard input then closes.
    pub(crate) fn get() -> Option<Self> {
        let role = env::var(ROLE).ok()?;
        let file = env::var_os(FILE).unwrap().into();
        let (sender, heard) = mpsc::channel();
        thread::spawn(move || {
            for line in std::io::stdin().lines().map_while(Result::ok) {
                drop(sender.send(line));
            }
            process::exit(3);
        });
        Some(Self { role, file, heard })
    }

    pub(crate) fn say(&self, line: impl std::fmt::Display) {
        eprintln!("{SAYS}{line}");
    }

    pub(crate) fn listen(&self) -> String {
        self.heard
            .recv_timeout(PATIENCE)
            .expect("the parent says nothing")
    }
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Runs a future of a test that has no runtime of its own.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(future)
}
