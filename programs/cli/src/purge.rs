//! `dlock purge`: deletes records that have not been needed for a week.

use std::{process::ExitCode, time::Duration};

use crate::{arguments::PurgeArguments, exit::Failure, output, query};

/// How many records one call deletes, so that no call takes long.
const BATCH: usize = 1000;

/// How long one call may take: a store without an index of old records reads all of its records for them.
const LIMIT: Duration = Duration::from_secs(30 * 60);

/// Runs `dlock purge`.
pub(crate) fn main(arguments: &PurgeArguments) -> Result<ExitCode, Failure> {
    query::main(run(arguments))
}

async fn run(arguments: &PurgeArguments) -> Result<ExitCode, Failure> {
    let PurgeArguments { store } = arguments;
    let location = store.location()?;
    let mut purged: u64 = 0;
    if let Some(store) = query::open(&location).await? {
        loop {
            let doing = format!("can't purge, after {purged} records");
            let purge = store.provider().purge(BATCH);
            let batch = query::answer_within(LIMIT, &store, &doing, purge).await?;
            purged += batch;
            if batch < BATCH as u64 {
                break;
            }
        }
    }
    let noun = if purged == 1 { "record" } else { "records" };
    output::line(format_args!("purged {purged} {noun}"))?;
    Ok(ExitCode::SUCCESS)
}
