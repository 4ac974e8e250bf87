//! Making the schema, and verifying it.

use crate::{
    MysqlProvider,
    connections::Caller,
    error::{self, SchemaError},
    record,
};

impl MysqlProvider {
    /// Makes the table and the procedures if they are missing, but not the database. Any number of processes may do so
    /// at once, and again at every start; if nothing is missing, this only looks, and needs no right to create
    /// anything.
    ///
    /// # Errors
    /// [`SchemaError::Store`] if the database gives no answer, or its user may not create them;
    /// [`SchemaError::Differs`] if there is another table of this name, which is left as it is.
    ///
    /// # Cancel safety
    /// The database makes them one after the other; the next call makes those that are still missing.
    pub async fn create_schema(&self) -> Result<(), SchemaError> {
        match self.verify_schema().await {
            Err(SchemaError::Differs { .. }) => {}
            other => return other,
        }
        self.connections
            .query(Caller::Other, &self.schema_sql())
            .await?;
        self.verify_schema().await
    }

    /// Checks that the table and its procedures are as this release needs them.
    ///
    /// # Errors
    /// [`SchemaError::Differs`] names what is missing, or what the user has no right to see; [`SchemaError::Store`]
    /// says that the database gave no answer.
    pub async fn verify_schema(&self) -> Result<(), SchemaError> {
        let rows = self
            .connections
            .query(Caller::Other, &self.schema.inspect)
            .await?;
        let word = |row, at| record::text(row, "description", at).map(str::to_owned);
        let found = rows
            .iter()
            .map(|row| Ok((word(row, 0)?, without_width(&word(row, 1)?))))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|flaw: record::Flaw| error::bad_answer(&flaw))?;
        let lacks = self.schema.lacks(&found);
        if lacks.is_empty() {
            return Ok(());
        }
        Err(SchemaError::Differs {
            table: self.schema.table.clone(),
            lacks,
        })
    }

    /// The statements that [`create_schema`](Self::create_schema) runs, for users who run their own migrations. Safe to
    /// run again. There are semicolons within its statements: send it to the server as one text, through a driver that
    /// allows many statements, or with `mariadb --delimiter=//`.
    #[must_use]
    pub fn schema_sql(&self) -> String {
        self.schema.sql()
    }
}

/// Some servers add the display width to an integer type: `bigint(20)`.
fn without_width(column: &str) -> String {
    match column.split_once("int(") {
        Some((before, after)) => {
            let rest = after.split_once(')').map_or("", |(_, rest)| rest);
            format!("{before}int{rest}")
        }
        None => column.into(),
    }
}
