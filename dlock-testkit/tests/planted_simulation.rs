#![cfg(dlock_planted)]
use dlock_core::{Bug, Discipline, plant};
use dlock_testkit::simulation::Plan;
use std::panic::{self, catch_unwind};
#[test]
fn planted() {
    let get = |k: &str, d: u64| {
        std::env::var(k)
            .ok()
            .and_then(|s| s.parse().ok())
            .unwrap_or(d)
    };
    let most = get("SEEDS", 150);
    let only = std::env::var("BUG").ok();
    panic::set_hook(Box::new(|_| {}));
    for bug in Bug::ALL {
        let name = format!("{bug:?}");
        if only.as_ref().is_some_and(|only| *only != name) {
            continue;
        }
        plant(Some(*bug));
        let start = std::time::Instant::now();
        let mut caught = None;
        'seeds: for seed in 0..most {
            for d in [Discipline::StoreClock, Discipline::Observer] {
                let plan = Plan::from_seed(seed, d);
                match catch_unwind(|| plan.run()) {
                    Ok(run) => {
                        if let Some(v) = run.violations.first() {
                            caught = Some(format!("seed {seed} {d:?}: {v}"));
                            break 'seeds;
                        }
                    }
                    Err(_) => {
                        caught = Some(format!("seed {seed} {d:?}: panic"));
                        break 'seeds;
                    }
                }
            }
        }
        plant(None);
        println!(
            "{name}: {} [{:.1} s]",
            caught.as_deref().unwrap_or("SURVIVES"),
            start.elapsed().as_secs_f64()
        );
    }
}
