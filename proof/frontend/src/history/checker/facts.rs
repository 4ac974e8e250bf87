//! A history sorted by name, by term, by call. This module judges nothing.

mod leases;

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
    /// Lines that fit no earlier line.
    pub(crate) misfits: Vec<(At, &'static str)>,
    /// The history has the calls to the store, so a call that is missing did not happen.
    pub(crate) has_calls: bool,
}

#[derive(Default)]
pub(crate) struct NameFacts<'a> {
    leases: HashMap<Key, TermFacts<'a>>,
    /// The leases in the order in which they began.
    order: Vec<Key>,
    /// The leases that have followed the first on each term.
    followers: HashMap<Uuid, Vec<u64>>,
    pub(crate) commits: Vec<(At, &'a Commit)>,
    pub(crate) asks: Vec<AskFacts<'a>>,
}

/// A caller's request for the lock.
pub(crate) struct AskFacts<'a> {
    pub(crate) process: &'a str,
    pub(crate) began: At,
    pub(crate) waits: bool,
    pub(crate) ended: Option<At>,
}

/// A lease of a term, or a try that has none: the identity of the term, and the token of a lease that is not the first.
type Key = (Uuid, Option<u64>);

/// Everything about one lease of one term under one name. The calls to the store name the term alone; each is
/// attributed to the lease that was the term's newest when it was sent.
#[derive(Default)]
pub(crate) struct TermFacts<'a> {
    pub(crate) process: &'a str,
    pub(crate) duration: Option<Micros>,
    /// When the first copy of each request was sent: the acquire under 0, renewals by their number.
    pub(crate) departures: HashMap<u64, At>,
    /// When the store first confirmed it.
    pub(crate) confirmed: HashMap<u64, At>,
    pub(crate) acquires: Vec<Call>,
    pub(crate) renews: Vec<Call>,
    pub(crate) releases: Vec<Call>,
    pub(crate) grants: Vec<(At, u64)>,
    /// The token that the record showed according to the reply to the acquire: the last of those of the term's leases.
    shown: Option<u64>,
    /// The number of the renewal whose success it began with: 0 for the first lease of a term.
    rests_on: u64,
    /// The grant and the renewals, as the holder believed them.
    pub(crate) beliefs: Vec<Belief>,
    pub(crate) delivered: Option<At>,
    pub(crate) keep: Option<At>,
    pub(crate) end: Option<(At, Cause)>,
    pub(crate) told: Vec<At>,
    pub(crate) release_began: Option<At>,
    pub(crate) release_ended: Vec<(At, Outcome)>,
    /// When the store was first known to have given the name to a try that claimed this term (A6), or when a lease
    /// followed this one on its term.
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
    /// The token of the term's first lease, according to the reply.
    pub(crate) token: Option<u64>,
    /// The highest token of this name that any client had learnt when the call was sent.
    pub(crate) known: Option<(At, u64)>,
}

/// The deadline after a success.
#[derive(Clone, Copy)]
pub(crate) struct Belief {
    pub(crate) at: At,
    /// The number of the renewal that it rests on; 0: the grant.
    pub(crate) n: u64,
    pub(crate) sent: Micros,
    pub(crate) valid_until: Micros,
}

/// Selects a list of a term's calls.
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
                token,
            } => {
                match sorting.asks.remove(&(process, name, *handle)) {
                    Some(ask) => facts.asks[ask].ended = Some(at),
                    None => self.misfits.push((at, "a call ended that had not begun")),
                }
                if let (Outcome::Ok, Some(uuid)) = (outcome, uuid) {
                    facts.lease(process, *uuid, *token).delivered = Some(at);
                }
                return;
            }
            What::Commit(commit) => {
                if commit.kind == CommitKind::Take {
                    facts.term("", (commit.uuid, None));
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
            && let Some(before) = facts.newest(prev.uuid)
        {
            before.succeeded.get_or_insert(at);
        }
        if let What::Acquire {
            prev: Some(prev),
            outcome: None,
            ..
        } = &line.what
            && let Some(before) = facts.newest(prev.uuid)
            && before.process == process
        {
            before.claims.push(uuid);
        }
        let mut shown = None;
        let call = match &line.what {
            What::Acquire {
                attempt,
                outcome,
                token,
                block,
                ..
            } => {
                shown = *token;
                let first = token.map(|last| last + 1 - u64::from(block.unwrap_or(1)));
                (Op::Acquire, *attempt, 0, *outcome, first)
            }
            What::Renew {
                attempt,
                n,
                outcome,
                ..
            } => (Op::Renew, *attempt, *n, *outcome, None),
            What::Release {
                attempt, outcome, ..
            } => (Op::Release, *attempt, 0, *outcome, None),
            what => return facts.lease_of(process, uuid, (at, what)).learn(at, what),
        };
        self.has_calls = true;
        let (op, attempt, n, outcome, token) = call;
        let sent = outcome.and_then(|_| sorting.calls.remove(&(process, attempt)));
        let key = sent.map_or_else(|| facts.newest_key(uuid), |(key, _)| key);
        let term = facts.term(process, key);
        if let (Some(Outcome::Ok), Some(shown)) = (outcome, shown) {
            term.shown = Some(shown);
        }
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
            sorting.calls.insert((process, attempt), (key, calls.len()));
            return calls.push(Call {
                sent: at,
                answered: None,
                token: None,
                known: sorting.told.get(name).copied(),
            });
        };
        match sent.and_then(|(_, index)| calls.get_mut(index)) {
            Some(call) => {
                call.answered = Some((at, outcome));
                call.token = token;
            }
            None => self
                .misfits
                .push((at, "a reply to a call that was not sent")),
        }
        if let (Outcome::Ok, Some(token)) = (outcome, shown) {
            let told = sorting.told.entry(name).or_insert((at, token));
            if token > told.1 {
                *told = (at, token);
            }
        }
    }
}

/// The open requests and calls during the pass over the lines.
#[derive(Default)]
struct Sorting<'a> {
    asks: HashMap<(&'a str, &'a str, u64), usize>,
    calls: HashMap<(&'a str, u64), (Key, usize)>,
    /// The highest token that any client has learnt, by name.
    told: HashMap<&'a str, (At, u64)>,
}
