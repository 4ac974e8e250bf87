//! What `dlock elect` prints: one line for each change.

use std::fmt;

use dlock_core::{Name, ProviderError};
use dlock_election::{Leader, Next, Reason, Transition, Transitions};

use crate::{
    display::harmless,
    exit::{Exit, Failure, say},
    output,
};

/// Prints the lines of one election.
pub(super) struct Lines {
    name: String,
    /// Standard output; else it is the command's.
    out: bool,
}

impl Lines {
    pub(super) fn new(name: &Name, out: bool) -> Self {
        Self {
            name: format!("{:?}", name.as_str()),
            out,
        }
    }

    /// Who leads when it begins.
    pub(super) fn following(&self, leader: Option<&Leader>) -> Result<(), Failure> {
        let name = &self.name;
        match leader {
            Some(leader) => {
                let id = harmless(&leader.id);
                self.line(format_args!("following {name}, {id:?} leads"))
            }
            None => self.line(format_args!("following {name}, nobody leads")),
        }
    }

    /// The store did not say it; what it did instead.
    pub(super) fn unknown(&self, conduct: &str, error: ProviderError) -> Result<(), Failure> {
        let what = format!("following {}, and the store {conduct}", self.name);
        let failure = Failure::new(Exit::StoreUnreachable, what).because(error);
        self.line(format_args!("{failure}"))
    }

    /// Every transition, until the election is gone.
    pub(super) async fn tell(self, mut transitions: Transitions) -> Result<(), Failure> {
        while let Some(next) = transitions.next().await {
            match next {
                Next::Transition(transition) => self.transition(&transition)?,
                // Standard output was blocked for very long.
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
                    Reason::Asked => "somebody asked for it",
                    _ => "its command was ended",
                };
                self.line(format_args!("not leading {name} any more: {reason}"))
            }
            _ => Ok(()),
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
