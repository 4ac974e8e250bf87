//! The address of a database: from the URL and the environment to the driver's settings.
//!
//! Parameters and variables are those of PostgreSQL's own programs, as far as they are named here.

use std::{
    num::NonZeroU16,
    path::{Path, PathBuf},
    time::Duration,
};

use dlock_postgres::deadpool_postgres::tokio_postgres::{
    Config,
    config::{Host, SslMode},
};

use super::trust::{Mode, Roots};
use crate::{
    StoreError,
    backend::{
        identity::Files,
        query::Query,
        url::{UNCLEAR, has_clear_credentials},
    },
};

/// The parameters that may follow the question mark.
const PARAMETERS: [&str; 27] = [
    "application_name",
    "channel_binding",
    "connect_timeout",
    "connections",
    "dbname",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "load_balance_hosts",
    "options",
    "password",
    "port",
    "prefix",
    "prepared",
    "schema",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslnegotiation",
    "sslrootcert",
    "table",
    "target_session_attrs",
    "tcp_user_timeout",
    "user",
];

/// How long a server may take to let this client in, unless the URL sets it.
const CONNECT: Duration = Duration::from_secs(5);
/// How long the system repeats unacknowledged data, unless the URL sets it.
const UNACKNOWLEDGED: Duration = Duration::from_secs(15);
/// How long a connection may be silent until the system checks whether it is still there, unless the URL sets another
/// time than the driver's default. Most of a pool's connections are idle, and firewalls forget such ones after some
/// minutes.
const ALIVE: Duration = Duration::from_secs(15);

/// A database.
pub(crate) struct Database {
    pub(crate) config: Config,
    pub(crate) mode: Mode,
    pub(crate) roots: Roots,
    pub(crate) certificate: Option<Files>,
    pub(crate) password_file: Option<PathBuf>,
    pub(crate) place: Place,
    /// The highest number of connections, if the URL gives it.
    pub(crate) connections: Option<NonZeroU16>,
    /// Whether statements are prepared, if the URL says so.
    pub(crate) prepared: Option<bool>,
}

/// The place of the locks in the database, as far as the URL gives it.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) schema: Option<String>,
    pub(crate) table: Option<String>,
    pub(crate) prefix: Option<String>,
}

/// An environment variable that is not empty.
pub(crate) type Variable<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Database {
    pub(crate) fn parse(
        url: &str,
        variable: Variable<'_>,
        home: Option<&Path>,
    ) -> Result<Self, StoreError> {
        if !url.contains("://") {
            return Err(StoreError::no_location(
                "a database is written postgres://USER@HOST/DATABASE",
            ));
        }
        if !has_clear_credentials(url) {
            return Err(StoreError::no_location(UNCLEAR));
        }
        let (url, query) = url.split_once('?').unwrap_or((url, ""));
        let mut query = Query::parse(query, &PARAMETERS)?;
        let (mode, root) = (query.take("sslmode")?, query.take("sslrootcert")?);
        let certificate = Files::new(
            query.take("sslcert")?.or_else(|| variable("PGSSLCERT")),
            query.take("sslkey")?.or_else(|| variable("PGSSLKEY")),
        )?;
        let place = Place {
            schema: query.take("schema")?,
            table: query.take("table")?,
            prefix: query.take("prefix")?,
        };
        let connections = query.take("connections")?;
        let connections = connections.map(|number| {
            let why = "connections is how many there may be at most: 1 to 65535";
            number.parse().map_err(|_| StoreError::no_location(why))
        });
        let prepared = query.boolean("prepared")?;
        let mut config: Config = format!("{url}?{}", query.rest())
            .parse()
            // The driver names what is wrong, and repeats no value.
            .map_err(|error| StoreError::no_location("its URL can't be read").because(error))?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(StoreError::no_location("it names no host"));
        }
        complete(&mut config, variable);
        let roots = Roots::new(root.or_else(|| variable("PGSSLROOTCERT")), home);
        let mode = Mode::new(mode.or_else(|| variable("PGSSLMODE")).as_deref(), &roots)?;
        config.ssl_mode(match mode {
            // A socket of this machine: the driver would look for a host's name without success.
            _ if all_sockets(&config) => SslMode::Disable,
            Mode::Disable => SslMode::Disable,
            Mode::Prefer => SslMode::Prefer,
            Mode::Require | Mode::VerifyCa | Mode::VerifyFull => SslMode::Require,
        });
        let password_file = variable("PGPASSFILE")
            .map(PathBuf::from)
            .or_else(|| Some(home?.join(".pgpass")));
        Ok(Self {
            config,
            mode,
            roots,
            certificate,
            password_file,
            place,
            connections: connections.transpose()?,
            prepared,
        })
    }
}

/// Fills in the settings that the URL leaves open.
fn complete(config: &mut Config, variable: Variable<'_>) {
    if config.get_user().is_none()
        && let Some(user) = variable("PGUSER").or_else(|| variable("USER"))
    {
        config.user(user);
    }
    if config.get_password().is_none()
        && let Some(password) = variable("PGPASSWORD")
    {
        config.password(password);
    }
    if config.get_application_name().is_none() {
        config.application_name("dlock");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(UNACKNOWLEDGED);
    }
    if config.get_keepalives_idle() == Config::new().get_keepalives_idle() {
        config.keepalives_idle(ALIVE);
    }
}

fn all_sockets(config: &Config) -> bool {
    let hosts = config.get_hosts();
    !hosts.is_empty() && hosts.iter().all(|host| !matches!(host, Host::Tcp(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database(url: &str, variables: &[(&str, &str)]) -> Result<Database, StoreError> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Database::parse(url, &variable, None)
    }

    #[test]
    fn environment_fills_in_what_the_url_leaves_open_and_nothing_else() {
        let variables = [
            ("PGPASSWORD", "p"),
            ("PGUSER", "u"),
            ("PGSSLMODE", "require"),
        ];
        let open = database("postgres://h/d", &variables).unwrap();
        assert_eq!(open.config.get_password(), Some(&b"p"[..]));
        assert_eq!(open.config.get_user(), Some("u"));
        assert_eq!(open.mode, Mode::Require);
        let said = database("postgres://me:mine@h/d?sslmode=disable", &variables).unwrap();
        assert_eq!(said.config.get_password(), Some(&b"mine"[..]));
        assert_eq!(said.config.get_user(), Some("me"));
        assert_eq!(said.mode, Mode::Disable);
        assert_eq!(said.config.get_connect_timeout(), Some(&CONNECT));
        assert_eq!(said.config.get_keepalives_idle(), ALIVE);
        let patient = "postgres://h/d?connect_timeout=60&keepalives_idle=90";
        let patient = database(patient, &[]).unwrap();
        assert_eq!(
            patient.config.get_connect_timeout(),
            Some(&Duration::from_secs(60))
        );
        let idle = patient.config.get_keepalives_idle();
        assert_eq!(idle, Duration::from_secs(90));
    }

    #[test]
    fn url_says_how_many_connections_and_whether_statements_are_prepared() {
        let plain = database("postgres://h/d", &[]).unwrap();
        assert_eq!((plain.connections, plain.prepared), (None, None));
        let said = database("postgres://h/d?connections=32&prepared=true", &[]).unwrap();
        assert_eq!(
            (said.connections.map(NonZeroU16::get), said.prepared),
            (Some(32), Some(true))
        );
        let never = database("postgres://h/d?prepared=false", &[]).unwrap();
        assert_eq!(never.prepared, Some(false));
        for bad in [
            "connections=0",
            "connections=70000",
            "connections=",
            "prepared=yes",
        ] {
            let refused = database(&format!("postgres://h/d?{bad}"), &[]);
            assert!(refused.is_err(), "{bad}");
        }
    }

    #[test]
    fn modes_are_those_of_the_library_of_postgres() {
        let roots = [("PGSSLROOTCERT", "/r.pem")];
        for (query, variables, mode) in [
            ("", &[][..], Some(Mode::Prefer)),
            ("sslmode=disable", &[], Some(Mode::Disable)),
            ("sslmode=require", &roots, Some(Mode::Require)),
            ("sslmode=verify-ca", &roots, Some(Mode::VerifyCa)),
            ("sslmode=verify-full", &roots, Some(Mode::VerifyFull)),
            (
                "sslmode=verify-full&sslrootcert=%2Fr.pem",
                &[],
                Some(Mode::VerifyFull),
            ),
            ("sslrootcert=system", &[], Some(Mode::VerifyFull)),
            // With no roots to trust, or with all.
            ("sslmode=verify-ca", &[], None),
            ("sslmode=verify-full", &[], None),
            ("sslmode=require&sslrootcert=system", &[], None),
            ("sslmode=verify-ca&sslrootcert=system", &[], None),
            ("sslmode=allow", &[], None),
            ("sslmode=", &[], None),
        ] {
            let found = database(&format!("postgres://h/d?{query}"), variables);
            assert_eq!(found.ok().map(|database| database.mode), mode, "{query}");
        }
    }
}
