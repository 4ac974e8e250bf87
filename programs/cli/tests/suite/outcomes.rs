//! The command's environment, and the consequences of its end.

use std::{process::Stdio, time::Duration};

use crate::support::Scene;

#[test]
fn exit_code_of_the_command_passes_through() {
    let scene = Scene::new();
    for code in [0, 1, 42, 75, 80, 255] {
        assert_eq!(scene.run(&[], &format!("exit {code}")).code(), code);
    }
}

#[test]
fn signal_that_ends_the_command_becomes_128_and_its_number() {
    let scene = Scene::new();
    for (name, number) in [
        ("HUP", 1),
        ("INT", 2),
        ("KILL", 9),
        ("USR1", 10),
        ("SEGV", 11),
        ("TERM", 15),
    ] {
        assert_eq!(
            scene
                .run(&[], &format!("ulimit -c 0; kill -{name} $$; sleep 30"))
                .code(),
            128 + number,
            "{name}"
        );
    }
}

#[test]
fn missing_command_is_127_and_one_that_can_not_be_executed_126() {
    let scene = Scene::new();
    std::fs::write(scene.path("plain"), "not a program").unwrap();
    let plain = scene.path("plain").to_str().unwrap().to_owned();
    for (command, code) in [
        ("no-such-command-anywhere", 127),
        ("/no/such/file", 127),
        ("", 127),
        (plain.as_str(), 126),
        ("/", 126),
    ] {
        let finished = scene.finish(["run", "lock", "--", command]);
        assert_eq!(finished.code(), code, "{command:?}: {finished:?}");
        assert!(
            finished.err.contains(&format!("{command:?}")),
            "{finished:?}"
        );
    }
}

#[test]
fn command_finds_name_token_and_owner_in_its_environment() {
    let scene = Scene::new();
    let finished = scene.finish([
        "run",
        "näme with spaces",
        "--owner",
        "me & you",
        "--",
        "sh",
        "-c",
        r#"printf '%s|%s|%s|%s' "$DLOCK_NAME" "$DLOCK_OWNER" "$DLOCK_TOKEN" "$T""#,
    ]);
    assert_eq!(finished.code(), 0, "{finished:?}");
    let [name, owner, token, inherited] = finished.out.split('|').collect::<Vec<_>>()[..] else {
        panic!("{finished:?}");
    };
    assert_eq!((name, owner), ("näme with spaces", "me & you"));
    assert_eq!(inherited, scene.folder().to_str().unwrap());
    let status = scene.finish(["status", "näme with spaces", "--json"]).out;
    assert!(status.contains(&format!("\"token\": {token},")), "{status}");
}

#[test]
fn owner_is_host_and_process_by_default() {
    let scene = Scene::new();
    let process = scene.run(&[], r#"printf '%s' "$DLOCK_OWNER""#);
    let id = process.id();
    let finished = process.finish(Duration::from_secs(30));
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    assert_eq!(finished.out, format!("{}:{id}", host.trim()));
}

#[test]
fn standard_input_is_passed_on() {
    let scene = Scene::new();
    let mut command = std::process::Command::new("sh");
    scene.adopt(&mut command);
    let pipeline = r#"seq 100000 | "$DLOCK" run lock -- sh -c 'cat; echo end'"#;
    command.args(["-c", pipeline]);
    let finished = scene.start(command).finish(Duration::from_secs(60));
    let numbers: String = (1..=100_000).map(|n| format!("{n}\n")).collect();
    assert_eq!(finished.code(), 0);
    assert!(finished.out == numbers + "end\n", "{}", finished.out.len());
}

#[test]
fn arguments_that_are_not_text_arrive_unchanged() {
    use std::os::unix::ffi::OsStrExt;
    let scene = Scene::new();
    let mut command = scene.dlock(["run", "lock", "--", "printf", "%s"]);
    command
        .arg(std::ffi::OsStr::from_bytes(b"a\xff\xfe b"))
        .stdout(Stdio::piped());
    let output = command.output().unwrap();
    assert_eq!(output.stdout, b"a\xff\xfe b", "{output:?}");
}

#[test]
fn nothing_of_dlock_is_open_in_the_command() {
    let scene = Scene::new();
    // `ls` itself has the directory open.
    let finished = scene
        .run(&[], "ls /proc/self/fd | wc -l")
        .finish(Duration::from_secs(30));
    let plain = std::process::Command::new("sh")
        .args(["-c", "ls /proc/self/fd | wc -l"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(
        finished.out.trim(),
        String::from_utf8(plain.stdout).unwrap().trim()
    );
}

#[test]
fn no_signal_is_blocked_or_ignored_in_the_command() {
    let scene = Scene::new();
    // No shell in between: some set the mask themselves.
    let grep = ["grep", "-E", "SigBlk|SigIgn", "/proc/self/status"];
    let run = [&["run", "lock", "--"], &grep[..]].concat();
    let plain = std::process::Command::new("env")
        .arg("--default-signal")
        .args(grep)
        .output()
        .unwrap();
    assert_eq!(
        scene.finish(run).out,
        String::from_utf8(plain.stdout).unwrap()
    );
}

#[test]
fn command_leads_its_own_process_group() {
    let scene = Scene::new();
    let finished = scene
        .run(&[], r#"ps -o pgid= -p $$; echo $$"#)
        .finish(Duration::from_secs(30));
    let [group, process] = finished.out.split_whitespace().collect::<Vec<_>>()[..] else {
        panic!("{finished:?}")
    };
    assert_eq!(group, process);
}

#[test]
fn what_the_command_leaves_in_its_group_ends_before_the_release() {
    let scene = Scene::new();
    // One that ignores TERM, and one that notes when it comes, next to the time at which the
    // command ended.
    let holder = scene.run(
        &["--lease", "60s", "--grace", "5s"],
        r#"exec 9>> "$T/critical"; flock -n 9
        (trap '' TERM; while :; do sleep 0.1; done) &
        (trap 'cut -d. -f1,2 /proc/uptime >> "$T/trace"; exit' TERM; echo up > "$T/up"; while :; do sleep 0.05; done) &
        until [ -e "$T/up" ]; do sleep 0.05; done
        cut -d. -f1,2 /proc/uptime >> "$T/trace"; exit 5"#,
    );
    scene.await_trace("");
    let waiter = scene.run(&[], r#"flock -n "$T/critical" echo in || echo OVERLAP"#);
    assert_eq!(holder.code(), 5);
    let waiter = waiter.finish(Duration::from_secs(60));
    assert_eq!((waiter.code(), &*waiter.out), (0, "in\n"));
    let uptime = |line: &String| line.split(' ').next().unwrap().parse::<f64>().unwrap();
    let [ended, asked] = scene.trace().iter().map(uptime).collect::<Vec<_>>()[..] else {
        panic!("{:?}", scene.trace());
    };
    // They have a fifth of a second to end on their own. Both are rounded down to a hundredth.
    assert!(asked - ended >= 0.19, "{asked} and {ended}");
}
