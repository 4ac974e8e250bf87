//! `dlock status`.
#![expect(clippy::unwrap_used, reason = "in a test, that is how it fails")]

use crate::support::{Scene, stores::prefixes_are_stores_of_their_own};
use rustix::process::Signal;
use serde_json::Value;

fn json(scene: &Scene, arguments: &[&str]) -> Value {
    let finished = scene.finish([&["status", "--json"], arguments].concat());
    assert_eq!(finished.code(), 0, "{finished:?}");
    serde_json::from_str(&finished.out).unwrap()
}

#[test]
fn record_is_held_then_released_and_keeps_its_token() {
    let scene = Scene::new();
    let holder = scene.run(
        &["--owner", "web 1"],
        r#"echo "token $DLOCK_TOKEN" >> "$T/trace"; cat"#,
    );
    let token: u64 = scene.await_trace("token").parse().unwrap();
    let released = json(&scene, &["lock"]);
    assert_eq!(released["token"], token);
    assert_eq!(holder.code(), 0);

    let holder = scene.run(
        &["--owner", "web 1"],
        r#"echo "second $DLOCK_TOKEN" >> "$T/trace"; sleep 60"#,
    );
    let token: u64 = scene.await_trace("second").parse().unwrap();
    let held = json(&scene, &["lock"]);
    assert_eq!(
        (&held["name"], &held["owner"]),
        (&"lock".into(), &"web 1".into())
    );
    assert_eq!(
        (&held["state"], &held["token"], &held["lease_ms"]),
        (&"held".into(), &token.into(), &15_000.into())
    );
    assert!(
        held["remaining_ms"]
            .as_u64()
            .is_some_and(|left| left > 0 && left <= 15_000),
        "{held}"
    );
    holder.signal(Signal::TERM);
    assert_eq!(holder.code(), 143);
    let released = json(&scene, &["lock"]);
    assert_eq!(
        (&released["state"], &released["token"]),
        (&"released".into(), &token.into())
    );
    assert_eq!(released["remaining_ms"], Value::Null);
}

#[test]
fn lease_of_a_dead_holder_is_shown_as_expired() {
    let scene = Scene::new();
    assert_eq!(scene.finish(["acquire", "lock", "--lease", "1h"]).code(), 0);
    scene.end_lease("lock");
    assert_eq!(json(&scene, &["lock"])["state"], "expired");
    let table = scene.finish(["status"]).out;
    assert!(table.contains(" expired "), "{table}");
}

#[test]
fn all_locks_are_listed_in_order_and_aligned() {
    let scene = Scene::new();
    let names: Vec<String> = (0..120).map(|n| format!("job-{n:03}")).collect();
    assert_eq!(scene.finish(["run", "job-000", "--", "true"]).code(), 0);
    let store = scene.open_store();
    // More than one page of the list.
    let columns: String = store
        .query_row(
            "SELECT group_concat(name) FROM pragma_table_info('lock') WHERE name <> 'name'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    for name in &names[1..] {
        let copy =
            format!("INSERT INTO lock (name, {columns}) SELECT ?1, {columns} FROM lock LIMIT 1");
        store.execute(&copy, [name]).unwrap();
    }
    drop(store);
    let listed = json(&scene, &[]);
    let listed: Vec<&str> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["name"].as_str().unwrap())
        .collect();
    assert_eq!(listed, names);
    let table = scene.finish(["status"]).out;
    assert_eq!(table.lines().count(), 121, "{table}");
    assert!(table.starts_with("NAME     STATE"), "{table}");
}

/// More than one page, too.
#[test]
fn only_what_keeps_others_out_and_matches_is_shown_as_held() {
    let scene = Scene::new();
    let script = r#"echo in >> "$T/trace"; sleep 600"#;
    let _holder = scene.run(&["--lease", "1h"], script);
    scene.await_trace("in");
    let store = scene.open_store();
    let columns =
        "uuid, renewals, owner, since, token, duration, asked, wanted, data, boot, expiry";
    let copy = |names: &str, count: usize, released: usize| {
        let copy = format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
            INSERT INTO lock (prefix, name, released, {columns})
            SELECT prefix, '{names}' || i, {released}, {columns} FROM lock, n WHERE name = 'lock'"
        );
        assert_eq!(store.execute(&copy, []).unwrap(), count);
    };
    copy("job-", 6000, 1);
    copy("zoo-", 12, 0);
    let closed = ["run", "shut", "--no-wait", "--at-least", "1h", "--", "true"];
    assert_eq!(scene.finish(closed).code(), 0);
    let held = |arguments: &[&str]| {
        let rows = json(&scene, &[&["--held"], arguments].concat());
        let names = rows.as_array().unwrap().iter();
        let names: Vec<String> = names
            .map(|row| row["name"].as_str().unwrap().to_owned())
            .collect();
        names
    };
    assert_eq!(held(&[]).len(), 14);
    assert_eq!(held(&["zoo-1*"]), ["zoo-1", "zoo-10", "zoo-11", "zoo-12"]);
    assert_eq!(held(&["?oo-?"]).len(), 9);
    assert_eq!(held(&["lock"]), ["lock"]);
    assert_eq!(held(&["shut"]), ["shut"]);
    assert!(held(&["job-*"]).is_empty());
    assert_eq!(json(&scene, &[]).as_array().unwrap().len(), 6014);
    let table = scene.finish(["status"]).out;
    assert_eq!(table.lines().count(), 6015);
    assert_eq!(scene.finish(["status", "lock", "--held"]).code(), 64);
    assert_eq!(scene.finish(["status", "--held", "x*"]).out, "no locks\n");
}

/// A name of a kilobyte does not widen every line to a kilobyte. Programs get it unchanged.
#[test]
fn long_name_is_shortened_in_the_table_only() {
    let scene = Scene::new();
    let long = format!("start/{}/end", "x".repeat(1000));
    for name in ["short", &long] {
        assert_eq!(scene.finish(["run", name, "--", "true"]).code(), 0);
    }
    let table = scene.finish(["status"]).out;
    assert!(table.lines().all(|line| line.len() < 200), "{table}");
    let line = table.lines().find(|line| line.starts_with("start/x"));
    assert!(line.is_some_and(|line| line.contains("x/end  ")), "{table}");
    assert_eq!(json(&scene, &[&long])["name"], long);
}

#[test]
fn name_that_looks_like_a_pattern_is_pointed_to_the_option_for_patterns() {
    let scene = Scene::new();
    assert_eq!(scene.finish(["run", "nightly", "--", "true"]).code(), 0);
    for pattern in ["night*", "nightl?"] {
        let unknown = scene.finish(["status", pattern]);
        assert_eq!(unknown.code(), 1, "{unknown:?}");
        let advice = format!("--held '{pattern}'");
        assert!(unknown.err.contains(&advice), "{unknown:?}");
    }
    let plain = scene.finish(["status", "weekly"]);
    assert!(!plain.err.contains("--held"), "{plain:?}");
    // A name may have a star.
    assert_eq!(scene.finish(["run", "night*", "--", "true"]).code(), 0);
    assert_eq!(scene.finish(["status", "night*"]).code(), 0);
}

#[test]
fn unknown_name_is_1_and_creates_nothing() {
    let scene = Scene::new();
    let before = scene.finish([
        "status",
        "--store",
        &format!("sqlite:{}", scene.path("typo.db").display()),
    ]);
    assert_eq!(before.code(), 78, "{before:?}");
    assert!(
        before.err.contains("typo.db") && !scene.path("typo.db").exists(),
        "{before:?}"
    );
    assert_eq!(scene.finish(["run", "lock", "--", "true"]).code(), 0);
    for arguments in [&["status", "unknown"][..], &["status", "unknown", "--json"]] {
        let unknown = scene.finish(arguments);
        assert_eq!(
            (unknown.code(), unknown.out.as_str()),
            (1, ""),
            "{unknown:?}"
        );
        assert!(unknown.err.contains("\"unknown\""), "{unknown:?}");
    }
    assert_eq!(json(&scene, &[]).as_array().unwrap().len(), 1);
}

#[test]
fn default_store_is_in_the_state_directory_and_only_its_users() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::new();
    let start = |words: &[&str], state: Option<&str>| {
        let mut command = scene.dlock(words);
        command.env_remove("DLOCK_STORE");
        if let Some(state) = state {
            command.env("XDG_STATE_HOME", state);
        }
        scene
            .start(command)
            .finish(std::time::Duration::from_secs(30))
    };
    // Looking creates nothing.
    let nothing = start(&["status"], None);
    assert_eq!((nothing.code(), nothing.out.as_str()), (0, "no locks\n"));
    assert!(!scene.path(".local").exists());
    let run = ["run", "lock", "--", "true"];
    assert_eq!(start(&run, None).code(), 0);
    let folder = scene.path(".local/state/dlock");
    assert!(folder.join("locks.db").is_file());
    assert_eq!(
        folder.metadata().unwrap().permissions().mode() & 0o777,
        0o700
    );
    // A relative one is ignored, as the specification demands.
    assert_eq!(start(&run, Some("relative")).code(), 0);
    assert!(!scene.path("relative").exists());
    let state = scene.path("elsewhere");
    assert_eq!(start(&run, Some(state.to_str().unwrap())).code(), 0);
    assert!(state.join("dlock/locks.db").is_file());
}

#[test]
fn prefix_of_the_store_sets_locks_apart() {
    let folder = Scene::new();
    let file = folder.path("locks?.db");
    let on = |query: &str| {
        let store = format!("sqlite:{}?{query}", file.display());
        Scene::with(vec![("DLOCK_STORE", store)])
    };
    prefixes_are_stores_of_their_own(&on("prefix=ours"), &on("prefix=a%26b"));
    prefixes_are_stores_of_their_own(&on("prefix=mine"), &on(""));
    assert!(file.is_file());
}

#[test]
fn names_and_owners_can_not_write_on_the_terminal() {
    let scene = Scene::new();
    let run = [
        "run",
        "a\u{1b}[31mb\nc",
        "--owner",
        "\u{7}\u{9b}2J",
        "--",
        "true",
    ];
    assert_eq!(scene.finish(run).code(), 0);
    let table = scene.finish(["status"]).out;
    assert_eq!(table.lines().count(), 2, "{table:?}");
    assert!(
        table
            .lines()
            .flat_map(str::chars)
            .all(|character| !character.is_control()),
        "{table:?}"
    );
    // Programs get them unchanged.
    assert_eq!(json(&scene, &[])[0]["name"], "a\u{1b}[31mb\nc");
}
