use dlock_core::Discipline;
use dlock_testkit::simulation::{Figures, Plan};
#[test]
fn sim() {
    let get = |k: &str, d: u64| {
        std::env::var(k)
            .ok()
            .and_then(|s| s.parse().ok())
            .unwrap_or(d)
    };
    let (from, n) = (get("SEED", 0), get("SEEDS", 1));
    let mut all = Figures::default();
    let mut rules = std::collections::BTreeMap::<String, Vec<String>>::new();
    for seed in from..from + n {
        for d in [Discipline::StoreClock, Discipline::Observer] {
            let plan = Plan::from_seed(seed, d);
            let run = if n == 1 { plan.explain() } else { plan.run() };
            all.add(&run.figures);
            if let Some(v) = run.violations.first() {
                rules
                    .entry(v.rule.clone())
                    .or_default()
                    .push(format!("{seed} {d:?} {v}"));
                if n == 1 {
                    println!("{plan:#?}");
                    for l in &run.notes {
                        println!("{l}");
                    }
                    for l in &run.history {
                        println!("{l}");
                    }
                    println!("{:#?}", run.violations);
                }
            }
        }
    }
    for (r, v) in &rules {
        println!("{r}: {} times", v.len());
        for l in v.iter().take(4) {
            println!("   {l}");
        }
    }
    println!("{all}");
}
