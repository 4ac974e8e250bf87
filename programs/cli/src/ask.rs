//! `dlock ask`: asks the holder of a lock to give it back.

use std::process::ExitCode;

use dlock_core::{
    Name, Record,
    provider::{Ask, AskOutcome},
};
use dlock_stores::text::harmless;

use crate::{
    arguments::{self, AskArguments},
    display::{Condition, Holding},
    exit::{Exit, Failure},
    output, query,
    status::Row,
};

/// Runs `dlock ask`.
pub(crate) fn main(arguments: &AskArguments) -> Result<ExitCode, Failure> {
    query::main(run(arguments))
}

async fn run(arguments: &AskArguments) -> Result<ExitCode, Failure> {
    let AskArguments { name, json, store } = arguments;
    let name = arguments::name(name)?;
    let location = store.location()?;
    let Some(store) = query::open(&location).await? else {
        return Err(query::no_lock(&name));
    };
    let provider = store.provider();
    let reading = provider.read(&name);
    let record = query::answer(&store, "can't read the lock", reading).await?;
    let mut record = record.ok_or_else(|| query::no_lock(&name))?;
    let shown = name.as_str();
    if Condition::of(&record) != Condition::Held {
        return Err(not_held(&name, &record));
    }
    let request = Ask::new(name.clone(), record.uuid);
    let doing = format!("can't ask the holder of {shown:?}");
    match query::answer(&store, &doing, provider.ask(&request)).await? {
        AskOutcome::Asked => record.asked = true,
        AskOutcome::Changed(Some(now)) if Condition::of(&now) == Condition::Held => {
            return Err(Failure::new(
                Exit::NotAcquired,
                format!(
                    "it changed hands before its holder was asked: {shown:?} is {}",
                    Holding(&now)
                ),
            )
            .advise("run this again if it is still what you want"));
        }
        AskOutcome::Changed(Some(now)) => return Err(not_held(&name, &now)),
        AskOutcome::Changed(None) => return Err(query::no_lock(&name)),
    }
    if *json {
        output::write(&format!("{}\n", Row::new(&name, &record).line()?))?;
    } else {
        output::done(format_args!(
            "{} was asked to give {shown:?} back; it learns of it when it renews its lease",
            harmless(&record.owner)
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// There is a record, and the lock has no holder.
fn not_held(name: &Name, record: &Record) -> Failure {
    let (shown, condition) = (name.as_str(), Condition::of(record));
    Failure::new(
        Exit::Nothing,
        format!("{shown:?} has no holder: it is {}", condition.as_str()),
    )
}
