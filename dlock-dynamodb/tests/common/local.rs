//! AWS's DynamoDB Local as a child process that is gone when this process is.

use std::{
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    sync::OnceLock,
    thread,
    time::Duration,
};

/// How long the Java machine may take to listen.
const START: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(50);

/// Starts it from the jar files in this directory; the address.
pub fn start(jars: &Path) -> String {
    static GUARD: OnceLock<Child> = OnceLock::new();
    assert!(
        jars.is_dir(),
        "DLOCK_TEST_DYNAMODB_LOCAL={jars:?} is not a directory: run scripts/dynamodb-local to fill it"
    );
    let port = TcpListener::bind("127.0.0.1:0")
        .and_then(|free| free.local_addr())
        .unwrap()
        .port();
    // The shell reads a pipe that this process holds open. However this process ends, the pipe
    // closes then, and the shell ends the server.
    let script = r#"
        java "-Djava.library.path=$0" -cp "$0/*" \
            com.amazonaws.services.dynamodbv2.local.main.ServerRunner \
            -inMemory -disableTelemetry -port "$1" </dev/null >&2 &
        server=$!
        trap '' INT TERM HUP
        cat
        kill -9 $server
    "#;
    let guard = Command::new("sh")
        .args(["-c", script])
        .arg(jars)
        .arg(port.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("DynamoDB Local needs sh and java: install a JDK");
    GUARD.set(guard).expect("it is started once");
    let mut looks = 0;
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(
            looks < START.as_millis() / LOOK.as_millis(),
            "DynamoDB Local did not listen within {START:?}: is there a JDK 17, and are its jars in {jars:?}?"
        );
        looks += 1;
        thread::sleep(LOOK);
    }
    format!("http://127.0.0.1:{port}")
}
