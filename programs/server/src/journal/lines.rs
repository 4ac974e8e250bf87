//! The lines of a journal, in the order in which their names were last seen.

use std::time::SystemTime;

use dlock_core::Name;
use hashlink::LruCache;

use super::line::{KEPT, Line};

/// The most memory that they may take, approximately. The names that were seen longest ago are forgotten first.
const MOST_BYTES: usize = 16 * 1024 * 1024;

/// The memory of a name in addition to its text and its line.
const OVERHEAD: usize = 64;

/// A line for each name.
pub(super) struct Lines {
    of: LruCache<Name, Line>,
    bytes: usize,
    changes: u64,
}

impl Lines {
    pub(super) fn new() -> Self {
        Self {
            of: LruCache::new_unbounded(),
            bytes: 0,
            changes: 0,
        }
    }

    /// The number of changes so far.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    pub(super) fn of(&self, name: &Name) -> Option<&Line> {
        self.of.peek(name)
    }

    /// A name was seen: `change` updates its line, and returns whether that was a change; or `first` creates it, if
    /// there is anything to record.
    pub(super) fn note(
        &mut self,
        name: &Name,
        now: SystemTime,
        first: impl FnOnce() -> Option<Line>,
        change: impl FnOnce(&mut Line) -> bool,
    ) {
        if let Some(line) = self.of.get_mut(name) {
            let before = line.bytes();
            if change(line) {
                self.changes += 1;
                line.set_changed(self.changes);
            }
            self.bytes = self.bytes + line.bytes() - before;
        } else if let Some(mut line) = first() {
            self.changes += 1;
            line.set_changed(self.changes);
            self.bytes += size(name, &line);
            self.of.insert(name.clone(), line);
        }
        self.forget(now);
    }

    /// Makes room, and forgets names that were last seen too long ago.
    fn forget(&mut self, now: SystemTime) {
        while let Some((_, line)) = self.of.iter().next() {
            if self.bytes <= MOST_BYTES && line.seen() + KEPT >= now {
                return;
            }
            if let Some((name, line)) = self.of.remove_lru() {
                self.bytes -= size(&name, &line);
            }
        }
    }
}

fn size(name: &Name, line: &Line) -> usize {
    OVERHEAD + name.as_str().len() + line.bytes()
}
