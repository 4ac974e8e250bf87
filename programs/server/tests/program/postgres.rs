//! A store that has to be prepared.
#![expect(clippy::unwrap_used, reason = "in a test, that is how it fails")]

use dlock_test_servers::{Service, postgres::postgres};
use rustix::process::Signal;

use crate::{
    api::walk_through,
    support::{ACQUIRE, User, term},
};

/// A server with an empty database, and its URL.
fn database() -> (Service, String) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let service = runtime.block_on(postgres(&[])).unwrap();
    let store = format!(
        "postgres://postgres@127.0.0.1:{}/postgres?sslmode=disable",
        service.place().port()
    );
    (service, store)
}

/// As `dlock setup` does.
fn set_up_locks(store: &str) {
    const PROGRAM: dlock_stores::Program = dlock_stores::Program {
        name: "test",
        folder: "test",
        set_up: "",
        set_up_queue: "",
        serves_many: false,
        warn: |warning| panic!("{warning}"),
    };
    let location = dlock_stores::locate(&PROGRAM, Some(store.as_ref())).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime
        .block_on(async { location.open().await?.set_up().await })
        .unwrap();
}

#[test]
fn store_with_locks_alone_is_served_without_tasks_until_a_queue_is_made() {
    const TASKS: &str = "/v1/default/tasks";
    let (_service, store) = database();
    set_up_locks(&store);
    let user = User::new();
    let checked = user.finish(&["check", "--store", &store]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(
        checked.out.contains("serve locks of") && checked.out.contains("'dlock tasks setup'"),
        "{checked:?}"
    );
    // The interface is built on tasks.
    let refused = user.finish(&["--store", &store, "--api"]);
    assert_eq!(refused.code, Some(78), "{refused:?}");
    assert!(refused.err.contains("'dlock tasks setup'"), "{refused:?}");

    let mut served = user.serve(&["--store", &store]);
    let told = served
        .log
        .iter()
        .any(|line| line.contains("there is no queue"));
    assert!(told, "{:?}", served.log);
    assert_eq!(served.post(ACQUIRE, &term("job", 1, 0)).0, 200);
    assert_eq!(served.get(TASKS).0, 404);
    served.signal(Signal::TERM);
    assert_eq!(served.ended(), Some(0));

    let served = user.serve(&["--store", &store, "--setup"]);
    assert_eq!(served.get(TASKS).0, 200);
}

#[test]
fn store_without_tables_is_refused_until_it_is_set_up() {
    let (_service, store) = database();
    let user = User::new();
    for words in [&["--store", &store][..], &["check", "--store", &store]] {
        let refused = user.finish(words);
        assert_eq!(refused.code, Some(78), "{refused:?}");
        assert!(
            refused.err.contains("'dlock-server --setup'"),
            "{refused:?}"
        );
    }
    let mut served = user.serve(&["--store", &store, "--setup"]);
    assert_eq!(served.post(ACQUIRE, &term("job", 1, 0)).0, 200);
    served.signal(Signal::TERM);
    assert_eq!(served.ended(), Some(0));
    let checked = user.finish(&["check", "--store", &store]);
    assert_eq!(checked.code, Some(0), "{checked:?}");
    assert!(checked.out.contains("locks and tasks"), "{checked:?}");

    let words = ["--store", &store, "--api"];
    let (first, second) = (user.serve(&words), user.serve(&words));
    walk_through([&first, &second]);
}
