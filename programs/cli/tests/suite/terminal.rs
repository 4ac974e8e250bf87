//! On a terminal: foreground, Ctrl-C, Ctrl-Z, and the state of the terminal afterwards.

use std::time::Duration;

use crate::support::{ALONE, Scene, shell::Shell, until};

// No script here starts processes in a loop: a stop that hits the moment between a shell's `vfork`
// and its child's `exec` stops the child only, and the shell waits for it unstoppably. That is so
// without `dlock` too.

/// Behind a command: prints its exit code. Typed text looks different.
const CODE: &str = r#"; echo "co""de=$?.""#;

fn run(script: &str) -> String {
    format!("$DLOCK run lock --lease 15s -- sh -c '{script}'")
}

#[test]
fn command_is_in_the_foreground_and_the_shell_is_again_afterwards() {
    let scene = Scene::new();
    let mut shell = Shell::start(&scene);
    shell.line(&(run(r#"ps -o pgid=,tpgid= -p $$ > "$T/groups"; exit 5"#) + CODE));
    shell.expect_code(5);
    let groups = std::fs::read_to_string(scene.path("groups")).unwrap();
    let [group, foreground] = groups.split_whitespace().collect::<Vec<_>>()[..] else {
        panic!("{groups:?}")
    };
    assert_eq!(group, foreground);
    shell.line("echo still $((40 + 2))");
    shell.expect("still 42");
}

#[test]
fn what_is_typed_reaches_the_command() {
    let scene = Scene::new();
    let mut shell = Shell::start(&scene);
    shell.line(&(run("cat") + CODE));
    shell.line("one line");
    // Once as an echo, once from cat.
    shell.expect("one line");
    shell.expect("one line");
    shell.control('D');
    shell.expect_code(0);
}

#[test]
fn control_c_is_the_commands() {
    let scene = Scene::new();
    let mut shell = Shell::start(&scene);
    shell.line(&(run(r#"trap "exit 5" INT; echo i""n; sleep 60 & wait"#) + CODE));
    shell.expect("in");
    shell.control('C');
    shell.expect_code(5);
}

#[test]
fn control_c_that_ends_the_command_ends_the_script_around_it() {
    let scene = Scene::new();
    let script = r#"for i in 1 2 3; do
        "$DLOCK" run lock -- sh -c 'echo "run $DLOCK_TOKEN" >> "$T/trace"; exec sleep 60'
        echo went on >> "$T/trace"
    done"#;
    std::fs::write(scene.path("script"), script).unwrap();
    let mut shell = Shell::start(&scene);
    for (interpreter, stdout) in [("bash", ""), ("sh", ""), ("bash", " | cat")] {
        shell.line(&format!("{interpreter} script{stdout}"));
        scene.await_trace("run");
        shell.control('C');
        shell.line(r#"echo "co""de=${PIPESTATUS[0]}.""#);
        shell.expect_code(130);
        assert_eq!(scene.trace().len(), 1, "{interpreter}: {:?}", scene.trace());
        std::fs::remove_file(scene.path("trace")).unwrap();
    }
}

#[test]
fn kill_of_dlock_run_gives_the_shell_its_terminal_back() {
    let scene = Scene::new();
    let mut shell = Shell::start(&scene);
    shell.line(&run(&format!(
        r#"{ALONE} echo in >> "$T/trace"; sleep 60 & wait"#
    )));
    scene.await_trace("in");
    let mut processes = scene.processes();
    processes.retain(|process| process.name == "dlock");
    let [dlock] = &processes[..] else {
        panic!("{:?}", scene.processes())
    };
    crate::support::signal(dlock.id, rustix::process::Signal::KILL);
    until("the end of the command", || {
        scene.nobody_is_alone().then_some(())
    });
    shell.line(&CODE[2..]);
    shell.expect_code(137);
}

#[test]
fn control_z_stops_both_and_fg_continues_both() {
    let scene = Scene::new();
    let mut shell = Shell::start(&scene);
    shell.line(&run(
        r#"echo "leader $$" >> "$T/trace"; trap "exit 6" INT; sleep 60 & wait"#,
    ));
    let leader: i32 = scene.await_trace("leader").parse().unwrap();
    shell.control('Z');
    shell.expect("Stopped");
    assert_eq!(crate::support::seen(leader).unwrap().state, 'T');
    shell.line("jobs -l; fg");
    // Running, and in the foreground again.
    until("the command to go on", || {
        (crate::support::seen(leader)?.state != 'T').then_some(())
    });
    shell.control('C');
    shell.line(&CODE[1..]);
    shell.expect_code(6);
}

#[test]
fn bg_lets_the_command_go_on_until_it_wants_the_terminal() {
    let scene = Scene::new();
    let mut shell = Shell::start(&scene);
    let script =
        r#"mkfifo "$T/go"; echo in >> "$T/trace"; read go < "$T/go"; read line; echo "got: $line""#;
    shell.line(&run(script));
    scene.await_trace("in");
    shell.control('Z');
    shell.expect("Stopped");
    shell.line("bg; echo back$((1))ground");
    shell.expect("back1ground");
    std::fs::write(scene.path("go"), "go\n").unwrap();
    // Reading stops a background job; the shell reports it at its next prompt.
    until("the job to be stopped", || {
        shell.line("jobs");
        std::thread::sleep(Duration::from_millis(100));
        shell.unread().contains("Stopped").then_some(())
    });
    shell.line("fg");
    shell.line("some words");
    shell.expect("got: some words");
    shell.line(&CODE[2..]);
    shell.expect_code(0);
}

#[test]
fn command_that_stays_stopped_is_gone_by_the_end_of_its_lease() {
    let scene = Scene::new();
    let mut shell = Shell::start(&scene);
    shell.line(&run(&format!(
        r#"{ALONE} echo in >> "$T/trace"; trap "" TERM; sleep 60 & wait"#
    )));
    scene.await_trace("in");
    shell.control('Z');
    shell.expect("Stopped");
    let waiter = scene.run(&[], &format!(r#"{ALONE} echo second >> "$T/trace""#));
    assert_eq!(waiter.code(), 0);
    assert_eq!(scene.trace(), ["in", "second"]);
    shell.line("fg");
    shell.line(&CODE[2..]);
    shell.expect_code(80);
}

#[test]
fn modes_are_restored_after_a_command_that_was_killed() {
    let scene = Scene::new();
    let mut shell = Shell::start(&scene);
    shell.line(&(run("stty raw -echo; kill -KILL $$") + CODE));
    shell.expect_code(137);
    shell.line(r#"stty -a > "$T/modes"; echo writ""ten"#);
    shell.expect("written");
    let modes = std::fs::read_to_string(scene.path("modes")).unwrap();
    for mode in ["icanon", "echo", "isig", "opost"] {
        assert!(
            modes.split_whitespace().any(|word| word == mode),
            "{mode}: {modes}"
        );
    }
}

#[test]
fn modes_that_the_command_has_set_in_good_order_stay() {
    let scene = Scene::new();
    let mut shell = Shell::start(&scene);
    shell.line(&(run("stty -tostop ixany") + CODE));
    shell.expect_code(0);
    shell.line(r#"stty -a > "$T/modes"; echo writ""ten"#);
    shell.expect("written");
    assert!(
        std::fs::read_to_string(scene.path("modes"))
            .unwrap()
            .contains(" ixany")
    );
}

#[test]
fn shell_inside_has_jobs_of_its_own() {
    let scene = Scene::new();
    let mut shell = Shell::start(&scene);
    shell.line(&format!(
        r#"PS1="inn""er> " $DLOCK run lock -- bash --norc --noediting -i{CODE}"#
    ));
    shell.expect("inner> ");
    shell.line("sleep 60");
    until("the sleep", || {
        scene
            .processes()
            .iter()
            .any(|process| process.name == "sleep")
            .then_some(())
    });
    shell.control('C');
    shell.expect("inner> ");
    shell.line("sleep 61");
    until("the sleep", || {
        scene
            .processes()
            .iter()
            .any(|process| process.name == "sleep")
            .then_some(())
    });
    shell.control('Z');
    shell.expect("Stopped");
    shell.line("kill %1; exit 9");
    shell.line("exit 9");
    shell.expect_code(9);
}

#[test]
fn pipeline_shares_the_terminal() {
    let scene = Scene::new();
    let mut shell = Shell::start(&scene);
    let piped = |script: &str| run(script) + r#" | cat; echo "co""de=${PIPESTATUS[0]}.""#;
    // It gets the terminal when it reads.
    shell.line(&piped(r#"read line; echo "got: $line"; exit 4"#));
    shell.line("some words");
    shell.expect("got: some words");
    shell.expect_code(4);
    // Keys that make signals reach it although it is in the background.
    shell.line(&piped(
        r#"trap "exit 5" INT; echo in >> "$T/trace"; sleep 60 & wait"#,
    ));
    scene.await_trace("in");
    shell.control('Z');
    shell.expect("Stopped");
    shell.line("fg");
    shell.expect("run lock");
    until("the command to go on", || {
        scene
            .processes()
            .iter()
            .all(|process| process.state != 'T')
            .then_some(())
    });
    shell.control('C');
    until("the end", || {
        scene
            .finish(["status", "lock"])
            .out
            .contains("released")
            .then_some(())
    });
}

#[test]
fn waiting_shows_the_holder_and_ends_by_control_c() {
    let scene = Scene::new();
    let holder = scene.run(
        &["--owner", "somebody else"],
        r#"echo in >> "$T/trace"; sleep 60"#,
    );
    scene.await_trace("in");
    let mut shell = Shell::start(&scene);
    shell.line(&(run("touch never") + CODE));
    shell.expect("waiting for \"lock\", held by somebody else since 2");
    shell.expect("left unless renewed");
    shell.control('Z');
    shell.expect("Stopped");
    shell.line("fg");
    shell.expect("waiting for \"lock\", held by somebody else since 2");
    shell.control('C');
    until("the shell", || {
        shell.line(&CODE[2..]);
        std::thread::sleep(Duration::from_millis(200));
        shell.unread().contains("code=").then_some(())
    });
    shell.expect_code(130);
    drop(holder);
}

#[test]
fn closed_terminal_ends_the_command() {
    let scene = Scene::new();
    let mut shell = Shell::start(&scene);
    shell.line(&run(&format!(
        r#"{ALONE} echo in >> "$T/trace"; exec sleep 60"#
    )));
    scene.await_trace("in");
    // When the session's leader goes, so does the terminal.
    drop(shell);
    until("the end of everything", || {
        scene.processes().is_empty().then_some(())
    });
    assert!(
        scene.status().contains("\"released\""),
        "{}",
        scene.status()
    );
}
