//! The grants that the README lists: a role that has them can make every call, and for one that lacks any of them an
//! error says so.

use std::time::Duration;

use dlock_core::{
    ErrorKind, FencingToken, Provider, ProviderError,
    provider::{Admin, Ask, Closing, List, Release, Renew, Revoke, Version},
};
use dlock_postgres::{
    PostgresProvider,
    deadpool_postgres::tokio_postgres::{Client, Config, NoTls},
    fence::{Fence, FenceError},
};

use crate::hearing::{heard, use_wanted};
use crate::support::{PATIENCE, connect, create, fresh, name, on, pool, server, term};

/// The statements of the README, each with one right.
pub(crate) fn documented() -> Vec<String> {
    let readme = include_str!("../../README.md");
    let (_, section) = readme.split_once("# Rights").unwrap();
    let (_, list) = section.split_once("```sql\n").unwrap();
    let (list, _) = list.split_once("```").unwrap();
    let each = |line: &str| {
        let (grant, _) = line.split_once(';').unwrap();
        let (rights, object) = grant.split_once(" ON ").unwrap();
        let rights = rights.strip_prefix("GRANT ").unwrap();
        let grant = |right: &str| format!("GRANT {right} ON {object}");
        rights.split(", ").map(grant).collect::<Vec<_>>()
    };
    list.lines().flat_map(each).collect()
}

/// A database in which no role has a right that was not granted to it.
pub(crate) struct Database {
    name: String,
    owner: Config,
    /// Its owner, not from a pool.
    pub(crate) client: Client,
}

impl Database {
    pub(crate) async fn create() -> Self {
        let name = fresh();
        let server = server().await;
        let create_it = format!("CREATE DATABASE \"{name}\"");
        server
            .client()
            .await
            .batch_execute(&create_it)
            .await
            .unwrap();
        let mut owner = server.config();
        owner.dbname(&name);
        create(&on(pool(owner.clone(), 1), "dlock")).await;
        let client = connect(&owner).await;
        fence().create_schema(&client).await.unwrap();
        let harden = format!(
            "REVOKE ALL ON DATABASE \"{name}\" FROM PUBLIC;
             REVOKE ALL ON SCHEMA public FROM PUBLIC;
             REVOKE ALL ON ALL FUNCTIONS IN SCHEMA dlock FROM PUBLIC"
        );
        client.batch_execute(&harden).await.unwrap();
        Self {
            name,
            owner,
            client,
        }
    }

    /// Settings of a new role with these rights.
    pub(crate) async fn role(&self, grants: &[&String]) -> Config {
        let role = fresh();
        let mut all = format!("CREATE ROLE \"{role}\" LOGIN");
        for grant in grants {
            let grant = grant
                .replace("DATABASE app", &format!("DATABASE \"{}\"", self.name))
                .replace("locker", &format!("\"{role}\""));
            all = format!("{all}; {grant}");
        }
        self.client.batch_execute(&all).await.unwrap();
        let mut config = self.owner.clone();
        config.user(&role);
        config
    }

    /// A record that is old enough to be purged.
    async fn leave_an_old_record(&self) {
        let old = term("old");
        on(pool(self.owner.clone(), 1), "dlock")
            .acquire(&old)
            .await
            .unwrap();
        let age = "UPDATE dlock.lock SET expiry = expiry - interval '8 days' WHERE name = 'old'";
        self.client.batch_execute(age).await.unwrap();
    }
}

fn fence() -> Fence {
    Fence::new("dlock", "fence").unwrap()
}

fn listening(config: &Config) -> PostgresProvider {
    PostgresProvider::builder()
        .pool(pool(config.clone(), 2))
        .listen(config.clone(), NoTls)
        .call_timeout(PATIENCE)
        .build()
        .unwrap()
}

/// Makes every call; returns the errors of those that were refused.
async fn calls(provider: &PostgresProvider) -> Vec<ProviderError> {
    let mut refused = Vec::new();
    let (a, b, c) = (term("a"), term("b"), term("c"));
    for term in [&a, &b, &c] {
        refused.extend(provider.acquire(term).await.err());
    }
    refused.extend(provider.acquire(&term("a").marks(7)).await.err());
    let renew = |n| Renew::new(a.name.clone(), a.new, n);
    refused.extend(provider.renew(&renew(1)).await.err());
    let renewed = provider.renew_many(&[renew(2), renew(3)]).await;
    refused.extend(renewed.into_iter().filter_map(Result::err));
    refused.extend(provider.ask(&Ask::new(a.name.clone(), a.new)).await.err());
    refused.extend(provider.read(&a.name).await.err());
    refused.extend(provider.list(&List::new("")).await.err());
    let release = Release::new(a.name.clone(), a.new, None);
    refused.extend(provider.release(&release).await.err());
    let closing = Closing::new(Duration::from_secs(60)).unwrap();
    let close = Release::new(b.name.clone(), b.new, None).closing(Some(closing));
    refused.extend(provider.release(&close).await.err());
    let version = Version {
        uuid: c.new,
        renewals: 0,
    };
    let revoke = Revoke::new(c.name.clone(), version).unwrap();
    refused.extend(provider.revoke(&revoke).await.err());
    refused.extend(provider.purge(10).await.err());
    refused.extend(provider.diagnose().await.err());
    refused.extend(provider.watch().await.err());
    refused
}

/// A write under a fence.
async fn writes(config: &Config) -> Result<(), FenceError> {
    let mut client = connect(config).await;
    let transaction = client.transaction().await.unwrap();
    let token = FencingToken::new(1).unwrap();
    fence().check(&transaction, "account", token).await?;
    transaction.commit().await.unwrap();
    Ok(())
}

#[tokio::test]
async fn role_with_the_rights_that_are_listed_can_make_every_call() {
    let database = Database::create().await;
    let all = documented();
    let config = database.role(&all.iter().collect::<Vec<_>>()).await;
    let provider = listening(&config);
    provider.verify_schema().await.unwrap();
    // Everything exists, so there is nothing to create.
    provider.create_schema().await.unwrap();
    let refused = calls(&provider).await;
    assert!(refused.is_empty(), "{refused:?}");
    database.leave_an_old_record().await;
    assert_eq!(provider.purge(10).await.unwrap(), 1);
    writes(&config).await.unwrap();

    let mut wakeups = provider.watch().await.unwrap().unwrap();
    use_wanted(&provider, "heard").await;
    assert_eq!(heard(&mut wakeups).await, name("heard"));
}

#[tokio::test]
async fn role_that_lacks_a_right_is_told_so() {
    let database = Database::create().await;
    let all = documented();
    assert_eq!(all.len(), 10);
    for missing in &all {
        let given: Vec<&String> = all.iter().filter(|grant| *grant != missing).collect();
        let config = database.role(&given).await;
        if missing.contains("dlock.fence") {
            let error = writes(&config).await.unwrap_err();
            let FenceError::Store(error) = &error else {
                panic!("{error:?}")
            };
            assert_eq!(error.code().unwrap().code(), "42501", "{missing}: {error}");
            continue;
        }
        let refused = calls(&listening(&config)).await;
        assert!(!refused.is_empty(), "{missing} is not needed");
        for error in refused {
            assert_eq!(error.kind(), ErrorKind::Fatal, "{missing}: {error:?}");
            let told = error.to_string();
            assert!(
                told.contains("lacks a right")
                    || told.contains("may not connect")
                    || told.contains("no connection to the database that listens"),
                "{missing}: {told}"
            );
        }
    }
}
