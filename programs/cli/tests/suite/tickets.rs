//! `dlock acquire`, `dlock renew` and `dlock give-back`.

use std::{
    io::Write,
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::Value;

use crate::support::{
    Scene,
    stores::{TRY, assert_ended},
    tickets::{ticket_holds_from_one_command_to_the_next, with_ticket},
    until,
};

const SOON: Duration = Duration::from_secs(60);

fn ticket(scene: &Scene, lease: &str) -> String {
    let acquired = scene.finish(["acquire", "lock", "--lease", lease]);
    assert_ended(&acquired, 0, "");
    acquired.out.trim().to_owned()
}

#[test]
fn lock_is_held_from_one_command_to_the_next() {
    ticket_holds_from_one_command_to_the_next(&Scene::new());
}

#[test]
fn ticket_comes_from_argument_input_or_variable() {
    let scene = Scene::new();
    let ticket = ticket(&scene, "1h");
    assert_ended(&scene.finish(["renew", &ticket]), 0, "");
    let mut command = scene.dlock(["renew", "-"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    writeln!(input, "{ticket}").unwrap();
    drop(input);
    assert!(child.wait().unwrap().success());
    let status: Value = serde_json::from_str(&scene.status()).unwrap();
    assert_eq!(status["renewals"], 2);
    assert_ended(
        &scene.finish(["renew"]),
        64,
        "DLOCK_TICKET=$(dlock acquire NAME)",
    );
    assert_ended(&with_ticket(&scene, "", &["renew"]), 64, "not a ticket");
    for wrong in [&ticket[1..], &ticket[..ticket.len() - 5], "hello"] {
        assert_ended(&scene.finish(["renew", wrong]), 64, "not a ticket");
        assert_ended(&scene.finish(["give-back", wrong]), 64, "not a ticket");
    }
    assert_ended(&scene.finish(["give-back", &ticket]), 0, "");
}

/// As scripts write it: without quotes, whatever the name.
#[test]
fn script_keeps_a_ticket_in_a_variable() {
    let scene = Scene::new();
    let script = r#"
        DLOCK_TICKET=$("$DLOCK" acquire "two words; * \$x" --lease 1h) || exit 90
        export DLOCK_TICKET
        "$DLOCK" --quiet renew || exit 91
        "$DLOCK" run "two words; * \$x" -n -c true && exit 92
        set -- $DLOCK_TICKET
        [ $# -eq 1 ] || exit 93
        "$DLOCK" give-back -q $DLOCK_TICKET || exit 94
        "$DLOCK" run "two words; * \$x" -n -c 'exit 7'"#;
    let mut command = Command::new("sh");
    scene.adopt(command.args(["-c", script]));
    let finished = scene.start(command).finish(SOON);
    assert_eq!(finished.code(), 7, "{finished:?}");
    assert_eq!(finished.out, "");
}

#[test]
fn lease_that_nobody_renews_ends_and_its_ticket_is_worth_nothing() {
    let scene = Scene::new();
    let ticket = ticket(&scene, "1h");
    let mut waiter = scene.start(scene.dlock(["run", "lock", "--", "true"]));
    waiter.await_err("waiting for \"lock\", held by ");
    scene.end_lease("lock");
    assert_ended(&waiter.finish(SOON), 0, "");
    assert_ended(&scene.finish(["renew", &ticket]), 80, "has released it");
    assert_ended(&scene.finish(["give-back", &ticket]), 80, "has ended:");
}

#[test]
fn ticket_of_a_lease_that_ran_out_says_so_while_nobody_else_has_the_lock() {
    let scene = Scene::new();
    let ticket = ticket(&scene, "1h");
    scene.end_lease("lock");
    let over = scene.finish(["renew", &ticket]);
    assert_ended(&over, 80, "it ran out: \"lock\" is free, the lease of ");
    assert!(!over.err.contains("taken away"), "{over:?}");
}

#[test]
fn lease_that_is_renewed_outlives_its_first_end() {
    let scene = Scene::new();
    let ticket = ticket(&scene, "1h");
    // The record is changed to have begun almost an hour earlier.
    let store = scene.open_store();
    let age = "UPDATE lock SET expiry = expiry - 3000 * 1000000000";
    assert_eq!(store.execute(age, []).unwrap(), 1);
    let expiry = || {
        let expiry = store.query_row("SELECT expiry FROM lock", [], |row| row.get::<_, i64>(0));
        Duration::from_nanos(expiry.unwrap().try_into().unwrap())
    };
    let before = expiry();
    assert_ended(&scene.finish(["renew", &ticket]), 0, "");
    assert!(expiry() > before + Duration::from_secs(2900));
    assert_ended(&scene.finish(TRY), 75, "held by");
    assert_ended(&scene.finish(["give-back", &ticket]), 0, "");
}

#[test]
fn ticket_of_a_lease_that_was_taken_away_says_so() {
    let scene = Scene::new();
    let ticket = ticket(&scene, "1h");
    assert_ended(&scene.finish(["release", "lock"]), 0, "");
    assert_ended(&scene.finish(["renew", &ticket]), 80, "taken away");
    assert_ended(&scene.finish(["give-back", &ticket]), 80, "taken away");
}

#[test]
fn lock_whose_ticket_nobody_read_is_given_back() {
    let scene = Scene::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = scene.dlock(["acquire", "lock", "--lease", "1h"]);
    let mut child = command.stdout(writer).spawn().unwrap();
    let code = until("its end", || child.try_wait().unwrap()).code();
    assert_eq!(code, Some(74));
    assert_ended(&scene.finish(TRY), 0, "");
}

#[test]
fn lock_that_is_held_yields_no_ticket() {
    let scene = Scene::new();
    let _ticket = ticket(&scene, "1h");
    let refused = scene.finish(["acquire", "lock", "-w", "7.5"]);
    assert_ended(&refused, 75, "held by");
    assert_eq!(refused.out, "");
    let refused = scene.finish(["acquire", "lock", "-n", "-E", "9", "--quiet"]);
    assert_eq!((refused.code(), &*refused.err), (9, ""), "{refused:?}");
}
