//! A network that falls silent: every call ends on its own, its connection is closed, and the next
//! one works as soon as the network does.

use std::time::Duration;

use dlock_core::{
    ErrorKind, Provider,
    provider::{AcquireOutcome, Renew},
};
use dlock_postgres::{PostgresProvider, deadpool_postgres::Pool};
use dlock_testkit::proxy::{Direction, Proxy};
use tokio::time::timeout;

use crate::{
    hearing::SOON,
    support::{Table, pool, server, term, until},
};

const LIMIT: Duration = Duration::from_millis(800);

struct Distant {
    provider: PostgresProvider,
    /// The same with enough time to open a connection on a busy machine.
    patient: PostgresProvider,
    pool: Pool,
    proxy: Proxy,
    table: Table,
}

impl Distant {
    /// A provider behind a proxy, with a connection that works.
    async fn new() -> Self {
        let proxy = server().await.proxy().await;
        let pool = pool(server().await.through(&proxy), 2);
        let table = Table::create().await;
        let provider = PostgresProvider::builder()
            .pool(pool.clone())
            .schema(table.schema())
            .call_timeout(LIMIT)
            .build()
            .unwrap();
        let patient = table.provider(pool.clone());
        patient.read(&term("warm up").name).await.unwrap();
        // Over a connection that is new to it, a provider queries the session first.
        until("its session is known", async || {
            provider.read(&term("warm up").name).await.is_ok()
        })
        .await;
        Self {
            provider,
            patient,
            pool,
            proxy,
            table,
        }
    }
}

#[tokio::test]
async fn silence_in_either_direction_ends_by_itself() {
    for direction in [Direction::ToServer, Direction::ToClient] {
        for gap in [false, true] {
            let Distant {
                provider,
                patient,
                pool,
                proxy,
                table,
            } = Distant::new().await;
            let a = term("lock");
            if gap {
                proxy.swallow(direction);
            } else {
                proxy.hold(direction);
            }
            let silent = timeout(SOON, provider.acquire(&a)).await;
            let error = silent.expect("it hangs").unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unknown, "{error}");
            assert_eq!(pool.status().size, 0, "the silent connection is closed");
            // A new connection meets the same silence, before anything was sent.
            let error = provider.acquire(&a).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotApplied, "{error}");

            // The holder's own path hangs no longer than the waiter's.
            let renew = Renew::new(a.name.clone(), a.new, 1);
            let renewed = timeout(SOON, provider.renew(&renew)).await;
            assert!(renewed.is_ok_and(|renewed| renewed.is_err()));

            proxy.heal();
            let outcome = patient.acquire(&a).await.unwrap();
            assert!(
                matches!(outcome, AcquireOutcome::Acquired(_)),
                "{outcome:?}"
            );
            // However often it arrived, it is one term.
            let direct = table.provider(server().await.pool(1));
            let record = direct.read(&a.name).await.unwrap().unwrap();
            assert_eq!((record.uuid, record.renewals), (a.new, 0));
        }
    }
}

#[tokio::test]
async fn reset_while_a_call_runs_is_unknown_and_the_next_one_works() {
    let Distant {
        patient,
        pool,
        proxy,
        ..
    } = Distant::new().await;
    let a = term("lock");
    proxy.hold(Direction::ToClient);
    let (running, sent) = (patient.clone(), a.clone());
    let before = proxy.round_trips();
    let call = tokio::spawn(async move { running.acquire(&sent).await });
    until("the call was sent", async || proxy.round_trips() > before).await;
    proxy.reset();
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unknown, "{error}");
    proxy.heal();
    assert_eq!(pool.status().size, 0);
    let outcome = patient.acquire(&a).await.unwrap();
    assert!(
        matches!(outcome, AcquireOutcome::Acquired(_)),
        "{outcome:?}"
    );
}
