//! The size of a call's future.

use dlock_core::provider::{Release, Renew};

use crate::Bench;

pub(super) async fn futures_of_calls_are_small(bench: Bench) {
    let provider = bench.provider().await;
    let acquire = bench.term(&bench.name(""));
    let renew = Renew::new(acquire.name.clone(), acquire.new, 1);
    let release = Release::new(acquire.name.clone(), acquire.new, None);
    let sizes = [
        ("acquire", size_of_val(&*provider.acquire(&acquire))),
        ("renew", size_of_val(&*provider.renew(&renew))),
        ("release", size_of_val(&*provider.release(&release))),
    ];
    let most = bench.future_bytes();
    assert!(
        sizes.iter().all(|(_, bytes)| *bytes <= most),
        "a future may have {most} bytes, and these have {sizes:?}: box the branches that hardly ever run"
    );
}
