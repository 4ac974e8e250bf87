//! Passwords, which are never shown.

use crate::support::User;

const SECRET: &str = "hunter2";

#[test]
fn store_that_is_none_is_refused_without_being_repeated() {
    let store = format!("oracle://u:{SECRET}@h/d");
    let finished = User::new().finish(&["--store", &store]);
    assert_eq!(finished.code, Some(78), "{finished:?}");
    assert!(!finished.err.contains(SECRET), "{finished:?}");
}

/// The store may come back.
#[cfg(feature = "redis")]
#[test]
fn server_starts_before_its_store_and_logs_no_password() {
    use rustix::process::Signal;
    // No server listens there.
    let store = format!("redis://me:{SECRET}@127.0.0.1:1");
    let mut served =
        User::new().serve_with(&[], &[("DLOCK_STORE", &store), ("DLOCK_LOG", "debug")]);
    assert_eq!(served.get("/readyz").0, 503);
    assert_eq!(served.get("/healthz").0, 200);
    served.signal(Signal::TERM);
    assert_eq!(served.ended(), Some(0));
    let log = served.log.join("\n");
    assert!(log.contains("without an answer of the store"), "{log}");
    assert!(!log.contains(SECRET), "{log}");
}
