//! The values of arguments, environment and file, and which of them are refused.

use std::{
    ffi::OsStr,
    fs,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    num::{NonZeroU8, NonZeroU32},
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use dlock_stores::{Location, Program};
use serde::Deserialize;

use super::failure::{Failure, say};
use crate::listen::TlsFiles;

/// This program, as the errors of stores name it.
const PROGRAM: Program = Program {
    name: "dlock-server",
    folder: "programs/server",
    set_up: "make it once: 'dlock setup' with the same --store, or 'dlock-server --setup'",
    set_up_queue: "make it once: 'dlock tasks setup' with the same --store, or 'dlock-server --setup'",
    serves_many: true,
    warn: |warning| say(warning),
};

/// The default address of the server.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7420);

fn store_help() -> String {
    format!(
        "Where locks and tasks are: {}. Every user of this machine sees a password that is given here: put the whole \
         URL into DLOCK_STORE or the file [env: DLOCK_STORE] [default: dlock/locks.db in this user's state directory]",
        dlock_stores::all_forms()
    )
}

/// The settings of the command line and the file, which have the same names in both.
#[derive(Debug, Default, Args, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Settings {
    /// Where to listen, as 127.0.0.1:7420 or [::]:7420; port 0 takes a free one [default: 127.0.0.1:7420]
    #[arg(long, value_name = "ADDRESS", global = true)]
    listen: Option<SocketAddr>,
    // Help, not a doc comment: clippy wants variables in doc comments in backticks.
    #[arg(
        help = store_help(),
        long,
        value_name = "STORE",
        global = true
    )]
    pub(super) store: Option<String>,
    /// The server's certificate and the chain to its authority (PEM)
    #[arg(long, value_name = "FILE", global = true)]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key (PEM)
    #[arg(long, value_name = "FILE", global = true)]
    tls_key: Option<PathBuf>,
    /// The authorities that sign client certificates (PEM)
    #[arg(long, value_name = "FILE", global = true)]
    client_ca: Option<PathBuf>,
    /// The file of tokens: which client may do what, and where (TOML)
    #[arg(long, value_name = "FILE", global = true)]
    tokens: Option<PathBuf>,
    /// Serve without TLS on an address that other machines can reach, tokens included: behind a proxy that does TLS,
    /// say
    #[arg(long, global = true)]
    insecure: bool,
    /// Serve the interface of the sample application "leases on Postgres" under /api, too, with its generator; without
    /// any store named it is served in any case
    #[arg(long, global = true)]
    api: bool,
    /// To try it out: serve /api, switch the generator on, and run two workers in this process
    #[arg(long, global = true)]
    demo: bool,
    /// Connections at a time; a further one takes the place of the one idle longest. Each takes an open file [default: 10000]
    #[arg(long, value_name = "NUMBER", global = true)]
    max_connections: Option<NonZeroU32>,
    /// Requests that wait for a lease or a task, and streams of hints, at a time; further ones are refused. Each takes
    /// a connection, so max-connections should be larger [default: 1000]
    #[arg(long, value_name = "NUMBER", global = true)]
    max_waits: Option<NonZeroU32>,
    /// Requests per second of one token or certificate, not counting renewals and the like; further ones are answered
    /// 429. Its entry in the file of tokens may set another number [default: any number]
    #[arg(long, value_name = "NUMBER", global = true)]
    rate: Option<NonZeroU32>,
    /// The percentage of the server's waits and streams that one token or certificate may have where there are several,
    /// and half as much of calls and memory; 100 is all. Its entry in the file of tokens may set another percentage
    /// [default: 50]
    #[arg(long, value_name = "PERCENT", global = true)]
    share: Option<NonZeroU8>,
    /// Bodies and answers at a time, in MiB [default: 256]
    #[arg(long, value_name = "MIB", global = true)]
    max_memory: Option<NonZeroU32>,
    /// How many hours succeeded tasks are kept [default: 24]
    #[arg(long, value_name = "HOURS", global = true)]
    keep_succeeded: Option<u32>,
    /// How many hours dead and cancelled tasks are kept [default: 168]
    #[arg(long, value_name = "HOURS", global = true)]
    keep_failed: Option<u32>,
    /// Create the tables of the store where they are missing
    #[arg(long, global = true)]
    setup: bool,
    /// The format of the log's lines [default: text]
    #[arg(long, value_name = "FORMAT", global = true)]
    log_format: Option<LogFormat>,
}

/// The format of the log's lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum LogFormat {
    #[default]
    Text,
    Json,
}

/// The services, their clients, and how they are served.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) listen: SocketAddr,
    pub(super) location: Location,
    pub(super) tls: Option<TlsFiles>,
    pub(super) tokens: Option<PathBuf>,
    pub(super) setup: bool,
    pub(super) api: bool,
    pub(super) demo: bool,
    pub(super) max_connections: Option<NonZeroU32>,
    pub(super) max_waits: Option<NonZeroU32>,
    pub(super) rate: Option<NonZeroU32>,
    pub(super) share: Option<NonZeroU8>,
    pub(super) max_memory: Option<NonZeroU32>,
    pub(super) keep_succeeded: Option<u32>,
    pub(super) keep_failed: Option<u32>,
    pub(super) log_format: LogFormat,
}

impl Settings {
    /// With the values of the environment and the file where the command line gives none.
    pub(super) fn completed(self, file: Option<&Path>) -> Result<Self, Failure> {
        // An empty variable counts as unset.
        let variable = std::env::var("DLOCK_STORE")
            .ok()
            .filter(|store| !store.is_empty());
        let of_environment = Self {
            store: variable,
            ..Self::default()
        };
        let of_file = file.map(Self::read).transpose()?.unwrap_or_default();
        Ok(self.or(of_environment).or(of_file))
    }

    fn or(self, other: Self) -> Self {
        let Self {
            listen,
            store,
            tls_cert,
            tls_key,
            client_ca,
            tokens,
            insecure,
            api,
            demo,
            max_connections,
            max_waits,
            rate,
            share,
            max_memory,
            keep_succeeded,
            keep_failed,
            setup,
            log_format,
        } = self;
        Self {
            listen: listen.or(other.listen),
            store: store.or(other.store),
            tls_cert: tls_cert.or(other.tls_cert),
            tls_key: tls_key.or(other.tls_key),
            client_ca: client_ca.or(other.client_ca),
            tokens: tokens.or(other.tokens),
            insecure: insecure || other.insecure,
            api: api || other.api,
            demo: demo || other.demo,
            max_connections: max_connections.or(other.max_connections),
            max_waits: max_waits.or(other.max_waits),
            rate: rate.or(other.rate),
            share: share.or(other.share),
            max_memory: max_memory.or(other.max_memory),
            keep_succeeded: keep_succeeded.or(other.keep_succeeded),
            keep_failed: keep_failed.or(other.keep_failed),
            setup: setup || other.setup,
            log_format: log_format.or(other.log_format),
        }
    }

    fn read(path: &Path) -> Result<Self, Failure> {
        let shown = path.display();
        let text = fs::read_to_string(path).map_err(|error| {
            Failure::unusable(format!("can't read the configuration {shown}")).because(&error)
        })?;
        Self::parse(&text).map_err(|why| {
            Failure::unusable(format!("the configuration {shown} can't be used: {why}"))
        })
    }

    /// The error is described without the values of the file: one may be a URL with a password.
    fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error: toml::de::Error| {
            let start = error.span().map_or(0, |span| span.start);
            let line = text.get(..start).unwrap_or_default().matches('\n').count() + 1;
            let message = error.message();
            match message.split_once(", expected ") {
                _ if message.starts_with("unknown field") => format!("line {line}: {message}"),
                Some((_, expected)) => format!("line {line}: this should be {expected}"),
                None => format!("line {line} is not what it should be"),
            }
        })
    }
}

impl Plan {
    pub(super) fn new(settings: Settings) -> Result<Self, Failure> {
        let Settings {
            listen,
            store,
            tls_cert,
            tls_key,
            client_ca,
            tokens,
            insecure,
            api,
            demo,
            max_connections,
            max_waits,
            rate,
            share,
            max_memory,
            keep_succeeded,
            keep_failed,
            setup,
            log_format,
        } = settings;
        let listen = listen.unwrap_or(LISTEN);
        let tls = match (tls_cert, tls_key) {
            (Some(certificate), Some(key)) => Some(TlsFiles {
                certificate,
                key,
                client_ca,
                // With tokens there is another way for a client to identify itself.
                clients_must: tokens.is_none(),
            }),
            (None, None) if client_ca.is_some() => {
                return Err(
                    Failure::unusable("certificates of clients are a part of TLS")
                        .advise("add tls-cert and tls-key to client-ca"),
                );
            }
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => {
                return Err(Failure::unusable(
                    "a certificate is of no use without its key, nor the key without the certificate",
                )
                .advise("say both, tls-cert and tls-key"));
            }
        };
        if share.is_some_and(|share| share.get() > 100) {
            return Err(Failure::unusable(
                "a client cannot have more than 100 percent of the server",
            )
            .advise("name a share from 1 to 100"));
        }
        let location = dlock_stores::locate(&PROGRAM, store.as_deref().map(OsStr::new))?;
        if (api || demo) && !location.has_queues() {
            return Err(Failure::unusable(format!(
                "/api needs tasks, and there are none in {location}"
            ))
            .advise("name an SQLite file or a PostgreSQL database, or leave out api and demo"));
        }
        let plan = Self {
            listen,
            api: api || demo || location.is_default(),
            demo,
            max_connections,
            max_waits,
            rate,
            share,
            max_memory,
            keep_succeeded,
            keep_failed,
            location,
            tls,
            tokens,
            setup,
            log_format: log_format.unwrap_or_default(),
        };
        plan.check(insecure)?;
        Ok(plan)
    }

    /// Whether every client that can connect may do everything.
    pub(super) fn is_open(&self) -> bool {
        let certificates = self.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
        self.tokens.is_none() && !certificates
    }

    /// The names of this server, where only they distinguish its clients from a page in a user's browser.
    pub(super) fn hosts(&self) -> Vec<String> {
        if !self.is_open() {
            return Vec::new();
        }
        let mut hosts = vec![
            "localhost".to_owned(),
            "127.0.0.1".to_owned(),
            "[::1]".to_owned(),
        ];
        let listen = match self.listen.ip() {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(address) => format!("[{address}]"),
        };
        if !hosts.contains(&listen) {
            hosts.push(listen);
        }
        hosts
    }

    /// How clients reach it.
    pub(super) fn url(&self, address: SocketAddr) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{address}")
    }

    fn check(&self, insecure: bool) -> Result<(), Failure> {
        let listen = self.listen;
        if listen.ip().is_loopback() {
            return Ok(());
        }
        if self.is_open() {
            return Err(Failure::unusable(format!(
                "every client that can reach {listen} could take every lock: it is not a loopback address, and clients need not identify themselves"
            ))
            .advise("name a file of tokens, with tokens, or the authority of your clients' certificates, with client-ca; or listen on 127.0.0.1"));
        }
        if self.tls.is_none() && !insecure {
            return Err(Failure::unusable(format!(
                "tokens would cross the network to {listen} readable by anyone: there is no TLS"
            ))
            .advise("add tls-cert and tls-key; or say insecure if something in front of this server does TLS"));
        }
        Ok(())
    }
}

#[cfg(all(test, feature = "sqlite"))]
mod tests;
