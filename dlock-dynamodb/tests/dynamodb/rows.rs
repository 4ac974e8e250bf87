//! Items that are no records: errors, never panics, and never overwritten.

use crate::common::{Item, client, item, key, provider, put, term};
use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};
use dlock_core::{
    ErrorKind, Provider, ProviderError,
    provider::{Admin, Ask, List, Release, Renew, Revoke},
};

fn s(text: &str) -> Option<AttributeValue> {
    Some(AttributeValue::S(text.into()))
}

fn n(text: &str) -> Option<AttributeValue> {
    Some(AttributeValue::N(text.into()))
}

/// One corrupted attribute of a record: its new value; `None`: it is gone.
fn spoilt() -> Vec<(&'static str, Option<AttributeValue>)> {
    let flag = Some(AttributeValue::Bool(true));
    let null = Some(AttributeValue::Null(true));
    let blob = |bytes| Some(AttributeValue::B(Blob::new(vec![7; bytes])));
    vec![
        ("uuid", None),
        ("uuid", n("5")),
        ("uuid", s("")),
        ("uuid", s("somebody")),
        ("uuid", s("0B87B9AC-6BD8-4C2B-8F3E-0000000000")),
        ("renewals", None),
        ("renewals", s("0")),
        ("renewals", n("-1")),
        ("renewals", n("9007199254740992")),
        ("owner", None),
        ("owner", n("7")),
        ("since", None),
        ("since", n("-1")),
        ("since", s("yesterday")),
        ("token", None),
        ("token", n("0")),
        ("token", n("-5")),
        ("token", n("9007199254740992")),
        ("token", n("1e40")),
        ("token", s("7")),
        ("duration", None),
        ("duration", n("99")),
        ("duration", n("86400001")),
        ("duration", null.clone()),
        ("released", None),
        ("released", n("0")),
        ("released", null.clone()),
        ("asked", None),
        ("asked", s("no")),
        ("wanted", s("1")),
        ("wanted", n("-1")),
        ("wanted", n("4294967296")),
        ("data", s("text")),
        ("data", flag),
        ("data", null),
        ("data", blob(4097)),
    ]
}

#[tokio::test]
async fn spoilt_record_is_an_error_and_stays_as_it_is() {
    let provider = provider().await;
    let client = client().await;
    let table = provider.table_name();
    for released in [false, true] {
        for (index, (attribute, value)) in spoilt().into_iter().enumerate() {
            let name = format!("{index}, released: {released}");
            let a = term(&name);
            provider.acquire(&a).await.unwrap();
            let seen = provider.read(&a.name).await.unwrap().unwrap();
            if released {
                let release = Release::new(a.name.clone(), a.new, None);
                provider.release(&release).await.unwrap();
            }
            let mut spoilt = item(&client, table, &name).await.unwrap();
            spoilt.remove(attribute);
            spoilt.extend(value.clone().map(|value| (attribute.to_owned(), value)));
            put(&client, table, spoilt).await;
            // As the store keeps it: it formats numbers in its own way.
            let spoilt = item(&client, table, &name).await;

            let newcomer = term(&name);
            let claiming = term(&name)
                .prev(Some(seen.version()))
                .floor(seen.token.get() + 9);
            let revocation = Revoke::new(a.name.clone(), seen.version()).unwrap();
            let errors: [ProviderError; 8] = [
                provider.acquire(&newcomer).await.unwrap_err(),
                provider.acquire(&claiming).await.unwrap_err(),
                provider.acquire(&a).await.unwrap_err(),
                provider
                    .renew(&Renew::new(a.name.clone(), a.new, 5))
                    .await
                    .unwrap_err(),
                provider
                    .release(&Release::new(a.name.clone(), a.new, Some(seen.token)))
                    .await
                    .unwrap_err(),
                provider.read(&a.name).await.unwrap_err(),
                provider.revoke(&revocation).await.unwrap_err(),
                provider
                    .ask(&Ask::new(a.name.clone(), a.new))
                    .await
                    .unwrap_err(),
            ];
            for (call, error) in errors.iter().enumerate() {
                let what = format!("call {call}, {attribute} = {value:?}: {error:?}");
                assert_eq!(error.kind(), ErrorKind::Fatal, "{what}");
                let text = error.to_string();
                assert!(text.contains(&name) && text.contains(attribute), "{what}");
            }
            assert_eq!(item(&client, table, &name).await, spoilt, "{attribute}");
        }
    }
}

#[tokio::test]
async fn foreign_item_is_an_error_and_stays_as_it_is() {
    let provider = provider().await;
    let client = client().await;
    let table = provider.table_name();
    let text = |text: &str| AttributeValue::S(text.into());
    for (name, attributes) in [
        ("bare", vec![]),
        ("somebody's", vec![("email", text("a@example.org"))]),
        // DynamoDB evaluates `uuid <> :new` as true if there is no uuid.
        (
            "like a released one",
            vec![
                ("released", AttributeValue::Bool(true)),
                ("token", AttributeValue::N("5".into())),
            ],
        ),
    ] {
        let mut foreign: Item = key(name);
        foreign.extend(
            attributes
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value)),
        );
        put(&client, table, foreign.clone()).await;
        let a = term(name);
        let release = Release::new(a.name.clone(), a.new, None);
        for error in [
            provider.acquire(&a).await.unwrap_err(),
            provider
                .renew(&Renew::new(a.name.clone(), a.new, 1))
                .await
                .unwrap_err(),
            provider.release(&release).await.unwrap_err(),
            provider.read(&a.name).await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
        }
        assert_eq!(item(&client, table, name).await, Some(foreign));
    }
    // A list skips foreign items; it names a corrupted record of ours, and shows the others.
    let a = term("a lock");
    provider.acquire(&a).await.unwrap();
    let page = provider.list(&List::new("")).await.unwrap();
    assert_eq!(page.records.len(), 1);
    assert_eq!(page.records[0].0, a.name);
    let mut spoilt = item(&client, table, "a lock").await.unwrap();
    spoilt.remove("token");
    put(&client, table, spoilt).await;
    let b = term("b lock");
    provider.acquire(&b).await.unwrap();
    let page = provider.list(&List::new("").limit(1)).await.unwrap();
    assert!(page.records.is_empty());
    let [(name, why)] = &page.unreadable[..] else {
        panic!("{page:?}")
    };
    assert!(*name == a.name && why.contains("token"), "{page:?}");
    let rest = List::new("").after(page.next);
    let page = provider.list(&rest).await.unwrap();
    assert_eq!(page.records[0].0, b.name);
    assert_eq!((page.unreadable.len(), page.next), (0, None));
}
