//! A web handler with a limit on the wait: it books an order under the lock of its customer, which it holds until the
//! order is paid. A request that cannot have the lock soon is refused instead of kept waiting: here a second order of a
//! customer, while the first one waits for its payment. An order of another customer does not interfere.
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
    sync::{mpsc, oneshot},
};

/// How long a request waits for its customer's lock.
const LIMIT: Duration = Duration::from_secs(5);

/// The shared state of the handlers: the settings of all customers' locks, of which each request names its own, and the
/// place where a booking waits until it is paid.
#[derive(Clone)]
struct Shop {
    locks: DLock,
    bills: mpsc::Sender<oneshot::Sender<()>>,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let store = dlock_examples::store()?;
    let locks = DLock::builder()
        .name("customer")
        .group("customers")
        .provider(store.provider().await?)
        .build()?;
    let (bills, mut unpaid) = mpsc::channel(1);
    let service = Router::new()
        .route("/customers/{id}/orders", post(order))
        .with_state(Shop {
            locks: locks.clone(),
            bills,
        });
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, service).await });

    let booked = [7, 8].map(|customer| tokio::spawn(request(address, customer)));
    let (Some(one), Some(other)) = (unpaid.recv().await, unpaid.recv().await) else {
        return Err(Failure::new("the service has ended"));
    };
    println!("{}", request(address, 7).await?);
    // Both orders are paid.
    drop((one, other));
    for booked in booked {
        println!("{}", booked.await??);
    }
    locks.client().close().await;
    Ok(())
}

/// Books an order. Meanwhile, no other process books one of the same customer.
async fn order(State(shop): State<Shop>, Path(id): Path<u64>) -> (StatusCode, String) {
    let Ok(lock) = shop.locks.named(format!("customer-{id}")) else {
        return (StatusCode::BAD_REQUEST, "no such customer".into());
    };
    match booked(&lock, &shop).await {
        Ok(done) => (StatusCode::OK, done),
        Err(error @ Error::Lost(_)) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()),
        Err(error) if error.store_error().is_some() => {
            (StatusCode::SERVICE_UNAVAILABLE, error.to_string())
        }
        Err(_) => (StatusCode::CONFLICT, "another order is in progress".into()),
    }
}

async fn booked(lock: &DLock, shop: &Shop) -> Result<String, Error> {
    let lease = lock.acquire_timeout(LIMIT).await?;
    lease.with(async |token| book(shop, token).await).await
}

/// Each write passes the token to the storage, which refuses older ones.
async fn book(shop: &Shop, token: FencingToken) -> String {
    let (bill, paid) = oneshot::channel();
    if shop.bills.send(bill).await.is_ok() {
        // Dropping a bill means that it is paid.
        drop(paid.await);
    }
    format!("booked with token {token}")
}

/// Sends an order; returns the status and the text of the answer.
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
