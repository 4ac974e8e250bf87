//! The table of locks: what is missing, and what is wrong.

use async_trait::async_trait;
use dlock_mysql::{MysqlProvider, SchemaError};

use crate::tables::{Tables, TablesError};

#[async_trait]
impl Tables for MysqlProvider {
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
                // The server hides a table on which its user has no right.
                TablesError::Missing(format!(
                    "there is no table {table} in this database, or this user has no right on it"
                ))
            }
            // Procedures are replaced, and a table stays as it is.
            SchemaError::Differs { table, lacks }
                if lacks.iter().all(|lack| lack.starts_with("the procedure ")) =>
            {
                TablesError::Missing(differs(&table, &lacks))
            }
            SchemaError::Differs { table, lacks } => wrong(&table, &lacks),
            other => TablesError::Wrong(other.to_string()),
        })
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
