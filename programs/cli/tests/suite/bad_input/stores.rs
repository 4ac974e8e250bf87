//! Stores that are none, that cannot be opened, or whose records are damaged.

use std::{fs, os::unix::process::CommandExt, time::Duration};

use super::{assert_refused, mode, run_with};
use crate::support::{DLOCK, Scene};

/// A user that owns nothing here.
const NOBODY: u32 = 65534;

#[test]
fn stores_that_are_none_are_78() {
    let scene = Scene::new();
    for (store, words) in [
        ("", "sqlite:PATH"),
        ("sqlite:", "names no file"),
        ("oracle://localhost/x", "no kind of store \"oracle\""),
        ("/tmp/x.db", "which kind of store"),
        ("sqlite:/no/such/directory/locks.db", "does not exist"),
        ("sqlite:/", "not"),
    ] {
        assert_refused(&run_with(&scene, &["--store", store]), 78, words);
    }
}

#[test]
fn empty_store_is_78() {
    let scene = Scene::with(vec![("DLOCK_STORE", String::new())]);
    assert_refused(&run_with(&scene, &[]), 78, "DLOCK_STORE is empty");
    assert_refused(&run_with(&scene, &["--store="]), 78, "not a store");
    assert!(!scene.path(".local").exists());
}

#[test]
fn home_that_is_no_absolute_path_is_named() {
    let scene = Scene::new();
    let mut command = scene.dlock(["status"]);
    command.env_remove("DLOCK_STORE").env("HOME", "some/where");
    let finished = scene.start(command).finish(Duration::from_secs(30));
    assert_refused(
        &finished,
        78,
        "HOME is \"some/where\", which is no absolute path",
    );
}

/// From the crontabs of three hosts such a command runs three times.
#[test]
fn locks_that_no_store_was_named_for_are_of_this_host_and_say_so() {
    let scene = Scene::new();
    let run = |options: &[&str]| {
        let words = [&["run", "lock"], options, &["--", "true"]].concat();
        let mut command = scene.dlock(words);
        command.env_remove("DLOCK_STORE");
        let finished = scene.start(command).finish(Duration::from_secs(30));
        assert_eq!(finished.code(), 0, "{finished:?}");
        finished.err
    };
    let note = "locks of this host only";
    assert_eq!(run(&[]).matches(note).count(), 1);
    assert_eq!(run(&["--this-host"]), "");
    assert!(scene.path(".local/state/dlock/locks.db").is_file());
    let file = format!("sqlite:{}", scene.path("named.db").display());
    assert_eq!(run(&["--store", &file]), "");
}

#[test]
fn foreign_files_are_78_and_stay_as_they_are() {
    let scene = Scene::new();
    let text = scene.path("notes.txt");
    fs::write(&text, "my notes\n".repeat(1000)).unwrap();
    let database = scene.path("app.db");
    rusqlite::Connection::open(&database)
        .unwrap()
        .execute_batch("CREATE TABLE customers (name)")
        .unwrap();
    for file in [text, database] {
        let before = fs::read(&file).unwrap();
        let store = format!("sqlite:{}", file.display());
        assert_refused(
            &run_with(&scene, &["--store", &store]),
            78,
            file.to_str().unwrap(),
        );
        assert_refused(
            &scene.finish(["status", "--store", &store]),
            78,
            file.to_str().unwrap(),
        );
        assert_eq!(fs::read(&file).unwrap(), before);
    }
}

#[test]
fn record_with_nonsense_in_it_is_78_and_stays_as_it_is() {
    let scene = Scene::new();
    assert_eq!(scene.finish(["run", "lock", "--", "true"]).code(), 0);
    assert_eq!(scene.finish(["run", "other", "--", "true"]).code(), 0);
    for nonsense in [
        "uuid = 'not a uuid'",
        "token = -5",
        "token = 9007199254740992",
        "duration = 0",
        "duration = 9223372036854775807",
        "renewals = -1",
        "released = 7",
        "since = -9223372036854775808",
        "boot = 'x'",
        "owner = CAST(x'ff' AS TEXT)",
    ] {
        let store = scene.open_store();
        let change = format!(
            "PRAGMA ignore_check_constraints = ON;
            CREATE TABLE kept AS SELECT * FROM lock;
            UPDATE lock SET {nonsense} WHERE name = 'lock'"
        );
        store.execute_batch(&change).unwrap();
        let refused = run_with(&scene, &[]);
        assert_eq!(refused.code(), 78, "{nonsense}: {refused:?}");
        assert_refused(&refused, 78, "locks.db");
        assert_refused(&scene.finish(["status", "lock"]), 78, "locks.db");
        let status = scene.finish(["status"]);
        assert_refused(&status, 78, "locks.db can't be read");
        let lines: Vec<&str> = status.out.lines().collect();
        assert_eq!(lines.len(), 3, "{status:?}");
        assert!(lines[1].starts_with("lock   unreadable  "), "{status:?}");
        assert!(lines[2].starts_with("other  released "), "{status:?}");
        let status = scene.finish(["status", "--held", "--json"]);
        let array: serde_json::Value = serde_json::from_str(&status.out).unwrap();
        assert_eq!(array.as_array().unwrap().len(), 1, "{status:?}");
        assert!(
            array[0]["error"].as_str().unwrap().contains("\"lock\""),
            "{status:?}"
        );
        // It stayed as it was, and other locks are not affected by it.
        let kept = format!(
            "SELECT count(*) FROM lock WHERE name = 'lock' AND {}",
            nonsense.replacen('=', "IS", 1)
        );
        assert_eq!(
            store.query_row(&kept, [], |row| row.get(0)),
            Ok(1),
            "{nonsense}"
        );
        assert_eq!(
            scene.finish(["run", "other", "--", "true"]).code(),
            0,
            "{nonsense}"
        );
        store
            .execute_batch("DELETE FROM lock; INSERT INTO lock SELECT * FROM kept; DROP TABLE kept")
            .unwrap();
    }
}

#[test]
fn directory_without_permission_is_78() {
    let scene = Scene::new();
    // Root may do everything, so the program runs as another user; that user has to reach it.
    let program = scene.path("dlock");
    // The copy is made by another process: a file that this one has open for writing while another
    // test starts a program cannot be executed ("text file busy").
    let copied = std::process::Command::new("cp")
        .arg(DLOCK)
        .arg(&program)
        .status();
    assert!(copied.unwrap().success());
    mode(&program, 0o755);
    mode(scene.folder(), 0o755);
    let folder = scene.path("theirs");
    fs::create_dir(&folder).unwrap();
    mode(&folder, 0o555);
    let start = |store: Option<String>| {
        let mut command = std::process::Command::new(&program);
        scene.adopt(&mut command);
        command
            .env_remove("DLOCK_STORE")
            .env("HOME", &folder)
            .args(["run", "lock", "--", "true"]);
        if let Some(store) = store {
            command.env("DLOCK_STORE", store);
        }
        if rustix::process::getuid().is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        scene.start(command).finish(Duration::from_secs(30))
    };
    let store = folder.join("locks.db");
    assert_refused(
        &start(Some(format!("sqlite:{}", store.display()))),
        78,
        "no permission",
    );
    assert!(!store.exists());
    // The default store needs a directory.
    assert_refused(&start(None), 78, "Permission denied");
    // A store of another user.
    mode(&folder, 0o755);
    assert_eq!(
        scene
            .finish([
                "run",
                "lock",
                "--store",
                &format!("sqlite:{}", store.display()),
                "--",
                "true"
            ])
            .code(),
        0
    );
    mode(&folder, 0o555);
    mode(&store, 0o400);
    assert_refused(
        &start(Some(format!("sqlite:{}", store.display()))),
        78,
        "no permission",
    );
    mode(&folder, 0o755);
}
