//! A server that would grant a lock and could never release it: Redis 5 has no `SET .. KEEPTTL`.

use dlock_core::{
    ErrorKind, Provider, ProviderError,
    provider::{Admin, Ask, Release, Renew, Revoke, Version},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::support::{
    LONG, Server, client,
    fake::{Fake, Words, wire},
    fresh_name, key, major, provider, try_for,
};

/// The view that scripts have of Redis 5, on a current server.
const REDIS_5: &[u8] = b"local redis = {call = redis.call, pcall = function(command, ...)
    return command == 'INFO' and 'redis_version:5.0.14\\r\\n' or redis.pcall(command, ...)
end} ";

/// Runs a script on a server as Redis 5 would.
async fn as_redis_5(mut words: Words, port: u16) -> Vec<u8> {
    if words[0] != b"EVAL" {
        return b"-NOSCRIPT No matching script. Please use EVAL.\r\n".to_vec();
    }
    words[1].splice(..0, REDIS_5.iter().copied());
    let mut server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    server.write_all(&wire(&words)).await.unwrap();
    server.write_all(&wire(&[b"QUIT".to_vec()])).await.unwrap();
    let mut reply = Vec::new();
    server.read_to_end(&mut reply).await.unwrap();
    reply.truncate(reply.len() - b"+OK\r\n".len());
    reply
}

fn refused<T: std::fmt::Debug>(answer: Result<T, ProviderError>) {
    let error = answer.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    assert!(error.to_string().contains("5.0."), "{error}");
}

#[tokio::test]
async fn a_server_that_could_not_release_is_refused_at_the_first_call() {
    let server = Server::start(&[]).await;
    let port = server.port();
    let old = Fake::start(move |words| Box::pin(as_redis_5(words, port))).await;
    let provider = if major(&server).await < 6 {
        server.provider()
    } else {
        provider(client(old.address()))
    };
    let term = try_for(&fresh_name("old"), LONG);
    let version = Version {
        uuid: term.new,
        renewals: 0,
    };
    refused(provider.acquire(&term).await);
    let renew = Renew::new(term.name.clone(), term.new, 1);
    refused(provider.renew(&renew).await);
    refused(
        provider
            .release(&Release::new(term.name.clone(), term.new, None))
            .await,
    );
    refused(provider.read(&term.name).await);
    refused(provider.ask(&Ask::new(term.name.clone(), term.new)).await);
    let revoke = Revoke::new(term.name.clone(), version).unwrap();
    refused(provider.revoke(&revoke).await);
    let exists = format!("EXISTS {}", key(&term.name));
    assert_eq!(server.ask::<u64>(&exists).await, 0);
}
