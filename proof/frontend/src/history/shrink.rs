//! The fewest faults that still make a run fail.

/// Drops the faults that a failure does not need: removes ever smaller chunks of `faults`, from halves down to single
/// ones, and keeps each removal after which `fails` still reports a failure. The remaining faults fail, and none of
/// them can be dropped; they need not be the smallest such set.
///
/// `fails` must give the same answer for the same faults, as a seeded simulation does. It is called about once or twice
/// for each fault that stays, plus logarithmically often; never for all of `faults`, which the caller has seen fail.
/// (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002, without its second half: a run's
/// faults need no complements.)
///
/// ```
/// # use dlock_proof::history::shrink;
/// // The failure needs 3 and 7 together.
/// let left = shrink((0..100).collect(), |faults| faults.contains(&3) && faults.contains(&7));
/// assert_eq!(left, [3, 7]);
/// ```
pub fn shrink<F: Clone>(faults: Vec<F>, mut fails: impl FnMut(&[F]) -> bool) -> Vec<F> {
    let mut left = faults;
    let mut chunk = left.len();
    loop {
        let mut dropped = false;
        let mut from = 0;
        while from < left.len() {
            let to = (from + chunk).min(left.len());
            let without: Vec<F> = left[..from].iter().chain(&left[to..]).cloned().collect();
            if fails(&without) {
                left = without;
                dropped = true;
            } else {
                from = to;
            }
        }
        if chunk > 1 {
            chunk = chunk.div_ceil(2);
        } else if !dropped {
            // A fault that could not be dropped before may be droppable now, until none is.
            return left;
        }
    }
}
