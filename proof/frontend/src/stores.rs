//! Parts that the suites of stores share: servers that are killed, gone or silent, connections that lead to the wrong
//! one, and records that others delete or that are old.

#![expect(
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::unwrap_used,
    reason = "what fails here is a test, and the message is what people read"
)]

use std::{net::SocketAddr, time::Duration};

use dlock_core::{
    DLock, ErrorKind, FencingToken, Name, Provider,
    provider::{Acquire, AcquireOutcome, Admin, List, Release, Renew, RenewOutcome},
};
use dlock_testkit::proxy::{Direction, Fault, Proxy};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep, timeout},
};
use uuid::Uuid;

/// Longer than anything takes here that does not hang.
pub const LONG: Duration = Duration::from_secs(60);

/// A try for a lease that outlives the test.
#[must_use]
pub fn term(name: &str) -> Acquire {
    Acquire::new(Name::new(name).unwrap(), Uuid::new_v4(), LONG)
}

/// A waiter marks the current term of this name: only a marked term's release is hinted (N3).
pub async fn marked(provider: &(impl Provider + ?Sized), name: &Name) {
    let waiter = Acquire::new(name.clone(), Uuid::new_v4(), LONG).marks(7);
    match provider.acquire(&waiter).await.unwrap() {
        AcquireOutcome::Held(record) => assert_eq!(record.wanted, 7),
        other => panic!("{name}: {other:?}"),
    }
}

/// The token of a try that must be granted.
pub async fn granted(provider: &(impl Provider + ?Sized), request: &Acquire) -> FencingToken {
    match provider.acquire(request).await.unwrap() {
        AcquireOutcome::Acquired(tokens) => tokens.last(),
        other => panic!("{:?}: {other:?}", request.name),
    }
}

/// Whether a try that must be answered is refused.
pub async fn is_held(provider: &(impl Provider + ?Sized), lock: &str) -> bool {
    let outcome = provider.acquire(&term(lock)).await.unwrap();
    matches!(outcome, AcquireOutcome::Held(_))
}

/// A renewal that must be answered: no other client has asked for the lock (B3).
pub async fn renewed(provider: &(impl Provider + ?Sized), held: &Acquire, n: u64) {
    let request = Renew::new(held.name.clone(), held.new, n);
    let renewed = provider.renew(&request).await.unwrap();
    assert_eq!(renewed, RenewOutcome::Renewed { asked: false });
}

/// A release that must be answered.
pub async fn released(provider: &(impl Provider + ?Sized), held: &Acquire) {
    let request = Release::new(held.name.clone(), held.new, None);
    let released = provider.release(&request).await.unwrap();
    assert!(released.is_released(), "{released:?}");
}

/// Takes a lock and renews it continuously, until it is aborted.
pub async fn keep_busy(provider: impl Provider) -> JoinHandle<()> {
    let busy = term("busy");
    granted(&provider, &busy).await;
    tokio::spawn(async move {
        for n in 1.. {
            renewed(&provider, &busy, n).await;
            sleep(Duration::from_millis(10)).await;
        }
    })
}

/// Waits until the condition holds.
pub async fn until(what: &str, mut so: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + LONG;
    while !so().await {
        assert!(Instant::now() < deadline, "waited too long until {what}");
        sleep(Duration::from_millis(10)).await;
    }
}

/// Returns once the provider has an answer again. The first calls may meet broken connections.
pub async fn until_answered(provider: &(impl Provider + ?Sized)) {
    let name = Name::new("anything").unwrap();
    until("a call is answered", async || {
        let answer = provider.read(&name).await;
        if let Err(error) = &answer {
            assert_ne!(error.kind(), ErrorKind::Fatal, "{error:?}");
        }
        answer.is_ok()
    })
    .await;
}

/// Acknowledged writes are still there when the server is back, and cached knowledge of them still leads to one write.
pub async fn acknowledged_writes_survive_a_server_that_is_killed<S, P: Provider>(
    mut server: S,
    connect: impl AsyncFn(&S) -> P,
    restart: impl AsyncFn(&mut S),
) {
    let provider = connect(&server).await;
    let a = term("door");
    let token = granted(&provider, &a).await;
    for n in 1..=3 {
        renewed(&provider, &a, n).await;
        restart(&mut server).await;
        let other = connect(&server).await;
        let record = other.read(&a.name).await.unwrap().unwrap();
        assert_eq!(
            (record.uuid, record.renewals, record.token),
            (a.new, n, token)
        );
        assert!(is_held(&other, "door").await);
        until_answered(&provider).await;
    }
    released(&provider, &a).await;
}

/// Neither the holder nor the waiter behind it notices.
pub async fn guard_survives_a_server_that_is_killed<S, P: Provider>(
    mut server: S,
    connect: impl AsyncFn(&S) -> P,
    restart: impl AsyncFn(&mut S),
) {
    let lock = |provider: P| {
        let lock = DLock::builder().name("door").duration(LONG);
        let lock = lock.renew_every(Duration::from_secs(3));
        lock.provider(provider).build().unwrap()
    };
    let guard = lock(connect(&server).await).hold().await.unwrap();
    let waiting = lock(connect(&server).await);
    let waiter = crate::spawn(async move { waiting.acquire().await });
    let door = term("door").name;
    for _ in 0..2 {
        restart(&mut server).await;
        let direct = connect(&server).await;
        let renewals = async || direct.read(&door).await.unwrap().unwrap().renewals;
        let before = renewals().await;
        until("it is renewed", async || renewals().await > before).await;
        assert!(guard.is_valid(), "{:?}", guard.state());
        assert!(!waiter.is_finished());
    }
    let token = guard.token();
    guard.release().await.unwrap();
    let next = timeout(LONG, waiter).await.unwrap().unwrap().unwrap();
    assert!(next.token() > token);
    next.release().await.unwrap();
}

/// For a server that does not exist, the provider reports at once that nothing was applied. Its limit is far longer.
pub async fn server_that_is_not_there_is_said_so_at_once(provider: impl Provider) {
    let at_once = async {
        for _ in 0..3 {
            let error = provider.acquire(&term("door")).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
            let error = provider.read(&term("door").name).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
        }
    };
    timeout(LONG, at_once).await.unwrap();
}

/// A deleted record is no longer a lock, and the tokens of its name continue.
pub async fn deleted_record_loses_the_lease_and_keeps_the_order_of_tokens(
    provider: &(impl Provider + ?Sized),
    delete: impl AsyncFnOnce(&str),
) {
    let a = term("door");
    let first = granted(provider, &a).await;
    delete("door").await;
    let renewed = provider.renew(&Renew::new(a.name.clone(), a.new, 1)).await;
    assert_eq!(renewed.unwrap(), RenewOutcome::Lost(None));
    assert_eq!(provider.read(&a.name).await.unwrap(), None);
    assert!(granted(provider, &term("door")).await > first);
}

/// Of two old records, which `age` makes eight days older, one has been released.
pub async fn purge_deletes_what_was_released_and_is_a_week_past(
    provider: &impl Admin,
    age: impl AsyncFn(&str),
) {
    for name in ["old", "held", "young"] {
        let a = term(name);
        granted(provider, &a).await;
        if name != "held" {
            released(provider, &a).await;
        }
        if name != "young" {
            age(name).await;
        }
    }
    assert_eq!(provider.purge(100).await.unwrap(), 1);
    assert_eq!(names(provider, 10).await.0, ["held", "young"]);
}

/// The JSON of a record as it was eight days ago, by its own account.
#[must_use]
pub fn aged(record: &str) -> String {
    let mut text = record.to_owned();
    for field in ["since", "token"] {
        let (before, rest) = text.split_once(&format!("\"{field}\":")).unwrap();
        let end = rest.find([',', '}']).unwrap();
        let micros: u64 = rest[..end].parse().unwrap();
        let aged = micros - 8 * 24 * 60 * 60 * 1_000_000;
        text = format!("{before}\"{field}\":{aged}{}", &rest[end..]);
    }
    text
}

/// The names of all records, and of those that cannot be read, on pages of this size.
pub async fn names(provider: &impl Admin, limit: usize) -> (Vec<String>, Vec<String>) {
    let (mut listed, mut unreadable, mut after) = (Vec::new(), Vec::new(), None);
    loop {
        let request = List::new("").after(after).limit(limit);
        let page = provider.list(&request).await.unwrap();
        assert!(page.records.len() <= limit);
        listed.extend(page.records.iter().map(|(name, _)| name.to_string()));
        unreadable.extend(page.unreadable.iter().map(|(name, _)| name.to_string()));
        assert!(listed.len() <= 100, "pages repeat: {listed:?}");
        after = page.next;
        if after.is_none() {
            return (listed, unreadable);
        }
    }
}

/// Makes as many concurrent calls as the pool has connections: with the priority of a holder, so that no call is left
/// out.
async fn all_at_once<P: Provider + Clone>(provider: &P, connections: usize) {
    let renew = Renew::new(term("nothing").name, Uuid::new_v4(), 1);
    let calls: Vec<_> = (0..connections)
        .map(|_| {
            let (provider, renew) = (provider.clone(), renew.clone());
            crate::spawn(async move { provider.renew(&renew).await })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap(), RenewOutcome::Lost(None));
    }
}

/// Opens all connections that the pool may have: none is lent twice while no opening is answered.
async fn fill<P: Provider + Clone>(provider: &P, proxy: &Proxy, connections: usize) {
    proxy.hold(Direction::ToClient);
    let filling = all_at_once(provider, connections);
    let opened = async {
        until("all connections are open", async || {
            proxy.connections() == connections
        })
        .await;
        proxy.heal();
    };
    tokio::join!(filling, opened);
}

/// After a planned failover the address leads to the new server, and the old connections to the old one, which only
/// reads. One call detects it, and the next one is answered by the new server; so are as many as the pool has
/// connections.
///
/// The pool is empty, and leads through the proxy. `fail_over` makes the old server read-only.
pub async fn one_call_leaves_a_server_that_only_reads<P: Provider + Clone>(
    provider: P,
    proxy: &Proxy,
    connections: usize,
    fail_over: impl AsyncFnOnce() -> SocketAddr,
) {
    fill(&provider, proxy, connections).await;
    proxy.lead_to(fail_over().await);
    let error = provider.acquire(&term("door")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
    let calls = (0..connections).map(|n| {
        let provider = provider.clone();
        crate::spawn(async move { granted(&provider, &term(&format!("door {n}"))).await })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
}

/// After a silent failover the address leads to the new server, and the old connections lead nowhere. One call gets no
/// answer and is abandoned; the next ones, as many as the pool has connections, are answered over new connections.
///
/// `connect` returns an empty pool of `connections` connections, which leads to the address, and has limits for calls
/// that no busy machine exceeds.
pub async fn one_call_leaves_silent_connections<P: Provider + Clone>(
    server: SocketAddr,
    connections: usize,
    connect: impl AsyncFnOnce(SocketAddr) -> P,
) {
    let old = Proxy::start(server).await.unwrap();
    let proxy = Proxy::start(old.address()).await.unwrap();
    let provider = connect(proxy.address()).await;
    fill(&provider, &proxy, connections).await;
    for direction in [Direction::ToServer, Direction::ToClient] {
        old.hold(direction);
    }
    proxy.lead_to(server);
    let before = proxy.round_trips();
    given_up(&provider, "the call was sent", async || {
        proxy.round_trips() > before
    })
    .await;
    all_at_once(&provider, connections).await;
}

/// Opening a connection may take longer than an attempt. The opening continues without the call that began it, and the
/// connection is there for a later one.
///
/// The pool is empty, and leads through the proxy.
pub async fn opening_outlives_its_call<P: Provider + Clone>(provider: P, proxy: &Proxy) {
    proxy.hold(Direction::ToClient);
    given_up(&provider, "the connection is being opened", async || {
        proxy.connections() == 1
    })
    .await;
    // From here on there is no other way to an answer.
    proxy.refuse().await;
    proxy.heal();
    until_answered(&provider).await;
    assert_eq!(proxy.connections(), 1);
}

/// Opening a connection may leave an attempt no time for an answer. Such a connection is closed, and another one is
/// opened for a later call.
///
/// The pool is empty, and leads through the proxy; opening a connection takes `exchanges` exchanges.
pub async fn connection_that_came_too_late_is_replaced<P: Provider + Clone>(
    provider: P,
    proxy: &Proxy,
    exchanges: usize,
) {
    proxy.spare(exchanges);
    proxy.next(Fault::LoseReply);
    given_up(&provider, "its answer is lost", async || {
        proxy.struck() == 1
    })
    .await;
    until("another connection is being opened", async || {
        proxy.connections() == 2
    })
    .await;
    proxy.refuse().await;
    until_answered(&provider).await;
    assert_eq!(proxy.connections(), 2);
}

/// Makes a call, and drops it when the condition holds.
async fn given_up<P: Provider + Clone>(provider: &P, what: &str, so: impl AsyncFnMut() -> bool) {
    let provider = provider.clone();
    let call = crate::spawn(async move { provider.read(&term("door").name).await });
    until(what, so).await;
    call.abort();
    call.await.unwrap_err();
}
