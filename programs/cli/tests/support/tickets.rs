//! Holding without a command, tried with every kind of server.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use super::{
    Scene,
    stores::{TRY, assert_ended},
    until,
};

const SOON: Duration = Duration::from_secs(60);

/// The label of the ticket: `dlock` with this in the environment.
#[track_caller]
pub(crate) fn with_ticket(scene: &Scene, ticket: &str, arguments: &[&str]) -> super::Finished {
    let mut command = scene.dlock(arguments);
    command.env("DLOCK_TICKET", ticket);
    scene.start(command).finish(SOON)
}

/// `dlock acquire`, `renew` and `give-back`: no other process enters between them, and afterwards one can.
pub(crate) fn ticket_holds_from_one_command_to_the_next(scene: &Scene) {
    let acquired = scene.finish(["acquire", "lock", "--lease", "1h", "--owner", "script"]);
    assert_ended(&acquired, 0, "");
    let ticket = acquired.out.trim();
    assert_ended(&scene.finish(TRY), 75, "held by script");
    let status = || serde_json::from_str::<Value>(&scene.status()).unwrap();
    let before = status();
    assert!(
        ticket.contains(&format!(":{}:", before["token"])),
        "{ticket}, {before}"
    );
    for renewals in 1..=2 {
        let renewed = with_ticket(scene, ticket, &["renew", "--json"]);
        assert_ended(&renewed, 0, "");
        let renewed: Value = serde_json::from_str(&renewed.out).unwrap();
        // Four fifths of an hour, less what the machine took.
        let valid = renewed["valid_ms"].as_u64().unwrap();
        assert!((2_700_000..=2_880_000).contains(&valid), "{renewed}");
        assert_eq!(renewed["asked"], false);
        let now = status();
        assert_eq!(now["renewals"], renewals, "{now}");
        for part in ["uuid", "token", "owner"] {
            assert_eq!(now[part], before[part], "{part}: {now}");
        }
    }
    assert_ended(&scene.finish(["ask", "lock"]), 0, "");
    let renewed = with_ticket(scene, ticket, &["renew"]);
    assert!(renewed.out.contains("it was asked for"), "{renewed:?}");
    for _ in 0..2 {
        let given_back = with_ticket(scene, ticket, &["give-back"]);
        assert_ended(&given_back, 0, "");
        assert_eq!(given_back.out, "\"lock\" is free\n");
    }
    assert_ended(&with_ticket(scene, ticket, &["renew"]), 80, "has ended:");
    assert_ended(&scene.finish(TRY), 0, "");
    assert_ended(
        &with_ticket(scene, ticket, &["give-back"]),
        80,
        "has ended:",
    );
}

/// `dlock hold --until-asked` and `dlock ask`.
pub(crate) fn holder_gives_back_when_asked(scene: &Scene) {
    assert_ended(&scene.finish(TRY), 0, "");
    assert_ended(&scene.finish(["ask", "lock"]), 1, "it is released");
    assert_ended(&scene.finish(["ask", "other"]), 1, "it was never held");
    let mut command = scene.dlock(["hold", "lock", "--lease", "30s", "--owner", "web 1"]);
    command.args(["--until-asked", "--json"]);
    let holder = scene.start(command);
    let told = until("the holder's line", || {
        serde_json::from_str::<Value>(&holder.out()).ok()
    });
    assert_eq!(
        (&told["name"], &told["owner"]),
        (&"lock".into(), &"web 1".into())
    );
    let asked = scene.finish(["ask", "lock"]);
    assert_ended(&asked, 0, "");
    assert!(
        asked
            .out
            .starts_with("web 1 was asked to give \"lock\" back"),
        "{asked:?}"
    );
    assert_ended(&holder.finish(SOON), 0, "");
    assert_ended(&scene.finish(["ask", "lock"]), 1, "it is released");
    let next = scene.start(scene.dlock(["hold", "lock"]));
    until("the next holder's line", || {
        next.out().starts_with("holding \"lock\" as ").then_some(())
    });
    next.signal(Signal::TERM);
    assert_ended(&next.finish(SOON), 143, "");
    assert_ended(&scene.finish(TRY), 0, "");
}
