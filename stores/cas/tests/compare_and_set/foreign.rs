//! Contents that are no record are left alone.

use dlock_cas::{CasProvider, CasStore, Put};
use dlock_core::{
    ErrorKind, Provider,
    provider::{Admin, List, Release, Renew},
};

use crate::{store::Memory, support::term};

/// A record, and contents that must not pass for one.
async fn foreign() -> Vec<Vec<u8>> {
    let memory = Memory::default();
    let a = term("door").data(Some(vec![1, 2, 3]));
    CasProvider::new(memory.clone()).acquire(&a).await.unwrap();
    let record = memory.get("/door").await.unwrap().unwrap().bytes;
    let record = String::from_utf8(record).unwrap();
    let mut foreign: Vec<Vec<u8>> = ["", "42", "null", "[]", "{}", "\"dlock\"", "{\"dlock\":1}"]
        .map(|text| text.as_bytes().to_vec())
        .into();
    foreign.push(vec![0xff, 0xfe]);
    for (from, to) in [
        ("\"dlock\":1", "\"dlock\":2"),
        ("\"released\"", "\"wanted\":4294967296,\"released\""),
        ("\"dlock\":1", "\"dlock\":\"1\""),
        ("\"released\":false", "\"released\":0"),
        ("\"renewals\":0", "\"renewals\":-1"),
        ("\"renewals\":0", "\"renewals\":9007199254740992"),
        ("\"renewals\":0", "\"renewals\":0,\"renewals\":0"),
        ("\"duration\":600000", "\"duration\":99"),
        ("\"duration\":600000", "\"duration\":86400001"),
        ("\"data\":\"AQID\"", "\"data\":\"AQI\""),
        ("\"token\":", "\"token\":0,\"was\":"),
        ("\"uuid\":\"", "\"uuid\":\"x"),
        ("}", ",\"more\":1}"),
        ("}", ""),
    ] {
        assert!(record.contains(from), "{record}");
        foreign.push(record.replacen(from, to, 1).into_bytes());
    }
    foreign
}

#[tokio::test]
async fn foreign_contents_are_fatal_and_stay_as_they_are() {
    for bytes in foreign().await {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let memory = Memory::default();
        let put = memory.put_if("/door", bytes.clone(), None).await.unwrap();
        assert!(matches!(put, Put::Done(_)));
        let provider = CasProvider::new(memory.clone());
        let a = term("door");
        let renew = Renew::new(a.name.clone(), a.new, 1);
        let release = Release::new(a.name.clone(), a.new, None);
        for error in [
            provider.acquire(&a).await.unwrap_err(),
            provider.renew(&renew).await.unwrap_err(),
            provider.release(&release).await.unwrap_err(),
            provider.read(&a.name).await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Fatal, "{text}: {error}");
        }
        // Others are listed all the same.
        provider.acquire(&term("window")).await.unwrap();
        let page = provider.list(&List::new("")).await.unwrap();
        let (name, _) = &page.unreadable[0];
        assert_eq!((name.as_str(), page.records.len()), ("door", 1), "{text}");
        assert_eq!(provider.purge(10).await.unwrap(), 0);
        assert_eq!(memory.get("/door").await.unwrap().unwrap().bytes, bytes);
    }
}

#[tokio::test]
async fn keys_that_are_no_names_do_not_end_a_list() {
    let memory = Memory::default();
    let provider = CasProvider::new(memory.clone());
    for name in ["a", "c"] {
        provider.acquire(&term(name)).await.unwrap();
    }
    for key in ["/", "/a\0", "/b\0", "other/d", "/d\0"] {
        memory.put_if(key, Vec::new(), None).await.unwrap();
    }
    for limit in 1..4 {
        let mut listed = Vec::new();
        let mut after = None;
        loop {
            let page = provider
                .list(&List::new("").after(after).limit(limit))
                .await;
            let page = page.unwrap();
            listed.extend(page.records.into_iter().map(|(name, _)| name.to_string()));
            after = page.next;
            assert!(listed.len() <= 2, "pages repeat: {listed:?}");
            if after.is_none() {
                break;
            }
        }
        assert_eq!(listed, ["a", "c"], "pages of {limit}");
    }
}
