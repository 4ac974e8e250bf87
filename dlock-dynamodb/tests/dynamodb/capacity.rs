//! The cost of each path in DynamoDB's capacity units, as the store itself accounts for it
//! (`ReturnConsumedCapacity`). It accounts for nothing if a condition failed; for that case
//! DynamoDB's documentation says that the write costs as much as if it had been made.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::sync::{Arc, Mutex};

use crate::common::{PATIENCE, provider_on, settings, table_name, term, url};
use aws_sdk_dynamodb::{
    Client,
    config::{
        ConfigBag, Intercept, RuntimeComponents,
        interceptors::{
            AfterDeserializationInterceptorContextRef, BeforeSerializationInterceptorContextMut,
        },
    },
    error::BoxError,
    operation::{
        get_item::{GetItemInput, GetItemOutput},
        query::{QueryInput, QueryOutput},
        update_item::{UpdateItemInput, UpdateItemOutput},
    },
    types::ReturnConsumedCapacity,
};
use dlock_core::{
    Provider,
    provider::{Acquire, Admin, List, Release, Renew},
};
use dlock_dynamodb::DynamodbProvider;

/// Asks for the capacity of every request, and adds it up.
#[derive(Clone, Debug, Default)]
struct Meter(Arc<Mutex<Vec<f64>>>);

impl Intercept for Meter {
    fn name(&self) -> &'static str {
        "Meter"
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
        } else if let Some(input) = input.downcast_mut::<QueryInput>() {
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
        } else if let Some(output) = output.downcast_ref::<QueryOutput>() {
            output.consumed_capacity()
        } else {
            return Ok(());
        };
        let units = consumed.unwrap().capacity_units().unwrap();
        self.0.lock().unwrap().push(units);
        Ok(())
    }
}

impl Meter {
    /// The units that each request since the last reading consumed.
    fn read(&self) -> Vec<f64> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

async fn metered() -> (Meter, Client) {
    let meter = Meter::default();
    let client = Client::from_conf(settings(url().await).interceptor(meter.clone()).build());
    (meter, client)
}

/// Acquires, renews, reads, releases and takes again: the units of each.
async fn life(meter: &Meter, provider: &DynamodbProvider, first: Acquire) -> [Vec<f64>; 5] {
    let second = term(first.name.as_str()).data(first.data.clone());
    provider.acquire(&first).await.unwrap();
    let acquired = meter.read();
    let renewal = Renew::new(first.name.clone(), first.new, 1);
    provider.renew(&renewal).await.unwrap();
    let renewed = meter.read();
    provider.read(&first.name).await.unwrap();
    let read = meter.read();
    let release = Release::new(first.name.clone(), first.new, None);
    provider.release(&release).await.unwrap();
    let released = meter.read();
    provider.acquire(&second).await.unwrap();
    [acquired, renewed, read, released, meter.read()]
}

#[tokio::test]
async fn each_write_is_one_unit_and_each_read_one() {
    let (meter, client) = metered().await;
    let provider = provider_on(client, &table_name());
    provider.create_table().await.unwrap();
    for paths in [
        life(&meter, &provider, term("nightly")).await,
        // As much as fits into 1 KB together with name and owner.
        life(
            &meter,
            &provider,
            term("with data").data(Some(vec![7; 600])),
        )
        .await,
    ] {
        for (path, units) in ["acquire", "renew", "read", "release", "take"]
            .iter()
            .zip(paths)
        {
            assert_eq!(units, [1.0], "{path}");
        }
    }
}

#[tokio::test]
async fn data_costs_a_unit_for_every_kilobyte_of_every_write() {
    let (meter, client) = metered().await;
    let provider = provider_on(client, &table_name());
    provider.create_table().await.unwrap();
    let paths = life(&meter, &provider, term("a").data(Some(vec![7; 4000]))).await;
    let expected = [
        ("acquire", 5.0),
        ("renew", 5.0),
        // A consistent read costs one for every 4 KB, and with its other fields the record is
        // larger.
        ("read", 2.0),
        ("release", 5.0),
        ("take", 5.0),
    ];
    for ((path, expected), units) in expected.iter().zip(paths) {
        assert_eq!(units, [*expected], "{path}");
    }
}

#[tokio::test]
async fn listing_by_query_costs_what_it_reads() {
    let (meter, client) = metered().await;
    let provider = DynamodbProvider::builder()
        .client(client)
        .table_name(table_name())
        .prefix("billing")
        .sort_key("lock")
        .attempt_timeout(PATIENCE)
        .call_timeout(PATIENCE)
        .build()
        .unwrap();
    provider.create_table().await.unwrap();
    // Others in the same table cost nothing here.
    let other = provider.with_prefix("other").unwrap();
    for name in 0..20 {
        let data = Some(vec![7; 3000]);
        other
            .acquire(&term(&format!("{name}")).data(data))
            .await
            .unwrap();
    }
    provider.acquire(&term("a")).await.unwrap();
    meter.read();
    let page = provider.list(&List::new("")).await.unwrap();
    assert_eq!(page.records.len(), 1);
    assert_eq!(meter.read(), [1.0]);
}
