//! A record that a former release has written: the one that the README shows. It stays as it is; a format that
//! changes gets a number and tests of its own.

use dlock_core::{
    Provider,
    provider::{AcquireOutcome, Release, ReleaseOutcome, Renew, RenewOutcome},
};

use crate::support::{LONG, Server, ask, granted, name, record, try_for, words};

/// The key and the text of the README's record.
fn shown() -> (&'static str, &'static str) {
    let readme = include_str!("../../README.md");
    let (_, shown) = readme.split_once("> GET ").unwrap();
    let (key, rest) = shown.split_once('\n').unwrap();
    let (text, _) = rest.trim_start_matches('"').split_once('"').unwrap();
    (key, text)
}

#[tokio::test]
async fn a_record_of_format_1_is_used_with_its_holder() {
    let server = Server::start(&[]).await;
    let (key, text) = shown();
    let mut raw = server.raw().await;
    let mut set = redis::cmd("SET");
    ask::<()>(&mut raw, set.arg(key).arg(text).arg("PX").arg("86400000")).await;
    // It was renewed a moment ago.
    let (seconds, micros): (u64, u64) = ask(&mut raw, &words("TIME")).await;
    let now = format!("{seconds}{micros:06}");
    record::rewrite(&mut raw, key, "extended", now.as_bytes()).await;

    let provider = server.provider();
    let name = name("invoices/2026-11");
    let held = provider.acquire(&try_for(&name, LONG)).await.unwrap();
    let AcquireOutcome::Held(held) = held else {
        panic!("{held:?}")
    };
    assert_eq!(
        held.uuid.to_string(),
        "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
    );
    assert_eq!(
        (held.renewals, held.token.get()),
        (4, 1_795_253_490_374_226)
    );
    assert_eq!(
        (held.owner.as_str(), held.duration.as_secs()),
        ("web-3:4711", 30)
    );
    let renew = Renew::new(name.clone(), held.uuid, 5);
    let renewed = provider.renew(&renew).await.unwrap();
    assert_eq!(renewed, RenewOutcome::Renewed { asked: false });
    let release = Release::new(name.clone(), held.uuid, None);
    let released = provider.release(&release).await.unwrap();
    assert_eq!(released, ReleaseOutcome::Released);
    assert!(granted(&provider, &try_for(&name, LONG)).await > held.token);
}
