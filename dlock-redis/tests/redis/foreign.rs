//! Keys that no release of this crate can have written: an error that says which, and nothing
//! changes.

use dlock_core::{
    ErrorKind, Name, Provider, ProviderError,
    provider::{Admin, Ask, List, Release, Renew, Revoke, Version},
};
use dlock_redis::RedisProvider;
use redis::aio::MultiplexedConnection;
use uuid::Uuid;

use crate::support::{
    LONG, Server, ask, contents, fresh_name, granted, key,
    record::{WORDS, mark, overwrite, rewrite},
    try_for, words,
};

/// Every request on this name is refused as fatal, and names the key and the `flaw`; the key stays as
/// it is.
async fn refused_and_kept(
    provider: &RedisProvider,
    raw: &mut MultiplexedConnection,
    name: &Name,
    what: &str,
    flaw: &str,
) {
    let key = key(name);
    let life = words(&format!("PTTL {key}"));
    let before: (String, i64) = (contents(raw, &key).await, ask(raw, &life).await);
    let uuid = Uuid::new_v4();
    let refused = |answer: Result<String, ProviderError>| match answer {
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Fatal, "{what}: {error:?}");
            assert!(error.to_string().contains("key"), "{what}: {error}");
            assert!(error.to_string().contains(flaw), "{what}: {error}");
        }
        Ok(answer) => panic!("{what}: {answer}"),
    };
    let show = |answer: &dyn std::fmt::Debug| format!("{answer:?}");
    let version = Version { uuid, renewals: 0 };
    let try_ = try_for(name, LONG).prev(Some(version));
    refused(provider.acquire(&try_).await.map(|a| show(&a)));
    let renew = Renew::new(name.clone(), uuid, 1);
    refused(provider.renew(&renew).await.map(|a| show(&a)));
    let release = Release::new(name.clone(), uuid, None);
    refused(provider.release(&release).await.map(|a| show(&a)));
    refused(provider.read(name).await.map(|a| show(&a)));
    let revoke = Revoke::new(name.clone(), version).unwrap();
    refused(provider.revoke(&revoke).await.map(|a| show(&a)));
    refused(
        provider
            .ask(&Ask::new(name.clone(), uuid))
            .await
            .map(|a| show(&a)),
    );
    // In a batch it affects only its own answer.
    let fine = try_for(&fresh_name("fine"), LONG);
    granted(provider, &fine).await;
    let batch = [renew, Renew::new(fine.name.clone(), fine.new, 1)];
    let mut answers = provider.renew_many(&batch).await.into_iter();
    refused(answers.next().unwrap().map(|a| show(&a)));
    answers.next().unwrap().unwrap();
    assert_eq!(provider.purge(1000).await.unwrap(), 0);
    let after: (String, i64) = (contents(raw, &key).await, ask(raw, &life).await);
    assert_eq!(before.0, after.0, "{what}: the key changed");
    assert!(after.1 <= before.1, "{what}: the key lives longer");
}

#[tokio::test]
async fn keys_of_another_type_are_left_alone() {
    let server = Server::start(&[]).await;
    let (provider, mut raw) = (server.provider(), server.raw().await);
    for command in [
        "HSET {} balance 40 owner me token 7",
        // A record as a hash, the format of an earlier version.
        "HSET {} uuid 3f2504e0-4f89-41d3-9a0c-0305e82c3301 renewals 0 owner me since 1 token 1 duration 100 released 1 asked 0 expiry 1",
        "RPUSH {} item",
        "SADD {} item",
        "ZADD {} 1 item",
    ] {
        let name = fresh_name("typed");
        let make = command.replace("{}", &key(&name));
        ask::<redis::Value>(&mut raw, &words(&make)).await;
        refused_and_kept(&provider, &mut raw, &name, command, "of another program").await;
    }
    // They belong to no lock, so they are not listed.
    let page = provider.list(&List::new("typed")).await.unwrap();
    assert_eq!(page.records, []);
}

#[tokio::test]
async fn texts_that_are_no_records_are_left_alone() {
    let server = Server::start(&[]).await;
    let (provider, mut raw) = (server.provider(), server.raw().await);
    let sound = "held 3f2504e0-4f89-41d3-9a0c-0305e82c3301 0 1 1 30000 1 0 1 - x";
    let foreign = "another program wrote it";
    for (text, flaw) in [
        (String::new(), foreign),
        ("text".to_owned(), foreign),
        ("3f2504e0-4f89-41d3-9a0c-0305e82c3301".to_owned(), foreign),
        (sound.to_owned(), foreign),
        ("dlock".to_owned(), foreign),
        ("dlock1".to_owned(), foreign),
        (format!("DLOCK1 {sound}"), foreign),
        (format!(" dlock1 {sound}"), foreign),
        (format!("dlock2 {sound}"), "another release"),
        (format!("dlock11 {sound}"), "another release"),
        ("dlock1 ".to_owned(), "too few words"),
        ("dlock1 held".to_owned(), "too few words"),
        (
            format!("dlock1 {}", sound.replace(" - x", " -")),
            "too few words",
        ),
        (format!("dlock1 {}", "x".repeat(100_000)), "too few words"),
        (format!("dlock1  {sound}"), "state"),
    ] {
        let name = fresh_name("foreign");
        overwrite(&mut raw, &key(&name), text.as_bytes()).await;
        refused_and_kept(&provider, &mut raw, &name, &text, flaw).await;
    }
    let sound = fresh_name("foreign");
    granted(&provider, &try_for(&sound, LONG)).await;
    let page = provider.list(&List::new("foreign")).await.unwrap();
    assert_eq!(page.records.len(), 1, "{page:?}");
    assert_eq!(page.records[0].0, sound);
    assert!(!page.unreadable.is_empty());
    let named = |(_, why): &(Name, String)| why.contains("is no lock's record");
    assert!(page.unreadable.iter().all(named), "{page:?}");
}

#[tokio::test]
async fn spoilt_records_are_left_alone() {
    const NUMBERS: [&str; 8] = [
        "renewals", "extended", "token", "duration", "since", "wanted", "owner", "data",
    ];
    let server = Server::start(&[]).await;
    let (provider, mut raw) = (server.provider(), server.raw().await);
    let mut cases: Vec<(&str, &str)> = Vec::new();
    for word in NUMBERS {
        let nonsense = [
            "",
            "-1",
            "+1",
            "1-",
            "1.5",
            "1e3",
            "0x10",
            "NaN",
            "inf",
            "7\n",
            "9007199254740992",
            "9999999999999999",
            "99999999999999999999",
            "nonsense",
        ];
        cases.extend(nonsense.map(|text| (word, text)));
    }
    cases.extend([
        ("token", "0"),
        ("duration", "99"),
        ("duration", "86400001"),
        ("wanted", "4294967296"),
        ("owner", "-"),
        ("owner", "1025"),
        ("data", "4097"),
        ("data", "--"),
        ("state", ""),
        ("state", "free"),
        ("state", "Held"),
        ("state", "held,"),
        ("state", "asked"),
        ("state", "held,released"),
        ("uuid", ""),
        ("uuid", "nonsense"),
        ("uuid", "3f2504e0-4f89-41d3-9a0c-0305e82c330"),
        ("uuid", "3f2504e0-4f89-41d3-9a0c-0305e82c33011"),
        ("uuid", "3f2504e04f8941d39a0c0305e82c3301"),
        ("uuid", "3F2504E0-4F89-41D3-9A0C-0305E82C3301"),
        ("uuid", "3f2504e0-4f89-41d3-9a0c-305e82c3301"),
        ("uuid", "3f2504e0-4f89-41d3-9a0c-0305e82c330g"),
    ]);
    for released in [false, true] {
        for (word, text) in &cases {
            let term = try_for(&fresh_name("spoilt"), LONG);
            granted(&provider, &term).await;
            if released {
                let release = Release::new(term.name.clone(), term.new, None);
                provider.release(&release).await.unwrap();
            }
            rewrite(&mut raw, &key(&term.name), word, text.as_bytes()).await;
            let what = format!("{word} = {text:?}, released: {released}");
            refused_and_kept(&provider, &mut raw, &term.name, &what, word).await;
            let delete = words(&format!("DEL {}", key(&term.name)));
            ask::<u64>(&mut raw, &delete).await;
            // Once a person has deleted it, the name is free.
            granted(&provider, &try_for(&term.name, LONG)).await;
        }
    }
}

/// The parts have exactly the lengths that the record gives: a text that was cut, or to which
/// something was added, is no record, whichever of its parts that affected.
#[tokio::test]
async fn records_of_another_length_are_left_alone() {
    let server = Server::start(&[]).await;
    let (provider, mut raw) = (server.provider(), server.raw().await);
    for data in [None, Some(Vec::new()), Some(b"d\0t".to_vec())] {
        let term = try_for(&fresh_name("length"), LONG).data(data.clone());
        granted(&provider, &term).await;
        let key = key(&term.name);
        let sound: Vec<u8> = ask(&mut raw, &words(&format!("GET {key}"))).await;
        let ends = (0..sound.len()).step_by(3);
        let mut spoilt: Vec<Vec<u8>> = ends.map(|end| sound[..end].to_vec()).collect();
        for more in [" ", "x", "\n", "\0"] {
            spoilt.push([&sound, more.as_bytes()].concat());
        }
        for text in spoilt {
            overwrite(&mut raw, &key, &text).await;
            let what = format!("{:?}", text.escape_ascii().to_string());
            refused_and_kept(&provider, &mut raw, &term.name, &what, "no lock's record").await;
        }
        for (word, lengths) in [("owner", ["3", "5", "0"]), ("data", ["1", "4", "4096"])] {
            for length in lengths {
                overwrite(&mut raw, &key, &sound).await;
                rewrite(&mut raw, &key, word, length.as_bytes()).await;
                let what = format!("{word} of {length} bytes, beside {data:?}");
                refused_and_kept(&provider, &mut raw, &term.name, &what, "not as long").await;
            }
        }
        overwrite(&mut raw, &key, &sound).await;
        let read = provider.read(&term.name).await.unwrap().unwrap();
        assert_eq!((&*read.owner, read.data), ("test", data));
    }
}

/// The words as the documentation shows them: <https://docs.rs/dlock-redis>.
#[tokio::test]
async fn a_record_is_what_the_documentation_says() {
    let server = Server::start(&[]).await;
    let (provider, mut raw) = (server.provider(), server.raw().await);
    let term = try_for(&fresh_name("words"), LONG).data(Some(b"a b".to_vec()));
    let token = granted(&provider, &term).await;
    assert_eq!(mark(&provider, &term.name).await, 7);
    let renew = Renew::new(term.name.clone(), term.new, 4);
    provider.renew(&renew).await.unwrap();
    let text: String = ask(&mut raw, &words(&format!("GET {}", key(&term.name)))).await;
    let found: Vec<&str> = text.splitn(WORDS.len() + 1, ' ').collect();
    let (uuid, token) = (term.new.to_string(), token.to_string());
    let [
        format,
        state,
        term_,
        renewals,
        extended,
        token_,
        duration,
        since,
        wanted,
        owner,
        data,
        rest,
    ] = found[..]
    else {
        panic!("{text:?}")
    };
    assert_eq!(
        (format, state, term_, renewals),
        ("dlock1", "held", &*uuid, "4")
    );
    assert_eq!((token_, duration, since), (&*token, "60000", &*token));
    assert!(extended > since, "{text:?}");
    assert_eq!((wanted, owner, data, rest), ("7", "4", "3", "testa b"));
}

/// A label that was written by hand is shown as well as possible.
#[tokio::test]
async fn a_label_that_is_not_utf_8_is_shown() {
    let server = Server::start(&[]).await;
    let (provider, mut raw) = (server.provider(), server.raw().await);
    let term = try_for(&fresh_name("label"), LONG).owner("m..ller");
    granted(&provider, &term).await;
    let key = key(&term.name);
    let text: Vec<u8> = ask(&mut raw, &words(&format!("GET {key}"))).await;
    let label = text.len() - "m..ller".len();
    overwrite(&mut raw, &key, &[&text[..label], b"m\xfc\0ller"].concat()).await;
    let record = provider.read(&term.name).await.unwrap().unwrap();
    assert_eq!(record.owner, "m\u{fffd}\0ller");
    let renew = Renew::new(term.name.clone(), term.new, 1);
    provider.renew(&renew).await.unwrap();
    let text: Vec<u8> = ask(&mut raw, &words(&format!("GET {key}"))).await;
    assert!(text.ends_with(b" 7 - m\xfc\0ller"), "kept as it was");
}
