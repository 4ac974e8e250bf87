//! The clean-up that only this store has: purging released records by two clocks, and DynamoDB's
//! own deletion. And pages that begin outside the requested range.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::time::{SystemTime, UNIX_EPOCH};

use crate::common::{
    PATIENCE, client, client_of, item, provider, provider_on, put, settings, table_name, term, url,
};
use aws_sdk_dynamodb::{
    Client,
    config::{
        ConfigBag, Intercept, RuntimeComponents,
        interceptors::BeforeSerializationInterceptorContextRef,
    },
    error::BoxError,
    operation::delete_item::DeleteItemInput,
    types::AttributeValue,
};
use dlock_core::{
    FencingToken, Name, Provider,
    provider::{Acquire, AcquireOutcome, Admin, List, Release, Renew},
};
use dlock_dynamodb::DynamodbProvider;

const DAY: u64 = 24 * 60 * 60;

/// Sets a number of a record, as if time had passed.
async fn set(provider: &DynamodbProvider, of: &Acquire, attribute: &str, value: u64) {
    let client = client().await;
    let mut changed = item(&client, provider.table_name(), of.name.as_str())
        .await
        .unwrap();
    changed.insert(attribute.into(), AttributeValue::N(value.to_string()));
    put(&client, provider.table_name(), changed).await;
}

#[expect(clippy::disallowed_methods, reason = "to write records of long ago")]
fn seconds_now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

/// A lock, released or not, whose term began and whose name was first used that many days ago.
pub(super) async fn aged(
    provider: &DynamodbProvider,
    name: &str,
    released: bool,
    days: u64,
) -> Acquire {
    let a = term(name);
    provider.acquire(&a).await.unwrap();
    if released {
        let release = Release::new(a.name.clone(), a.new, None);
        provider.release(&release).await.unwrap();
    }
    let then = (seconds_now() - days * DAY) * 1_000_000;
    set(provider, &a, "since", then).await;
    set(provider, &a, "token", then).await;
    a
}

async fn there(provider: &DynamodbProvider, of: &Acquire) -> bool {
    provider.read(&of.name).await.unwrap().is_some()
}

#[tokio::test]
async fn purge_takes_released_records_that_are_a_week_past_and_no_others() {
    let provider = provider().await;
    let old = aged(&provider, "old", true, 8).await;
    let young = aged(&provider, "young", true, 6).await;
    let fresh = aged(&provider, "fresh", true, 0).await;
    // No clock can tell a dead holder from one that renews.
    let held = aged(&provider, "held", false, 400).await;
    // Long unused, but its token is ahead of the clock: its name would restart below it.
    let ahead = aged(&provider, "ahead", true, 30).await;
    set(
        &provider,
        &ahead,
        "token",
        (seconds_now() + DAY) * 1_000_000,
    )
    .await;
    // Not yet a week behind: a first token of a clock that is days slow would be below it.
    let recent = aged(&provider, "recent", true, 30).await;
    set(
        &provider,
        &recent,
        "token",
        (seconds_now() - 6 * DAY) * 1_000_000,
    )
    .await;
    // A lease of 24 h could have lasted until 7 days ago.
    let long = aged(&provider, "long", true, 7).await;
    set(&provider, &long, "duration", 86_400_000).await;

    assert_eq!(provider.purge(100).await.unwrap(), 1);
    assert!(!there(&provider, &old).await);
    for kept in [&young, &fresh, &held, &ahead, &recent, &long] {
        assert!(there(&provider, kept).await, "{}", kept.name);
    }
    // The holder has noticed nothing, and the tokens of a purged name continue above its old ones.
    let renewal = Renew::new(held.name.clone(), held.new, 1);
    provider.renew(&renewal).await.unwrap();
    let AcquireOutcome::Acquired(tokens) = provider.acquire(&term("old")).await.unwrap() else {
        panic!("nobody holds it");
    };
    let token = tokens.last();
    assert!(token.get() > (seconds_now() - 60) * 1_000_000);
}

#[tokio::test]
async fn purge_stops_at_its_limit_and_keeps_to_its_prefix() {
    let provider = provider().await;
    let other = provider.with_prefix("other").unwrap();
    let stranger = term("7");
    other.acquire(&stranger).await.unwrap();
    let mut terms = Vec::new();
    for name in 0..5 {
        terms.push(aged(&provider, &name.to_string(), true, 8).await);
    }
    assert_eq!(provider.purge(0).await.unwrap(), 0);
    assert_eq!(other.purge(100).await.unwrap(), 0);
    assert_eq!(provider.purge(2).await.unwrap(), 2);
    let page = provider.list(&List::new("")).await.unwrap();
    assert_eq!(page.records.len(), 3);
    assert_eq!(provider.purge(100).await.unwrap(), 3);
    assert!(there(&other, &stranger).await);
}

/// Takes a lock just before a deletion of its record is sent.
#[derive(Debug)]
struct TakenMeanwhile {
    url: &'static str,
    table: String,
    term: Acquire,
}

impl Intercept for TakenMeanwhile {
    fn name(&self) -> &'static str {
        "TakenMeanwhile"
    }

    fn read_before_serialization(
        &self,
        context: &BeforeSerializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if context.input().downcast_ref::<DeleteItemInput>().is_none() {
            return Ok(());
        }
        // Interceptors do not wait; a thread does.
        std::thread::scope(|scope| {
            let taking = scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                let provider = provider_on(client_of(self.url), &self.table);
                runtime.block_on(provider.acquire(&self.term)).unwrap();
            });
            taking.join().unwrap();
        });
        Ok(())
    }
}

#[tokio::test]
async fn purge_spares_a_record_that_was_taken_meanwhile() {
    let provider = provider().await;
    aged(&provider, "old", true, 8).await;
    let interceptor = TakenMeanwhile {
        url: url().await,
        table: provider.table_name().to_owned(),
        term: term("old"),
    };
    let taken = interceptor.term.clone();
    let client = Client::from_conf(settings(interceptor.url).interceptor(interceptor).build());
    let purging = provider_on(client, provider.table_name());
    assert_eq!(purging.purge(100).await.unwrap(), 0);
    let record = provider.read(&taken.name).await.unwrap().unwrap();
    assert_eq!((record.uuid, record.released), (taken.new, false));
}

/// A provider that lets this server delete, and another one that does not.
async fn expiring(url: &str) -> (DynamodbProvider, DynamodbProvider) {
    let table = table_name();
    let expiring = DynamodbProvider::builder()
        .client(client_of(url))
        .table_name(&table)
        .expire_released(true)
        .attempt_timeout(PATIENCE)
        .call_timeout(PATIENCE)
        .build()
        .unwrap();
    expiring.create_table().await.unwrap();
    (expiring, provider_on(client_of(url), &table))
}

/// The time to live of a lock's item, in seconds since 1970.
async fn ttl(url: &str, provider: &DynamodbProvider, of: &Acquire) -> Option<u64> {
    let item = item(&client_of(url), provider.table_name(), of.name.as_str()).await;
    let ttl = item.unwrap().get("ttl")?.as_n().unwrap().parse();
    Some(ttl.unwrap())
}

#[tokio::test]
async fn released_records_alone_have_a_time_to_live() {
    let url = url().await;
    let (expiring, plain) = expiring(url).await;
    let a = term("nightly");
    let AcquireOutcome::Acquired(tokens) = expiring.acquire(&a).await.unwrap() else {
        panic!("nobody holds it");
    };
    let token = tokens.last();
    assert_eq!(ttl(url, &expiring, &a).await, None);
    expiring
        .renew(&Renew::new(a.name.clone(), a.new, 1))
        .await
        .unwrap();
    assert_eq!(
        ttl(url, &expiring, &a).await,
        None,
        "DynamoDB would delete a held record"
    );
    let release = Release::new(a.name.clone(), a.new, Some(token));
    expiring.release(&release).await.unwrap();
    let in_30_days = seconds_now() + 30 * DAY;
    let written = ttl(url, &expiring, &a).await.unwrap();
    assert!(
        (in_30_days - 60..=in_30_days).contains(&written),
        "{written}"
    );

    // An acquire removes the attribute, also that of a client with no time to live configured.
    let b = term("nightly");
    plain.acquire(&b).await.unwrap();
    assert_eq!(ttl(url, &plain, &b).await, None);
    plain
        .release(&Release::new(b.name.clone(), b.new, Some(token)))
        .await
        .unwrap();
    assert_eq!(ttl(url, &plain, &b).await, None, "nobody asked for it");

    // A token ahead of the clock is remembered for longer: its name must not start again below it.
    let ahead = FencingToken::new(token.get() + 365 * DAY * 1_000_000).unwrap();
    let c = term("ahead").floor(ahead.get());
    expiring.acquire(&c).await.unwrap();
    expiring
        .release(&Release::new(c.name.clone(), c.new, Some(ahead)))
        .await
        .unwrap();
    let written = ttl(url, &expiring, &c).await.unwrap();
    assert_eq!(written, ahead.get() / 1_000_000 + 30 * DAY);

    // Without a token the time is unknown, so the record stays.
    let d = term("unknown");
    expiring.acquire(&d).await.unwrap();
    expiring
        .release(&Release::new(d.name.clone(), d.new, None))
        .await
        .unwrap();
    assert_eq!(ttl(url, &expiring, &d).await, None);
}

#[tokio::test]
async fn store_deletes_what_was_released_long_ago_and_nothing_that_is_held() {
    // On the emulator inside this process, whose sweeps can be called.
    let (url, database) = dlock_test_servers::dynamodb::dynamodb().unwrap();
    let (expiring, _) = expiring(&url).await;
    let (gone, held) = (term("gone"), term("held"));
    for of in [&gone, &held] {
        let AcquireOutcome::Acquired(tokens) = expiring.acquire(of).await.unwrap() else {
            panic!("nobody holds it");
        };
        let token = tokens.last();
        let release = Release::new(of.name.clone(), of.new, Some(token));
        expiring.release(&release).await.unwrap();
        // 30 days go by.
        let client = client_of(&url);
        let mut aged = item(&client, expiring.table_name(), of.name.as_str())
            .await
            .unwrap();
        aged.insert(
            "ttl".into(),
            AttributeValue::N((seconds_now() - 60).to_string()),
        );
        put(&client, expiring.table_name(), aged).await;
    }
    // One of them is taken just before the store's sweep.
    let taken = term("held");
    expiring.acquire(&taken).await.unwrap();
    assert_eq!(database.sweep_ttl().unwrap(), 1);
    assert!(!there(&expiring, &gone).await);
    let record = expiring.read(&taken.name).await.unwrap().unwrap();
    assert_eq!((record.uuid, record.released), (taken.new, false));
}

#[tokio::test]
async fn pages_may_begin_anywhere() {
    let provider = DynamodbProvider::builder()
        .client(client().await)
        .table_name(table_name())
        .prefix("p")
        .sort_key("lock")
        .attempt_timeout(PATIENCE)
        .call_timeout(PATIENCE)
        .build()
        .unwrap();
    provider.create_table().await.unwrap();
    for name in ["a", "m/1", "m/2", "m/3", "z"] {
        provider.acquire(&term(name)).await.unwrap();
    }
    // DynamoDB refuses to begin a query outside the range of names it queries.
    for (after, expected) in [
        (None, vec!["m/1", "m/2", "m/3"]),
        (Some("a"), vec!["m/1", "m/2", "m/3"]),
        (Some("m/1"), vec!["m/2", "m/3"]),
        (Some("m/11"), vec!["m/2", "m/3"]),
        (Some("z"), vec![]),
    ] {
        let after = after.map(|name| Name::new(name).unwrap());
        let page = provider
            .list(&List::new("m/").after(after.clone()))
            .await
            .unwrap();
        let names: Vec<&str> = page.records.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, expected, "after {after:?}");
        assert_eq!(page.next, None);
    }
}
