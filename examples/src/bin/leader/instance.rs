//! One process of the service: what a program does that wants some of its work done by one instance
//! only.

use std::time::Duration;

use dlock::{
    Client,
    election::{Coordinator, Election, Next, Transition},
};
use dlock_examples::{Failure, Store};
use tokio::io::AsyncReadExt;

/// Runs until standard input ends.
pub(crate) async fn run(store: &Store, name: &str) -> Result<(), Failure> {
    let client = Client::new(store.provider().await?);
    let election = Election::builder()
        .provider(&client)
        .name("leader-example")
        .owner(name)
        // So short only that there is something to see. The defaults are 60 s, 20 s and 30 s.
        .duration(Duration::from_secs(12))
        .renew_every(Duration::from_secs(4))
        .poll_every(Duration::from_millis(1500))
        .build()?;

    // Only on the leader, never beside itself, gone when this instance does not lead any more.
    let who = name.to_owned();
    election.every("task", Duration::from_millis(500), move |leadership| {
        let line = format!("{who} runs the task with token {}", leadership.token());
        async move { println!("{line}") }
    });

    // Prints what happened.
    let (who, mut transitions) = (name.to_owned(), election.transitions());
    let telling = tokio::spawn(async move {
        while let Some(Next::Transition(transition)) = transitions.next().await {
            match transition {
                Transition::Gained { token } => println!("{who} leads with token {token}"),
                Transition::Lost { loss } => println!("{who} does not lead any more: {loss}"),
                Transition::Resigned { .. } => println!("{who} has stepped down"),
                Transition::Ineligible { error } => {
                    println!("{who} can't lead until this is mended: {error}");
                }
                _ => {}
            }
        }
    });

    match election.leader().await {
        Ok(Some(leader)) => println!("{name} follows, {} leads", leader.owner),
        Ok(None) => println!("{name} follows, nobody leads"),
        // One look, and it may be too slow; the election asks until it is answered.
        Err(error) => println!("{name} follows, who leads is not known: {error}"),
    }
    election.run(Box::pin(standard_input_ends())).await?;
    // Everything has been given back when this returns.
    client.close().await;
    // The lines end with the election.
    drop(election);
    Ok(telling.await?)
}

/// The sign to stop: Ctrl-D, or the end of the process that started this one.
async fn standard_input_ends() {
    let mut input = tokio::io::stdin();
    let mut bytes = [0; 256];
    while matches!(input.read(&mut bytes).await, Ok(1..)) {}
    // The thread that reads it can't be interrupted, but has ended now.
}
