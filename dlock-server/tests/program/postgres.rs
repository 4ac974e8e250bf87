//! A store that has to be prepared.

use dlock_test_servers::postgres::postgres;
use rustix::process::Signal;

use crate::{
    api::walk_through,
    support::{ACQUIRE, User, term},
};

#[test]
fn store_without_tables_is_refused_until_it_is_set_up() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let service = runtime.block_on(postgres(&[])).unwrap();
    let store = format!(
        "postgres://postgres@127.0.0.1:{}/postgres?sslmode=disable",
        service.place().port()
    );
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
