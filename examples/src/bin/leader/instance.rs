//! One process of the service: the code of a program that wants only one instance to do some of its work.

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
        // Short only so that changes are visible soon. The defaults are 60 s, 20 s and 30 s.
        .duration(Duration::from_secs(12))
        .renew_every(Duration::from_secs(4))
        .poll_every(Duration::from_millis(1500))
        .build()?;

    // Runs only on the leader, one run at a time, and ends when this instance no longer leads.
    let who = name.to_owned();
    election.every("task", Duration::from_millis(500), move |leadership| {
        let line = format!("{who} runs the task with token {}", leadership.token());
        async move { println!("{line}") }
    });

    // Prints the transitions.
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
        Ok(None) => println!("{name} follows, no instance leads"),
        // A single read, which may be too slow; the election repeats its requests until the store answers.
        Err(error) => println!("{name} follows, the leader is unknown: {error}"),
    }
    election.run(Box::pin(standard_input_ends())).await?;
    // When this returns, the leadership has been released.
    client.close().await;
    // The transitions end with the election.
    drop(election);
    Ok(telling.await?)
}

/// The signal to stop: Ctrl-D, or the end of the process that started this one.
async fn standard_input_ends() {
    let mut input = tokio::io::stdin();
    let mut bytes = [0; 256];
    while matches!(input.read(&mut bytes).await, Ok(1..)) {}
    // The thread that reads standard input cannot be interrupted, but has ended now.
}
