//! The leases of a term, one after the other: finds the lease that a line is about, and records the line.

use uuid::Uuid;

use super::{At, Belief, Key, NameFacts, TermFacts};
use crate::history::{Micros, What, checker::faults::Faults, line::Cause};

impl<'a> NameFacts<'a> {
    /// The leases of all terms, with the identity of each one's term, in the order in which they began.
    pub(crate) fn terms(&self) -> impl Iterator<Item = (Uuid, &TermFacts<'a>)> {
        self.order
            .iter()
            .filter_map(|key| Some((key.0, self.leases.get(key)?)))
    }

    /// The first lease of a term, or the try that may have begun it.
    pub(crate) fn first(&self, uuid: Uuid) -> Option<&TermFacts<'a>> {
        self.leases.get(&(uuid, None))
    }

    /// All leases of a term, in the order in which they began.
    pub(crate) fn leases(&self, uuid: Uuid) -> impl Iterator<Item = &TermFacts<'a>> {
        let followers = self.followers.get(&uuid).into_iter().flatten();
        let keys = std::iter::once(None).chain(followers.copied().map(Some));
        keys.filter_map(move |token| self.leases.get(&(uuid, token)))
    }

    /// The last lease of a term.
    pub(crate) fn last(&self, uuid: Uuid) -> Option<&TermFacts<'a>> {
        self.leases.get(&self.newest_key(uuid))
    }

    pub(super) fn newest_key(&self, uuid: Uuid) -> Key {
        let followers = self.followers.get(&uuid);
        (uuid, followers.and_then(|tokens| tokens.last().copied()))
    }

    pub(super) fn newest(&mut self, uuid: Uuid) -> Option<&mut TermFacts<'a>> {
        self.leases.get_mut(&self.newest_key(uuid))
    }

    /// The lease that a line is about.
    pub(super) fn lease_of(
        &mut self,
        process: &'a str,
        uuid: Uuid,
        (at, what): (At, &What),
    ) -> &mut TermFacts<'a> {
        match *what {
            What::Grant { token, .. } => {
                if self.is_followed_by(uuid, token) {
                    self.follow(uuid, token, at);
                }
                self.lease(process, uuid, Some(token))
            }
            What::Keep { token, .. }
            | What::Credit { token, .. }
            | What::End { token, .. }
            | What::Told { token, .. }
            | What::ReleaseBegan { token, .. }
            | What::ReleaseEnded { token, .. }
            | What::Look { token, .. } => self.lease(process, uuid, token),
            _ => self.term(process, (uuid, None)),
        }
    }

    pub(super) fn lease(
        &mut self,
        process: &'a str,
        uuid: Uuid,
        token: Option<u64>,
    ) -> &mut TermFacts<'a> {
        let follower = token.filter(|_| self.leases.contains_key(&(uuid, token)));
        self.term(process, (uuid, follower))
    }

    /// Whether a lease with this token follows the newest one of the term: that one was released, and its token is
    /// smaller. Otherwise the same term is granted again.
    fn is_followed_by(&self, uuid: Uuid, token: u64) -> bool {
        self.last(uuid).is_some_and(|newest| {
            let given_back = matches!(newest.end, Some((_, Cause::Released)));
            let smaller = newest.grants.last().is_some_and(|(_, last)| *last < token);
            given_back && smaller && newest.shown.is_some_and(|last| token <= last)
        })
    }

    /// Adds a lease that follows the newest one of the term. The beliefs of that one rest on the same replies.
    fn follow(&mut self, uuid: Uuid, token: u64, at: At) {
        let Some(newest) = self.newest(uuid) else {
            return;
        };
        newest.succeeded.get_or_insert(at);
        let follower = TermFacts {
            process: newest.process,
            duration: newest.duration,
            departures: newest.departures.clone(),
            confirmed: newest.confirmed.clone(),
            shown: newest.shown,
            rests_on: newest
                .beliefs
                .iter()
                .max_by_key(|belief| belief.sent)
                .map_or(0, |belief| belief.n),
            ..TermFacts::default()
        };
        let key = (uuid, Some(token));
        self.leases.insert(key, follower);
        self.order.push(key);
        self.followers.entry(uuid).or_default().push(token);
    }

    pub(super) fn term(&mut self, process: &'a str, key: Key) -> &mut TermFacts<'a> {
        let term = self.leases.entry(key).or_insert_with(|| {
            self.order.push(key);
            TermFacts::default()
        });
        if term.process.is_empty() {
            term.process = process;
        }
        term
    }
}

impl TermFacts<'_> {
    pub(super) fn learn(&mut self, at: At, what: &What) {
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
                    n: self.rests_on,
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
                    // From here on, the rules for a release that has begun apply here as well.
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

    /// The token that the holder learnt.
    pub(crate) fn token(&self) -> Option<u64> {
        self.grants
            .first()
            .map(|(_, token)| *token)
            .or_else(|| self.acquires.iter().find_map(|call| call.token))
    }

    /// The token that the record showed, the last of those of the term's leases.
    pub(crate) fn shown(&self) -> Option<u64> {
        self.shown.or_else(|| self.token())
    }

    /// The interval in which the lease was valid from its holder's point of view: from the grant to the first of the
    /// last deadline, the end it knew of, its release and the death of its process.
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
