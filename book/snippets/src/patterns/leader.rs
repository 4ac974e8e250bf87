//! One instance of a service does the background work.

// ANCHOR: lead
use std::time::Duration;

use dlock::{
    Client,
    election::{Coordinator, Election, Leadership},
};

use crate::Failure;

pub async fn serve(
    client: Client,
    sweep: impl AsyncSweep,
    stop: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Failure> {
    let election = Election::builder()
        .provider(&client)
        .name("background") // the same on every instance
        .build()?;
    // Runs on the leader alone, and has ended before another instance can lead.
    election.every(
        "sweep",
        Duration::from_secs(30),
        move |leadership: Leadership| {
            let sweep = sweep.clone();
            async move { sweep.run(leadership.token()).await }
        },
    );
    // Returns when the leadership has been released.
    election.run(Box::pin(stop)).await?;
    client.close().await;
    Ok(())
}
// ANCHOR_END: lead

/// The work of the leader.
pub trait AsyncSweep: Clone + Send + Sync + 'static {
    /// Runs the work once.
    fn run(&self, token: dlock::FencingToken) -> impl Future<Output = ()> + Send;
}
