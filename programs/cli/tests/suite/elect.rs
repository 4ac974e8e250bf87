//! `dlock elect`: who leads, what runs meanwhile, and how it ends.

use std::{process::Command, time::Duration};

use crate::support::{ALONE, Process, Scene, until};
use rustix::process::Signal;

/// For tests that wait for the next renewal, or for the end of a lease that is not renewed.
const SHORT: &str = "15s";
/// For tests in which a lease ends only where they end it.
const LONG: &str = "1h";

/// `dlock elect job`, which tries often enough to notice what a test does to the store.
fn elect(scene: &Scene, id: &str, options: &[&str]) -> Command {
    let mut command = scene.dlock(["elect", "job", "--id", id]);
    command.args(options);
    if !options.contains(&"--attempt") {
        command.args(["--attempt", "200ms"]);
    }
    command
}

/// A candidate whose command writes its token, then waits for TERM, and takes a moment before it writes that too.
fn candidate(scene: &Scene, id: &str, options: &[&str]) -> Process {
    let script = format!(
        r#"{ALONE} trap 'sleep 0.25; echo "term {id}" >> "$T/trace"; exit 7' TERM
        echo "{id} $DLOCK_NAME $DLOCK_TOKEN $DLOCK_OWNER" >> "$T/trace"
        while :; do sleep 0.05 9>&-; done"#
    );
    let mut command = elect(scene, id, options);
    command.args(["--exec", "sh", "-c", &script]);
    scene.start(command)
}

fn watcher(scene: &Scene, id: &str) -> Process {
    scene.start(elect(scene, id, &["--lease", LONG]))
}

/// The token with which the command of this candidate was started, the nth time.
fn token(scene: &Scene, id: &str, nth: usize) -> u64 {
    let start = format!("{id} job ");
    until(&format!("command {nth} of {id}"), || {
        let trace = scene.trace();
        let rest = trace
            .iter()
            .filter_map(|line| line.strip_prefix(&start))
            .nth(nth)?;
        let (token, owner) = rest.split_once(' ')?;
        assert_eq!(owner, id);
        let token = token.parse();
        Some(token.unwrap_or_else(|_| panic!("no token: {rest:?}")))
    })
}

fn prints(process: &Process, text: &str) {
    until(&format!("{text:?} on standard output"), || {
        process.out().contains(text).then_some(())
    });
}

/// Takes the lease away in the store, so that its next renewal is refused, and the lock is free.
fn take_away(scene: &Scene) {
    let taken = "UPDATE lock SET uuid = '00000000-0000-4000-8000-000000000000', expiry = 0";
    let taken = scene.open_store().execute(taken, []);
    assert_eq!(taken.unwrap_or_else(|error| panic!("{error}")), 1);
}

fn no_overlap(scene: &Scene) {
    assert!(
        !scene.trace().contains(&"OVERLAP".to_owned()),
        "{:?}",
        scene.trace()
    );
}

#[test]
fn one_leads_and_the_next_one_when_it_is_killed() {
    let scene = Scene::new();
    let first = watcher(&scene, "first");
    prints(
        &first,
        "following \"job\", which has no leader\nleading \"job\" with token ",
    );
    let second = watcher(&scene, "second");
    prints(&second, "following \"job\", \"first\" leads\n");
    first.signal(Signal::KILL);
    assert!(!second.out().contains("leading"), "{}", second.out());
    scene.end_lease("job");
    prints(&second, "leading \"job\" with token ");
    second.signal(Signal::TERM);
    let second = second.finish(Duration::from_secs(20));
    assert_eq!(second.code(), 143, "{second:?}");
    assert!(
        second
            .out
            .ends_with("not leading \"job\" any more: stopping\n"),
        "{second:?}"
    );
}

#[test]
fn command_of_a_killed_leader_is_gone_before_the_next_one_starts() {
    let scene = Scene::new();
    let first = candidate(&scene, "first", &["--lease", LONG]);
    let old = token(&scene, "first", 0);
    let mut second = candidate(&scene, "second", &["--lease", LONG]);
    second.await_err("following \"job\", \"first\" leads");
    first.signal(Signal::KILL);
    // Not by the end of the lease, which is an hour away.
    until("the end of the first command", || {
        scene.nobody_is_alone().then_some(())
    });
    scene.end_lease("job");
    assert!(token(&scene, "second", 0) > old);
    no_overlap(&scene);
}

#[test]
fn stopped_leader_has_no_command_left_when_the_next_one_starts_and_follows_then() {
    let scene = Scene::new();
    let mut first = candidate(&scene, "first", &["--lease", SHORT]);
    token(&scene, "first", 0);
    let mut second = candidate(&scene, "second", &["--lease", LONG]);
    second.await_err("following");
    first.signal(Signal::STOP);
    token(&scene, "second", 0);
    first.signal(Signal::CONT);
    first.await_err("not leading \"job\" any more: ");
    no_overlap(&scene);
    // It stands again, and leads when the other one is gone.
    second.signal(Signal::TERM);
    assert_eq!(second.finish(Duration::from_secs(20)).code(), 7);
    token(&scene, "first", 1);
    no_overlap(&scene);
}

#[test]
fn leader_steps_down_when_it_is_told_to_end_and_another_one_leads_at_once() {
    let scene = Scene::new();
    let first = candidate(&scene, "first", &["--lease", LONG]);
    let old = token(&scene, "first", 0);
    let mut second = candidate(&scene, "second", &["--lease", LONG]);
    second.await_err("following");
    first.signal(Signal::TERM);
    let first = first.finish(Duration::from_secs(20));
    // The command's own code.
    assert_eq!(first.code(), 7, "{first:?}");
    assert!(
        first.err.contains("not leading \"job\" any more: stopping"),
        "{first:?}"
    );
    assert!(token(&scene, "second", 0) > old);
    assert_eq!(scene.await_trace("term "), "first");
    no_overlap(&scene);
}

#[test]
fn leader_that_is_asked_to_step_down_ends_its_command_and_follows() {
    let scene = Scene::new();
    let nobody = scene.finish(["elect", "job", "--resign"]);
    assert_eq!(nobody.code(), 1, "{nobody:?}");
    // It stands aside for more than a minute, so that it is the other one's turn.
    let mut first = candidate(&scene, "first", &["--lease", SHORT, "--attempt", "1m"]);
    token(&scene, "first", 0);
    let mut second = candidate(&scene, "second", &["--lease", LONG]);
    second.await_err("following");
    let asked = scene.finish(["elect", "job", "--resign"]);
    assert_eq!(
        (asked.code(), asked.out.as_str()),
        (0, "\"first\" was asked to step down from \"job\"\n")
    );
    token(&scene, "second", 0);
    assert_eq!(scene.await_trace("term "), "first");
    first.await_err("not leading \"job\" any more: it was asked to step down");
    assert!(first.is_running());
    no_overlap(&scene);
}

#[test]
fn command_that_does_not_end_when_the_leader_steps_down_is_killed_after_the_grace() {
    let scene = Scene::new();
    let script = format!(r#"{ALONE} trap '' TERM; echo in >> "$T/trace"; sleep 61"#);
    let options = ["--lease", SHORT, "--attempt", "1m", "--grace", "300ms"];
    let mut command = elect(&scene, "first", &options);
    command.args(["--exec", "sh", "-c", &script]);
    let mut first = scene.start(command);
    scene.await_trace("in");
    let mut second = candidate(&scene, "second", &["--lease", LONG]);
    second.await_err("following");
    assert_eq!(scene.finish(["elect", "job", "--resign"]).code(), 0);
    token(&scene, "second", 0);
    first.await_err("not leading \"job\" any more: it was asked to step down");
    no_overlap(&scene);
}

#[test]
fn command_that_ends_by_itself_ends_the_candidate_with_its_code() {
    let scene = Scene::new();
    let mut command = scene.dlock(["elect", "job", "--lease", LONG]);
    // The last words belong to the command, like everything behind --exec.
    command.args(["--exec", "sh", "-c", "exit 3", "--lease"]);
    let ended = scene.start(command).finish(Duration::from_secs(20));
    assert_eq!(ended.code(), 3, "{ended:?}");
    // Like behind the two dashes of 'dlock run'.
    let words = ["elect", "job", "--lease", LONG, "--", "sh", "-c", "exit 4"];
    let ended = scene.finish(words);
    assert_eq!(ended.code(), 4, "{ended:?}");
    let missing = ["elect", "job", "--lease", LONG, "--exec", "no-such-command"];
    let missing = scene.finish(missing);
    assert_eq!(missing.code(), 127, "{missing:?}");
    // Both have released the leadership, which would have been theirs for an hour.
    let again = scene.finish(["elect", "job", "--lease", "5h", "--exec", "true"]);
    assert_eq!(again.code(), 0, "{again:?}");
}

#[test]
fn command_is_killed_when_the_leadership_is_lost_and_starts_anew_with_the_next() {
    let scene = Scene::new();
    let mut only = candidate(&scene, "only", &["--lease", SHORT]);
    let old = token(&scene, "only", 0);
    take_away(&scene);
    only.await_err("not leading \"job\" any more: ");
    assert!(token(&scene, "only", 1) > old);
    assert!(only.is_running());
    no_overlap(&scene);
    only.signal(Signal::TERM);
    assert_eq!(only.finish(Duration::from_secs(20)).code(), 7);
}

/// A command may use HUP for something other than its end: to read its settings again. The sender did not mean
/// `dlock` then, and a later loss is an ordinary one.
#[test]
fn hangup_that_the_command_survived_is_forgotten_by_the_next_loss() {
    let scene = Scene::new();
    // Longer than its grace, and a second.
    let script = format!(
        r#"{ALONE} trap 'sleep 2; echo survived >> "$T/trace"' HUP; trap 'exit 7' TERM
        echo "only $DLOCK_NAME $DLOCK_TOKEN $DLOCK_OWNER" >> "$T/trace"
        while :; do sleep 0.05 9>&-; done"#
    );
    let mut command = elect(&scene, "only", &["--lease", SHORT, "--grace", "500ms"]);
    command.args(["--exec", "sh", "-c", &script]);
    let mut only = scene.start(command);
    let old = token(&scene, "only", 0);
    only.signal(Signal::HUP);
    scene.await_trace("survived");
    take_away(&scene);
    only.await_err("not leading \"job\" any more: ");
    assert!(token(&scene, "only", 1) > old);
    assert!(only.is_running());
    no_overlap(&scene);
    only.signal(Signal::TERM);
    assert_eq!(only.finish(Duration::from_secs(20)).code(), 7);
}

/// HUP may have been meant to end the whole job; the command can't show that any more.
#[test]
fn hangup_in_the_grace_of_the_command_ends_the_candidate() {
    let scene = Scene::new();
    let script = format!(
        r#"{ALONE} trap 'hung_up=1' HUP; trap 'echo term >> "$T/trace"' TERM
        echo "only $DLOCK_NAME $DLOCK_TOKEN $DLOCK_OWNER" >> "$T/trace"
        until [ "$hung_up" ]; do sleep 0.05 9>&-; done"#
    );
    let mut command = elect(&scene, "only", &["--lease", "30s", "--grace", "7s"]);
    command.args(["--exec", "sh", "-c", &script]);
    let only = scene.start(command);
    token(&scene, "only", 0);
    assert_eq!(scene.finish(["elect", "job", "--resign"]).code(), 0);
    scene.await_trace("term");
    only.signal(Signal::HUP);
    assert_eq!(only.finish(Duration::from_secs(20)).code(), 129);
}

#[test]
fn store_that_can_not_be_used_is_said_at_once() {
    let scene = Scene::new();
    std::fs::write(scene.path("locks.db"), "no database at all, but a text").unwrap();
    let refused = scene.finish(["elect", "job"]);
    assert_eq!(refused.code(), 78, "{refused:?}");
}

/// A candidate that may read locks but not write them finds that out only when it tries to lead.
#[test]
fn what_keeps_a_candidate_from_leading_is_said_once_until_it_is_mended() {
    let scene = Scene::new();
    assert_eq!(scene.finish(["setup"]).code(), 0);
    let store = scene.open_store();
    let forbid =
        "CREATE TRIGGER forbid BEFORE INSERT ON lock BEGIN SELECT RAISE(ABORT, 'not you'); END";
    store.execute_batch(forbid).unwrap();
    let mut command = elect(&scene, "only", &["--lease", LONG]);
    command.env("DLOCK_LOG", "warn");
    let candidate = scene.start(command);
    prints(
        &candidate,
        "following \"job\", which has no leader\ncan't lead \"job\" until this is mended: the store sqlite:",
    );
    prints(&candidate, "not you");
    until("three attempts", || {
        let attempts = candidate.err().matches("cannot take part").count();
        (attempts >= 3).then_some(())
    });
    store.execute_batch("DROP TRIGGER forbid").unwrap();
    prints(&candidate, "leading \"job\" with token ");
    let out = candidate.out();
    assert_eq!(out.matches("can't lead").count(), 1, "{out}");
}
