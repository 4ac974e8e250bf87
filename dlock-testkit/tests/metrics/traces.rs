//! Spans and events are those of the chapter: their names, levels and fields.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use tracing::{Event, Metadata, Subscriber, span};

use crate::{
    scene::{Scene, stores},
    stories,
};

const CHAPTER: &str = include_str!("../../../dlock-core/METRICS.md");

/// What the chapter says of one name, or what was seen of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Trace {
    kind: String,
    level: String,
    fields: BTreeSet<String>,
}

/// Keeps what every span and event of ours looks like.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<BTreeMap<String, BTreeSet<Trace>>>>);

impl Seen {
    fn saw(&self, metadata: &Metadata<'_>) {
        if !metadata.target().starts_with("dlock_core") {
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
        self.0
            .lock()
            .unwrap()
            .entry(name)
            .or_default()
            .insert(trace);
    }
}

impl Subscriber for Seen {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &span::Attributes<'_>) -> span::Id {
        self.saw(span.metadata());
        span::Id::from_u64(1)
    }

    fn event(&self, event: &Event<'_>) {
        self.saw(event.metadata());
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

/// The rows of the chapter's table of traces.
fn chapter() -> BTreeMap<String, Trace> {
    let (_, table) = CHAPTER.split_once("## Traces").unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    let words = |cell: &str| -> BTreeSet<String> {
        let words = cell.split(", ").filter(|word| !word.is_empty());
        words
            .map(|word| word.trim_matches('`').to_owned())
            .collect()
    };
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, name, kind, level, fields, ..] = cells[..] else {
            panic!("{row}");
        };
        let trace = Trace {
            kind: kind.into(),
            level: level.into(),
            fields: words(fields),
        };
        (name.trim_matches('`').to_owned(), trace)
    })
    .collect()
}

#[tokio::test(start_paused = true)]
async fn what_is_traced_is_as_the_chapter_says() {
    let seen = Seen::default();
    // For all threads: what one without a subscriber meets first is switched off for the others too.
    tracing::subscriber::set_global_default(seen.clone()).unwrap();
    let chapter = chapter();
    for store in stores() {
        for (_, story) in stories::ALL {
            let scene = Scene::new(store.clone()).again();
            let kept = scene.kept.clone();
            let _listening = kept.listen();
            story(scene).await;
        }
    }
    let seen = seen.0.lock().unwrap();
    assert!(seen.len() >= 12, "{seen:?}");
    for (name, traces) in &*seen {
        let expected = chapter.get(name).cloned();
        assert_eq!(traces.first().cloned(), expected, "{name}");
        assert_eq!(traces.len(), 1, "{name}: {traces:?}");
    }
}

/// Also what no story makes happen.
#[test]
fn every_event_has_a_name_of_the_chapter_and_each_name_an_event() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../dlock-core/src");
    let mut found = BTreeSet::new();
    for source in sources_below(&sources) {
        let text = fs::read_to_string(&source).unwrap();
        for (event, _) in text.match_indices("tracing::") {
            let call = &text[event + "tracing::".len()..];
            let Some((macro_name, rest)) = call.split_once("!(") else {
                continue;
            };
            let name = match macro_name {
                "trace" | "debug" | "info" | "warn" | "error" => {
                    rest.trim_start().strip_prefix("name: \"")
                }
                "debug_span" => rest.trim_start().strip_prefix('"'),
                _ => continue,
            };
            let name = name.and_then(|rest| rest.split('"').next());
            let name = name.unwrap_or_else(|| panic!("{}: no name: {rest:.40}", source.display()));
            found.insert(name.to_owned());
        }
    }
    let chapter: BTreeSet<String> = chapter().into_keys().collect();
    assert_eq!(found, chapter);
}

fn sources_below(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let below = folders.iter().flat_map(|folder| sources_below(folder));
    let files = files
        .into_iter()
        .filter(|file| file.extension().is_some_and(|end| end == "rs"));
    files.chain(below).collect()
}
