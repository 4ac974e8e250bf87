//! The shared parts of the program's tests: scenes with real processes, and watching them.
//!
//! Every process of a scene, and whatever it starts, carries the scene's mark in its environment; or,
//! since guards have no environment, writes its errors into the scene's folder. At its end, even when
//! the test fails, a scene kills every process that still does.

#![allow(
    dead_code,
    unused_imports,
    unused_macros,
    reason = "every test program uses a part of this"
)]
#![expect(clippy::unwrap_used, reason = "in a test, that is how it fails")]

pub(crate) mod looking;
pub(crate) mod shell;
pub(crate) mod stores;
pub(crate) mod stories;
pub(crate) mod tickets;
mod waiting;

use std::{
    ffi::OsStr,
    fs::{self, File},
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

pub(crate) use self::waiting::{Stopwatch, until};
pub(crate) use super::DLOCK;

/// A script's prefix: the rest runs alone, or writes OVERLAP into the trace. The system releases the
/// file lock when the last process that has inherited it is gone, so a grandchild counts too.
pub(crate) const ALONE: &str = r#"exec 9>> "$T/critical"
    if ! flock -n 9; then echo OVERLAP >> "$T/trace"; exit 99; fi
    "#;

const MARK: &str = "DLOCK_TEST_SCENE";

/// A folder with a store, and the processes that belong to it.
pub(crate) struct Scene {
    folder: TempDir,
    mark: String,
    /// Added to, or replacing, the variables that every scene has in its environment.
    variables: Vec<(&'static str, String)>,
    outputs: AtomicU32,
}

/// A process that the test started.
pub(crate) struct Process {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

/// A process of the scene as the system shows it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) id: i32,
    pub(crate) name: String,
    pub(crate) state: char,
    pub(crate) group: i32,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Self::with(Vec::new())
    }

    /// A scene whose processes have these environment variables too.
    pub(crate) fn with(variables: Vec<(&'static str, String)>) -> Self {
        static SCENES: AtomicU32 = AtomicU32::new(0);
        let mark = format!(
            "{}-{}",
            std::process::id(),
            SCENES.fetch_add(1, Ordering::Relaxed)
        );
        Self {
            folder: TempDir::new().unwrap(),
            mark,
            variables,
            outputs: AtomicU32::new(0),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Makes `command` belong to this scene: it gets nothing of the tester's environment but the
    /// path.
    pub(crate) fn adopt(&self, command: &mut Command) {
        command
            .env_clear()
            .envs(self.environment())
            .stdin(Stdio::null());
    }

    /// The environment of every process of the scene.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        let folder = self.folder.path().to_str().unwrap();
        let mut environment = vec![
            ("PATH", std::env::var("PATH").unwrap()),
            (MARK, self.mark.clone()),
            ("T", folder.to_owned()),
            ("HOME", folder.to_owned()),
            ("DLOCK", DLOCK.to_owned()),
            ("DLOCK_STORE", format!("sqlite:{folder}/locks.db")),
        ];
        // The last value of a name counts.
        environment.extend(self.variables.iter().cloned());
        environment
    }

    /// `dlock` with these arguments, not started yet.
    pub(crate) fn dlock<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Command {
        // The tester's shell may ignore some signals (nohup, a background job), and that is
        // inherited.
        let mut command = Command::new("env");
        self.adopt(&mut command);
        command.args(["--default-signal", DLOCK]).args(arguments);
        command
    }

    /// Starts `dlock run lock OPTIONS -- sh -c SCRIPT`.
    pub(crate) fn run(&self, options: &[&str], script: &str) -> Process {
        let mut command = self.dlock(["run", "lock"]);
        command.args(options).args(["--", "sh", "-c", script]);
        self.start(command)
    }

    /// Starts a command whose output goes to files.
    pub(crate) fn start(&self, mut command: Command) -> Process {
        let n = self.outputs.fetch_add(1, Ordering::Relaxed);
        let (out, err) = (
            self.path(&format!("out-{n}")),
            self.path(&format!("err-{n}")),
        );
        command
            .stdout(File::create(&out).unwrap())
            .stderr(File::create(&err).unwrap());
        Process {
            child: command.spawn().unwrap(),
            out,
            err,
        }
    }

    /// Runs `dlock` to its end.
    pub(crate) fn finish<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Finished {
        self.start(self.dlock(arguments))
            .finish(Duration::from_secs(60))
    }

    /// The lines that the scripts wrote into `$T/trace`.
    pub(crate) fn trace(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("trace")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Waits until the trace has a line with this beginning, and returns its rest.
    pub(crate) fn await_trace(&self, start: &str) -> String {
        until(&format!("a line {start:?} in the trace"), || {
            self.trace()
                .iter()
                .find_map(|line| line.strip_prefix(start).map(|rest| rest.trim().to_owned()))
        })
    }

    /// No process is inside [`ALONE`], nor was started there.
    pub(crate) fn nobody_is_alone(&self) -> bool {
        let file = File::options()
            .create(true)
            .append(true)
            .open(self.path("critical"))
            .unwrap();
        file.try_lock().is_ok()
    }

    /// The processes of this scene, zombies excepted.
    pub(crate) fn processes(&self) -> Vec<Seen> {
        let ids = fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        ids.filter(|id| self.owns(*id))
            .filter_map(seen)
            .filter(|process| !matches!(process.state, 'Z' | 'X'))
            .collect()
    }

    fn owns(&self, id: i32) -> bool {
        let mark = format!("{MARK}={}", self.mark);
        let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        environment
            .split(|byte| *byte == 0)
            .any(|entry| entry == mark.as_bytes())
            || fs::read_link(format!("/proc/{id}/fd/2"))
                .is_ok_and(|errors| errors.starts_with(self.folder()))
    }

    /// The guard processes of this scene.
    pub(crate) fn guards(&self) -> Vec<Seen> {
        let mut guards = self.processes();
        guards.retain(|process| process.name == "lease-guard");
        guards
    }

    /// `dlock status lock --json`, as text.
    pub(crate) fn status(&self) -> String {
        self.finish(["status", "lock", "--json"]).out
    }

    /// A direct connection, bypassing `dlock`, to a store that exists.
    pub(crate) fn open_store(&self) -> rusqlite::Connection {
        let connection = rusqlite::Connection::open(self.path("locks.db")).unwrap();
        connection.busy_timeout(Duration::from_secs(5)).unwrap();
        connection
    }

    /// Ends the lease of this lock in the store, however long it has left.
    #[track_caller]
    pub(crate) fn end_lease(&self, name: &str) {
        let end = "UPDATE lock SET expiry = 0 WHERE name = ?1";
        assert_eq!(self.open_store().execute(end, [name]).unwrap(), 1);
    }

    /// Waits until the store has a renewal of `lock` that it did not have before.
    pub(crate) fn await_renewal(&self) {
        let store = self.open_store();
        let renewals = "SELECT renewals FROM lock WHERE name = 'lock'";
        let renewals = || store.query_row(renewals, [], |row| row.get::<_, u64>(0));
        let before = renewals().unwrap();
        until("a renewal", || (renewals().unwrap() > before).then_some(()));
    }
}

/// A scene on the store at this URL.
pub(crate) fn at(url: impl Into<String>) -> Scene {
    Scene::with(vec![("DLOCK_STORE", url.into())])
}

impl Drop for Scene {
    fn drop(&mut self) {
        // A killed process can't start anything, but one that is not yet killed can.
        for _ in 0..1000 {
            let processes = self.processes();
            if processes.is_empty() {
                return;
            }
            for process in processes {
                signal(process.id, Signal::KILL);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// The result of a process.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Finished {
    /// The exit code.
    #[track_caller]
    pub(crate) fn code(&self) -> i32 {
        self.status
            .code()
            .unwrap_or_else(|| panic!("no exit code: {self:?}"))
    }
}

impl Process {
    pub(crate) fn id(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    pub(crate) fn signal(&self, number: Signal) {
        signal(self.id(), number);
    }

    pub(crate) fn err(&self) -> String {
        fs::read_to_string(&self.err).unwrap()
    }

    pub(crate) fn out(&self) -> String {
        fs::read_to_string(&self.out).unwrap()
    }

    /// Waits until it prints this on standard error.
    #[track_caller]
    pub(crate) fn await_err(&mut self, text: &str) {
        until(&format!("{text:?} on standard error"), || {
            let err = self.err();
            if err.contains(text) {
                return Some(());
            }
            assert!(
                self.is_running(),
                "ended without saying {text:?}: {:?}",
                self.err()
            );
            None
        });
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn finish(mut self, limit: Duration) -> Finished {
        let watch = Stopwatch::start();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(
                watch.elapsed() < limit,
                "still running after {limit:?}: {:?}",
                self.err()
            );
            std::thread::sleep(Duration::from_millis(5));
        };
        Finished {
            status,
            out: self.out(),
            err: self.err(),
        }
    }

    /// Waits for its end, and returns its code.
    #[track_caller]
    pub(crate) fn code(self) -> i32 {
        self.finish(Duration::from_secs(60)).code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The child is ours until it is reaped, so the number is right. Processes that it started
        // belong to its scene.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Sends a signal to a process that this test started.
pub(crate) fn signal(id: i32, signal: Signal) {
    kill_process(Pid::from_raw(id).unwrap(), signal).ok();
}

/// A process as the system shows it; `None` if there is none.
pub(crate) fn seen(id: i32) -> Option<Seen> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (before, after) = stat.rsplit_once(')')?;
    let mut fields = after.split_ascii_whitespace();
    Some(Seen {
        id,
        name: before.split_once('(')?.1.to_owned(),
        state: fields.next()?.chars().next()?,
        group: fields.nth(1)?.parse().ok()?,
    })
}

/// Not running any more; a zombie that its parent has not reaped counts as gone.
pub(crate) fn is_gone(id: i32) -> bool {
    seen(id).is_none_or(|process| matches!(process.state, 'Z' | 'X'))
}

/// The signal of a status that a signal caused.
pub(crate) fn killed_by(status: ExitStatus) -> Option<i32> {
    status.signal()
}
