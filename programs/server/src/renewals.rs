//! Renewals that come while others are in flight travel together.
//!
//! A store keeps little room for holders that waiters and readers cannot take: one connection of PostgreSQL's pool. One
//! client's renewals of many leases come in one request, those of many clients do not; so they are gathered here, and
//! the more there are the more travel in one trip.

use std::{
    collections::{HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use dlock_core::{
    Name, ProviderError,
    provider::{Admin, Renew, RenewOutcome},
};
use dlock_http::Code;
use tokio::{sync::oneshot, time::timeout};

use crate::{
    problem::{Refusal, of_store},
    store_calls::{Class, StoreCalls},
};

/// How many trips may be in flight. A renewal that comes when there are this many waits for one to end; a trip that
/// hangs does not keep the others from continuing.
const TRIPS: usize = 4;

/// The most renewals of one trip.
const MOST: usize = 500;

/// Renewals to be sent to the store. Clones are the same.
#[derive(Clone)]
pub(crate) struct Renewals(Arc<Way>);

struct Way {
    provider: Arc<dyn Admin>,
    calls: StoreCalls,
    /// How long a trip may take.
    limit: Duration,
    waiting: Mutex<Waiting>,
}

/// The renewals that wait for a trip.
#[derive(Debug, Default)]
struct Waiting {
    trips: usize,
    renewals: VecDeque<Waiter>,
}

#[derive(Debug)]
struct Waiter {
    renewal: Renew,
    answer: oneshot::Sender<Answer>,
}

type Answer = Result<RenewOutcome, Refusal>;

impl Renewals {
    pub(crate) fn new(provider: Arc<dyn Admin>, calls: StoreCalls, limit: Duration) -> Self {
        Self(Arc::new(Way {
            provider,
            calls,
            limit,
            waiting: Mutex::default(),
        }))
    }

    /// A renewal, answered within the time of a call. One that is still waiting for its trip when its client hangs up,
    /// or when that time has passed, is not sent any more.
    pub(crate) async fn send(&self, renewal: Renew) -> Answer {
        let way = &self.0;
        // Without this, a batch of the store is one trip per renewal.
        if !way.provider.capabilities().batch {
            let provider = Arc::clone(&way.provider);
            let renewed = async move { provider.renew(&renewal).await };
            return way.calls.ask(Class::Hold, way.limit, renewed).await;
        }
        let (answer, answered) = oneshot::channel();
        if self.join(Waiter { renewal, answer }) {
            let renewals = self.clone();
            tokio::spawn(async move { renewals.travel().await });
        }
        match timeout(way.limit, answered).await {
            Ok(Ok(answer)) => answer,
            // All trips hang; or the runtime is shutting down.
            Err(_) | Ok(Err(_)) => Err(Code::Unknown.into()),
        }
    }

    /// Trips, one after the other, until no renewal waits.
    async fn travel(&self) {
        let way = &self.0;
        while let Some(waiters) = self.next(|name| way.provider.shard(name)) {
            let (renewals, answers): (Vec<_>, Vec<_>) = waiters
                .into_iter()
                .map(|Waiter { renewal, answer }| (renewal, answer))
                .unzip();
            let provider = Arc::clone(&way.provider);
            let renewed = async move {
                Ok(match &*renewals {
                    [alone] => vec![provider.renew(alone).await],
                    _ => provider.renew_many(&renewals).await,
                })
            };
            let outcomes = way.calls.ask(Class::Hold, way.limit, renewed).await;
            let outcomes = outcomes.and_then(|outcomes| {
                if outcomes.len() == answers.len() {
                    Ok(outcomes)
                } else {
                    Err(Code::Unknown.into())
                }
            });
            match outcomes {
                Ok(outcomes) => {
                    for (answer, outcome) in answers.into_iter().zip(outcomes) {
                        let outcome =
                            outcome.map_err(|error: ProviderError| of_store(&error).into());
                        // A client that has hung up gets no answer.
                        drop(answer.send(outcome));
                    }
                }
                Err(refusal) => {
                    for answer in answers {
                        drop(answer.send(Err(refusal.clone())));
                    }
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a waiter; returns whether it begins a trip.
    fn join(&self, waiter: Waiter) -> bool {
        let mut waiting = self.lock();
        waiting.renewals.push_back(waiter);
        let begins = waiting.trips < TRIPS;
        waiting.trips += usize::from(begins);
        begins
    }

    /// The renewals that travel next: all of one shard, and one of each name. `None`: no renewal waits, and the trip
    /// has ended.
    fn next(&self, shard: impl Fn(&Name) -> u64) -> Option<Vec<Waiter>> {
        let mut waiting = self.lock();
        let is_wanted = |waiter: &Waiter| !waiter.answer.is_closed();
        waiting.renewals.retain(is_wanted);
        let Some(first) = waiting.renewals.front() else {
            waiting.trips -= 1;
            return None;
        };
        let common = shard(&first.renewal.name);
        let mut names = HashSet::new();
        let (mut travel, mut stay) = (Vec::new(), VecDeque::new());
        while let Some(waiter) = waiting.renewals.pop_front() {
            let name = &waiter.renewal.name;
            if travel.len() < MOST && shard(name) == common && names.insert(name.clone()) {
                travel.push(waiter);
            } else {
                stay.push_back(waiter);
            }
        }
        waiting.renewals = stay;
        Some(travel)
    }
}

#[cfg(test)]
mod tests {
    use dlock_testkit::memory::{MemoryProvider, MemoryStore};
    use uuid::Uuid;

    use super::*;

    /// Renewals that wait, and the receivers of their answers.
    fn waiting(names: &[&str]) -> (Renewals, Vec<oneshot::Receiver<Answer>>) {
        let provider = MemoryProvider::new(&MemoryStore::store_clock());
        let renewals = Renewals::new(Arc::new(provider), StoreCalls::new(1), Duration::MAX);
        let mut clients = Vec::new();
        let mut waiting = renewals.lock();
        waiting.trips = 1;
        for (name, n) in names.iter().zip(1..) {
            let renewal = Renew::new(Name::new(name).unwrap(), Uuid::nil(), n);
            let (answer, answered) = oneshot::channel();
            waiting.renewals.push_back(Waiter { renewal, answer });
            clients.push(answered);
        }
        drop(waiting);
        (renewals, clients)
    }

    fn trips(renewals: &Renewals, shard: impl Fn(&Name) -> u64) -> Vec<Vec<u64>> {
        let next = || renewals.next(&shard);
        let of = |waiters: Vec<Waiter>| waiters.iter().map(|waiter| waiter.renewal.n).collect();
        std::iter::from_fn(next).map(of).collect()
    }

    #[test]
    fn those_of_one_shard_travel_together_and_each_name_once() {
        let (one, _clients) = waiting(&["a", "b", "a", "c", "a"]);
        let expected: [&[u64]; 3] = [&[1, 2, 4], &[3], &[5]];
        assert_eq!(trips(&one, |_| 0), expected);
        assert_eq!(one.lock().trips, 0);

        let (of_two, _clients) = waiting(&["a", "b", "aa", "bb", "c"]);
        let shard = |name: &Name| u64::from(name.as_str().starts_with('b'));
        let expected: [&[u64]; 2] = [&[1, 3, 5], &[2, 4]];
        assert_eq!(trips(&of_two, shard), expected);
    }

    #[test]
    fn renewal_whose_client_has_hung_up_is_not_sent() {
        let (renewals, mut clients) = waiting(&["a", "b", "c"]);
        drop(clients.remove(1));
        assert_eq!(trips(&renewals, |_| 0), [[1, 3]]);
        let (renewals, _) = waiting(&["a"]);
        assert!(trips(&renewals, |_| 0).is_empty());
        assert_eq!(renewals.lock().trips, 0);
    }

    #[test]
    fn trip_has_its_limit() {
        let names: Vec<_> = (0..=MOST).map(|number| number.to_string()).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        let (renewals, _clients) = waiting(&names);
        let lengths = trips(&renewals, |_| 0);
        let lengths: Vec<_> = lengths.iter().map(Vec::len).collect();
        assert_eq!(lengths, [MOST, 1]);
    }
}
