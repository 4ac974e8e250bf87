//! I14: dropping any future of the frontend at any poll leaves nothing behind. Every poll, on the
//! memory store in both disciplines, in virtual time.

#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

use std::{collections::BTreeSet, fs, path::Path};

use dlock_core::provider::Discipline;
use dlock_proof::cancelling;
use dlock_testkit::memory::{MemoryProvider, MemoryStore};

/// The files of the types whose methods return futures that a user of locks polls.
const SOURCES: [&str; 9] = [
    "dlock-core/src/api/guard.rs",
    "dlock-core/src/api/lease.rs",
    "dlock-core/src/api/lock.rs",
    "dlock-core/src/api/redeem.rs",
    "dlock-core/src/client.rs",
    "dlock-core/src/lease/view.rs",
    "layers/several/src/multi.rs",
    "layers/several/src/multi/guard.rs",
    "layers/several/src/semaphore.rs",
];

/// `Type::method` of every public future of these, and `Lease::keep_alive`, whose guard renews in a task.
fn public_futures() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut futures = BTreeSet::from(["Lease::keep_alive".to_owned()]);
    for source in SOURCES {
        let text = fs::read_to_string(root.join(source)).unwrap();
        for item in syn::parse_file(&text).unwrap().items {
            let syn::Item::Impl(of) = item else { continue };
            let syn::Type::Path(of_type) = &*of.self_ty else {
                continue;
            };
            let of_type = &of_type.path.segments.last().unwrap().ident;
            let methods = of.items.iter().filter_map(|item| match item {
                syn::ImplItem::Fn(method) if is_public_future(method) => Some(&method.sig.ident),
                _ => None,
            });
            futures.extend(methods.map(|method| format!("{of_type}::{method}")));
        }
    }
    futures
}

fn is_public_future(method: &syn::ImplItemFn) -> bool {
    let is_future = match &method.sig.output {
        syn::ReturnType::Type(_, output) => match &**output {
            syn::Type::ImplTrait(output) => output.bounds.iter().any(|bound| {
                matches!(bound, syn::TypeParamBound::Trait(bound)
                    if bound.path.segments.last().unwrap().ident == "Future")
            }),
            _ => false,
        },
        syn::ReturnType::Default => false,
    };
    matches!(method.vis, syn::Visibility::Public(_))
        && (method.sig.asyncness.is_some() || is_future)
}

async fn everywhere(discipline: Discipline, cheap_reads: bool) {
    let store = MemoryStore::new(discipline);
    let provider = || MemoryProvider::new(&store).cheap_reads(cheap_reads);
    let tally = cancelling::everywhere(provider).await;
    println!("{discipline:?}: {tally:#?}");
    let idle: Vec<_> = tally.each.iter().filter(|(_, drops)| **drops < 8).collect();
    assert!(idle.is_empty(), "dropped too seldom: {idle:?}");
    let cut: BTreeSet<String> = tally.each.keys().map(|name| (*name).to_owned()).collect();
    assert_eq!(cut, public_futures());
}

#[ignore = "half a minute of processor time; scripts/proof"]
#[tokio::test(start_paused = true)]
async fn nothing_is_left_where_the_stores_clock_decides() {
    everywhere(Discipline::StoreClock, false).await;
}

#[ignore = "half a minute of processor time; scripts/proof"]
#[tokio::test(start_paused = true)]
async fn nothing_is_left_where_contenders_observe() {
    everywhere(Discipline::Observer, false).await;
}

#[ignore = "half a minute of processor time; scripts/proof"]
#[tokio::test(start_paused = true)]
async fn nothing_is_left_where_waiters_look_first() {
    everywhere(Discipline::Observer, true).await;
}
