//! A caller that polls a future according to the plan: it may stop, or look away for a while.

use std::{
    pin::{Pin, pin},
    task::Poll,
};

use dlock_testkit::machine::Machine;

use super::plan::{Away, Cancel};

/// Polls until there is a result; `None` if the future was dropped before. The value of `looks_away` is dropped when
/// the caller polls again.
#[expect(clippy::future_not_send, reason = "as sendable as the future it polls")]
pub(super) async fn attend<F: Future, A: Send + 'static>(
    machine: &Machine,
    cancel: Option<Cancel>,
    mut away: Option<Away>,
    looks_away: impl Fn() -> A,
    future: F,
) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut polls = 0;
    let mut timer: Option<Pin<Box<dyn Future<Output = ()> + Send>>> = match cancel {
        Some(Cancel::After(span)) => {
            let machine = machine.clone();
            Some(Box::pin(async move { machine.sleep(span).await }))
        }
        _ => None,
    };
    let mut elsewhere: Option<Pin<Box<dyn Future<Output = ()> + Send>>> = None;
    std::future::poll_fn(|context| {
        loop {
            if let Some(busy) = &mut elsewhere {
                if busy.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                elsewhere = None;
            }
            if let Poll::Ready(output) = future.as_mut().poll(context) {
                return Poll::Ready(Some(output));
            }
            polls += 1;
            if cancel == Some(Cancel::AtPoll(polls)) {
                return Poll::Ready(None);
            }
            if let Some(timer) = &mut timer
                && timer.as_mut().poll(context).is_ready()
            {
                return Poll::Ready(None);
            }
            match away.take_if(|away| away.at_poll == polls) {
                Some(Away { lasting, .. }) => {
                    let away = looks_away();
                    let machine = machine.clone();
                    elsewhere = Some(Box::pin(async move {
                        machine.sleep(lasting).await;
                        drop(away);
                    }));
                }
                None => return Poll::Pending,
            }
        }
    })
    .await
}
