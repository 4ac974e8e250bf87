//! A fourth, small model: whether a waiter may sleep until a hint although only releases of marked terms send one (N3).
//!
//! Three processes share one name by transactions that lock its row, as acquire.sql and release.sql of dlock-postgres do.
//! A read shows the committed record. A write waits until the row is free, and misses unless the record is still
//! the one that was read. A hint is heard once its release is committed. The first process holds the name; the others
//! want it, and release it once they have had it.
//!
//! The model leaves out the expiry and the poll, which wake a waiter in any case, but late: only a waiter without a
//! mark relies on its poll. Left out as well is a release that is repeated without its hint because the server accepts
//! no more.

use stateright::{Model, Property};

/// One configuration.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "tests build it")]
pub struct Wake {
    /// How many connections break, each with its channel or with its transaction.
    pub breaks: u8,
    /// How many times a holder claims its own term (A6).
    pub claims: u8,
    /// How many releases are forced (B2).
    pub forces: u8,
    /// A waiter that finds the row locked may leave its mark out (N1).
    pub skips: bool,
    /// The trap, if any.
    pub trap: Option<Trap>,
}

/// A deliberate mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "tests go through all of them")]
pub enum Trap {
    /// A waiter that has left its mark out sleeps like one that has marked.
    UnmarkedSleeps,
    /// A waiter whose mark finds another record sleeps, and does not read again.
    MissedMarkSleeps,
    /// A release decides by an earlier read whether to send its hint.
    HintByEarlierLook,
    /// A waiter listens only after its try, and is not woken then.
    AsksThenListens,
    /// A waiter that listens again after its channel broke is not woken.
    SilentReconnect,
    /// A claim begins an unmarked term.
    ClaimClearsMark,
    /// A forced release sends no hint.
    SilentForce,
}

/// One instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    committed: Record,
    /// The transaction that has written, and so locks the row.
    transaction: Option<Transaction>,
    processes: [Process; 3],
    // How many of each are left.
    breaks: u8,
    claims: u8,
    forces: u8,
}

/// A term and its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Record(u8, Status);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Status {
    Unmarked,
    Marked,
    /// Marks no longer decide anything.
    Released,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Transaction {
    record: Record,
    hints: bool,
    /// The process that waits for the commit, and its phase after that; none if an operator forces a release.
    process: Option<(usize, Phase)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Process {
    phase: Phase,
    listens: bool,
    /// A wake-up has come since its last read.
    woken: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Asks,
    /// A read has shown a record to take or to mark.
    Saw(Record),
    Sleeps,
    /// A term, and its status at an earlier read if the release decides by that.
    Holds(u8, Option<Status>),
    Done,
}

/// The name of a step, and the state that it leads to.
type Step = (&'static str, State);

impl State {
    fn enter(mut self, index: usize, phase: Phase) -> Self {
        let process = &mut self.processes[index];
        // A wake-up that comes before a read adds nothing to what the read shows.
        process.woken &= process.phase != Phase::Asks;
        process.phase = phase;
        self
    }

    fn write(mut self, record: Record, hints: bool, process: Option<(usize, Phase)>) -> Self {
        self.transaction = Some(Transaction {
            record,
            hints,
            process,
        });
        self
    }

    fn commit(mut self, written: Transaction) -> Self {
        self.transaction = None;
        self.committed = written.record;
        if let Some((index, phase)) = written.process {
            self = self.enter(index, phase);
        }
        for process in &mut self.processes {
            process.woken |= written.hints && process.listens;
        }
        self
    }

    fn misses_a_waiter(&self) -> bool {
        let sleeps = |process: &Process| process.phase == Phase::Sleeps;
        let is_quiet = self.processes.iter().all(|process| {
            process.phase == Phase::Done || sleeps(process) && process.listens && !process.woken
        });
        let is_free = self.committed.1 == Status::Released && self.transaction.is_none();
        is_free && is_quiet && self.processes.iter().any(sleeps)
    }
}

impl Wake {
    fn is(&self, trap: Trap) -> bool {
        self.trap == Some(trap)
    }

    /// A step of a process that writes nothing.
    fn read(&self, state: &State, index: usize) -> Option<Step> {
        let Process { phase, woken, .. } = state.processes[index];
        let record @ Record(term, status) = state.committed;
        let ask_unless = |wrong| if wrong { Phase::Sleeps } else { Phase::Asks };
        let (event, next) = match phase {
            Phase::Asks if status == Status::Marked => ("look", Phase::Sleeps),
            Phase::Asks => ("look", Phase::Saw(record)),
            Phase::Sleeps if woken => ("wake-up", Phase::Asks),
            Phase::Saw(seen @ Record(_, Status::Unmarked)) if seen != record => {
                ("miss", ask_unless(self.is(Trap::MissedMarkSleeps)))
            }
            Phase::Saw(seen) if seen != record => ("miss", Phase::Asks),
            Phase::Saw(Record(_, Status::Unmarked))
                if self.skips && state.transaction.is_some() =>
            {
                ("skip", ask_unless(self.is(Trap::UnmarkedSleeps)))
            }
            Phase::Holds(held, _) if held != term || status == Status::Released => {
                ("end", Phase::Done)
            }
            Phase::Holds(_, None) if self.is(Trap::HintByEarlierLook) => {
                ("look", Phase::Holds(term, Some(status)))
            }
            _ => return None,
        };
        Some((event, state.enter(index, next)))
    }

    /// The steps of a process that write. The row is free, and the record as the process needs it.
    fn write(&self, state: &State, index: usize, steps: &mut Vec<Step>) {
        let Record(term, status) = state.committed;
        let write = |record, hints, phase| state.write(record, hints, Some((index, phase)));
        let begin = |status| {
            let record = Record(term + 1, status);
            write(record, false, Phase::Holds(term + 1, None))
        };
        match state.processes[index].phase {
            Phase::Saw(Record(_, Status::Released)) => {
                steps.push(("take", begin(Status::Unmarked)));
            }
            Phase::Saw(_) => {
                let marked = Record(term, Status::Marked);
                steps.push(("mark", write(marked, false, Phase::Sleeps)));
            }
            Phase::Holds(_, looked) => {
                let hints = looked.unwrap_or(status) == Status::Marked;
                let released = Record(term, Status::Released);
                steps.push(("release", write(released, hints, Phase::Done)));
                if let Some(claims) = state.claims.checked_sub(1) {
                    let cleared = self.is(Trap::ClaimClearsMark);
                    let next = begin(if cleared { Status::Unmarked } else { status });
                    steps.push(("claim", State { claims, ..next }));
                }
            }
            Phase::Asks | Phase::Sleeps | Phase::Done => {}
        }
    }

    /// A waiter's channel opens or breaks.
    fn channel(&self, state: &State, index: usize) -> Option<Step> {
        let mut next = *state;
        let process = &mut next.processes[index];
        if matches!(process.phase, Phase::Holds(..) | Phase::Done) {
            return None;
        }
        process.listens = !process.listens;
        process.woken =
            process.listens && !self.is(Trap::AsksThenListens) && !self.is(Trap::SilentReconnect);
        if process.listens {
            return Some(("listen", next));
        }
        next.breaks = next.breaks.checked_sub(1)?;
        Some(("break", next))
    }

    /// A step of the transaction, or of the operator who forces a release.
    fn others(&self, state: &State, steps: &mut Vec<Step>) {
        let Record(term, status) = state.committed;
        if let Some(transaction) = state.transaction {
            steps.push(("commit", state.commit(transaction)));
            if let Some(breaks) = state.breaks.checked_sub(1) {
                let mut next = State { breaks, ..*state };
                next.transaction = None;
                steps.push(("roll back", next));
            }
        } else if status != Status::Released
            && let Some(forces) = state.forces.checked_sub(1)
        {
            let hints = status == Status::Marked && !self.is(Trap::SilentForce);
            let next = state.write(Record(term, Status::Released), hints, None);
            steps.push(("force", State { forces, ..next }));
        }
    }
}

impl Model for Wake {
    type State = State;
    type Action = Step;

    fn init_states(&self) -> Vec<State> {
        let process = |phase| Process {
            phase,
            listens: !self.is(Trap::AsksThenListens),
            woken: false,
        };
        vec![State {
            committed: Record(0, Status::Unmarked),
            transaction: None,
            processes: [Phase::Holds(0, None), Phase::Asks, Phase::Asks].map(process),
            breaks: self.breaks,
            claims: self.claims,
            forces: self.forces,
        }]
    }

    fn actions(&self, state: &State, steps: &mut Vec<Step>) {
        let writer = state.transaction.and_then(|written| written.process);
        for index in 0..state.processes.len() {
            steps.extend(self.channel(state, index));
            if writer.is_some_and(|(writer, _)| writer == index) {
                continue;
            }
            let step = self.read(state, index);
            if step.is_none() && state.transaction.is_none() {
                self.write(state, index, steps);
            }
            steps.extend(step);
        }
        self.others(state, steps);
    }

    fn next_state(&self, _: &State, (_, next): Step) -> Option<State> {
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always(
            "no waiter sleeps beside a free name",
            |_, state: &State| !state.misses_a_waiter(),
        )]
    }
}
