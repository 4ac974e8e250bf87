//! The owner of a file: this crate, none, or another program, whose file stays as it was.

use std::{fs, path::Path, thread, time::Duration};

use dlock_core::Provider;
use dlock_sqlite::{OpenError, SqliteProvider, Synchronous};
use rusqlite::Connection;

use crate::support::{Kid, Role, Scratch, block_on, name, refused, set_mode, take};

fn error(path: &Path) -> OpenError {
    SqliteProvider::open(path).expect_err("this file must be refused")
}

/// Opening is refused, and neither a byte nor a file has changed.
fn stays_as_it_was(scratch: &Scratch) -> OpenError {
    let before = scratch.contents();
    let error = error(&scratch.path());
    assert_eq!(scratch.contents(), before, "a foreign file was touched");
    error
}

#[test]
fn a_database_of_another_program_is_refused_and_untouched() {
    for made_by in [
        "CREATE TABLE t (x); INSERT INTO t VALUES (1)",
        "PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)",
        "PRAGMA application_id = 7",
        "PRAGMA user_version = 1",
        // Ours by its id, but never made by us.
        "PRAGMA application_id = 0x646c6f6b",
    ] {
        let scratch = Scratch::new();
        Connection::open(scratch.path())
            .unwrap()
            .execute_batch(made_by)
            .unwrap();
        let error = stays_as_it_was(&scratch);
        assert!(
            matches!(error, OpenError::Foreign { .. }),
            "{made_by}: {error:?}"
        );
        assert!(error.to_string().contains("name another file"), "{error}");
    }
}

#[test]
fn the_log_of_a_program_that_crashed_stays_where_it_is() {
    let origin = Scratch::new();
    let connection = Connection::open(origin.path()).unwrap();
    connection
        .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)")
        .unwrap();
    // A copy of database and log is what a crash leaves. The copy is another file, so reading the
    // original here drops only locks that no other process wants.
    let scratch = Scratch::new();
    for suffix in ["", "-wal"] {
        let file = format!("locks.db{suffix}");
        fs::copy(
            origin.directory().join(&file),
            scratch.directory().join(&file),
        )
        .unwrap();
    }
    let log = |contents: Vec<_>| {
        contents
            .into_iter()
            .filter(|(path, _): &(std::path::PathBuf, _)| !path.ends_with("locks.db-shm"))
            .collect::<Vec<_>>()
    };
    let before = log(scratch.contents());
    assert!(before.len() == 2 && before.iter().all(|(_, bytes)| !bytes.is_empty()));
    assert!(matches!(error(&scratch.path()), OpenError::Foreign { .. }));
    assert_eq!(log(scratch.contents()), before);
}

#[test]
fn what_is_no_database_is_refused_and_untouched() {
    for bytes in [
        &b"These are notes, not a database. Please keep them. ".repeat(40)[..],
        b"x",
        &[0; 5000],
    ] {
        let scratch = Scratch::new();
        fs::write(scratch.path(), bytes).unwrap();
        let error = stays_as_it_was(&scratch);
        assert!(matches!(error, OpenError::NotADatabase { .. }), "{error:?}");
    }
}

/// As SQLite writes it: without the log that processes share.
#[tokio::test]
async fn a_copy_that_sqlite_made_is_opened_with_its_records() {
    let scratch = Scratch::new();
    let (uuid, token) = take(&scratch.provider(), "held", Duration::from_secs(60)).await;
    let copy = scratch.directory().join("copy.db");
    let into = copy.to_str().unwrap();
    scratch.raw().execute("VACUUM INTO ?1", [into]).unwrap();
    let held = refused(&SqliteProvider::open(&copy).unwrap(), "held").await;
    assert_eq!((held.uuid, held.token), (uuid, token));
}

#[test]
fn a_newer_layout_is_refused_and_untouched() {
    let scratch = Scratch::new();
    drop(scratch.provider());
    scratch
        .raw()
        .execute_batch("PRAGMA user_version = 2")
        .unwrap();
    let error = stays_as_it_was(&scratch);
    assert!(
        matches!(
            error,
            OpenError::Newer {
                found: 2,
                known: 1,
                ..
            }
        ),
        "{error:?}"
    );
    assert!(error.to_string().contains("newer release"), "{error}");
}

#[test]
fn a_path_that_cannot_be_a_lock_file_is_refused_with_its_reason() {
    let scratch = Scratch::new();
    let missing = scratch.directory().join("missing").join("locks.db");
    assert!(matches!(error(&missing), OpenError::NoDirectory { .. }));
    assert!(error(&missing).to_string().contains("create it"));
    assert!(!missing.parent().unwrap().exists());
    fs::write(scratch.directory().join("file"), "").unwrap();
    assert!(matches!(
        error(&scratch.directory().join("file").join("locks.db")),
        OpenError::NoDirectory { .. }
    ));
    assert!(matches!(error(scratch.directory()), OpenError::Path { .. }));
    assert!(matches!(error(Path::new("")), OpenError::Path { .. }));
    assert!(matches!(
        error(Path::new(":memory:")),
        OpenError::Path { .. }
    ));
}

#[test]
fn a_setting_that_cannot_be_is_refused() {
    let scratch = Scratch::new();
    let build = |prefix: &str, timeout| {
        SqliteProvider::builder()
            .path(scratch.path())
            .prefix(prefix)
            .busy_timeout(timeout)
            .build()
    };
    let second = Duration::from_secs(1);
    assert!(matches!(
        build("", Duration::MAX),
        Err(OpenError::BusyTimeout { .. })
    ));
    assert!(matches!(
        build("a\0b", second),
        Err(OpenError::Prefix { .. })
    ));
    assert!(matches!(
        build(&"x".repeat(1024), second),
        Err(OpenError::Prefix { .. })
    ));
    assert!(!scratch.path().exists(), "a refused setting makes no file");
    build(&"x".repeat(1023), second).unwrap();
}

#[test]
fn an_empty_file_becomes_a_lock_file() {
    let scratch = Scratch::new();
    fs::write(scratch.path(), "").unwrap();
    block_on(async { take(&scratch.provider(), "a", Duration::from_secs(10)).await });
}

#[test]
fn opening_again_finds_the_same_locks_under_any_setting() {
    let scratch = Scratch::new();
    block_on(async {
        let (_, token) = take(&scratch.provider(), "a", Duration::from_secs(60)).await;
        for synchronous in [Synchronous::Normal, Synchronous::Full] {
            let provider = SqliteProvider::builder()
                .path(scratch.path())
                .synchronous(synchronous)
                .build()
                .unwrap();
            assert_eq!(refused(&provider, "a").await.token, token);
        }
    });
}

#[test]
fn a_file_that_is_made_is_its_owners_alone_and_one_that_is_there_keeps_its_mode() {
    use std::os::unix::fs::MetadataExt;
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    let scratch = Scratch::new();
    let folder = scratch.directory();
    let (link, behind) = (folder.join("link"), folder.join("behind"));
    // It leads nowhere yet.
    std::os::unix::fs::symlink("behind", &link).unwrap();
    let _open = [&scratch.path(), &link].map(|path| SqliteProvider::open(path).unwrap());
    for path in [&scratch.path(), &behind] {
        for suffix in ["", "-wal", "-shm"] {
            let path = format!("{}{suffix}", path.display());
            assert_eq!(mode(Path::new(&path)), 0o600, "{path}");
        }
    }
    let shared = folder.join("shared");
    fs::write(&shared, "").unwrap();
    set_mode(&shared, 0o660);
    let _open = SqliteProvider::open(&shared).unwrap();
    assert_eq!(mode(&shared), 0o660);
    assert_eq!(mode(&folder.join("shared-wal")), 0o660);
}

#[test]
fn a_symbolic_link_leads_to_the_same_locks() {
    let scratch = Scratch::new();
    let link = scratch.directory().join("link");
    std::os::unix::fs::symlink(scratch.path(), &link).unwrap();
    block_on(async {
        let behind = scratch.provider();
        take(&behind, "a", Duration::from_secs(60)).await;
        let linked = SqliteProvider::open(&link).unwrap();
        refused(&linked, "a").await;
    });
}

#[test]
fn a_file_with_two_names_is_refused_by_both() {
    let scratch = Scratch::new();
    drop(scratch.provider());
    let other = scratch.directory().join("other.db");
    fs::hard_link(scratch.path(), &other).unwrap();
    for path in [&scratch.path(), &other] {
        let error = error(path).to_string();
        assert!(error.contains("has 2 names"), "{error}");
    }
    fs::remove_file(scratch.path()).unwrap();
    block_on(take(
        &SqliteProvider::open(&other).unwrap(),
        "a",
        Duration::from_secs(60),
    ));
}

#[test]
fn an_opening_waits_for_another_that_is_making_the_file() {
    let scratch = Scratch::new();
    let raw = scratch.raw();
    raw.execute_batch("BEGIN IMMEDIATE").unwrap();
    thread::scope(|scope| {
        let opening = scope.spawn(|| scratch.provider());
        thread::sleep(Duration::from_millis(300));
        assert!(!opening.is_finished());
        raw.execute_batch("ROLLBACK").unwrap();
        block_on(take(&opening.join().unwrap(), "a", Duration::from_secs(60)));
    });
}

#[test]
fn threads_can_open_a_new_file_at_once() {
    for _ in 0..10 {
        let scratch = Scratch::new();
        let barrier = std::sync::Barrier::new(8);
        thread::scope(|scope| {
            for number in 0..8 {
                let (barrier, scratch) = (&barrier, &scratch);
                scope.spawn(move || {
                    barrier.wait();
                    let provider = scratch.provider();
                    block_on(take(
                        &provider,
                        &format!("lock {number}"),
                        Duration::from_secs(60),
                    ));
                });
            }
        });
        assert_eq!(scratch.count(), 8);
    }
}

#[test]
fn processes_can_open_a_new_file_at_once() {
    const TEST: &str = "open::processes_can_open_a_new_file_at_once";
    if let Some(role) = Role::get() {
        role.say("ready");
        role.listen();
        let provider = SqliteProvider::open(&role.file);
        role.say(match &provider {
            Ok(provider) => format!(
                "{:?}",
                block_on(provider.read(&name("a"))).map_err(|error| error.to_string())
            ),
            Err(error) => error.to_string(),
        });
        role.listen();
        return;
    }
    for _ in 0..3 {
        let scratch = Scratch::new();
        let mut kids: Vec<_> = (0..8)
            .map(|_| Kid::start(TEST, "opener", &scratch.path()))
            .collect();
        for kid in &kids {
            assert_eq!(kid.hear(), "ready");
        }
        for kid in &mut kids {
            kid.tell("go");
        }
        for kid in &kids {
            assert_eq!(kid.hear(), "Ok(None)");
        }
        for mut kid in kids {
            kid.tell("end");
            kid.join();
        }
        assert_eq!(scratch.count(), 0);
    }
}

#[test]
fn a_process_killed_while_it_makes_the_file_spoils_nothing() {
    const TEST: &str = "open::a_process_killed_while_it_makes_the_file_spoils_nothing";
    if let Some(role) = Role::get() {
        role.say("ready");
        role.listen();
        drop(SqliteProvider::open(&role.file));
        role.say("opened");
        role.listen();
        return;
    }
    let mut killed_in_time = 0;
    for step in 0..30 {
        let scratch = Scratch::new();
        let mut kid = Kid::start(TEST, "maker", &scratch.path());
        assert_eq!(kid.hear(), "ready");
        kid.tell("go");
        thread::sleep(Duration::from_micros(100 * step));
        killed_in_time += usize::from(kid.kill().is_none());
        block_on(take(&scratch.provider(), "a", Duration::from_secs(60)));
        assert_eq!(scratch.count(), 1);
    }
    assert!(
        killed_in_time > 0,
        "every opening was over before the kill: this shows nothing"
    );
}
