//! Connections of the server, from outside: over real sockets.

mod crowd;
mod slow;
mod stop;
mod support;
mod tls;
