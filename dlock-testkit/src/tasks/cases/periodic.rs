//! One task for each instant of a schedule.

use super::*;

const SCHEDULE: &str = "nightly";

impl Stage {
    /// The instant this many seconds ago.
    pub(super) fn ago(&self, seconds: u64) -> SystemTime {
        self.fixture.now() - Duration::from_secs(seconds)
    }

    async fn serve(&self, instant: SystemTime, task: &NewTask) -> Served {
        let served = self.store.enqueue_periodic(SCHEDULE, instant, task).await;
        served.unwrap_or_else(|error| panic!("{error:?}"))
    }
}

/// Neither a new name nor a repeat adds a task, and no instant gets a task after a later one has.
pub(crate) async fn instant_of_a_schedule_has_one_task(stage: Stage) {
    let new = task("report");
    let first = stage.ago(3600);
    assert_eq!(stage.serve(first, &new).await, Served::Begun);
    assert_eq!(stage.serve(first, &new).await, Served::Before);
    stage.nothing().await;

    let instant = stage.ago(1800);
    let served = stage.serve(instant, &new).await;
    let Served::Enqueued(Enqueued::New(id)) = served else {
        panic!("{served:?}");
    };
    assert_eq!(stage.serve(instant, &new).await, Served::Before);
    assert_eq!(stage.serve(stage.ago(2400), &new).await, Served::Before);
    let claimed = stage.take(LONG).await;
    assert_eq!((claimed.key.id, &*claimed.kind), (id, "report"));
    stage.nothing().await;

    let other = stage.store.enqueue_periodic("hourly", instant, &new).await;
    assert!(
        matches!(other, Ok(Served::Begun)),
        "schedules are distinguished: {other:?}"
    );
}

/// Several workers call at the same time.
pub(crate) async fn workers_of_one_schedule_add_one_task(stage: Stage) {
    let new = task("report");
    stage.serve(stage.ago(3600), &new).await;
    for instant in [stage.ago(60), stage.ago(30), stage.ago(0)] {
        let mut stores = Vec::new();
        for _ in 0..4 {
            stores.push(stage.fixture.store().await);
        }
        let asks = stores
            .iter()
            .map(|store| store.enqueue_periodic(SCHEDULE, instant, &new));
        let served = futures_util::future::join_all(asks).await;
        let added =
            |served: &&Result<Served, _>| matches!(served, Ok(Served::Enqueued(Enqueued::New(_))));
        assert_eq!(served.iter().filter(added).count(), 1, "{served:?}");
        stage.take(LONG).await;
        stage.nothing().await;
    }
}

/// A worker whose clock is ahead.
pub(crate) async fn instant_to_come_is_not_served(stage: Stage) {
    let new = task("report");
    stage.serve(stage.ago(3600), &new).await;
    let early = stage.ago(0) + Duration::from_secs(600);
    let served = stage.serve(early, &new).await;
    let Served::NotYet(wait) = served else {
        panic!("{served:?}");
    };
    let near = Duration::from_secs(500)..=Duration::from_secs(600);
    assert!(near.contains(&wait), "{wait:?}");
    stage.nothing().await;

    // It does not hold back any earlier instant.
    let served = stage.serve(stage.ago(60), &new).await;
    assert!(matches!(served, Served::Enqueued(_)), "{served:?}");
}

/// A task that takes long does not exist twice, and its schedule continues.
pub(crate) async fn periodic_task_whose_key_is_in_use_is_not_added(stage: Stage) {
    let new = NewTask::builder().kind("report").key("report").build();
    stage.serve(stage.ago(3600), &new).await;
    let served = stage.serve(stage.ago(1800), &new).await;
    let Served::Enqueued(Enqueued::New(id)) = served else {
        panic!("{served:?}");
    };
    let first = stage.take(LONG).await;
    let instant = stage.ago(900);
    let duplicate = Served::Enqueued(Enqueued::Duplicate(id));
    assert_eq!(stage.serve(instant, &new).await, duplicate);
    assert_eq!(
        stage.complete(first.key).await,
        Ended::Own(State::Succeeded)
    );
    assert_eq!(stage.serve(instant, &new).await, Served::Before);
    stage.nothing().await;
}

/// A task that cannot be stored serves no instant.
pub(crate) async fn periodic_task_that_cannot_be_kept_is_refused(stage: Stage) {
    let new = task("report");
    stage.serve(stage.ago(3600), &new).await;
    let instant = stage.ago(60);
    let refused = [
        (SCHEDULE, task("")),
        ("", new.clone()),
        ("a\0b", new.clone()),
        (&*"n".repeat(129), new.clone()),
    ];
    for (schedule, bad) in &refused {
        let refused = stage.store.enqueue_periodic(schedule, instant, bad).await;
        let kind = refused.err().map(|error| error.kind());
        assert_eq!(kind, Some(ErrorKind::Fatal), "{schedule:?}");
    }
    let served = stage.serve(instant, &new).await;
    assert!(matches!(served, Served::Enqueued(_)), "{served:?}");
}
