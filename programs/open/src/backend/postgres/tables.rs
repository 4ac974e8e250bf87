//! The tables of locks and of tasks: what is missing, and what is wrong.

use std::error::Error as StdError;

use async_trait::async_trait;
use dlock_postgres::{PostgresProvider, SchemaError, tasks::PostgresTasks};

use crate::tables::{Tables, TablesError};

#[async_trait]
impl Tables for PostgresProvider {
    async fn make(&self) -> Result<(), TablesError> {
        self.create_schema().await.map_err(|error| match error {
            SchemaError::Store(error) => TablesError::Store(error),
            // Everything missing has been made.
            SchemaError::Differs { table, lacks } => wrong(&table, &lacks),
            other => TablesError::Wrong(other.to_string()),
        })
    }

    async fn check(&self) -> Result<(), TablesError> {
        self.verify_schema().await.map_err(|error| match error {
            SchemaError::Store(error) => TablesError::Store(error),
            SchemaError::Differs { table, lacks }
                if lacks.iter().any(|lack| lack == "it does not exist") =>
            {
                TablesError::Missing(format!("there is no table {table} in this database"))
            }
            // Functions are replaced, and a table stays as it is.
            SchemaError::Differs { table, lacks }
                if lacks.iter().all(|lack| lack.starts_with("the function ")) =>
            {
                TablesError::Missing(differs(&table, &lacks))
            }
            SchemaError::Differs { table, lacks } => wrong(&table, &lacks),
            other => TablesError::Wrong(other.to_string()),
        })
    }

    async fn obstacle(&self) -> Option<Box<dyn StdError + Send + Sync>> {
        let obstacle = PostgresProvider::diagnose(self).await.ok()??;
        Some(obstacle.into())
    }
}

#[async_trait]
impl Tables for PostgresTasks {
    async fn make(&self) -> Result<(), TablesError> {
        self.create_schema().await.map_err(|error| match error {
            SchemaError::Store(error) => TablesError::Store(error),
            SchemaError::Differs { table, lacks } => TablesError::Wrong(format!(
                "{}; choose another schema, with schema=NAME",
                differs(&table, &lacks)
            )),
            other => TablesError::Wrong(other.to_string()),
        })
    }

    async fn check(&self) -> Result<(), TablesError> {
        self.verify_schema().await.map_err(lacking_of_queue)
    }
}

/// A queue without its main table does not exist; one that lacks another part is in use.
fn lacking_of_queue(error: SchemaError) -> TablesError {
    match error {
        SchemaError::Store(error) => TablesError::Store(error),
        SchemaError::Differs { table, lacks }
            if lacks
                .iter()
                .any(|lack| lack.contains(&format!("the table {table} "))) =>
        {
            TablesError::NoQueue(format!(
                "there is no table {table} in this database, and so no queue"
            ))
        }
        SchemaError::Differs { table, lacks } => TablesError::Missing(differs(&table, &lacks)),
        other => TablesError::Wrong(other.to_string()),
    }
}

fn wrong(table: &str, lacks: &[String]) -> TablesError {
    let differs = differs(table, lacks);
    TablesError::Wrong(format!("{differs}; choose another name, with table=NAME"))
}

fn differs(table: &str, lacks: &[String]) -> String {
    let lacks = lacks.join(", ");
    format!("the table {table} is not as this version of dlock needs it: {lacks}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_that_lacks_a_part_is_not_taken_for_none() {
        let lacking = |name: &str| {
            lacking_of_queue(SchemaError::Differs {
                table: "\"dlock\".\"dlock_task\"".to_owned(),
                lacks: vec![format!("the table \"dlock\".\"{name}\" is missing")],
            })
        };
        assert!(matches!(lacking("dlock_task"), TablesError::NoQueue(_)));
        assert!(matches!(
            lacking("dlock_task_paused"),
            TablesError::Missing(_)
        ));
    }
}
