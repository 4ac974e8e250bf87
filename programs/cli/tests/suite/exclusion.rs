//! One at a time, in turn, and no longer than necessary.

use std::time::Duration;

use crate::support::{ALONE, Scene, Stopwatch, stores::TRY};

fn tokens(trace: &[String]) -> Vec<u64> {
    trace
        .iter()
        .filter_map(|line| line.strip_prefix("token ")?.parse().ok())
        .collect()
}

#[test]
fn runs_of_one_name_never_overlap_and_tokens_only_grow() {
    let scene = Scene::new();
    let script = format!(r#"{ALONE} echo "token $DLOCK_TOKEN" >> "$T/trace"; sleep 0.3"#);
    let runs: Vec<_> = (0..5).map(|_| scene.run(&[], &script)).collect();
    for run in runs {
        assert_eq!(run.code(), 0);
    }
    let trace = scene.trace();
    let tokens = tokens(&trace);
    assert_eq!(tokens.len(), 5, "{trace:?}");
    assert!(tokens.is_sorted_by(|a, b| a < b), "{trace:?}");
}

#[test]
fn an_overlap_would_be_noticed() {
    let scene = Scene::new();
    let script = format!(r#"{ALONE} echo in >> "$T/trace"; sleep 30"#);
    let first = scene.run(&[], &script);
    scene.await_trace("in");
    assert_eq!(
        scene
            .finish(["run", "other", "--", "sh", "-c", &script])
            .code(),
        99
    );
    assert_eq!(scene.trace(), ["in", "OVERLAP"]);
    drop(first);
}

#[test]
fn waiter_starts_after_the_release_and_not_only_when_the_lease_ends() {
    let scene = Scene::new();
    let script = r#"echo in >> "$T/trace"; until [ -e "$T/go" ]; do sleep 0.05; done"#;
    let holder = scene.run(&["--lease", "1h"], script);
    scene.await_trace("in");
    let mut waiter = scene.run(&[], "true");
    waiter.await_err("waiting for \"lock\", held by ");
    std::fs::write(scene.path("go"), "").unwrap();
    assert_eq!(holder.code(), 0);
    assert_eq!(waiter.code(), 0);
}

#[test]
fn different_names_do_not_exclude_each_other() {
    let scene = Scene::new();
    let holder = scene.run(&[], r#"echo in >> "$T/trace"; sleep 30"#);
    scene.await_trace("in");
    assert_eq!(
        scene
            .finish(["run", "other", "--no-wait", "--", "true"])
            .code(),
        0
    );
    drop(holder);
}

#[test]
fn same_name_in_another_store_is_another_lock() {
    let scene = Scene::new();
    let holder = scene.run(&[], r#"echo in >> "$T/trace"; sleep 30"#);
    scene.await_trace("in");
    let store = format!("sqlite:{}", scene.path("other.db").display());
    assert_eq!(
        scene
            .finish(["run", "lock", "--no-wait", "--store", &store, "--", "true"])
            .code(),
        0
    );
    drop(holder);
}

#[test]
fn no_wait_and_a_limit_end_with_75_and_name_the_holder() {
    let scene = Scene::new();
    // For an hour: a process that waits for its end does not return.
    let held = [
        "acquire",
        "lock",
        "--lease",
        "1h",
        "--owner",
        "the one before",
    ];
    assert_eq!(scene.finish(held).code(), 0);
    let watch = Stopwatch::start();
    // One try, one try, and a wait of that time.
    for patience in [&["--no-wait"][..], &["--wait", "0s"], &["--wait", "7s"]] {
        let run = [&["run", "lock"], patience, &["--", "touch", "never"]].concat();
        let refused = scene.finish(run);
        assert_eq!(refused.code(), 75, "{refused:?}");
        assert!(refused.err.contains("the one before"), "{refused:?}");
    }
    assert!(watch.elapsed() >= Duration::from_secs(7));
}

#[test]
fn lock_is_free_after_a_command_that_failed_or_never_started() {
    let scene = Scene::new();
    for (words, code) in [
        (&["false"][..], 1),
        (&["/no/such/command"], 127),
        (&["/"], 126),
        (&["sh", "-c", "kill -KILL $$"], 137),
    ] {
        let mut run = vec!["run", "lock", "--no-wait", "--"];
        run.extend(words);
        assert_eq!(scene.finish(&run).code(), code, "{words:?}");
        assert_eq!(scene.finish(TRY).code(), 0, "{words:?}");
    }
}
