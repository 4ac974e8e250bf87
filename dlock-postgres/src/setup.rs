//! Making the schema, and verifying it.

use deadpool_postgres::tokio_postgres::{Row, types::Type};
use dlock_core::ProviderError;

use crate::{
    PostgresProvider,
    connections::Caller,
    error::{self, SchemaError},
    record::{self, Flaw},
    schema::{is_known, missing_columns},
};

/// The parts of the schema that exist.
struct Found {
    table: bool,
    /// The flaws of the table, in words.
    flaws: Vec<String>,
    /// The functions that are missing.
    missing: Vec<String>,
}

impl PostgresProvider {
    /// Makes the schema, the table and the functions if they are missing. Any number of processes
    /// may do so at once, and again at every start; if nothing is missing, this only looks, and
    /// needs no right to create anything.
    ///
    /// # Errors
    /// [`SchemaError::Store`] if the database gives no answer, or its user may not create them;
    /// [`SchemaError::Differs`] if there is another table of this name, which is left as it is.
    ///
    /// # Cancel safety
    /// Everything is made in one transaction, or nothing.
    pub async fn create_schema(&self) -> Result<(), SchemaError> {
        let found = self.inspect().await?;
        let missing = !found.table || !found.missing.is_empty();
        if missing && found.flaws.is_empty() {
            self.connections.batch(&alone(&self.schema_sql())).await?;
            return self.verify_schema().await;
        }
        self.accept(found)
    }

    /// Checks that the table and its functions are as this release needs them.
    ///
    /// # Errors
    /// [`SchemaError::Differs`] names what is missing, [`SchemaError::Store`] says that the database
    /// gave no answer.
    pub async fn verify_schema(&self) -> Result<(), SchemaError> {
        let found = self.inspect().await?;
        self.accept(found)
    }

    /// The statements that [`create_schema`](Self::create_schema) runs, for users who run their own
    /// migrations. Safe to run again, in one transaction; not by two sessions at the same time.
    #[must_use]
    pub fn schema_sql(&self) -> String {
        self.schema.sql()
    }

    fn accept(&self, found: Found) -> Result<(), SchemaError> {
        let mut lacks = found.flaws;
        if !found.table {
            lacks.push("it does not exist".into());
        }
        let functions = found.missing.into_iter();
        lacks.extend(functions.map(|function| format!("the function {function} is missing")));
        if lacks.is_empty() {
            return Ok(());
        }
        Err(SchemaError::Differs {
            table: self.schema.table(),
            lacks,
        })
    }

    async fn inspect(&self) -> Result<Found, ProviderError> {
        let (table, functions) = (self.schema.table(), self.schema.functions());
        let row = self
            .connections
            .query_one(
                Caller::Other,
                &self.statements.inspect,
                &[(&table, Type::TEXT), (&functions, Type::TEXT_ARRAY)],
            )
            .await?;
        let found = found(&row).map_err(|flaw| error::bad_answer(&flaw))?;
        if (!found.table || !found.missing.is_empty())
            && let Some(error) = self.connections.too_old(Caller::Other).await
        {
            return Err(error);
        }
        Ok(found)
    }
}

/// Reads the row of `inspect.sql`.
fn found(row: &Row) -> Result<Found, Flaw> {
    let table = record::value(row, "table", 0)?;
    let mut flaws = Vec::new();
    if table {
        if !record::value::<bool>(row, "kind", 1)? {
            flaws.push("it is no ordinary table that survives a crash".into());
        }
        let columns: Vec<String> = record::value(row, "columns", 2)?;
        for column in missing_columns(&columns) {
            flaws.push(format!("the column \"{column}\" is missing"));
        }
        let needed: Vec<String> = record::value(row, "needed", 5)?;
        for column in needed.iter().filter(|column| !is_known(column)) {
            flaws.push(format!(
                "the column \"{column}\" needs a value, and dlock has none for it: give it a default"
            ));
        }
        if !record::value::<bool>(row, "key", 3)? {
            flaws.push("prefix and name together are not unique".into());
        }
    }
    Ok(Found {
        table,
        flaws,
        missing: record::value(row, "functions", 4)?,
    })
}

/// Makes a batch of statements wait for others of its kind: creating an object that another session
/// is creating fails even with IF NOT EXISTS. The lock ends with the transaction, which is the
/// whole batch; its number is "dlock" in ASCII.
pub(crate) fn alone(sql: &str) -> String {
    format!(
        "SELECT pg_catalog.pg_advisory_xact_lock({});\n{sql}",
        0x64_6c_6f_63_6b_u64
    )
}
