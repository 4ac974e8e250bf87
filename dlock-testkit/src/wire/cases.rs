//! Every case of the wire suite: its name, and the rules it covers. The list below is the only one.

mod calls;
mod chance;
mod exchanges;
mod holding;
mod releasing;

use super::Case;
use crate::proxy::{Fault, Moment};

/// Passes the list of all cases to a macro.
#[doc(hidden)]
#[macro_export]
macro_rules! __for_each_wire_case {
    ($callback:ident) => {
        $callback! {
            exchanges call_cut_at_any_moment_is_told_truly_and_its_repeat_answered ["E1", "A2", "R2", "L2", "G1", "I9", "I11"];
            exchanges release_that_let_the_next_holder_in_is_not_denied ["E1", "L3", "V7"];

            calls silent_call_ends_and_its_connection_with_it ["E1", "G1", "I14"];
            calls dropped_call_leaves_its_connection_to_nobody ["G1", "I14"];
            calls request_that_arrives_late_changes_nothing ["A2", "A3", "A7", "R1", "L3", "I7", "I9", "I11"];
            calls refused_connection_is_not_applied ["E1"];
            calls idle_connections_that_ended_are_replaced ["E1", "G1"];

            holding lost_reply_of_a_renewal_costs_nothing ["V4", "V5", "V6", "R2", "I6", "I7", "I17"];
            holding renewal_cut_at_any_moment_loses_no_lease ["V5", "V6", "I7", "I17"];
            holding hung_renewals_delay_no_loss ["V5", "I1", "I2", "I6", "I8", "I10", "I15"];
            holding silent_partition_ends_the_lease_in_time ["I1", "I2", "I6", "I8", "I9", "I10", "I15"];
            holding outage_within_the_ride_through_bound_loses_no_lease ["I17"];

            releasing lost_reply_of_an_acquire_is_found_by_its_repeat ["W5", "A2", "V1", "I6", "I11"];
            releasing lock_works_through_a_cut_at_any_moment ["W5", "A2", "V7", "L2", "I7", "I9", "I10"];
            releasing lost_reply_of_a_release_is_a_release ["V7", "L2", "I9"];
            releasing acquire_without_an_answer_stops_blocking_in_time ["W5", "G2", "G4", "I10", "I14"];
            releasing cancelled_acquire_leaves_nothing ["G1", "G2", "G3", "I10", "I14"];

            chance random_faults_never_give_one_lock_to_two ["I1", "I3", "I4", "I6", "I12"];
            chance waiter_takes_over_through_random_faults ["I10", "I15"];
        }
    };
}

macro_rules! table {
    ($($module:ident $name:ident [$($rule:literal),*];)*) => {
        /// Every case of the wire suite.
        pub static CASES: &[Case] = &[$(Case {
            name: stringify!($name),
            rules: &[$($rule),*],
            run: |wiring| Box::pin($module::$name(wiring)),
        }),*];
    };
}

__for_each_wire_case!(table);

/// Every way in which a connection can break during an exchange.
fn cuts() -> impl Iterator<Item = Fault> {
    let resets = Moment::ALL.map(Fault::Reset);
    resets.into_iter().chain(Moment::ALL.map(Fault::Close))
}
