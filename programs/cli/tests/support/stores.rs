//! The stories that are tried with every kind of server.

mod secret;

use std::{fs, time::Duration};

use dlock_core::DLock;
use dlock_stores::{Program, locate};
use dlock_test_servers::Service;
use rustix::process::Signal;
use serde_json::Value;

pub(crate) use self::secret::secret_is_told_to_nobody;
use super::{ALONE, Finished, Scene, seen, until};

/// The secret that must never be printed.
pub(crate) const SECRET: &str = "hunter2-of-these-tests";

/// The limit for a store that does not answer: ten seconds of retries, plus the delay of a slow machine.
const BOUND: Duration = Duration::from_secs(30);

/// Runs a future that starts a server. The server itself does not need the runtime.
pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(work)
}

/// Freezes a server: the system still accepts connections for it, but it sends nothing.
pub(crate) fn freeze(service: &mut Service) {
    service.signal("STOP").unwrap();
    let id = i32::try_from(service.place().pid().unwrap()).unwrap();
    until("the server to stop", || {
        (seen(id)?.state == 'T').then_some(())
    });
}

/// It ended with this code and this message, and did not reveal the secret.
#[track_caller]
pub(crate) fn assert_ended(finished: &Finished, code: i32, words: &str) {
    assert_eq!(finished.code(), code, "{finished:?}");
    assert!(finished.err.contains(words), "not {words:?}: {finished:?}");
    assert!(!finished.err.contains("panicked"), "{finished:?}");
    for text in [&finished.out, &finished.err] {
        assert!(!text.contains(SECRET), "{finished:?}");
    }
}

/// Every subcommand that uses the store ends with this code, and prints all these words. They run at the same time.
#[track_caller]
pub(crate) fn assert_all_end(scene: &Scene, subcommands: &[&[&str]], code: i32, words: &[&str]) {
    // Of what the program is made is no business of its users.
    const INTERNAL: [&str; 6] = [
        "pool",
        "this provider",
        "the provider",
        "new object",
        "db error",
        "()",
    ];
    let start = |subcommand: &&[&str]| scene.start(scene.dlock(*subcommand));
    let processes: Vec<_> = subcommands.iter().map(start).collect();
    for process in processes {
        let finished = process.finish(BOUND);
        for word in words {
            assert_ended(&finished, code, word);
        }
        for word in INTERNAL {
            assert!(!finished.err.contains(word), "{word:?}: {finished:?}");
        }
    }
}

pub(crate) const TRY: &[&str] = &["run", "lock", "--no-wait", "--", "true"];
pub(crate) const RUN: &[&str] = &["run", "lock", "--", "true"];
/// How long an unresponsive store is queried follows from the lease.
pub(crate) const SHORT_TRY: &[&str] = &["run", "lock", "--lease", "6s", "--no-wait", "--", "true"];
pub(crate) const SHORT_RUN: &[&str] = &["run", "lock", "--lease", "6s", "--", "true"];
pub(crate) const STATUS: &[&str] = &["status"];
pub(crate) const STATUS_OF_ONE: &[&str] = &["status", "lock"];
pub(crate) const SETUP: &[&str] = &["setup"];
pub(crate) const PURGE: &[&str] = &["purge"];
pub(crate) const RELEASE: &[&str] = &["release", "lock"];

/// Creates what is missing, twice.
#[track_caller]
pub(crate) fn set_up(scene: &Scene) {
    for _ in 0..2 {
        let finished = scene.finish(SETUP);
        assert_ended(&finished, 0, "");
        assert!(finished.out.starts_with("ready: "), "{finished:?}");
    }
}

/// Two `dlock setup` at once, first where nothing exists, then while a lock is held, after `damage` has removed
/// something that the holder does not need: both succeed, and the held lock stays as it was.
pub(crate) fn two_setups_at_once_disturb_nobody(scene: &Scene, damage: impl FnOnce()) {
    let two = || {
        let both = [SETUP, SETUP].map(|setup| scene.start(scene.dlock(setup)));
        for setup in both {
            let finished = setup.finish(Duration::from_secs(60));
            assert_ended(&finished, 0, "");
            assert!(finished.out.starts_with("ready: "), "{finished:?}");
        }
    };
    let shown = || {
        let finished = scene.finish(["status", "lock", "--json"]);
        assert_ended(&finished, 0, "");
        serde_json::from_str::<Value>(&finished.out).unwrap()
    };
    two();
    let script = r#"echo in >> "$T/trace"; until [ -e "$T/go" ]; do sleep 0.05; done"#;
    let holder = scene.run(&["--lease", "15s"], script);
    scene.await_trace("in");
    let before = shown();
    assert_eq!(before["state"], "held", "{before}");
    damage();
    two();
    let after = until("a renewal", || {
        let now = shown();
        (now["renewals"].as_u64() > before["renewals"].as_u64()).then_some(now)
    });
    for part in ["state", "uuid", "token", "owner", "since", "lease_ms"] {
        assert_eq!(after[part], before[part], "{part}: {before}, then {after}");
    }
    fs::write(scene.path("go"), "").unwrap();
    assert_ended(&holder.finish(Duration::from_secs(30)), 0, "");
    // Everything that a lock can need exists.
    let closing = ["run", "lock", "--at-least", "1s", "--", "true"];
    assert_ended(&scene.finish(closing), 0, "");
}

/// Two at a time never happen, tokens grow, and the exit code is the command's.
pub(crate) fn commands_take_turns(scene: &Scene) {
    let script = format!(r#"{ALONE} echo "token $DLOCK_TOKEN" >> "$T/trace"; sleep 0.3; exit 7"#);
    let runs: Vec<_> = (0..4)
        .map(|_| scene.run(&["--lease", "60s"], &script))
        .collect();
    for run in runs {
        assert_ended(&run.finish(Duration::from_secs(60)), 7, "");
    }
    let trace = scene.trace();
    let tokens = trace.iter().filter_map(|line| line.strip_prefix("token "));
    let tokens: Vec<u64> = tokens.filter_map(|token| token.parse().ok()).collect();
    assert_eq!((tokens.len(), trace.len()), (4, 4), "{trace:?}");
    assert!(tokens.is_sorted_by(|a, b| a < b), "{trace:?}");
}

/// A waiter takes over from a holder that was killed, and not while its command still works.
pub(crate) fn killed_holder_is_followed(scene: &Scene) {
    let script = |line: &str, then: &str| {
        format!(r#"{ALONE} echo "{line} $DLOCK_TOKEN" >> "$T/trace"; {then}"#)
    };
    // Long enough for a busy machine not to lose it early.
    let holder = scene.run(&["--lease", "8s"], &script("first", "sleep 600"));
    let first: u64 = scene.await_trace("first").parse().unwrap();
    let refused = scene.finish(TRY);
    assert_ended(&refused, 75, "held by");
    let mut waiter = scene.run(&["--lease", "8s"], &script("second", "exit 5"));
    waiter.await_err("waiting for \"lock\", held by ");
    holder.signal(Signal::KILL);
    assert_ended(&waiter.finish(Duration::from_secs(60)), 5, "");
    let second: u64 = scene.await_trace("second").parse().unwrap();
    assert!(first < second);
    assert_eq!(scene.trace().len(), 2, "{:?}", scene.trace());
}

/// A waiter that listens to the store, and never polls, gets the lock that `dlock run` releases.
pub(crate) fn release_wakes_a_waiter_that_listens(scene: &Scene) {
    static LISTENER: Program = Program {
        name: "listener",
        folder: "programs/cli",
        set_up: "",
        set_up_queue: "",
        serves_many: true,
        warn: |_| {},
    };
    let script = r#"echo in >> "$T/trace"; until [ -e "$T/go" ]; do sleep 0.05; done"#;
    let holder = scene.run(&["--lease", "1h"], script);
    scene.await_trace("in");
    let mut variables = scene.environment().into_iter();
    let (_, url) = variables.rfind(|(name, _)| *name == "DLOCK_STORE").unwrap();
    block_on(async {
        let store = locate(&LISTENER, Some(url.as_ref())).unwrap();
        let lock = DLock::builder()
            .name("lock")
            .duration(Duration::from_secs(60))
            .poll_every(Duration::from_secs(3600))
            .provider(store.open().await.unwrap().client())
            .build()
            .unwrap();
        let waiting = tokio::spawn(async move { lock.acquire().await });
        // The first refusal leaves the mark, and no poll follows within an hour.
        let marked = async {
            while serde_json::from_str::<Value>(&scene.status()).unwrap()["wanted"] == 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let marked = tokio::time::timeout(Duration::from_secs(60), marked);
        marked.await.unwrap();
        fs::write(scene.path("go"), "").unwrap();
        let granted = tokio::time::timeout(Duration::from_secs(60), waiting).await;
        granted.unwrap().unwrap().unwrap().release().await.unwrap();
    });
    assert_ended(&holder.finish(Duration::from_secs(60)), 0, "");
}

/// `dlock elect`: the command runs on one candidate at a time, ends where the leader is asked to step down, and runs
/// on another one after a leader was killed.
pub(crate) fn candidates_lead_in_turn(scene: &Scene) {
    let script = format!(
        r#"{ALONE} trap 'exit 7' TERM; echo "$DLOCK_OWNER $DLOCK_TOKEN" >> "$T/trace"
        while :; do sleep 0.05 9>&-; done"#
    );
    let candidate = |id: &str, attempt: &str| {
        // Long enough for a busy machine not to lose it early.
        let mut command = scene.dlock(["elect", "job", "--lease", "8s", "--id", id]);
        command.args(["--attempt", attempt, "--exec", "sh", "-c", &script]);
        scene.start(command)
    };
    // It stands aside for more than a minute, so that it is the other one's turn.
    let first = candidate("first", "1m");
    scene.await_trace("first ");
    let mut second = candidate("second", "1s");
    second.await_err("following \"job\", \"first\" leads");
    assert_ended(&scene.finish(["elect", "job", "--resign"]), 0, "");
    scene.await_trace("second ");
    drop(first);
    let mut third = candidate("third", "1s");
    third.await_err("following \"job\", \"second\" leads");
    second.signal(Signal::KILL);
    until("the third command", || {
        (scene.trace().len() == 3).then_some(())
    });
    let trace = scene.trace();
    let (who, tokens): (Vec<_>, Vec<_>) = trace
        .iter()
        .map(|line| line.split_once(' ').unwrap())
        .unzip();
    assert_eq!(who, ["first", "second", "third"]);
    let tokens: Vec<u64> = tokens.iter().map(|token| token.parse().unwrap()).collect();
    assert!(tokens.is_sorted_by(|a, b| a < b), "{trace:?}");
}

/// `dlock status`, of a lock that is held and then released. `clock`: the store knows the remaining time.
pub(crate) fn status_tells_who_holds_what(scene: &Scene, clock: bool) {
    assert_ended(&scene.finish(STATUS_OF_ONE), 1, "it was never held");
    assert_eq!(scene.finish(STATUS).out, "no locks\n");
    let script = r#"echo "token $DLOCK_TOKEN" >> "$T/trace"; sleep 60"#;
    let holder = scene.run(&["--owner", "web 1"], script);
    let token: u64 = scene.await_trace("token").parse().unwrap();
    let json = || {
        let finished = scene.finish(["status", "lock", "--json"]);
        assert_ended(&finished, 0, "");
        serde_json::from_str::<Value>(&finished.out).unwrap()
    };
    let held = json();
    assert_eq!(
        (
            &held["state"],
            &held["owner"],
            &held["token"],
            &held["lease_ms"]
        ),
        (
            &"held".into(),
            &"web 1".into(),
            &token.into(),
            &15_000.into()
        )
    );
    assert_eq!(held["remaining_ms"].is_u64(), clock, "{held}");
    let table = scene.finish(STATUS).out;
    assert!(table.contains("lock  held   "), "{table}");
    assert!(table.contains("web 1"), "{table}");
    holder.signal(Signal::TERM);
    assert_ended(&holder.finish(Duration::from_secs(30)), 143, "");
    assert_eq!(json()["state"], "released");
}

/// Takes the store away from a holder, and checks the consequences for it and for newcomers. `unreachable.rs`
/// checks, with another process waiting for the lock, that the end comes before that of the lease.
pub(crate) fn command_ends_before_its_lease_when_the_store_is_gone(
    scene: &Scene,
    take_away: impl FnOnce(),
) {
    let holder = scene.run(
        &["--lease", "12s"],
        &format!(r#"{ALONE} trap '' TERM; echo in >> "$T/trace"; while :; do sleep 0.05; done"#),
    );
    scene.await_trace("in");
    take_away();
    until("the end of the command", || {
        scene.nobody_is_alone().then_some(())
    });
    assert_ended(&holder.finish(Duration::from_secs(30)), 80, "running out");
    all_end_without_an_answer(scene);
}

pub(crate) fn all_end_without_an_answer(scene: &Scene) {
    let subcommands = &[SHORT_TRY, SHORT_RUN, STATUS, SETUP];
    assert_all_end(scene, subcommands, 69, &["does not answer"]);
}

/// `dlock release`: the holder's command ends at its next renewal, and the waiter's starts after that. On every
/// store, even where only an observer knows when.
pub(crate) fn revoked_holder_ends_before_the_next_one(scene: &Scene) {
    let script = |line: &str, then: &str| {
        format!(r#"{ALONE} echo "{line} $DLOCK_TOKEN" >> "$T/trace"; {then}"#)
    };
    let holder = scene.run(
        &["--lease", "6s", "--owner", "web 1"],
        &script("first", "sleep 600"),
    );
    scene.await_trace("first");
    let waiter = scene.run(&["--lease", "6s"], &script("second", "exit 5"));
    // A renewal came between the read and the write: dlock reports it, and the release is repeated.
    let released = until("a release between two renewals", || {
        let released = scene.finish(["release", "lock"]);
        (released.code() != 75).then_some(released)
    });
    assert_ended(&released, 0, "");
    assert!(
        released
            .out
            .starts_with("the lease of web 1 on \"lock\" will not be renewed again"),
        "{released:?}"
    );
    assert_ended(&holder.finish(Duration::from_secs(60)), 80, "");
    assert_ended(&waiter.finish(Duration::from_secs(60)), 5, "");
    let trace = scene.trace();
    assert!(!trace.contains(&"OVERLAP".to_owned()), "{trace:?}");
}

/// `dlock release --force`: the next one enters although the lease has an hour left.
pub(crate) fn force_frees_at_once(scene: &Scene) {
    let script = r#"echo "held $DLOCK_TOKEN" >> "$T/trace"; sleep 600"#;
    let holder = scene.run(&["--lease", "1h", "--owner", "web 1"], script);
    let token: u64 = scene.await_trace("held").parse().unwrap();
    let released = scene.finish(["release", "lock", "--force", "--yes"]);
    assert_ended(&released, 0, "if web 1 still works");
    assert_eq!(released.out, "\"lock\" is free\n");
    let next = r#"test "$DLOCK_TOKEN" -gt "$1""#;
    let token = token.to_string();
    let next = scene.finish([
        "run",
        "lock",
        "--no-wait",
        "--",
        "sh",
        "-c",
        next,
        "sh",
        &token,
    ]);
    assert_ended(&next, 0, "");
    drop(holder);
}

/// `dlock purge`, on a store that has nothing old.
pub(crate) fn nothing_is_purged(scene: &Scene) {
    assert_ended(&scene.finish(RUN), 0, "");
    let purged = scene.finish(["purge"]);
    assert_ended(&purged, 0, "");
    assert_eq!(purged.out, "purged 0 records\n");
    assert_eq!(scene.finish(STATUS_OF_ONE).code(), 0);
}

/// Locks of one name under two prefixes of one store do not meet, and lists show only their own.
pub(crate) fn prefixes_are_stores_of_their_own(ours: &Scene, theirs: &Scene) {
    let script = r#"echo in >> "$T/trace"; sleep 600"#;
    let holder = ours.run(&["--owner", "ours"], script);
    ours.await_trace("in");
    assert_eq!(theirs.finish(STATUS).out, "no locks\n");
    assert_ended(&theirs.finish(TRY), 0, "");
    assert_ended(&ours.finish(TRY), 75, "held by ours");
    assert_ended(&ours.finish(STATUS), 0, "");
    drop(holder);
}
