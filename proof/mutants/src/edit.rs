//! How a bug is written into a source file.

use std::{collections::BTreeMap, fmt, ops::Range};

use serde::Deserialize;

/// One place that a bug changes.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct Edit {
    /// The folder of the crate; `dlock-core` if it is not given.
    #[serde(default = "core")]
    pub folder: String,
    /// Path below its `src`.
    pub file: String,
    /// A part of the source that contains `find` once, if the whole file contains it more often.
    pub within: Option<String>,
    /// The source to change. White space does not count, so that formatting breaks no bug.
    #[serde(default)]
    pub find: String,
    /// The change.
    #[serde(flatten)]
    pub change: Change,
}

fn core() -> String {
    "dlock-core".to_owned()
}

/// How an edit changes the source that it found.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Change {
    /// While the bug is on, this expression or statement replaces it.
    Swap(String),
    /// While the bug is on, these statements run before it.
    Before(String),
    /// These statements stand before it at all times: a variable that the rest of the bug uses.
    Insert(String),
    /// This text replaces it at all times; in it, the word `PLANTED` is whether the bug is on.
    Patch(String),
    /// These items are appended to the file. There is nothing to find.
    Append(String),
}

/// Why an edit cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// The source contains the text that many times, and not once.
    Found {
        /// How many times.
        times: usize,
        /// The text.
        text: String,
    },
    /// Another edit changes a part of the same source.
    Overlaps(String),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Found { times, text } => write!(
                f,
                "must be found once, and is found {times} times; name more of the source around it in \
                 `within`, or mend the text: {text}"
            ),
            Self::Overlaps(text) => write!(
                f,
                "overlaps with another bug's edit; find the same text in both: {text}"
            ),
        }
    }
}

/// The changes at one place.
#[derive(Default)]
struct Place {
    /// One of the bugs whose edits it holds.
    bug: usize,
    /// The end of the replaced source; the beginning of the place if nothing is replaced.
    end: usize,
    inserted: String,
    before: String,
    swaps: Vec<(usize, String)>,
    patch: Option<String>,
}

/// Writes edits into one file, each with the number of its bug. Several bugs may swap the same text.
///
/// # Errors
/// The number of the bug, and why its edit cannot be made.
pub fn apply(source: &str, edits: &[(usize, &Edit)]) -> Result<String, (usize, Refused)> {
    let squeezed = Squeezed::new(source);
    let mut places: BTreeMap<usize, Place> = BTreeMap::new();
    let mut appended = String::new();
    for &(bug, edit) in edits {
        if let Change::Append(items) = &edit.change {
            appended += &format!("\n{items}\n");
            continue;
        }
        let found = squeezed.find(edit).map_err(|refused| (bug, refused))?;
        let overlaps = || (bug, Refused::Overlaps(edit.find.clone()));
        let place = places.entry(found.start).or_default();
        place.bug = bug;
        if matches!(edit.change, Change::Swap(_) | Change::Patch(_)) {
            if place.patch.is_some() || (place.end != 0 && place.end != found.end) {
                return Err(overlaps());
            }
            place.end = found.end;
        }
        match &edit.change {
            Change::Insert(text) => place.inserted += &format!("{text} "),
            Change::Before(text) => place.before += &format!("if {} {{ {text} }} ", switch(bug)),
            Change::Swap(text) => place.swaps.push((bug, text.clone())),
            Change::Patch(_) if !place.swaps.is_empty() => return Err(overlaps()),
            Change::Patch(text) => place.patch = Some(text.replace("PLANTED", &switch(bug))),
            Change::Append(_) => {}
        }
    }
    write(source, &places).map(|text| text + &appended)
}

fn switch(bug: usize) -> String {
    format!("crate::planted::is_on({bug})")
}

fn write(source: &str, places: &BTreeMap<usize, Place>) -> Result<String, (usize, Refused)> {
    let mut text = String::new();
    let mut done = 0;
    for (&start, place) in places {
        if start < done {
            let line = source[start..].lines().next().unwrap_or_default();
            return Err((place.bug, Refused::Overlaps(line.to_owned())));
        }
        let end = place.end.max(start);
        text += &source[done..start];
        text += &place.inserted;
        text += &place.before;
        let old = &source[start..end];
        text += &match &place.patch {
            Some(patch) => patch.clone(),
            None => swapped(old, &place.swaps),
        };
        done = end;
    }
    Ok(text + &source[done..])
}

/// The old text, unless one of these bugs is on.
fn swapped(old: &str, swaps: &[(usize, String)]) -> String {
    if swaps.is_empty() {
        return old.to_owned();
    }
    let branch = |(bug, new): &(usize, String)| format!("if {} {{ {new} }} else ", switch(*bug));
    let branches: String = swaps.iter().map(branch).collect();
    let chain = format!("{branches}{{ {old} }}");
    // An expression may be next to an operator.
    let statement = old.ends_with([';', '}']);
    if statement {
        chain
    } else {
        format!("({chain})")
    }
}

/// A source without white space, and the offset of each of its bytes in the original.
struct Squeezed {
    text: String,
    offsets: Vec<usize>,
}

impl Squeezed {
    fn new(source: &str) -> Self {
        let mut text = String::new();
        let mut offsets = Vec::new();
        for (offset, letter) in source.char_indices().filter(|(_, c)| !c.is_whitespace()) {
            text.push(letter);
            offsets.extend(offset..offset + letter.len_utf8());
        }
        Self { text, offsets }
    }

    fn find(&self, edit: &Edit) -> Result<Range<usize>, Refused> {
        let all = 0..self.text.len();
        let within = match &edit.within {
            Some(within) => self.once(within, all)?,
            None => all,
        };
        let found = self.once(&edit.find, within)?;
        Ok(self.offsets[found.start]..self.offsets[found.end - 1] + 1)
    }

    /// The range of this text in a part of the squeezed source.
    fn once(&self, text: &str, part: Range<usize>) -> Result<Range<usize>, Refused> {
        let wanted: String = text.split_whitespace().collect();
        let refused = |times| Refused::Found {
            times,
            text: text.to_owned(),
        };
        if wanted.is_empty() {
            return Err(refused(0));
        }
        let mut found = self.text[part.clone()].match_indices(&wanted);
        match (found.next(), found.count()) {
            (Some((at, _)), 0) => {
                let start = part.start + at;
                Ok(start..start + wanted.len())
            }
            (None, _) => Err(refused(0)),
            (Some(_), more) => Err(refused(more + 1)),
        }
    }
}
