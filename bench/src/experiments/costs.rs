//! What an operation costs a store that bills for it, or that has to write a log: bytes of Postgres's
//! log, DynamoDB's capacity units as the compatible store accounts for them.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use anyhow::{Result, ensure};
use aws_sdk_dynamodb::{
    config::{
        ConfigBag, Intercept, RuntimeComponents,
        interceptors::{
            AfterDeserializationInterceptorContextRef, BeforeSerializationInterceptorContextMut,
        },
    },
    error::BoxError,
    operation::{
        get_item::{GetItemInput, GetItemOutput},
        update_item::{UpdateItemInput, UpdateItemOutput},
    },
    types::{ConsumedCapacity, ReturnConsumedCapacity},
};
use deadpool_postgres::Object;
use dlock_core::{
    Name, Provider,
    provider::{Acquire, AcquireOutcome, Release, Renew, RenewOutcome},
};
use dlock_dynamodb::DynamodbProvider;
use uuid::Uuid;

use crate::{
    bench::{At, Bench},
    results::{Figures, figures},
    systems::{
        Entry, Store, dynamodb_client_with,
        ours::{self, Waiting},
        postgres_pool,
    },
};

/// Operations of each kind; what the machine adds to one is spread over all.
const TIMES: u64 = 200;

pub(super) async fn measure(bench: &Bench) -> Result<()> {
    for entry in bench.stores.iter().filter_map(|store| store.ours()) {
        let measured = match entry.store {
            Store::Postgres => log(bench).await,
            Store::DynamoDb => capacity(bench).await,
            Store::Redis | Store::SQLite | Store::Etcd => continue,
        };
        let at = At {
            run: 0,
            experiment: "costs",
            case: "",
        };
        note(bench, at, entry, measured);
    }
    Ok(())
}

fn note(bench: &Bench, at: At<'_>, entry: &Entry, measured: Result<Figures>) {
    bench
        .progress
        .set_message(format!("costs on {}", entry.store));
    bench.settle(at, entry, measured);
}

/// Bytes of Postgres's log for each operation.
async fn log(bench: &Bench) -> Result<Figures> {
    let client = postgres_pool(bench.places())?.get().await?;
    let provider = ours::provider(Store::Postgres, bench.places(), Waiting::Called)?;
    let mut term = Term::new(provider, bench.name("costs"))?;
    // The first change of a page after a checkpoint writes the whole page.
    client.batch_execute("CHECKPOINT").await?;
    for _ in 0..TIMES {
        term.acquire().await?;
        term.release().await?;
    }
    let mut bytes = [0.0; 4];
    for _ in 0..TIMES {
        let marks = [
            written(&client).await?,
            {
                term.acquire().await?;
                written(&client).await?
            },
            {
                term.renew().await?;
                written(&client).await?
            },
            {
                term.refused().await?;
                written(&client).await?
            },
            {
                term.release().await?;
                written(&client).await?
            },
        ];
        for (sum, pair) in bytes.iter_mut().zip(marks.windows(2)) {
            *sum += (pair[1] - pair[0]) as f64 / TIMES as f64;
        }
    }
    let [acquire, renew, refused, release] = bytes;
    Ok(figures([
        ("acquire_wal_bytes", acquire),
        ("renew_wal_bytes", renew),
        ("refused_wal_bytes", refused),
        ("release_wal_bytes", release),
    ]))
}

/// Bytes of log so far.
async fn written(client: &Object) -> Result<i64> {
    let place = "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint";
    Ok(client.query_one(place, &[]).await?.get(0))
}

/// Capacity units for each operation.
async fn capacity(bench: &Bench) -> Result<Figures> {
    let scale = Scale::default();
    let provider = DynamodbProvider::builder()
        .client(dynamodb_client_with(bench.places(), scale.clone())?)
        .table_name(ours::TABLE)
        .build()?;
    let mut term = Term::new(Arc::new(provider), bench.name("costs"))?;
    term.acquire().await?;
    let acquire = scale.read();
    term.renew().await?;
    let renew = scale.read();
    term.read().await?;
    let read = scale.read();
    term.release().await?;
    Ok(figures([
        ("acquire_units", acquire),
        ("renew_units", renew),
        ("read_units", read),
        ("release_units", scale.read()),
    ]))
}

/// Asks for the capacity of every request, and adds it up.
#[derive(Clone, Debug, Default)]
struct Scale(Arc<Mutex<f64>>);

impl Scale {
    /// What the requests since the last look consumed.
    fn read(&self) -> f64 {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Intercept for Scale {
    fn name(&self) -> &'static str {
        "Scale"
    }

    fn modify_before_serialization(
        &self,
        context: &mut BeforeSerializationInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let total = Some(ReturnConsumedCapacity::Total);
        let input = context.input_mut();
        if let Some(input) = input.downcast_mut::<UpdateItemInput>() {
            input.return_consumed_capacity = total;
        } else if let Some(input) = input.downcast_mut::<GetItemInput>() {
            input.return_consumed_capacity = total;
        }
        Ok(())
    }

    fn read_after_deserialization(
        &self,
        context: &AfterDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let Ok(output) = context.output_or_error() else {
            return Ok(());
        };
        let consumed = if let Some(output) = output.downcast_ref::<UpdateItemOutput>() {
            output.consumed_capacity()
        } else if let Some(output) = output.downcast_ref::<GetItemOutput>() {
            output.consumed_capacity()
        } else {
            None
        };
        let units = consumed.and_then(ConsumedCapacity::capacity_units);
        let units = units.ok_or("the store did not say what a request consumed")?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += units;
        Ok(())
    }
}

/// One lock through its provider, an operation at a time.
struct Term {
    provider: Arc<dyn Provider>,
    request: Acquire,
    renewals: u64,
}

impl Term {
    fn new(provider: Arc<dyn Provider>, name: String) -> Result<Self> {
        Ok(Self {
            provider,
            request: fresh(Name::new(name)?),
            renewals: 0,
        })
    }

    async fn acquire(&mut self) -> Result<()> {
        self.request = fresh(self.request.name.clone());
        let answer = self.provider.acquire(&self.request).await?;
        ensure!(
            matches!(answer, AcquireOutcome::Acquired(_)),
            "the lock was not free"
        );
        Ok(())
    }

    async fn refused(&self) -> Result<()> {
        let answer = self
            .provider
            .acquire(&fresh(self.request.name.clone()))
            .await?;
        ensure!(
            matches!(answer, AcquireOutcome::Held(_)),
            "the lock was not held"
        );
        Ok(())
    }

    async fn renew(&mut self) -> Result<()> {
        self.renewals += 1;
        let request = Renew::new(self.request.name.clone(), self.request.new, self.renewals);
        let answer = self.provider.renew(&request).await?;
        ensure!(
            matches!(answer, RenewOutcome::Renewed { .. }),
            "the renewal was refused"
        );
        Ok(())
    }

    async fn read(&self) -> Result<()> {
        let record = self.provider.read(&self.request.name).await?;
        ensure!(record.is_some(), "there is no record");
        Ok(())
    }

    async fn release(&mut self) -> Result<()> {
        let release = Release::new(self.request.name.clone(), self.request.new, None);
        self.provider.release(&release).await?;
        self.renewals = 0;
        Ok(())
    }
}

/// A try of a new term.
fn fresh(name: Name) -> Acquire {
    Acquire::new(name, Uuid::new_v4(), Duration::from_secs(600)).owner("bench")
}
