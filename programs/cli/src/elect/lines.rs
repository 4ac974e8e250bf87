//! The output of `dlock elect`: one line for each change.

use std::fmt;

use dlock_core::{Name, ProviderError};
use dlock_election::{Leader, Next, Reason, Transition, Transitions};
use dlock_stores::{
    Store,
    text::{harmless, without_credentials},
};

use crate::{
    exit::{Exit, Failure, say},
    output,
};

/// Prints the lines of one election.
pub(super) struct Lines {
    name: String,
    /// Whether it prints to standard output; otherwise that belongs to the command.
    out: bool,
}

impl Lines {
    pub(super) fn new(name: &Name, out: bool) -> Self {
        Self {
            name: format!("{:?}", name.as_str()),
            out,
        }
    }

    /// The leader at the start.
    pub(super) fn following(&self, leader: Option<&Leader>) -> Result<(), Failure> {
        let name = &self.name;
        match leader {
            Some(leader) => {
                let id = harmless(&leader.owner);
                self.line(format_args!("following {name}, {id:?} leads"))
            }
            None => self.line(format_args!("following {name}, which has no leader")),
        }
    }

    /// The store did not answer who leads; `conduct` says what it did instead.
    pub(super) fn unknown(&self, conduct: &str, error: ProviderError) -> Result<(), Failure> {
        let what = format!("following {}, and the store {conduct}", self.name);
        self.failure(&Failure::new(Exit::StoreUnreachable, what).because(error))
    }

    /// Prints every transition, until the election ends.
    pub(super) async fn tell(
        self,
        mut transitions: Transitions,
        store: &Store,
    ) -> Result<(), Failure> {
        while let Some(next) = transitions.next().await {
            match next {
                Next::Transition(Transition::Ineligible { error }) => {
                    let doing = format!("can't lead {} until this is mended", self.name);
                    self.failure(&store.failure(&doing, error).await.into())?;
                }
                Next::Transition(transition) => self.transition(&transition)?,
                // Standard output was blocked for a very long time.
                Next::Missed(missed) => {
                    self.line(format_args!("({missed} changes are not shown)"))?;
                }
            }
        }
        Ok(())
    }

    fn transition(&self, transition: &Transition) -> Result<(), Failure> {
        let name = &self.name;
        match transition {
            Transition::Gained { token } => {
                self.line(format_args!("leading {name} with token {token}"))
            }
            Transition::Unsure { .. } => self.line(format_args!(
                "unsure of leading {name}: a renewal is overdue or was refused"
            )),
            Transition::Recovered { .. } => self.line(format_args!("sure of leading {name} again")),
            Transition::Lost { loss } => {
                self.line(format_args!("not leading {name} any more: {loss}"))
            }
            Transition::Resigned { reason, .. } => {
                let reason = match reason {
                    Reason::Shutdown => "stopping",
                    Reason::Asked => "it was asked to step down",
                    _ => "its command was ended",
                };
                self.line(format_args!("not leading {name} any more: {reason}"))
            }
            _ => Ok(()),
        }
    }

    /// The failure, and on a separate line the advice.
    pub(super) fn failure(&self, failure: &Failure) -> Result<(), Failure> {
        // A driver's message about a URL may show all of it.
        self.line(format_args!(
            "{}",
            without_credentials(&failure.to_string())
        ))?;
        match failure.advice() {
            Some(advice) => self.line(format_args!("  {advice}")),
            None => Ok(()),
        }
    }

    fn line(&self, line: fmt::Arguments<'_>) -> Result<(), Failure> {
        if self.out {
            return output::line(line);
        }
        say(line);
        Ok(())
    }
}
