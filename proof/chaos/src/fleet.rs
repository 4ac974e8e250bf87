//! The workers' processes: starting, stopping, killing and restarting them.
//!
//! Only children of this process that were not waited for are ever signalled: until then no other process
//! can get their number. Each is in its own process group, reads a pipe that this process holds
//! open, and ends when that closes; if this process dies while one is stopped, the system ends the
//! orphan (a stopped process group without a parent gets SIGHUP and SIGCONT).

use std::{
    fs::File,
    io,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
};

use dlock_proof::history::{Log, OpenFault, line::PAUSE};
use dlock_testkit::proxy::Proxy;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use tokio::sync::{Mutex, MutexGuard};

use crate::{
    limits::{GOODBYE, SIGNAL, until},
    orders::Orders,
};

/// All workers. A task that acts on one holds its mutex meanwhile.
#[derive(Debug)]
pub(crate) struct Fleet {
    workers: Vec<Mutex<Worker>>,
    /// The proxy between each worker and the store, where the store is reached over a network.
    proxies: Vec<Proxy>,
}

/// One worker, through all its lives.
#[derive(Debug)]
pub(crate) struct Worker {
    number: usize,
    life: u32,
    running: Option<Running>,
    orders: Orders,
    folder: PathBuf,
    log: Log,
    /// The complaints about earlier lives.
    complaints: Vec<String>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    /// The worker ends when it closes.
    lifeline: Option<ChildStdin>,
}

/// The worker behind this proxy, as the history calls it in any of its lives.
pub(crate) fn every_life(proxy: usize) -> String {
    format!("worker-{}#", proxy + 1)
}

impl Fleet {
    /// Starts a worker for each of these orders, which contain the address of its store.
    pub(crate) fn start(
        orders: Vec<Orders>,
        proxies: Vec<Proxy>,
        folder: &Path,
        log: &Log,
    ) -> io::Result<Self> {
        let mut workers = Vec::new();
        for (index, orders) in orders.into_iter().enumerate() {
            let mut worker = Worker {
                number: index + 1,
                life: 0,
                running: None,
                orders,
                folder: folder.to_owned(),
                log: log.clone(),
                complaints: Vec::new(),
            };
            worker.start()?;
            workers.push(Mutex::new(worker));
        }
        Ok(Self { workers, proxies })
    }

    pub(crate) fn proxies(&self) -> &[Proxy] {
        &self.proxies
    }

    /// One of the workers on which no task acts at the moment.
    pub(crate) fn any(&self, random: &mut fastrand::Rng) -> Option<MutexGuard<'_, Worker>> {
        let mut order: Vec<usize> = (0..self.workers.len()).collect();
        random.shuffle(&mut order);
        order
            .into_iter()
            .find_map(|index| self.workers[index].try_lock().ok())
    }

    /// The worker of this name, if it is still in the life that the name states.
    pub(crate) async fn named(&self, name: &str) -> Option<MutexGuard<'_, Worker>> {
        let number = name.strip_prefix("worker-")?.split('#').next()?;
        let index = number.parse::<usize>().ok()?.checked_sub(1)?;
        let worker = self.workers.get(index)?.lock().await;
        (worker.name() == name).then_some(worker)
    }

    /// The names of all workers, in their present lives.
    pub(crate) async fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for worker in &self.workers {
            names.push(worker.lock().await.name());
        }
        names
    }

    /// Orders all workers to release everything and to end. Returns the complaints about them.
    pub(crate) async fn end(&self) -> io::Result<Vec<String>> {
        for worker in &self.workers {
            worker.lock().await.let_go()?;
        }
        let mut complaints = Vec::new();
        for worker in &self.workers {
            let mut worker = worker.lock().await;
            worker.until_gone().await?;
            complaints.append(&mut worker.complaints);
        }
        Ok(complaints)
    }
}

impl Worker {
    /// Its name in its present life.
    pub(crate) fn name(&self) -> String {
        match self.life {
            0 | 1 => format!("worker-{}", self.number),
            life => format!("worker-{}#{life}", self.number),
        }
    }

    /// Starts a life.
    pub(crate) fn start(&mut self) -> io::Result<()> {
        self.life += 1;
        let name = self.name();
        let orders = Orders {
            name: name.clone(),
            history: self.folder.join(format!("{name}.jsonl")),
            seed: self.orders.seed ^ u64::from(self.life) << 32,
            ..self.orders.clone()
        };
        let mut child = Command::new(std::env::current_exe()?)
            .arg("worker")
            .arg(serde_json::to_string(&orders)?)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(File::create(self.folder.join(format!("{name}.err")))?)
            .process_group(0)
            .spawn()?;
        let lifeline = child.stdin.take();
        self.running = Some(Running { child, lifeline });
        Ok(())
    }

    /// Ends its life at once. The history records when it had ended.
    pub(crate) async fn kill(&mut self) -> io::Result<()> {
        if let Some(status) = self.ended()? {
            self.complain(&format!("ended on its own with {status}"));
        } else if self.signal(Signal::KILL)? {
            self.until_ended().await?;
        }
        self.running = None;
        self.log.killed(&self.name());
        Ok(())
    }

    /// Stops it, until [`Worker::go_on`]. `None`: it has ended on its own.
    pub(crate) async fn stop(&mut self) -> io::Result<Option<OpenFault>> {
        let pause = self.log.fault(PAUSE, &self.name());
        if self.ended()?.is_some() || !self.signal(Signal::STOP)? {
            return Ok(None);
        }
        let stopped = until(SIGNAL, || {
            let Some(running) = &self.running else {
                return true;
            };
            let options = WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
            // This does not consume the status that the child's own wait needs.
            waitid(WaitId::Pid(pid(running)), options).is_ok_and(|stopped| stopped.is_some())
        })
        .await;
        if !stopped {
            return Err(io::Error::other(format!("{} does not stop", self.name())));
        }
        Ok(Some(pause))
    }

    pub(crate) fn go_on(&mut self, pause: OpenFault) -> io::Result<()> {
        if self.ended()?.is_none() {
            self.signal(Signal::CONT)?;
        }
        pause.end();
        Ok(())
    }

    /// Its status, if it has ended.
    fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        match &mut self.running {
            Some(running) => running.child.try_wait(),
            None => Ok(None),
        }
    }

    /// Sends a signal to a child that was not waited for. Returns whether there is one.
    fn signal(&self, signal: Signal) -> io::Result<bool> {
        match &self.running {
            Some(running) => {
                kill_process(pid(running), signal)?;
                Ok(true)
            }
            None => Ok(false),
        }
    }

    async fn until_ended(&mut self) -> io::Result<ExitStatus> {
        let mut status = None;
        until(SIGNAL, || {
            status = self.ended().ok().flatten();
            status.is_some()
        })
        .await;
        status.ok_or_else(|| io::Error::other(format!("{} does not end", self.name())))
    }

    fn let_go(&mut self) -> io::Result<()> {
        if let Some(status) = self.ended()? {
            self.complain(&format!("ended on its own with {status}"));
            self.running = None;
        }
        if let Some(running) = &mut self.running {
            drop(running.lifeline.take());
        }
        Ok(())
    }

    async fn until_gone(&mut self) -> io::Result<()> {
        let mut status = None;
        until(GOODBYE, || {
            status = self.ended().ok().flatten();
            status.is_some() || self.running.is_none()
        })
        .await;
        match status {
            Some(status) if !status.success() => self.complain(&format!("ended with {status}")),
            None if self.running.is_some() => {
                self.complain(&format!("did not end within {GOODBYE:?}"));
                self.kill().await?;
            }
            _ => {}
        }
        Ok(())
    }

    fn complain(&mut self, what: &str) {
        let said = self.errors();
        self.complaints
            .push(format!("{} {what}: {}", self.name(), said.trim()));
    }

    /// The text that it wrote to its standard error.
    fn errors(&self) -> String {
        let path = self.folder.join(format!("{}.err", self.name()));
        std::fs::read_to_string(path).unwrap_or_default()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The controller is failing already, so errors are ignored. A child that has ended is not signalled.
        if matches!(self.child.try_wait(), Ok(None)) && self.child.kill().is_ok() {
            drop(self.child.wait());
        }
    }
}

fn pid(running: &Running) -> Pid {
    Pid::from_child(&running.child)
}
