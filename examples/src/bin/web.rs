//! A web handler with a limit: an order of a customer is booked under that customer's lock, and a
//! request that cannot have it soon is told so, not kept waiting. Three orders of one customer come
//! at the same time, and one of another.
//!
//! ```sh
//! cargo run -p dlock-examples --bin web --features web
//! cargo run -p dlock-examples --bin web --features web,postgres -- --store postgres://localhost/mydb
//! ```

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use axum::{
    Router,
    extract::{Path, State},
    http::StatusCode,
    routing::post,
};
use dlock::{DLock, Error, FencingToken};
use dlock_examples::Failure;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::sleep,
};

/// How long a request waits for its customer's lock.
const LIMIT: Duration = Duration::from_millis(4500);

/// How long it takes to book an order.
const BOOKING: Duration = Duration::from_secs(3);

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let store = dlock_examples::store()?;
    // The settings of all customers' locks; each request names its own.
    let locks = DLock::builder()
        .name("customer")
        .group("customers")
        .provider(store.provider().await?)
        .build()?;
    let service = Router::new()
        .route("/customers/{id}/orders", post(order))
        .with_state(locks.clone());
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, service).await });

    let mut requests: JoinSet<_> = [7, 7, 7, 8]
        .map(|customer| request(address, customer))
        .into_iter()
        .collect();
    while let Some(answer) = requests.join_next().await {
        println!("{}", answer??);
    }
    locks.client().close().await;
    Ok(())
}

/// Books an order. No other process books one of the same customer meanwhile.
async fn order(State(locks): State<DLock>, Path(id): Path<u64>) -> (StatusCode, String) {
    let Ok(lock) = locks.named(format!("customer-{id}")) else {
        return (StatusCode::BAD_REQUEST, "no such customer".into());
    };
    match booked(&lock).await {
        Ok(done) => (StatusCode::OK, done),
        Err(error @ Error::Lost(_)) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
        Err(error) if error.store_error().is_some() => {
            (StatusCode::SERVICE_UNAVAILABLE, error.to_string())
        }
        Err(_) => (StatusCode::CONFLICT, "somebody is at it".into()),
    }
}

async fn booked(lock: &DLock) -> Result<String, Error> {
    lock.acquire_timeout(LIMIT).await?.with(book).await
}

/// The token goes to the storage with each write, which refuses older ones.
async fn book(token: FencingToken) -> String {
    sleep(BOOKING).await;
    format!("booked with token {token}")
}

/// Sends an order; the status and the text of the answer.
async fn request(address: SocketAddr, customer: u64) -> Result<String, Failure> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!(
        "POST /customers/{customer}/orders HTTP/1.1\r\nHost: {address}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let status = answer.split(' ').nth(1).unwrap_or("no status");
    let text = answer.split("\r\n\r\n").nth(1).unwrap_or_default();
    Ok(format!("customer {customer}: {status} {text}"))
}
