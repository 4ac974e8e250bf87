//! `dlock bench`: how fast a store is for locks, as this machine sees it.

pub(crate) mod latencies;
mod report;

use std::{process::ExitCode, time::Duration};

use dlock_core::{Client, Clock, DLock, Error, Lease, TryAcquire};
use dlock_stores::Store;
use tokio::task::JoinSet;

use self::{latencies::Latencies, report::Report};
use crate::{
    arguments::BenchArguments,
    display::Holding,
    exit::{Exit, Failure},
    output, query,
};

/// The lock that is measured, and the prefix of all the others.
const NAME: &str = "dlock-bench";

/// Long enough for a slow store, and soon expired if this machine dies.
const LEASE: Duration = Duration::from_secs(30);

/// Runs `dlock bench`.
pub(crate) fn main(arguments: &BenchArguments) -> Result<ExitCode, Failure> {
    query::main(run(arguments))
}

async fn run(arguments: &BenchArguments) -> Result<ExitCode, Failure> {
    let BenchArguments {
        time,
        leases,
        json,
        store,
    } = arguments;
    let store = store.location()?.open().await?;
    let client = store.client();
    let lock = DLock::builder()
        .name(NAME)
        .duration(LEASE)
        .provider(&client)
        .build()?;
    let bench = Bench {
        store,
        lock,
        clock: Clock::system(),
    };
    let measured = bench.run(*time, *leases).await;
    finish(&client).await;
    let report = measured?;
    output::write(&report.text(*json)?)?;
    Ok(ExitCode::SUCCESS)
}

/// Waits until the dropped leases are released.
async fn finish(client: &Client) {
    tokio::time::timeout(LEASE, client.close()).await.ok();
}

struct Bench {
    store: Store,
    /// The lock from which the others are made.
    lock: DLock,
    clock: Clock,
}

impl Bench {
    async fn run(&self, time: Duration, leases: u16) -> Result<Report, Failure> {
        let alone = self.take(&self.lock).await?.keep_alive();
        let mut report = Report::new(self.store.to_string(), leases);
        self.one_after_the_other(time / 2, &mut report).await?;
        self.at_the_same_time(time / 2, &mut report).await?;
        match alone.release().await {
            Ok(_) => Ok(report),
            Err(error) => Err(self.failure(error).await),
        }
    }

    /// Takes a lock, reads it, renews it and releases it.
    async fn one_after_the_other(
        &self,
        time: Duration,
        report: &mut Report,
    ) -> Result<(), Failure> {
        let lock = self.named(0)?;
        let mut calls = [const { Latencies::new() }; 4];
        let end = self.clock.reading() + time;
        loop {
            let [acquire, read, renew, release] = &mut calls;
            let mut lease = self.timed(acquire, self.take(&lock)).await?;
            for (latencies, call) in [(read, Call::Read), (renew, Call::Renew)] {
                let done = async {
                    match call {
                        Call::Read => lock.read().await.map(drop),
                        Call::Renew => lease.renew().await,
                    }
                };
                if let Err(error) = self.timed(latencies, done).await {
                    return Err(self.failure(error).await);
                }
            }
            if let Err(error) = self.timed(release, lease.release()).await {
                return Err(self.failure(error).await);
            }
            if self.clock.reading() >= end {
                break;
            }
        }
        for (what, latencies) in ["acquire", "read", "renew", "release"].iter().zip(calls) {
            report.add(what, latencies);
        }
        Ok(())
    }

    /// Renews many leases, each as soon as its last renewal has been answered.
    async fn at_the_same_time(&self, time: Duration, report: &mut Report) -> Result<(), Failure> {
        let mut leases = Vec::new();
        for number in 1..=report.leases {
            leases.push(self.take(&self.named(number)?).await?);
        }
        let began = self.clock.reading();
        let mut renewals = JoinSet::new();
        for lease in leases {
            renewals.spawn(renew_until(lease, self.clock.clone(), began + time));
        }
        let mut all = Latencies::new();
        let mut failed = None;
        while let Some(ended) = renewals.join_next().await {
            match ended {
                Ok(Ok(times)) => times.into_iter().for_each(|took| all.add(took)),
                Ok(Err(error)) => failed = Some(error),
                Err(error) => {
                    return Err(Failure::new(Exit::System, "a measurement failed").because(error));
                }
            }
        }
        let took = self.clock.reading().saturating_sub(began);
        match failed {
            None => report.add_renewals(all, took),
            Some(error) => return Err(self.failure(error).await),
        }
        Ok(())
    }

    fn named(&self, number: u16) -> Result<DLock, Failure> {
        Ok(self.lock.named(format!("{NAME}/{number}"))?)
    }

    async fn take(&self, lock: &DLock) -> Result<Lease, Failure> {
        match lock.try_acquire().await {
            Ok(TryAcquire::Acquired(lease)) => Ok(lease),
            Ok(TryAcquire::Held(holder)) => Err(Failure::new(
                Exit::NotAcquired,
                format!(
                    "another 'dlock bench' is at work: {:?} is {}",
                    lock.name().as_str(),
                    Holding(&holder.record)
                ),
            )),
            Err(error) => Err(self.failure(error).await),
        }
    }

    async fn timed<T>(&self, latencies: &mut Latencies, call: impl Future<Output = T>) -> T {
        let began = self.clock.reading();
        let answer = call.await;
        latencies.add(self.clock.reading().saturating_sub(began));
        answer
    }

    async fn failure(&self, error: Error) -> Failure {
        let doing = "can't measure";
        match error {
            Error::Provider(error) => self.store.failure(doing, error).await.into(),
            Error::Lost(loss) => Failure::new(Exit::LeaseLost, doing).because(loss),
            other => Failure::new(Exit::StoreUnreachable, doing).because(other),
        }
    }
}

/// Two calls that a holder makes.
#[derive(Clone, Copy)]
enum Call {
    Read,
    Renew,
}

/// How long each renewal took. The lease is released.
async fn renew_until(
    mut lease: Lease,
    clock: Clock,
    end: Duration,
) -> Result<Vec<Duration>, Error> {
    let mut times = Vec::new();
    loop {
        let began = clock.reading();
        if began >= end {
            break;
        }
        lease.renew().await?;
        times.push(clock.reading().saturating_sub(began));
    }
    lease.release().await?;
    Ok(times)
}
