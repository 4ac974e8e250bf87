//! Announces transitions to the log, to the metrics, and to all listeners. It waits for none of them.

use tokio::sync::broadcast;

use crate::{Transition, Transitions, label::Label, observe, subscriber::told};

/// The number of transitions that a listener may be behind.
const KEPT: usize = 256;

/// The elector's end of [`Transitions`].
pub(crate) struct Announcer(broadcast::Sender<Transition>, Label);

impl Announcer {
    pub(crate) fn new(election: &Label) -> Self {
        Self(broadcast::Sender::new(KEPT), election.clone())
    }

    /// Announces to all listeners; never waits.
    pub(crate) fn tell(&self, transition: Transition) {
        told(|| match &transition {
            Transition::Gained { token } => tracing::info!(name: "gained", %token, "leading"),
            Transition::Unsure { token } => {
                tracing::warn!(name: "unsure", %token, "unsure of leading");
            }
            Transition::Recovered { token } => {
                tracing::info!(name: "recovered", %token, "leading without doubt again");
            }
            Transition::Lost { loss } => {
                tracing::warn!(name: "lost", %loss, "not leading any more");
            }
            Transition::Resigned { token, reason } => {
                tracing::info!(name: "resigned", %token, ?reason, "resigned");
            }
            // Each failed attempt has been logged already.
            Transition::Ineligible { .. } => {}
        });
        observe::changed(&self.1, &transition);
        // The error means only that there is no listener.
        drop(self.0.send(transition));
    }

    pub(crate) fn listen(&self) -> Transitions {
        Transitions(self.0.subscribe())
    }
}
