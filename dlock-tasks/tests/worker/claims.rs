//! How many claims a worker needs.

use super::*;

/// On a clock that stands still while anything can go on: what is counted does not depend on the machine.
#[tokio::test(start_paused = true)]
#[expect(
    clippy::disallowed_methods,
    reason = "a deadline on the clock of the machine"
)]
async fn tasks_that_end_together_make_room_for_one_claim() {
    let shop = Shop::new();
    shop.store.enqueue(&vec![say("on"); 400]).await.unwrap();
    let run = Run::of(
        Worker::builder()
            .store(shop.store.clone())
            .lease(LONG)
            .concurrency(50)
            .build()
            .unwrap()
            .handle(|_: Context, _: Say| async { Ok(()) }),
    );
    let began = std::time::Instant::now();
    while shop.store.0.endings.load(Ordering::SeqCst) < 400 {
        assert!(began.elapsed() < PATIENCE, "they do not end");
        sleep(Duration::from_millis(5)).await;
    }
    let claims = shop.store.0.claims.load(Ordering::SeqCst);
    // Eight are enough; one more may find nothing.
    assert!(
        (8..=9).contains(&claims),
        "{claims} claims of 50 for 400 tasks"
    );
    // Its end waits for another thread, which this clock does not.
    run.running.abort();
}
