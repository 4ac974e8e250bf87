//! A DynamoDB table for the locks, and one for the storage.

use std::{collections::HashMap, env, sync::Arc};

use async_trait::async_trait;
use aws_sdk_dynamodb::{
    Client,
    config::{BehaviorVersion, Credentials, Region},
    types::AttributeValue,
};
use aws_smithy_http_client::Builder;
use dlock::{
    FencingToken, Provider, Stale,
    dynamodb::{
        DynamodbProvider,
        fence::{Fence, FenceError},
    },
};

use super::{Storage, Store};
use crate::Failure;

pub(super) struct DynamoDb {
    table: String,
}

impl DynamoDb {
    pub(super) fn new(table: &str) -> Self {
        Self {
            table: table.to_owned(),
        }
    }
}

/// A provider over a table that exists. Applications make it once, where they are installed.
async fn locks(client: Client, table: &str) -> Result<DynamodbProvider, Failure> {
    let provider = DynamodbProvider::builder()
        .client(client)
        .table_name(table)
        .build()?;
    provider.create_table().await?;
    Ok(provider)
}

/// A client over plain HTTP, for a compatible store on one's own machine. For AWS itself take the
/// client that the crate `aws-config` makes.
fn client() -> Result<Client, Failure> {
    let endpoint = env::var("AWS_ENDPOINT_URL").map_err(|_| {
        Failure::new("AWS_ENDPOINT_URL must say where the store is, e.g. http://localhost:8000")
    })?;
    let setting = |name: &str, otherwise: &str| env::var(name).unwrap_or_else(|_| otherwise.into());
    let credentials = Credentials::new(
        setting("AWS_ACCESS_KEY_ID", "local"),
        setting("AWS_SECRET_ACCESS_KEY", "local"),
        env::var("AWS_SESSION_TOKEN").ok(),
        None,
        "environment",
    );
    let settings = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(setting("AWS_REGION", "us-east-1")))
        .credentials_provider(credentials)
        .endpoint_url(endpoint)
        .http_client(Builder::new().build_http());
    Ok(Client::from_conf(settings.build()))
}

#[async_trait]
impl Store for DynamoDb {
    async fn provider(&self) -> Result<Arc<dyn Provider>, Failure> {
        Ok(Arc::new(locks(client()?, &self.table).await?))
    }

    async fn storage(&self, page: &str) -> Result<Box<dyn Storage>, Failure> {
        let table = format!("{}-pages", self.table);
        // What it needs is what a table of locks has: one string key, called `name`.
        locks(client()?, &table).await?;
        Ok(Box::new(Pages {
            client: client()?,
            table,
            fence: Fence::default(),
            key: HashMap::from([("name".to_owned(), AttributeValue::S(page.to_owned()))]),
        }))
    }
}

struct Pages {
    client: Client,
    table: String,
    fence: Fence,
    key: HashMap<String, AttributeValue>,
}

#[async_trait]
impl Storage for Pages {
    async fn write(&self, token: FencingToken, text: &str) -> Result<Result<(), Stale>, Failure> {
        let update = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(self.key.clone()))
            .update_expression("SET page = :page")
            .expression_attribute_values(":page", AttributeValue::S(text.to_owned()));
        match self.fence.update(update, token).await {
            Ok(_) => Ok(Ok(())),
            Err(FenceError::Stale(stale)) => Ok(Err(stale)),
            Err(other) => Err(other.into()),
        }
    }

    async fn read(&self) -> Result<Option<String>, Failure> {
        let read = self
            .client
            .get_item()
            .table_name(&self.table)
            .set_key(Some(self.key.clone()))
            .consistent_read(true);
        let page = read.send().await?.item;
        let text = page.as_ref().and_then(|page| page.get("page")?.as_s().ok());
        Ok(text.cloned())
    }
}
