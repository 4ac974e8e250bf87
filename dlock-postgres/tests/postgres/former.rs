//! Tables that former versions have made, with holders in them. What is in the folder of schemas stays as it is;
//! a schema that changes is added to it.

use std::time::Duration;

use dlock_core::{
    ErrorKind, FencingToken, Provider,
    provider::{
        Acquire, AcquireOutcome, Admin, Ask, AskOutcome, Closing, List, Release, ReleaseOutcome,
        Renew, RenewOutcome, Revoke, RevokeOutcome, Tokens, Version, Wakeup,
    },
};
use dlock_postgres::{
    PostgresProvider, SchemaError,
    deadpool_postgres::tokio_postgres::{Client, Row},
};
use tokio::time::timeout;

use crate::support::{LONG, create, fresh, listening, on, server, term};

const FIRST: &str = include_str!("../schemas/1.sql");
const SECOND: &str = include_str!("../schemas/2.sql");
const THIRD: &str = include_str!("../schemas/3.sql");
const FOURTH: &str = include_str!("../schemas/4.sql");
const FIFTH: &str = include_str!("../schemas/5.sql");
const NEWEST: &str = include_str!("../schemas/6.sql");

/// A database schema of this form, and a provider of today on it.
async fn made_by(form: &str) -> (String, PostgresProvider) {
    let schema = fresh();
    let sql = form
        .replace("\"dlock\"", &format!("\"{schema}\""))
        .replace("dlock:dlock.", &format!("dlock:{schema}."));
    server()
        .await
        .client()
        .await
        .batch_execute(&sql)
        .await
        .unwrap();
    let provider = on(server().await.pool(2), &schema);
    (schema, provider)
}

/// A process of the first version: it knows the functions of then.
struct Elder {
    client: Client,
    schema: String,
}

impl Elder {
    async fn call(&self, function: &str, parameters: &str, term: &Acquire) -> Row {
        let sql = format!(
            "SELECT verdict, (shown).token FROM \"{}\".lock_{function}_1('', $1, {parameters})",
            self.schema
        );
        let (name, uuid) = (term.name.as_str(), &term.new);
        self.client.query_one(&sql, &[&name, uuid]).await.unwrap()
    }

    /// The verdict, and the token if it was granted.
    async fn acquires(&self, term: &Acquire) -> (String, Option<i64>) {
        let milliseconds = LONG.as_millis();
        let parameters = format!("'elder', NULL, NULL, $2, {milliseconds}, 'kept'::bytea, 0");
        let row = self.call("acquire", &parameters, term).await;
        (row.get(0), row.get(1))
    }

    async fn renews(&self, term: &Acquire, n: u64) -> String {
        self.call("renew", &format!("$2, {n}"), term).await.get(0)
    }

    async fn releases(&self, term: &Acquire) -> String {
        self.call("release", "$2", term).await.get(0)
    }
}

/// A schema without its comments.
pub(crate) fn essence(sql: &str) -> Vec<&str> {
    let lines = sql.lines();
    let lines = lines.map(|line| line.split("--").next().unwrap_or_default().trim());
    lines.filter(|line| !line.is_empty()).collect()
}

#[tokio::test]
async fn schema_of_today_is_the_newest_in_the_folder() {
    let provider = on(server().await.pool(1), "dlock");
    assert!(
        essence(&provider.schema_sql()) == essence(NEWEST),
        "the schema has changed: add it to tests/schemas, and what becomes of holders to these tests"
    );
}

/// Every call of today, on locks of its own.
async fn is_used(provider: &PostgresProvider) {
    let (a, b) = (term("used a").data(Some(vec![0; 4096])), term("used b"));
    for term in [&a, &b] {
        let outcome = provider.acquire(term).await.unwrap();
        assert!(matches!(outcome, AcquireOutcome::Acquired(_)));
    }
    let renew = |term: &Acquire, n| Renew::new(term.name.clone(), term.new, n);
    for renewed in provider.renew_many(&[renew(&a, 1), renew(&b, 1)]).await {
        assert_eq!(renewed.unwrap(), RenewOutcome::Renewed { asked: false });
    }
    let ask = Ask::new(a.name.clone(), a.new);
    assert_eq!(provider.ask(&ask).await.unwrap(), AskOutcome::Asked);
    let closing = Closing::new(Duration::from_secs(60)).unwrap();
    let close = Release::new(a.name.clone(), a.new, None).closing(Some(closing));
    assert_eq!(
        provider.release(&close).await.unwrap(),
        ReleaseOutcome::Released
    );
    let version = Version {
        uuid: b.new,
        renewals: 1,
    };
    let revoke = Revoke::new(b.name.clone(), version).unwrap();
    assert_eq!(
        provider.revoke(&revoke).await.unwrap(),
        RevokeOutcome::Revoked
    );
    let page = provider.list(&List::new("used ")).await.unwrap();
    assert_eq!(page.records.len(), 2);
    assert_eq!(provider.purge(10).await.unwrap(), 0);
}

#[tokio::test]
async fn newest_schema_is_used_as_it_is() {
    let (_, provider) = made_by(NEWEST).await;
    provider.verify_schema().await.unwrap();
    is_used(&provider).await;
}

/// Its batches walked along a whole index where their plan was made on an empty table.
#[tokio::test]
async fn second_schema_is_given_batches_that_take_each_row_by_its_key() {
    let (_, provider) = made_by(SECOND).await;
    match provider.verify_schema().await.unwrap_err() {
        SchemaError::Differs { lacks, .. } => assert_eq!(lacks.len(), 3, "{lacks:?}"),
        error => panic!("{error:?}"),
    }
    create(&provider).await;
    is_used(&provider).await;
}

/// Its grants bring one token. A repeat of such a grant that goes to today's function claims no other: those below are
/// the former holder's.
#[tokio::test]
async fn third_schema_is_given_blocks_of_tokens() {
    let (schema, provider) = made_by(THIRD).await;
    match provider.verify_schema().await.unwrap_err() {
        SchemaError::Differs { lacks, .. } => assert_eq!(lacks.len(), 2, "{lacks:?}"),
        error => panic!("{error:?}"),
    }
    create(&provider).await;
    let a = term("lock").tokens(Tokens::MOST);
    let take = format!(
        "SELECT (shown).token FROM \"{schema}\".lock_acquire_2('', 'lock', '', NULL, NULL, $1, 600000, NULL, 0)"
    );
    let client = server().await.client().await;
    let token: i64 = client.query_one(&take, &[&a.new]).await.unwrap().get(0);
    let token = FencingToken::new(token.unsigned_abs()).unwrap();
    let repeated = provider.acquire(&a).await.unwrap();
    assert_eq!(repeated, AcquireOutcome::Acquired(token.into()));
    is_used(&provider).await;
}

/// Its releases notify always, and so they still do.
#[tokio::test]
async fn fourth_schema_is_given_larger_blocks_and_releases_that_notify_where_somebody_listens() {
    let (schema, provider) = made_by(FOURTH).await;
    match provider.verify_schema().await.unwrap_err() {
        SchemaError::Differs { lacks, .. } => assert_eq!(lacks.len(), 2, "{lacks:?}"),
        error => panic!("{error:?}"),
    }
    create(&provider).await;
    is_used(&provider).await;

    let a = term("lock");
    provider.acquire(&a).await.unwrap();
    let listening = listening(server().await.pool(2), &schema, server().await.config());
    let mut stream = listening.watch().await.unwrap().expect("it listens");
    let release = format!(
        "SELECT verdict FROM \"{schema}\".lock_release_3('', 'lock', $1, '{schema}.lock:0:lock')"
    );
    let client = server().await.client().await;
    let released = client.query_one(&release, &[&a.new]).await.unwrap();
    assert_eq!(released.get::<_, &str>(0), "released");
    let heard = timeout(Duration::from_secs(10), stream.next()).await;
    assert_eq!(heard, Ok(Some(Wakeup::Name(a.name))));
}

/// Its grants bring up to sixteen tokens. Both functions mint above what the other has.
#[tokio::test]
async fn fifth_schema_is_given_larger_blocks() {
    let (schema, provider) = made_by(FIFTH).await;
    match provider.verify_schema().await.unwrap_err() {
        SchemaError::Differs { lacks, .. } => assert_eq!(lacks.len(), 1, "{lacks:?}"),
        error => panic!("{error:?}"),
    }
    create(&provider).await;
    is_used(&provider).await;

    let a = term("lock").tokens(Tokens::MOST);
    let AcquireOutcome::Acquired(block) = provider.acquire(&a).await.unwrap() else {
        panic!("it was free");
    };
    assert_eq!(block.count(), Tokens::MOST);
    let release = Release::new(a.name.clone(), a.new, None);
    provider.release(&release).await.unwrap();
    let b = term("lock");
    let take = format!(
        "SELECT (shown).token FROM \"{schema}\".lock_acquire_3('', 'lock', '', NULL, NULL, $1, 600000, NULL, 0, 16)"
    );
    let client = server().await.client().await;
    let token: i64 = client.query_one(&take, &[&b.new]).await.unwrap().get(0);
    assert!(token.unsigned_abs() >= block.last().get() + 16);
}

#[tokio::test]
async fn first_schema_is_named_and_completed_beside_holders() {
    let (schema, provider) = made_by(FIRST).await;
    let client = server().await.client().await;
    let elder = Elder { client, schema };
    let (held, other) = (term("held"), term("other"));
    let (verdict, token) = elder.acquires(&held).await;
    assert_eq!(verdict, "acquired");
    let token = FencingToken::new(token.unwrap().unsigned_abs()).unwrap();

    let error = provider.acquire(&other).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal);
    assert!(error.to_string().contains("create_schema()"), "{error}");
    match provider.verify_schema().await.unwrap_err() {
        SchemaError::Differs { lacks, .. } => assert_eq!(lacks.len(), 8, "{lacks:?}"),
        error => panic!("{error:?}"),
    }
    let record = provider.read(&held.name).await.unwrap().unwrap();
    create(&provider).await;
    let after = provider.read(&held.name).await.unwrap().unwrap();
    assert_eq!((after.uuid, after.token), (held.new, token));
    assert_eq!(
        (after.owner, after.data),
        (record.owner, Some(b"kept".to_vec()))
    );

    // The process of then goes on, and the one of today waits for it.
    assert_eq!(elder.renews(&held, 1).await, "renewed");
    let refused = provider.acquire(&term("held")).await.unwrap();
    assert!(matches!(refused, AcquireOutcome::Held(record) if record.uuid == held.new));
    let renew = Renew::new(held.name.clone(), held.new, 2);
    let renewed = provider.renew(&renew).await.unwrap();
    assert_eq!(renewed, RenewOutcome::Renewed { asked: false });
    assert_eq!(elder.releases(&held).await, "released");
    let next = term("held");
    let outcome = provider.acquire(&next).await.unwrap();
    let AcquireOutcome::Acquired(tokens) = outcome else {
        panic!("{outcome:?}")
    };
    let next_token = tokens.last();
    assert!(next_token > token);

    // And the other way round.
    assert_eq!(elder.acquires(&held).await.0, "held");
    let release = Release::new(next.name.clone(), next.new, None);
    provider.release(&release).await.unwrap();
    let (verdict, last) = elder.acquires(&term("held")).await;
    assert_eq!(verdict, "acquired");
    assert!(last.unwrap().unsigned_abs() > next_token.get());
    is_used(&provider).await;
}
