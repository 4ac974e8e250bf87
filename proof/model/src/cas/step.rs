//! States, and one step of a client, of a write in flight, or of the store.

use super::{
    CLIENTS, Cas, Property, Trap,
    rules::{Decision, Record, Request, Verdict},
};

/// The whole state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the comments of the types say it")]
#[expect(clippy::exhaustive_structs, reason = "read in traces")]
pub struct State {
    pub record: Option<Record>,
    /// The record before the last write, for a stale read.
    pub before: Option<Record>,
    pub highest: u8,
    pub clients: [Client; CLIENTS],
    /// Writes that outlive their call, in order.
    pub late: Vec<Late>,
    pub copies: u8,
    pub violated: u8,
}

/// A client of the provider, and the memory of its process's provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "read in traces")]
#[expect(clippy::exhaustive_structs, reason = "read in traces")]
pub struct Client {
    pub calls: u8,
    /// The uuid that it drew last; 0: none yet.
    pub uuid: u8,
    pub renewals: u8,
    pub cache: Option<Record>,
    pub call: Option<Call>,
}

/// A call in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_structs, reason = "read in traces")]
pub struct Call {
    /// The request.
    pub request: Request,
    /// The write that was sent: the record that it expects, and the one that it puts. Without one the call reads next.
    pub put: Option<(Option<Record>, Record)>,
    /// How many writes were refused.
    pub refused: u8,
    /// One of its writes was applied.
    pub applied: bool,
    /// The verdicts that were true since it began.
    pub truths: u8,
}

/// A write that outlives its call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_structs, reason = "read in traces")]
pub struct Late {
    /// Its request.
    pub request: Request,
    /// The record that it expects.
    pub expected: Option<Record>,
    /// The record that it puts.
    pub new: Record,
}

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "read in traces")]
pub enum Action {
    /// A client starts a call.
    Start(usize, Request),
    /// A read of its call is answered.
    Look(usize),
    /// The same, with the record before the last write: only in a trap.
    StaleLook(usize),
    /// A read of its call fails.
    LookFails(usize),
    /// The write of its call arrives, and so does its answer. With `again` a copy arrives later.
    Put {
        /// Which client.
        client: usize,
        /// The network keeps a copy.
        again: bool,
    },
    /// The write arrives, and its answer is lost: the client's library silently repeats it.
    Repeated(usize),
    /// The client gives the call up; a write that it sent may still arrive.
    GiveUp(usize),
    /// A write that outlived its call arrives.
    Late(usize),
}

impl State {
    pub(crate) fn new(config: &Cas) -> Self {
        let client = Client {
            calls: config.calls,
            ..Client::default()
        };
        Self {
            record: None,
            before: None,
            highest: 0,
            clients: [client; CLIENTS],
            late: Vec::new(),
            copies: config.copies,
            violated: 0,
        }
    }

    pub(crate) fn choices(&self, config: &Cas, actions: &mut Vec<Action>) {
        for (index, client) in self.clients.iter().enumerate() {
            match client.call {
                None if client.calls > 0 => {
                    let requests = client.requests(index);
                    actions.extend(requests.map(|request| Action::Start(index, request)));
                }
                None => {}
                Some(Call { put: None, .. }) => {
                    actions.push(Action::Look(index));
                    actions.push(Action::LookFails(index));
                    if config.is(Trap::StaleLook) {
                        actions.push(Action::StaleLook(index));
                    }
                }
                Some(Call { put: Some(_), .. }) => {
                    let client = index;
                    let again = false;
                    actions.push(Action::Put { client, again });
                    actions.push(Action::GiveUp(index));
                    if self.copies > 0 {
                        let again = true;
                        actions.push(Action::Put { client, again });
                        actions.push(Action::Repeated(index));
                    }
                }
            }
        }
        actions.extend((0..self.late.len()).map(Action::Late));
    }

    pub(crate) fn after(&self, config: &Cas, action: Action) -> Self {
        let mut next = self.clone();
        next.act(config, action);
        next.late.sort_unstable();
        next
    }

    fn act(&mut self, config: &Cas, action: Action) {
        match action {
            Action::Start(client, request) => self.start(config, client, request),
            Action::Look(client) => self.decide(config, client, self.record),
            Action::StaleLook(client) => self.decide(config, client, self.before),
            Action::LookFails(client) => {
                if let Some(call) = self.clients[client].call.take() {
                    let unknown = call.refused > 0 && !config.is(Trap::FailedLookDenies);
                    self.check(unknown || !call.applied, Property::NothingDenied);
                }
            }
            Action::Put { client, again } => self.put(config, client, again),
            Action::Repeated(client) => {
                self.copies -= 1;
                if let Some(call) = self.clients[client].call
                    && let Some((expected, new)) = call.put
                {
                    self.arrives(config, call.request, expected, new, Some(client));
                }
            }
            Action::GiveUp(client) => {
                if let Some(call) = self.clients[client].call.take()
                    && let Some((expected, new)) = call.put
                {
                    let request = call.request;
                    self.late.push(Late {
                        request,
                        expected,
                        new,
                    });
                }
            }
            Action::Late(index) => {
                let Late {
                    request,
                    expected,
                    new,
                } = self.late.remove(index);
                self.arrives(config, request, expected, new, None);
            }
        }
    }

    fn start(&mut self, config: &Cas, index: usize, request: Request) {
        let client = &mut self.clients[index];
        client.calls -= 1;
        match request {
            Request::Acquire { new, .. } if new != client.uuid => {
                client.uuid = new;
                client.renewals = 0;
            }
            Request::Renew { n, .. } => client.renewals = n,
            _ => {}
        }
        let cached = client.cache.take();
        client.call = Some(Call {
            request,
            put: None,
            refused: 0,
            applied: false,
            truths: truth(request, self.record),
        });
        let Some(seen) = cached else { return };
        match request.meets(Some(seen)) {
            Decision::Write(_) => self.decide(config, index, Some(seen)),
            Decision::Answer(verdict) => {
                if config.is(Trap::VerdictFromCache) {
                    self.answer(index, verdict);
                }
            }
        }
    }

    /// The next state of a call that has read this record.
    fn decide(&mut self, config: &Cas, client: usize, found: Option<Record>) {
        let Some(call) = &mut self.clients[client].call else {
            return;
        };
        match call.request.meets(found) {
            Decision::Write(new) => call.put = Some((found, new)),
            Decision::Answer(Verdict::NotHeld)
                if call.refused > 0 && !config.is(Trap::NotHeldAfterRefusal) =>
            {
                // Unknown.
                self.clients[client].call = None;
            }
            Decision::Answer(verdict) => {
                self.clients[client].cache = found;
                self.answer(client, verdict);
            }
        }
    }

    fn answer(&mut self, client: usize, verdict: Verdict) {
        if let Some(call) = self.clients[client].call.take() {
            self.check(call.truths & verdict.bit() != 0, Property::VerdictsFit);
            let denies = verdict == Verdict::NotHeld && call.applied;
            self.check(!denies, Property::NoFalseNotHeld);
        }
    }

    fn put(&mut self, config: &Cas, client: usize, again: bool) {
        let Some(call) = self.clients[client].call else {
            return;
        };
        let Some((expected, new)) = call.put else {
            return;
        };
        let request = call.request;
        if again {
            self.copies -= 1;
            self.late.push(Late {
                request,
                expected,
                new,
            });
        }
        let done = self.arrives(config, request, expected, new, Some(client));
        let known = &mut self.clients[client];
        if done {
            known.cache = Some(new);
            known.call = None;
        } else if let Some(call) = &mut known.call {
            call.put = None;
            call.refused += 1;
            let renews = matches!(call.request, Request::Renew { .. });
            if renews && config.is(Trap::RefusedRenewalIsLost) {
                self.answer(client, Verdict::Lost);
            } else if call.refused == config.rounds {
                // Unknown.
                known.call = None;
            }
        }
    }

    /// The store compares and writes; returns whether it wrote.
    fn arrives(
        &mut self,
        config: &Cas,
        request: Request,
        expected: Option<Record>,
        new: Record,
        client: Option<usize>,
    ) -> bool {
        let version = |record: Option<Record>| {
            record.map(|record| Record {
                renewals: if config.is(Trap::ContentsRepeat) {
                    0
                } else {
                    record.renewals
                },
                ..record
            })
        };
        let same = version(self.record) == version(expected);
        if !same && !config.is(Trap::PutWithoutCondition) {
            return false;
        }
        let fits = request.meets(self.record) == Decision::Write(new);
        self.check(fits, Property::EffectsFit);
        // Not for a mark, which grants nothing.
        if matches!(request, Request::Acquire { new: uuid, .. } if uuid == new.uuid) {
            self.check(new.token > self.highest, Property::TokensGrow);
        }
        self.highest = self.highest.max(new.token);
        self.before = if config.is(Trap::StaleLook) {
            self.record
        } else {
            None
        };
        self.record = Some(new);
        if let Some(call) = client.and_then(|client| self.clients[client].call.as_mut()) {
            call.applied = true;
        }
        for client in &mut self.clients {
            if let Some(call) = &mut client.call {
                call.truths |= truth(call.request, self.record);
            }
        }
        true
    }

    fn check(&mut self, holds: bool, property: Property) {
        if !holds {
            self.violated |= property.bit();
        }
    }
}

impl Client {
    /// The requests that it may make next: every one that a client may ever make, first tries and repeats.
    fn requests(&self, index: usize) -> impl Iterator<Item = Request> + use<> {
        let uuid = self.uuid;
        let drawn = u8::try_from(index).unwrap_or(0) * 16 + self.calls;
        let seen = self.cache.map(|record| (record.uuid, record.renewals));
        let fresh = [None, seen]
            .into_iter()
            .map(move |prev| Request::Acquire { new: drawn, prev });
        let fresh = fresh.take(1 + usize::from(seen.is_some()));
        let renewals = self.renewals;
        let own = [
            Request::Acquire {
                new: uuid,
                prev: None,
            },
            Request::Renew {
                uuid,
                n: renewals + 1,
            },
            Request::Renew { uuid, n: renewals },
            Request::Release { uuid },
        ];
        fresh.chain(own.into_iter().filter(move |_| uuid != 0))
    }
}

/// The verdict for this record, as a set.
fn truth(request: Request, record: Option<Record>) -> u8 {
    match request.meets(record) {
        Decision::Write(_) => 0,
        Decision::Answer(verdict) => verdict.bit(),
    }
}
