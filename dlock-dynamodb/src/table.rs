//! The table itself: making it, and checking that it can keep locks.

use std::time::Duration;

use aws_sdk_dynamodb::{
    operation::{create_table::CreateTableError, describe_table::DescribeTableError},
    types::{
        AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType,
        TableDescription, TableStatus, TimeToLiveSpecification, TimeToLiveStatus,
    },
};
use dlock_core::ProviderError;
use tokio::time::{Instant, sleep};

use crate::{error::TableError, provider::DynamodbProvider, store::Store};

/// How long a new table may take to become active, and how often its state is read.
const CREATION: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_millis(200);

impl DynamodbProvider {
    /// Makes the table if it does not exist, with on-demand billing, with this provider's key
    /// attributes, and, with `expire_released`, with its time to live. Then waits until it is
    /// active, for at most two minutes, and checks it as [`verify_table`](Self::verify_table) does.
    ///
    /// Safe to call from many processes at once, and on an existing table. Needs the permissions
    /// `dynamodb:CreateTable`, `dynamodb:DescribeTable` and, with `expire_released`,
    /// `dynamodb:UpdateTimeToLive` and `dynamodb:DescribeTimeToLive`; the locks themselves need
    /// `dynamodb:UpdateItem` and `dynamodb:GetItem` only.
    ///
    /// # Errors
    /// [`TableError`] says what is wrong with the table and what to do about it.
    ///
    /// # Cancel safety
    /// The table may exist, but without its time to live; call this again.
    pub async fn create_table(&self) -> Result<(), TableError> {
        let store = &*self.store;
        let mut request = store
            .client
            .create_table()
            .table_name(&store.table)
            .billing_mode(BillingMode::PayPerRequest);
        let layout = &store.layout;
        let keys = [
            (Some(&layout.partition), KeyType::Hash),
            (layout.sort.as_ref(), KeyType::Range),
        ];
        for (attribute, role) in keys {
            let Some(attribute) = attribute else { continue };
            let definition = AttributeDefinition::builder()
                .attribute_name(attribute)
                .attribute_type(ScalarAttributeType::S)
                .build();
            let element = KeySchemaElement::builder()
                .attribute_name(attribute)
                .key_type(role)
                .build();
            request = request
                .attribute_definitions(definition.map_err(incomplete)?)
                .key_schema(element.map_err(incomplete)?);
        }
        let sent = request
            .customize()
            .config_override(store.calls.repeated())
            .send()
            .await;
        match sent {
            Ok(_) => {}
            // The table exists, or another process is making it.
            Err(error)
                if error
                    .as_service_error()
                    .is_some_and(CreateTableError::is_resource_in_use_exception) => {}
            Err(error) => return Err(store.error(error).into()),
        }
        let deadline = Instant::now() + CREATION;
        loop {
            match describe(store)
                .await
                .and_then(|table| usable(store, &table))
            {
                Ok(()) => break,
                // A table that was just created may not be known everywhere yet.
                Err(TableError::NotActive { .. } | TableError::Missing { .. })
                    if Instant::now() < deadline =>
                {
                    sleep(LOOK).await;
                }
                Err(error) => return Err(error),
            }
        }
        if store.expire_released && !expires(store).await? {
            enable_expiry(store).await?;
        }
        self.verify_table().await
    }

    /// Checks that the table exists and is active, that its key attributes are the provider's, and,
    /// with `expire_released`, that it deletes by that attribute.
    ///
    /// # Errors
    /// [`TableError`] says what is wrong with the table and what to do about it.
    pub async fn verify_table(&self) -> Result<(), TableError> {
        let store = &*self.store;
        let table = describe(store).await?;
        usable(store, &table)?;
        let expected = key_text(
            std::iter::once(&store.layout.partition)
                .chain(&store.layout.sort)
                .map(|attribute| (attribute.as_str(), "S")),
        );
        let found = key_text(table.key_schema().iter().map(|element| {
            let name = element.attribute_name();
            let kind = table
                .attribute_definitions()
                .iter()
                .find(|definition| definition.attribute_name() == name)
                .map_or("?", |definition| definition.attribute_type().as_str());
            (name, kind)
        }));
        if found != expected {
            return Err(TableError::Key {
                table: store.table.clone(),
                expected,
                found,
            });
        }
        if store.expire_released && !expires(store).await? {
            return Err(TableError::TimeToLive {
                table: store.table.clone(),
                attribute: store.ttl_attribute.clone(),
            });
        }
        Ok(())
    }
}

async fn describe(store: &Store) -> Result<TableDescription, TableError> {
    let missing = || TableError::Missing {
        table: store.table.clone(),
    };
    let request = store.client.describe_table().table_name(&store.table);
    let sent = request
        .customize()
        .config_override(store.calls.repeated())
        .send()
        .await;
    match sent {
        Ok(output) => output.table.ok_or_else(missing),
        Err(error)
            if error
                .as_service_error()
                .is_some_and(DescribeTableError::is_resource_not_found_exception) =>
        {
            Err(missing())
        }
        Err(error) => Err(store.error(error).into()),
    }
}

/// A table that is being updated still serves requests.
fn usable(store: &Store, table: &TableDescription) -> Result<(), TableError> {
    match table.table_status() {
        Some(TableStatus::Active | TableStatus::Updating) => Ok(()),
        other => Err(TableError::NotActive {
            table: store.table.clone(),
            status: other.map_or("unknown", TableStatus::as_str).to_owned(),
        }),
    }
}

/// Whether DynamoDB deletes by our attribute, or soon will because it is being enabled.
async fn expires(store: &Store) -> Result<bool, TableError> {
    let request = store
        .client
        .describe_time_to_live()
        .table_name(&store.table);
    let output = request
        .customize()
        .config_override(store.calls.repeated())
        .send()
        .await
        .map_err(|error| store.error(error))?;
    Ok(output.time_to_live_description().is_some_and(|ttl| {
        ttl.attribute_name() == Some(&store.ttl_attribute)
            && matches!(
                ttl.time_to_live_status(),
                Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling)
            )
    }))
}

async fn enable_expiry(store: &Store) -> Result<(), TableError> {
    let specification = TimeToLiveSpecification::builder()
        .attribute_name(&store.ttl_attribute)
        .enabled(true)
        .build()
        .map_err(incomplete)?;
    let request = store
        .client
        .update_time_to_live()
        .table_name(&store.table)
        .time_to_live_specification(specification);
    let sent = request
        .customize()
        .config_override(store.calls.repeated())
        .send()
        .await;
    match sent {
        Ok(_) => Ok(()),
        // Another process may have been faster; if not, the check afterwards says what is wrong.
        Err(_) if expires(store).await? => Ok(()),
        Err(error) => Err(store.error(error).into()),
    }
}

fn key_text<'a>(attributes: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    attributes
        .map(|(name, kind)| format!("{name} ({kind})"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The SDK's builders report a field that was not set; all of them are.
fn incomplete(error: aws_sdk_dynamodb::error::BuildError) -> ProviderError {
    ProviderError::fatal("the request for the table is incomplete").with_source(error)
}
