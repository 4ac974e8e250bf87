//! The time limits of a connection, on a paused clock.

use std::future::poll_fn;

use http_body::Body as _;
use tokio::time::{sleep, timeout};

use super::*;

const HEAD: Duration = Duration::from_secs(10);
const IDLE: Duration = Duration::from_secs(120);
const WRITE: Duration = Duration::from_secs(30);
const MOMENT: Duration = Duration::from_secs(1);

fn http1() -> Arc<Activity> {
    let activity = Activity::new(&Bounds::default());
    activity.open(true);
    activity
}

async fn overdue_within(activity: &Activity, time: Duration) -> Option<Awaited> {
    timeout(time, activity.overdue()).await.ok()
}

#[tokio::test(start_paused = true)]
async fn bytes_of_a_slow_client_win_it_no_time() {
    let activity = http1();
    for _ in 0..9 {
        sleep(MOMENT).await;
        activity.received();
    }
    assert_eq!(
        overdue_within(&activity, MOMENT * 2).await,
        Some(Awaited::Head)
    );
}

#[tokio::test(start_paused = true)]
async fn client_without_a_word_has_as_long_as_a_slow_one() {
    let activity = http1();
    assert_eq!(overdue_within(&activity, HEAD - MOMENT).await, None);
    assert_eq!(
        overdue_within(&activity, MOMENT * 2).await,
        Some(Awaited::First)
    );
}

#[tokio::test(start_paused = true)]
async fn request_under_way_is_never_overdue() {
    let activity = http1();
    let (one, other) = (activity.begin(), activity.begin());
    drop(one);
    assert_eq!(overdue_within(&activity, IDLE * 3).await, None);
    drop(other);
    assert_eq!(overdue_within(&activity, IDLE - MOMENT).await, None);
    assert_eq!(
        overdue_within(&activity, HEAD + MOMENT).await,
        Some(Awaited::Another)
    );
}

#[tokio::test(start_paused = true)]
async fn next_request_has_its_time_from_its_first_byte_on() {
    let activity = http1();
    drop(activity.begin());
    let waiting = tokio::spawn({
        let activity = Arc::clone(&activity);
        async move { (activity.overdue().await, Instant::now()) }
    });
    sleep(HEAD * 2).await;
    activity.received();
    let first_byte = Instant::now();
    let (overdue, at) = waiting.await.unwrap();
    assert_eq!(overdue, Awaited::Head);
    assert!(at - first_byte >= HEAD && at - first_byte < HEAD + MOMENT);
}

#[tokio::test(start_paused = true)]
async fn pings_are_no_requests() {
    let activity = Activity::new(&Bounds::default());
    drop(activity.begin());
    activity.received();
    assert_eq!(overdue_within(&activity, IDLE - MOMENT).await, None);
}

#[tokio::test(start_paused = true)]
async fn crowd_forgets_connections_that_have_ended() {
    let crowd = Crowd::default();
    let open = http1();
    crowd.add(&open);
    for _ in 0..1_000 {
        crowd.add(&http1());
    }
    let listed = crowd.0.lock().unwrap().len();
    assert!(listed < 20, "{listed} are listed, and one is open");
    crowd.thin();
    assert!(open.state().leaving);
}

/// Whether a client that was given this many pieces of an answer, and then reads no more, is
/// overdue.
async fn stalls_after(body: Body, pieces: usize) -> bool {
    let activity = Activity::new(&Bounds::default());
    let mut answer = Answer::new(body, activity.begin());
    for _ in 0..pieces {
        sleep(WRITE - MOMENT).await;
        let piece = poll_fn(|cx| Pin::new(&mut answer).poll_frame(cx)).await;
        assert!(piece.unwrap().unwrap().into_data().unwrap().len() <= PIECE);
    }
    let overdue = overdue_within(&activity, WRITE + HEAD + MOMENT).await;
    assert!(matches!(overdue, None | Some(Awaited::Taking)));
    drop(answer);
    // Afterwards it is a client like any other.
    assert_eq!(overdue_within(&activity, IDLE - MOMENT).await, None);
    overdue.is_some()
}

#[tokio::test(start_paused = true)]
async fn client_that_takes_nothing_of_an_answer_is_overdue() {
    let large = || Body::from(vec![0; 10 * PIECE]);
    assert!(stalls_after(large(), 0).await);
    assert!(stalls_after(large(), 9).await);
    let hints = futures_util::stream::pending::<Result<Bytes, std::io::Error>>();
    assert!(!stalls_after(Body::from_stream(hints), 0).await);
    assert!(!stalls_after(Body::empty(), 0).await);
}
