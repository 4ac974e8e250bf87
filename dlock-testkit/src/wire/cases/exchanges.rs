//! Calls that may take several exchanges, such as a read and then a write: each exchange is struck once.

use std::{
    convert::Infallible,
    sync::atomic::{AtomicBool, Ordering},
};

use dlock_core::{
    Provider,
    provider::{AcquireOutcome, Release, ReleaseOutcome},
};
use tokio::time::Instant;

use super::{calls::shown, cuts};
use crate::{
    faults::Op,
    proxy::{Fault, Rule},
    slow::in_time,
    wire::{
        Wiring,
        scene::{Answers, OPS, Scene},
        wiring::{Wire, ok, soon},
    },
};

/// More than any call has. A call with more would never end here.
const MOST_EXCHANGES: usize = 32;

pub(super) async fn call_cut_at_any_moment_is_told_truly_and_its_repeat_answered(wiring: Wiring) {
    let (wire, direct) = (wiring.wire().await, wiring.direct().await);
    for op in OPS {
        for fault in cuts() {
            // For each call that got no answer: whether the store has applied it.
            let mut applied = Vec::new();
            for exchange in 0.. {
                assert!(exchange < MOST_EXCHANGES, "{op:?}: so many exchanges");
                let scene = Scene::set(&wiring, op, &direct).await;
                let cut = format!("{op:?}, {fault} of exchange {}", exchange + 1);
                let rule = Rule::new(fault).skip(exchange).times(1);
                let asked = Instant::now();
                let (answers, struck) = soon(&cut, strike(&wire, rule, &scene)).await;
                let late = wiring.is_late(asked);
                scene.is_true(&answers).await;
                if let [Err(_)] = &answers[..] {
                    applied.push(scene.applied().await == [true]);
                }
                let after = format!("{cut} ({answers:?})");
                soon("the repeat", scene.repeat(&wire.provider, &after)).await;
                if !struck {
                    let whole = answers.iter().all(Result::is_ok);
                    in_time(whole || !late, format_args!("{op:?}: {answers:?}"));
                    assert!(whole, "{op:?} was not cut: {answers:?}");
                    break;
                }
            }
            if op != Op::Read {
                was_cut_where_it_says(&applied, op, fault);
            }
        }
    }
}

/// A release frees the lock, its reply is lost, and the next holder enters before the provider can look. "Not held"
/// would report a loss that did not happen.
pub(super) async fn release_that_let_the_next_holder_in_is_not_denied(wiring: Wiring) {
    let direct = wiring.direct().await;
    let let_in = AtomicBool::new(false);
    for exchange in 0..MOST_EXCHANGES {
        let wire = wiring.wire().await;
        let term = wiring.term(exchange);
        wiring.answered(wire.provider.acquire(&term)).await;
        let chosen = wire.proxy.chosen();
        let rule = Rule::new(Fault::LoseReply).skip(exchange).times(1);
        wire.proxy.inject(rule);
        let next = async {
            wire.proxy.until_struck(1).await;
            if shown(&*direct, &term.name).await.released {
                let mut next = wiring.term("next");
                next.name = term.name.clone();
                let outcome = ok(direct.acquire(&next).await);
                let granted = matches!(outcome, AcquireOutcome::Acquired(_));
                assert!(granted, "the lock is free: {outcome:?}");
                let_in.store(true, Ordering::Relaxed);
            }
            // Now the call learns that it will get no answer.
            wire.proxy.reset();
            std::future::pending::<Infallible>().await
        };
        let release = Release::new(term.name.clone(), term.new, None);
        let answer = tokio::select! {
            answer = soon("the release", wire.provider.release(&release)) => answer,
            never = next => match never {},
        };
        assert!(
            !matches!(answer, Ok(ReleaseOutcome::NotHeld(_))),
            "a release that had let the next holder in was answered {answer:?}; a reply that is lost is `Unknown`, \
             and a release that the driver repeats by itself cannot be told from one that came too late"
        );
        if wire.proxy.chosen() == chosen {
            break;
        }
    }
    let let_in = let_in.load(Ordering::Relaxed);
    assert!(let_in, "no reply was lost of a release that freed the lock");
}

/// Makes a call under this rule. Returns its answers, and whether it had an exchange that the rule strikes.
async fn strike(wire: &Wire, rule: Rule, scene: &Scene) -> (Answers, bool) {
    let (strikes, chosen) = (wire.proxy.struck(), wire.proxy.chosen());
    wire.proxy.inject(rule);
    let answers = scene.ask(&wire.provider).await;
    wire.proxy.clear();
    let struck = wire.proxy.chosen() > chosen;
    if struck {
        wire.proxy.until_struck(strikes + 1).await;
    }
    (answers, struck)
}

/// Checks the proxy's promise, without which the case would prove nothing. One exchange of a call applies it, the
/// write. The server has executed the exchanges before the one that was cut, and that one too if the fault says so. So
/// of the calls without an answer, the first ones were not applied and the later ones were; after a fault that executes
/// the exchange it cuts, the last call was applied, and after any other fault the first one was not.
fn was_cut_where_it_says(applied: &[bool], op: Op, fault: Fault) {
    let promised = if fault.executed() {
        applied.last() != Some(&false)
    } else {
        applied.first() != Some(&true)
    };
    assert!(
        promised && applied.is_sorted(),
        "{op:?}, {fault}: {applied:?}, each for one exchange that was cut, whether the store has applied the call"
    );
}
