//! A batch of renewals in flight: one round trip, and an answer for each.

use dlock_core::{
    ProviderError,
    provider::{Renew, RenewOutcome},
};
use dlock_testkit::{
    faults::{Op, Request},
    memory::MemoryProvider,
};
use tokio::{sync::oneshot, time::sleep};

use super::{Open, Wire};
use crate::simulation::plan::Effect;

type Answers = Vec<Result<RenewOutcome, ProviderError>>;

impl Wire {
    /// Sends a batch. A fault of an item strikes it alone if it concerns only the answer, otherwise the whole trip.
    pub(super) async fn batch(&self, requests: &[Renew]) -> Answers {
        let Self(inner) = self;
        inner.monitor.company(inner.client, requests);
        let mut open: Vec<Open> = requests
            .iter()
            .map(|request| {
                let request = Request::Renew(request.clone());
                Open {
                    monitor: inner.monitor.clone(),
                    id: Some(inner.monitor.called(inner.client, &request)),
                }
            })
            .collect();
        let trip = self.count(Op::RenewMany);
        let numbers = requests.iter().map(|_| self.count(Op::Renew)).collect();
        let (reply, answered) = oneshot::channel();
        crate::spawn(self.clone().carry(trip, numbers, requests.to_vec(), reply));
        match answered.await {
            Ok(answers) => {
                for (open, answer) in open.iter_mut().zip(&answers) {
                    open.answered(answer);
                }
                answers
            }
            Err(_lost) => std::future::pending().await,
        }
    }

    async fn carry(
        self,
        trip: u64,
        numbers: Vec<u64>,
        requests: Vec<Renew>,
        reply: oneshot::Sender<Answers>,
    ) {
        let Self(inner) = &self;
        let struck: Vec<Option<Effect>> = numbers
            .into_iter()
            .zip(&requests)
            .map(|(nth, request)| self.single_effect(Op::Renew, nth, request.name.as_str()))
            .collect();
        let whole = self.effect(Op::RenewMany, trip, "").or_else(|| {
            let mut struck = struck.iter().flatten();
            struck.find(|effect| !is_an_items(effect)).copied()
        });
        if let Some(Effect::SleepSent(lasting)) = whole {
            self.sleeps(lasting);
        }
        sleep(self.latency(Op::RenewMany, 2 * trip)).await;
        match whole {
            Some(Effect::LoseRequest) => return,
            Some(Effect::DelayRequest(by)) => sleep(by).await,
            _ => {}
        }
        let mut answers = Vec::with_capacity(requests.len());
        for (request, effect) in requests.into_iter().zip(struck) {
            let effect = whole.or(effect).filter(is_an_items);
            answers.push(self.item(request, effect).await);
        }
        match whole {
            Some(Effect::LoseReply) => return,
            Some(Effect::DelayReply(by)) => sleep(by).await,
            _ => {}
        }
        sleep(self.latency(Op::RenewMany, 2 * trip + 1)).await;
        inner.machine.running().await;
        drop(reply.send(answers));
        if let Some(Effect::SleepAnswered(lasting)) = whole {
            self.sleeps(lasting);
        }
    }

    /// The store gets one renewal of a batch.
    async fn item(
        &self,
        request: Renew,
        effect: Option<Effect>,
    ) -> Result<RenewOutcome, ProviderError> {
        if let Some(Effect::Refuse(kind)) = effect {
            return Err(ProviderError::new(kind, "a fault refused the renewal"));
        }
        let sent = Request::Renew(request.clone());
        let ask = move |store: MemoryProvider| {
            let request = request.clone();
            async move { dlock_core::Provider::renew(&store, &request).await }
        };
        let answer = self.apply(&sent, &ask).await;
        match effect {
            Some(Effect::Doubt(kind)) => Err(ProviderError::new(kind, "a fault lost the reply")),
            Some(Effect::Duplicate(after)) => {
                let again = self.clone();
                crate::spawn(async move {
                    sleep(after).await;
                    drop(again.apply(&sent, &ask).await);
                });
                answer
            }
            _ => answer,
        }
    }
}

/// Whether an effect can strike one renewal of a batch alone.
fn is_an_items(effect: &Effect) -> bool {
    matches!(
        effect,
        Effect::Refuse(_) | Effect::Doubt(_) | Effect::Duplicate(_)
    )
}
