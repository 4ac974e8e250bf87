//! The notes that a worker writes as things happen: a line of JSON in one write, so that a worker that is killed
//! loses nothing but the note that it was writing.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::Path,
};

use dlock_core::Clock;
use dlock_proof::history::Micros;
use dlock_tasks::ClaimKey;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::cli::Failure;

/// One event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Note {
    /// By the host's clock, one for all processes: before a check of the claim, and after any other event.
    pub(crate) t: Micros,
    pub(crate) process: String,
    /// The task, and the token of the claim; 0 where there is none.
    #[serde(default)]
    pub(crate) task: i64,
    #[serde(default)]
    pub(crate) token: u64,
    #[serde(flatten)]
    pub(crate) what: What,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub(crate) enum What {
    /// The store has confirmed that this order and its task are kept.
    Placed { order: Uuid },
    /// A handler has begun, and believes in its claim.
    Began {
        attempt: u32,
        /// The checkpoint that it found.
        found: u64,
    },
    /// A handler has checked whether the claim is its own.
    Look {
        valid: bool,
        /// The instant after the check.
        to: Micros,
    },
    /// The store has confirmed a checkpoint.
    Kept { step: u64 },
    /// The handler has snoozed, so the attempt does not count.
    Snoozed,
    /// The store has confirmed that the task is completed, with its effect.
    Completed,
    /// The completion was refused: the claim had ended.
    Refused,
    /// The worker was ordered to stop.
    Stopping,
}

/// The notes of one process.
#[derive(Debug)]
pub(crate) struct Notes {
    file: File,
    clock: Clock,
    process: String,
}

impl Notes {
    pub(crate) fn open(path: &Path, process: &str) -> io::Result<Self> {
        Ok(Self {
            file: OpenOptions::new().create(true).append(true).open(path)?,
            clock: Clock::system(),
            process: process.to_owned(),
        })
    }

    pub(crate) fn now(&self) -> Micros {
        u64::try_from(self.clock.reading().as_micros()).unwrap_or(u64::MAX)
    }

    /// Records an event that has happened by now.
    pub(crate) fn note(&self, key: Option<&ClaimKey>, what: What) {
        self.note_at(self.now(), key, what);
    }

    pub(crate) fn note_at(&self, t: Micros, key: Option<&ClaimKey>, what: What) {
        let note = Note {
            t,
            process: self.process.clone(),
            task: key.map_or(0, |key| key.id.get()),
            token: key.map_or(0, |key| key.token.get()),
            what,
        };
        let line = serde_json::to_string(&note).map(|line| line + "\n");
        let written = line.map_err(io::Error::from).and_then(|line| {
            let mut file = &self.file;
            file.write_all(line.as_bytes())
        });
        if let Err(error) = written {
            panic!("notes with holes would prove nothing: {error}");
        }
    }
}

/// The notes of all processes, by time.
pub(crate) fn read_all(folder: &Path) -> Result<Vec<Note>, Failure> {
    let mut notes = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "notes") {
            let text = fs::read_to_string(&path)?;
            // The last line of one that was killed may be cut short.
            let whole = text.rfind('\n').map_or("", |end| &text[..end]);
            for line in whole.lines() {
                notes.push(serde_json::from_str::<Note>(line)?);
            }
        }
    }
    notes.sort_by_key(|note| note.t);
    Ok(notes)
}
