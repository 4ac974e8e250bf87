//! Pages in byte order, and the three administrative requests.

use std::time::Duration;

use dlock_core::{
    Name, Provider,
    provider::{
        Admin, Ask, AskOutcome, List, Release, Renew, RenewOutcome, Revoke, RevokeOutcome, Version,
    },
};
use uuid::Uuid;

use crate::support::{Scratch, block_on, name, refused, take};

const LONG: Duration = Duration::from_secs(60);

#[test]
fn pages_come_in_byte_order_and_miss_nothing() {
    let scratch = Scratch::new();
    block_on(async {
        let provider = scratch.provider();
        // Upper before lower case, and beyond the basic plane last: bytes, not letters.
        let mut names = [
            "b",
            "a",
            "Z",
            "a/2",
            "a/1",
            "a/10",
            "ä",
            "a\u{10FFFF}",
            "a\u{FFFF}",
            "\u{10FFFF}x",
        ];
        for text in names {
            take(&provider, text, LONG).await;
        }
        names.sort_unstable();
        for limit in [0, 1, 3, 9, 10, 11, usize::MAX] {
            for prefix in ["", "a", "a/", "a/1", "a\u{10FFFF}", "\u{10FFFF}", "none"] {
                let expected: Vec<_> = names
                    .iter()
                    .filter(|name| name.starts_with(prefix))
                    .copied()
                    .collect();
                let mut found: Vec<Name> = Vec::new();
                let mut after = None;
                loop {
                    let page = provider
                        .list(&List::new(prefix).limit(limit).after(after))
                        .await
                        .unwrap();
                    assert!(page.records.len() <= limit.max(1));
                    assert!(
                        page.next.is_none()
                            || page.next.as_ref() == page.records.last().map(|(name, _)| name)
                    );
                    found.extend(page.records.into_iter().map(|(name, _)| name));
                    after = page.next;
                    if after.is_none() {
                        break;
                    }
                }
                let found: Vec<_> = found.iter().map(Name::as_str).collect();
                assert_eq!(found, expected, "{prefix:?} by {limit}");
            }
        }
    });
}

#[test]
fn a_page_shows_records_as_read_does() {
    let scratch = Scratch::new();
    block_on(async {
        let provider = scratch.provider();
        let (uuid, _) = take(&provider, "released", LONG).await;
        provider
            .release(&Release::new(name("released"), uuid, None))
            .await
            .unwrap();
        take(&provider, "held", LONG).await;
        for (name, mut listed) in provider.list(&List::new("")).await.unwrap().records {
            let mut read = provider.read(&name).await.unwrap().unwrap();
            assert_eq!(listed.remaining.is_some(), name.as_str() == "held");
            (listed.remaining, read.remaining) = (None, None);
            assert_eq!(listed, read);
        }
    });
}

#[test]
fn a_revoked_term_renews_no_more_and_keeps_its_time() {
    let scratch = Scratch::new();
    block_on(async {
        let provider = scratch.provider();
        let (uuid, token) = take(&provider, "a", LONG).await;
        provider
            .renew(&Renew::new(name("a"), uuid, 1))
            .await
            .unwrap();

        let stale = Revoke::new(name("a"), Version { uuid, renewals: 0 }).unwrap();
        assert!(matches!(
            provider.revoke(&stale).await,
            Ok(RevokeOutcome::Changed(Some(_)))
        ));
        let revoke = Revoke::new(name("a"), Version { uuid, renewals: 1 }).unwrap();
        for _ in 0..2 {
            assert_eq!(
                provider.revoke(&revoke).await.unwrap(),
                RevokeOutcome::Revoked
            );
        }
        let left = refused(&provider, "a").await;
        assert_eq!(
            (left.uuid, left.renewals, left.token),
            (revoke.new, 0, token)
        );
        assert!(left.remaining.unwrap() > LONG - crate::support::PATIENCE);
        assert!(matches!(
            provider.renew(&Renew::new(name("a"), uuid, 2)).await,
            Ok(RenewOutcome::Lost(Some(_)))
        ));
        let absent = Revoke::new(name("b"), Version { uuid, renewals: 0 }).unwrap();
        assert_eq!(
            provider.revoke(&absent).await.unwrap(),
            RevokeOutcome::Changed(None)
        );
        assert!(provider.read(&name("b")).await.unwrap().is_none());
    });
}

#[test]
fn the_holder_learns_that_it_was_asked_and_the_next_one_does_not() {
    let scratch = Scratch::new();
    block_on(async {
        let provider = scratch.provider();
        let (uuid, _) = take(&provider, "a", LONG).await;
        let stranger = Ask::new(name("a"), Uuid::new_v4());
        assert!(
            matches!(provider.ask(&stranger).await, Ok(AskOutcome::Changed(Some(record))) if !record.asked)
        );
        for _ in 0..2 {
            assert_eq!(
                provider.ask(&Ask::new(name("a"), uuid)).await.unwrap(),
                AskOutcome::Asked
            );
        }
        let renewed = provider
            .renew(&Renew::new(name("a"), uuid, 1))
            .await
            .unwrap();
        assert_eq!(renewed, RenewOutcome::Renewed { asked: true });
        provider
            .release(&Release::new(name("a"), uuid, None))
            .await
            .unwrap();
        assert!(matches!(
            provider.ask(&Ask::new(name("a"), uuid)).await,
            Ok(AskOutcome::Changed(Some(_)))
        ));
        take(&provider, "a", LONG).await;
        assert!(!refused(&provider, "a").await.asked);
    });
}
