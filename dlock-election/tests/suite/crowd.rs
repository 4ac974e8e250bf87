//! Many instances: never two leaders, whatever happens to them.

use std::time::Duration;

use crate::support::{Instance, SECOND, Stage, stores, until};
use dlock_election::Coordinator;
use dlock_testkit::faults::{Fault, Op};
use tokio::time::{Instant, sleep};

/// 002-15.
#[tokio::test(start_paused = true)]
async fn a_hundred_followers_at_one_expiry_cost_one_refusal_each() {
    for store in stores() {
        let stage = Stage::default();
        let mut leader = Instance::new(&store, "leader", 1.0).on(&stage).start();
        until(SECOND, || stage.working() == 1).await;
        let followers: Vec<Instance> = (0..100)
            .map(|number| Instance::new(&store, &format!("follower {number}"), 1.0).on(&stage))
            .map(Instance::start)
            .collect();
        sleep(130 * SECOND).await;
        leader.crash().await;
        let crashed = Instant::now();
        let counted = |instances: &[Instance]| -> usize {
            let counts = instances
                .iter()
                .map(|instance| instance.provider.count(Op::Acquire));
            counts.sum()
        };
        until(200 * SECOND, || stage.working() == 1).await;
        let won = Instant::now();
        // What everybody asks around the instant at which the lease ends.
        sleep(SECOND).await;
        let before = counted(&followers);
        let tries = followers
            .iter()
            .flat_map(|follower| follower.provider.calls());
        let around = tries.filter(|call| {
            call.op == Op::Acquire && call.began + SECOND > won && call.began >= crashed
        });
        assert!(around.count() <= 101);
        assert!(before > 100);
        assert_eq!(stage.most(), 1);
    }
}

/// 002-3.
#[tokio::test(start_paused = true)]
async fn there_are_never_two_leaders() {
    let mut random = Random(20_261_122);
    for (number, crowd) in [2, 3, 5, 10, 30, 100].into_iter().enumerate() {
        for store in stores() {
            let stage = Stage::default();
            // Clocks up to 10 % wrong either way: what the margin covers.
            let mut instances: Vec<Instance> = (0..crowd)
                .map(|id| {
                    let rate = 0.9 + 0.2 * f64::from(random.below(101)) / 100.0;
                    Instance::new(&store, &format!("{id}"), rate)
                        .on(&stage)
                        .start()
                })
                .collect();
            let rounds = if number < 3 { 200 } else { 100 };
            let mut changes = 0;
            let mut led = false;
            for _ in 0..rounds {
                let who = usize::try_from(random.below(crowd)).unwrap();
                // Troubles strike whoever leads every other time.
                let who = instances
                    .iter()
                    .position(|instance| random.below(2) == 0 && instance.election.is_leader())
                    .unwrap_or(who);
                match random.below(6) {
                    0 => {
                        instances[who].crash().await;
                        instances[who] = Instance::new(&store, &format!("{who} again"), 1.0)
                            .on(&stage)
                            .start();
                    }
                    1 => instances[who].provider.everything(Fault::LoseRequest),
                    2 => instances[who].provider.everything(Fault::LoseReply),
                    3 => instances[who].election.resign(),
                    _ => instances[who].provider.clear(),
                }
                let until = Instant::now() + Duration::from_millis(u64::from(random.below(60_000)));
                while Instant::now() < until {
                    let leaders = instances
                        .iter()
                        .filter(|instance| instance.election.is_leader())
                        .count();
                    assert!(leaders <= 1, "{leaders} leaders");
                    changes += usize::from(led != (leaders == 1));
                    led = leaders == 1;
                    sleep(Duration::from_millis(500)).await;
                }
            }
            assert_eq!(stage.most(), 1, "work on two instances");
            assert!(changes > 10, "{changes} changes: nothing happened");
        }
    }
}

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        // Knuth's constants for a linear congruence; the high bits are the good ones.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((self.0 >> 33) % u64::from(bound)).unwrap()
    }
}
