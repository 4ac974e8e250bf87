//! Settings of a session, and of the server, that must make no difference.

use std::time::{Duration, SystemTime};

use dlock_core::{
    Name, Provider,
    provider::{Admin, Ask, AskOutcome, List, Release, ReleaseOutcome, Revoke, RevokeOutcome},
};
use dlock_mysql::MysqlProvider;
use dlock_mysql_proof::{Server, provider, server};
use tokio::task::JoinSet;

use crate::support::{LONG, granted, is_held, lasting, released, renewed, term};

const SETTINGS: [&str; 21] = [
    "autocommit = 0",
    "tx_isolation = 'READ-UNCOMMITTED'",
    "tx_isolation = 'SERIALIZABLE'",
    "autocommit = 0, tx_isolation = 'REPEATABLE-READ'",
    "autocommit = 0, tx_isolation = 'SERIALIZABLE'",
    "autocommit = 0; BEGIN",
    "tx_read_only = 1",
    "completion_type = 'CHAIN'",
    "completion_type = 'RELEASE'",
    "sql_mode = ''",
    "sql_mode = 'ANSI_QUOTES'",
    "sql_mode = 'ANSI,TRADITIONAL,NO_BACKSLASH_ESCAPES'",
    "sql_mode = 'ORACLE'",
    "time_zone = '+13:00'",
    "time_zone = '-12:59'",
    "NAMES latin1",
    "NAMES utf8mb4 COLLATE utf8mb4_unicode_ci",
    "character_set_results = NULL",
    "sql_safe_updates = 1, sql_select_limit = 1",
    "timestamp = 1000000000",
    "innodb_lock_wait_timeout = 1, lock_wait_timeout = 1",
];

#[expect(
    clippy::disallowed_methods,
    reason = "the server's is the same machine's"
)]
fn wall_clock() -> SystemTime {
    SystemTime::now()
}

/// All calls of a provider, in one session, each checked from another session.
async fn works(ours: &MysqlProvider, theirs: &MysqlProvider) {
    let door = Name::new("door 'ä\\").unwrap();
    let seen = async || theirs.read(&door).await.unwrap().unwrap();
    assert!(ours.read(&door).await.unwrap().is_none());

    let ours_term = term(door.as_str());
    let token = granted(ours, &ours_term).await;
    let record = seen().await;
    assert_eq!((record.uuid, record.token), (ours_term.new, token));
    assert_eq!(record.owner, "a tést");
    let age = wall_clock().duration_since(record.since);
    assert!(age.unwrap() < Duration::from_secs(60), "{record:?}");
    let now = wall_clock().duration_since(SystemTime::UNIX_EPOCH);
    let gap = now.unwrap().as_micros().abs_diff(u128::from(token.get()));
    assert!(gap < 60_000_000, "{token}");

    renewed(ours, &ours_term, 3).await;
    assert_eq!(seen().await.renewals, 3);
    let ask = Ask::new(door.clone(), ours_term.new);
    assert_eq!(ours.ask(&ask).await.unwrap(), AskOutcome::Asked);
    assert!(seen().await.asked);
    let revoke = Revoke::new(door.clone(), seen().await.version()).unwrap();
    assert_eq!(ours.revoke(&revoke).await.unwrap(), RevokeOutcome::Revoked);
    assert_eq!(seen().await.uuid, revoke.new);
    let release = Release::new(door.clone(), revoke.new, None);
    assert_eq!(
        ours.release(&release).await.unwrap(),
        ReleaseOutcome::Released { wanted: false }
    );
    assert!(seen().await.released);

    // Earlier reads of the session must not determine later ones.
    for _ in 0..3 {
        let theirs_term = term(door.as_str());
        granted(theirs, &theirs_term).await;
        assert!(is_held(ours, door.as_str()).await);
        assert_eq!(
            ours.read(&door).await.unwrap().unwrap().uuid,
            theirs_term.new
        );
        let page = ours.list(&List::new("")).await.unwrap();
        assert_eq!(page.records[0].1.uuid, theirs_term.new);
        released(theirs, &theirs_term).await;
    }

    // By the server's own clock.
    let short = lasting("short", Duration::from_secs(4));
    let began = tokio::time::Instant::now();
    granted(theirs, &short).await;
    while is_held(ours, "short").await {
        assert!(began.elapsed() < LONG, "the lease does not end");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(began.elapsed() >= short.duration);
    let page = ours.list(&List::new("")).await.unwrap();
    assert_eq!(page.records.len(), 2);
    assert_eq!(ours.purge(10).await.unwrap(), 0);
}

#[tokio::test]
async fn settings_of_a_session_do_not_matter() {
    let all = SETTINGS.map(|setting| vec![format!("SET {setting}")]);
    let mut plays = JoinSet::new();
    for init in all {
        plays.spawn(async move {
            let database = server().await.database().await;
            // One connection, so each call meets the state that the previous one left.
            let options = database.options(1).init(init.clone());
            let ours = provider(options, Duration::from_secs(20));
            if init[0].contains("tx_read_only") {
                // A read-only session creates no table.
                database.provider(1).await;
            }
            if let Err(error) = ours.create_schema().await {
                panic!("{init:?}: {error:?}");
            }
            println!("{init:?}");
            works(&ours, &database.provider(2).await).await;
        });
    }
    while let Some(played) = plays.join_next().await {
        played.unwrap();
    }
}

#[tokio::test]
async fn settings_of_the_server_do_not_matter() {
    let server = Server::start(&[
        "--autocommit=0",
        "--transaction-isolation=SERIALIZABLE",
        "--sql-mode=ANSI,NO_BACKSLASH_ESCAPES",
        "--default-time-zone=-11:00",
        "--character-set-server=latin1",
        "--collation-server=latin1_german2_ci",
        "--completion-type=CHAIN",
        "--lower-case-table-names=1",
        "--default-storage-engine=MyISAM",
        "--innodb-default-row-format=compact",
        "--log-bin=log",
        "--server-id=1",
    ])
    .await;
    let database = server.database_named("App").await;
    let ours = database.provider(1).await;
    works(&ours, &database.provider(2).await).await;
    let elsewhere = MysqlProvider::builder()
        .options(server.database().await.options(2))
        .table("App.dlock_lock")
        .build()
        .unwrap();
    elsewhere.verify_schema().await.unwrap();
    assert_eq!(
        elsewhere.list(&List::new("")).await.unwrap().records.len(),
        2
    );
}

/// With the server's default for such a database, two names that differ in case, or by a blank, would be one.
#[tokio::test]
async fn character_set_of_the_database_does_not_matter() {
    let database = server().await.database().await;
    for set in ["utf16", "latin1 COLLATE latin1_general_ci", "binary"] {
        database
            .run(&format!(
                "ALTER DATABASE CHARACTER SET {set}; DROP TABLE IF EXISTS dlock_lock; \
                 DROP PROCEDURE IF EXISTS dlock_lock_acquire_1; DROP PROCEDURE IF EXISTS dlock_lock_read_1"
            ))
            .await;
        let ours = database.provider(1).await;
        works(&ours, &database.provider(2).await).await;
    }
}
