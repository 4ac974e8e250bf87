//! Late answers: a worker may believe for too long in a claim that was granted a while ago.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use dlock_core::ProviderError;
use dlock_proof::tasks::{Answer, Call, Passage};
use tokio::time::sleep;

/// Delays the answers of some claims by up to this time.
#[derive(Clone, Debug)]
pub(super) struct Late {
    most: Duration,
    random: Arc<Mutex<fastrand::Rng>>,
}

impl Late {
    pub(super) fn new(most: Duration, seed: u64) -> Self {
        let random = Arc::new(Mutex::new(fastrand::Rng::with_seed(seed)));
        Self { most, random }
    }

    /// The delay of the answer to this call.
    fn by(&self, call: &Call) -> Option<Duration> {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        (matches!(call, Call::Claim(_)) && random.u32(..20) == 0)
            .then(|| self.most.mul_f64(random.f64()))
    }
}

#[async_trait]
impl Passage for Late {
    async fn pass<A, F, Fut>(&self, call: Call, ask: F) -> Result<A, ProviderError>
    where
        A: Clone + Into<Answer> + Send + Sync + 'static,
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<A, ProviderError>> + Send + 'static,
    {
        let answer = ask().await;
        if let Some(late) = self.by(&call) {
            sleep(late).await;
        }
        answer
    }
}
