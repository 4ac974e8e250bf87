//! The results of runs, in numbers.

use std::time::Duration;

use crate::figures::figures;

figures! {
    /// How often each event happened.
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
        /// Grants of tasks whose lease had ended.
        pub takeovers: u64,
        pub heartbeats: u64,
        pub attempts: u64,
        /// Handlers that were dropped because their claim was lost.
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
        /// Grants of tasks that have a lane, and those of them whose lease had ended.
        pub in_lanes: u64,
        pub lanes_taken_over: u64,
        /// Tasks that a claim did not get because of others of their lane, or of the limit of the queue.
        pub waits_for_a_lane: u64,
        pub waits_for_a_place: u64,
        /// How often a belief was compared with the store's row.
        pub looks: u64,
    }
}
