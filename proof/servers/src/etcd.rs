//! etcd for tests: the program that `DLOCK_TEST_ETCD` names, or the one of the system's packages.

use std::{
    env,
    io::{self, Error, ErrorKind},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::{Place, Service};

/// Starts an empty server of one member.
///
/// # Errors
/// If etcd is not installed or does not start.
pub async fn etcd() -> io::Result<Service> {
    let program = env::var_os("DLOCK_TEST_ETCD").map_or_else(|| "etcd".into(), PathBuf::from);
    let plain = |place: &Place| command(&program, place, "http");
    match Service::builder(plain).spawn(is_ready).await {
        Err(error) if error.kind() == ErrorKind::NotFound => Err(Error::new(
            ErrorKind::NotFound,
            "etcd is not installed (on Debian: apt-get install etcd-server, or name a program with DLOCK_TEST_ETCD)",
        )),
        result => result,
    }
}

/// The command that starts this program as a server of one member, for clients over `http` or `https`.
#[must_use]
pub fn command(program: &Path, place: &Place, scheme: &str) -> Command {
    let clients = format!("{scheme}://127.0.0.1:{}", place.port());
    // The server has no peers, so this address is never used.
    let peers = "http://127.0.0.1:1";
    let mut command = Command::new(program);
    command.arg("--data-dir").arg(place.dir());
    command.args(["--listen-client-urls", &clients]);
    command.args(["--advertise-client-urls", &clients]);
    command.args(["--listen-peer-urls", "http://127.0.0.1:0"]);
    command.args(["--initial-advertise-peer-urls", peers]);
    // Clients with leases of a second check their connections more often than etcd allows by default.
    command.args(["--grpc-keepalive-min-time", "1ms"]);
    // At its default cost, each log-in of a client takes a tenth of a second of a processor.
    command.args(["--bcrypt-cost", "4"]);
    // A killed process loses nothing by this, but a machine that crashes would.
    command.arg("--unsafe-no-fsync");
    command.args(["--initial-cluster", &format!("default={peers}")]);
    command
}

/// Whether a server without TLS serves its clients. For [`Service::restart`].
pub async fn is_ready(place: Place) -> bool {
    let ask = async {
        let mut stream = TcpStream::connect(("127.0.0.1", place.port())).await?;
        let question = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        stream.write_all(question).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        Ok::<_, Error>(answer)
    };
    let answer = timeout(Duration::from_secs(1), ask).await;
    answer.is_ok_and(|answer| answer.is_ok_and(|answer| answer.contains(r#""health":"true""#)))
}
