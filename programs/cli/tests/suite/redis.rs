//! Locks in a real Redis server.

mod cluster;
mod tls;

use std::{io::Write, net::TcpStream, thread, time::Duration};

use dlock_test_servers::{Service, redis::redis};

use crate::support::{
    Scene, at,
    looking::store_is_found_wrong,
    stores::{
        PURGE, RUN, SECRET, SETUP, STATUS, TRY, all_end_without_an_answer, assert_all_end,
        assert_ended, block_on, command_ends_before_its_lease_when_the_store_is_gone, freeze,
        prefixes_are_stores_of_their_own, release_wakes_a_waiter_that_listens,
        secret_is_told_to_nobody, set_up, two_setups_at_once_disturb_nobody,
    },
    stories::shared_stories,
    tickets::with_ticket,
    until,
};

fn start() -> Service {
    started(&[])
}

fn started(settings: &[&str]) -> Service {
    block_on(redis(&[&["--requirepass", SECRET], settings].concat()))
        .unwrap_or_else(|error| panic!("no redis-server; scripts/test installs it: {error}"))
}

/// A scene on this server; nothing has to be set up.
fn scene(service: &Service) -> Scene {
    at(format!(
        "redis://:{SECRET}@127.0.0.1:{}",
        service.place().port()
    ))
}

shared_stories!(scene(&start()), clock: true);

#[test]
fn waiter_tells_of_a_silent_store_and_then_of_the_holder() {
    let mut service = start();
    let scene = scene(&service);
    let holder = scene.run(
        &[],
        r#"echo in >> "$T/trace"; until [ -e "$T/go" ]; do sleep 0.05; done"#,
    );
    scene.await_trace("in");
    freeze(&mut service);
    let mut waiter = scene.run(&[], "true");
    waiter.await_err("waiting for \"lock\": the lock's store could not be reached");
    service.signal("CONT").unwrap();
    waiter.await_err("waiting for \"lock\", held by ");
    std::fs::write(scene.path("go"), "").unwrap();
    assert_ended(&holder.finish(Duration::from_secs(30)), 0, "");
    assert_ended(&waiter.finish(Duration::from_secs(30)), 0, "");
}

/// A read gets a sixth of the lease, and the acquire itself a third.
#[test]
fn run_that_does_not_wait_does_not_say_so_of_a_silent_store() {
    let mut service = start();
    let scene = scene(&service);
    freeze(&mut service);
    let asked = scene.finish(TRY);
    assert_ended(&asked, 69, "does not answer");
    let silent = "asking for \"lock\": the lock's store could not be reached";
    assert!(asked.err.contains(silent), "{asked:?}");
    assert!(!asked.err.contains("waiting"), "{asked:?}");
    service.signal("CONT").unwrap();
}

#[test]
fn candidate_tells_who_leads_when_a_silent_store_answers_after_all() {
    let mut service = start();
    let scene = scene(&service);
    let candidate = |id: &str, lease: &str| {
        let mut command = scene.dlock(["elect", "job", "--lease", lease, "--id", id]);
        command.args(["--exec", "sleep", "600"]);
        scene.start(command)
    };
    let mut first = candidate("first", "60s");
    first.await_err("leading \"job\" with token ");
    freeze(&mut service);
    let mut second = candidate("second", "12s");
    second.await_err("following \"job\", and the store does not answer");
    service.signal("CONT").unwrap();
    second.await_err("following \"job\", \"first\" leads");
}

#[test]
fn waiter_that_listens_is_woken() {
    release_wakes_a_waiter_that_listens(&scene(&start()));
}

#[test]
fn password_is_told_to_nobody() {
    secret_is_told_to_nobody(&scene(&start()));
}

#[test]
fn setup_only_looks() {
    set_up(&scene(&start()));
}

#[test]
fn two_setups_at_once_leave_holders_their_leases() {
    two_setups_at_once_disturb_nobody(&scene(&start()), || {});
}

#[test]
fn wrong_password_is_78() {
    let service = start();
    let port = service.place().port();
    let all = &[TRY, RUN, STATUS, SETUP][..];
    for credentials in [
        format!(":wrong-{SECRET}@"),
        format!("nobody:{SECRET}@"),
        String::new(),
    ] {
        let scene = at(format!("redis://{credentials}127.0.0.1:{port}"));
        assert_all_end(&scene, all, 78, &["credentials"]);
    }
}

#[test]
fn key_of_another_program_is_one_line_of_the_status() {
    let service = start();
    let scene = scene(&service);
    assert_ended(&scene.finish(RUN), 0, "");
    let mut server = TcpStream::connect(("127.0.0.1", service.place().port())).unwrap();
    write!(server, "AUTH {SECRET}\r\nSET dlock:{{alien}} nonsense\r\n").unwrap();
    let status = until("the key", || {
        let status = scene.finish(STATUS);
        (status.code() == 78).then_some(status)
    });
    assert_ended(&status, 78, "1 record of the store");
    assert!(status.out.contains("alien  unreadable  "), "{status:?}");
    assert!(status.out.contains("lock   released "), "{status:?}");
}

#[test]
fn databases_of_one_server_are_stores_of_their_own() {
    let service = start();
    let port = service.place().port();
    let number = |number: u32| at(format!("redis://:{SECRET}@127.0.0.1:{port}/{number}"));
    assert_ended(&number(3).finish(RUN), 0, "");
    assert!(number(3).finish(STATUS).out.contains("released"));
    assert_eq!(number(0).finish(STATUS).out, "no locks\n");
}

#[test]
fn what_the_server_refuses_is_named() {
    let service = start();
    let port = service.place().port();
    let all = &[TRY, STATUS, PURGE, SETUP][..];
    let nowhere = at(format!("redis://:{SECRET}@127.0.0.1:{port}/99"));
    assert_all_end(&nowhere, all, 78, &["no database of this number"]);
    let mut server = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let user = format!("few on >{SECRET} ~dlock:* +@all -select -scan");
    write!(server, "AUTH {SECRET}\r\nACL SETUSER {user}\r\n").unwrap();
    let few = |end: &str| at(format!("redis://few:{SECRET}@127.0.0.1:{port}{end}"));
    until("the user", || {
        (few("").finish(TRY).code() == 0).then_some(())
    });
    let words = [
        "to run the 'select' command",
        "may not run select; a lock takes the commands",
    ];
    assert_all_end(&few("/1"), all, 78, &words);
    assert_all_end(
        &few(""),
        &[STATUS, PURGE],
        78,
        &["this Redis user may not run"],
    );
    let renamed = started(&["--rename-command", "EVALSHA", ""]);
    let words = ["unknown command 'EVALSHA'", "renamed or disabled"];
    assert_all_end(&scene(&renamed), all, 78, &words);
}

#[test]
fn prefixes_of_one_database_are_stores_of_their_own() {
    let service = start();
    let port = service.place().port();
    let on = |query: &str| at(format!("redis://:{SECRET}@127.0.0.1:{port}{query}"));
    prefixes_are_stores_of_their_own(&on("?prefix=ours"), &on("/0?prefix=theirs"));
    prefixes_are_stores_of_their_own(&on("/1?prefix=ours&protocol=resp3"), &on("/1"));
}

#[test]
fn server_that_may_drop_locks_is_78_unless_it_is_allowed_to() {
    let service = started(&["--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"]);
    let port = service.place().port();
    let on = |query: &str| at(format!("redis://:{SECRET}@127.0.0.1:{port}{query}"));
    for query in ["", "?allow_eviction=false"] {
        assert_all_end(&on(query), &[TRY], 78, &["the setting allow_eviction"]);
    }
    assert_ended(&on("?allow_eviction=true").finish(TRY), 0, "");
}

#[test]
fn server_that_dies_ends_the_command_and_newcomers_are_69() {
    let mut service = start();
    let scene = scene(&service);
    command_ends_before_its_lease_when_the_store_is_gone(&scene, || {
        service.signal("KILL").unwrap();
    });
}

#[test]
fn server_that_falls_silent_is_69_in_bounded_time() {
    let mut service = start();
    let scene = scene(&service);
    freeze(&mut service);
    all_end_without_an_answer(&scene);
    store_is_found_wrong(&scene, 69, "does not answer");
}

/// A call that the store did not answer: its result is unknown, and a repeat finds it out.
#[test]
fn ticket_of_a_silent_server_is_69_and_then_as_good_as_before() {
    let mut service = start();
    let scene = scene(&service);
    let acquired = scene.finish(["acquire", "lock", "--lease", "1h"]);
    assert_ended(&acquired, 0, "");
    let ticket = acquired.out.trim();
    freeze(&mut service);
    let both =
        [["renew", ticket], ["give-back", ticket]].map(|words| scene.start(scene.dlock(words)));
    for process in both {
        let finished = process.finish(Duration::from_secs(60));
        assert_ended(&finished, 69, "it is not known whether");
        assert_ended(&finished, 69, "does not answer");
    }
    service.signal("CONT").unwrap();
    // The requests that were sent may arrive now.
    assert_ended(&with_ticket(&scene, ticket, &["give-back"]), 0, "");
    assert_ended(&with_ticket(&scene, ticket, &["renew"]), 80, "has ended:");
    assert_ended(&scene.finish(TRY), 0, "");
}

#[test]
fn server_that_refuses_for_now_is_69_and_says_why() {
    let wait = &["run", "lock", "--wait", "7s", "--", "true"][..];
    let replica = ["--replicaof", "127.0.0.1", "1"];
    let cut_off = [&replica[..], &["--replica-serve-stale-data", "no"]].concat();
    let without = "a replica without its primary";
    let refuses = |settings: &[&str], subcommands: &[&[&str]], why| {
        let service = started(settings);
        let scene = scene(&service);
        assert_all_end(&scene, subcommands, 69, &[why, "refuses for now"]);
    };
    let few = ["--min-replicas-to-write", "1"];
    thread::scope(|all| {
        all.spawn(|| refuses(&few, &[TRY, wait], "too few replicas"));
        all.spawn(|| refuses(&["--maxmemory", "1"], &[TRY], "out of memory"));
        all.spawn(|| refuses(&replica, &[TRY], "is a replica"));
        all.spawn(|| refuses(&cut_off, &[TRY, STATUS, SETUP], without));
    });
}

#[test]
fn server_that_runs_an_endless_script_is_69_and_says_so() {
    let service = started(&["--lua-time-limit", "50"]);
    let scene = scene(&service);
    let mut script = TcpStream::connect(("127.0.0.1", service.place().port())).unwrap();
    write!(script, "AUTH {SECRET}\r\nEVAL \"while true do end\" 0\r\n").unwrap();
    until("the server to be busy", || {
        let finished = scene.finish(STATUS);
        (finished.code() == 69).then_some(())
    });
    assert_all_end(&scene, &[TRY, STATUS, SETUP], 69, &["refuses for now"]);
    assert_all_end(&scene, &[STATUS], 69, &["runs a script that does not end"]);
    let mut candidate = scene.start(scene.dlock(["elect", "job", "--exec", "sleep", "600"]));
    candidate.await_err("the store refuses for now");
    let mut waiter = scene.run(&[], "true");
    waiter.await_err("could not be reached, or refuses for now");
}

#[test]
fn url_in_the_wrong_place_is_not_repeated_with_its_password() {
    let service = start();
    let scene = scene(&service);
    let url = format!("redis://:{SECRET}@127.0.0.1");
    let misplaced = scene.finish(["run", "lock", &url, "--", "true"]);
    assert_ended(&misplaced, 64, "redis://***@127.0.0.1");
    let name = scene.finish(["status", &url]);
    assert_ended(&name, 1, "redis://***@127.0.0.1");
    let help = scene.finish(["setup", "--help"]);
    assert!(
        help.out.contains("redis://[USER:PASSWORD@]HOST"),
        "{help:?}"
    );
    // Not even where it belongs, if it can't be read.
    for store in [&url.replace("redis", "radis"), &url.replace('@', "/@")] {
        let refused = scene.finish(["status", "--store", store]);
        assert_ended(&refused, 78, "not a store");
    }
}
