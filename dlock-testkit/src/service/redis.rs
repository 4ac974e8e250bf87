//! Redis for tests, from the package of the system: empty, without a password, and with nothing on
//! the disk, unless arguments say otherwise.

use std::{
    io::{self, Error},
    net::Ipv4Addr,
    process::Command,
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::{Place, Service};

/// Starts a new server, with these arguments on top.
///
/// # Errors
/// If Redis is not installed or does not start.
pub async fn redis(arguments: &[&str]) -> io::Result<Service> {
    let mut tries = 0;
    loop {
        tries += 1;
        let server = Service::builder(|place: &Place| {
            let mut command = Command::new("redis-server");
            command
                .args(["--bind", "127.0.0.1", "--port", &place.port().to_string()])
                .args(["--save", "", "--repl-diskless-sync-delay", "0"])
                .args(arguments);
            command
        });
        match server
            .spawn(|place| async move { is_ready(&place).await })
            .await
        {
            // The port of a cluster's own talk is 10000 above.
            Err(error) if tries < 20 && error.to_string().contains("port number too high") => {}
            Err(error) => {
                let kind = error.kind();
                return Err(Error::new(
                    kind,
                    format!("redis-server (on Debian: apt-get install redis-server): {error}"),
                ));
            }
            started => return started,
        }
    }
}

/// Whether a server answers, be it that it asks for a password first. For [`Service::restart`].
pub async fn is_ready(place: &Place) -> bool {
    let ping = async {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, place.port())).await?;
        stream.write_all(b"PING\r\n").await?;
        let mut answer = [0; 7];
        stream.read_exact(&mut answer).await?;
        io::Result::Ok(answer)
    };
    match timeout(Duration::from_secs(1), ping).await {
        Ok(Ok(answer)) => &answer == b"+PONG\r\n" || &answer == b"-NOAUTH",
        _ => false,
    }
}
