//! "Patterns".

use std::{
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{
    body::Body,
    http::{Request, StatusCode},
};
use dlock::{
    Client, DLock, FencingToken,
    sqlite::{SqliteProvider, tasks::SqliteTasks},
};
use dlock_book_snippets::{
    patterns::{
        consumer, crawlers, customer, leader, migration, several, threads, worker,
    },
    stores,
};
use tokio::sync::watch;
use tower::ServiceExt;

/// The limit for an event that should happen soon, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn file(folder: &tempfile::TempDir) -> SqliteProvider {
    SqliteProvider::open(folder.path().join("locks.db")).unwrap()
}

#[tokio::test]
async fn instances_that_start_together_migrate_once() {
    let server = crate::postgres::server().await;
    let client = crate::postgres::prepared(&server).await;
    client
        .batch_execute("CREATE TABLE migration (id serial PRIMARY KEY)")
        .await
        .unwrap();
    let instance = async || {
        let url = crate::postgres::url(&server);
        let provider = stores::postgres(&url).await.unwrap();
        let lock = DLock::builder()
            .name("migrations")
            .provider(provider)
            .build()
            .unwrap();
        let mut client = crate::postgres::connect(&server).await;
        migration::migrate(&lock, &mut client).await.unwrap()
    };
    let (a, b, c) = tokio::join!(instance(), instance(), instance());
    let mut done = [a, b, c];
    done.sort_unstable();
    assert_eq!(done, [0, 0, 2]);
    client
        .execute("INSERT INTO customer VALUES (1, 'anna')", &[])
        .await
        .unwrap();
}

#[derive(Clone)]
struct Runs(Arc<watch::Sender<Vec<FencingToken>>>);

impl Runs {
    fn new() -> Self {
        Self(Arc::new(watch::Sender::new(Vec::new())))
    }

    fn add(&self, token: FencingToken) {
        self.0.send_modify(|runs| runs.push(token));
    }

    async fn reach(&self, count: usize) -> Vec<FencingToken> {
        let mut seen = self.0.subscribe();
        let runs = tokio::time::timeout(
            PATIENCE,
            seen.wait_for(|runs| runs.len() >= count),
        )
        .await;
        runs.expect("in time").unwrap().clone()
    }
}

impl leader::AsyncSweep for Runs {
    async fn run(&self, token: FencingToken) {
        self.add(token);
    }
}

/// An instance that must not sweep before the other one has been signalled to stop.
#[derive(Clone)]
struct Next {
    runs: Runs,
    stopped: watch::Receiver<bool>,
    too_early: Arc<AtomicBool>,
}

impl leader::AsyncSweep for Next {
    async fn run(&self, token: FencingToken) {
        self.too_early
            .fetch_or(!*self.stopped.borrow(), Ordering::SeqCst);
        self.runs.add(token);
    }
}

#[tokio::test]
async fn the_next_instance_sweeps_when_the_leader_stops() {
    let folder = tempfile::tempdir().unwrap();
    let (stop, stopped) = watch::channel(false);
    let first = Runs::new();
    let next = Next {
        runs: Runs::new(),
        stopped: stopped.clone(),
        too_early: Arc::default(),
    };
    let told = |mut stopped: watch::Receiver<bool>| async move {
        stopped.wait_for(|stop| *stop).await.ok();
    };
    let client = || Client::new(file(&folder));
    let leading =
        tokio::spawn(leader::serve(client(), first.clone(), told(stopped)));
    let token = first.reach(1).await[0];
    let instance = tokio::spawn(leader::serve(client(), next.clone(), pending()));
    // Long enough for an instance that elects itself to sweep.
    tokio::time::sleep(Duration::from_millis(300)).await;
    stop.send(true).unwrap();
    leading.await.unwrap().unwrap();
    assert!(next.runs.reach(1).await[0] > token);
    assert!(
        !next.too_early.load(Ordering::SeqCst),
        "two instances have swept at once"
    );
    instance.abort();
}

#[tokio::test]
async fn orders_of_one_customer_are_not_booked_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let locks = customer::locks(file(&folder)).unwrap();
    let booking = locks.named("customer-7").unwrap().hold().await.unwrap();
    let service = customer::service(locks);
    let order = |customer: &str| {
        let request = Request::post(format!("/customers/{customer}/orders"))
            .body(Body::empty())
            .unwrap();
        let service = service.clone();
        async move { service.oneshot(request).await.unwrap().status() }
    };
    let (same, other) = tokio::join!(order("7"), order("8"));
    assert_eq!((same, other), (StatusCode::CONFLICT, StatusCode::OK));
    booking.release().await.unwrap();
    assert_eq!(order("7").await, StatusCode::OK);
}

/// No other request has the lock, so 409 would send the caller away for the wrong reason.
#[tokio::test]
async fn an_instance_that_ends_is_no_conflict() {
    let folder = tempfile::tempdir().unwrap();
    let locks = customer::locks(file(&folder)).unwrap();
    locks.client().close().await;
    let order = Request::post("/customers/7/orders")
        .body(Body::empty())
        .unwrap();
    let answer = customer::service(locks).oneshot(order).await.unwrap();
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
}

impl worker::Images for Runs {
    async fn resize(&self, image: u64, token: FencingToken) -> std::io::Result<()> {
        assert_eq!(image, 7);
        self.add(token);
        Ok(())
    }
}

#[tokio::test]
async fn a_task_is_done_by_a_worker() {
    let folder = tempfile::tempdir().unwrap();
    let tasks = SqliteTasks::open(folder.path().join("shop.db")).unwrap();
    worker::enqueue(&tasks).await.unwrap();
    let images = Runs::new();
    let drained = worker::worker(tasks, images.clone())
        .unwrap()
        .drain(PATIENCE)
        .await
        .unwrap();
    assert!(drained.failed().is_empty(), "{drained:?}");
    assert_eq!(images.reach(1).await.len(), 1);
}

/// Numbers until a second consumer has had three, the position shared by all.
struct Numbers {
    taken: Mutex<Vec<(u32, FencingToken)>>,
    sender: Runs,
}

impl consumer::Stream for Numbers {
    async fn next(&self, token: FencingToken) -> bool {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let mut taken = self.taken.lock().unwrap();
        let next = taken.len() as u32;
        taken.push((next, token));
        self.sender.add(token);
        let later = taken.iter().filter(|(_, of)| *of != taken[0].1);
        later.count() < 3
    }
}

#[tokio::test]
async fn a_consumer_that_is_gone_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let stream = Arc::new(Numbers {
        taken: Mutex::default(),
        sender: Runs::new(),
    });
    let consume = || {
        let lock = DLock::builder()
            .name("orders")
            .provider(Client::new(file(&folder)))
            .build()
            .unwrap();
        let stream = Arc::clone(&stream);
        tokio::spawn(async move { consumer::consume(&lock, &*stream).await })
    };
    let first = consume();
    stream.sender.reach(1).await;
    let second = consume();
    let taken = stream.sender.reach(6).await;
    assert!(
        taken.iter().all(|token| *token == taken[0]),
        "two consumers at once: {taken:?}"
    );
    first.abort();
    tokio::time::timeout(PATIENCE, second)
        .await
        .expect("in time")
        .unwrap()
        .unwrap();
    let taken = stream.taken.lock().unwrap();
    assert!(taken.is_sorted(), "{taken:?}");
    assert!(taken[0].1 < taken[taken.len() - 1].1, "{taken:?}");
}

#[tokio::test]
async fn transfers_in_both_directions_end() {
    let folder = tempfile::tempdir().unwrap();
    let locks = DLock::builder().name("accounts").provider(file(&folder));
    let locks = locks.build().unwrap();
    for _ in 0..20 {
        let (there, back) = tokio::join!(
            several::transfer(&locks, 3, 7),
            several::transfer(&locks, 7, 3)
        );
        there.unwrap();
        back.unwrap();
    }
}

#[test]
fn a_program_without_async_works_once_a_night() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("locks.db");
    assert!(threads::nightly(&file).unwrap());
    assert!(!threads::nightly(&file).unwrap());
}

#[tokio::test]
async fn more_pages_than_permits_are_fetched_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let lock = DLock::builder().name("pages").provider(file(&folder));
    let lock = lock.build().unwrap();
    let mut pages = tokio::task::JoinSet::new();
    for _ in 0..12 {
        let lock = lock.clone();
        pages.spawn(async move {
            crawlers::crawl(&lock, "page")
                .await
                .map_err(|error| error.to_string())
        });
    }
    for page in pages.join_all().await {
        assert_eq!(page.unwrap(), "PAGE");
    }
}
