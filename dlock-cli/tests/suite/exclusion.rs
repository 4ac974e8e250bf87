//! One at a time, in turn, and only as long as it has to be.

use std::time::Duration;

use crate::support::{ALONE, Scene, Stopwatch, until};

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
fn waiter_starts_within_the_poll_interval_after_the_release() {
    let scene = Scene::new();
    let holder = scene.run(&[], r#"until [ -e "$T/go" ]; do sleep 0.01; done"#);
    until("the holder", || {
        scene
            .finish(["status", "lock"])
            .out
            .contains(" held ")
            .then_some(())
    });
    let mut waiter = scene.run(&[], r#"echo started >> "$T/trace""#);
    waiter.await_err("waiting for \"lock\", held by ");
    let watch = Stopwatch::start();
    std::fs::write(scene.path("go"), "").unwrap();
    assert_eq!(holder.code(), 0);
    scene.await_trace("started");
    // P + j + 2R with the default lease of 15 s: a second, and a fifth of it. The rest is for a
    // machine that does other things too.
    assert!(
        watch.elapsed() < Duration::from_secs(6),
        "{:?}",
        watch.elapsed()
    );
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
    let holder = scene.run(
        &["--owner", "the one before"],
        r#"echo in >> "$T/trace"; sleep 60"#,
    );
    scene.await_trace("in");

    let watch = Stopwatch::start();
    let refused = scene.finish(["run", "lock", "--no-wait", "--", "touch", "never"]);
    assert_eq!(refused.code(), 75, "{refused:?}");
    assert!(refused.err.contains("the one before"), "{refused:?}");
    assert!(
        watch.elapsed() < Duration::from_secs(5),
        "{:?}",
        watch.elapsed()
    );

    let watch = Stopwatch::start();
    let refused = scene.finish(["run", "lock", "--wait", "700ms", "--", "touch", "never"]);
    assert_eq!(refused.code(), 75, "{refused:?}");
    assert!(refused.err.contains("the one before"), "{refused:?}");
    let waited = watch.elapsed();
    assert!(
        waited >= Duration::from_millis(700) && waited < Duration::from_secs(6),
        "{waited:?}"
    );

    // Exactly one try.
    assert_eq!(
        scene
            .finish(["run", "lock", "--wait", "0s", "--", "touch", "never"])
            .code(),
        75
    );
    drop(holder);
}

#[test]
fn lock_is_free_after_a_command_that_failed_or_never_started() {
    let scene = Scene::new();
    for words in [
        &["false"][..],
        &["/no/such/command"],
        &["/"],
        &["sh", "-c", "kill -KILL $$"],
    ] {
        let mut run = vec!["run", "lock", "--no-wait", "--"];
        run.extend(words);
        assert_ne!(scene.finish(&run).code(), 75, "{words:?}");
        assert_eq!(
            scene
                .finish(["run", "lock", "--no-wait", "--", "true"])
                .code(),
            0,
            "{words:?}"
        );
    }
}
