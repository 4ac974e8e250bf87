//! Reservations (W8), where a case cannot look: what they cost.

use std::time::Duration;

use dlock_core::{Client, Clock, DLock, provider::AcquireOutcome};
use dlock_testkit::{
    faults::{Faulty, Op, Outcome, Request},
    memory::{MemoryProvider, MemoryStore},
};
use tokio::time::sleep;

const WORK: Duration = Duration::from_millis(20);

type Store = Faulty<MemoryProvider>;

/// Four processes of two tasks that all want one lock for so long, on a store with or without cheap reads.
async fn mix(cheap_reads: bool, lasts: Duration) -> Vec<Store> {
    let store = MemoryStore::observer();
    let provider = || MemoryProvider::new(&store).cheap_reads(cheap_reads);
    let processes: Vec<Store> = (0..4).map(|_| Faulty::new(provider())).collect();
    for (number, process) in processes.iter().enumerate() {
        let lock = DLock::builder()
            .name("door")
            .provider(Client::with_clock(process.clone(), Clock::tokio(1.0)))
            .duration(Duration::from_secs(1))
            .owner(format!("process {number}"))
            .wakeups(false)
            .build()
            .unwrap_or_else(|error| panic!("{error}"));
        for _ in 0..2 {
            let lock = lock.clone();
            tokio::spawn(async move {
                while let Ok(lease) = lock.acquire().await {
                    sleep(WORK).await;
                    drop(lease.release().await);
                }
            });
        }
    }
    sleep(lasts).await;
    processes
}

/// How many calls of this kind were about the second place, and how many tries for it were refused.
fn at_the_second_place(processes: &[Store], op: Op) -> (usize, usize) {
    let calls = processes.iter().flat_map(Faulty::calls);
    let about = calls.filter(|call| {
        let name = match &call.request {
            Request::Acquire(request) => &request.name,
            Request::Read(name) => name,
            _ => return false,
        };
        call.op == op && name.as_str().ends_with("/2")
    });
    let refused = |answer: &Outcome| matches!(answer, Outcome::Acquire(AcquireOutcome::Held(_)));
    about.fold((0, 0), |(all, held), call| {
        let answer = call.answer.and_then(Result::ok);
        (
            all + 1,
            held + usize::from(answer.is_some_and(|answer| refused(&answer))),
        )
    })
}

#[tokio::test(start_paused = true)]
async fn a_place_in_line_is_looked_at_where_that_costs_less() {
    let processes = mix(true, Duration::from_secs(60)).await;
    let (looks, _) = at_the_second_place(&processes, Op::Read);
    let (tries, refused) = at_the_second_place(&processes, Op::Acquire);
    // Two may find it free at the same time.
    assert!(
        10 * refused <= tries,
        "{refused} of {tries} tries were refused, after {looks} looks"
    );
    assert!(looks >= tries, "{looks} looks, {tries} tries");
}

#[tokio::test(start_paused = true)]
async fn a_place_in_line_is_not_looked_at_where_that_costs_as_much() {
    let processes = mix(false, Duration::from_secs(10)).await;
    assert_eq!(at_the_second_place(&processes, Op::Read).0, 0);
    assert!(at_the_second_place(&processes, Op::Acquire).1 > 0);
}
