//! Decides which exchange meets which fault.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::{Fault, Mix};

/// A fault and the exchanges it strikes: by default all from now on.
///
/// ```
/// # use std::time::Duration;
/// # use dlock_testkit::proxy::{Fault, Rule};
/// // The third and the fourth exchange from now.
/// let _two = Rule::new(Fault::LoseReply).skip(2).times(2);
/// // All from the third one on, for a second from now.
/// let _while = Rule::new(Fault::LoseReply).skip(2).lasting(Duration::from_secs(1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    fault: Fault,
    skip: usize,
    times: Option<usize>,
    lasting: Option<Duration>,
}

impl Rule {
    /// Strikes every exchange.
    #[must_use]
    pub const fn new(fault: Fault) -> Self {
        Self {
            fault,
            skip: 0,
            times: None,
            lasting: None,
        }
    }

    /// Lets this many exchanges pass first.
    #[must_use]
    pub const fn skip(mut self, exchanges: usize) -> Self {
        self.skip = exchanges;
        self
    }

    /// Strikes this many exchanges and no more.
    #[must_use]
    pub const fn times(mut self, exchanges: usize) -> Self {
        self.times = Some(exchanges);
        self
    }

    /// Strikes no exchange that begins later than this after the rule was given to the proxy.
    #[must_use]
    pub const fn lasting(mut self, time: Duration) -> Self {
        self.lasting = Some(time);
        self
    }
}

/// The rules in force.
#[derive(Debug, Default)]
pub(super) struct Script {
    seed: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    rules: Vec<InForce>,
    always: Option<Fault>,
    mix: Mix,
    spared: usize,
    /// How many exchanges were assigned a fault.
    chosen: usize,
}

#[derive(Debug)]
struct InForce {
    rule: Rule,
    until: Option<Instant>,
}

impl Script {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed,
            state: Mutex::default(),
        }
    }

    pub(super) const fn seed(&self) -> u64 {
        self.seed
    }

    pub(super) fn inject(&self, rule: Rule) {
        let until = rule.lasting.map(|time| Instant::now() + time);
        self.lock().rules.push(InForce { rule, until });
    }

    pub(super) fn always(&self, fault: Fault) {
        self.lock().always = Some(fault);
    }

    pub(super) fn random(&self, mix: Mix) {
        self.lock().mix = mix;
    }

    pub(super) fn spare(&self, exchanges: usize) {
        self.lock().spared = exchanges;
    }

    pub(super) fn chosen(&self) -> usize {
        self.lock().chosen
    }

    pub(super) fn clear(&self) {
        let State {
            rules,
            always,
            mix,
            spared: _,
            chosen: _,
        } = &mut *self.lock();
        rules.clear();
        *always = None;
        *mix = Mix::new();
    }

    /// The fault that strikes this exchange of this connection, which begins now. Rules apply in the order in which
    /// they were given; then the fault for all exchanges, then chance.
    pub(super) fn due(&self, connection: usize, exchange: usize) -> Option<Fault> {
        let State {
            rules,
            always,
            mix,
            spared,
            chosen,
        } = &mut *self.lock();
        if exchange <= *spared {
            return None;
        }
        let now = Instant::now();
        rules.retain(|held| held.rule.times != Some(0) && held.until.is_none_or(|end| now < end));
        let fault = rules
            .iter_mut()
            .find_map(|held| held.rule.offered())
            .or(*always)
            .or_else(|| mix.draw(self.seed, connection, exchange));
        *chosen += usize::from(fault.is_some());
        fault
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics between two related changes.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Rule {
    /// Counts one exchange: skipped, or struck.
    fn offered(&mut self) -> Option<Fault> {
        if self.skip > 0 {
            self.skip -= 1;
            return None;
        }
        match &mut self.times {
            Some(0) => return None,
            Some(left) => *left -= 1,
            None => {}
        }
        Some(self.fault)
    }
}
