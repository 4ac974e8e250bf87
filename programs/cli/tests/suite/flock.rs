//! The options that `dlock run` shares with flock(1), and `--quiet`.

use std::{process::Command, time::Duration};

use crate::support::{Scene, Stopwatch, stores::assert_ended};

const SOON: Duration = Duration::from_secs(60);

fn held(scene: &Scene) {
    let acquired = scene.finish(["acquire", "lock", "--lease", "1h", "--owner", "web 1"]);
    assert_ended(&acquired, 0, "");
}

/// The same words after `flock FILE` and `dlock run NAME`, with a free lock and a held one: the same codes, and the
/// same output.
#[test]
fn short_options_mean_what_they_mean_to_flock() {
    let scene = Scene::new();
    let flock = |file: &str, words: &[&str]| {
        let mut command = Command::new("flock");
        // Options of flock come before the file.
        let (options, rest) = words.split_at(words.len() - 2);
        scene.adopt(command.args(options).arg(scene.path(file)).args(rest));
        scene.start(command).finish(SOON)
    };
    held(&scene);
    let file = std::fs::File::create(scene.path("held")).unwrap();
    file.lock().unwrap();
    // Long enough for a busy machine to find a free one.
    for (name, file, seconds) in [("lock", "held", "1.5"), ("free", "free", "60.5")] {
        for words in [
            &["-n", "-E", "9", "-c", "echo hello; exit 3"][..],
            &["-E", "77", "--nonblock", "-c", "echo hello"],
            &["-w", seconds, "-E", "0", "-c", "echo hello; exit 3"],
            &["--timeout", seconds, "-E", "255", "-c", "echo hello"],
        ] {
            let ours = scene.finish([&["run", name], words].concat());
            let theirs = flock(file, words);
            assert_eq!(
                (ours.code(), &ours.out),
                (theirs.code(), &theirs.out),
                "{words:?}"
            );
        }
    }
}

#[test]
fn seconds_are_waited_for_and_no_longer() {
    let scene = Scene::new();
    held(&scene);
    let watch = Stopwatch::start();
    let refused = scene.finish(["run", "lock", "-w", "7.5", "-c", "touch \"$T/never\""]);
    assert_ended(&refused, 75, "held by web 1");
    let waited = watch.elapsed();
    assert!(waited >= Duration::from_millis(7500), "{waited:?}");
    assert!(!scene.path("never").exists());
}

#[test]
fn line_is_run_by_the_users_shell() {
    let scene = Scene::new();
    let with = |shell: &str| {
        let mut command = scene.dlock(["run", "lock", "-c", "echo $0 \"$DLOCK_NAME\""]);
        command.env("SHELL", shell);
        scene.start(command).finish(SOON).out
    };
    assert_eq!(with("/bin/bash"), "/bin/bash lock\n");
    assert_eq!(with(""), "/bin/sh lock\n");
    assert_ended(&scene.finish(["run", "lock", "-c", "x", "--", "y"]), 64, "");
}

#[test]
fn quiet_says_only_what_went_wrong() {
    let scene = Scene::new();
    held(&scene);
    for words in [&["-n"][..], &["-w", "3"]] {
        let refused = scene.finish([&["run", "lock", "-q"], words, &["--", "true"]].concat());
        assert_eq!((refused.code(), &*refused.err), (75, ""), "{words:?}");
    }
    let asked = scene.finish(["--quiet", "ask", "lock"]);
    assert_eq!((asked.code(), &*asked.out, &*asked.err), (0, "", ""));
    let nobody = scene.finish(["ask", "other", "--quiet"]);
    assert_eq!((nobody.code(), &*nobody.err), (1, ""));
    let wrong = scene.finish(["run", "other", "-q", "--", "./no-such-command"]);
    assert_ended(&wrong, 127, "was not found");
}
