//! Sessions that are set up in strange ways: isolation levels, time zones, date formats.

use std::sync::Arc;

use dlock_core::{
    ErrorKind, Provider,
    provider::{AcquireOutcome, Release, Renew, RenewOutcome},
};
use tokio::{sync::Barrier, task::JoinSet};

use crate::support::{Table, pool, server, term};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn stricter_isolation_grants_no_more() {
    for level in ["repeatable read", "serializable"] {
        let mut config = server().await.config();
        config.options(format!(
            "-c default_transaction_isolation={}",
            level.replace(' ', "\\ ")
        ));
        let table = Table::create().await;
        let provider = table.provider(pool(config, 17));
        let mut granted = 0;
        for _ in 0..10 {
            let start = Arc::new(Barrier::new(16));
            let mut racing = JoinSet::new();
            for _ in 0..16 {
                let (provider, start) = (provider.clone(), Arc::clone(&start));
                racing.spawn(async move {
                    let request = term("lock");
                    start.wait().await;
                    let outcome = provider.acquire(&request).await;
                    (request, outcome)
                });
            }
            let mut winners = Vec::new();
            for (request, outcome) in racing.join_all().await {
                match outcome {
                    Ok(AcquireOutcome::Acquired(_)) => winners.push(request),
                    Ok(AcquireOutcome::Held(record)) => assert!(!record.released, "{level}"),
                    Ok(AcquireOutcome::Spent) => panic!("{level}: a fresh uuid was called spent"),
                    // A snapshot that was too old; nothing happened.
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::NotApplied, "{level}: {error:?}");
                    }
                }
            }
            assert!(winners.len() <= 1, "{level}: {} grants", winners.len());
            granted += winners.len();
            for winner in winners {
                let renew = Renew::new(winner.name.clone(), winner.new, 1);
                let renewed = provider.renew(&renew).await.unwrap();
                assert!(matches!(renewed, RenewOutcome::Renewed { .. }));
                let release = Release::new(winner.name.clone(), winner.new, None);
                provider.release(&release).await.unwrap();
            }
        }
        assert_eq!(granted, 10, "{level}: races without a winner");
    }
}

#[tokio::test]
async fn sessions_in_other_time_zones_see_the_same_lease() {
    let table = Table::create().await;
    let at = async |zone: &str, style: &str| {
        let mut config = server().await.config();
        config.options(format!("-c timezone={zone} -c datestyle={style}"));
        table.provider(pool(config, 2))
    };
    let east = at("Pacific/Kiritimati", "SQL,DMY").await;
    let west = at("Etc/GMT+12", "German").await;
    let a = term("lock");
    let token = east.acquire(&a).await.unwrap();
    let AcquireOutcome::Held(seen) = west.acquire(&term("lock")).await.unwrap() else {
        panic!("a session in another time zone stole a live lease");
    };
    let own = east.read(&a.name).await.unwrap().unwrap();
    assert_eq!((seen.since, seen.token), (own.since, own.token));
    let left = seen.remaining.unwrap();
    assert!(left > a.duration / 2 && left <= a.duration, "{left:?}");
    let renew = Renew::new(a.name.clone(), a.new, 1);
    let renewed = west.renew(&renew).await.unwrap();
    assert!(matches!(renewed, RenewOutcome::Renewed { .. }));
    assert_eq!(west.acquire(&a).await.unwrap(), token);
}
