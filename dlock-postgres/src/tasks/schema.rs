//! The names of the tables and their functions, every statement with these names filled in, and the creation of the
//! schema.

use deadpool_postgres::tokio_postgres::types::Type;
use dlock_core::ProviderError;

use super::{
    PostgresTasks,
    layout::{COLUMNS, FILES, FUNCTIONS, INDEXES, LAYOUT, PARTS, PUBLIC, TABLES, VERSION},
};
use crate::{
    connections::Caller,
    error::{self, BuildError, SchemaError},
    record,
    schema::{MAX_IDENTIFIER, quoted, without_comments},
    setup::alone,
};

/// The channel of the hints: one for all queues of a database, whose hints begin with the schema.
pub(super) const CHANNEL: &str = "dlock_task";

/// A database schema with the tables of a queue.
#[derive(Clone, Debug)]
pub(super) struct Schema(String);

/// The statements over one queue.
#[derive(Debug)]
pub(super) struct Statements {
    pub(super) enqueue: String,
    pub(super) periodic: String,
    pub(super) claim: String,
    pub(super) before: String,
    pub(super) finish: String,
    pub(super) checkpoint: String,
    pub(super) renew: String,
    pub(super) release: String,
    pub(super) read: String,
    pub(super) cancel: String,
    pub(super) retry: String,
    pub(super) pause: String,
    pub(super) paused: String,
    pub(super) set_limit: String,
    pub(super) limits: String,
    pub(super) list: String,
    pub(super) list_newest: String,
    pub(super) counts: String,
    pub(super) prune: String,
    pub(super) complete: String,
    pub(super) checkpoint_strictly: String,
    pub(super) hints: String,
    inspect: String,
    version: String,
}

impl Schema {
    pub(super) fn new(schema: &str) -> Result<Self, BuildError> {
        quoted("schema", schema, MAX_IDENTIFIER).map(Self)
    }

    /// Without quotes, for people.
    pub(super) fn name(&self) -> &str {
        self.0.trim_matches('"')
    }

    pub(super) fn statements(&self) -> Statements {
        let plain = |file: &str| without_comments(&self.fill(file));
        let list = |beyond, direction| {
            let list = plain(include_str!("../sql/tasks/list.sql"));
            list.replace("{beyond}", beyond)
                .replace("{direction}", direction)
        };
        Statements {
            enqueue: self.fill("SELECT e.* FROM {enqueue}($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) AS e"),
            periodic: self.fill(
                "SELECT p.* FROM {periodic}($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) AS p",
            ),
            claim: plain(include_str!("../sql/tasks/call_claim.sql")),
            before: self.fill("SELECT b.* FROM {before}($1, $2, $3, $4) AS b"),
            finish: self.fill("SELECT f.* FROM {finish}($1, $2, $3, $4, $5, $6, $7) AS f"),
            checkpoint: self.fill("SELECT c.* FROM {checkpoint}($1, $2, $3, $4, $5) AS c"),
            renew: plain(include_str!("../sql/tasks/call_renew.sql")),
            release: plain(include_str!("../sql/tasks/call_release.sql")),
            read: plain(include_str!("../sql/tasks/read.sql")),
            cancel: self.fill("SELECT c.* FROM {cancel}($1, $2) AS c"),
            retry: self.fill("SELECT r.* FROM {retry}($1) AS r"),
            pause: self.fill("SELECT FROM {pause}($1, $2)"),
            paused: plain(include_str!("../sql/tasks/paused.sql")),
            set_limit: self.fill("SELECT FROM {set_limit}($1, $2)"),
            limits: plain(include_str!("../sql/tasks/limits.sql")),
            list: list("OPERATOR(pg_catalog.>)", ""),
            list_newest: list("OPERATOR(pg_catalog.<)", "DESC"),
            counts: plain(include_str!("../sql/tasks/counts.sql")),
            prune: plain(include_str!("../sql/tasks/prune.sql")),
            complete: self.fill("SELECT FROM {complete}($1, $2, $3, $4)"),
            checkpoint_strictly: self.fill("SELECT FROM {checkpoint_strictly}($1, $2, $3, $4, $5)"),
            hints: plain(include_str!("../sql/tasks/hints.sql")),
            inspect: plain(include_str!("../sql/tasks/inspect.sql")),
            version: plain(include_str!("../sql/tasks/version.sql")),
        }
    }

    /// The statements that make the schema; safe to run again.
    fn sql(&self) -> String {
        let mut sql = String::from("-- The schema of dlock's queue of tasks for PostgreSQL.\n\n");
        for file in FILES {
            sql.push_str(&self.fill(file.trim_end()));
            sql.push_str(";\n\n");
        }
        sql
    }

    /// Puts in the names, and the common parts of several statements. The names contain no braces, so none of them can
    /// be taken for another.
    fn fill(&self, sql: &str) -> String {
        let mut filled = sql.to_owned();
        for (name, part) in PARTS {
            filled = filled.replace(name, part.trim_end());
        }
        filled = filled
            .replace("{schema}", &self.0)
            .replace("{version}", &LAYOUT.to_string())
            .replace("{channel}", CHANNEL);
        for table in TABLES {
            filled = filled.replace(&format!("{{{table}}}"), &self.table(table));
        }
        for name in FUNCTIONS {
            filled = filled.replace(&format!("{{{name}}}"), &self.function(name));
        }
        filled
    }

    fn table(&self, table: &str) -> String {
        match table {
            "task" => format!("{}.dlock_task", self.0),
            other => format!("{}.dlock_task_{other}", self.0),
        }
    }

    fn function(&self, name: &str) -> String {
        format!("{}.dlock_task_{name}_{VERSION}", self.0)
    }

    fn functions(&self) -> Vec<String> {
        let own = FUNCTIONS.map(|name| self.function(name));
        let public = PUBLIC.map(|name| format!("{}.{name}", self.0));
        own.into_iter().chain(public).collect()
    }

    fn columns(&self) -> Vec<String> {
        let of = |(table, columns): &(&str, &[&str])| {
            let table = self.table(table);
            let columns = columns.iter();
            columns.map(|column| format!("{table} {column}")).collect()
        };
        COLUMNS.iter().flat_map::<Vec<String>, _>(of).collect()
    }
}

/// The missing parts of the schema.
struct Missing {
    tables: Vec<String>,
    indexes: Vec<String>,
    functions: Vec<String>,
    columns: Vec<String>,
}

impl PostgresTasks {
    /// Makes the schema, the tables and the functions if they are missing. Any number of processes may do so at once,
    /// and again at every start; if nothing is missing, this only looks, and needs no right to create anything.
    ///
    /// # Errors
    /// [`SchemaError::Store`] if the database gives no answer, or its user may not create them;
    /// [`SchemaError::Layout`] if the tables are those of another release, and [`SchemaError::Differs`] if others
    /// have their names: then nothing is changed.
    ///
    /// # Cancel safety
    /// Everything is made in one transaction, or nothing.
    pub async fn create_schema(&self) -> Result<(), SchemaError> {
        let missing = self.inspect().await?;
        // Missing columns are not added to existing tables.
        let lacks_columns = missing.columns.iter().any(|column| {
            let table = column.split_once(' ').map_or("", |(table, _)| table);
            !missing.tables.iter().any(|missing| missing == table)
        });
        let has_all =
            missing.tables.is_empty() && missing.indexes.is_empty() && missing.functions.is_empty();
        if lacks_columns || has_all {
            return self.accept(missing);
        }
        self.connections.batch(&alone(&self.schema_sql())).await?;
        self.verify_schema().await
    }

    /// Checks that the tables and their functions are as this release needs them.
    ///
    /// # Errors
    /// [`SchemaError::Layout`] if they are those of another release, [`SchemaError::Differs`] names what is
    /// missing, [`SchemaError::Store`] says that the database gave no answer.
    pub async fn verify_schema(&self) -> Result<(), SchemaError> {
        let missing = self.inspect().await?;
        self.accept(missing)
    }

    /// The statements that [`create_schema`](Self::create_schema) runs, for users who run their own migrations. Safe to
    /// run again, in one transaction; not by two sessions at the same time.
    #[must_use]
    pub fn schema_sql(&self) -> String {
        self.schema.sql()
    }

    fn accept(&self, missing: Missing) -> Result<(), SchemaError> {
        let say = |what: &str, names: Vec<String>| -> Vec<String> {
            let missing = |name| format!("the {what} {name} is missing");
            names.into_iter().map(missing).collect()
        };
        let lacks = [
            say("table", missing.tables),
            say("column", missing.columns),
            say("index", missing.indexes),
            say("function", missing.functions),
        ]
        .concat();
        if lacks.is_empty() {
            return Ok(());
        }
        Err(SchemaError::Differs {
            table: self.schema.table("task"),
            lacks,
        })
    }

    async fn inspect(&self) -> Result<Missing, SchemaError> {
        let relations = TABLES.iter().chain(&INDEXES);
        let relations: Vec<String> = relations.map(|name| self.schema.table(name)).collect();
        let indexes = relations[TABLES.len()..].to_vec();
        let (functions, columns) = (self.schema.functions(), self.schema.columns());
        let row = self
            .connections
            .query_one(
                Caller::Other,
                &self.statements.inspect,
                &[
                    (&relations, Type::TEXT_ARRAY),
                    (&functions, Type::TEXT_ARRAY),
                    (&columns, Type::TEXT_ARRAY),
                ],
            )
            .await?;
        let list = |column, at| -> Result<Vec<String>, ProviderError> {
            record::value(&row, column, at).map_err(|flaw| error::bad_answer(&flaw))
        };
        let (indexes, tables) = list("relations", 0)?
            .into_iter()
            .partition(|name| indexes.contains(name));
        let missing = Missing {
            tables,
            indexes,
            functions: list("functions", 1)?,
            columns: list("columns", 2)?,
        };
        let layout = self.schema.table("layout");
        if !missing.tables.contains(&layout) {
            self.verify_layout().await?;
        }
        if !missing.functions.is_empty()
            && let Some(error) = self.connections.too_old(Caller::Other).await
        {
            return Err(error.into());
        }
        Ok(missing)
    }

    async fn verify_layout(&self) -> Result<(), SchemaError> {
        let row = self
            .connections
            .query_one(Caller::Other, &self.statements.version, &[])
            .await?;
        let found: Option<i32> = record::optional(&row, "version", 0)
            .map_err(|flaw| SchemaError::Store(error::bad_answer(&flaw)))?;
        match found {
            // None: the table was emptied; making the schema fills it.
            None | Some(LAYOUT) => Ok(()),
            Some(found) => Err(SchemaError::Layout {
                schema: self.schema.0.clone(),
                found,
                known: LAYOUT,
            }),
        }
    }
}
