//! Waiters elsewhere are notified of releases, and nothing hangs when they are not.

mod channel;

use std::time::Duration;

use dlock_core::{
    DLock, Name, Provider,
    provider::{Admin, Ask, Release, ReleaseOutcome, Renew, Revoke, Wakeup, Wakeups},
};
use dlock_redis::{BuildError, Channels, RedisProvider};
use dlock_testkit::faults::{Faulty, Op};
use redis::{Client, aio::MultiplexedConnection};
use tokio::time::sleep;

use crate::support::{
    LONG, SOON, Server, ask, built, connect, eventually, fresh_name, granted, name, record::mark,
    soon, try_for, words,
};

/// A poll later than the end of any test: a waiter that gets the lock was woken.
const NEVER: Duration = Duration::from_secs(3600);

fn heard(client: Client) -> RedisProvider {
    heard_within(SOON, client)
}

fn heard_within(limit: Duration, client: Client) -> RedisProvider {
    let provider = RedisProvider::builder()
        .client(client)
        .wakeups(Channels::Plain)
        .call_timeout(limit);
    built(provider.build())
}

async fn listen(provider: &RedisProvider) -> Wakeups {
    provider.watch().await.unwrap().unwrap()
}

/// A grant and its release by one client, while another client waits.
async fn passes(provider: &RedisProvider, waiter: &RedisProvider, name: &Name) {
    let term = try_for(name, LONG);
    granted(provider, &term).await;
    mark(waiter, name).await;
    let release = Release::new(term.name, term.new, None);
    assert_eq!(
        provider.release(&release).await.unwrap(),
        ReleaseOutcome::Released { wanted: true }
    );
}

/// A waiter of this provider finds the lock held, and its channel listens for it from now on.
async fn waits(provider: &RedisProvider, wakeups: &mut Wakeups, name: &Name) {
    assert_eq!(mark(provider, name).await, 7);
    // An earlier request of the waiter may have missed a release.
    hears(wakeups, name).await;
}

/// A waiter of one provider is notified that another one has released the lock.
async fn is_heard(here: &RedisProvider, there: &RedisProvider, wakeups: &mut Wakeups, name: &Name) {
    let term = try_for(name, LONG);
    granted(here, &term).await;
    waits(there, wakeups, name).await;
    let release = Release::new(term.name, term.new, None);
    here.release(&release).await.unwrap();
    hears(wakeups, name).await;
}

/// The next hint names this lock.
async fn hears(wakeups: &mut Wakeups, name: &Name) {
    let hint = soon("the hint", wakeups.next()).await;
    assert_eq!(hint, Some(Wakeup::Name(name.clone())));
}

fn lock(provider: &RedisProvider, name: &Name) -> DLock {
    DLock::builder()
        .name(name.as_str())
        .duration(LONG)
        .provider(provider.clone())
        .build()
        .unwrap()
}

/// How many connections of this server listen to the channel of the default prefix.
async fn listeners(server: &Server) -> u64 {
    let (_, count): (String, u64) = server.ask("PUBSUB NUMSUB dlock:released").await;
    count
}

#[tokio::test]
async fn a_waiter_elsewhere_is_woken_by_each_release() {
    let server = Server::start(&[]).await;
    let name = fresh_name("handed");
    let [mut holder, mut waiter] = [(); 2].map(|()| {
        let provider = Faulty::new(heard(server.client()));
        let lock = DLock::builder()
            .name(name.as_str())
            .duration(LONG)
            .poll_every(NEVER)
            .provider(dlock_core::Client::new(provider.clone()));
        (lock.build().unwrap(), provider)
    });
    for _ in 0..20 {
        let lease = soon("the lock", holder.0.acquire()).await.unwrap();
        let (waiting, provider) = waiter.clone();
        let tries = provider.count(Op::Acquire);
        let waiting = tokio::spawn(async move { waiting.acquire().await });
        eventually("the waiter is refused", || async {
            let calls = provider.calls();
            let mut tried = calls
                .iter()
                .filter(|call| call.op == Op::Acquire)
                .skip(tries);
            tried.next().is_some_and(|call| call.answer.is_some())
        })
        .await;
        lease.release().await.unwrap();
        let lease = soon("the hand-off", waiting).await.unwrap().unwrap();
        lease.release().await.unwrap();
        std::mem::swap(&mut holder, &mut waiter);
    }
}

/// An outcome that frees no lock notifies no waiter: A, R, L2, L3, B1, B3, and a release without waiters.
#[tokio::test]
async fn only_a_release_that_released_is_told() {
    let server = Server::start(&[]).await;
    let provider = heard(server.client());
    let mut wakeups = listen(&provider).await;
    let term = try_for(&fresh_name("told"), LONG);
    let last = fresh_name("last");

    let token = granted(&provider, &term).await;
    waits(&provider, &mut wakeups, &term.name).await;
    granted(&provider, &term).await;
    provider.acquire(&try_for(&term.name, LONG)).await.unwrap();
    let renew = Renew::new(term.name.clone(), term.new, 1);
    provider.renew(&renew).await.unwrap();
    let ask = Ask::new(term.name.clone(), term.new);
    provider.ask(&ask).await.unwrap();
    let stranger = Release::new(term.name.clone(), try_for(&term.name, LONG).new, None);
    provider.release(&stranger).await.unwrap();
    let nobody = Release::new(fresh_name("nobody"), term.new, None);
    provider.release(&nobody).await.unwrap();
    let release = Release::new(term.name.clone(), term.new, Some(token));
    for _ in 0..3 {
        provider.release(&release).await.unwrap();
    }
    // N3: no caller was refused in this term.
    let unwanted = try_for(&term.name, LONG);
    granted(&provider, &unwanted).await;
    let unwanted = Release::new(term.name.clone(), unwanted.new, None);
    assert_eq!(
        provider.release(&unwanted).await.unwrap(),
        ReleaseOutcome::Released { wanted: false }
    );
    let other = try_for(&term.name, LONG);
    granted(&provider, &other).await;
    mark(&provider, &term.name).await;
    let version = provider.read(&term.name).await.unwrap().unwrap().version();
    let revoke = Revoke::new(term.name.clone(), version).unwrap();
    provider.revoke(&revoke).await.unwrap();
    provider.release(&release).await.unwrap();
    // A forced release is a release.
    let seen = provider.read(&term.name).await.unwrap().unwrap();
    provider.force_release(&term.name, &seen).await.unwrap();

    for name in [&term.name, &term.name] {
        hears(&mut wakeups, name).await;
    }
    is_heard(&provider, &provider, &mut wakeups, &last).await;
}

/// A release costs nothing to processes that wait for other locks, or for none.
#[tokio::test]
async fn only_those_who_wait_for_the_lock_are_told() {
    let server = Server::start(&[]).await;
    let (here, there) = (heard(server.client()), heard(server.client()));
    let (mut mine, mut theirs) = (listen(&here).await, listen(&there).await);
    let deaf = server.provider();
    let (awaited, other) = (fresh_name("awaited"), fresh_name("other"));
    for _ in 0..10 {
        passes(&here, &deaf, &other).await;
    }
    is_heard(&here, &there, &mut theirs, &awaited).await;
    is_heard(&there, &here, &mut mine, &other).await;
    // Each next hint is about the lock that is waited for, so there was no hint in between.
    is_heard(&here, &there, &mut theirs, &fresh_name("last")).await;
    is_heard(&there, &here, &mut mine, &fresh_name("last")).await;
}

/// The channel of a lock without waiters is left: the server forgets it a few seconds after the lease that the waiter
/// saw.
#[tokio::test]
async fn channel_of_a_lock_is_left_when_nobody_waits_for_it_any_more() {
    let server = Server::start(&[]).await;
    let provider = heard(server.client());
    let mut wakeups = listen(&provider).await;
    let name = fresh_name("left");
    let short = Duration::from_secs(3);
    granted(&provider, &try_for(&name, short)).await;
    waits(&provider, &mut wakeups, &name).await;
    let channel = format!("PUBSUB NUMSUB dlock:released:{{{name}}}");
    let listening = async || {
        let (_, count): (String, u64) = server.ask(&channel).await;
        count
    };
    assert_eq!(listening().await, 1);
    eventually("it is left", || async { listening().await == 0 }).await;
    is_heard(&provider, &provider, &mut wakeups, &name).await;
}

#[tokio::test]
async fn nothing_is_told_where_nothing_is_configured() {
    let server = Server::start(&[]).await;
    let (silent, listener) = (server.provider(), heard(server.client()));
    let mut wakeups = listen(&listener).await;
    assert!(silent.watch().await.unwrap().is_none());
    let term = try_for(&fresh_name("untold"), LONG);
    granted(&silent, &term).await;
    waits(&listener, &mut wakeups, &term.name).await;
    let release = Release::new(term.name, term.new, None);
    silent.release(&release).await.unwrap();
    let told = fresh_name("told");
    is_heard(&heard(server.client()), &listener, &mut wakeups, &told).await;
}

#[tokio::test]
async fn both_protocols_hear_odd_names_of_their_own_prefix_only() {
    let server = Server::start(&[]).await;
    let newer = format!("redis://{}?protocol=resp3", server.address());
    for client in [server.client(), Client::open(newer).unwrap()] {
        let provider = heard(client);
        let neighbours = ["dlock:released", "dloc", "released"];
        let neighbours = neighbours.map(|prefix| provider.with_prefix(prefix).unwrap());
        let mut wakeups = listen(&provider).await;
        for odd in [
            "{}",
            "}",
            "a}b{c",
            " ",
            "\r\n",
            "$4\r\nPING",
            "gr\u{fc}n \u{1f512}",
            "*",
        ] {
            let odd = name(&format!("{odd}{}", fresh_name("")));
            for neighbour in &neighbours {
                passes(neighbour, neighbour, &odd).await;
            }
            is_heard(&provider, &provider, &mut wakeups, &odd).await;
        }
    }
}

/// Any client can publish anything.
#[tokio::test]
async fn messages_of_others_harm_nobody() {
    let server = Server::start(&[]).await;
    let provider = heard(server.client());
    let mut wakeups = listen(&provider).await;
    let mut raw = server.raw().await;
    for message in [
        &b""[..],
        b"dlock:{}",
        b"dlock:{a",
        b"\xff\xfe",
        b"dlock:{\0}",
        b"*3\r\n",
    ] {
        let mut publish = redis::cmd("PUBLISH");
        publish.arg("dlock:released").arg(message);
        assert_eq!(ask::<u64>(&mut raw, &publish).await, 1);
    }
    let name = fresh_name("after");
    is_heard(&provider, &provider, &mut wakeups, &name).await;
}

/// Rights to channels are separate. A release counts without them.
#[tokio::test]
async fn a_user_without_channels_can_release_and_polls() {
    let server = Server::start(&[]).await;
    let mut raw = server.raw().await;
    let rights = "+evalsha +eval +time +get +set";
    for more in ["", " +publish", " +publish +subscribe +ping", " &dlock:*"] {
        let user =
            format!("ACL SETUSER few reset on >few ~dlock:{{*}} resetchannels {rights}{more}");
        ask::<()>(&mut raw, &words(&user)).await;
        let few = Client::open(format!("redis://few:few@{}", server.address())).unwrap();
        let few = heard(few);
        let name = fresh_name("few");
        passes(&few, &few, &name).await;
        let record = server.provider().read(&name).await.unwrap().unwrap();
        assert!(record.released, "{more}");
        assert!(few.watch().await.is_err(), "{more}");
        // A waiter there polls.
        let lease = lock(&server.provider(), &name).acquire().await.unwrap();
        let waiting = lock(&few, &name);
        let waiting = tokio::spawn(async move { waiting.acquire().await });
        sleep(Duration::from_millis(50)).await;
        lease.release().await.unwrap();
        let lease = soon("the lock", waiting).await.unwrap().unwrap();
        lease.release().await.unwrap();
    }
    let user = |channels: &str| {
        format!(
            "ACL SETUSER few reset on >few ~dlock:{{*}} resetchannels {channels} {rights} +publish +subscribe +ping"
        )
    };
    let few = Client::open(format!("redis://few:few@{}", server.address())).unwrap();
    // With the right to one channel only, a waiter tries again and again, like one without wake-ups.
    ask::<()>(&mut raw, &words(&user("&dlock:released"))).await;
    let _stream = listen(&heard(few.clone())).await;
    let name = fresh_name("few");
    let lease = lock(&server.provider(), &name).acquire().await.unwrap();
    let waiting = lock(&heard(few.clone()), &name);
    let waiting = tokio::spawn(async move { waiting.acquire().await });
    sleep(Duration::from_millis(50)).await;
    lease.release().await.unwrap();
    let lease = soon("the lock", waiting).await.unwrap().unwrap();
    lease.release().await.unwrap();

    ask::<()>(&mut raw, &words(&user("&dlock:released*"))).await;
    let few = heard(few);
    let mut stream = listen(&few).await;
    is_heard(&few, &few, &mut stream, &fresh_name("enough")).await;
}

/// The connection for requests works, the client's credentials do not: no caller hangs.
#[tokio::test]
async fn wrong_credentials_leave_polling() {
    let server = Server::start(&[]).await;
    let wrong = Client::open(format!("redis://nobody:wrong@{}", server.address())).unwrap();
    let connection: MultiplexedConnection = connect(&server.client()).await;
    let deaf = RedisProvider::builder()
        .connection(connection)
        .client(wrong)
        .call_timeout(SOON)
        .wakeups(Channels::Plain);
    let deaf = built(deaf.build());
    let error = deaf.watch().await.unwrap_err();
    assert_eq!(error.kind(), dlock_core::ErrorKind::Fatal, "{error:?}");
    assert!(!format!("{error:?}").contains("wrong@"), "{error:?}");
    let name = fresh_name("deaf");
    let lease = lock(&heard(server.client()), &name)
        .acquire()
        .await
        .unwrap();
    let waiting = lock(&deaf, &name);
    let waiting = tokio::spawn(async move { waiting.acquire().await });
    sleep(Duration::from_millis(50)).await;
    lease.release().await.unwrap();
    let lease = soon("the lock", waiting).await.unwrap().unwrap();
    lease.release().await.unwrap();
    // It still notifies others.
    let listener = heard(server.client());
    let mut stream = listen(&listener).await;
    is_heard(&deaf, &listener, &mut stream, &fresh_name("told")).await;
}

#[tokio::test]
async fn wakeups_without_a_client_are_refused() {
    let server = Server::start(&[]).await;
    let provider = RedisProvider::builder()
        .connection(server.raw().await)
        .wakeups(Channels::Plain)
        .build();
    assert_eq!(provider.unwrap_err(), BuildError::NoClient);
}

/// Redis before 7 has no sharded channels, and a user may lack the right to them: the message then goes over the plain
/// channel.
#[tokio::test]
async fn a_release_that_finds_no_sharded_channel_is_told_on_the_plain_one() {
    let server = Server::start(&["--rename-command", "SPUBLISH", ""]).await;
    let sharded = RedisProvider::builder()
        .client(server.client())
        .call_timeout(SOON)
        .wakeups(Channels::Sharded);
    let sharded = built(sharded.build());
    let mut plain = listen(&heard(server.client())).await;
    let mut both = listen(&sharded).await;
    let name = fresh_name("older");
    passes(&sharded, &sharded, &name).await;
    hears(&mut plain, &name).await;
    hears(&mut both, &name).await;
}
