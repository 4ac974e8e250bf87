//! The secret of a store's URL.

use std::{fs, time::Duration};

use serde_json::Value;

use super::{SECRET, STATUS, TRY, assert_ended};
use crate::support::{Scene, until};

/// Everything that is printed while a command runs, and everything visible in its helpers.
pub(crate) fn secret_is_told_to_nobody(scene: &Scene) {
    let traced = |arguments: &[&str]| {
        let mut command = scene.dlock(arguments);
        command.env("DLOCK_LOG", "trace").env("RUST_LOG", "trace");
        scene.start(command)
    };
    let script = r#"echo in >> "$T/trace"; until [ -e "$T/go" ]; do sleep 0.05; done"#;
    let holder = traced(&["run", "lock", "--lease", "15s", "--", "sh", "-c", script]);
    scene.await_trace("in");
    let refused = traced(TRY).finish(Duration::from_secs(30));
    assert_ended(&refused, 75, "");
    assert_ended(&traced(STATUS).finish(Duration::from_secs(30)), 0, "");
    let read = |id: i32, what: &str| {
        let bytes = fs::read(format!("/proc/{id}/{what}")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let processes = scene.processes();
    for process in &processes {
        let arguments = read(process.id, "cmdline");
        assert!(!arguments.contains(SECRET), "{process:?}: {arguments:?}");
    }
    let [guard] = &scene.guards()[..] else {
        panic!("{processes:?}")
    };
    let environment = read(guard.id, "environ");
    assert!(!environment.contains(SECRET), "{environment:?}");
    // The command has what the user has: on purpose, and it proves that this test can see a secret.
    let others = processes.iter().filter(|process| process.id != guard.id);
    assert!(
        others
            .into_iter()
            .any(|other| read(other.id, "environ").contains(SECRET))
    );
    // Long enough for renewals.
    until("a renewal", || {
        let status = scene.finish(["status", "lock", "--json"]).out;
        let record: Value = serde_json::from_str(&status).unwrap();
        (record["renewals"].as_u64() > Some(0)).then_some(())
    });
    fs::write(scene.path("go"), "").unwrap();
    let holder = holder.finish(Duration::from_secs(30));
    assert_ended(&holder, 0, "");
    // Other libraries log what they choose: whole requests, for example.
    for library in [
        " aws_",
        " deadpool",
        " hyper",
        " redis::",
        " rustls",
        " tokio_",
    ] {
        assert!(!holder.err.contains(library), "{holder:?}");
    }
    assert!(
        holder.err.contains(" dlock_core"),
        "nothing was logged: {holder:?}"
    );
}
