//! A database of its own for each queue and load, and what its server says of it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use deadpool_postgres::tokio_postgres::{self, Client, NoTls};

use super::{Entry, ours::SQLITE};
use crate::{bench::Bench, systems::Store};

/// A database. Drop it by [`Place::remove`].
pub(crate) struct Place {
    url: String,
    kind: Kind,
}

enum Kind {
    Postgres(Box<Server>),
    Sqlite(PathBuf),
}

struct Server {
    name: String,
    /// At the server's own database, where its counters are.
    counters: Client,
    /// At this database.
    client: Client,
}

/// What the server has counted so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) wal_bytes: f64,
    pub(crate) statements: f64,
}

impl Counts {
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            wal_bytes: self.wal_bytes - before.wal_bytes,
            statements: self.statements - before.statements,
        }
    }
}

impl Place {
    pub(crate) async fn new(bench: &Bench, store: Store) -> Result<Self> {
        let name = bench.name("queue").replace('-', "_");
        if store == Store::SQLite {
            let folder = bench
                .places()
                .sqlite
                .clone()
                .context("there is no folder")?;
            let file = folder.join(format!("{name}.db"));
            return Ok(Self {
                url: format!("{SQLITE}{}", file.display()),
                kind: Kind::Sqlite(file),
            });
        }
        let port = bench.places().postgres.context("there is no Postgres")?;
        let url =
            |name: &str| format!("postgres://postgres@127.0.0.1:{port}/{name}?sslmode=disable");
        let counters = connect(&url("postgres")).await?;
        counters
            .batch_execute(&format!("CREATE DATABASE {name}"))
            .await?;
        let client = connect(&url(&name)).await?;
        Ok(Self {
            url: url(&name),
            kind: Kind::Postgres(Box::new(Server {
                name,
                counters,
                client,
            })),
        })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// A connection to it.
    pub(crate) fn client(&self) -> Result<&Client> {
        match &self.kind {
            Kind::Postgres(server) => Ok(&server.client),
            Kind::Sqlite(_) => anyhow::bail!("an SQLite file has no server"),
        }
    }

    /// Runs statements, in either store.
    pub(crate) async fn execute(&self, sql: &str) -> Result<()> {
        match &self.kind {
            Kind::Postgres(server) => Ok(server.client.batch_execute(sql).await?),
            Kind::Sqlite(file) => {
                let (file, sql) = (file.clone(), sql.to_owned());
                let work = move || Ok(rusqlite::Connection::open(file)?.execute_batch(&sql)?);
                tokio::task::spawn_blocking(work).await?
            }
        }
    }

    /// Does what its server would do by itself, sooner or later, for what was changed so far: readers remove dead rows
    /// of the pages that they look at, also in the server's own catalogs, and autovacuum does its work.
    pub(crate) async fn vacuum(&self) -> Result<()> {
        if let Kind::Postgres(server) = &self.kind {
            for client in [&server.client, &server.counters] {
                client.batch_execute("VACUUM ANALYZE").await?;
                // For the statistics that the first has changed.
                client.batch_execute("VACUUM").await?;
            }
        }
        Ok(())
    }

    /// Tasks that have not ended. One statement.
    pub(crate) async fn pending(&self, entry: &Entry) -> Result<i64> {
        match &self.kind {
            Kind::Postgres(server) => {
                let row = server.client.query_one(entry.pending, &[]).await?;
                Ok(row.get(0))
            }
            Kind::Sqlite(file) => pending_in(file, entry.pending),
        }
    }

    /// What its server has counted; nothing for SQLite.
    pub(crate) async fn counts(&self) -> Result<Counts> {
        let Kind::Postgres(server) = &self.kind else {
            return Ok(Counts::default());
        };
        let row = server
            .counters
            .query_one(
                "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8, \
                 coalesce((SELECT sum(calls) FROM pg_stat_statements AS s JOIN pg_database AS d ON d.oid = s.dbid \
                 WHERE d.datname = $1), 0)::float8",
                &[&server.name],
            )
            .await?;
        Ok(Counts {
            wal_bytes: row.get(0),
            statements: row.get(1),
        })
    }

    pub(crate) async fn remove(self) -> Result<()> {
        match self.kind {
            Kind::Postgres(server) => {
                let Server {
                    name,
                    counters,
                    client,
                } = *server;
                drop(client);
                let drop = format!("DROP DATABASE {name} WITH (FORCE)");
                counters.batch_execute(&drop).await?;
            }
            Kind::Sqlite(file) => std::fs::remove_file(file)?,
        }
        Ok(())
    }
}

pub(crate) fn pending_in(file: &Path, pending: &str) -> Result<i64> {
    let connection = rusqlite::Connection::open(file)?;
    Ok(connection.query_row(pending, [], |row| row.get(0))?)
}

/// Connects; the connection lasts as long as the client.
pub(crate) async fn connect(url: &str) -> Result<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}
