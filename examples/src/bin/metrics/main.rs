//! The operators' view: an election with periodic tasks, and its metrics for Prometheus. Next to this file are rules
//! for alerts (`alerts.yml`) and a README that explains them.
//!
//! ```sh
//! cargo run -p dlock-examples --bin metrics --features metrics
//! cargo run -p dlock-examples --bin metrics --features metrics,redis -- --store redis://localhost
//! ```
//!
//! Start it twice on one store, and kill the leader: `--store sqlite:/tmp/locks.db`. The page is served on a free port,
//! or at the address in `METRICS_LISTEN` (`127.0.0.1:9187`).

use std::{
    env,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use dlock::{
    Client, DLock,
    election::{Coordinator, Election, Next},
};
use dlock_examples::Failure;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};

#[tokio::main]
async fn main() -> Result<(), Failure> {
    // First of all: metrics that are recorded before the exporter is installed are lost.
    let page = export()?;
    println!("metrics: http://{page}/metrics");

    let store = dlock_examples::store()?;
    let client = Client::new(store.provider().await?);
    // Short, so that changes are visible soon; the default is a lease of one minute.
    let election = Election::builder()
        .provider(&client)
        .name("background")
        .duration(Duration::from_secs(6))
        .build()?;

    // One lock for each customer, and one series for all of them: their group.
    let customer = DLock::builder()
        .name("customer")
        .group("customers")
        .duration(Duration::from_secs(3))
        .provider(&client)
        .build()?;
    let next = AtomicU32::new(0);
    election.every("pool-convergence", Duration::from_secs(1), move |_| {
        let number = next.fetch_add(1, Ordering::Relaxed) % 10;
        let customer = customer.clone();
        async move {
            if let Err(error) = converge(&customer, number).await {
                println!("customer {number}: {error:?}");
            }
        }
    });
    election.every("webhook-redelivery", Duration::from_secs(2), |_| async {
        tokio::time::sleep(Duration::from_millis(100)).await;
    });

    let mut transitions = election.transitions();
    let telling = tokio::spawn(async move {
        while let Some(Next::Transition(transition)) = transitions.next().await {
            println!("{transition:?}");
        }
    });
    // Ctrl-C: resigns first, so that the next instance leads at once.
    let stopped = Box::pin(async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    });
    election.run(stopped).await?;
    // When this returns, all locks have been released, those of the tasks included.
    client.close().await;
    drop(election);
    telling.await?;
    Ok(())
}

/// Work on one customer, under its lock.
async fn converge(customer: &DLock, number: u32) -> Result<(), Failure> {
    let lock = customer.named(format!("customer-{number}"))?;
    lock.with(|_token| tokio::time::sleep(Duration::from_millis(20)))
        .await?;
    Ok(())
}

/// Installs the exporter (the recorder of the whole process, and a page), and returns the address of the page.
fn export() -> Result<SocketAddr, Failure> {
    let page: SocketAddr = match env::var("METRICS_LISTEN") {
        Ok(place) => place.parse()?,
        // The exporter does not say which port it got, so name one that was free just now.
        Err(_) => TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?,
    };
    PrometheusBuilder::new()
        .with_http_listener(page)
        // With buckets, histograms can be added up over instances; without, they are summaries.
        .set_buckets_for_metric(
            Matcher::Suffix("_seconds".into()),
            &[0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0, 60.0, 600.0],
        )?
        .set_buckets_for_metric(
            Matcher::Suffix("_ratio".into()),
            &[0.05, 0.1, 0.2, 0.3, 0.4, 0.45, 0.5],
        )?
        .install()?;
    // Units and help texts.
    dlock::metrics::describe();
    dlock::election::metrics::describe();
    Ok(page)
}
