//! Many followers of a leader that died.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::time::Duration;

use dlock_core::{
    Client, Clock, Name, Provider,
    provider::{Acquire, AcquireOutcome},
};
use dlock_dynamodb::DynamodbProvider;
use dlock_election::{Coordinator, Election};
use dlock_testkit::faults::{Faulty, Outcome};
use tokio::{
    task::JoinHandle,
    time::{Instant, sleep},
};
use uuid::Uuid;

use crate::common::{PATIENCE, provider};

const FOLLOWERS: usize = 100;
const LEASE: Duration = Duration::from_secs(60);

/// One instance with all defaults, on a clock that the test advances.
struct Follower {
    election: Election,
    provider: Faulty<DynamodbProvider>,
    running: JoinHandle<()>,
}

impl Follower {
    fn start(provider: DynamodbProvider, clock: Clock) -> Self {
        let provider = Faulty::new(provider);
        let client = Client::with_clock(provider.clone(), clock);
        let election = Election::builder().provider(client).name("background");
        let election = election.build().unwrap();
        let runs = election.clone();
        let running = tokio::spawn(async move {
            runs.run(Box::pin(std::future::pending())).await.unwrap();
        });
        Self {
            election,
            provider,
            running,
        }
    }

    /// Its conditional writes so far: grants, refusals, and whether all calls were answered.
    fn writes(&self) -> (usize, usize, bool) {
        let (mut granted, mut refused, mut quiet) = (0, 0, true);
        for call in self.provider.calls() {
            match call.answer {
                None => quiet = false,
                Some(Ok(Outcome::Acquire(AcquireOutcome::Acquired(_)))) => granted += 1,
                Some(Ok(Outcome::Acquire(AcquireOutcome::Held(_)))) => refused += 1,
                Some(Ok(_)) => {}
                Some(Err(error)) => panic!("{:?}: {error}", call.op),
            }
        }
        (granted, refused, quiet)
    }
}

/// Waits until every task has done what it can at this instant of the clock.
async fn quiet(followers: &[Follower]) {
    let began = Instant::now();
    let calls = || -> usize {
        let calls = followers.iter().map(|one| one.provider.calls().len());
        calls.sum()
    };
    loop {
        let before = calls();
        sleep(Duration::from_millis(3)).await;
        if calls() == before && followers.iter().all(|follower| follower.writes().2) {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "no end of calls");
    }
}

/// One follower wins, and each of the others has sent one write that was refused.
#[tokio::test]
async fn a_hundred_followers_at_one_expiry_cost_a_refused_write_each() {
    let provider = provider().await;
    let name = Name::new("background").unwrap();
    let dead = Acquire::new(name, Uuid::new_v4(), LEASE);
    provider.acquire(&dead).await.unwrap();
    let (clock, hand) = Clock::manual();
    let followers: Vec<Follower> = (0..FOLLOWERS)
        .map(|_| Follower::start(provider.with_prefix("").unwrap(), clock.clone()))
        .collect();
    // Each learns of the holder through its first write.
    while followers.iter().any(|one| one.writes() != (0, 1, true)) {
        quiet(&followers).await;
    }
    let leaders = || {
        followers
            .iter()
            .filter(|one| one.election.is_leader())
            .count()
    };
    for _ in 0..60 {
        assert_eq!(leaders(), 0, "before the lease was over");
        hand.advance(LEASE / 60);
        quiet(&followers).await;
    }
    // The jitter at the end of an observation.
    for _ in 0..12 {
        hand.advance(Duration::from_millis(5));
        quiet(&followers).await;
    }
    let began = Instant::now();
    let has_asked = |one: &Follower| {
        let (granted, refused, _) = one.writes();
        granted + refused >= 2
    };
    while !followers.iter().all(has_asked) {
        assert!(began.elapsed() < PATIENCE, "somebody does not ask");
        quiet(&followers).await;
    }
    quiet(&followers).await;
    assert_eq!(leaders(), 1);
    for follower in &followers {
        let (granted, refused, _) = follower.writes();
        let wins = follower.election.is_leader();
        assert_eq!(granted, usize::from(wins));
        assert_eq!(
            refused - 1,
            usize::from(!wins),
            "refused writes at the expiry"
        );
        follower.running.abort();
    }
}
