//! Many instances, and everything that can happen to them: never two leaders at the same instant, no work done by a
//! follower, and no more refusals than followers.

use std::{ops::Range, time::Duration};

use dlock_core::provider::{AcquireOutcome, Discipline};
use dlock_testkit::{
    faults::{Fault, Op, Outcome},
    machine::Standstill,
    memory::MemoryStore,
};
use tokio::{
    runtime::Builder,
    time::{Instant, sleep},
};

use crate::{
    fleet::{Fleet, Report},
    support::{Instance, SECOND, Stage, stores, until},
};

/// Plays this many schedules with this many instances. A schedule that fails is printed by its seed, which repeats it
/// exactly. `DLOCK_ELECTION_SEEDS=1000` runs 1000 of each; `scripts/proof` runs 200.
macro_rules! never_two_leaders {
    ($($name:ident: $instances:literal instances, $seeds:expr;)*) => {
        $(
            #[test]
            fn $name() {
                play($instances, $seeds);
            }
        )*
    };
}

never_two_leaders! {
    two_instances_are_never_two_leaders: 2 instances, 0..10;
    three_instances_are_never_two_leaders: 3 instances, 100..110;
    five_instances_are_never_two_leaders: 5 instances, 200..206;
    ten_instances_are_never_two_leaders: 10 instances, 300..303;
    thirty_instances_are_never_two_leaders: 30 instances, 400..401;
    a_hundred_instances_are_never_two_leaders: 100 instances, 500..501;
}

/// The number of troubles in a schedule.
const TROUBLES: usize = 25;

fn play(instances: u32, seeds: Range<u64>) {
    let more = std::env::var("DLOCK_ELECTION_SEEDS").ok();
    let seeds = match more.and_then(|more| more.parse::<u64>().ok()) {
        Some(more) => seeds.start..seeds.start + more,
        None => seeds,
    };
    let schedules = u32::try_from(2 * (seeds.end - seeds.start)).unwrap();
    let (mut gains, mut deeds) = (0, 0);
    for seed in seeds {
        for discipline in [Discipline::StoreClock, Discipline::Observer] {
            let runtime = Builder::new_current_thread()
                .enable_all()
                .start_paused(true)
                .build()
                .unwrap();
            let seen = runtime.block_on(schedule(instances, discipline, seed));
            let wrong = seen.wrong;
            assert!(
                wrong.is_empty(),
                "{instances} instances, {discipline:?}, seed {seed}: {wrong:#?}"
            );
            gains += seen.gains;
            deeds += seen.deeds;
        }
    }
    // Otherwise, nothing happened that could have gone wrong.
    assert!(
        gains > 5 * schedules,
        "{gains} leaders in {schedules} schedules"
    );
    assert!(
        deeds > 300 * schedules,
        "{deeds} deeds in {schedules} schedules"
    );
}

async fn schedule(instances: u32, discipline: Discipline, seed: u64) -> Report {
    let mut random = Random(seed);
    let rates: Vec<f64> = (0..instances).map(|_| random.rate()).collect();
    let mut fleet = Fleet::start(MemoryStore::new(discipline), &rates, seed);
    sleep(90 * SECOND).await;
    for _ in 0..TROUBLES {
        trouble(&mut fleet, &mut random).await;
        sleep(random.millis(45_000)).await;
    }
    fleet.report()
}

/// Causes a trouble, half of the time for the leader.
async fn trouble(fleet: &mut Fleet, random: &mut Random) {
    let who = match fleet.leader() {
        Some(leader) if random.below(2) == 0 => leader,
        _ => usize::try_from(random.below(u32::try_from(fleet.instances.len()).unwrap())).unwrap(),
    };
    let lasting = random.millis(120_000);
    let provider = fleet.instances[who].provider.clone();
    let partition = |fault| {
        provider.everything(fault);
        let provider = provider.clone();
        tokio::spawn(async move {
            sleep(lasting).await;
            provider.clear();
        });
    };
    match random.below(12) {
        0 | 1 => fleet.crash(who, random.rate()).await,
        2 => fleet.replace(who, random.rate()).await,
        3 => fleet.stand(who, Standstill::Stopped, lasting),
        4 => fleet.stand(who, Standstill::Suspended, lasting),
        5 => partition(Fault::LoseRequest),
        6 => partition(Fault::LoseReply),
        7 => partition(Fault::DelayReply(random.millis(15_000))),
        8 => partition(Fault::DelayRequest(random.millis(90_000))),
        9 => partition(Fault::UNKNOWN_AFTER),
        10 => {
            // The store is down for all.
            for instance in &fleet.instances {
                let provider = instance.provider.clone();
                provider.everything(Fault::THROTTLED);
                tokio::spawn(async move {
                    sleep(lasting).await;
                    provider.clear();
                });
            }
        }
        _ => fleet.instances[who].election.resign(),
    }
}

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
        until(200 * SECOND, || stage.working() == 1).await;
        let won = Instant::now();
        // The attempts of the losers at the same expiry.
        sleep(SECOND).await;
        let (mut granted, mut refused) = (0, Vec::new());
        for follower in &followers {
            let calls = follower.provider.calls();
            let near = calls.iter().filter(|call| {
                call.op == Op::Acquire && call.began >= crashed && call.began + SECOND > won
            });
            let (mut wins, mut losses) = (0, 0);
            for call in near {
                match &call.answer {
                    Some(Ok(Outcome::Acquire(AcquireOutcome::Acquired(_)))) => wins += 1,
                    Some(Ok(Outcome::Acquire(AcquireOutcome::Held(_)))) => {
                        losses += 1;
                        refused.push(call.began);
                    }
                    other => panic!("{other:?}"),
                }
            }
            assert!(wins + losses <= 1, "{wins} grants and {losses} refusals");
            granted += wins;
        }
        assert_eq!(granted, 1);
        assert_eq!(stage.most(), 1);
        // They are spread over the jitter, not at one instant (timers here tick in milliseconds).
        refused.sort();
        let together = refused.chunk_by(|a, b| a == b).map(<[_]>::len).max();
        assert!(
            together.is_none_or(|most| most < 15),
            "{together:?} at one instant"
        );
    }
}

/// Random numbers that are the same in every run of a seed.
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

    /// A clock rate that is up to 10 % off.
    fn rate(&mut self) -> f64 {
        0.9 + f64::from(self.below(201)) / 1000.0
    }

    fn millis(&mut self, bound: u32) -> Duration {
        Duration::from_millis(u64::from(self.below(bound)))
    }
}
