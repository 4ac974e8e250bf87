//! What a server does beside serving.

use std::{sync::Arc, time::Duration};

use dlock_core::ProviderError;
use dlock_stores::{Queue, text::with_causes};
use tokio::{task::JoinSet, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{demo, settings::Plan};
use crate::api;

/// How long tasks under way may take to be given back when the server ends.
const PATIENCE: Duration = Duration::from_secs(10);

/// What runs beside serving, until it is told to stop.
#[derive(Debug, Default)]
pub(super) struct Background(JoinSet<()>);

impl Background {
    /// What the plan says.
    pub(super) fn start(plan: &Plan, queue: Option<&Queue>, stop: &CancellationToken) -> Self {
        let mut background = Self::default();
        let Some(queue) = queue.filter(|_| plan.api) else {
            return background;
        };
        let tasks = queue.tasks();
        let generate = api::generate(Arc::clone(tasks), stop.clone().cancelled_owned());
        background.run("the generator", generate);
        if plan.demo {
            let keep_on = api::keep_on(Arc::clone(tasks), stop.clone().cancelled_owned());
            background.run("the demo", keep_on);
            for name in demo::WORKERS {
                background.run(name, demo::work(name, Arc::clone(tasks), stop.clone()));
            }
        }
        background
    }

    fn run(
        &mut self,
        what: &'static str,
        work: impl Future<Output = Result<(), ProviderError>> + Send + 'static,
    ) {
        self.0.spawn(async move {
            if let Err(error) = work.await {
                let why = with_causes("", Some(&error));
                tracing::error!(what, why, "ended; everything else is served");
            }
        });
    }

    /// Resolves when all has ended that was told to stop, and soon in any case.
    pub(super) async fn ended(mut self) {
        let all = async { while self.0.join_next().await.is_some() {} };
        if timeout(PATIENCE, all).await.is_err() {
            tracing::warn!("tasks under way are left to the end of their leases");
        }
    }
}
