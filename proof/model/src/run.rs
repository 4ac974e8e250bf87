//! Searches of a model: through every state, or for the shortest path to a violation.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, SystemTime},
};

use stateright::{Checker, HasDiscoveries, Model, Path};

use crate::{
    action::Action,
    config::Config,
    event::Seen,
    model::Protocol,
    property::Property,
    state::{Phase, State},
};

/// How a search ended.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "read by tests and the binary")]
pub struct Outcome {
    /// The name of the search.
    pub protocol: Protocol,
    /// Different states.
    pub states: usize,
    /// Transitions between them.
    pub transitions: usize,
    /// The longest path followed.
    pub depth: usize,
    /// How long it took.
    pub took: Duration,
    /// A violated property and a path to it.
    pub violation: Option<(&'static str, Path<State, Action>)>,
}

impl Outcome {
    /// The events that were seen.
    #[must_use]
    pub fn seen(&self) -> &Seen {
        &self.protocol.seen
    }

    /// The path to the violation, in readable form: each step, its events, the record after it, and the terms that
    /// their clients believe in, each with its remaining ticks.
    #[must_use]
    pub fn trace(&self) -> Option<String> {
        let (property, path) = self.violation.as_ref()?;
        let mut text = format!("violated: {property}\n");
        for (state, action) in path.clone().into_vec() {
            let Some(action) = action else {
                break;
            };
            let (next, events) = self.protocol.explain(&state, action);
            let believed: Vec<_> = (1_u8..)
                .zip(&next.terms)
                .filter(|(_, term)| term.phase == Phase::Leased)
                .map(|(id, term)| (id, term.clock))
                .collect();
            let record = next.record;
            text += &format!("{action:?}: {events:?}\n    {record:?}, leased {believed:?}\n");
        }
        Some(text)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} states, {} transitions, longest path {}, {:.1} s",
            self.states,
            self.transitions,
            self.depth,
            self.took.as_secs_f64()
        )
    }
}

/// Searches every state, until none remains or one violates a property. Depth first, so
/// that it stores eight bytes per state and not the path to each.
#[must_use]
pub fn search(config: &Config, label: &str) -> Outcome {
    let checker = Protocol::new(config.clone())
        .checker()
        .threads(2)
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_dfs();
    finish(checker, label)
}

/// Searches for the shortest path to a violation of this property.
#[must_use]
pub fn shortest(config: &Config, property: Property) -> Outcome {
    let only: &'static [Property] = Property::ALL
        .iter()
        .find(|other| **other == property)
        .map_or(&[], std::slice::from_ref);
    let config = Config {
        properties: only,
        ..config.clone()
    };
    let checker = Protocol::new(config)
        .checker()
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs();
    finish(checker, property.name())
}

fn finish(mut checker: impl Checker<Protocol> + Sync, label: &str) -> Outcome {
    let began = now();
    let done = Arc::new(AtomicBool::new(false));
    let handles = checker.handles();
    thread::scope(|scope| {
        let watched = &checker;
        let reporter = scope.spawn({
            let done = Arc::clone(&done);
            move || {
                loop {
                    thread::park_timeout(Duration::from_secs(10));
                    if done.load(Ordering::Acquire) {
                        return;
                    }
                    eprintln!(
                        "{label}: {} states so far, {:.0} s",
                        watched.unique_state_count(),
                        since(began).as_secs_f64()
                    );
                }
            }
        });
        let mut failed = None;
        for handle in handles {
            if let Err(panic) = handle.join() {
                failed = Some(panic);
            }
        }
        done.store(true, Ordering::Release);
        reporter.thread().unpark();
        if let Some(panic) = failed {
            std::panic::resume_unwind(panic);
        }
    });
    Outcome {
        protocol: checker.model().clone(),
        states: checker.unique_state_count(),
        transitions: checker.state_count(),
        depth: checker.max_depth(),
        took: since(began),
        violation: checker.discoveries().into_iter().next(),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long a search took is for people; nothing depends on it"
)]
fn now() -> SystemTime {
    SystemTime::now()
}

fn since(began: SystemTime) -> Duration {
    now().duration_since(began).unwrap_or_default()
}
