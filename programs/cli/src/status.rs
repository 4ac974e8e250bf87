//! `dlock status`: which records, and how they are read. `rows` says how they look, `pattern` which
//! names are meant.

mod pattern;
mod rows;

use std::process::ExitCode;

use dlock_core::{Name, provider::List};
use dlock_stores::{Store, text::harmless};

pub(crate) use self::rows::{Row, no_json};
use self::{pattern::Pattern, rows::Rows};
use crate::{
    arguments::StatusArguments,
    exit::{Exit, Failure},
    output, query,
};

/// How many records are read at once. Some stores do not keep names in order, and look at all of them
/// for each page.
const PAGE: usize = 5000;

const DOING: &str = "can't read the locks";

/// Runs `dlock status`.
pub(crate) fn main(arguments: &StatusArguments) -> Result<ExitCode, Failure> {
    query::main(run(arguments))
}

async fn run(arguments: &StatusArguments) -> Result<ExitCode, Failure> {
    let StatusArguments {
        name,
        held,
        json,
        store,
    } = arguments;
    let name = name.as_ref().map(Name::new).transpose()?;
    let location = store.location()?;
    let store = query::open(&location).await?;
    let rows = Rows::new(*json);
    match (name, store) {
        (Some(name), store) => one(&name, store.as_ref(), rows).await?,
        (None, Some(store)) => return all(&store, held.as_deref(), rows).await,
        (None, None) => drop(output::write(&rows.end())?),
    }
    Ok(ExitCode::SUCCESS)
}

/// One lock. In JSON it is an object, not an array.
async fn one(name: &Name, store: Option<&Store>, mut rows: Rows) -> Result<(), Failure> {
    let record = match store {
        Some(store) => query::answer(store, DOING, store.provider().read(name)).await?,
        None => None,
    };
    let record = record.ok_or_else(|| {
        let unknown = query::no_lock(name);
        let shown = name.as_str();
        if shown.contains(['*', '?']) {
            unknown.advise(format!(
                "this is taken as one name; locks that are held are found by a pattern: dlock status --held '{}'",
                harmless(shown)
            ))
        } else {
            unknown
        }
    })?;
    let row = Row::new(name, &record);
    let text = match rows {
        Rows::Json { .. } => rows::to_json(&row)? + "\n",
        Rows::Table(_) => rows.page(&[row])?,
    };
    output::write(&text).map(drop)
}

/// Every lock, or those that are held, printed page by page: a store may have more than there is memory.
async fn all(store: &Store, held: Option<&str>, mut rows: Rows) -> Result<ExitCode, Failure> {
    let pattern = held.map(Pattern::new);
    let matches = |name: &Name| {
        let fits = |pattern: &Pattern| pattern.matches(name.as_str());
        pattern.as_ref().is_none_or(fits)
    };
    let start = pattern.as_ref().map_or("", Pattern::start);
    let mut request = List::new(start).limit(PAGE);
    let mut flaws = 0;
    loop {
        let page = query::answer(store, DOING, store.provider().list(&request)).await?;
        let readable = page.records.iter();
        let mut found: Vec<Row> = readable
            .filter(|(name, _)| matches(name))
            .map(|(name, record)| Row::new(name, record))
            .filter(|row| pattern.is_none() || row.keeps_out())
            .collect();
        let unreadable = page.unreadable.iter().filter(|(name, _)| matches(name));
        let sound = found.len();
        found.extend(unreadable.map(|(name, why)| Row::unreadable(name, why)));
        flaws += found.len() - sound;
        found.sort_by(|one, other| one.name.cmp(&other.name));
        if !output::write(&rows.page(&found)?)? {
            return Ok(ExitCode::SUCCESS);
        }
        match page.next {
            Some(next) => request = request.after(Some(next)),
            None => break,
        }
    }
    output::write(&rows.end())?;
    if flaws == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    let noun = if flaws == 1 { "record" } else { "records" };
    Err(Failure::new(
        Exit::StoreUnusable,
        format!("{flaws} {noun} of the store {store} can't be read"),
    ))
}
