//! Rows that a person or another program corrupted: an error that names the lock and says what to
//! do, from every request; and the row stays.

use std::time::Duration;

use dlock_core::{
    ErrorKind, Name, Provider, ProviderError,
    provider::{Admin, Ask, List, Release, Renew, Revoke, Version},
};
use dlock_sqlite::SqliteProvider;
use rusqlite::Connection;
use uuid::Uuid;

use crate::support::{Scratch, block_on, chain, name, request, take};

const LONG: Duration = Duration::from_secs(60);

/// The table without its checks: what a restore by another tool may look like.
fn drop_checks(raw: &Connection) {
    raw.execute_batch(
        "PRAGMA ignore_check_constraints = 1;
         ALTER TABLE lock RENAME TO strict;
         CREATE TABLE lock (prefix, name, uuid, renewals, owner, since, token, duration, released, asked, wanted,
                            data, boot, expiry, PRIMARY KEY (prefix, name)) WITHOUT ROWID;
         INSERT INTO lock SELECT * FROM strict;
         DROP TABLE strict;",
    )
    .unwrap();
}

async fn every_request(provider: &SqliteProvider, uuid: Uuid) -> Vec<ProviderError> {
    let lock = || name("spoilt");
    let version = Version { uuid, renewals: 0 };
    let mut errors = vec![
        provider
            .acquire(&request("spoilt", LONG))
            .await
            .unwrap_err(),
        provider
            .acquire(&request("spoilt", LONG).prev(Some(version)))
            .await
            .unwrap_err(),
        provider
            .renew(&Renew::new(lock(), uuid, 1))
            .await
            .unwrap_err(),
        provider
            .release(&Release::new(lock(), uuid, None))
            .await
            .unwrap_err(),
        provider.read(&lock()).await.unwrap_err(),
        provider
            .revoke(&Revoke::new(lock(), version).unwrap())
            .await
            .unwrap_err(),
        provider.ask(&Ask::new(lock(), uuid)).await.unwrap_err(),
        ProviderError::fatal({
            let mut page = provider.list(&List::new("")).await.unwrap();
            let at = page.unreadable.iter().position(|(name, _)| *name == lock());
            page.unreadable.swap_remove(at.unwrap()).1
        }),
    ];
    errors.extend(
        provider
            .renew_many(&[Renew::new(lock(), uuid, 1)])
            .await
            .into_iter()
            .map(Result::unwrap_err),
    );
    errors
}

/// The row, whatever is in it, even if that is not UTF-8.
fn row(raw: &Connection) -> Vec<String> {
    let columns = |row: &rusqlite::Row<'_>| {
        (0..14)
            .map(|index| row.get_ref(index).map(|value| format!("{value:?}")))
            .collect()
    };
    raw.query_row("SELECT * FROM lock WHERE name = 'spoilt'", [], columns)
        .unwrap()
}

#[test]
fn a_spoilt_record_is_an_error_everywhere_and_never_overwritten() {
    let scratch = Scratch::new();
    block_on(async {
        let provider = scratch.provider();
        let (uuid, _) = take(&provider, "spoilt", LONG).await;
        let raw = scratch.raw();
        drop_checks(&raw);
        raw.execute_batch("CREATE TABLE good AS SELECT * FROM lock")
            .unwrap();
        let good = row(&raw);
        for (column, nonsense) in [
            ("uuid", "NULL"),
            ("uuid", "'not a uuid'"),
            ("uuid", "zeroblob(16)"),
            ("uuid", "''"),
            ("uuid", "7"),
            ("uuid", "'00000000-0000-0000-0000-00000000000g'"),
            ("uuid", "hex(zeroblob(100000))"),
            ("uuid", "upper(uuid)"),
            ("uuid", "replace(uuid, '-', '')"),
            ("renewals", "NULL"),
            ("renewals", "-1"),
            ("renewals", "'many'"),
            ("renewals", "1.5"),
            ("renewals", "9007199254740992"),
            ("renewals", "9223372036854775807"),
            ("owner", "NULL"),
            ("owner", "zeroblob(3)"),
            ("owner", "CAST(x'ff00fe' AS TEXT)"),
            ("owner", "hex(zeroblob(1000000))"),
            ("since", "NULL"),
            ("since", "-1"),
            ("since", "'yesterday'"),
            ("since", "9223372036854775807"),
            ("token", "NULL"),
            ("token", "0"),
            ("token", "-5"),
            ("token", "'5'"),
            ("token", "1e300"),
            ("token", "9007199254740992"),
            ("duration", "NULL"),
            ("duration", "0"),
            ("duration", "-100"),
            ("duration", "99"),
            ("duration", "86400001"),
            ("duration", "9223372036854775807"),
            ("duration", "'long'"),
            ("released", "NULL"),
            ("released", "2"),
            ("released", "'no'"),
            ("asked", "NULL"),
            ("asked", "-1"),
            ("wanted", "NULL"),
            ("wanted", "-1"),
            ("wanted", "4294967296"),
            ("data", "'text'"),
            ("data", "12"),
            ("data", "zeroblob(4097)"),
            ("boot", "NULL"),
            ("boot", "''"),
            ("boot", "zeroblob(16)"),
            ("boot", "upper(boot)"),
            ("boot", "replace(boot, '-', '')"),
            ("boot", "hex(zeroblob(100000))"),
            ("expiry", "NULL"),
            ("expiry", "'never'"),
            ("expiry", "1e300"),
        ] {
            raw.execute(
                &format!("UPDATE lock SET {column} = {nonsense} WHERE name = 'spoilt'"),
                [],
            )
            .unwrap();
            let before = row(&raw);
            for error in every_request(&provider, uuid).await {
                let text = chain(&error);
                assert_eq!(
                    error.kind(),
                    ErrorKind::Fatal,
                    "{column} = {nonsense}: {text}"
                );
                assert!(
                    text.contains(r#""spoilt""#)
                        && text.contains("delete its row")
                        && text.contains(column),
                    "{text}"
                );
                assert!(text.len() < 400, "{text}");
            }
            assert_eq!(row(&raw), before, "{column} = {nonsense} was overwritten");
            raw.execute_batch(&format!(
                "UPDATE lock SET {column} = (SELECT {column} FROM good)"
            ))
            .unwrap();
            assert_eq!(row(&raw), good);
        }
        // Once repaired, it is the same lock again.
        assert_eq!(
            provider.read(&name("spoilt")).await.unwrap().unwrap().uuid,
            uuid
        );
    });
}

#[test]
fn an_expiry_before_the_boot_is_long_past() {
    let scratch = Scratch::new();
    block_on(async {
        let provider = scratch.provider();
        for expiry in [-1, i64::MIN] {
            take(&provider, "a", LONG).await;
            scratch
                .raw()
                .execute("UPDATE lock SET expiry = ?1", [expiry])
                .unwrap();
            assert_eq!(
                provider.read(&name("a")).await.unwrap().unwrap().remaining,
                Some(Duration::ZERO)
            );
        }
    });
}

#[test]
fn an_expiry_beyond_all_time_is_shown_as_one_lease() {
    let scratch = Scratch::new();
    block_on(async {
        let provider = scratch.provider();
        let (uuid, _) = take(&provider, "a", LONG).await;
        scratch
            .raw()
            .execute("UPDATE lock SET expiry = 9223372036854775807", [])
            .unwrap();
        assert_eq!(
            provider.read(&name("a")).await.unwrap().unwrap().remaining,
            Some(LONG)
        );
        // A client that has seen it unchanged for one lease may take it (A6).
        let claim = request("a", LONG).prev(Some(Version { uuid, renewals: 0 }));
        provider.acquire(&claim).await.unwrap();
    });
}

#[test]
fn a_name_that_is_none_is_a_line_of_its_page_and_ends_no_list() {
    let scratch = Scratch::new();
    block_on(async {
        let provider = scratch.provider();
        let good = ["a", "b", "b/1", "c"];
        for text in good {
            take(&provider, text, LONG).await;
        }
        let raw = scratch.raw();
        drop_checks(&raw);
        // In the order of the list; the last ones are no text at all.
        let bad = [
            ("CAST(x'610062' AS TEXT)", "a\u{FFFD}b", "NUL"),
            ("CAST(x'62ff' AS TEXT)", "b\u{FFFD}", "not UTF-8"),
            ("CAST(x'62ffff' AS TEXT)", "b\u{FFFD}\u{FFFD}", "not UTF-8"),
            (
                "'c' || hex(zeroblob(100000))",
                &format!("c{}", "0".repeat(1023)),
                "text of 200001 bytes",
            ),
            ("x''", "\u{FFFD}", "a blob of 0 bytes"),
            (
                "zeroblob(3)",
                "\u{FFFD}\u{FFFD}\u{FFFD}",
                "a blob of 3 bytes",
            ),
        ];
        for (nonsense, ..) in bad {
            raw.execute_batch(&format!(
                "INSERT INTO lock SELECT prefix, {nonsense}, uuid, renewals, owner, since, token, duration, released, asked,
                                         wanted, data, boot, expiry FROM lock WHERE name = 'a'",
            ))
            .unwrap();
        }
        for limit in [1, 2, 3, 4, 100] {
            let (mut readable, mut unreadable) = (Vec::new(), Vec::new());
            let mut after = None;
            loop {
                let request = List::new("").limit(limit).after(after.clone());
                let page = provider.list(&request).await.unwrap();
                assert!(page.records.len() <= limit, "{page:?}");
                readable.extend(page.records.into_iter().map(|(name, _)| name));
                unreadable.extend(page.unreadable);
                if page.next.is_none() {
                    break;
                }
                assert!(page.next > after, "{limit}: {:?}", page.next);
                after = page.next;
            }
            let readable: Vec<_> = readable.iter().map(Name::as_str).collect();
            assert_eq!(readable, good, "by {limit}");
            assert_eq!(unreadable.len(), bad.len(), "by {limit}: {unreadable:?}");
            for ((name, why), (_, shown, flaw)) in unreadable.iter().zip(bad) {
                assert_eq!(name.as_str(), shown, "by {limit}");
                assert!(
                    why.contains(flaw) && why.contains("delete its row"),
                    "{why}"
                );
                assert!(why.len() < 2000, "{} bytes", why.len());
            }
        }
        // The others are as they were.
        let page = provider.list(&List::new("b")).await.unwrap();
        assert_eq!((page.records.len(), page.unreadable.len()), (2, 2));
    });
}

#[test]
fn a_table_that_is_gone_or_changed_is_an_error() {
    for by_hand in [
        "DROP TABLE lock",
        "ALTER TABLE lock RENAME COLUMN token TO ticket",
        "CREATE TRIGGER t BEFORE INSERT ON lock BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TRIGGER t BEFORE INSERT ON lock BEGIN SELECT RAISE(ABORT, 'no'); END",
    ] {
        let scratch = Scratch::new();
        block_on(async {
            let provider = scratch.provider();
            scratch.raw().execute_batch(by_hand).unwrap();
            let error = provider
                .acquire(&request("a", LONG))
                .await
                .expect_err(by_hand);
            assert_eq!(
                error.kind(),
                ErrorKind::Fatal,
                "{by_hand}: {}",
                chain(&error)
            );
            assert!(error.to_string().contains("restore it"), "{error}");
        });
    }
}

#[test]
fn a_request_that_the_table_could_not_keep_is_refused() {
    let scratch = Scratch::new();
    block_on(async {
        let provider = scratch.provider();
        let mut long_owner = request("a", LONG);
        long_owner.owner = "x".repeat(1025);
        for request in [
            request("a", Duration::ZERO),
            request("a", Duration::from_millis(99)),
            request("a", Duration::from_micros(100_500)),
            request("a", Duration::from_secs(86_401)),
            request("a", Duration::MAX),
            request("a", LONG).data(Some(vec![0; 4097])),
            request("a", LONG).floor(1 << 53),
            request("a", LONG).floor(u64::MAX),
            long_owner,
        ] {
            let error = provider.acquire(&request).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Fatal, "{request:?}: {error}");
        }
        assert_eq!(scratch.count(), 0);
        let (uuid, _) = take(&provider, "a", LONG).await;
        for n in [1 << 53, u64::MAX] {
            assert_eq!(
                provider
                    .renew(&Renew::new(name("a"), uuid, n))
                    .await
                    .unwrap_err()
                    .kind(),
                ErrorKind::Fatal
            );
        }
    });
}
