//! Contents never repeat for a name: a store whose versions derive from contents has nothing to confuse.

use std::{collections::HashSet, time::Duration};

use dlock_cas::{CasProvider, CasStore};
use dlock_core::{
    Name, Provider,
    provider::{Acquire, Admin, Ask, Closing, Release, Renew, Revoke, Version},
};
use uuid::{Builder, Uuid};

use crate::store::Memory;

/// Plays requests of every kind on one name, repeated and late ones among them. Each write must leave
/// contents that were never there.
#[tokio::test]
async fn contents_never_repeat_for_a_name() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let memory = Memory::default();
    let providers = [0; 3].map(|_| CasProvider::new(memory.clone()));
    let name = Name::new("door").unwrap();
    let mut terms: Vec<Uuid> = vec![Uuid::new_v4()];
    let mut closings: Vec<Closing> = Vec::new();
    let mut revokes: Vec<Revoke> = Vec::new();
    let mut versions: Vec<Version> = Vec::new();
    let (mut seen, mut last) = (HashSet::new(), None);
    for _ in 0..20_000 {
        let provider = rng.choice(&providers).unwrap();
        let back = |rng: &mut fastrand::Rng, len: usize| len - 1 - rng.usize(..len.min(4));
        let uuid = terms[back(&mut rng, terms.len())];
        let record = provider.read(&name).await.unwrap();
        let version = record.map(|record| record.version());
        versions.extend(version);
        match rng.usize(..12) {
            0..=2 => {
                if rng.bool() {
                    terms.push(Builder::from_random_bytes(rng.u128(..).to_ne_bytes()).into_uuid());
                }
                let new = terms[back(&mut rng, terms.len())];
                let lease = Duration::from_millis(rng.u64(100..102));
                let prev = versions
                    .get(versions.len().wrapping_sub(rng.usize(1..3)))
                    .copied();
                let request = Acquire::new(name.clone(), new, lease)
                    .prev(prev)
                    .marks(rng.u32(..3));
                drop(provider.acquire(&request).await.unwrap());
            }
            3..=5 => {
                let renewals = version.map_or(0, |version| version.renewals);
                let n = (renewals + 2).saturating_sub(rng.u64(..4));
                drop(
                    provider
                        .renew(&Renew::new(name.clone(), uuid, n))
                        .await
                        .unwrap(),
                );
            }
            6 | 7 => {
                let release = Release::new(name.clone(), uuid, None);
                drop(provider.release(&release).await);
            }
            8 => {
                if closings.is_empty() || rng.bool() {
                    closings.push(Closing::new(Duration::from_millis(100)).unwrap());
                }
                let closing = closings[back(&mut rng, closings.len())];
                let release = Release::new(name.clone(), uuid, None).closing(Some(closing));
                drop(provider.release(&release).await);
            }
            9 => {
                if let Some(version) = version.filter(|_| rng.bool()) {
                    revokes.push(Revoke::new(name.clone(), version).unwrap());
                }
                if let Some(revoke) = revokes.last() {
                    drop(provider.revoke(revoke).await.unwrap());
                }
            }
            _ => drop(provider.ask(&Ask::new(name.clone(), uuid)).await.unwrap()),
        }
        let now = memory.get("/door").await.unwrap();
        let Some(now) = now.filter(|entry| Some(entry.version) != last) else {
            continue;
        };
        last = Some(now.version);
        let text = String::from_utf8_lossy(&now.bytes).into_owned();
        assert!(seen.insert(now.bytes), "{text} was there before");
    }
    assert!(seen.len() > 1_000, "only {} writes", seen.len());
}
