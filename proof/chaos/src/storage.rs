//! The storage that the workers write to: for each lock one resource that checks tokens and one that
//! does not. Each resource is a number. The storage lives in the controller, so that no fault of the store touches it,
//! and it writes the history of its decisions in the order in which it makes them.
//!
//! The fenced resource applies T3 to reads too: a read presents its token, which is remembered. Otherwise
//! a replaced holder could still write between its successor's read and the successor's
//! first write, and the successor would overwrite that: the resource would have accepted no stale write, and yet an
//! update would be lost. With T3 for reads no update is ever lost, and the checker judges that.

mod client;

use std::{
    collections::BTreeMap,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use dlock_core::{Fence, FencingToken};
use dlock_proof::history::{Log, What};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::JoinHandle,
};

pub(crate) use self::client::StorageClient;

/// A worker's request, a line of JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Question {
    /// The task that sent it: its process, a slash, and its number.
    pub(crate) task: String,
    pub(crate) lock: String,
    /// Which of the two resources of that lock.
    pub(crate) fenced: bool,
    pub(crate) token: u64,
    pub(crate) ask: Ask,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum Ask {
    Read {
        /// The worker will write without checking its lease again.
        blind: bool,
    },
    Write {
        /// The value that it had read.
        read: u64,
        value: u64,
    },
}

/// The answer, a line of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// The present value.
    Value(u64),
    /// A later holder has presented its token.
    Stale { highest: u64 },
}

/// A worker in the middle of a read-modify-write. It gets its answer when `answer` is used.
#[derive(Debug)]
pub(crate) struct Caught {
    pub(crate) process: String,
    pub(crate) lock: String,
    pub(crate) token: u64,
    pub(crate) answer: oneshot::Sender<()>,
}

/// The storage. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Storage {
    address: SocketAddr,
    shelf: Arc<Shelf>,
    task: JoinHandle<()>,
}

#[derive(Debug)]
struct Shelf {
    log: Log,
    /// Whether it enforces the tokens of a fenced resource.
    checks: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    resources: BTreeMap<(String, bool), Resource>,
    trap: Option<oneshot::Sender<Caught>>,
    /// The number of writes of each task, and of writes under each lock.
    by_task: BTreeMap<String, u64>,
    by_lock: BTreeMap<String, u64>,
    /// The tokens of unfenced writes that undid another, and of refused fenced writes.
    undoing: Vec<u64>,
    refused: Vec<u64>,
}

#[derive(Debug, Default)]
struct Resource {
    value: u64,
    fence: Fence,
    /// The highest token that wrote.
    written: u64,
}

impl Storage {
    /// Empty storage, which writes its part of the history to this log.
    pub(crate) async fn start(log: Log, checks: bool) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let shelf = Arc::new(Shelf {
            log,
            checks,
            state: Mutex::default(),
        });
        Ok(Self {
            address: listener.local_addr()?,
            task: tokio::spawn(serve(listener, Arc::clone(&shelf))),
            shelf,
        })
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Catches the next worker that reads an unfenced resource in order to write blindly.
    pub(crate) fn trap(&self) -> oneshot::Receiver<Caught> {
        let (caught, trapped) = oneshot::channel();
        self.shelf.state().trap = Some(caught);
        trapped
    }

    /// Whether a holder after this one has written to the unfenced resource.
    pub(crate) fn succeeded(&self, lock: &str, token: u64) -> bool {
        let state = self.shelf.state();
        let resource = state.resources.get(&(lock.to_owned(), false));
        resource.is_some_and(|resource| resource.written > token)
    }

    /// Whether the holder of this token undid an unfenced write, and was refused the fenced one.
    pub(crate) fn bitten(&self, token: u64) -> bool {
        let Shelf { checks, .. } = *self.shelf;
        let state = self.shelf.state();
        state.undoing.contains(&token) && (!checks || state.refused.contains(&token))
    }

    /// Forgets which tasks have written so far.
    pub(crate) fn count_anew(&self) {
        let mut state = self.shelf.state();
        state.by_task.clear();
        state.by_lock.clear();
    }

    /// Whether each of these tasks has written since, and whether a task has written under each of these locks.
    pub(crate) fn all_have_written(&self, tasks: &[String], locks: &[String]) -> bool {
        let state = self.shelf.state();
        tasks.iter().all(|task| state.by_task.contains_key(task))
            && locks.iter().all(|lock| state.by_lock.contains_key(lock))
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(listener: TcpListener, shelf: Arc<Shelf>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let shelf = Arc::clone(&shelf);
                tokio::spawn(async move {
                    // The worker may have gone.
                    drop(shelf.converse(stream).await);
                });
            }
            // Too many open files: other connections will close theirs.
            Err(_) => tokio::task::yield_now().await,
        }
    }
}

impl Shelf {
    async fn converse(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let (from, mut to) = stream.into_split();
        let mut lines = BufReader::new(from).lines();
        while let Some(line) = lines.next_line().await? {
            let question: Question = serde_json::from_str(&line)?;
            let answer = self.answer(&question)?;
            if let Some(held) = self.caught(question) {
                // If the task that set the trap has gone, the answer is sent at once.
                drop(held.await);
            }
            let mut line = serde_json::to_vec(&answer)?;
            line.push(b'\n');
            to.write_all(&line).await?;
        }
        Ok(())
    }

    /// Decides, and records the decision, in one step.
    fn answer(&self, question: &Question) -> io::Result<Answer> {
        let Question {
            task,
            lock,
            fenced,
            token: number,
            ask,
        } = question;
        let token = FencingToken::new(*number)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "this is no token"))?;
        let mut state = self.state();
        let State {
            resources,
            by_task,
            by_lock,
            undoing,
            refused,
            ..
        } = &mut *state;
        let resource = resources.entry((lock.clone(), *fenced)).or_default();
        let passed = if *fenced && self.checks {
            resource.fence.check(token)
        } else {
            Ok(())
        };
        if let Ask::Write { read, value } = *ask {
            // Under the mutex, so that the history has the order of the decisions.
            self.log.note(
                "",
                "",
                What::Write {
                    resource: format!("{lock} {}", if *fenced { "fenced" } else { "unfenced" })
                        .into(),
                    fenced: *fenced,
                    token: *number,
                    accepted: passed.is_ok(),
                    read: Some(read),
                    written: Some(value),
                },
            );
            if passed.is_err() {
                refused.push(*number);
            } else {
                if read != resource.value {
                    undoing.push(*number);
                }
                *by_task.entry(task.clone()).or_default() += 1;
                *by_lock.entry(lock.clone()).or_default() += 1;
                resource.value = value;
                resource.written = resource.written.max(*number);
            }
        }
        Ok(match passed {
            Ok(()) => Answer::Value(resource.value),
            Err(stale) => Answer::Stale {
                highest: stale.highest.get(),
            },
        })
    }

    /// If the trap catches this request: the signal that its answer waits for.
    fn caught(&self, question: Question) -> Option<oneshot::Receiver<()>> {
        let Ask::Read { blind: true } = question.ask else {
            return None;
        };
        if question.fenced {
            return None;
        }
        let trap = self.state().trap.take()?;
        let (answer, held) = oneshot::channel();
        let caught = Caught {
            process: question.task.split('/').next()?.to_owned(),
            lock: question.lock,
            token: question.token,
            answer,
        };
        trap.send(caught).ok().map(|()| held)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics between two related changes.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
