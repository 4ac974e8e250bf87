//! The spans and events of a program, checked against the chapter that lists them: names, kinds, levels and fields.
//!
//! A chapter is a text in Markdown whose last section, `## Traces`, is a table with the columns name,
//! kind (`span`, `event`), level, fields.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tracing::{
    Event, Metadata, Subscriber,
    span::{Attributes, Id, Record},
};

/// The spans and events that a chapter lists.
#[derive(Clone, Debug)]
pub struct Chapter(BTreeMap<String, Trace>);

/// The shape of a span or an event.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Trace {
    kind: String,
    level: String,
    fields: BTreeSet<String>,
}

/// Keeps the shape of every span and event of some crate. Clones share it.
#[derive(Clone, Debug)]
pub struct Seen {
    target: &'static str,
    traces: Arc<Mutex<BTreeMap<String, BTreeSet<Trace>>>>,
}

impl Chapter {
    /// The table of traces in this text. Lines that are not rows of it are skipped.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let table = text.split_once("## Traces").map_or("", |(_, table)| table);
        let rows = table.lines().filter(|line| line.starts_with("| `"));
        let traces = rows.filter_map(|row| {
            let mut cells = row.split('|').skip(1).map(str::trim);
            let name = bare(cells.next()?);
            let trace = Trace {
                kind: cells.next()?.to_owned(),
                level: cells.next()?.to_owned(),
                fields: words(cells.next()?),
            };
            Some((name, trace))
        });
        Self(traces.collect())
    }

    /// The names that it lists.
    #[must_use]
    pub fn names(&self) -> BTreeSet<String> {
        self.0.keys().cloned().collect()
    }
}

impl Seen {
    /// Records the spans and events of crates whose names begin with `target`, in this process from now on. It is set
    /// for all threads, and so once per process: a span or event that a thread without a subscriber meets first is
    /// switched off for the other threads too.
    ///
    /// # Errors
    /// If there is a subscriber for all threads already.
    pub fn install(
        target: &'static str,
    ) -> Result<Self, tracing::subscriber::SetGlobalDefaultError> {
        let seen = Self {
            target,
            traces: Arc::default(),
        };
        tracing::subscriber::set_global_default(seen.clone())?;
        Ok(seen)
    }

    /// The names that were seen.
    #[must_use]
    pub fn names(&self) -> BTreeSet<String> {
        self.traces().keys().cloned().collect()
    }

    /// The spans and events that were seen and differ from the chapter.
    #[must_use]
    pub fn unlike(&self, Chapter(listed): &Chapter) -> Vec<String> {
        let traces = self.traces();
        let each = traces
            .iter()
            .flat_map(|(name, looks)| looks.iter().map(move |trace| (name, trace)));
        let unlike = each.filter(|(name, trace)| listed.get(*name) != Some(trace));
        unlike
            .map(|(name, trace)| format!("{name}: {trace:?}"))
            .collect()
    }

    fn saw(&self, metadata: &Metadata<'_>) {
        if !metadata.target().starts_with(self.target) {
            return;
        }
        let fields = metadata.fields().iter().map(|field| field.name());
        let trace = Trace {
            kind: if metadata.is_span() { "span" } else { "event" }.into(),
            level: metadata.level().as_str().to_lowercase(),
            fields: fields
                .filter(|name| *name != "message")
                .map(str::to_owned)
                .collect(),
        };
        let name = metadata.name().to_owned();
        self.traces().entry(name).or_default().insert(trace);
    }

    fn traces(&self) -> MutexGuard<'_, BTreeMap<String, BTreeSet<Trace>>> {
        self.traces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Subscriber for Seen {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.saw(span.metadata());
        Id::from_u64(1)
    }

    fn event(&self, event: &Event<'_>) {
        self.saw(event.metadata());
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The names of all spans and events in the sources below this folder; an event without a name is listed under its
/// text.
///
/// # Errors
/// If they cannot be read.
pub fn names_in(folder: &Path) -> io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for source in sources_below(folder)? {
        // The core writes its events with its own macro, which takes the level first.
        let text = fs::read_to_string(source)?.replace("log!(", "tracing::log!(");
        let calls = text.split("tracing::").skip(1);
        names.extend(calls.filter_map(name_of));
    }
    Ok(names)
}

/// The name in a call of one of tracing's macros.
fn name_of(call: &str) -> Option<String> {
    let (called, arguments) = call.split_once("!(")?;
    let arguments = arguments.trim_start();
    let named = match called {
        "trace" | "debug" | "info" | "warn" | "error" => arguments.strip_prefix("name: "),
        "log" => arguments
            .split_once(',')
            .and_then(|(_, after)| after.trim_start().strip_prefix("name: ")),
        "trace_span" | "debug_span" | "info_span" | "warn_span" | "error_span" => Some(arguments),
        _ => return None,
    };
    let name = named.and_then(|named| named.strip_prefix('"')?.split('"').next());
    Some(name.unwrap_or(arguments.lines().next()?).to_owned())
}

fn sources_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut sources = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources.extend(sources_below(&path)?);
        } else if path.extension().is_some_and(|end| end == "rs") {
            sources.push(path);
        }
    }
    Ok(sources)
}

fn words(cell: &str) -> BTreeSet<String> {
    let words = cell.split(", ").filter(|word| !word.is_empty());
    words.map(bare).collect()
}

fn bare(word: &str) -> String {
    word.trim_matches('`').to_owned()
}
