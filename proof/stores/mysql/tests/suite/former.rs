//! A table that a former release has made, with holders in it. What is in the folder of schemas stays as it is; a schema
//! that changes is added to it.

use dlock_core::{
    FencingToken, Name, Provider,
    provider::{AcquireOutcome, Admin, List, Release, ReleaseOutcome, Renew, RenewOutcome},
};
use dlock_mysql_proof::{provider, server};

use crate::support::{LONG, granted, term};

const NEWEST: &str = include_str!("../schemas/1.sql");

/// Its records: `held` for ten minutes more, `dead` for long, `free`.
const ROWS: &str = "INSERT INTO dlock_lock VALUES
    ('', 'held', x'3f2504e04f8941d39a0c0305e82c3301', 4, 'web-3:4711', 1795253490374226, 1795253490374226, 600000,
        CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED) + 600000000, 0, 0, 'kept'),
    ('', 'dead', x'3f2504e04f8941d39a0c0305e82c3302', 0, 'web-2:17', 1795253490374226, 9007199254740000, 600000,
        1795254090374226, 0, 0, NULL),
    ('', 'free', x'3f2504e04f8941d39a0c0305e82c3303', 9, 'web-1:99', 1795253490374226, 9007199254740001, 600000,
        1795254090374226, 1, 1, NULL)";

/// A schema without its comments.
fn essence(sql: &str) -> Vec<&str> {
    let lines = sql.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with("--"))
        .collect()
}

#[tokio::test]
async fn schema_of_today_is_the_newest_in_the_folder() {
    let database = server().await.database().await;
    let ours = provider(database.options(1), LONG / 20);
    assert!(
        essence(&ours.schema_sql()) == essence(NEWEST),
        "the schema has changed: add it to tests/schemas, and what becomes of holders to these tests"
    );
}

#[tokio::test]
async fn first_schema_is_used_with_its_holders() {
    let database = server().await.database().await;
    database.run(NEWEST).await;
    database.run(ROWS).await;
    let ours = provider(database.options(2), LONG / 20);
    ours.create_schema().await.unwrap();

    let name = Name::new("held").unwrap();
    let AcquireOutcome::Held(held) = ours.acquire(&term("held")).await.unwrap() else {
        panic!("a former holder has lost its lock");
    };
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
    let renew = Renew::new(name.clone(), held.uuid, 5);
    let renewed = ours.renew(&renew).await.unwrap();
    assert_eq!(renewed, RenewOutcome::Renewed { asked: false });
    let release = Release::new(name, held.uuid, None);
    let released = ours.release(&release).await.unwrap();
    assert_eq!(released, ReleaseOutcome::Released);
    assert!(granted(&ours, &term("held")).await > held.token);

    let next = |token| FencingToken::new(token).unwrap();
    let token = granted(&ours, &term("dead")).await;
    assert_eq!(token, next(9_007_199_254_740_001));
    let token = granted(&ours, &term("free")).await;
    assert_eq!(token, next(9_007_199_254_740_002));
    let page = ours.list(&List::new("")).await.unwrap();
    assert_eq!(page.records.len(), 3);
}
