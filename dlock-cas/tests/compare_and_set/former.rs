//! Records that a former release has written. They stay as they are here; a format that changes gets a number and tests
//! beside these.

use dlock_cas::{CasProvider, CasStore, Put};
use dlock_core::{
    Provider,
    provider::{
        Acquire, AcquireOutcome, Admin, List, Release, ReleaseOutcome, Renew, RenewOutcome, Version,
    },
};
use uuid::Uuid;

use crate::{store::Memory, support::term};

const TERM: &str = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";

/// Of a lock that is held, with data.
const HELD: &str = r#"{"dlock":1,"uuid":"3f2504e0-4f89-41d3-9a0c-0305e82c3301","renewals":4,"owner":"web-3:4711","since":1795253490374226,"token":1795253490374226,"duration":600000,"released":false,"asked":false,"data":"a2VwdA=="}"#;

/// Of one that was asked for and given back, by a clock that was far ahead.
const FREE: &str = r#"{"dlock":1,"uuid":"3f2504e0-4f89-41d3-9a0c-0305e82c3301","renewals":9,"owner":"web-1:99","since":9007199254740000,"token":9007199254740000,"duration":600000,"released":true,"asked":true}"#;

/// A store in which the former release has left two holders, of whom one has died, and a lock that is free.
async fn left() -> Memory {
    let memory = Memory::default();
    for (key, record) in [
        ("shop/held", HELD),
        ("shop/dead", HELD),
        ("shop/free", FREE),
    ] {
        let put = memory.put_if(key, record.into(), None).await.unwrap();
        assert!(matches!(put, Put::Done(_)));
    }
    memory
}

fn on(memory: &Memory) -> CasProvider<Memory> {
    CasProvider::new(memory.clone())
        .with_prefix("shop")
        .unwrap()
}

async fn granted(provider: &CasProvider<Memory>, request: &Acquire) -> u64 {
    match provider.acquire(request).await.unwrap() {
        AcquireOutcome::Acquired(tokens) => tokens.last().get(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn records_of_format_1_are_used_with_their_holders() {
    let provider = on(&left().await);
    let uuid: Uuid = TERM.parse().unwrap();
    let AcquireOutcome::Held(held) = provider.acquire(&term("held")).await.unwrap() else {
        panic!("a former holder has lost its lock");
    };
    assert_eq!(
        (held.uuid, held.renewals, held.token.get()),
        (uuid, 4, 1_795_253_490_374_226)
    );
    assert_eq!(
        (held.owner.as_str(), held.data.as_deref()),
        ("web-3:4711", Some(&b"kept"[..]))
    );
    let name = term("held").name;
    let renewed = provider.renew(&Renew::new(name.clone(), uuid, 5)).await;
    assert_eq!(renewed.unwrap(), RenewOutcome::Renewed { asked: false });
    let released = provider.release(&Release::new(name, uuid, None)).await;
    assert_eq!(released.unwrap(), ReleaseOutcome::Released);
    assert!(granted(&provider, &term("held")).await > held.token.get());

    // Its holder has not renewed it for as long as its lease lasts.
    let unchanged = Version { uuid, renewals: 4 };
    let takeover = term("dead").prev(Some(unchanged));
    assert!(granted(&provider, &takeover).await > held.token.get());
    assert_eq!(
        granted(&provider, &term("free")).await,
        9_007_199_254_740_001
    );
    let page = provider.list(&List::new("")).await.unwrap();
    assert_eq!((page.records.len(), page.unreadable.len()), (3, 0));
}

/// So the next release reads what this one writes, as long as the test above holds.
#[tokio::test]
async fn what_is_written_today_is_of_that_format() {
    let memory = left().await;
    let provider = on(&memory);
    let uuid: Uuid = TERM.parse().unwrap();
    let name = term("held").name;
    provider.renew(&Renew::new(name, uuid, 5)).await.unwrap();
    let written = memory.get("shop/held").await.unwrap().unwrap().bytes;
    let renewed = HELD.replace("\"renewals\":4", "\"renewals\":5");
    assert_eq!(String::from_utf8(written).unwrap(), renewed);
}
