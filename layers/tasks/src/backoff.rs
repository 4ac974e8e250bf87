//! How long a task waits after an attempt that failed.

use std::time::Duration;

/// The longest wait.
const MOST: Duration = Duration::from_secs(3600);

/// Two seconds after the first attempt, twice as long after each further one, an hour at most; randomly up to a quarter
/// more or less, so that tasks that failed together do not come back together.
pub(crate) fn backoff(attempt: u32) -> Duration {
    let seconds = 2_u64.saturating_pow(attempt);
    let whole = Duration::from_secs(seconds).min(MOST);
    whole.mul_f64(0.75 + fastrand::f64() / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_an_hour() {
        for (attempt, seconds) in [
            (1, 2),
            (2, 4),
            (5, 32),
            (11, 2048),
            (12, 3600),
            (1000, 3600),
        ] {
            let exact = Duration::from_secs(seconds);
            for _ in 0..100 {
                let drawn = backoff(attempt);
                assert!(
                    drawn >= exact * 3 / 4 && drawn <= exact * 5 / 4,
                    "{drawn:?}"
                );
            }
        }
    }
}
