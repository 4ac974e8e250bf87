//! Hand-made histories, in seconds: leases of 10 s, valid for 8 s, by two processes A and B.

use std::time::Duration;

use dlock_core::provider::Discipline;
use dlock_proof::history::{
    Header, Invariant, Line, Micros, What,
    checker::{Report, check},
    line::{Cause, Commit, CommitKind, Outcome, Prev},
};
use uuid::Uuid;

pub(crate) const LEASE: f64 = 10.0;
pub(crate) const BELIEF: f64 = 8.0;

/// A history in progress.
#[derive(Clone)]
pub(crate) struct Story {
    pub(crate) lines: Vec<Line>,
    attempt: u64,
    commits: bool,
    discipline: Discipline,
}

pub(crate) fn at(seconds: f64) -> Micros {
    u64::try_from(Duration::from_secs_f64(seconds).as_micros()).unwrap()
}

pub(crate) fn id(term: u128) -> Uuid {
    Uuid::from_u128(term)
}

impl Story {
    /// With the store's own log.
    pub(crate) fn new() -> Self {
        Self::with(Discipline::StoreClock, true)
    }

    /// Only the information that clients had.
    pub(crate) fn without_commits() -> Self {
        Self::with(Discipline::StoreClock, false)
    }

    pub(crate) fn with(discipline: Discipline, commits: bool) -> Self {
        let mut header = Header::new("hand-made", discipline, Duration::from_secs_f64(LEASE));
        header.commits = commits;
        header.seed = Some(42);
        let mut story = Self {
            lines: Vec::new(),
            attempt: 0,
            commits,
            discipline,
        };
        story.line(0.0, "", What::Header(Box::new(header)));
        for process in ["A", "B"] {
            story.line(0.0, process, What::Start { rate: Some(1.0) });
        }
        story
    }

    /// Everything ran on one thread.
    pub(crate) fn single_thread(&mut self) -> &mut Self {
        if let What::Header(header) = &mut self.lines[0].what {
            header.single_thread = true;
        }
        self
    }

    pub(crate) fn line(&mut self, t: f64, process: &str, what: What) -> &mut Self {
        let name = match what {
            What::Header(_) | What::Start { .. } | What::Fault { .. } | What::Write { .. } => "",
            _ => "door",
        };
        self.lines.push(Line::new(at(t), process, name, what));
        self
    }

    pub(crate) fn commit(
        &mut self,
        t: f64,
        kind: CommitKind,
        term: u128,
        n: u64,
        token: u64,
    ) -> &mut Self {
        if !self.commits {
            return self;
        }
        let expiry = match self.discipline {
            Discipline::StoreClock => Some(at(t + LEASE)),
            Discipline::Observer => None,
        };
        let commit = Commit {
            kind,
            uuid: id(term),
            n,
            token,
            duration: at(LEASE),
            expiry,
        };
        self.line(t, "", What::Commit(commit))
    }

    /// An acquire on the wire.
    pub(crate) fn acquire(
        &mut self,
        process: &str,
        term: u128,
        sent: f64,
        reply: Option<(f64, Outcome, Option<u64>)>,
    ) -> &mut Self {
        self.asked(process, term, None, sent, reply)
    }

    fn asked(
        &mut self,
        process: &str,
        term: u128,
        prev: Option<Prev>,
        sent: f64,
        reply: Option<(f64, Outcome, Option<u64>)>,
    ) -> &mut Self {
        self.attempt += 1;
        let attempt = self.attempt;
        let call = |outcome, token| What::Acquire {
            attempt,
            uuid: id(term),
            prev,
            outcome,
            token,
            block: None,
        };
        self.line(sent, process, call(None, None));
        if let Some((t, outcome, token)) = reply {
            self.line(t, process, call(Some(outcome), token));
        }
        self
    }

    pub(crate) fn tried(&mut self, process: &str, term: u128, sent: f64) -> &mut Self {
        let what = What::Try {
            uuid: id(term),
            sent: at(sent),
            duration: at(LEASE),
            prev: None,
            floor: 0,
        };
        self.line(sent, process, what)
    }

    pub(crate) fn believes(
        &mut self,
        process: &str,
        term: u128,
        token: u64,
        sent: f64,
        t: f64,
    ) -> &mut Self {
        let what = What::Grant {
            uuid: id(term),
            token,
            sent: at(sent),
            valid_until: at(sent + BELIEF),
            unsure_from: at(sent + LEASE / 2.0),
        };
        self.line(t, process, what)
    }

    /// A grant as it should be: sent, committed 0.1 s later, known after another 0.1 s.
    pub(crate) fn granted(
        &mut self,
        process: &str,
        term: u128,
        token: u64,
        sent: f64,
    ) -> &mut Self {
        self.tried(process, term, sent);
        self.commit(sent + 0.1, CommitKind::Take, term, 0, token);
        self.acquire(
            process,
            term,
            sent,
            Some((sent + 0.2, Outcome::Ok, Some(token))),
        );
        self.believes(process, term, token, sent, sent + 0.2)
    }

    /// A renewal on the wire.
    pub(crate) fn renew(
        &mut self,
        process: &str,
        term: u128,
        n: u64,
        sent: f64,
        reply: Option<(f64, Outcome)>,
    ) -> &mut Self {
        self.attempt += 1;
        let attempt = self.attempt;
        let call = |outcome| What::Renew {
            attempt,
            uuid: id(term),
            n,
            outcome,
        };
        self.line(sent, process, call(None));
        if let Some((t, outcome)) = reply {
            self.line(t, process, call(Some(outcome)));
        }
        self
    }

    pub(crate) fn credited(
        &mut self,
        process: &str,
        term: u128,
        n: u64,
        sent: f64,
        t: f64,
    ) -> &mut Self {
        let what = What::Credit {
            uuid: id(term),
            token: None,
            n,
            sent: at(sent),
            valid_until: at(sent + BELIEF),
            unsure_from: at(sent + LEASE / 2.0),
        };
        self.line(t, process, what)
    }

    /// A renewal as it should be.
    pub(crate) fn renewed(
        &mut self,
        process: &str,
        term: u128,
        token: u64,
        n: u64,
        sent: f64,
    ) -> &mut Self {
        self.commit(sent + 0.1, CommitKind::Renew, term, n, token);
        self.renew(process, term, n, sent, Some((sent + 0.2, Outcome::Ok)));
        self.credited(process, term, n, sent, sent + 0.2)
    }

    /// A release on the wire.
    pub(crate) fn release(
        &mut self,
        process: &str,
        term: u128,
        sent: f64,
        reply: Option<(f64, Outcome)>,
    ) -> &mut Self {
        self.attempt += 1;
        let attempt = self.attempt;
        let call = |outcome| What::Release {
            attempt,
            uuid: id(term),
            outcome,
        };
        self.line(sent, process, call(None));
        if let Some((t, outcome)) = reply {
            self.line(t, process, call(Some(outcome)));
        }
        self
    }

    /// A release as it should be.
    pub(crate) fn released(
        &mut self,
        process: &str,
        term: u128,
        minted: u64,
        sent: f64,
    ) -> &mut Self {
        self.ended(process, term, sent, Cause::Released);
        let (uuid, token, outcome) = (id(term), None, Outcome::Ok);
        self.line(sent, process, What::ReleaseBegan { uuid, token });
        self.commit(sent + 0.1, CommitKind::Release, term, 0, minted);
        self.release(process, term, sent, Some((sent + 0.2, outcome)));
        let what = What::ReleaseEnded {
            uuid,
            token,
            outcome,
        };
        self.line(sent + 0.2, process, what)
    }

    pub(crate) fn ended(&mut self, process: &str, term: u128, t: f64, cause: Cause) -> &mut Self {
        let (uuid, token) = (id(term), None);
        self.line(t, process, What::End { uuid, token, cause })
    }

    pub(crate) fn told(&mut self, process: &str, term: u128, t: f64) -> &mut Self {
        let (uuid, token) = (id(term), None);
        self.line(t, process, What::Told { uuid, token })
    }

    pub(crate) fn kept(&mut self, process: &str, term: u128, t: f64) -> &mut Self {
        let (uuid, token) = (id(term), None);
        self.line(t, process, What::Keep { uuid, token })
    }

    pub(crate) fn looked(&mut self, process: &str, term: u128, t: f64, valid: bool) -> &mut Self {
        let (uuid, token) = (id(term), None);
        self.line(t, process, What::Look { uuid, token, valid })
    }

    /// A caller waits from `from` to the instant in `to`, and ends with its term if it names one.
    pub(crate) fn waited(
        &mut self,
        process: &str,
        handle: u64,
        from: f64,
        to: Option<(f64, Option<u128>)>,
    ) -> &mut Self {
        let what = What::Ask {
            handle,
            waits: true,
            limit: None,
        };
        self.line(from, process, what);
        if let Some((to, term)) = to {
            let what = What::AskEnd {
                handle,
                outcome: term.map_or(Outcome::Timeout, |_| Outcome::Ok),
                uuid: term.map(id),
                token: None,
            };
            self.line(to, process, what);
        }
        self
    }

    pub(crate) fn fault(&mut self, kind: &str, process: &str, from: f64, to: f64) -> &mut Self {
        self.excused(kind, process, from, to, &[])
    }

    pub(crate) fn excused(
        &mut self,
        kind: &str,
        process: &str,
        from: f64,
        to: f64,
        excuses: &[Invariant],
    ) -> &mut Self {
        let what = What::Fault {
            kind: kind.into(),
            from: at(from),
            to: Some(at(to)),
            excuses: excuses.to_vec(),
        };
        self.line(from, process, what)
    }

    pub(crate) fn wrote(&mut self, t: f64, fenced: bool, token: u64, accepted: bool) -> &mut Self {
        let what = What::Write {
            resource: "ledger".into(),
            fenced,
            token,
            accepted,
            read: None,
            written: None,
        };
        self.line(t, "", what)
    }

    pub(crate) fn check(&self) -> Report {
        check(&self.lines)
    }

    /// Asserts that nothing is broken.
    #[track_caller]
    pub(crate) fn passes(&self) -> Report {
        let report = self.check();
        assert!(report.is_clean(), "{report}");
        report
    }

    /// Asserts that these invariants are broken, and no other.
    #[track_caller]
    pub(crate) fn breaks(&self, invariants: &[Invariant]) -> Report {
        let report = self.check();
        let mut broken: Vec<_> = report.violations.iter().map(|it| it.invariant).collect();
        broken.sort_unstable();
        broken.dedup();
        assert_eq!(broken, invariants, "{report}");
        for violation in &report.violations {
            assert!(!violation.lines.is_empty() && !violation.says.is_empty());
        }
        report
    }
}
