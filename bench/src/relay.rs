//! A network between a system and its store: a relay on loopback that holds all bytes back for a while in either
//! direction. It uses threads that sleep, since a runtime's timers have a granularity of a millisecond.

use std::{
    io::{self, Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    sync::mpsc::{self, Receiver, Sender},
    thread,
    time::Duration,
};

use anyhow::Result;

use crate::clock::Moment;

/// A relay to one server. It lasts until this process ends, and so do its connections.
pub(crate) struct Relay {
    pub(crate) port: u16,
}

/// Bytes, and when they are due.
type Parcel = (Moment, Vec<u8>);

impl Relay {
    /// Listens on a free port for this server on loopback, and holds each segment back for that long each way.
    pub(crate) fn start(server: u16, one_way: Duration) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // If the server refuses, the client's connection is closed.
                let _refused = connect(&client, server, one_way);
            }
        });
        Ok(Self { port })
    }
}

fn connect(client: &TcpStream, server: u16, one_way: Duration) -> io::Result<()> {
    let server = TcpStream::connect(("127.0.0.1", server))?;
    for (from, to) in [(client, &server), (&server, client)] {
        let (from, to) = (from.try_clone()?, to.try_clone()?);
        to.set_nodelay(true)?;
        let (sender, parcels) = mpsc::channel();
        thread::spawn(move || read(from, one_way, &sender));
        thread::spawn(move || write(to, &parcels));
    }
    Ok(())
}

/// Until the end of the stream, which is due at a time like any byte.
fn read(mut from: TcpStream, one_way: Duration, parcels: &Sender<Parcel>) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = from.read(&mut buffer).unwrap_or(0);
        let parcel = (Moment::now().after(one_way), buffer[..read].to_vec());
        if parcels.send(parcel).is_err() || read == 0 {
            return;
        }
    }
}

fn write(mut to: TcpStream, parcels: &Receiver<Parcel>) {
    for (due, bytes) in parcels {
        thread::sleep(due.since(Moment::now()));
        if bytes.is_empty() || to.write_all(&bytes).is_err() {
            break;
        }
    }
    let _closed = to.shutdown(Shutdown::Both);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_the_end_arrive_late_in_both_directions() {
        const ONE_WAY: Duration = Duration::from_millis(5);
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let relay = Relay::start(server.local_addr().unwrap().port(), ONE_WAY).unwrap();
        let echo = thread::spawn(move || {
            let (mut client, _) = server.accept().unwrap();
            let mut byte = [0];
            while client.read(&mut byte).unwrap() == 1 {
                client.write_all(&byte).unwrap();
            }
        });
        let mut client = TcpStream::connect(("127.0.0.1", relay.port)).unwrap();
        for sent in 0..3 {
            let asked = Moment::now();
            client.write_all(&[sent]).unwrap();
            let mut answer = [0];
            client.read_exact(&mut answer).unwrap();
            assert_eq!(answer, [sent]);
            assert!(Moment::now().since(asked) >= 2 * ONE_WAY);
        }
        client.shutdown(Shutdown::Write).unwrap();
        echo.join().unwrap();
        assert_eq!(client.read(&mut [0]).unwrap(), 0);
    }
}
