//! Tables in the place of those of a former run.

use super::*;
use crate::{
    machine::Machine,
    results::{Sample, figures},
    sizes::Sizes,
    systems::Store,
};

fn results(experiment: Option<&str>) -> Results {
    let sample = |experiment: &str| Sample {
        run: 1,
        experiment: experiment.to_owned(),
        store: Store::Postgres,
        system: "dlock".to_owned(),
        case: String::new(),
        figures: figures([("after_kill_ms", 3456.0)]),
    };
    Results {
        command: String::new(),
        began: 0,
        took_seconds: 77,
        machine: Machine::here(),
        sizes: Sizes::quick(),
        failures: Vec::new(),
        samples: experiment.map(sample).into_iter().collect(),
    }
}

#[test]
fn tables_replace_what_stands_between_the_marks() -> Result<()> {
    let ([first, first_end], [begin, end]) = (SUMMARY, LOCKS);
    let results = results(None);
    let once = insert(
        &results,
        &format!("a\n{first}old\n{first_end}{begin}old\n{end}z\n"),
    )?;
    assert!(once.starts_with("a\n") && once.ends_with("z\n"));
    assert_eq!(once.matches("in 77 s").count(), 2);
    assert!(!once.contains("old"));
    assert_eq!(insert(&results, &once)?, once);
    assert!(insert(&results, "no marks").is_err());
    Ok(())
}

#[test]
fn run_of_the_queue_alone_leaves_the_tables_of_locks() -> Result<()> {
    let ([begin, end], [queue, queue_end]) = (LOCKS, QUEUE);
    let document = format!("{begin}locks\n{end}{queue}former\n{queue_end}");
    let filled = insert(&results(Some("tasks: crash")), &document)?;
    assert!(filled.contains("locks\n") && !filled.contains("former"));
    assert!(filled.contains("3456") && filled.contains("queue: crash of a worker"));
    assert!(!filled.contains("hand-off across processes"));
    Ok(())
}

#[test]
fn run_beside_other_languages_leaves_the_tables_of_locks() -> Result<()> {
    let ([begin, end], [foreign, foreign_end]) = (LOCKS, FOREIGN);
    let document = format!("{begin}locks\n{end}{foreign}former\n{foreign_end}");
    let mut results = results(Some(foreign::report::HANDOFF));
    for sample in &mut results.samples {
        sample.system = "ShedLock (Java)".to_owned();
        sample.figures = figures([("p50_ms", 3456.0)]);
    }
    let filled = insert(&results, &document)?;
    assert!(filled.contains("locks\n") && !filled.contains("former"));
    assert!(filled.contains("3456") && filled.contains("ShedLock (Java)"));
    Ok(())
}

#[test]
fn run_of_servers_alone_leaves_the_tables_of_locks_and_of_the_queue() -> Result<()> {
    let ([begin, end], [queue, queue_end]) = (LOCKS, QUEUE);
    let [servers, servers_end] = SERVERS;
    let document =
        format!("{begin}locks\n{end}{queue}tasks\n{queue_end}{servers}old\n{servers_end}");
    let filled = insert(&results(Some(http::PAIRS)), &document)?;
    assert!(filled.contains("locks\n") && filled.contains("tasks\n"));
    assert!(filled.contains("over HTTP: acquire and release") && !filled.contains("old\n"));
    Ok(())
}
