//! `mysql://USER:PASSWORD@HOST/DATABASE`: one table of a MariaDB database.
//!
//! `trust` reads whom a connection trusts; `tables` reports the flaws of its table.

mod tables;
mod trust;

use std::{error::Error as StdError, ffi::OsStr, fmt, num::NonZeroU16, sync::Arc, time::Duration};

use async_trait::async_trait;
use dlock_mysql::{
    MysqlProvider,
    mysql_async::{Error, Opts, OptsBuilder, PoolConstraints, PoolOpts},
};

use self::trust::Trust;
use super::{
    Backend,
    identity::Files,
    query::{self, Query},
    tls,
    url::{UNCLEAR, has_clear_credentials},
};
use crate::{
    Encryption, Program, Store, StoreError, diagnosis::Diagnosis, encryption::is_loopback,
    text::harmless,
};

/// One for a renewal, and some for a waiter that acquires and reads at the same time.
const CONNECTIONS: NonZeroU16 = NonZeroU16::MIN.saturating_add(3);
/// For many that do so, of the 151 that a server usually lets in.
const CONNECTIONS_FOR_MANY: NonZeroU16 = NonZeroU16::MIN.saturating_add(15);
/// The port on which a server listens by default.
const PORT: u16 = 3306;
/// How long a connection may be silent until the system checks whether it is still there.
const ALIVE: Duration = Duration::from_secs(15);

const PARAMETERS: [&str; 7] = [
    "connections",
    "prefix",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "table",
];

/// A database, and the place of the locks in it.
struct Database {
    options: Opts,
    trust: Trust,
    certificate: Option<Files>,
    table: Option<String>,
    prefix: Option<String>,
    /// The highest number of connections, if the URL gives it.
    connections: Option<NonZeroU16>,
}

/// Reads `mysql://..`.
pub(crate) fn parse(argument: &OsStr) -> Result<Box<dyn Backend>, StoreError> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let url = argument
        .to_str()
        .ok_or_else(|| StoreError::no_location("a URL is UTF-8, and this is not"))?;
    Ok(Box::new(Database::parse(url, &variable)?))
}

impl Database {
    fn parse(url: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, StoreError> {
        let wrong = StoreError::no_location;
        if !url.contains("://") {
            return Err(wrong(
                "a database is written mysql://USER:PASSWORD@HOST/DATABASE",
            ));
        }
        if !has_clear_credentials(url) {
            return Err(wrong(UNCLEAR));
        }
        if url.contains('#') {
            return Err(wrong("nothing may follow a # in its URL"));
        }
        let (url, query) = url.split_once('?').unwrap_or((url, ""));
        let mut query = Query::parse(query, &PARAMETERS)?;
        let trust = Trust::new(
            query.take("sslmode")?.as_deref(),
            query.take("sslrootcert")?,
        )?;
        let over_tls = trust != Trust::NoTls;
        let certificate = Files::take_over_tls(
            &mut query,
            over_tls,
            "sslmode=verify-full&sslrootcert=system",
        )?;
        let connections = query.take("connections")?.map(|number| {
            number
                .parse()
                .map_err(|_| wrong("connections is how many there may be at most: 1 to 65535"))
        });
        // The driver reports only what kind of thing is wrong, and repeats nothing.
        let options = Opts::from_url(url).map_err(|_| wrong("its URL can't be read"))?;
        // The driver takes the beginning of a longer path.
        let paths = url.matches('/').count() - "//".len();
        if options.db_name().is_none() || paths > 1 || options.ip_or_hostname().is_empty() {
            return Err(wrong(
                "it names no host, or no database: mysql://USER@HOST/DATABASE",
            ));
        }
        let user = options
            .user()
            .map(str::to_owned)
            .filter(|user| !user.is_empty());
        let password = options.pass().map(str::to_owned);
        let options = OptsBuilder::from_opts(options)
            .user(user.or_else(|| variable("USER")))
            .pass(password.or_else(|| variable("MYSQL_PWD")))
            .tcp_keepalive(Some(ALIVE));
        Ok(Self {
            options: options.into(),
            trust,
            certificate,
            table: query.take("table")?,
            prefix: query.take("prefix")?,
            connections: connections.transpose()?,
        })
    }

    fn unusable(&self) -> StoreError {
        StoreError::unusable(format!("can't open the store {self}"))
    }
}

#[async_trait]
impl Backend for Database {
    async fn open(&self, program: &Program) -> Result<Store, StoreError> {
        // The driver takes the process's default.
        drop(tls::cryptography());
        let usual = if program.serves_many {
            CONNECTIONS_FOR_MANY
        } else {
            CONNECTIONS
        };
        let most = self.connections.unwrap_or(usual).get().into();
        // One is never above the limit.
        let pool = PoolConstraints::new(1, most).unwrap_or_default();
        let options = OptsBuilder::from_opts(self.options.clone())
            .ssl_opts(self.trust.options(self.certificate.as_ref())?)
            .pool_opts(PoolOpts::new().with_constraints(pool));
        let provider = MysqlProvider::builder()
            .options(options)
            .table(self.table.as_deref().unwrap_or("dlock_lock"))
            .prefix(self.prefix.as_deref().unwrap_or_default())
            .build()
            .map_err(|error| self.unusable().because(error))?;
        Ok(Store {
            provider: Arc::new(provider.clone()),
            seen: None,
            encryption: self.encryption(),
            diagnosis: Diagnosis {
                shown: self.to_string(),
                tables: Some(Arc::new(provider)),
                set_up: program.set_up,
                if_silent: "is the database up, and can this machine reach it? try again later",
                is_refusal,
                probe: None,
            },
        })
    }

    fn encryption(&self) -> Option<Encryption> {
        if is_loopback(self.options.ip_or_hostname()) {
            return Some(Encryption::Local);
        }
        Some(match self.trust {
            Trust::NoTls => Encryption::None("say sslmode=verify-full&sslrootcert=system"),
            Trust::Anybody => Encryption::Unchecked(
                "sslmode=require takes any server: say sslmode=verify-full&sslrootcert=system",
            ),
            Trust::System | Trust::File(_) => Encryption::Checked,
        })
    }
}

fn is_refusal(error: &(dyn StdError + 'static)) -> bool {
    matches!(error.downcast_ref::<Error>(), Some(Error::Server(_)))
}

impl fmt::Display for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("mysql://")?;
        if let Some(user) = self.options.user() {
            write!(f, "{}@", harmless(user))?;
        }
        f.write_str(&harmless(self.options.ip_or_hostname()).to_string())?;
        match self.options.tcp_port() {
            PORT => {}
            port => write!(f, ":{port}")?,
        }
        if let Some(name) = self.options.db_name() {
            write!(f, "/{}", harmless(name))?;
        }
        f.write_str(&query::shown(&[
            ("table", &self.table),
            ("prefix", &self.prefix),
        ]))
    }
}

// Not the options: they know the password.
impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Database({self}, {:?})", self.trust)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database(url: &str) -> Result<Database, StoreError> {
        Database::parse(url, &|name: &str| {
            Some(format!("{name} of the environment"))
        })
    }

    #[test]
    fn environment_fills_in_what_the_url_leaves_open_and_nothing_else() {
        let open = database("mysql://h/d").unwrap();
        assert_eq!(open.options.user(), Some("USER of the environment"));
        assert_eq!(open.options.pass(), Some("MYSQL_PWD of the environment"));
        let said = database("mysql://me:mine%40@h/d").unwrap();
        assert_eq!(said.options.user(), Some("me"));
        assert_eq!(said.options.pass(), Some("mine@"));
    }

    #[test]
    fn url_says_how_many_connections_and_whom_to_trust() {
        let plain = database("mysql://h/d").unwrap();
        assert_eq!((plain.connections, plain.trust), (None, Trust::NoTls));
        let said = database("mysql://h/d?connections=32&sslmode=require").unwrap();
        assert_eq!(
            (said.connections.map(NonZeroU16::get), said.trust),
            (Some(32), Trust::Anybody)
        );
        for bad in [
            "connections=0",
            "connections=",
            "sslmode=prefer",
            "sslmode=",
            "sslmode=verify-full",
            "socket=/s",
        ] {
            assert!(database(&format!("mysql://h/d?{bad}")).is_err(), "{bad}");
        }
    }
}
