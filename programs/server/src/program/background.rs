//! The work of a server in addition to serving.

use std::{sync::Arc, time::Duration};

use dlock_core::ProviderError;
use dlock_stores::{Queue, text::with_causes};
use dlock_tasks::TaskStore;
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::{demo, settings::Plan};
use crate::api;

/// How long it may take to give running tasks back when the server ends.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long after a failure the work is started again.
const PAUSE: Duration = Duration::from_secs(30);

/// The work that runs concurrently with serving, until it has to stop.
#[derive(Debug, Default)]
pub(super) struct Background(JoinSet<()>);

impl Background {
    /// Starts the work that the plan asks for.
    pub(super) fn start(plan: &Plan, queue: Option<&Queue>, stop: &CancellationToken) -> Self {
        let mut background = Self::default();
        let Some(queue) = queue.filter(|_| plan.api) else {
            return background;
        };
        background.run("the generator", queue, stop, api::generate);
        if plan.demo {
            background.run("the demo", queue, stop, api::keep_on);
            for name in demo::WORKERS {
                let work = move |tasks, stop| demo::work(name, tasks, stop);
                background.run(name, queue, stop, work);
            }
        }
        background
    }

    /// Runs this until `stop`, and again after a while if it fails: the store may have been mended.
    fn run<F>(
        &mut self,
        what: &'static str,
        queue: &Queue,
        stop: &CancellationToken,
        work: impl Fn(Arc<dyn TaskStore>, WaitForCancellationFutureOwned) -> F + Send + 'static,
    ) where
        F: Future<Output = Result<(), ProviderError>> + Send + 'static,
    {
        let (tasks, stop) = (Arc::clone(queue.tasks()), stop.clone());
        self.0.spawn(async move {
            while let Err(error) = work(Arc::clone(&tasks), stop.clone().cancelled_owned()).await {
                let why = with_causes("", Some(&error));
                tracing::error!(what, why, again_in = ?PAUSE, "failed; everything else is served");
                if stop.run_until_cancelled(sleep(PAUSE)).await.is_none() {
                    return;
                }
            }
        });
    }

    /// Resolves when all stopped work has ended, and soon in any case.
    pub(super) async fn ended(mut self) {
        let all = async { while self.0.join_next().await.is_some() {} };
        if timeout(PATIENCE, all).await.is_err() {
            tracing::warn!("running tasks are left until their leases end");
        }
    }
}
