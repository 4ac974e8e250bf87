//! Wake-ups: what is hinted, to which listeners, and that a waiter that receives a hint finds the lock free.

use std::time::Duration;

use dlock_core::{
    Client, DLock, Provider,
    provider::{Admin, Ask, Release, ReleaseOutcome, Renew, Revoke, Version, Wakeup},
};
use dlock_postgres::PostgresProvider;
use dlock_testkit::faults::{Faulty, Op, Outcome};
use tokio::time::timeout;

use crate::{
    hearing::{SOON, granted, heard, use_wanted, waits, watch},
    support::{LONG, Table, name, server, telling, term, until},
};

/// A poll later than the end of any test: a waiter that gets the lock was woken.
const NEVER: Duration = Duration::from_secs(3600);

async fn listening(table: &Table) -> PostgresProvider {
    table.listening(server().await.pool(4), server().await.config())
}

#[tokio::test]
async fn waiter_in_another_process_is_woken_by_each_release() {
    let table = Table::create().await;
    let ours = Faulty::new(listening(&table).await);
    let theirs = Faulty::new(listening(&table).await);
    let lock = |provider: &Faulty<PostgresProvider>| {
        let lock = DLock::builder()
            .name("lock")
            // At the end of a lease a waiter would try without a hint.
            .duration(LONG)
            .poll_every(NEVER)
            .provider(Client::new(provider.clone()));
        lock.build().unwrap()
    };
    let sides = [(lock(&ours), ours), (lock(&theirs), theirs)];
    let mut lease = sides[0].0.acquire().await.unwrap();
    // A holder that hears no hints would leave the lock to others for long.
    until("the first holder listens", async || {
        let calls = sides[0].1.calls();
        let mut answers = calls.iter().map(|call| &call.answer);
        answers.any(|answer| matches!(answer, Some(Ok(Outcome::Watch(true)))))
    })
    .await;
    for round in 1..=20 {
        let (lock, provider) = sides[round % 2].clone();
        let tries = provider.count(Op::Acquire);
        let waiter = tokio::spawn(async move { lock.acquire().await });
        until("the waiter is refused", async || {
            let calls = provider.calls();
            let mut tried = calls
                .iter()
                .filter(|call| call.op == Op::Acquire)
                .skip(tries);
            tried.next().is_some_and(|call| call.answer.is_some())
        })
        .await;
        lease.release().await.unwrap();
        let entered = timeout(SOON, waiter).await.expect("never woken");
        lease = entered.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn waiter_that_hears_of_a_release_is_granted_the_lock() {
    let table = Table::create().await;
    let (ours, theirs) = (listening(&table).await, listening(&table).await);
    let mut stream = watch(&theirs).await;
    let first = term("lock");
    granted(&ours, &first).await;
    waits(&theirs, "lock").await;
    let release = Release::new(first.name.clone(), first.new, None);
    ours.release(&release).await.unwrap();
    assert_eq!(heard(&mut stream).await, first.name);
    let mut token = None;
    for _ in 0..300 {
        let a = term("lock");
        token = token.max(Some(granted(&ours, &a).await));
        waits(&theirs, "lock").await;
        let provider = ours.clone();
        // The hint may arrive before the answer to the release does.
        let release = Release::new(a.name.clone(), a.new, None);
        let release = tokio::spawn(async move { provider.release(&release).await });
        assert_eq!(heard(&mut stream).await, a.name);
        let b = term("lock");
        let next = Some(granted(&theirs, &b).await);
        assert!(next > token);
        token = next;
        assert_eq!(
            release.await.unwrap().unwrap(),
            ReleaseOutcome::Released { wanted: true }
        );
        waits(&ours, "lock").await;
        let release = Release::new(b.name.clone(), b.new, None);
        theirs.release(&release).await.unwrap();
        assert_eq!(heard(&mut stream).await, b.name);
    }
}

#[tokio::test]
async fn only_what_frees_a_lock_is_hinted() {
    let table = Table::create().await;
    let provider = listening(&table).await;
    let mut stream = watch(&provider).await;
    let (a, b) = (term("a"), term("b"));
    let renew = |n| Renew::new(a.name.clone(), a.new, n);
    provider.acquire(&a).await.unwrap();
    provider.acquire(&b).await.unwrap();
    waits(&provider, "a").await;
    waits(&provider, "b").await;
    provider.renew(&renew(1)).await.unwrap();
    provider.renew_many(&[renew(2), renew(3)]).await;
    provider.read(&a.name).await.unwrap();
    let ask = Ask::new(a.name.clone(), a.new);
    provider.ask(&ask).await.unwrap();
    let refused = Release::new(a.name.clone(), b.new, None);
    provider.release(&refused).await.unwrap();
    let nothing = Release::new(name("nobody's"), b.new, None);
    provider.release(&nothing).await.unwrap();
    // No client may enter a revoked lock before its lease has ended.
    let seen = Version {
        uuid: b.new,
        renewals: 0,
    };
    let revoke = Revoke::new(b.name.clone(), seen).unwrap();
    provider.revoke(&revoke).await.unwrap();

    let record = provider.read(&a.name).await.unwrap().unwrap();
    for _ in 0..2 {
        // The second one finds it released already.
        provider.force_release(&a.name, &record).await.unwrap();
    }
    let release = Release::new(a.name.clone(), a.new, None);
    provider.release(&release).await.unwrap();
    assert_eq!(heard(&mut stream).await, a.name);
    use_wanted(&provider, "the end").await;
    assert_eq!(heard(&mut stream).await, name("the end"));
}

#[tokio::test]
async fn hints_stay_with_their_table_and_prefix() {
    let (one, other) = (Table::create().await, Table::create().await);
    let plain = listening(&one).await;
    let all = [
        plain.clone(),
        plain.with_prefix("p").unwrap(),
        plain.with_prefix("p:").unwrap(),
        listening(&other).await,
    ];
    let mut streams = Vec::new();
    for provider in &all {
        let stream = watch(provider).await;
        for n in 0..all.len() {
            granted(provider, &term(&format!(":lock {n}"))).await;
            waits(provider, &format!(":lock {n}")).await;
        }
        streams.push(stream);
    }
    for (n, provider) in all.iter().enumerate() {
        let name = name(&format!(":lock {n}"));
        let record = provider.read(&name).await.unwrap().unwrap();
        provider.force_release(&name, &record).await.unwrap();
    }
    for (n, (provider, stream)) in all.iter().zip(&mut streams).enumerate() {
        assert_eq!(heard(stream).await, name(&format!(":lock {n}")));
        use_wanted(provider, "the end").await;
    }
    for stream in &mut streams {
        assert_eq!(heard(stream).await, name("the end"));
    }
}

#[tokio::test]
async fn provider_that_need_not_tell_anybody_does_not() {
    let table = Table::create().await;
    let plain = table.provider(server().await.pool(2));
    let telling = telling(server().await.pool(2), table.schema());
    for provider in [&plain, &telling] {
        assert!(!provider.capabilities().watch);
        assert!(provider.watch().await.unwrap().is_none());
    }
    let listening = listening(&table).await;
    let mut stream = watch(&listening).await;
    for (provider, lock) in [(&plain, "in silence"), (&telling, "aloud")] {
        let a = term(lock);
        granted(provider, &a).await;
        waits(&listening, lock).await;
        let release = Release::new(a.name.clone(), a.new, None);
        provider.release(&release).await.unwrap();
    }
    assert_eq!(heard(&mut stream).await, name("aloud"));
}

#[tokio::test]
async fn hint_that_the_server_cannot_take_does_not_keep_the_lock() {
    let table = Table::create().await;
    let provider = listening(&table).await;
    let client = server().await.client().await;
    let mut stream = watch(&provider).await;
    // The server's codes when its queue of notifications is full, at 8 GB, or its table of locks.
    for code in ["54000", "53200"] {
        let full = format!(
            "CREATE OR REPLACE FUNCTION \"{0}\".full(text, text) RETURNS void LANGUAGE plpgsql AS
             $$ BEGIN RAISE 'full' USING ERRCODE = '{code}'; END $$;
             DO $$ BEGIN EXECUTE replace(
                 pg_get_functiondef('\"{0}\".lock_release_1'::regproc), 'pg_notify(', '\"{0}\".full('
             ); END $$",
            table.schema()
        );
        client.batch_execute(&full).await.unwrap();
        let unheard = format!("unheard: {code}");
        use_wanted(&provider, &unheard).await;
        let record = provider.read(&name(&unheard)).await.unwrap().unwrap();
        assert!(record.released);
        client.batch_execute(&provider.schema_sql()).await.unwrap();
        let heard_of = format!("heard of: {code}");
        use_wanted(&provider, &heard_of).await;
        assert_eq!(heard(&mut stream).await, name(&heard_of));
    }
}

#[tokio::test]
async fn hints_that_nobody_picks_up_end_the_stream() {
    let table = Table::create().await;
    let provider = listening(&table).await;
    let mut idle = watch(&provider).await;
    // As many releases at once; the server passes the same text on only once.
    let flood = format!(
        "SELECT pg_notify('dlock:{0}.lock', '{0}.lock:0:' || n) FROM generate_series(1, 1200) AS n",
        table.schema()
    );
    let client = server().await.client().await;
    client.batch_execute(&flood).await.unwrap();
    until("it is given up", async || {
        server().await.listeners(table.schema()).await == 0
    })
    .await;
    let mut picked_up = 0;
    while let Some(hint) = timeout(SOON, idle.next()).await.expect("it goes on") {
        picked_up += 1;
        assert_eq!(hint, Wakeup::Name(name(&picked_up.to_string())));
    }
    assert!((1000..1200).contains(&picked_up), "{picked_up}");
}
