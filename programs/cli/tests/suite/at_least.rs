//! Once per period: the trap of a mutex alone, and `--at-least`.
#![expect(
    clippy::disallowed_methods,
    reason = "a test measures how long processes take"
)]

use std::time::{Duration, Instant};

use crate::support::Scene;

const SOON: Duration = Duration::from_secs(60);

/// Cron's starts on three hosts whose clocks differ by more than the job takes. Each one's exit code,
/// in the order of their clocks.
fn night(scene: &Scene, options: &[&str]) -> Vec<i32> {
    let host = |_| scene.run(options, r#"echo ran >> "$T/trace""#).code();
    (0..3).map(host).collect()
}

#[test]
fn short_job_runs_on_every_host_under_a_mutex() {
    let scene = Scene::new();
    assert_eq!(night(&scene, &["--no-wait"]), [0, 0, 0]);
    assert_eq!(scene.trace().len(), 3, "a mutex is not \"once per period\"");
}

#[test]
fn short_job_runs_on_one_host_with_at_least() {
    let scene = Scene::new();
    let options = ["--no-wait", "--at-least", "10m", "--owner", "web-1"];
    assert_eq!(night(&scene, &options), [0, 75, 75]);
    assert_eq!(scene.trace().len(), 1);
    // A refused run says why, and for how long.
    let refused = scene.run(&options, "exit 0").finish(SOON);
    let says = "closed after the work of web-1, for another 9m";
    assert!(refused.err.contains(says), "{refused:?}");
    let status = scene.finish(["status", "lock", "--json"]).out;
    assert!(status.contains("\"state\": \"closed\""), "{status}");
    assert!(status.contains("\"owner\": \"web-1\""), "{status}");
}

#[test]
fn failed_job_closes_the_lock_and_one_that_never_ran_does_not() {
    let scene = Scene::new();
    let missing = [
        "run",
        "lock",
        "--no-wait",
        "--at-least",
        "10m",
        "--",
        "/no/such/file",
    ];
    assert_eq!(scene.finish(missing).code(), 127);
    let options = ["--no-wait", "--at-least", "10m"];
    assert_eq!(scene.run(&options, "exit 3").code(), 3);
    assert_eq!(scene.run(&options, "exit 0").code(), 75);
}

#[test]
fn waiter_runs_the_job_once_more_when_the_lock_opens() {
    let scene = Scene::new();
    let job = r#"echo ran >> "$T/trace""#;
    let began = Instant::now();
    assert_eq!(scene.run(&["--at-least", "3s"], job).code(), 0);
    assert_eq!(scene.run(&["--wait", "1m"], job).code(), 0);
    assert!(began.elapsed() >= Duration::from_secs(3), "it was open");
    assert_eq!(scene.trace().len(), 2);
}

/// In the units that `--wait` takes.
#[test]
fn plain_number_is_seconds() {
    let scene = Scene::new();
    assert_eq!(
        night(&scene, &["--no-wait", "--at-least", "600"]),
        [0, 75, 75]
    );
}

#[test]
fn time_out_of_range_is_refused() {
    let scene = Scene::new();
    for time in ["99ms", "25h"] {
        let refused = scene.run(&["--at-least", time], "exit 0").finish(SOON);
        assert_eq!(refused.code(), 64, "{refused:?}");
        assert!(refused.err.contains("100 ms to 24 h"), "{refused:?}");
    }
}
