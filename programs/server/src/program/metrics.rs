//! The metrics of this process, as Prometheus reads them.

use std::time::Duration;

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tokio::time::interval;

use super::failure::{Exit, Failure};

/// Up to the longest wait.
const SECONDS: [f64; 12] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0,
];

/// How often recorded values are sorted into buckets: until then each value takes its own place in
/// memory.
const UPKEEP: Duration = Duration::from_secs(5);

/// Keeps what this process reports to the `metrics` facade from now on.
pub(super) fn keep() -> Result<PrometheusHandle, Failure> {
    let kept = PrometheusBuilder::new()
        .set_buckets(&SECONDS)
        .and_then(PrometheusBuilder::install_recorder)
        .map_err(|error| Failure::new(Exit::System, "can't keep metrics").because(&error))?;
    crate::describe_metrics();
    let upkeep = kept.clone();
    tokio::spawn(async move {
        let mut times = interval(UPKEEP);
        loop {
            times.tick().await;
            upkeep.run_upkeep();
        }
    });
    Ok(kept)
}
