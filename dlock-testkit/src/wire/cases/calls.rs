//! Calls of the provider itself.

use std::time::Duration;

use dlock_core::{
    ErrorKind, Name, Provider, Record,
    provider::{Release, Renew},
};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::{
    faults::Op,
    proxy::{Fault, Happening, Proxy},
    slow::{in_time, joined, within},
    wire::{
        Wiring,
        scene::{OPS, Scene},
        wiring::{ok, soon},
    },
};

pub(super) async fn silent_call_ends_and_its_connection_with_it(wiring: Wiring) {
    let direct = wiring.direct().await;
    let mut all = JoinSet::new();
    for op in OPS {
        for fault in [Fault::LoseRequest, Fault::LoseReply] {
            let (wiring, direct) = (wiring.clone(), direct.clone());
            all.spawn(async move {
                let wire = wiring.wire().await;
                let scene = Scene::set(&wiring, op, &direct).await;
                wire.proxy.next(fault);
                let limit = 3 * wiring.limit();
                let what = format!("{op:?}, {fault}");
                let answers = within(limit, &what, scene.ask(&wire.provider)).await;
                // A call that was given up before its fault struck meets none.
                in_time(wire.proxy.struck() > 0, what);
                assert_eq!(wire.proxy.struck(), 1);
                assert!(
                    op == Op::Read || answers.iter().any(Result::is_err),
                    "{op:?}, {fault}: who answered that?"
                );
                scene.is_true(&answers).await;
                scene.repeat(&wire.provider, &fault.to_string()).await;
            });
        }
    }
    finished(all).await;
}

pub(super) async fn dropped_call_leaves_its_connection_to_nobody(wiring: Wiring) {
    let direct = wiring.direct().await;
    let mut all = JoinSet::new();
    for op in OPS {
        // An answer that arrives after other calls were made, and one that arrives after all of them have ended.
        for late in [wiring.limit() / 10, 20 * wiring.limit()] {
            let (wiring, direct) = (wiring.clone(), direct.clone());
            all.spawn(async move {
                let wire = wiring.wire().await;
                let scene = Scene::set(&wiring, op, &direct).await;
                let others = Scene::set(&wiring, Op::Read, &direct).await;
                wire.proxy.next(Fault::DelayReply(late));
                tokio::select! {
                    biased;
                    _ = scene.ask(&wire.provider) => {}
                    () = wire.proxy.until_struck(1) => {}
                }
                let after = "a dropped call";
                let began = Instant::now();
                while began.elapsed() < wiring.limit() / 4 {
                    others.repeat(&wire.provider, after).await;
                }
                scene.repeat(&wire.provider, after).await;
            });
        }
    }
    finished(all).await;
}

/// The client was reset, has repeated the request and continued; then its first request is executed.
pub(super) async fn request_that_arrives_late_changes_nothing(wiring: Wiring) {
    let (wire, direct) = (wiring.wire().await, wiring.direct().await);
    let late = Fault::Late(wiring.lease() / 2);
    for op in [Op::Acquire, Op::Renew, Op::Release] {
        for successor in [false, true] {
            let scene = Scene::set(&wiring, op, &direct).await;
            let term = scene.term();
            wire.proxy.next(late);
            let answers = soon(format!("{op:?}"), scene.ask(&wire.provider)).await;
            scene.is_true(&answers).await;
            scene.repeat(&wire.provider, "a reset").await;
            if op == Op::Renew {
                let newer = Renew::new(term.name.clone(), term.new, 2);
                wiring.answered(wire.provider.renew(&newer)).await;
            }
            if successor {
                let release = Release::new(term.name.clone(), term.new, None);
                wiring.answered(wire.provider.release(&release)).await;
                let mut next = wiring.term("next");
                next.name = term.name.clone();
                wiring.answered(wire.provider.acquire(&next)).await;
            }
            let before = shown(&*direct, &term.name).await;
            executed(&wire.proxy).await;
            let after = shown(&*direct, &term.name).await;
            assert!(
                after.remaining <= before.remaining,
                "{op:?}: the late request made the lease longer"
            );
            let mut same = after.clone();
            same.remaining = before.remaining;
            assert_eq!(same, before, "{op:?}: what the late request did");
        }
    }
}

pub(super) async fn refused_connection_is_not_applied(wiring: Wiring) {
    let (wire, direct) = (wiring.wire().await, wiring.direct().await);
    wire.proxy.refuse().await;
    wire.proxy.reset();
    for op in OPS {
        let scene = Scene::set(&wiring, op, &direct).await;
        // A driver may need one call for each of its old connections to learn that it is gone.
        let (mut refused, mut asked) = (false, Instant::now());
        for _ in 0..4 {
            asked = Instant::now();
            let answers = soon(format!("{op:?}"), scene.ask(&wire.provider)).await;
            scene.is_true(&answers).await;
            assert!(answers.iter().all(Result::is_err), "who answered that?");
            let kinds = answers.iter().filter_map(|answer| answer.as_ref().err());
            refused = kinds
                .map(dlock_core::ProviderError::kind)
                .all(|kind| kind == ErrorKind::NotApplied);
            if refused {
                break;
            }
        }
        let late = wiring.is_late(asked);
        in_time(
            refused || !late,
            format_args!("{op:?} on a refused connection"),
        );
        assert!(refused, "{op:?}: nothing was sent, and no error says so");
    }
    wire.proxy.accept().await;
    for op in OPS {
        let scene = Scene::set(&wiring, op, &direct).await;
        scene.repeat(&wire.provider, "a refused connection").await;
    }
}

pub(super) async fn idle_connections_that_ended_are_replaced(wiring: Wiring) {
    let (wire, direct) = (wiring.wire().await, wiring.direct().await);
    for op in OPS {
        for cut in [Proxy::close, Proxy::reset] {
            let scene = Scene::set(&wiring, op, &direct).await;
            // Open and idle; then the server restarts, for example.
            let others = Scene::set(&wiring, Op::Read, &direct).await;
            others.repeat(&wire.provider, "the start").await;
            ended(&wire.proxy, cut).await;
            let answers = soon(format!("{op:?}"), scene.ask(&wire.provider)).await;
            scene.is_true(&answers).await;
            scene
                .repeat(&wire.provider, "the end of its connection")
                .await;
        }
    }
}

/// Ends all connections, and waits until their clients can know it.
async fn ended(proxy: &Proxy, cut: fn(&Proxy)) {
    let open = proxy.connections();
    cut(proxy);
    soon("the ends of the connections", async {
        loop {
            let log = proxy.log();
            let ended = log.iter().filter(
                |event| matches!(event.what, Happening::Ended { connection } if connection <= open),
            );
            let all = ended.count() == open;
            // Even after the last of them: a runtime notices the end of an idle socket only when it waits for
            // something.
            sleep(Duration::from_millis(5)).await;
            if all {
                return;
            }
        }
    })
    .await;
}

/// Waits until the server has executed the late request.
async fn executed(proxy: &Proxy) {
    let log = proxy.log();
    let last = log.iter().rev().find_map(|event| match event.what {
        Happening::Struck { connection, .. } => Some(connection),
        _ => None,
    });
    let Some(connection) = last else {
        panic!("no request was late")
    };
    let ended = Happening::Ended { connection };
    soon("the late request", async {
        while !proxy.log().iter().any(|event| event.what == ended) {
            sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

pub(super) async fn shown(direct: &dyn Provider, name: &Name) -> Record {
    match ok(direct.read(name).await) {
        Some(record) => record,
        None => panic!("{name} is gone"),
    }
}

pub(super) async fn finished(mut all: JoinSet<()>) {
    while let Some(ended) = all.join_next().await {
        joined(ended);
    }
}
