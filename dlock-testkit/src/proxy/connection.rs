//! One connection, from its opening to its end.

use std::sync::Arc;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::sleep,
};

use super::{
    Direction,
    line::{Line, Shared},
    log::Happening,
    network::{End, Network},
    protocol::Pieces,
    pump::{Cut, Pump},
};

/// Carries one connection until both ends are done, or it is cut.
pub(super) async fn carry(client: TcpStream, shared: Shared) {
    let number = shared.log.opened();
    let log = Arc::clone(&shared.log);
    connection(client, number, shared).await;
    log.note(Happening::Ended { connection: number });
}

async fn connection(mut client: TcpStream, number: usize, shared: Shared) {
    let mut network = shared.network.clone();
    let Network {
        server,
        protocol,
        cuts: (before, _),
        ..
    } = *network.borrow();
    let Ok(mut server) = TcpStream::connect(server).await else {
        return reset([client]);
    };
    // Small packets are sent at once: the proxy adds no delay of its own.
    if client.set_nodelay(true).is_err() || server.set_nodelay(true).is_err() {
        return;
    }
    let line = Line::new(number, shared);
    let mut requests = Pieces::new(protocol, Direction::ToServer);
    let mut answers = Pieces::new(protocol, Direction::ToClient);
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let both = async {
        tokio::try_join!(
            Pump::new(&line, Direction::ToServer, &mut requests).run(from_client, to_server),
            Pump::new(&line, Direction::ToClient, &mut answers).run(from_server, to_client)
        )
    };
    let cut = tokio::select! {
        biased;
        cut = network.wait_for(|now| now.cuts.0 != before) => match cut.map(|now| now.cuts.1) {
            Ok(End::Reset) => Some(Cut::Reset),
            // The end of the proxy closes too.
            Ok(End::Close) | Err(_) => None,
        },
        done = both => done.err(),
    };
    match cut {
        Some(Cut::Reset) => reset([client, server]),
        Some(Cut::Late { request, by }) => {
            reset([client]);
            sleep(by).await;
            if server.write_all(&request.bytes).await.is_ok() {
                // Its answer reaches no client.
                until_answered(&mut server, &mut answers, request.stream).await;
            }
        }
        None => {}
    }
}

/// Reads to the first piece of an answer on this stream, or to the end.
async fn until_answered(server: &mut TcpStream, answers: &mut Pieces, stream: Option<u32>) {
    let mut read = vec![0; 16 * 1024];
    while let Ok(length @ 1..) = server.read(&mut read).await {
        let pieces = answers.cut(&read[..length]);
        if pieces.iter().any(|piece| piece.stream == stream) {
            return;
        }
    }
}

/// Ends connections so that the other end of each sees a reset.
fn reset<const N: usize>(sockets: [TcpStream; N]) {
    for socket in sockets {
        // A socket refuses this only if its other end is gone.
        drop(socket.set_zero_linger());
    }
}
