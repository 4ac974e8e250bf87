//! A server started for tests is gone afterwards, with its folder, however the test process ended.
//!
//! The server is this very program, started again as one of the ignored tests below; so is the test
//! process that gets killed.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "what is unwrapped here is a failed test"
)]

use std::{
    env, fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::fs::MetadataExt,
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};

use dlock_test_servers::{Place, Service, ServiceBuilder, User};
use tokio::time::{Instant, sleep, timeout};

/// The role of this program when it is started again.
const ROLE: &str = "DLOCK_TEST_ROLE";

/// This program, started again as the ignored test of that name.
fn again(test: &str, role: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--ignored", "--exact", "--nocapture", test])
        .env(ROLE, role);
    command
}

fn server() -> ServiceBuilder<impl Fn(&Place) -> Command> {
    Service::builder(|place: &Place| again("helper_server", &place.port().to_string()))
}

async fn started() -> Service {
    server()
        .spawn(|place| async move { place.accepts_connections().await })
        .await
        .unwrap()
}

/// The process id that the server reports.
fn ask(port: u16) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// A server that may outlive the process that started it.
struct Seen {
    port: u16,
    dir: PathBuf,
}

impl Seen {
    fn of(service: &Service) -> Self {
        let place = service.place();
        Self {
            port: place.port(),
            dir: place.dir().to_owned(),
        }
    }

    fn is_gone(&self) -> bool {
        !self.dir.exists() && TcpStream::connect(("127.0.0.1", self.port)).is_err()
    }

    async fn goes(&self) {
        until(|| self.is_gone()).await;
    }
}

#[tokio::test]
async fn server_answers_and_is_gone_after_drop() {
    let service = started().await;
    let seen = Seen::of(&service);
    assert_eq!(
        ask(seen.port).unwrap(),
        service.place().pid().unwrap().to_string()
    );
    drop(service);
    // Without waiting, since drop has waited.
    assert!(seen.is_gone());
}

#[tokio::test]
async fn server_is_gone_after_its_test_process_was_killed() {
    let (mut process, seen) = test_process("park").await;
    assert!(ask(seen.port).is_ok());
    process.kill().unwrap();
    process.wait().unwrap();
    seen.goes().await;
}

#[tokio::test]
async fn server_in_a_static_is_gone_after_its_test_process_ended() {
    let (mut process, seen) = test_process("forget").await;
    assert!(process.wait().unwrap().success());
    seen.goes().await;
}

#[tokio::test]
async fn stubborn_server_is_killed() {
    let stubborn = |_: &Place| {
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "trap '' TERM; echo ready; while :; do sleep 0.1; done",
        ]);
        command
    };
    let service = Service::builder(stubborn)
        .stop_with("TERM", Duration::from_millis(200))
        .spawn(|place| async move { place.log().contains("ready") })
        .await
        .unwrap();
    let seen = Seen::of(&service);
    drop(service);
    assert!(seen.is_gone());
}

#[tokio::test]
async fn stopped_server_is_silent_and_goes_away_all_the_same() {
    let mut service = started().await;
    let seen = Seen::of(&service);
    service.signal("STOP").unwrap();
    until(|| ask(seen.port).is_err()).await;
    service.signal("CONT").unwrap();
    until(|| ask(seen.port).is_ok()).await;
    service.signal("STOP").unwrap();
    drop(service);
    assert!(seen.is_gone());
}

#[tokio::test]
async fn restarted_server_keeps_its_port_and_folder() {
    let mut service = started().await;
    let seen = Seen::of(&service);
    fs::write(seen.dir.join("kept"), "data").unwrap();
    let before = ask(seen.port).unwrap();
    service
        .restart(|place| async move { place.accepts_connections().await })
        .await
        .unwrap();
    assert_ne!(ask(seen.port).unwrap(), before);
    assert_eq!(fs::read_to_string(seen.dir.join("kept")).unwrap(), "data");
    drop(service);
    assert!(seen.is_gone());
}

#[tokio::test]
async fn server_runs_without_privileges() {
    let user = User::named("nobody").unwrap();
    let writer = |_: &Place| {
        let mut command = Command::new("sh");
        command.args(["-c", "echo mine >file && exec sleep 600"]);
        command
    };
    let service = Service::builder(writer)
        .user(user)
        .spawn(|place| async move { place.dir().join("file").exists() })
        .await
        .unwrap();
    let seen = Seen::of(&service);
    let owner = fs::metadata(seen.dir.join("file")).unwrap().uid();
    // Files that this process writes belong to its own user.
    let probe = env::temp_dir().join(format!("dlock-owner-{}", uuid::Uuid::new_v4()));
    fs::write(&probe, "").unwrap();
    let ours = fs::metadata(&probe).unwrap().uid();
    fs::remove_file(probe).unwrap();
    // A process that is not root can only run servers as its own user.
    assert_eq!(owner, if ours == 0 { user.uid } else { ours });
    drop(service);
    assert!(seen.is_gone());
}

#[tokio::test]
async fn server_that_fails_says_why() {
    let failing = |_: &Place| {
        let mut command = Command::new("sh");
        command.args(["-c", "echo out of cheese; exit 3"]);
        command
    };
    let error = Service::builder(failing)
        .spawn(|_| async { false })
        .await
        .unwrap_err();
    assert!(
        error.to_string().contains("status 3") && error.to_string().contains("out of cheese"),
        "{error}"
    );

    let missing = |_: &Place| Command::new("dlock-no-such-server");
    let error = Service::builder(missing)
        .spawn(|_| async { false })
        .await
        .unwrap_err();
    assert!(error.kind() == std::io::ErrorKind::NotFound, "{error}");
    assert!(
        error.to_string().contains("dlock-no-such-server"),
        "{error}"
    );

    let never = server()
        .ready_within(Duration::from_millis(300))
        .spawn(|_| async { false });
    let error = timeout(Duration::from_secs(20), never)
        .await
        .unwrap()
        .unwrap_err();
    assert!(error.kind() == std::io::ErrorKind::TimedOut, "{error}");
}

async fn until(mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "it never happened");
        sleep(Duration::from_millis(20)).await;
    }
}

/// Another test process that has started a server and now ends or waits as `what` says.
async fn test_process(what: &str) -> (Child, Seen) {
    let note = env::temp_dir().join(format!("dlock-test-process-{}", uuid::Uuid::new_v4()));
    let child = again("helper_test_process", &format!("{what} {}", note.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until(|| note.exists()).await;
    let text = fs::read_to_string(&note).unwrap();
    fs::remove_file(note).unwrap();
    let (port, dir) = text.split_once(' ').unwrap();
    (
        child,
        Seen {
            port: port.parse().unwrap(),
            dir: dir.into(),
        },
    )
}

/// Answers every connection with its process id.
#[test]
#[ignore = "a server that the other tests start"]
fn helper_server() {
    let port: u16 = role().parse().unwrap();
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    for stream in listener.incoming() {
        // The write fails if the client only probed for a listener and has gone.
        drop(
            stream
                .unwrap()
                .write_all(std::process::id().to_string().as_bytes()),
        );
    }
}

/// Starts a server, notes its port and folder, and ends in the way of its role.
#[test]
#[ignore = "a test process that the other tests start"]
fn helper_test_process() {
    let role = role();
    let (what, note) = role.split_once(' ').unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let service = runtime.block_on(started());
    let Seen { port, dir } = Seen::of(&service);
    fs::write(format!("{note}.new"), format!("{port} {}", dir.display())).unwrap();
    fs::rename(format!("{note}.new"), note).unwrap();
    match what {
        "park" => loop {
            std::thread::park();
        },
        "forget" => std::mem::forget(service),
        _ => panic!("no such role: {what}"),
    }
}

fn role() -> String {
    env::var(ROLE).expect("this is a helper that other tests of this file start")
}
