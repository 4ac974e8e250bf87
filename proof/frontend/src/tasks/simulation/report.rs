//! What runs came to, in numbers.

use std::{iter::Sum, ops::AddAssign, time::Duration};

/// How often things happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
#[non_exhaustive]
pub struct Figures {
    pub runs: u64,
    pub virtual_time: Duration,
    pub calls: u64,
    /// Calls that a fault struck.
    pub struck: u64,
    pub claims_repeated: u64,
    pub grants: u64,
    /// Grants of tasks whose lease had run out.
    pub takeovers: u64,
    pub heartbeats: u64,
    pub attempts: u64,
    /// Handlers that were dropped since their claim was lost.
    pub losses: u64,
    /// Handlers that were dropped after their time.
    pub timeouts: u64,
    pub panics: u64,
    pub given_back: u64,
    pub endings: u64,
    pub endings_repeated: u64,
    /// Endings that came too late.
    pub endings_refused: u64,
    pub checkpoints_found: u64,
    pub crashes: u64,
    pub drops: u64,
    pub stops: u64,
    pub cancelled: u64,
    pub dead: u64,
    pub succeeded: u64,
    pub ticks: u64,
    /// Grants of tasks that have a lane, and those of them whose lease had run out.
    pub in_lanes: u64,
    pub lanes_taken_over: u64,
    /// Tasks that a claim did not get because of others of their lane, or of the limit of the queue.
    pub waits_for_a_lane: u64,
    pub waits_for_a_place: u64,
    /// How often somebody's belief was compared with the store's row.
    pub looks: u64,
}

impl AddAssign for Figures {
    fn add_assign(&mut self, other: Self) {
        // Destructured, so that no figure is left out.
        let Self {
            runs,
            virtual_time,
            calls,
            struck,
            claims_repeated,
            grants,
            takeovers,
            heartbeats,
            attempts,
            losses,
            timeouts,
            panics,
            given_back,
            endings,
            endings_repeated,
            endings_refused,
            checkpoints_found,
            crashes,
            drops,
            stops,
            cancelled,
            dead,
            succeeded,
            ticks,
            in_lanes,
            lanes_taken_over,
            waits_for_a_lane,
            waits_for_a_place,
            looks,
        } = other;
        self.virtual_time += virtual_time;
        for (sum, more) in [
            (&mut self.runs, runs),
            (&mut self.calls, calls),
            (&mut self.struck, struck),
            (&mut self.claims_repeated, claims_repeated),
            (&mut self.grants, grants),
            (&mut self.takeovers, takeovers),
            (&mut self.heartbeats, heartbeats),
            (&mut self.attempts, attempts),
            (&mut self.losses, losses),
            (&mut self.timeouts, timeouts),
            (&mut self.panics, panics),
            (&mut self.given_back, given_back),
            (&mut self.endings, endings),
            (&mut self.endings_repeated, endings_repeated),
            (&mut self.endings_refused, endings_refused),
            (&mut self.checkpoints_found, checkpoints_found),
            (&mut self.crashes, crashes),
            (&mut self.drops, drops),
            (&mut self.stops, stops),
            (&mut self.cancelled, cancelled),
            (&mut self.dead, dead),
            (&mut self.succeeded, succeeded),
            (&mut self.ticks, ticks),
            (&mut self.in_lanes, in_lanes),
            (&mut self.lanes_taken_over, lanes_taken_over),
            (&mut self.waits_for_a_lane, waits_for_a_lane),
            (&mut self.waits_for_a_place, waits_for_a_place),
            (&mut self.looks, looks),
        ] {
            *sum += more;
        }
    }
}

impl Sum for Figures {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        let mut sum = Self::default();
        for one in all {
            sum += one;
        }
        sum
    }
}
