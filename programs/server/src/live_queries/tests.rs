use std::sync::atomic::{AtomicU32, Ordering};

use dlock_http::Code;
use tokio::time::{Instant, advance};

use super::*;

fn view(number: u32) -> View {
    View::Tasks {
        namespace: Namespace::default(),
        queue: Some(number.to_string()),
        state: None,
        after: None,
    }
}

/// Reads that are counted, and the result of each.
fn counting(
    looks: &Arc<AtomicU32>,
    finds: fn(u32) -> Result<String, Refusal>,
) -> impl Fn() -> std::future::Ready<Result<String, Refusal>> + use<> {
    let looks = Arc::clone(looks);
    move || std::future::ready(finds(looks.fetch_add(1, Ordering::Relaxed)))
}

async fn next(watcher: &mut Watcher) -> Seen {
    watcher.changed().await.unwrap();
    watcher.borrow_and_update().clone().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_view_is_looked_at_once_a_second_for_all_and_not_at_all_for_nobody() {
    let (views, looks) = (Views::new(200), Arc::new(AtomicU32::new(0)));
    let number = |look: u32| Ok(look.to_string());
    let mut first = views.watch(view(1), (), counting(&looks, number)).unwrap();
    let start = Instant::now();
    assert_eq!(next(&mut first).await.version, 1);
    // A joining watcher waits for no read.
    let mut crowd: Vec<_> = (0..1_000)
        .map(|_| views.watch(view(1), (), counting(&looks, number)).unwrap())
        .collect();
    for joined in &mut crowd {
        assert_eq!(next(joined).await.found.unwrap().as_ref(), "0");
    }
    assert_eq!(start.elapsed(), Duration::ZERO);
    for look in 1..10_u64 {
        assert_eq!(next(&mut first).await.version, look + 1);
        for joined in &mut crowd {
            assert_eq!(next(joined).await.version, look + 1);
        }
        assert_eq!(start.elapsed(), Duration::from_secs(look));
    }
    assert_eq!(looks.load(Ordering::Relaxed), 10);
    drop((first, crowd));
    advance(Duration::from_secs(100)).await;
    tokio::task::yield_now().await;
    assert_eq!(looks.load(Ordering::Relaxed), 10);
    assert_eq!(views.open().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn views_are_looked_at_less_often_when_there_are_many() {
    let (views, looks) = (Views::new(200), Arc::new(AtomicU32::new(0)));
    let same = |_| Ok(String::new());
    let mut watched: Vec<_> = (0..100)
        .map(|number| {
            views
                .watch(view(number), (), counting(&looks, same))
                .unwrap()
        })
        .collect();
    for watcher in &mut watched {
        next(watcher).await;
    }
    let before = looks.load(Ordering::Relaxed);
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(60) {
        for watcher in &mut watched {
            next(watcher).await;
        }
    }
    let seconds = u32::try_from(start.elapsed().as_secs()).unwrap();
    assert!(looks.load(Ordering::Relaxed) - before <= 11 * seconds);
}

#[tokio::test(start_paused = true)]
async fn what_is_as_before_keeps_its_version() {
    let (views, looks) = (Views::new(200), Arc::new(AtomicU32::new(0)));
    let finds = |look: u32| match look {
        0 | 1 | 4 => Ok("a".to_owned()),
        2 | 3 => Err(Code::Overloaded.into()),
        _ => Ok("b".to_owned()),
    };
    let mut watcher = views.watch(view(1), (), counting(&looks, finds)).unwrap();
    let mut versions = Vec::new();
    for _ in 0..7 {
        versions.push(next(&mut watcher).await.version);
    }
    assert_eq!(versions, [1, 1, 2, 2, 3, 4, 4]);
}

#[tokio::test(start_paused = true)]
async fn a_view_that_is_opened_again_is_not_looked_at_sooner() {
    let (views, looks) = (Views::new(200), Arc::new(AtomicU32::new(0)));
    let number = |look: u32| Ok(look.to_string());
    let start = Instant::now();
    for _ in 0..10 {
        let mut watcher = views.watch(view(1), (), counting(&looks, number)).unwrap();
        assert_eq!(next(&mut watcher).await.found.unwrap().as_ref(), "0");
        drop(watcher);
        tokio::task::yield_now().await;
    }
    assert_eq!(start.elapsed(), Duration::ZERO);
    let mut watcher = views.watch(view(1), (), counting(&looks, number)).unwrap();
    next(&mut watcher).await;
    assert_eq!(next(&mut watcher).await.version, 2);
    assert_eq!(start.elapsed(), PERIOD);
    assert_eq!(looks.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn a_long_look_is_followed_by_a_long_rest() {
    let views = Views::new(200);
    let took = Duration::from_millis(500);
    let look = move || async move {
        sleep(took).await;
        Ok(String::new())
    };
    let mut watcher = views.watch(view(1), (), look).unwrap();
    next(&mut watcher).await;
    let start = Instant::now();
    next(&mut watcher).await;
    assert_eq!(start.elapsed(), 20 * took + took);
}

/// An outage of the store ends sooner than twenty times its longest call.
#[tokio::test(start_paused = true)]
async fn a_look_without_an_answer_is_followed_by_half_a_minute_of_rest() {
    let views = Views::new(200);
    let took = Duration::from_secs(5);
    let look = move || async move {
        sleep(took).await;
        Err(Code::Unknown.into())
    };
    let mut watcher = views.watch(view(1), (), look).unwrap();
    next(&mut watcher).await;
    let start = Instant::now();
    next(&mut watcher).await;
    assert_eq!(start.elapsed(), Duration::from_secs(30) + took);
}

#[tokio::test(start_paused = true)]
async fn tasks_are_counted_less_often_than_they_are_looked_at() {
    let (views, looks) = (Views::new(200), Arc::new(AtomicU32::new(0)));
    let same = |_| Ok(String::new());
    let look = counting(&looks, same);
    let mut watcher = views.watch(View::Counts, (), look).unwrap();
    next(&mut watcher).await;
    let start = Instant::now();
    next(&mut watcher).await;
    assert_eq!(start.elapsed(), Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn views_that_somebody_opens_and_leaves_take_no_more_room_than_they_have() {
    let (views, looks) = (Views::new(1), Arc::new(AtomicU32::new(0)));
    let same = |_| Ok(String::new());
    let open = |number| views.watch(view(number), (), counting(&looks, same));
    let opened = (0..1_000).filter(|number| open(*number).is_ok()).count();
    assert_eq!(opened, 18);
    assert!(open(0).is_ok() && open(1_000).is_err());
    sleep(Duration::from_secs(10)).await;
    assert!(open(1_000).is_ok());
}
