//! "Start here", with three hosts that share one file.

use dlock::sqlite::SqliteProvider;
use dlock_book_snippets::start::{Reports, import, nightly_report};

#[tokio::test]
async fn one_of_three_hosts_writes_the_nightly_report() {
    let folder = tempfile::tempdir().unwrap();
    // Each host opens the file separately.
    let host = || SqliteProvider::open(folder.path().join("locks.db")).unwrap();
    let reports = Reports::default();
    // The last host's clock is slow: the first host's job has ended by now.
    let (a, b) = tokio::join!(
        nightly_report(host(), &reports),
        nightly_report(host(), &reports)
    );
    let c = nightly_report(host(), &reports).await;
    for host in [a, b, c] {
        host.unwrap();
    }
    assert_eq!(reports.written.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn every_import_is_done_and_none_beside_another() {
    let folder = tempfile::tempdir().unwrap();
    // Each host opens the file separately.
    let host = || SqliteProvider::open(folder.path().join("locks.db")).unwrap();
    let reports = Reports::default();
    let (a, b, c) = tokio::join!(
        import(host(), &reports),
        import(host(), &reports),
        import(host(), &reports)
    );
    for host in [a, b, c] {
        host.unwrap();
    }
    let tokens = reports.written.lock().unwrap();
    assert_eq!(tokens.len(), 3);
    assert!(tokens.is_sorted(), "tokens do not grow: {tokens:?}");
}
