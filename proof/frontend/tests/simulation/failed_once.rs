//! Seeds that failed once. A change to how plans are drawn gives them another meaning: what was found keeps a case
//! of its own as well.

use dlock_proof::simulation::Plan;

use super::{DISCIPLINES, report};

/// Each with what it showed.
const FAILED_ONCE: &[(u64, &str)] = &[
    (
        75,
        "a machine that had slept counted its sleep as the absence of the first in line (W5)",
    ),
    (
        84,
        "an acquire gave up, though the store had refused it through an orphan of its own (W5)",
    ),
    (
        3,
        "a waiter that had only looked for long gave up at its first failure (W5)",
    ),
    (
        735,
        "a ticket waited for others as long as its client left the lock to a reservation (H9)",
    ),
    (
        991,
        "a row of hand-overs was forgotten when an older offer of its client failed (H5)",
    ),
    (
        1067,
        "a renewal after a failed one by hand, first and in a hurry, waited for a turn (V6)",
    ),
    (
        2528,
        "a scheduler that a suspend had made late was not woken for a new lease (I17)",
    ),
    (
        767,
        "hand-overs over a slow network passed for time in which the name was free (W8)",
    ),
    (
        2381,
        "a client left to others the lock that it had got while it read a reservation (W8)",
    ),
    (
        9206,
        "a client left to others what a ticket that nobody redeemed had left to nobody (I15, W8)",
    ),
    (
        4883,
        "a look whose caller had gone was followed by a try beside the next in line's (W1)",
    ),
    (
        6645,
        "a caller that went as its turn came in an outage tried once more (G1)",
    ),
    (
        4435,
        "a caller that had no turn in an outage was told of what was fatal to another call (W5)",
    ),
    (
        3767,
        "a wake-up was forgotten by a waiter that had no turn in an outage (W3)",
    ),
    (
        8292,
        "a wake-up was forgotten by a waiter that had no turn in an outage (W3)",
    ),
    (
        3151,
        "a release that came late forgot that its own client had claimed its term (H4, V7)",
    ),
    (
        9727,
        "a waiter took the time of its own slow calls for a holder's, and made no reservation (F7)",
    ),
    (
        6881,
        "a grant that came too late left in place what its client had observed before it (O2, A6)",
    ),
    (
        3750,
        "a scheduler slept on in a long lease's steps, though a shorter lease had come after a suspend (V2, I17)",
    ),
    // What follows was no fault of the frontend's.
    (
        4810,
        "the monitor knew one try that claimed a term, and took a second one for the only one (V7)",
    ),
    (
        5913,
        "the checker judged a release by what a try of its client heard only later (I9)",
    ),
    (
        1358,
        "the monitor missed a lease that was over a moment before its release was sent (G4)",
    ),
    (
        3318,
        "the monitor missed a lease that was over a moment before its release was sent (G4)",
    ),
    (
        1613,
        "the monitor missed a try that was over, and that no release followed (G4)",
    ),
    (
        7450,
        "the monitor missed a try that was over, and that no release followed (G4)",
    ),
    (
        5638,
        "the monitor took a try for over that its task still repeated for nobody (G1, G4)",
    ),
    (
        2547,
        "a waiter whose caller did not poll was expected to take over (I15)",
    ),
    (
        9818,
        "a waiter whose caller did not poll was expected to take over (I10)",
    ),
    (
        6380,
        "work that was not polled while its machine stood still was expected to be told (I8)",
    ),
    (
        5070,
        "`with`, which was not polled, was said to keep its result back (V7)",
    ),
    (
        6622,
        "a try that was granted anew after a rollback was held to its lost token (I3)",
    ),
    (
        813,
        "a term with too small a token was not allowed to release its own record (I9)",
    ),
    (
        3551,
        "a waiter whose reservation was refused for good was expected to be let in (W8)",
    ),
    (
        6141,
        "a look for a reservation by a caller that had gone excused the next in line (W2)",
    ),
    (
        7729,
        "a try that began as its caller went and its grant came back was one too many (G1, W6)",
    ),
    (
        465,
        "a deadline was judged by the axis although its machine's clock had stood still (I7)",
    ),
    (
        5172,
        "a term lingered past its time, whose keeper slept for an offer before (S7)",
    ),
    (
        7364,
        "a caller whose grant had come back stood in line again, with another lock's settings (S3, W6)",
    ),
    (
        3738,
        "a caller to whom a term had gone on was taken for one in line: no try of its said so (H1, S1)",
    ),
    (
        674,
        "the monitor missed a grant that its client offers since nobody came for it, and that is in the way of a later one (H1)",
    ),
    (
        9323,
        "the monitor missed a grant that had run out before its caller came for it (V9, W1)",
    ),
    (
        2124,
        "the monitor missed a term that lingered after its caller had gone (S7, W1)",
    ),
    (
        3522,
        "a last look was taken for that of a caller whose grant had come back (W1)",
    ),
    (
        2751,
        "a look was taken for that of the next in line, who began to ask after it (W2)",
    ),
    (
        1223,
        "a redeemer's look was taken for that of a caller whose grant had come back (W2)",
    ),
    (
        3735,
        "an offer that was taken back woke a waiter whose try had no answer yet (W5)",
    ),
    (
        4718,
        "the monitor missed a try that was over as its caller had gone, and another caller saw it (G4)",
    ),
    (
        9010,
        "the monitor took the claim that follows an answer for a question of its own (W2)",
    ),
    (
        4106,
        "a look that a machine slept through was no question (W5)",
    ),
    (
        1172,
        "a claim of a term that had come back from the store was taken for a hand-over (H5, H6)",
    ),
    (
        8778,
        "the last try that V9 called for was taken for a new one after its client had closed (G3)",
    ),
    (
        1320,
        "a try that was given up for want of a turn was expected to be remembered for too long (G4)",
    ),
    (
        4358,
        "a look was put down to a caller whose successor had a lease by S1 (G1)",
    ),
    (
        2890,
        "two holders with one token, after a rollback behind the store's clock, were held to I5",
    ),
];

#[test]
fn seeds_that_failed_once_hold() {
    for (seed, found) in FAILED_ONCE {
        for discipline in DISCIPLINES {
            let plan = Plan::from_seed(*seed, discipline);
            let run = plan.run();
            assert!(run.violations.is_empty(), "{found}: {}", report(&plan));
        }
    }
}
