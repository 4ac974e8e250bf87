//! One connection, from its first byte to its end.

use std::{
    convert::Infallible, error::Error, net::SocketAddr, pin::pin, sync::Arc, time::Duration,
};

use axum::{extract::ConnectInfo, http::Request};
use hyper::{
    body::Incoming,
    server::conn::{http1, http2},
    service::{Service, service_fn},
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::graceful::GracefulConnection,
    service::TowerToHyperService,
};
use socket2::{SockRef, TcpKeepalive};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    time::timeout,
};

use super::{
    Connection, Server, Stop,
    activity::{Activity, Answer, Awaited},
    tls,
    watched::Watched,
    written::Written,
};
use crate::Peer;

/// How long a connection may be silent before the client is probed, by TCP and by HTTP/2 pings, and how long it has
/// to answer.
const SILENCE: Duration = Duration::from_secs(30);
const ANSWER: Duration = Duration::from_secs(10);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Http1,
    Http2,
}

/// Serves a connection until it ends.
pub(super) async fn run(stream: TcpStream, server: Arc<Server>, stop: Stop) {
    // If this fails, so does reading the first byte.
    stream.set_nodelay(true).ok();
    let from = stream.peer_addr().ok();
    let probes = TcpKeepalive::new().with_time(SILENCE).with_interval(ANSWER);
    SockRef::from(&stream).set_tcp_keepalive(&probes).ok();
    let (stream, writes) = Written::new(stream, server.bounds.write);
    // Before TLS: a stranger that is slow with the handshake takes a place as well.
    let activity = Activity::new(&server.bounds);
    server.crowd.add(&activity);
    tokio::select! {
        () = secured(stream, from, &server, &stop, &activity) => {}
        () = stop.now.cancelled() => {}
        () = writes.stalled() => tracing::debug!("a client does not read what it is sent"),
    }
}

/// Agrees on TLS, if there is any.
async fn secured(
    stream: Written<TcpStream>,
    from: Option<SocketAddr>,
    server: &Server,
    stop: &Stop,
    activity: &Arc<Activity>,
) {
    let Some(tls) = &server.tls else {
        let known = Known { from, peer: None };
        return serve(stream, Protocol::Http1, known, server, stop, activity).await;
    };
    let handshake = timeout(server.bounds.handshake, tls.acceptor().accept(stream));
    let stream = tokio::select! {
        agreed = handshake => match agreed {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return tracing::debug!(%error, "no TLS with a client"),
            Err(_) => return tracing::debug!("a client took too long for TLS"),
        },
        () = activity.crowded_out() => return,
        () = stop.soon.cancelled() => return,
    };
    let (_, session) = stream.get_ref();
    let protocol = match session.alpn_protocol() {
        Some(tls::HTTP2) => Protocol::Http2,
        _ => Protocol::Http1,
    };
    let peer = session
        .peer_certificates()
        .and_then(<[_]>::first)
        .map(|certificate| Peer::new(tls::names(certificate)));
    let known = Known { from, peer };
    serve(stream, protocol, known, server, stop, activity).await;
}

/// The client at the other end, for the requests of the connection.
struct Known {
    from: Option<SocketAddr>,
    peer: Option<Peer>,
}

async fn serve<S>(
    stream: S,
    protocol: Protocol,
    known: Known,
    server: &Server,
    stop: &Stop,
    activity: &Arc<Activity>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let bounds = &server.bounds;
    activity.open(protocol == Protocol::Http1);
    let stream = TokioIo::new(Watched::new(stream, Arc::clone(activity)));
    let router = TowerToHyperService::new(server.router.clone());
    let watched = Arc::clone(activity);
    let service = service_fn(move |mut request: Request<Incoming>| {
        let under_way = watched.begin();
        if let Some(peer) = &known.peer {
            request.extensions_mut().insert(peer.clone());
        }
        if let Some(from) = known.from {
            request.extensions_mut().insert(ConnectInfo(from));
        }
        let connection = Connection(Arc::clone(&watched));
        request.extensions_mut().insert(connection);
        let response = router.call(request);
        async move {
            let response = response.await?;
            Ok::<_, Infallible>(response.map(|body| Answer::new(body, under_way)))
        }
    });
    match protocol {
        Protocol::Http1 => {
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(None)
                .max_header_size(bounds.head_size.into())
                .serve_connection(stream, service);
            until_the_end(connection, activity, stop).await;
        }
        Protocol::Http2 => {
            let connection = http2::Builder::new(TokioExecutor::new())
                .timer(TokioTimer::new())
                .max_header_list_size(bounds.head_size.into())
                .max_concurrent_streams(bounds.streams)
                .keep_alive_interval(SILENCE)
                .keep_alive_timeout(ANSWER)
                .serve_connection(stream, service);
            until_the_end(connection, activity, stop).await;
        }
    }
}

/// Runs a connection until it ends, takes too long, or the server stops.
async fn until_the_end<C>(connection: C, activity: &Activity, stop: &Stop)
where
    C: GracefulConnection<Error: Error + 'static>,
{
    let mut connection = pin!(connection);
    let mut ending = false;
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    tracing::debug!(error = &error as &dyn Error, "a connection broke");
                }
                return;
            }
            () = stop.soon.cancelled(), if !ending => {
                // A client that has sent nothing yet gets no message.
                if activity.is_untouched() {
                    return;
                }
                ending = true;
                connection.as_mut().graceful_shutdown();
            }
            overdue = activity.overdue() => {
                if ending || overdue != Awaited::Another {
                    return tracing::debug!(?overdue, "a client took too long");
                }
                // An idle client learns that no further request would be served: it may just be sending one.
                ending = true;
                activity.expect_end();
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}
