//! The times of a connection, on a paused clock.

use tokio::time::{sleep, timeout};

use super::*;

const HEAD: Duration = Duration::from_secs(10);
const IDLE: Duration = Duration::from_secs(120);
const MOMENT: Duration = Duration::from_secs(1);

async fn overdue_within(activity: &Activity, time: Duration) -> Option<Awaited> {
    timeout(time, activity.overdue()).await.ok()
}

#[tokio::test(start_paused = true)]
async fn bytes_of_a_slow_client_win_it_no_time() {
    let activity = Activity::new(HEAD, IDLE, true);
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
    let activity = Activity::new(HEAD, IDLE, true);
    assert_eq!(overdue_within(&activity, HEAD - MOMENT).await, None);
    assert_eq!(
        overdue_within(&activity, MOMENT * 2).await,
        Some(Awaited::First)
    );
}

#[tokio::test(start_paused = true)]
async fn request_under_way_is_never_overdue() {
    let activity = Activity::new(HEAD, IDLE, true);
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
    let activity = Activity::new(HEAD, IDLE, true);
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
    let activity = Activity::new(HEAD, IDLE, false);
    drop(activity.begin());
    activity.received();
    assert_eq!(overdue_within(&activity, IDLE - MOMENT).await, None);
}

#[tokio::test(start_paused = true)]
async fn crowd_forgets_connections_that_have_ended() {
    let crowd = Crowd::default();
    let open = Activity::new(HEAD, IDLE, true);
    crowd.add(&open);
    for _ in 0..1_000 {
        crowd.add(&Activity::new(HEAD, IDLE, true));
    }
    let listed = crowd.0.lock().unwrap().len();
    assert!(listed < 20, "{listed} are listed, and one is open");
    crowd.thin();
    assert!(open.state().leaving);
}
