//! Processes of the program, and requests to them.
#![expect(clippy::unwrap_used, reason = "in a test, that is how it fails")]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long a test waits for what must come: longer than any machine takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) const ACQUIRE: &str = "/v1/default/leases/acquire";
pub(crate) const RENEW: &str = "/v1/default/leases/renew";

/// A user with their own home.
pub(crate) struct User {
    home: TempDir,
}

impl User {
    pub(crate) fn new() -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// The file that is used if no store is named.
    pub(crate) fn file(&self) -> PathBuf {
        self.home.path().join("dlock/locks.db")
    }

    /// A file with this text.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.home.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dlock-server"));
        command
            .args(words)
            .current_dir(self.home.path())
            .env("XDG_STATE_HOME", self.home.path())
            .env_remove("DLOCK_STORE")
            .env_remove("DLOCK_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs it to its end.
    pub(crate) fn finish(&self, words: &[&str]) -> Finished {
        self.command(words).output().unwrap().into()
    }

    /// Starts it, on a free port; returns when it listens.
    pub(crate) fn serve(&self, words: &[&str]) -> Served {
        self.serve_with(words, &[])
    }

    pub(crate) fn serve_with(&self, words: &[&str], variables: &[(&str, &str)]) -> Served {
        let words = [&["--listen", "127.0.0.1:0", "--log-format", "json"], words].concat();
        let mut command = self.command(&words);
        let mut child = command.envs(variables.iter().copied()).spawn().unwrap();
        let errors = child.stderr.take().unwrap();
        let (send, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                // A test that has ended reads no more.
                drop(send.send(line));
            }
        });
        let mut served = Served {
            child,
            lines,
            log: Vec::new(),
            address: String::new(),
        };
        let listening = served.logged("listening");
        let (_, address) = listening["url"]
            .as_str()
            .unwrap()
            .split_once("://")
            .unwrap();
        served.address = address.to_owned();
        served
    }
}

/// How a process ended.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Finished {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// A process that serves, until this is dropped.
pub(crate) struct Served {
    child: Child,
    lines: Receiver<String>,
    /// The log so far, as far as it was read.
    pub(crate) log: Vec<String>,
    pub(crate) address: String,
}

impl Served {
    /// Waits for a line with this message.
    #[track_caller]
    pub(crate) fn logged(&mut self, message: &str) -> Value {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    self.log.push(line);
                    let line = serde_json::from_str::<Value>(self.log.last().unwrap());
                    if let Ok(line) = line
                        && line["message"] == message
                    {
                        return line;
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("nothing says {message:?}: {:#?}", self.log)
                }
            }
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Kills it, so that it can do nothing more.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for the end; the exit code.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        // Its last line comes before.
        while self.lines.recv_timeout(PATIENCE).is_ok_and(|line| {
            self.log.push(line);
            true
        }) {}
        self.child.wait().unwrap().code()
    }

    /// Lets it open no more than this many files.
    pub(crate) fn open_files(&self, most: u64) {
        let most = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        prlimit(Some(Pid::from_child(&self.child)), Resource::Nofile, most).unwrap();
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    pub(crate) fn get(&self, path: &str) -> (u16, Value) {
        let mut stream = self.connect();
        send(&mut stream, &format!("GET {path}"), "", "");
        answer(&mut stream).unwrap()
    }

    /// Waits until a request waits for a lease.
    pub(crate) fn until_one_waits(&self) {
        until("nobody waits", || {
            let (_, metrics) = self.get("/metrics");
            let mut lines = metrics.as_str().unwrap().lines();
            lines.find(|line| *line == "dlock_server_waits 1").map(drop)
        });
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        self.ask(&format!("POST {path}"), body)
    }

    /// Any request, e.g. `PUT /api/leases/renew`.
    pub(crate) fn ask(&self, what: &str, body: &Value) -> (u16, Value) {
        let mut stream = self.connect();
        send(&mut stream, what, "", &body.to_string());
        answer(&mut stream).unwrap()
    }

    pub(crate) fn status_with_token(&self, path: &str, token: &str) -> u16 {
        let mut stream = self.connect();
        let authorization = format!("authorization: Bearer {token}\r\n");
        send(&mut stream, &format!("GET {path}"), &authorization, "");
        answer(&mut stream).unwrap().0
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

pub(crate) fn send(stream: &mut TcpStream, what: &str, headers: &str, body: &str) {
    let length = body.len();
    let request = format!(
        "{what} HTTP/1.1\r\nhost: localhost\r\n{headers}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
}

/// The status and the body of an answer, JSON or text; `None` if the connection ends before.
pub(crate) fn answer(stream: &mut TcpStream) -> Option<(u16, Value)> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let status = line.split(' ').nth(1)?.parse().ok()?;
    let mut length = 0;
    while line != "\r\n" {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let lower = line.to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let text = String::from_utf8(body).ok()?;
    Some((
        status,
        serde_json::from_str(&text).unwrap_or(Value::String(text)),
    ))
}

/// The body of a request for a lock for half a minute.
pub(crate) fn term(name: &str, number: u128, wait_ms: u64) -> Value {
    json!({"name": name, "uuid": uuid(number), "duration_ms": 30_000, "wait_ms": wait_ms})
}

pub(crate) fn uuid(number: u128) -> String {
    uuid::Uuid::from_u128(number).to_string()
}

pub(crate) fn str(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Waits until this returns a value.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let pause = Duration::from_millis(50);
    for _ in 0..PATIENCE.as_millis() / pause.as_millis() {
        if let Some(found) = look() {
            return found;
        }
        thread::sleep(pause);
    }
    panic!("{what}");
}
