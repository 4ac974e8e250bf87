//! The rights that the README lists: with all of them everything works, and without any one of them its listed purpose
//! fails.

use dlock_core::{
    ErrorKind, FencingToken, Provider, ProviderError,
    provider::{
        Acquire, Admin, Ask, Closing, List, Release, Renew, Revoke, Version, Wakeup, Wakeups,
    },
};
use dlock_redis::{Channels, RedisProvider, fence::Fence};
use redis::{Client, aio::MultiplexedConnection, cluster::ClusterClientBuilder};

use crate::support::{
    Cluster, LONG, SOON, Server, ask, at_last, built, connect, fresh_name, granted, key, major,
    record, soon, try_for, words,
};

const ONE: FencingToken = FencingToken::new(1).unwrap();

/// The lines of the README: the purpose of some rights, and the rights.
fn documented() -> Vec<(&'static str, Vec<&'static str>)> {
    let readme = include_str!("../../README.md");
    let (_, section) = readme.split_once("# Rights\n").unwrap();
    let (_, list) = section.split_once("```text\n").unwrap();
    let (list, _) = list.split_once("```").unwrap();
    let line = |line: &'static str| {
        let (rights, purpose) = line.split_once("  ").unwrap();
        (purpose.trim(), rights.split(' ').collect())
    };
    let lines: Vec<_> = list.lines().map(line).collect();
    assert_eq!(lines.len(), 10, "one of them is gone, or not tried here");
    lines
}

/// A user of this server with these rights and no others.
async fn user(raw: &mut MultiplexedConnection, name: &str, rights: &[&str]) {
    // Before Redis 7 a new user may use every channel.
    let mut set = words(&format!("ACL SETUSER {name} on >secret"));
    if rights.iter().any(|right| right.starts_with('&')) {
        set.arg("resetchannels");
    }
    ask::<()>(raw, set.arg(rights)).await;
}

/// The text of the error of a user who lacks a right.
#[expect(
    clippy::needless_pass_by_value,
    reason = "it is what `map_err` passes on"
)]
fn told(error: ProviderError) -> String {
    assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
    assert!(error.to_string().contains("may not"), "{error}");
    error.to_string()
}

/// A user on a server where an administrator makes the preparations.
struct Scene<'s> {
    server: &'s Server,
    admin: MultiplexedConnection,
    /// The user's name.
    user: String,
}

impl Scene<'_> {
    fn client(&self, database: u32) -> Client {
        let address = self.server.address();
        Client::open(format!("redis://{}:secret@{address}/{database}", self.user)).unwrap()
    }

    fn provider(&self) -> RedisProvider {
        built(
            RedisProvider::builder()
                .client(self.client(0))
                .call_timeout(SOON)
                .build(),
        )
    }

    async fn admin(&self, command: &str) {
        ask::<redis::Value>(&mut self.admin.clone(), &words(command)).await;
    }

    /// Tries the purpose of the rights of one line.
    async fn tries(&self, purpose: &str) -> Result<(), String> {
        // So that every script needs its text again.
        self.admin("SCRIPT FLUSH").await;
        match purpose {
            "every lock" => locks(&self.provider()).await.map_err(told),
            "a server that may drop locks is refused" => self.notices_an_evicting_server().await,
            "acknowledged_by" => self.waits().await,
            "list and purge" => self.lists_and_purges().await.map_err(told),
            "wakeups(Channels::Plain)" => self.hears(Channels::Plain).await,
            "wakeups(Channels::Sharded), with those of the line above" => {
                self.hears(Channels::Sharded).await
            }
            "a database other than 0" => {
                let there = RedisProvider::builder()
                    .client(self.client(1))
                    .call_timeout(SOON);
                let there = built(there.build());
                there.read(&fresh_name("there")).await.map_err(told)?;
                Ok(())
            }
            "Fence::hset of the key account" => {
                let fields = [("balance", 1)];
                let (fence, mut connection) = (Fence::default(), connect(&self.client(0)).await);
                let written = fence.hset(&mut connection, "account", ONE, &fields);
                written.await.map_err(|error| error.to_string())
            }
            "Fence::set of the key page" => {
                let (fence, mut connection) = (Fence::default(), connect(&self.client(0)).await);
                let written = fence.set(&mut connection, "page", ONE, "text");
                written.await.map_err(|error| error.to_string())
            }
            other => panic!("nothing is tried for {other:?}"),
        }
    }

    async fn notices_an_evicting_server(&self) -> Result<(), String> {
        self.admin("CONFIG SET maxmemory-policy allkeys-lru").await;
        let answer = self
            .provider()
            .acquire(&try_for(&fresh_name("dropped"), LONG))
            .await;
        self.admin("CONFIG SET maxmemory-policy noeviction").await;
        match answer {
            Err(error) if error.to_string().contains("maxmemory-policy") => Ok(()),
            other => Err(format!("{other:?}")),
        }
    }

    async fn waits(&self) -> Result<(), String> {
        let waiting = RedisProvider::builder()
            .client(self.client(0))
            .call_timeout(SOON)
            .acknowledged_by(1);
        let term = try_for(&fresh_name("waiting"), LONG);
        match built(waiting.build()).acquire(&term).await {
            // There is no replica.
            Err(error) if error.kind() == ErrorKind::Unknown => Ok(()),
            Err(error) => Err(told(error)),
            Ok(outcome) => panic!("acknowledged by nobody: {outcome:?}"),
        }
    }

    async fn lists_and_purges(&self) -> Result<(), ProviderError> {
        const EIGHT_DAYS: i64 = 8 * 24 * 3600 * 1_000_000;
        let old = fresh_name("old");
        granted(&self.server.provider(), &try_for(&old, LONG)).await;
        assert!(record::age(&mut self.admin.clone(), &old, EIGHT_DAYS).await);
        let provider = self.provider();
        let listed = provider.list(&List::new(old.as_str())).await;
        let purged = provider.purge(usize::MAX).await;
        self.admin(&format!("DEL {}", key(&old))).await;
        assert_eq!((listed?.records.len(), purged?), (1, 1));
        Ok(())
    }

    /// Releases a lock, and listens for it: on its own channels, and, as an administrator, on the plain ones.
    async fn hears(&self, channels: Channels) -> Result<(), String> {
        let listening = |client, channels| {
            let provider = RedisProvider::builder()
                .client(client)
                .wakeups(channels)
                .call_timeout(SOON);
            built(provider.build())
        };
        let provider = listening(self.client(0), channels);
        let mut own = provider.watch().await.map_err(told)?.unwrap();
        let everybody = listening(self.server.client(), Channels::Plain);
        let mut plain = everybody.watch().await.unwrap().unwrap();
        let term = try_for(&fresh_name("heard"), LONG);
        granted(&provider, &term).await;
        let first = async |wakeups: &mut Wakeups| soon("a hint", wakeups.next()).await;
        record::mark(&everybody, &term.name).await;
        first(&mut plain).await;
        if channels == Channels::Plain {
            provider.read(&term.name).await.unwrap();
            first(&mut own).await;
        }
        let release = Release::new(term.name.clone(), term.new, None);
        provider.release(&release).await.unwrap();
        // Arrives after the release on every connection, whatever the outcome of that.
        let after = fresh_name("after");
        self.admin(&format!("PUBLISH dlock:released {}", key(&after)))
            .await;
        let (released, after) = (Wakeup::Name(term.name), Wakeup::Name(after));
        if first(&mut own).await != Some(released.clone()) {
            return Err("the release was not heard".to_owned());
        }
        let expected = match channels {
            Channels::Plain => released,
            // A message that stays on its shard.
            _ => after,
        };
        match first(&mut plain).await {
            Some(heard) if heard == expected => Ok(()),
            other => Err(format!("everybody heard {other:?}")),
        }
    }
}

/// Every call about one lock.
async fn locks(provider: &RedisProvider) -> Result<(), ProviderError> {
    let begin = async || {
        let term = try_for(&fresh_name("rights"), LONG).data(Some(vec![1]));
        provider.acquire(&term).await?;
        Ok::<Acquire, ProviderError>(term)
    };
    let term = begin().await?;
    provider
        .acquire(&try_for(&term.name, LONG).marks(7))
        .await?;
    let renew = |n| Renew::new(term.name.clone(), term.new, n);
    provider.renew(&renew(1)).await?;
    for answer in provider.renew_many(&[renew(2), renew(3)]).await {
        answer?;
    }
    provider.ask(&Ask::new(term.name.clone(), term.new)).await?;
    provider.read(&term.name).await?;
    let release = Release::new(term.name.clone(), term.new, None);
    provider.release(&release).await?;
    let term = begin().await?;
    let closing = Some(Closing::new(LONG)?);
    let close = Release::new(term.name.clone(), term.new, None).closing(closing);
    provider.release(&close).await?;
    let term = begin().await?;
    let version = Version {
        uuid: term.new,
        renewals: 0,
    };
    provider.revoke(&Revoke::new(term.name, version)?).await?;
    Ok(())
}

#[tokio::test]
async fn every_right_that_is_listed_is_enough_and_necessary() {
    let server = Server::start(&[]).await;
    let mut admin = server.raw().await;
    let all: Vec<&str> = documented()
        .into_iter()
        .flat_map(|(_, rights)| rights)
        .collect();
    let mut known = Vec::new();
    for right in all {
        let mut try_it = words("ACL SETUSER somebody");
        match try_it.arg(right).exec_async(&mut admin).await {
            Ok(()) => known.push(right),
            // Channels have rights from Redis 6.2 on, and shards from 7 on.
            Err(error) => assert!(major(&server).await < 7, "{right}: {error}"),
        }
    }
    let (mut number, mut named) = (0, 0);
    for (purpose, rights) in documented() {
        if purpose == "a connection to a cluster"
            || rights.iter().any(|right| !known.contains(right))
        {
            continue;
        }
        for missing in rights.into_iter().map(Some).chain([None]) {
            let given: Vec<&str> = known
                .iter()
                .copied()
                .filter(|right| Some(*right) != missing)
                .collect();
            number += 1;
            let scene = Scene {
                server: &server,
                admin: admin.clone(),
                user: format!("app{number}"),
            };
            user(&mut admin, &scene.user, &given).await;
            let tried = scene.tries(purpose).await;
            assert_eq!(
                tried.is_err(),
                missing.is_some(),
                "{purpose} without {missing:?}: {tried:?}"
            );
            if let (Some(missing), Err(told)) = (missing, &tried)
                && told.contains("may not")
            {
                named += 1;
                assert!(names(told, missing), "without {missing}: {told}");
            }
        }
    }
    // If a right is missing in a release or in a fence, another error reports it.
    assert!(named >= 10, "only {named} were told what they lack");
}

/// Whether the error of a user who lacks this right names it.
fn names(told: &str, missing: &str) -> bool {
    let inside = "may not run a command that is inside of a lock's script;";
    match missing.split_at(1) {
        ("~", _) => told.contains("may not use this key;"),
        ("&", _) => told.contains("may not use this channel;"),
        // Before Redis 7 a subcommand has no name of its own, and up to 7.0 a command inside a script has none.
        (_, command @ ("time" | "get" | "set" | "info" | "del" | "scan")) => {
            told.contains(&format!("may not run {command};")) || told.contains(inside)
        }
        (_, command) => {
            let (command, _) = command.split_once('|').unwrap_or((command, ""));
            told.contains(&format!("may not run {command};"))
                || told.contains(&format!("may not run {command}|"))
        }
    }
}

/// The same rights on every node. The driver needs some for itself.
#[tokio::test]
async fn the_rights_that_are_listed_are_enough_for_a_cluster() {
    let cluster = Cluster::start().await;
    let sharded = major(&cluster.nodes[0]).await >= 7;
    let lines = documented().into_iter();
    let lines = lines.filter(|(purpose, _)| sharded || !purpose.starts_with("wakeups"));
    let all: Vec<&str> = lines.flat_map(|(_, rights)| rights).collect();
    let missing = [None, Some("+cluster|slots")];
    for (number, missing) in missing.into_iter().enumerate() {
        let name = format!("app{number}");
        let given: Vec<&str> = all
            .iter()
            .copied()
            .filter(|right| Some(*right) != missing)
            .collect();
        for node in &cluster.nodes {
            user(&mut node.raw().await, &name, &given).await;
        }
        let url = |node: &Server| format!("redis://{name}:secret@{}", node.address());
        let client = ClusterClientBuilder::new(cluster.nodes.iter().map(url))
            .connection_timeout(SOON)
            .response_timeout(SOON)
            .build()
            .unwrap();
        if missing.is_some() {
            assert!(
                client.get_async_connection().await.is_err(),
                "without {missing:?}"
            );
            continue;
        }
        let connection = at_last("a connection", || client.get_async_connection()).await;
        let provider = RedisProvider::builder()
            .connection(connection)
            .client(Client::open(url(&cluster.nodes[0])).unwrap())
            .call_timeout(SOON)
            .wakeups_opt(sharded.then_some(Channels::Sharded));
        let provider = built(provider.build());
        let mut wakeups = provider.watch().await.unwrap();
        locks(&provider).await.unwrap();
        if let Some(wakeups) = &mut wakeups {
            soon("the hint", wakeups.next()).await.unwrap();
        }
        let page = provider.list(&List::new("rights/")).await.unwrap();
        assert_eq!(page.records.len(), 3);
        assert_eq!(provider.purge(10).await.unwrap(), 0);
    }
}
