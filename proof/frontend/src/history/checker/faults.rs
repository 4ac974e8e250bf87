//! When something was broken on purpose, and what that excuses.

use std::collections::{BTreeMap, HashMap};

use crate::history::{
    Invariant, Line, Micros, What,
    line::{KILL, PAUSE},
};

type Span = (Micros, Micros);

/// Until when a fault lasts, and what it excuses.
type Told<'a> = (Option<Micros>, &'a [Invariant]);

/// The faults of a history, joined so that each question takes one binary search.
#[derive(Default)]
pub(crate) struct Faults {
    /// Any fault, by process; everywhere under "".
    any: HashMap<String, Spans>,
    paused: HashMap<String, Spans>,
    excuses: HashMap<Invariant, Spans>,
    killed: HashMap<String, Micros>,
    pub(crate) count: BTreeMap<String, u64>,
    /// Each by itself, by kind, process and beginning.
    pub(crate) all: Vec<Fault>,
}

/// One fault.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: String,
    pub(crate) process: String,
    pub(crate) from: Micros,
    /// `MAX` if it never ends.
    pub(crate) to: Micros,
}

/// Disjoint spans in order.
#[derive(Default)]
struct Spans(Vec<Span>);

impl Faults {
    pub(crate) fn new(lines: &[Line]) -> Self {
        // A fault is told when it begins and again when it is over.
        let mut told: BTreeMap<(&str, &str, Micros), Told<'_>> = BTreeMap::new();
        for line in lines {
            if let What::Fault {
                kind,
                from,
                to,
                excuses,
            } = &line.what
            {
                let fault = told.entry((kind, &line.process, *from)).or_default();
                fault.0 = fault.0.max(*to);
                if !excuses.is_empty() {
                    fault.1 = excuses;
                }
            }
        }
        let mut faults = Self::default();
        for ((kind, process, from), (to, excuses)) in told {
            *faults.count.entry(kind.to_owned()).or_default() += 1;
            // A kill lasts for ever.
            let to = if kind == KILL { None } else { to };
            let span = (from, to.unwrap_or(Micros::MAX));
            let entry = faults.any.entry(process.to_owned()).or_default();
            entry.0.push(span);
            faults.all.push(Fault {
                kind: kind.to_owned(),
                process: process.to_owned(),
                from: span.0,
                to: span.1,
            });
            if kind == KILL {
                let killed = faults.killed.entry(process.to_owned()).or_insert(from);
                *killed = from.min(*killed);
            }
            if kind == PAUSE {
                let entry = faults.paused.entry(process.to_owned()).or_default();
                entry.0.push(span);
            }
            for invariant in excuses {
                faults.excuses.entry(*invariant).or_default().0.push(span);
            }
        }
        let spans = faults.any.values_mut().chain(faults.paused.values_mut());
        for spans in spans.chain(faults.excuses.values_mut()) {
            spans.join();
        }
        faults
    }

    /// Something was wrong with this process, or everywhere, in this span.
    pub(crate) fn during(&self, process: &str, from: Micros, to: Micros) -> bool {
        [process, ""].into_iter().any(|place| {
            self.any
                .get(place)
                .is_some_and(|spans| spans.meets(from, to))
        })
    }

    /// The process stood still at some time in this span.
    pub(crate) fn paused(&self, process: &str, from: Micros, to: Micros) -> bool {
        [process, ""].into_iter().any(|place| {
            self.paused
                .get(place)
                .is_some_and(|spans| spans.meets(from, to))
        })
    }

    /// A fault of this span breaks the invariant by design.
    pub(crate) fn excuse(&self, invariant: Invariant, from: Micros, to: Micros) -> bool {
        self.excuses
            .get(&invariant)
            .is_some_and(|spans| spans.meets(from, to))
    }

    /// When the process was killed.
    pub(crate) fn killed(&self, process: &str) -> Option<Micros> {
        self.killed.get(process).copied()
    }
}

impl Spans {
    fn join(&mut self) {
        self.0.sort_unstable();
        let mut joined: Vec<Span> = Vec::with_capacity(self.0.len());
        for (from, to) in self.0.drain(..) {
            match joined.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => joined.push((from, to)),
            }
        }
        self.0 = joined;
    }

    fn meets(&self, from: Micros, to: Micros) -> bool {
        let after = self.0.partition_point(|span| span.1 < from);
        self.0.get(after).is_some_and(|span| span.0 <= to)
    }
}
