//! `postgres://USER@HOST/DATABASE`: one table of a database.
//!
//! `address` reads the URL and the environment, `trust` whom a connection trusts, `pgpass` the password file; `tables`
//! reports the flaws of its tables.

mod address;
mod pgpass;
mod tables;
mod trust;

use std::{error::Error as StdError, ffi::OsStr, fmt, sync::Arc};

use async_trait::async_trait;
use dlock_postgres::{
    PostgresProvider,
    deadpool_postgres::{
        Manager, ManagerConfig, Pool, QueueMode, RecyclingMethod,
        tokio_postgres::{self, Config, config::Host},
    },
    tasks::PostgresTasks,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use self::{
    address::{Database, Place},
    pgpass::Wanted,
    trust::Mode,
};
use super::{Backend, query};
use crate::{
    Encryption, Program, Queue, Store, StoreError, diagnosis::Diagnosis, encryption::is_loopback,
    tables::Tables, text::harmless,
};

/// One for a renewal, and some for a waiter that acquires and reads at the same time.
const CONNECTIONS: usize = 4;
/// For many that do so. Locks and tasks have as many each, of the hundred that a server usually lets in.
const CONNECTIONS_FOR_MANY: usize = 16;
/// The port on which a server listens by default.
const PORT: u16 = 5432;

/// Reads `postgres://..`.
pub(crate) fn parse(argument: &OsStr) -> Result<Box<dyn Backend>, StoreError> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let url = argument
        .to_str()
        .ok_or_else(|| StoreError::no_location("a URL is UTF-8, and this is not"))?;
    let database = Database::parse(url, &variable, std::env::home_dir().as_deref())?;
    Ok(Box::new(database))
}

impl Database {
    /// The password of the file, for this connection as if the URL and the environment had none.
    fn password_of_file(&self, program: &Program) -> Option<String> {
        let Self { config, .. } = self;
        let host = match config.get_hosts().first() {
            Some(Host::Tcp(host)) => host.as_str(),
            // As PostgreSQL's programs do for a socket in the usual place.
            #[cfg(unix)]
            Some(Host::Unix(_)) => "localhost",
            None => "",
        };
        let user = config.get_user()?;
        let wanted = Wanted {
            host,
            port: config.get_ports().first().copied().unwrap_or(PORT),
            database: config.get_dbname().unwrap_or(user),
            user,
        };
        let file = self.password_file.as_deref()?;
        pgpass::look_up(file, wanted).unwrap_or_else(|error| {
            (program.warn)(format_args!(
                "the password file {} is ignored: {error}",
                file.display()
            ));
            None
        })
    }
}

impl Database {
    fn unusable(&self, what: &str) -> StoreError {
        StoreError::unusable(format!("{what} the store {self}"))
    }

    /// How to connect, with the password.
    fn connector(&self, program: &Program) -> Result<(Config, MakeRustlsConnect), StoreError> {
        let mut config = self.config.clone();
        if config.get_password().is_none()
            && let Some(password) = self.password_of_file(program)
        {
            config.password(password);
        }
        let tls = trust::settings(self.mode, &self.roots, self.certificate.as_ref())?;
        Ok((config, MakeRustlsConnect::new(tls)))
    }

    fn pool(
        &self,
        (config, tls): (Config, MakeRustlsConnect),
        program: &Program,
    ) -> Result<Pool, StoreError> {
        let recycling = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let manager = Manager::from_config(config, tls, recycling);
        let usual = if program.serves_many {
            CONNECTIONS_FOR_MANY
        } else {
            CONNECTIONS
        };
        let connections = self.connections.map_or(usual, |said| said.get().into());
        Pool::builder(manager)
            .max_size(connections)
            // The connection that was used last: its session is warm, whereas the others would wake up in turn.
            .queue_mode(QueueMode::Lifo)
            .build()
            .map_err(|error| self.unusable("no connections for").because(error))
    }

    fn diagnosis(&self, tables: Arc<dyn Tables>, set_up: &'static str) -> Diagnosis {
        Diagnosis {
            shown: self.to_string(),
            tables: Some(tables),
            set_up,
            if_silent: "is the database up, and can this machine reach it? try again later",
            is_refusal,
            probe: None,
        }
    }
}

#[async_trait]
impl Backend for Database {
    async fn open(&self, program: &Program) -> Result<Store, StoreError> {
        let Place {
            schema,
            table,
            prefix,
        } = &self.place;
        let (config, tls) = self.connector(program)?;
        let pool = self.pool((config.clone(), tls.clone()), program)?;
        // The builder keeps one type, whatever is set.
        let builder = PostgresProvider::builder()
            .pool(pool)
            .schema(schema.as_deref().unwrap_or("dlock"))
            .table(table.as_deref().unwrap_or("lock"))
            .prefix(prefix.as_deref().unwrap_or_default())
            .prepared_opt(self.prepared);
        let built = if program.serves_many {
            builder.listen(config, tls).build()
        } else {
            builder.notify(true).build()
        };
        let provider = built.map_err(|error| self.unusable("can't open").because(error))?;
        Ok(Store {
            provider: Arc::new(provider.clone()),
            seen: None,
            encryption: self.encryption(),
            diagnosis: self.diagnosis(Arc::new(provider), program.set_up),
        })
    }

    async fn open_queue(&self, program: &Program, _make: bool) -> Result<Queue, StoreError> {
        let Place {
            schema,
            table: None,
            prefix: None,
        } = &self.place
        else {
            return Err(StoreError::no_location(
                "a queue has neither its own table nor its own prefix: name another schema, with schema=NAME",
            ));
        };
        let (config, tls) = self.connector(program)?;
        let pool = self.pool((config.clone(), tls.clone()), program)?;
        let builder = PostgresTasks::builder()
            .pool(pool)
            .schema(schema.as_deref().unwrap_or("dlock"))
            .prepared_opt(self.prepared);
        let built = if program.serves_many {
            builder.listen(config, tls).build()
        } else {
            builder.build()
        };
        let tasks = built.map_err(|error| self.unusable("can't open").because(error))?;
        Ok(Queue {
            tasks: Arc::new(tasks.clone()),
            diagnosis: self.diagnosis(Arc::new(tasks), program.set_up_queue),
        })
    }

    fn encryption(&self) -> Option<Encryption> {
        let hosts = self.config.get_hosts();
        let is_local = |host: &Host| match host {
            Host::Tcp(host) => is_loopback(host),
            #[cfg(unix)]
            Host::Unix(_) => true,
        };
        if hosts.iter().all(is_local) {
            return Some(Encryption::Local);
        }
        Some(match self.mode {
            Mode::Disable => Encryption::None("say sslmode=verify-full"),
            Mode::Prefer => Encryption::Unchecked(
                "sslmode=prefer takes any server, and continues without TLS where the server has none: say sslmode=verify-full",
            ),
            Mode::Require => {
                Encryption::Unchecked("sslmode=require takes any server: say sslmode=verify-full")
            }
            Mode::VerifyCa | Mode::VerifyFull => Encryption::Checked,
        })
    }

    fn has_queues(&self) -> bool {
        true
    }
}

fn is_refusal(error: &(dyn StdError + 'static)) -> bool {
    error
        .downcast_ref::<tokio_postgres::Error>()
        .is_some_and(|error| error.as_db_error().is_some())
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { config, .. } = self;
        f.write_str("postgres://")?;
        if let Some(user) = config.get_user() {
            write!(f, "{}@", harmless(user))?;
        }
        let ports = config.get_ports();
        for (n, host) in config.get_hosts().iter().enumerate() {
            let comma = if n > 0 { "," } else { "" };
            match host {
                Host::Tcp(host) if host.contains(':') => write!(f, "{comma}[{}]", harmless(host))?,
                Host::Tcp(host) => write!(f, "{comma}{}", harmless(host))?,
                #[cfg(unix)]
                Host::Unix(path) => write!(f, "{comma}{}", harmless(&path.to_string_lossy()))?,
            }
            match ports.get(n).or(ports.first()) {
                Some(&port) if port != PORT => write!(f, ":{port}")?,
                _ => {}
            }
        }
        if config.get_hosts().is_empty()
            && let Some(address) = config.get_hostaddrs().first()
        {
            write!(f, "{address}")?;
        }
        if let Some(name) = config.get_dbname() {
            write!(f, "/{}", harmless(name))?;
        }
        let Place {
            schema,
            table,
            prefix,
        } = &self.place;
        f.write_str(&query::shown(&[
            ("schema", schema),
            ("table", table),
            ("prefix", prefix),
        ]))
    }
}

// Not the settings: they know the password.
impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Database({self}, {:?})", self.mode)
    }
}
