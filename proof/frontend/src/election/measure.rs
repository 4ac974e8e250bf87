//! How long failover takes on a store, compared with the formula. A benchmark: it judges nothing, and its figures mean
//! something only on an otherwise idle machine.

use std::{sync::Arc, time::Duration};

use dlock_core::provider::Discipline;
use dlock_testkit::runner::shared_runtime;
use tokio::time::Instant;

use super::{
    Electorate,
    instance::Instance,
    voters::{Erase, Erased, Voters},
};

/// How often each is measured.
const RUNS: usize = 7;
/// The longest that one run may take.
const LIMIT: Duration = Duration::from_secs(120);

/// Prints how long it takes until another instance leads: after a crash of the leader, counted from the sending of its
/// last renewal, and after a leader was stopped. The lease is 3 s, with the ratios of the defaults, or the number of
/// milliseconds in `DLOCK_FAILOVER_LEASE`.
pub fn measure<E: Electorate>() {
    let lease = std::env::var("DLOCK_FAILOVER_LEASE")
        .ok()
        .and_then(|text| text.parse().ok())
        .map_or(Duration::from_secs(3), Duration::from_millis);
    let runtime = shared_runtime();
    runtime.block_on(async {
        let electorate: Arc<dyn Erased> = Arc::new(Erase(E::start().await));
        let (mut crashes, mut stops, mut formula) = (Vec::new(), Vec::new(), String::new());
        let mut what = String::new();
        for _ in 0..RUNS {
            let voters = Voters::new(Arc::clone(&electorate), "failover", lease);
            let (mut first, second) = pair(&voters).await;
            let capabilities = second.capabilities();
            let most = voters.failover(second.discipline()) - voters.slack();
            formula = match second.discipline() {
                Discipline::StoreClock => format!("r + D + j + 2R = {most:.2?} + 2R"),
                Discipline::Observer => format!("r + D + 1.2 P + j + 3R = {most:.2?} + 3R"),
            };
            what = format!("{}, {:?}", capabilities.backend, capabilities.discipline);
            let sent = first.between_renewals().await;
            first.crash().await;
            crashes.push(second.gained(sent, LIMIT).await - sent);

            let voters = Voters::new(Arc::clone(&electorate), "failover", lease);
            let (mut first, second) = pair(&voters).await;
            let told = Instant::now();
            first.stop().await;
            stops.push(second.gained(told, LIMIT).await - told);
        }
        println!(
            "{what}: lease D = {lease:?}, attempts P = {:?}, {RUNS} runs",
            lease / 2
        );
        println!("  after a crash  {}; at most {formula}", spread(crashes));
        println!("  after a stop   {}", spread(stops));
    });
}

/// A leader, and a follower that knows of it.
pub(super) async fn pair(voters: &Voters) -> (Instance, Instance) {
    let first = voters.instance("first").await;
    first.leads().await;
    let second = voters.instance("second").await;
    second.follows().await;
    (first, second)
}

fn spread(mut took: Vec<Duration>) -> String {
    took.sort_unstable();
    match (took.first(), took.get(took.len() / 2), took.last()) {
        (Some(least), Some(middle), Some(most)) => {
            format!("{least:.3?} .. {middle:.3?} .. {most:.3?}")
        }
        _ => "nothing".into(),
    }
}
