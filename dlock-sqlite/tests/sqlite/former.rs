//! Files that former releases have made, with holders in them. What is in the folder of schemas stays as it is;
//! a layout that changes is added to it.

use std::time::Duration;

use dlock_core::{
    FencingToken, Provider,
    provider::{Admin, List, Release, ReleaseOutcome, Renew, RenewOutcome},
};
use rusqlite::Connection;

use crate::support::{Scratch, name, refused, take};

const LONG: Duration = Duration::from_secs(600);
const NEWEST: &str = include_str!("../schemas/1.sql");

/// A layout without its comments.
pub(crate) fn essence(sql: &str) -> Vec<&str> {
    let lines = sql.lines().map(str::trim);
    lines.filter(|line| !line.starts_with("--")).collect()
}

#[test]
fn layout_of_today_is_the_newest_in_the_folder() {
    assert!(
        essence(include_str!("../../src/sql/schema.sql")) == essence(NEWEST),
        "the layout has changed: add it to tests/schemas, and what becomes of holders to these tests"
    );
}

/// A file of layout 1: `held` until `expiry` of this boot, `dead` since another boot, `free`.
fn of_layout_1(scratch: &Scratch, boot: &str, expiry: i64) {
    let old = Connection::open(scratch.path()).unwrap();
    // The log that every process switches to.
    old.execute_batch(&format!("PRAGMA journal_mode = WAL; {NEWEST}"))
        .unwrap();
    let insert = "INSERT INTO lock VALUES
        ('', 'held', '3f2504e0-4f89-41d3-9a0c-0305e82c3301', 4, 'web-3:4711', 1795253490374226,
            1795253490374226, 600000, 0, 0, x'6b657074', ?1, ?2),
        ('', 'dead', '3f2504e0-4f89-41d3-9a0c-0305e82c3302', 0, 'web-2:17', 1795253490374226,
            9007199254740000, 600000, 0, 0, NULL, '00000000-0000-4000-8000-000000000000', ?2),
        ('', 'free', '3f2504e0-4f89-41d3-9a0c-0305e82c3303', 9, 'web-1:99', 1795253490374226,
            9007199254740001, 600000, 1, 1, NULL, ?1, ?2)";
    old.execute(insert, (boot, expiry)).unwrap();
}

#[tokio::test]
async fn file_of_layout_1_is_used_with_its_holders() {
    // What a holder of today writes beside its term: which boot it is, and when the lease ends.
    let today = Scratch::new();
    take(&today.provider(), "held", LONG).await;
    let row = today
        .raw()
        .query_row("SELECT boot, expiry FROM lock", [], |row| {
            Ok((row.get::<_, String>(0)?, row.get(1)?))
        });
    let (boot, expiry) = row.unwrap();
    let scratch = Scratch::new();
    of_layout_1(&scratch, &boot, expiry);

    let provider = scratch.provider();
    let held = refused(&provider, "held").await;
    assert_eq!(
        held.uuid.to_string(),
        "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
    );
    assert_eq!(
        (held.renewals, held.token.get()),
        (4, 1_795_253_490_374_226)
    );
    assert_eq!(
        (held.owner.as_str(), held.data.as_deref()),
        ("web-3:4711", Some(&b"kept"[..]))
    );
    let renew = Renew::new(name("held"), held.uuid, 5);
    let renewed = provider.renew(&renew).await.unwrap();
    assert_eq!(renewed, RenewOutcome::Renewed { asked: false });
    let release = Release::new(name("held"), held.uuid, None);
    let released = provider.release(&release).await.unwrap();
    assert_eq!(released, ReleaseOutcome::Released);
    assert!(take(&provider, "held", LONG).await.1 > held.token);

    let next = |token| FencingToken::new(token).unwrap();
    let (_, token) = take(&provider, "dead", LONG).await;
    assert_eq!(token, next(9_007_199_254_740_001));
    let (_, token) = take(&provider, "free", LONG).await;
    assert_eq!(token, next(9_007_199_254_740_002));
    assert_eq!(
        provider.list(&List::new("")).await.unwrap().records.len(),
        3
    );
}
