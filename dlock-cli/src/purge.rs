//! `dlock purge`: deletes records that nobody has needed for a week.

use std::process::ExitCode;

use crate::{ask, cli::PurgeArguments, exit::Failure, output};

/// How many records one call deletes, so that none takes long.
const BATCH: usize = 1000;

/// Runs `dlock purge`.
pub(crate) fn main(arguments: &PurgeArguments) -> Result<ExitCode, Failure> {
    ask::main(run(arguments))
}

async fn run(arguments: &PurgeArguments) -> Result<ExitCode, Failure> {
    let PurgeArguments { store } = arguments;
    let location = store.location()?;
    let mut purged: u64 = 0;
    if let Some(store) = ask::open(&*location).await? {
        loop {
            let doing = format!("can't purge, after {purged} records");
            let batch = ask::answer(&store, &doing, store.provider.purge(BATCH)).await?;
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
