//! Percentiles and medians.

use std::time::Duration;

/// The smallest value that at least this part of the values does not exceed (nearest rank); NaN
/// if there are none.
pub(crate) fn percentile(values: &mut [f64], part: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let rank = (values.len() as f64 * part).ceil() as usize;
    values
        .get(rank.saturating_sub(1))
        .copied()
        .unwrap_or(f64::NAN)
}

/// The middle value, or the mean of the two in the middle; NaN if there are none.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let half = values.len() / 2;
    match values {
        [] => f64::NAN,
        _ if values.len() % 2 == 1 => values[half],
        _ => f64::midpoint(values[half - 1], values[half]),
    }
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

pub(crate) fn micros(span: Duration) -> f64 {
    span.as_secs_f64() * 1e6
}

pub(crate) fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_one_of_the_values() {
        let mut values: Vec<f64> = (1..=100).map(f64::from).rev().collect();
        assert_eq!(percentile(&mut values, 0.5), 50.0);
        assert_eq!(percentile(&mut values, 0.99), 99.0);
        assert_eq!(percentile(&mut values, 1.0), 100.0);
        assert_eq!(percentile(&mut [7.0], 0.99), 7.0);
        assert!(percentile(&mut [], 0.5).is_nan());
    }

    #[test]
    fn a_median_is_in_the_middle() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&mut [f64::INFINITY, 1.0, 2.0]), 2.0);
        assert!(median(&mut []).is_nan());
    }
}
