//! The claims of a worker and their identities (A2, A3, J2).

use dlock_core::ProviderError;
use dlock_tasks::Claim;
use tokio::time::Instant;

use super::{Life, ProcessId, State};
use crate::tasks::{Answer, Call};

impl State {
    pub(super) fn called(&mut self, process: ProcessId, call: &Call, struck: bool) {
        self.figures.calls += 1;
        if struck {
            self.figures.struck += 1;
            self.processes[process.0].struck = Some(Instant::now());
        }
        match call {
            Call::Claim(claim) => self.claims(process, claim),
            Call::Finish(endings) => self.ends(process, endings),
            Call::Renew(renewals) => self.figures.heartbeats += renewals.len() as u64,
            Call::Release(release) => self.releases(process, release),
            _ => {}
        }
    }

    pub(super) fn answered(
        &mut self,
        process: ProcessId,
        call: &Call,
        answer: &Result<Answer, ProviderError>,
    ) {
        match (call, answer) {
            (Call::Claim(_), Ok(_)) => self.processes[process.0].open = None,
            (Call::Finish(endings), Ok(Answer::Ended(ended))) => {
                self.ended(process, endings, ended);
            }
            _ => {}
        }
    }

    fn claims(&mut self, process: ProcessId, claim: &Claim) {
        let is_new = self.uuids.insert(claim.uuid);
        let of = &self.processes[process.0];
        let (open, plan, running) = (of.open, &of.plan, of.running);
        let (lease, concurrency) = (plan.lease, plan.concurrency);
        // In the instant in which it is asked to stop, it may not yet know.
        let stopping = matches!(of.life, Life::Stopping(since) if !since.elapsed().is_zero());
        self.figures.claims_repeated += u64::from(!is_new);
        match (is_new, claim.again, open) {
            (true, true, _) => self.complain("A2", "a claim that was never sent is repeated"),
            (true, false, Some((_, sent))) if sent.elapsed() < lease / 3 => {
                self.complain("A2", "a claim without an answer is not repeated");
            }
            (false, false, _) => {
                self.complain("A3", "a claim has the identity of an earlier one");
            }
            (false, true, open) if open.is_none_or(|(uuid, _)| uuid != claim.uuid) => {
                self.complain("A3", "a claim that was answered is sent again");
            }
            _ => {}
        }
        if is_new && stopping {
            self.complain("J2", "a worker that was asked to stop claims tasks");
        }
        if claim.max + running > concurrency {
            let max = claim.max;
            self.complain(
                "J2",
                format!("{max} tasks are claimed, {running} of {concurrency} are running"),
            );
        }
        let first = open.filter(|(uuid, _)| *uuid == claim.uuid);
        self.processes[process.0].open = first.or(Some((claim.uuid, Instant::now())));
    }
}
