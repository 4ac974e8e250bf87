//! Which waiters in the same process are notified of a release, and which are not.

use dlock_core::provider::{Prefix, Wakeup, Wakeups};

use super::*;

/// The hint that has already arrived.
async fn heard(stream: &mut Wakeups) -> Option<Wakeup> {
    tokio::select! {
        biased;
        hint = stream.next() => hint,
        () = std::future::ready(()) => None,
    }
}

#[tokio::test]
async fn a_release_in_this_process_is_told_at_once_and_once() {
    let mut bench = Bench::new();
    // The file itself says that the lock is held.
    bench.take("a");
    let watch = bench.store.watch();
    let mut stream = watch.listen(&bench.prefix);
    let record = bench.refused("a");
    watch.refused(&bench.key("a"), &record);
    assert_eq!(heard(&mut stream).await, None);
    watch.released(&bench.key("a"));
    let hint = Wakeup::Name(Name::new("a").unwrap());
    assert_eq!(heard(&mut stream).await, Some(hint));
    watch.released(&bench.key("a"));
    assert_eq!(heard(&mut stream).await, None);
}

#[tokio::test]
async fn those_who_have_one_file_open_meet_and_others_do_not() {
    let mut bench = Bench::new();
    bench.take("a");
    let path = bench._directory.path().join("l.db");
    let link = bench._directory.path().join("link.db");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let open = |path| Store::open(path, Synchronous::Normal, Duration::ZERO, false).unwrap();
    let (same, linked) = (open(&path), open(&link));
    let stranger = Bench::new();

    let other = Prefix::new("p").unwrap();
    let (here, there) = (bench.store.watch(), same.watch());
    let mut streams = [
        here.listen(&bench.prefix),
        there.listen(&bench.prefix),
        linked.watch().listen(&bench.prefix),
    ];
    let mut elsewhere = [
        here.listen(&other),
        stranger.store.watch().listen(&bench.prefix),
    ];
    there.refused(&bench.key("a"), &bench.refused("a"));
    here.released(&bench.key("a"));
    for stream in &mut streams {
        assert!(matches!(heard(stream).await, Some(Wakeup::Name(_))));
    }
    for stream in &mut elsewhere {
        assert_eq!(heard(stream).await, None);
    }
}

#[tokio::test]
async fn streams_end_when_the_file_is_closed() {
    let bench = Bench::new();
    let watch = bench.store.watch();
    let mut stream = watch.listen(&bench.prefix);
    drop(watch);
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn a_refusal_that_is_remembered_after_the_release_is_hinted_all_the_same() {
    let mut bench = Bench::new();
    let (uuid, _) = bench.take("a");
    let watch = bench.store.watch();
    let mut stream = watch.listen(&bench.prefix);
    let record = bench.refused("a");
    // Released without a hint, as by another process.
    bench.release("a", uuid);
    for late in 0..3 {
        // No further writes: the file is as it was at the last read.
        watch.refused(&bench.key("a"), &record);
        let hint = tokio::time::timeout(Duration::from_secs(30), stream.next()).await;
        assert!(hint.is_ok_and(|hint| hint.is_some()), "refusal {late}");
    }
}

#[tokio::test]
async fn what_nobody_can_be_waiting_for_is_forgotten() {
    let mut bench = Bench::new();
    let (uuid, _) = bench.take("a");
    let watch = bench.store.watch();
    let mut stream = watch.listen(&bench.prefix);
    watch.refused(&bench.key("a"), &bench.refused("a"));
    // Every remaining waiter has tried again by then.
    bench.pass(D_NANOS + 1_100_000_000);
    let began = tokio::time::Instant::now();
    while watch.waited() > 0 {
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "remembered for ever"
        );
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    bench.release("a", uuid);
    watch.released(&bench.key("a"));
    assert_eq!(heard(&mut stream).await, None);
}
