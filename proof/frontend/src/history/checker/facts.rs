//! A history sorted out: by name, by term, by call. Nothing here judges.

use std::collections::{BTreeMap, HashMap};

use uuid::Uuid;

use super::faults::Faults;
use crate::history::{
    Header, Line, Micros, What,
    line::{Cause, Commit, CommitKind, Outcome},
};

/// A line of the history: its place in the input, and its instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    pub(crate) line: usize,
    pub(crate) t: Micros,
}

pub(crate) struct Facts<'a> {
    pub(crate) header: &'a Header,
    pub(crate) faults: Faults,
    /// The instant of the last line.
    pub(crate) end: Micros,
    pub(crate) names: BTreeMap<&'a str, NameFacts<'a>>,
    pub(crate) writes: Vec<(At, &'a What)>,
    /// The rates of the processes' clocks, where they are known.
    pub(crate) rates: HashMap<&'a str, f64>,
    /// Lines that fit nothing before them.
    pub(crate) misfits: Vec<(At, &'static str)>,
    /// Calls to the store are in the history, so that what is missing did not happen.
    pub(crate) has_calls: bool,
}

#[derive(Default)]
pub(crate) struct NameFacts<'a> {
    pub(crate) terms: HashMap<Uuid, TermFacts<'a>>,
    /// In the order in which they began.
    pub(crate) order: Vec<Uuid>,
    pub(crate) commits: Vec<(At, &'a Commit)>,
    pub(crate) asks: Vec<AskFacts<'a>>,
}

/// A call for the lock.
pub(crate) struct AskFacts<'a> {
    pub(crate) process: &'a str,
    pub(crate) began: At,
    pub(crate) waits: bool,
    pub(crate) ended: Option<At>,
}

/// Everything about one uuid under one name.
#[derive(Default)]
pub(crate) struct TermFacts<'a> {
    pub(crate) process: &'a str,
    pub(crate) duration: Option<Micros>,
    /// When the first copy of each request left: the acquire under 0, renewals by their number.
    pub(crate) departures: HashMap<u64, At>,
    /// When the store first confirmed it.
    pub(crate) confirmed: HashMap<u64, At>,
    pub(crate) acquires: Vec<Call>,
    pub(crate) renews: Vec<Call>,
    pub(crate) releases: Vec<Call>,
    pub(crate) grants: Vec<(At, u64)>,
    /// The grant and the renewals, as they were believed.
    pub(crate) beliefs: Vec<Belief>,
    pub(crate) delivered: Option<At>,
    pub(crate) keep: Option<At>,
    pub(crate) end: Option<(At, Cause)>,
    pub(crate) told: Vec<At>,
    pub(crate) release_began: Option<At>,
    pub(crate) release_ended: Vec<(At, Outcome)>,
    /// When the store was first known to have given the name to a try that claimed this term (A6).
    pub(crate) succeeded: Option<At>,
    /// Tries of its own process that claimed it.
    pub(crate) claims: Vec<Uuid>,
    pub(crate) looks: Vec<(At, bool)>,
}

/// A call to the store.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    pub(crate) sent: At,
    pub(crate) answered: Option<(At, Outcome)>,
    pub(crate) token: Option<u64>,
    /// The highest token of this name that anybody had been told when the call was sent.
    pub(crate) known: Option<(At, u64)>,
}

/// The deadline after a success.
#[derive(Clone, Copy)]
pub(crate) struct Belief {
    pub(crate) at: At,
    /// 0: the grant.
    pub(crate) n: u64,
    pub(crate) sent: Micros,
    pub(crate) valid_until: Micros,
}

/// Which list of a term's calls.
#[derive(Clone, Copy)]
enum Op {
    Acquire,
    Renew,
    Release,
}

impl<'a> Facts<'a> {
    /// `None` without a header.
    pub(crate) fn new(lines: &'a [Line]) -> Option<Self> {
        let header = lines.iter().find_map(|line| match &line.what {
            What::Header(header) => Some(&**header),
            _ => None,
        })?;
        let mut order: Vec<usize> = (0..lines.len()).collect();
        order.sort_by_key(|index| lines[*index].t);
        let mut facts = Self {
            header,
            faults: Faults::new(lines),
            end: order.last().map_or(0, |last| lines[*last].t),
            names: BTreeMap::new(),
            writes: Vec::new(),
            rates: HashMap::new(),
            misfits: Vec::new(),
            has_calls: false,
        };
        let mut sorting = Sorting::default();
        for line in order {
            let at = At {
                line,
                t: lines[line].t,
            };
            facts.sort_in(&mut sorting, at, &lines[line]);
        }
        Some(facts)
    }

    /// D of a term.
    pub(crate) fn duration(&self, term: &TermFacts<'_>) -> Micros {
        term.duration.unwrap_or(self.header.duration)
    }

    fn sort_in(&mut self, sorting: &mut Sorting<'a>, at: At, line: &'a Line) {
        let process: &'a str = &line.process;
        match &line.what {
            What::Header(_) | What::Read { .. } | What::Fault { .. } => return,
            What::Start { rate } => {
                if let Some(rate) = rate {
                    self.rates.insert(process, *rate);
                }
                return;
            }
            write @ What::Write { .. } => return self.writes.push((at, write)),
            _ => {}
        }
        let name: &'a str = &line.name;
        let facts = self.names.entry(name).or_default();
        match &line.what {
            What::Ask { handle, waits, .. } => {
                sorting
                    .asks
                    .insert((process, name, *handle), facts.asks.len());
                facts.asks.push(AskFacts {
                    process,
                    began: at,
                    waits: *waits,
                    ended: None,
                });
                return;
            }
            What::AskEnd {
                handle,
                outcome,
                uuid,
            } => {
                match sorting.asks.remove(&(process, name, *handle)) {
                    Some(ask) => facts.asks[ask].ended = Some(at),
                    None => self.misfits.push((at, "a call ended that had not begun")),
                }
                if let (Outcome::Ok, Some(uuid)) = (outcome, uuid) {
                    facts.term(process, *uuid).delivered = Some(at);
                }
                return;
            }
            What::Commit(commit) => {
                if commit.kind == CommitKind::Take {
                    facts.term("", commit.uuid);
                }
                facts.commits.push((at, commit));
                return;
            }
            _ => {}
        }
        let Some(uuid) = line.uuid() else { return };
        if let What::Acquire {
            prev: Some(prev),
            outcome: Some(Outcome::Ok),
            ..
        } = &line.what
            && let Some(before) = facts.terms.get_mut(&prev.uuid)
        {
            before.succeeded.get_or_insert(at);
        }
        if let What::Acquire {
            prev: Some(prev),
            outcome: None,
            ..
        } = &line.what
            && let Some(before) = facts.terms.get_mut(&prev.uuid)
            && before.process == process
        {
            before.claims.push(uuid);
        }
        let term = facts.term(process, uuid);
        let call = match &line.what {
            What::Acquire {
                attempt,
                outcome,
                token,
                ..
            } => (Op::Acquire, *attempt, 0, *outcome, *token),
            What::Renew {
                attempt,
                n,
                outcome,
                ..
            } => (Op::Renew, *attempt, *n, *outcome, None),
            What::Release {
                attempt, outcome, ..
            } => (Op::Release, *attempt, 0, *outcome, None),
            what => return term.learn(at, what),
        };
        self.has_calls = true;
        let (op, attempt, n, outcome, token) = call;
        match (op, outcome) {
            (Op::Release, _) => {}
            (Op::Acquire | Op::Renew, None) => {
                term.departures.entry(n).or_insert(at);
            }
            (Op::Acquire | Op::Renew, Some(Outcome::Ok)) => {
                term.confirmed.entry(n).or_insert(at);
            }
            (Op::Acquire | Op::Renew, Some(_)) => {}
        }
        let calls = match op {
            Op::Acquire => &mut term.acquires,
            Op::Renew => &mut term.renews,
            Op::Release => &mut term.releases,
        };
        let Some(outcome) = outcome else {
            sorting.calls.insert((process, attempt), calls.len());
            return calls.push(Call {
                sent: at,
                answered: None,
                token: None,
                known: sorting.told.get(name).copied(),
            });
        };
        let sent = sorting.calls.remove(&(process, attempt));
        match sent.and_then(|index| calls.get_mut(index)) {
            Some(call) => {
                call.answered = Some((at, outcome));
                call.token = token;
            }
            None => self
                .misfits
                .push((at, "a reply to a call that was not sent")),
        }
        if let (Outcome::Ok, Some(token)) = (outcome, token) {
            let told = sorting.told.entry(name).or_insert((at, token));
            if token > told.1 {
                *told = (at, token);
            }
        }
    }
}

/// What is open while the lines are gone through.
#[derive(Default)]
struct Sorting<'a> {
    asks: HashMap<(&'a str, &'a str, u64), usize>,
    calls: HashMap<(&'a str, u64), usize>,
    /// The highest token that anybody has been told, by name.
    told: HashMap<&'a str, (At, u64)>,
}

impl<'a> NameFacts<'a> {
    /// The terms in the order in which they began.
    pub(crate) fn terms(&self) -> impl Iterator<Item = (Uuid, &TermFacts<'a>)> {
        self.order
            .iter()
            .filter_map(|uuid| Some((*uuid, self.terms.get(uuid)?)))
    }

    fn term(&mut self, process: &'a str, uuid: Uuid) -> &mut TermFacts<'a> {
        let term = self.terms.entry(uuid).or_insert_with(|| {
            self.order.push(uuid);
            TermFacts::default()
        });
        if term.process.is_empty() {
            term.process = process;
        }
        term
    }
}

impl TermFacts<'_> {
    fn learn(&mut self, at: At, what: &What) {
        match *what {
            What::Try { duration, .. } => {
                self.duration.get_or_insert(duration);
            }
            What::Grant {
                token,
                sent,
                valid_until,
                ..
            } => {
                self.grants.push((at, token));
                self.beliefs.push(Belief {
                    at,
                    n: 0,
                    sent,
                    valid_until,
                });
            }
            What::Credit {
                n,
                sent,
                valid_until,
                ..
            } => self.beliefs.push(Belief {
                at,
                n,
                sent,
                valid_until,
            }),
            What::Keep { .. } => self.keep = Some(at),
            What::End { cause, .. } => {
                self.end.get_or_insert((at, cause));
                if cause == Cause::HandedOver {
                    // What holds of a release from its beginning on holds here as well.
                    self.release_began.get_or_insert(at);
                }
            }
            What::Told { .. } => self.told.push(at),
            What::ReleaseBegan { .. } => {
                self.release_began.get_or_insert(at);
            }
            What::ReleaseEnded { outcome, .. } => self.release_ended.push((at, outcome)),
            What::Look { valid, .. } => self.looks.push((at, valid)),
            _ => {}
        }
    }

    /// The token that the holder was told.
    pub(crate) fn token(&self) -> Option<u64> {
        self.grants
            .first()
            .map(|(_, token)| *token)
            .or_else(|| self.acquires.iter().find_map(|call| call.token))
    }

    /// From when to when the lease was valid, as its own side had it: from the grant to the first of
    /// the last deadline, the end it knew of, its release and the death of its process.
    pub(crate) fn valid(&self, faults: &Faults) -> Option<(At, Micros)> {
        let (granted, _) = *self.grants.first()?;
        let ends = [
            self.beliefs.last().map(|belief| belief.valid_until),
            self.end.map(|(at, _)| at.t),
            self.release_began.map(|at| at.t),
            faults.killed(self.process),
        ];
        let end = ends.into_iter().flatten().min()?;
        Some((granted, end.max(granted.t)))
    }

    /// The deadline that held at an instant.
    pub(crate) fn deadline_at(&self, t: Micros) -> Option<Belief> {
        let after = self.beliefs.partition_point(|belief| belief.at.t <= t);
        Some(self.beliefs[after.checked_sub(1)?])
    }
}
