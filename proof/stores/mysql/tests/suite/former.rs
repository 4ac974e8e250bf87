//! A table that a former release has made, with holders in it. What is in the folder of schemas stays as it is; a schema
//! that changes is added to it.

use dlock_core::{
    FencingToken, Name, Provider,
    provider::{
        Acquire, AcquireOutcome, Admin, List, Release, ReleaseOutcome, Renew, RenewOutcome, Tokens,
    },
};
use dlock_mysql::{MysqlProvider, SchemaError};
use dlock_mysql_proof::{provider, server};
use mysql_async::{Conn, Row, prelude::Queryable};
use uuid::Uuid;

use crate::support::{LONG, granted, term};

const FIRST: &str = include_str!("../schemas/1.sql");
const NEWEST: &str = include_str!("../schemas/2.sql");

/// Its records: `held` for ten minutes more, `dead` for long, `free`.
const ROWS: &str = "INSERT INTO dlock_lock VALUES
    ('', 'held', x'3f2504e04f8941d39a0c0305e82c3301', 4, 'web-3:4711', 1795253490374226, 1795253490374226, 600000,
        CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED) + 600000000, 0, 0, 'kept'),
    ('', 'dead', x'3f2504e04f8941d39a0c0305e82c3302', 0, 'web-2:17', 1795253490374226, 9007199254740000, 600000,
        1795254090374226, 0, 0, NULL),
    ('', 'free', x'3f2504e04f8941d39a0c0305e82c3303', 9, 'web-1:99', 1795253490374226, 9007199254740001, 600000,
        1795254090374226, 1, 1, NULL)";

/// A schema without its comments.
pub(crate) fn essence(sql: &str) -> Vec<&str> {
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
    database.run(FIRST).await;
    database.run(ROWS).await;
    let ours = provider(database.options(2), LONG / 20);
    match ours.verify_schema().await.unwrap_err() {
        SchemaError::Differs { lacks, .. } => assert_eq!(lacks.len(), 1, "{lacks:?}"),
        error => panic!("{error:?}"),
    }
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

/// Both releases work on one table. A grant by the former procedure brings one token, so a repeat of it that goes to
/// today's claims no other: those below are the holder's before.
#[tokio::test]
async fn first_procedure_goes_on_beside_blocks_of_tokens() {
    let database = server().await.database().await;
    database.run(FIRST).await;
    let ours = provider(database.options(2), LONG / 20);
    ours.create_schema().await.unwrap();
    let mut connection = database.connection().await;

    let a = term("door").tokens(Tokens::MOST);
    let former = former_token(&mut connection, a.new).await;
    let repeated = ours.acquire(&a).await.unwrap();
    assert_eq!(repeated, AcquireOutcome::Acquired(former.into()));
    release(&ours, &a).await;

    let b = term("door").tokens(Tokens::MOST);
    let AcquireOutcome::Acquired(block) = ours.acquire(&b).await.unwrap() else {
        panic!("it was released");
    };
    assert!(block.first() > former, "{block:?}");
    assert_eq!(block.count(), Tokens::MOST);
    assert_eq!(former_token(&mut connection, b.new).await, block.last());
    release(&ours, &b).await;
    assert!(former_token(&mut connection, Uuid::new_v4()).await > block.last());
}

/// The token of a grant by the first release's procedure.
async fn former_token(connection: &mut Conn, new: Uuid) -> FencingToken {
    let call = format!(
        "CALL dlock_lock_acquire_1('', 'door', '', NULL, 0, x'{}', 600000, NULL, 0)",
        new.simple()
    );
    let row: Row = connection.query_first(call).await.unwrap().unwrap();
    let verdict: String = row.get(11).unwrap();
    assert_eq!(verdict, "acquired");
    FencingToken::new(row.get(4).unwrap()).unwrap()
}

async fn release(provider: &MysqlProvider, term: &Acquire) {
    let release = Release::new(term.name.clone(), term.new, None);
    let released = provider.release(&release).await.unwrap();
    assert_eq!(released, ReleaseOutcome::Released);
}
