//! `dlock completions` in real shells, and man(1)'s rendering of the pages of `dlock man`.
#![expect(clippy::unwrap_used, reason = "in a test, that is how it fails")]

use std::{
    fs,
    process::{Command, Stdio},
    time::Duration,
};

use crate::support::{Finished, Scene, stores::assert_ended};

const SOON: Duration = Duration::from_secs(60);

/// The script, in the scene's folder.
fn script(scene: &Scene, shell: &str, file: &str) {
    let printed = scene.finish(["completions", shell]);
    assert_ended(&printed, 0, "");
    fs::write(scene.path(file), printed.out).unwrap();
}

/// The output of a program of this machine.
#[track_caller]
fn ask(scene: &Scene, program: &str, arguments: &[&str]) -> Finished {
    let mut command = Command::new(program);
    command.args(arguments);
    scene.adopt(&mut command);
    // Wide enough for the longest word.
    command
        .env("TERM", "dumb")
        .env("MANWIDTH", "300")
        .stdin(Stdio::null());
    let is_there = Command::new(program).arg("--version").output().is_ok();
    assert!(is_there, "no {program}; scripts/test installs it");
    let finished = scene.start(command).finish(SOON);
    assert_eq!((finished.code(), &*finished.err), (0, ""), "{finished:?}");
    finished
}

#[test]
fn bash_completes_commands_and_options() {
    let scene = Scene::new();
    script(&scene, "bash", "dlock.bash");
    let complete = |words: &str, last: usize| {
        let line = format!(
            r#"set -eu; . "$T/dlock.bash"; COMP_WORDS=({words}); COMP_CWORD={last}
            complete -p dlock > /dev/null
            _dlock dlock "${{COMP_WORDS[$COMP_CWORD]}}" "${{COMP_WORDS[$COMP_CWORD-1]}}"; echo "${{COMPREPLY[*]}}""#
        );
        ask(&scene, "bash", &["--norc", "-c", &line]).out
    };
    assert_eq!(complete("dlock re", 1), "renew release\n");
    assert_eq!(complete("dlock run --no", 2), "--no-wait\n");
    assert_eq!(complete("dlock tasks en", 2), "enqueue\n");
}

#[test]
fn zsh_takes_the_script() {
    let scene = Scene::new();
    script(&scene, "zsh", "_dlock");
    let line = r#"fpath=("$T" $fpath); autoload -Uz compinit; compinit -u -D; print -r -- $_comps[dlock]
        autoload +X _dlock && whence -w _dlock"#;
    let told = ask(&scene, "zsh", &["-f", "-c", line]);
    assert_eq!(told.out, "_dlock\n_dlock: function\n");
}

#[test]
fn fish_completes_commands_and_options() {
    let scene = Scene::new();
    script(&scene, "fish", "dlock.fish");
    let complete = |line: &str| {
        let line = format!(r#"source "$T/dlock.fish"; complete -C "{line}""#);
        let words = ask(&scene, "fish", &["--no-config", "-c", &line]).out;
        let mut words: Vec<String> = words
            .lines()
            .filter_map(|line| Some(line.split('\t').next()?.to_owned()))
            .collect();
        words.sort();
        words
    };
    assert_eq!(complete("dlock re"), ["release", "renew"]);
    assert!(complete("dlock run --no").contains(&"--no-wait".to_owned()));
}

#[test]
fn every_command_has_a_page_that_man_renders() {
    let scene = Scene::new();
    let folder = scene.path("man");
    fs::create_dir(&folder).unwrap();
    let text = folder.to_str().unwrap();
    assert_ended(&scene.finish(["man", text]), 0, "");
    let help = scene.finish(["--help"]).out;
    let commands = help
        .lines()
        .skip_while(|line| !line.starts_with("Commands:"));
    let commands = commands.skip(1).take_while(|line| line.starts_with("  "));
    let commands: Vec<&str> = commands
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(commands.contains(&"run") && commands.len() > 10, "{help}");
    for command in commands {
        let page = folder.join(format!("dlock-{command}.1"));
        let page = page.to_str().unwrap();
        let shown = ask(&scene, "man", &["--warnings", "-P", "cat", "-l", page]).out;
        assert!(shown.contains(&format!("dlock-{command}")), "{shown}");
        assert!(shown.contains("--quiet"), "{shown}");
    }
    let run = folder.join("dlock-run.1");
    let shown = ask(&scene, "man", &["-P", "cat", "-l", run.to_str().unwrap()]).out;
    for line in ["DLOCK_TOKEN", "Exit codes:", "the command was not found"] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert_ended(
        &scene.finish(["man", "/no/such/folder"]),
        74,
        "/no/such/folder",
    );
}
