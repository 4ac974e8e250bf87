//! When a caller's next call should come, and whether it did (W2, W3, W5).

use std::time::Duration;

use dlock_core::Record;

use super::{
    super::plan::Settings,
    SLACK, State,
    model::{CallerId, Pause, Status, Turn},
};

/// The most that a woken try leaves to others who may have waited longer (F1, F2).
const LEFT_TO_OTHERS: Duration = Duration::from_millis(5);

/// The most tries in a row of which each is expected to go at once.
pub(super) const JUDGED_AT_ONCE: usize = 4;

impl State {
    /// W2, W5: neither too early nor too late.
    pub(super) fn check_pause(&mut self, id: CallerId, pause: &Pause, repeated: bool) {
        let caller = &self.callers[id];
        let gap = self.clients[caller.client]
            .machine
            .contender()
            .saturating_sub(pause.since.contender);
        // W5: a wake-up counts after the pause, since it may be that of what the failed try has left.
        let woken = pause.woken && pause.rule != "W5";
        let woken = (woken || self.was_offered(id)) && !repeated;
        if gap + Duration::from_micros(1) < pause.earliest && !woken {
            let earliest = pause.earliest;
            self.complain(pause.rule, || {
                format!("{id} asks again after {gap:?}, before {earliest:?} have passed")
            });
        }
        self.check_overdue(id);
    }

    /// H3: a lease may have been offered to it since it began to ask, which rings, and have been taken back before it
    /// asked again.
    pub(super) fn was_offered(&self, id: CallerId) -> bool {
        let caller = &self.callers[id];
        let known = self.clients[caller.client].names.get(&caller.name);
        let offered = known.and_then(|known| known.offered);
        offered.is_some_and(|offered| offered >= caller.may_have_asked)
    }

    /// The next call should have come by now.
    pub(super) fn check_overdue(&mut self, id: CallerId) {
        let caller = &self.callers[id];
        let Some(pause) = caller.pause else { return };
        if caller.status != Status::Waiting
            || caller.away.is_some()
            || self.clients[caller.client].closing.is_some()
            || self.may_be_held(id)
        {
            return;
        }
        let machine = &self.clients[caller.client].machine;
        let gap = machine.contender().saturating_sub(pause.since.contender);
        let passed = caller.limit.is_some_and(|limit| {
            machine.contender().saturating_sub(caller.began.contender) + SLACK >= limit
        });
        if gap > pause.latest + SLACK
            && !passed
            && self.undisturbed_since(caller.client, pause.since.at)
        {
            let latest = pause.latest;
            self.callers[id].pause = None;
            self.complain(pause.rule, || {
                format!("{id} should have asked again within {latest:?}, and {gap:?} have passed")
            });
        }
    }

    /// The next try comes without a pause.
    pub(super) fn next_at_once(&mut self, id: CallerId, rule: &'static str) {
        let since = self.stamp(self.callers[id].client);
        let up = self.time_is_up(&self.callers[id]);
        let caller = &mut self.callers[id];
        caller.pause = (caller.chain < JUDGED_AT_ONCE && !up).then_some(Pause {
            since,
            earliest: Duration::ZERO,
            latest: Duration::ZERO,
            rule,
            wakes: false,
            woken: false,
            excused: false,
        });
    }

    /// W2: the first of the expiry, the end of the observation and the poll.
    pub(super) fn next_when_due(&mut self, id: CallerId, record: &Record) {
        let caller = &self.callers[id];
        let (client, name) = (caller.client, caller.name.clone());
        let poll = caller.settings.poll(self.clients[client].watching);
        let unwatched = caller.settings.poll(false);
        let jitter = caller.settings.expiry_jitter();
        let since = self.stamp(client);
        let observed = self.known(client, &name).observation.as_ref().map(|seen| {
            let unchanged = since.contender.saturating_sub(seen.first);
            seen.duration.saturating_sub(unchanged)
        });
        let known = self.known(client, &name);
        let (left, least_poll) = (
            known.left_to_others(LEFT_TO_OTHERS),
            known.least_poll(poll, unwatched),
        );
        let remaining = record.remaining.map(|left| left.min(record.duration));
        let ends = [remaining, observed].into_iter().flatten();
        let least = least_poll.min(Duration::from_millis(10));
        let earliest = ends.clone().fold(least_poll, Duration::min).max(least);
        let latest = ends
            .map(|left| left + jitter)
            .fold(poll * 6 / 5, Duration::min)
            .max(least);
        let (woken, rung) = self.rung(id);
        let offered = self.was_offered(id);
        self.callers[id].pause = Some(Pause {
            since,
            earliest,
            latest: match (rung, woken || offered) {
                (true, _) => left,
                (false, true) => latest + left,
                (false, false) => latest,
            },
            rule: if rung { "W3" } else { "W2" },
            wakes: true,
            woken,
            excused: false,
        });
    }

    /// The lock may be free: the contender asks, after the slots that it yields to others.
    pub(super) fn wake(&mut self, client: usize, name: Option<&str>, rule: &'static str) {
        let now = self.stamp(client);
        let mut heads: Vec<(CallerId, Duration)> = Vec::new();
        for (known_name, known) in &mut self.clients[client].names {
            if name.is_none_or(|name| name == known_name) {
                known.rung = Some(now.at);
                let left = known.left_to_others(LEFT_TO_OTHERS);
                heads.extend(known.head.map(|head| (head, left)));
            }
        }
        for (id, left) in heads {
            let caller = &mut self.callers[id];
            if caller.turn != Turn::Has || caller.once {
                continue;
            }
            match &mut caller.pause {
                Some(pause) if pause.rule == "W5" || !pause.wakes => {
                    if !pause.woken && pause.wakes {
                        pause.latest += left;
                    }
                    pause.woken = true;
                }
                Some(pause) => {
                    if !pause.woken {
                        pause.latest = now
                            .contender
                            .saturating_sub(pause.since.contender)
                            .min(pause.latest)
                            + left;
                        pause.rule = rule;
                    }
                    pause.woken = true;
                }
                None => {}
            }
        }
    }

    /// S1: the contender may have found a term of its client that did not go on. It leaves that to the release, whose
    /// answer wakes it.
    pub(super) fn release_is_awaited(&mut self, client: usize, name: &str) {
        let now = self.stamp(client).contender;
        let known = self.known(client, name);
        let (head, left) = (known.head, known.left_to_others(LEFT_TO_OTHERS));
        let Some(id) = head else { return };
        let span = awaits_a_release(&self.callers[id].settings) + left;
        self.known(client, name).released_by = now + span;
        if let Some(pause) = &mut self.callers[id].pause
            && pause.wakes
        {
            let since = now.saturating_sub(pause.since.contender);
            // The pause of a failure comes first.
            let since = if pause.rule == "W5" {
                since.max(pause.latest)
            } else {
                since
            };
            pause.latest = pause.latest.max(since + span);
        }
    }

    /// How much longer a pause takes from now on because a contender may find a term that did not go on.
    pub(super) fn may_await_a_release(&mut self, id: CallerId) -> Duration {
        let caller = &self.callers[id];
        let (client, name) = (caller.client, caller.name.clone());
        let span = awaits_a_release(&caller.settings);
        let now = self.stamp(client).contender;
        let under_way = self.known(client, &name).released_by > now;
        if under_way { span } else { Duration::ZERO }
    }

    /// What a caller leaves to others before its next try, if it is woken.
    pub(super) fn left_by(&self, id: CallerId) -> Duration {
        let caller = &self.callers[id];
        let known = self.clients[caller.client].names.get(&caller.name);
        known.map_or(LEFT_TO_OTHERS, |known| known.left_to_others(LEFT_TO_OTHERS))
    }

    /// Whether a caller may have been woken since it began to ask, and whether it must have been.
    pub(super) fn rung(&mut self, id: CallerId) -> (bool, bool) {
        let caller = &self.callers[id];
        let (client, name, asked) = (caller.client, caller.name.clone(), caller.asked);
        let may_have_asked = caller.may_have_asked;
        let rung = self.known(client, &name).rung;
        (
            rung.is_some_and(|rung| rung >= may_have_asked),
            rung.is_some_and(|rung| rung > asked),
        )
    }
}

/// The longest that a contender waits for the release of a term that did not go on (S1).
fn awaits_a_release(settings: &Settings) -> Duration {
    (settings.duration / 6).min(settings.poll(false))
}
