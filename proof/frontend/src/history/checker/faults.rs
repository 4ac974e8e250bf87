//! The faults that were injected on purpose: when, where, and what they excuse.
//!
//! A fault strikes one process or all of them, and one lock or all of them. The acts of another process, and faults of
//! another lock, are judged as if there had been no fault.

use std::collections::{BTreeMap, HashMap};

use crate::history::{
    Invariant, Line, Micros, What,
    line::{AFTERMATH, KILL, PAUSE, STALL},
};

/// When a fault ends, and the invariants it excuses.
type Told<'a> = (Option<Micros>, &'a [Invariant]);

/// The faults of a history. Those of one kind are joined, so that a query takes one binary search for each kind.
#[derive(Default)]
pub(crate) struct Faults {
    /// By process, and those of all processes under ""; by lock, and those of all locks under ""; by kind.
    places: HashMap<String, HashMap<String, BTreeMap<String, Spans>>>,
    killed: HashMap<String, Micros>,
    pub(crate) count: BTreeMap<String, u64>,
    /// Each separately, by kind, process and beginning.
    pub(crate) all: Vec<Fault>,
}

/// One fault.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) kind: String,
    pub(crate) process: String,
    pub(crate) name: String,
    pub(crate) from: Micros,
    /// `MAX` if it never ends.
    pub(crate) to: Micros,
    /// The invariants that it breaks by design.
    excuses: Vec<Invariant>,
}

/// Disjoint spans in order.
#[derive(Default)]
struct Spans(Vec<(Micros, Micros)>);

impl Faults {
    pub(crate) fn new(lines: &[Line]) -> Self {
        // A fault has a line when it begins and another when it has ended.
        let mut told: BTreeMap<(&str, &str, &str, Micros), Told<'_>> = BTreeMap::new();
        for line in lines {
            if let What::Fault {
                kind,
                from,
                to,
                excuses,
            } = &line.what
            {
                let place = (&**kind, &*line.process, &*line.name, *from);
                let fault = told.entry(place).or_default();
                fault.0 = fault.0.max(*to);
                if !excuses.is_empty() {
                    fault.1 = excuses;
                }
            }
        }
        let mut faults = Self::default();
        for ((kind, process, name, from), (to, excuses)) in told {
            if kind != AFTERMATH {
                *faults.count.entry(kind.to_owned()).or_default() += 1;
            }
            if kind == KILL {
                let killed = faults.killed.entry(process.to_owned()).or_insert(from);
                *killed = from.min(*killed);
            }
            faults.all.push(Fault {
                kind: kind.to_owned(),
                process: process.to_owned(),
                name: name.to_owned(),
                from,
                // A kill lasts forever.
                to: to.filter(|_| kind != KILL).unwrap_or(Micros::MAX),
                excuses: excuses.to_vec(),
            });
        }
        for fault in &faults.all {
            let of_process = faults.places.entry(fault.process.clone()).or_default();
            let of_name = of_process.entry(fault.name.clone()).or_default();
            let spans = of_name.entry(fault.kind.clone()).or_default();
            spans.0.push((fault.from, fault.to));
        }
        let names = faults.places.values_mut().flat_map(HashMap::values_mut);
        names.flat_map(BTreeMap::values_mut).for_each(Spans::join);
        faults
    }

    /// The kind of a fault that affected this process and this lock in this span.
    pub(crate) fn during(
        &self,
        process: &str,
        name: &str,
        from: Micros,
        to: Micros,
    ) -> Option<&str> {
        let meeting = self.at(process, name);
        meeting
            .filter(|(_, spans)| spans.meets(from, to))
            .map(|(kind, _)| kind)
            // Prefer a fault that was injected on purpose, if there is one.
            .min_by_key(|kind| matches!(*kind, AFTERMATH | STALL))
    }

    /// The kind of a fault that was in progress in this span. An aftermath, which excuses in [`Faults::during`], does
    /// not count: the calls that it delays were struck before.
    pub(crate) fn striking(
        &self,
        process: &str,
        name: &str,
        from: Micros,
        to: Micros,
    ) -> Option<&str> {
        let meeting = self.at(process, name);
        meeting
            .filter(|(kind, spans)| *kind != AFTERMATH && spans.meets(from, to))
            .map(|(kind, _)| kind)
            .min_by_key(|kind| *kind == STALL)
    }

    /// Whether the process, or its machine, stood still at some time in this span: the kind of that fault.
    pub(crate) fn paused(&self, process: &str, from: Micros, to: Micros) -> Option<&str> {
        self.at(process, "")
            .find(|(kind, spans)| matches!(*kind, PAUSE | STALL) && spans.meets(from, to))
            .map(|(kind, _)| kind)
    }

    /// Until when a request of this process that was in progress at this instant may be in flight: faults that follow
    /// each other without a gap delay it one after the other.
    pub(crate) fn held_up(&self, process: &str, name: &str, sent: Micros, ended: Micros) -> Micros {
        let mut until = ended;
        loop {
            let later = self
                .at(process, name)
                .filter(|(kind, _)| *kind != KILL)
                .filter_map(|(_, spans)| spans.last(sent, until))
                .max();
            match later {
                Some(later) if later > until => until = later,
                _ => return until,
            }
        }
    }

    /// The kind of a fault that breaks this invariant by design: in this span, for one of these processes and for this
    /// lock.
    pub(crate) fn excuse(
        &self,
        invariant: Invariant,
        processes: &[&str],
        name: &str,
        (from, to): (Micros, Micros),
    ) -> Option<&str> {
        let strikes = |fault: &&Fault| {
            fault.excuses.contains(&invariant)
                && fault.from <= to
                && from <= fault.to
                && (fault.name.is_empty() || fault.name == name)
                && (fault.process.is_empty()
                    || processes.iter().any(|process| {
                        *process == fault.process || lives(process) == fault.process
                    }))
        };
        self.all
            .iter()
            .find(strikes)
            .map(|fault| fault.kind.as_str())
    }

    /// When the process was killed.
    pub(crate) fn killed(&self, process: &str) -> Option<Micros> {
        self.killed.get(process).copied()
    }

    /// The faults that strike this process and this lock, by kind.
    fn at(&self, process: &str, name: &str) -> impl Iterator<Item = (&str, &Spans)> {
        let lives = lives(process);
        let places = [process, &lives, ""].map(|process| self.places.get(process));
        let names = [Some(name).filter(|name| !name.is_empty()), Some("")];
        let found = places.into_iter().flatten().flat_map(move |of_process| {
            names
                .into_iter()
                .flatten()
                .filter_map(|name| of_process.get(name))
                .collect::<Vec<_>>()
        });
        found
            .flatten()
            .map(|(kind, spans)| (kind.as_str(), spans))
            .collect::<Vec<_>>()
            .into_iter()
    }
}

/// All lives of a process: a fault of its machine strikes whichever of them is alive.
fn lives(process: &str) -> String {
    let name = process.split('#').next().unwrap_or_default();
    format!("{name}#")
}

impl Spans {
    fn join(&mut self) {
        self.0.sort_unstable();
        let mut joined: Vec<(Micros, Micros)> = Vec::with_capacity(self.0.len());
        for (from, to) in self.0.drain(..) {
            match joined.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => joined.push((from, to)),
            }
        }
        self.0 = joined;
    }

    fn meets(&self, from: Micros, to: Micros) -> bool {
        self.last(from, to).is_some()
    }

    /// When the last of the spans that meet this one ends.
    fn last(&self, from: Micros, to: Micros) -> Option<Micros> {
        let before = self.0.partition_point(|span| span.0 <= to);
        let (_, over) = self.0[before.checked_sub(1)?];
        (over >= from).then_some(over)
    }
}
