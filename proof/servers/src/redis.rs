//! Redis for tests, from the packages of the system.

use std::{
    io::{self, Error, ErrorKind},
    process::Command,
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

#[cfg(feature = "certificates")]
use super::certificates::Certificates;
use super::{Place, Service};

/// Starts an empty server that keeps nothing on disk, with these additional arguments.
///
/// # Errors
/// If Redis is not installed or does not start.
pub async fn redis(arguments: &[&str]) -> io::Result<Service> {
    let command = |place: &Place| {
        let mut command = command(place, "--port");
        command.args(arguments);
        command
    };
    let service = Service::builder(command).spawn(is_ready).await;
    service.map_err(named)
}

/// Starts a server that uses only TLS, with its clients and with the other nodes of a cluster.
///
/// # Errors
/// As for [`redis`].
#[cfg(feature = "certificates")]
pub async fn redis_over_tls(
    certificates: &Certificates,
    arguments: &[&str],
) -> io::Result<Service> {
    let command = |place: &Place| {
        let mut command = command(place, "--tls-port");
        command.args(["--port", "0", "--tls-auth-clients", "no"]);
        command.args(["--tls-cluster", "yes", "--tls-ca-cert-file"]);
        command.arg(&certificates.authority);
        command
            .arg("--tls-cert-file")
            .arg(&certificates.certificate);
        command.arg("--tls-key-file").arg(&certificates.key);
        command.args(arguments);
        command
    };
    Service::builder(command)
        .spawn(|place| async move { place.accepts_connections().await })
        .await
        .map_err(named)
}

/// Starts a Sentinel that watches the primary on this port under this name: it considers it down after a second
/// without an answer, and promotes a replica when a second Sentinel agrees. The settings are lines of its
/// configuration.
///
/// # Errors
/// As for [`redis`].
pub async fn sentinel(name: &str, primary: u16, settings: &[&str]) -> io::Result<Service> {
    let primary = primary.to_string();
    let command = |place: &Place| {
        let mut shell = Command::new("sh");
        // It stores its findings in its file.
        shell.args(["-euc", include_str!("sentinel.sh"), "sh"]);
        shell.args([name, &primary, &place.port().to_string()]);
        shell.args(settings);
        shell
    };
    Service::builder(command)
        .spawn(is_ready)
        .await
        .map_err(named)
}

/// Whether a server without TLS answers, if only to ask for a password. For [`Service::restart`].
pub async fn is_ready(place: Place) -> bool {
    let ping = async {
        let mut stream = TcpStream::connect(("127.0.0.1", place.port())).await?;
        stream.write_all(b"PING\r\n").await?;
        let mut answer = [0; 5];
        stream.read_exact(&mut answer).await?;
        Ok::<_, Error>(answer)
    };
    match timeout(Duration::from_secs(1), ping).await {
        Ok(Ok(answer)) => answer == *b"+PONG" || answer == *b"-NOAU",
        _ => false,
    }
}

fn command(place: &Place, port: &str) -> Command {
    let mut command = Command::new("redis-server");
    command
        .args(["--bind", "127.0.0.1", port, &place.port().to_string()])
        .args(["--save", "", "--repl-diskless-sync-delay", "0"]);
    command
}

fn named(error: Error) -> Error {
    if error.kind() == ErrorKind::NotFound {
        return Error::new(
            ErrorKind::NotFound,
            "redis-server is not installed (on Debian: apt-get install redis-server)",
        );
    }
    error
}
