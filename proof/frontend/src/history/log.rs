//! The destination of lines as events happen: memory, or line by line a file that outlives its process.

use std::{
    fmt,
    fs::{File, OpenOptions},
    io::{self, Write as _},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use dlock_core::Clock;

use super::{
    Axis, Header, Invariant, Line, Process,
    line::{Commit, KILL, Micros, What, micros},
};

/// A history in progress. Cheap to clone; clones write to the same place.
///
/// Its clock is the global axis: every line's `t` is that clock's reading, or was mapped to it.
#[derive(Clone)]
pub struct Log(Arc<Inner>);

struct Inner {
    clock: Clock,
    place: Mutex<Place>,
}

enum Place {
    Memory(Vec<Line>),
    File(File),
}

/// A fault that lasts until this value is ended or dropped.
#[derive(Debug)]
#[must_use = "a fault that is dropped has ended"]
pub struct OpenFault {
    log: Log,
    kind: Arc<str>,
    process: Arc<str>,
    name: Arc<str>,
    from: Micros,
    excuses: Vec<Invariant>,
    over: bool,
}

impl Log {
    /// Keeps the lines in memory, on Tokio's clock, which a simulation pauses. The axis begins now.
    #[must_use]
    pub fn memory() -> Self {
        Self::in_memory_on(Clock::tokio(1.0))
    }

    /// Keeps the lines in memory, on the given clock.
    #[must_use]
    pub fn in_memory_on(clock: Clock) -> Self {
        Self::new(clock, Place::Memory(Vec::new()))
    }

    /// Appends each line to a file as it happens, in one write, so that a process that is killed loses at most the line
    /// it was writing. The axis is the host's clock, the same for all processes of the host: several may append to one
    /// file, or each to its own.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn append(path: impl AsRef<Path>) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self::new(Clock::system(), Place::File(file)))
    }

    /// Now, on the global axis.
    #[must_use]
    pub fn now(&self) -> Micros {
        micros(self.0.clock.reading())
    }

    /// The clock that is the global axis.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// A process whose clock is the global one: every real process of this host.
    #[must_use]
    pub fn process(&self, name: &str) -> Process {
        let clock = self.0.clock.clone();
        Process::new(self.clone(), name, clock, Axis::identity(), Some(1.0))
    }

    /// A process with its own clock, which runs `rate` times as fast as the global one. Call it in paused time: it
    /// compares the two clocks at this instant.
    #[must_use]
    pub fn process_with(&self, name: &str, clock: &Clock, rate: f64) -> Process {
        let axis = Axis::linear(clock.reading(), self.0.clock.reading(), rate);
        Process::new(self.clone(), name, clock.clone(), axis, Some(rate))
    }

    /// A process with a clock of any other kind, such as one whose rate changes.
    #[must_use]
    pub fn process_on(&self, name: &str, clock: &Clock, axis: Axis) -> Process {
        Process::new(self.clone(), name, clock.clone(), axis, None)
    }

    /// Writes the first line.
    pub fn header(&self, header: Header) {
        self.note("", "", What::Header(Box::new(header)));
    }

    /// Writes a commit of the store.
    pub fn commit(&self, name: &str, commit: Commit) {
        self.note("", name, What::Commit(commit));
    }

    /// Begins a fault now, in one process or (with an empty name) in all.
    pub fn fault(&self, kind: &str, process: &str) -> OpenFault {
        self.excused_fault(kind, process, &[])
    }

    /// Begins a fault that breaks these invariants by design, as documented.
    pub fn excused_fault(&self, kind: &str, process: &str, excuses: &[Invariant]) -> OpenFault {
        self.fault_of(kind, process, "", excuses)
    }

    /// As [`Log::excused_fault`], for one lock only; for all if its name is empty.
    pub fn fault_of(
        &self,
        kind: &str,
        process: &str,
        name: &str,
        excuses: &[Invariant],
    ) -> OpenFault {
        let fault = OpenFault {
            log: self.clone(),
            kind: kind.into(),
            process: process.into(),
            name: name.into(),
            from: self.now(),
            excuses: excuses.to_vec(),
            over: false,
        };
        fault.write(None);
        fault
    }

    /// Records that a process was killed: nothing is believed there any more.
    pub fn killed(&self, process: &str) {
        self.fault(KILL, process).end();
    }

    /// Writes a line for an event that happens now.
    pub fn note(&self, process: &str, name: &str, what: What) {
        self.write(Line::new(self.now(), process, name, what));
    }

    /// Writes a line.
    ///
    /// # Panics
    /// If the file cannot be written: a history with holes would prove nothing.
    pub fn write(&self, line: Line) {
        match &mut *self.place() {
            Place::Memory(lines) => lines.push(line),
            Place::File(file) => {
                let text = format!("{line}\n");
                if let Err(error) = file.write_all(text.as_bytes()) {
                    panic!("cannot write the history: {error}");
                }
            }
        }
    }

    /// The lines so far, in the order in which they were written; empty where they go to a file.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        match &*self.place() {
            Place::Memory(lines) => lines.clone(),
            Place::File(_) => Vec::new(),
        }
    }

    fn new(clock: Clock, place: Place) -> Self {
        Self(Arc::new(Inner {
            clock,
            place: Mutex::new(place),
        }))
    }

    fn place(&self) -> MutexGuard<'_, Place> {
        // Nothing panics between two related changes.
        self.0.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OpenFault {
    /// Ends the fault now.
    pub fn end(mut self) {
        self.over();
    }

    fn over(&mut self) {
        if !self.over {
            self.over = true;
            self.write(Some(self.log.now()));
        }
    }

    fn write(&self, to: Option<Micros>) {
        let Self {
            log,
            kind,
            process,
            name,
            from,
            excuses,
            over: _,
        } = self;
        log.note(
            process,
            name,
            What::Fault {
                kind: Arc::clone(kind),
                from: *from,
                to,
                excuses: excuses.clone(),
            },
        );
    }
}

impl Drop for OpenFault {
    fn drop(&mut self) {
        self.over();
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.place() {
            Place::Memory(lines) => f.debug_tuple("Log").field(&lines.len()).finish(),
            Place::File(file) => f.debug_tuple("Log").field(file).finish(),
        }
    }
}
