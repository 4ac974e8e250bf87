//! The port that the proxy listens on, which can be closed for a while without being lost.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
};

use tokio::net::{TcpListener, TcpSocket};

/// A free loopback port that stays reserved even while the proxy does not listen on it.
#[derive(Debug)]
pub(super) struct Port {
    address: SocketAddr,
    /// Bound and never listening: while no other socket listens, connections are refused.
    _keeper: TcpSocket,
}

impl Port {
    pub(super) fn find() -> io::Result<Self> {
        let keeper = shared((Ipv4Addr::LOCALHOST, 0).into())?;
        Ok(Self {
            address: keeper.local_addr()?,
            _keeper: keeper,
        })
    }

    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn listen(&self) -> io::Result<TcpListener> {
        shared(self.address)?.listen(1024)
    }
}

/// A socket that may share the address with others of this user.
fn shared(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    // Where that option does not exist, `SO_REUSEADDR` does the same (Windows).
    #[cfg(unix)]
    socket.set_reuseport(true)?;
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}
