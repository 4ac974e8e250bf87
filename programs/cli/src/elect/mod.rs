//! `dlock elect`: from the arguments to the exit code. The elector is that of `dlock-election`; this module has the
//! command that runs while it leads, and the printed lines.

mod lines;

use std::{ffi::OsString, ops::ControlFlow, process::ExitCode, time::Duration};

use dlock_core::{DLock, Error, ErrorKind, Name};
use dlock_election::{Coordinator, Election, Leadership};
use dlock_stores::{Location, Store};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
    time::sleep,
};

use self::lines::Lines;
use crate::{
    arguments::{self, ElectArguments},
    ending::{self, Outcome},
    exit::{Exit, Failure},
    output,
    run::nested,
    supervise::{self, Cut, Ended, Leases, Program, Signals, Terms},
};

/// As long as it takes: the leadership is released when the whole group of the command has ended, and the command's own
/// grace ensures that it does.
const UNTIL_THE_COMMAND_HAS_ENDED: Duration = Duration::MAX;

/// How long, before standing, an unresponsive store is queried for the leader, and how often.
const LOOK_PATIENCE: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// Runs `dlock elect`.
pub(crate) fn main(arguments: ElectArguments) -> Result<ExitCode, Failure> {
    ending::main(run(arguments))
}

async fn run(arguments: ElectArguments) -> Result<Outcome, Failure> {
    let ElectArguments {
        name,
        command,
        exec,
        resign,
        lease,
        attempt,
        grace,
        id,
        store,
    } = arguments;
    let terms = Terms {
        lease,
        grace: ending::grace_within(lease, grace)?,
    };
    // Before the store: a wrong name leaves no trace.
    let name = arguments::name(&name)?;
    let location = store.location_of_locks()?;
    // One of them at most.
    let exec = if exec.is_empty() { command } else { exec };
    let lines = Lines::new(&name, exec.is_empty());
    let opened = if resign {
        ending::open(&location).await?
    } else {
        opened(&location, &lines).await?
    };
    let (store, mut signals) = match opened {
        ControlFlow::Continue(opened) => opened,
        ControlFlow::Break(outcome) => return Ok(outcome),
    };
    let client = store.client();
    let lock = DLock::builder()
        .name(name.as_str())
        .provider(&client)
        .build()?;
    let election = Election::builder()
        .provider(&client)
        .name(name.as_str())
        .duration(lease)
        .poll_every_opt(attempt)
        .grace(UNTIL_THE_COMMAND_HAS_ENDED)
        .owner_opt(id)
        .build()?;
    let candidate = Candidate {
        election,
        name,
        terms,
        store,
    };
    let done = if resign {
        candidate.ask_to_resign(&mut signals).await
    } else {
        match nested::refuse(&lock).await {
            Ok(()) => candidate.stand(exec, lines, &mut signals).await,
            Err(around) => Err(around),
        }
    };
    ending::close(&client, &mut signals).await;
    done
}

/// Opens the store, however long it takes to answer: some are contacted already when they are opened, and a candidate
/// stands once its store is reachable. The first failure is printed.
async fn opened(
    location: &Location,
    lines: &Lines,
) -> Result<ControlFlow<Outcome, (Store, Signals)>, Failure> {
    let mut signals = ending::listen()?;
    let mut said = false;
    loop {
        let opening = async {
            match location.open().await.map_err(Failure::from) {
                Err(failure) if failure.exit() == Exit::StoreUnreachable => {
                    if !std::mem::replace(&mut said, true) {
                        lines.failure(&failure)?;
                    }
                    sleep(LOOK_AGAIN).await;
                    Ok(None)
                }
                done => done.map(Some),
            }
        };
        tokio::select! {
            biased;
            signal = signals.ending() => {
                return Ok(ControlFlow::Break(ending::by_signal(signal.as_raw(), false)));
            }
            opened = opening => if let Some(store) = opened? {
                return Ok(ControlFlow::Continue((store, signals)));
            }
        }
    }
}

/// A candidate in an election.
struct Candidate {
    election: Election,
    name: Name,
    terms: Terms,
    store: Store,
}

/// A leadership that the command may run under, until the sender is dropped.
type Office = (Leadership, oneshot::Sender<()>);

impl Candidate {
    async fn ask_to_resign(self, signals: &mut Signals) -> Result<Outcome, Failure> {
        let name = self.name.as_str();
        let asking = async {
            let leader = self.election.leader().await?;
            let provider = self.store.provider();
            let asked = self.election.ask_leader_to_resign(provider).await?;
            Ok::<_, Error>(leader.filter(|_| asked))
        };
        let answer = tokio::select! {
            biased;
            signal = signals.ending() => return Ok(ending::by_signal(signal.as_raw(), false)),
            answer = asking => answer,
        };
        match answer {
            Ok(Some(leader)) => {
                output::line(format_args!(
                    "{:?} was asked to step down from {name:?}",
                    leader.owner
                ))?;
                Ok(Outcome::Code(0))
            }
            Ok(None) => Err(Failure::new(
                Exit::Nothing,
                format!("{name:?} has no leader"),
            )),
            Err(error) => Err(self.failure(error).await),
        }
    }

    async fn stand(
        self,
        exec: Vec<OsString>,
        lines: Lines,
        signals: &mut Signals,
    ) -> Result<Outcome, Failure> {
        tokio::select! {
            biased;
            signal = signals.ending() => return Ok(ending::by_signal(signal.as_raw(), false)),
            looked = self.look(&lines) => looked?,
        }
        let (silenced, mut silence) = mpsc::channel(1);
        let transitions = self.election.transitions();
        let store = self.store.clone();
        let telling = tokio::spawn(async move {
            if let Err(failure) = lines.tell(transitions, &store).await {
                silenced.send(failure).await.ok();
            }
        });
        let mut offices = (!exec.is_empty()).then(|| self.offices());
        let (stop, running) = self.run();
        let done = loop {
            let office = async {
                match &mut offices {
                    Some(offices) => offices.recv().await,
                    None => None,
                }
            };
            tokio::select! {
                biased;
                signal = signals.ending() => break Ok(ending::by_signal(signal.as_raw(), false)),
                // A line could not be printed, and the lines are the purpose of the command.
                Some(failure) = silence.recv() => break Err(failure),
                Some((leadership, _held)) = office => {
                    match self.serve(&leadership, &exec, signals).await {
                        Ok(None) => {}
                        Ok(Some(outcome)) => break Ok(outcome),
                        Err(failure) => break Err(failure),
                    }
                }
            }
        };
        drop(offices);
        self.step_down(stop, running, telling, signals).await;
        done
    }

    /// Prints who leads at the start, for people. An error that a retry can't cure ends the command. A store that does
    /// not answer is queried again for a while: a read gets a sixth of the lease, and on a busy machine the first
    /// connection may take longer.
    async fn look(&self, lines: &Lines) -> Result<(), Failure> {
        let mut patience = std::pin::pin!(sleep(LOOK_PATIENCE));
        let mut said = false;
        loop {
            match self.election.leader().await {
                Ok(leader) => return lines.following(leader.as_ref()),
                Err(Error::Provider(error)) if error.kind() != ErrorKind::Fatal => {
                    if !said {
                        lines.unknown(self.store.conduct(&error), error)?;
                    }
                    said = true;
                }
                Err(error) => return Err(self.failure(error).await),
            }
            tokio::select! {
                biased;
                () = &mut patience => return Ok(()),
                () = sleep(LOOK_AGAIN) => {}
            }
        }
    }

    /// Starts the elector, which runs until the sender is dropped.
    fn run(&self) -> (oneshot::Sender<()>, JoinHandle<()>) {
        let (stop, stopped) = oneshot::channel::<()>();
        let election = self.election.clone();
        let running = tokio::spawn(async move {
            let stopped = Box::pin(async move { drop(stopped.await) });
            // It runs once, and its client is closed only after it.
            election.run(stopped).await.ok();
        });
        (stop, running)
    }

    /// The leaderships, one after the other. Each is kept until its sender is dropped, or it is lost: commands are
    /// started by the main thread (see `supervise`), while the elector works elsewhere.
    fn offices(&self) -> mpsc::Receiver<Office> {
        let (sender, offices) = mpsc::channel(1);
        self.election.lead(move |leadership| {
            let sender = sender.clone();
            async move {
                let (held, over) = oneshot::channel();
                if sender.send((leadership, held)).await.is_ok() {
                    drop(over.await);
                }
            }
        });
        offices
    }

    /// Runs the command under this leadership. `None`: it ended with the leadership, which may come again.
    async fn serve(
        &self,
        leadership: &Leadership,
        exec: &[OsString],
        signals: &mut Signals,
    ) -> Result<Option<Outcome>, Failure> {
        let Some(lease) = leadership.view().filter(|lease| lease.is_valid()) else {
            return Ok(None);
        };
        let program = Program {
            words: exec.to_vec(),
            environment: vec![
                ("DLOCK_NAME", self.name.as_str().to_owned()),
                ("DLOCK_TOKEN", leadership.token().to_string()),
                ("DLOCK_OWNER", self.election.owner().to_owned()),
                nested::variable([(&self.name, leadership.token())]),
            ],
        };
        let stop = leadership.ending();
        let lease = Leases::new([lease.clone()]);
        match supervise::run(&program, self.terms, &lease, stop, signals).await? {
            Ended::ByItself { status, foreground } => {
                Ok(Some(ending::with_command(status, foreground)))
            }
            Ended::NotStarted(error) => Err(ending::not_started(&program, error)),
            Ended::Cut(Cut::Unguarded) => Err(ending::cut_off(Cut::Unguarded)),
            Ended::Cut(Cut::Lost(_) | Cut::RunningOut | Cut::Resigned) => {
                // A renewal may have succeeded after the end was settled; without a command another candidate should
                // lead.
                leadership.resign();
                let end = signals.end(self.terms.grace);
                Ok(end.map(|signal| ending::by_signal(signal.as_raw(), false)))
            }
        }
    }

    /// Releases the leadership, if there is one, and waits until the last line is printed.
    async fn step_down(
        self,
        stop: oneshot::Sender<()>,
        running: JoinHandle<()>,
        telling: JoinHandle<()>,
        signals: &mut Signals,
    ) {
        drop(stop);
        tokio::select! {
            biased;
            // The release has its own limit.
            _ = running => {}
            _ = signals.ending() => return,
        }
        // The lines end with the election.
        drop(self.election);
        drop(telling.await);
    }

    async fn failure(&self, error: Error) -> Failure {
        let doing = format!("can't take part in the election {:?}", self.name.as_str());
        match error {
            Error::Provider(error) => self.store.failure(&doing, error).await.into(),
            other => Failure::new(Exit::StoreUnreachable, doing).because(other),
        }
    }
}
