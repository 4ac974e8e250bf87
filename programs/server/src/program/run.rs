//! Serving, until a signal ends it.

use std::{
    fs,
    num::{NonZeroU8, NonZeroU32},
    path::Path,
    sync::Arc,
    time::Duration,
};

use dlock_stores::text::with_causes;
use tokio::net::{TcpListener, TcpSocket};
use tokio_util::sync::CancellationToken;

use super::{
    background::Background,
    failure::{Exit, Failure},
    metrics,
    settings::Plan,
    signals::{Signal, Signals},
    stores::{Found, HOW_TO_SERVE_TASKS, Stores},
};
use crate::{
    Limits, Rights, Service,
    listen::{Bounds, Server, Tls, TlsError},
    router,
};

/// Connections that the system may keep for us until they are accepted.
const BACKLOG: u32 = 1024;

/// Serves until a signal comes, and stops.
pub(super) async fn run(plan: &Plan) -> Result<(), Failure> {
    // From here on no signal is missed.
    let mut signals = Signals::new()?;
    raise_limit_of_files();
    let rights = plan.tokens.as_deref().map(rights).transpose()?;
    let tls = plan
        .tls
        .clone()
        .map(Tls::open)
        .transpose()
        .map_err(no_tls)?
        .map(Arc::new);
    let mut stores = Stores::open(plan).await?;
    if plan.setup {
        stores.set_up().await?;
    }
    match stores.check().await {
        Ok(Found::All) => {}
        Ok(Found::NoQueue) => tracing::info!(
            advice = HOW_TO_SERVE_TASKS,
            "there is no queue in the store"
        ),
        // The store may come back; meanwhile `/readyz` reports it.
        Err(error) if error.is_temporary() => {
            tracing::warn!(
                why = with_causes("", Some(&error)),
                "starting without an answer of the store"
            );
        }
        Err(error) => return Err(error.into()),
    }
    let listener = listen(plan)?;
    let mut limits = Limits {
        hosts: plan.hosts(),
        ..Limits::default()
    };
    let number = |number: NonZeroU32| number.get() as usize;
    limits.waits = plan.max_waits.map_or(limits.waits, number);
    limits.rate = plan.rate.map(NonZeroU32::get);
    limits.share = plan.share.map_or(limits.share, NonZeroU8::get);
    let mebibytes = |memory: NonZeroU32| number(memory).saturating_mul(1024 * 1024);
    limits.memory = plan.max_memory.map_or(limits.memory, mebibytes);
    let hours = |hours: u32| Duration::from_secs(3_600) * hours;
    limits.keep.succeeded = plan.keep_succeeded.map_or(limits.keep.succeeded, hours);
    limits.keep.others = plan.keep_failed.map_or(limits.keep.others, hours);
    let mut bounds = Bounds::default();
    bounds.connections = plan.max_connections.map_or(bounds.connections, number);
    let metrics = metrics::keep()?;
    let mut service = Service::new(Arc::clone(stores.store.provider()), limits)
        .with_metrics(move || metrics.render());
    if let Some(queue) = &stores.queue {
        service = service.with_tasks(Arc::clone(queue.tasks()));
    }
    if plan.api {
        service = service.with_api();
    }
    if let Some(rights) = rights {
        service.restrict(rights);
    }
    let mut server = Server::new(router(&service), bounds);
    if let Some(tls) = &tls {
        server = server.tls(Arc::clone(tls));
    }
    let address = listener.local_addr().unwrap_or(plan.listen);
    let stop = CancellationToken::new();
    let mut serving = tokio::spawn(server.serve(listener, stop.clone()));
    let background = Background::start(plan, stores.queue.as_ref(), &stop);
    tracing::info!(
        url = plan.url(address),
        store = %stores.store,
        serves = stores.serves(),
        "listening"
    );
    let stopped = async {
        while signals.next().await == Signal::Reload {
            reload(plan, &service, tls.as_deref());
        }
    };
    tokio::select! {
        () = stopped => {}
        never = service.forget_ended_tasks() => match never {},
        // It serves until `stop`: an earlier end is a panic, and a server that accepts no connections has to be
        // restarted.
        ended = &mut serving => {
            let failure = Failure::new(Exit::System, "the server has stopped serving");
            return Err(match ended {
                Ok(()) => failure,
                Err(error) => failure.because(&error),
            });
        }
    }
    tracing::info!("stopping");
    service.stop();
    stop.cancel();
    let all_end = async {
        let ended = (&mut serving).await;
        background.ended().await;
        ended
    };
    tokio::select! {
        ended = all_end => ended.map_err(|error| {
            Failure::new(Exit::System, "serving ended").because(&error)
        })?,
        () = signals.stopped_again() => tracing::warn!("a second signal: requests in flight are cut off"),
    }
    tracing::info!("stopped");
    Ok(())
}

/// Reads the settings that can change while the server runs. If they can't be used, nothing changes.
fn reload(plan: &Plan, service: &Service, tls: Option<&Tls>) {
    if plan.tokens.is_none() && tls.is_none() {
        tracing::info!("there is nothing to read again: neither --tokens nor TLS is set");
    }
    if let Some(path) = &plan.tokens {
        match rights(path) {
            Ok(rights) => {
                service.restrict(rights);
                tracing::info!(file = %path.display(), "tokens were read again");
            }
            Err(failure) => tracing::error!(why = %failure, "the tokens stay as they were"),
        }
    }
    if let Some(tls) = tls {
        match tls.reload() {
            Ok(()) => tracing::info!("certificates were read again"),
            Err(error) => {
                tracing::error!(
                    why = with_causes("", Some(&error)),
                    "the certificates stay as they were"
                );
            }
        }
    }
}

/// The contents of the file of tokens.
pub(super) fn rights(path: &Path) -> Result<Rights, Failure> {
    let shown = path.display();
    let text = fs::read_to_string(path).map_err(|error| {
        Failure::unusable(format!("can't read the tokens in {shown}")).because(&error)
    })?;
    Rights::parse(&text).map_err(|error| {
        Failure::unusable(format!("the tokens in {shown} can't be used")).because(&error)
    })
}

#[expect(clippy::needless_pass_by_value, reason = "it is what map_err hands on")]
pub(super) fn no_tls(error: TlsError) -> Failure {
    Failure::unusable("TLS can't be set up").because(&error)
}

fn listen(plan: &Plan) -> Result<TcpListener, Failure> {
    let open = || {
        let socket = if plan.listen.is_ipv4() {
            TcpSocket::new_v4()
        } else {
            TcpSocket::new_v6()
        }?;
        // The previous server may have left connections behind that are closing.
        #[cfg(unix)]
        socket.set_reuseaddr(true)?;
        socket.bind(plan.listen)?;
        socket.listen(BACKLOG)
    };
    open().map_err(|error: std::io::Error| {
        Failure::new(Exit::System, format!("can't listen on {}", plan.listen))
            .because(&error)
            .advise("is another server running there? name another address, with --listen")
    })
}

/// A connection is an open file, and the usual limit is far below our own.
#[cfg(unix)]
fn raise_limit_of_files() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!(%error, "the limit of open files can't be raised");
    }
}

#[cfg(not(unix))]
fn raise_limit_of_files() {}
