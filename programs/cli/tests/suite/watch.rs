//! `dlock watch`.

use std::{process::Stdio, time::Duration};

use serde_json::Value;

use crate::support::{Process, Scene, stores::assert_ended, tickets::with_ticket, until};

const SOON: Duration = Duration::from_secs(60);

/// The next line after those read so far, as JSON.
fn next(watcher: &Process, lines: &mut usize) -> Value {
    let line = until("another line", || {
        watcher.out().lines().nth(*lines).map(str::to_owned)
    });
    *lines += 1;
    // The rest of a line that is being written.
    until("the whole line", || {
        serde_json::from_str(watcher.out().lines().nth(*lines - 1).unwrap_or(&line)).ok()
    })
}

#[test]
fn every_change_is_a_line() {
    let scene = Scene::new();
    let watcher = scene.start(scene.dlock(["watch", "lock", "--json", "--every", "100ms"]));
    // Its file is made by the first holder.
    assert_ended(&watcher.finish(SOON), 78, "there is no store");
    assert_ended(&scene.finish(["run", "other", "--", "true"]), 0, "");
    let mut watcher = scene.start(scene.dlock(["watch", "lock", "--json", "--every", "100ms"]));
    let mut lines = 0;
    assert_eq!(next(&watcher, &mut lines)["state"], "absent");

    let acquired = scene.finish(["acquire", "lock", "--lease", "1h", "--owner", "web 1"]);
    let ticket = acquired.out.trim();
    let held = next(&watcher, &mut lines);
    let (state, owner) = (&held["state"], &held["owner"]);
    assert_eq!((state, owner), (&"held".into(), &"web 1".into()));
    assert!(
        held["until"].is_string() && held["at"].is_string(),
        "{held}"
    );
    assert!(held["until"].as_str() > held["at"].as_str(), "{held}");

    // A renewal prints no line.
    assert_ended(&with_ticket(&scene, ticket, &["renew"]), 0, "");
    assert_ended(&scene.finish(["ask", "lock"]), 0, "");
    let asked = next(&watcher, &mut lines);
    assert_eq!(
        (&asked["asked"], &asked["uuid"]),
        (&true.into(), &held["uuid"])
    );

    assert_ended(&with_ticket(&scene, ticket, &["give-back"]), 0, "");
    let released = next(&watcher, &mut lines);
    assert_eq!(
        (&released["state"], &released["until"]),
        (&"released".into(), &Value::Null)
    );

    let acquired = scene.finish(["acquire", "lock", "--lease", "1h"]);
    assert_ended(&acquired, 0, "");
    let held = next(&watcher, &mut lines);
    assert!(held["token"].as_u64() > released["token"].as_u64());
    scene.end_lease("lock");
    assert_eq!(next(&watcher, &mut lines)["state"], "expired");
    assert!(watcher.is_running());
}

#[test]
fn renewals_are_lines_for_those_who_want_them_and_people_read_sentences() {
    let scene = Scene::new();
    let ticket = scene
        .finish(["acquire", "lock", "--lease", "1h", "--owner", "web 1"])
        .out;
    let watcher = scene.start(scene.dlock(["watch", "lock", "--renewals", "--every", "100ms"]));
    let lines = |count: usize| {
        until("the lines", || {
            (watcher.out().matches('\n').count() == count).then(|| watcher.out())
        })
    };
    let first = lines(1);
    assert!(
        first.contains(" \"lock\" is held by web 1 since "),
        "{first}"
    );
    assert!(first.contains(" unless it is renewed\n"), "{first}");
    assert_ended(&with_ticket(&scene, ticket.trim(), &["renew"]), 0, "");
    lines(2);
    assert_ended(&with_ticket(&scene, ticket.trim(), &["give-back"]), 0, "");
    assert!(lines(3).contains(" \"lock\" is free, web 1 has released it"));
}

#[test]
fn watcher_ends_when_nobody_reads() {
    let scene = Scene::new();
    let ticket = scene.finish(["acquire", "lock", "--lease", "1h"]).out;
    let mut command = scene.dlock(["watch", "lock", "--every", "100ms"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_ended(&with_ticket(&scene, ticket.trim(), &["give-back"]), 0, "");
    let code = until("its end", || child.try_wait().unwrap()).code();
    assert_eq!(code, Some(0));
}
