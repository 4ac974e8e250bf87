//! Locks spread over the nodes of a cluster.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::{SocketAddr, TcpListener},
    time::Duration,
};

use dlock_core::{
    ErrorKind, Name, Provider, ProviderError,
    provider::{Admin, List, Release, Renew, RenewOutcome},
};
use dlock_redis::RedisProvider;
use tokio::{net::TcpSocket, time::Instant};

use crate::support::{
    Cluster, LONG, SOON, Server, ask, at_last, built, fresh_name, granted, key, name, try_for,
    words,
};

#[tokio::test]
async fn locks_are_on_every_node_and_listed_in_order() {
    let cluster = Cluster::start().await;
    let provider = cluster.provider().await;
    let mut names: Vec<Name> = (0..90)
        .map(|number| name(&format!("spread/{number}")))
        .collect();
    // Braces in names move hash tags about; the key of a name is one key all the same.
    names.extend(["}", "{}", "{a}b", "a}b{c", "}{"].map(|odd| name(&format!("spread/{odd}"))));
    names.extend(["}", "{}", "{a}"].map(name));
    for name in &names {
        granted(&provider, &try_for(name, LONG)).await;
    }
    for node in &cluster.nodes {
        assert!(node.ask::<u64>("DBSIZE").await > 10);
    }
    names.sort();
    let mut listed = Vec::new();
    let mut after = None;
    loop {
        let request = List::new("").after(after).limit(7);
        let page = provider.list(&request).await.unwrap();
        assert!(page.records.len() <= 7);
        listed.extend(page.records.into_iter().map(|(name, _)| name));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(listed, names);
    // The prefix is a text, not a pattern.
    let page = provider.list(&List::new("spread/{")).await.unwrap();
    assert_eq!(page.records.len(), 2);
}

#[tokio::test]
async fn a_batch_reaches_every_node_and_is_answered_in_order() {
    let cluster = Cluster::start().await;
    let provider = cluster.provider().await;
    let mut renewals = Vec::new();
    for number in 0..700 {
        let term = try_for(&fresh_name("batch"), LONG);
        // Every third one has no record.
        if number % 3 != 0 {
            granted(&provider, &term).await;
        }
        renewals.push(Renew::new(term.name, term.new, 1));
    }
    for _ in 0..2 {
        let answers = provider.renew_many(&renewals).await;
        assert_eq!(answers.len(), renewals.len());
        for (number, answer) in answers.into_iter().enumerate() {
            let expected = match number % 3 {
                0 => RenewOutcome::Lost(None),
                _ => RenewOutcome::Renewed { asked: false },
            };
            assert_eq!(answer.unwrap(), expected, "{number}");
        }
    }
}

/// Renewals are sent by shard, so a node's silence delays only its own: each shard is on one node, except for the two
/// that a border divides.
#[tokio::test]
async fn shards_follow_the_nodes_of_a_cluster() {
    let mut cluster = Cluster::start().await;
    let provider = cluster.provider().await;
    let mut nodes: BTreeMap<u64, BTreeSet<usize>> = BTreeMap::new();
    let mut names = Vec::new();
    for _ in 0..600 {
        let name = fresh_name("sharded");
        let slot = format!("CLUSTER KEYSLOT {}", key(&name));
        let node = match cluster.nodes[0].ask::<u16>(&slot).await {
            0..5461 => 0,
            5461..10923 => 1,
            _ => 2,
        };
        let shard = provider.shard(&name);
        nodes.entry(shard).or_default().insert(node);
        names.push((name, shard));
    }
    assert_eq!(nodes.len(), 16);
    let divided = nodes.values().filter(|nodes| nodes.len() > 1).count();
    assert!(divided <= 2, "{nodes:?}");
    // Too long to be a key, so it has no slot.
    assert_eq!(provider.shard(&name(&"x".repeat(Name::MAX_BYTES))), 0);
    // No node is queried, and a clone answers the same.
    cluster.nodes.clear();
    for (name, shard) in &names {
        assert_eq!(provider.clone().shard(name), *shard);
    }
}

/// A connection to one server has one shard.
#[tokio::test]
async fn a_single_server_is_one_shard() {
    let server = Server::start(&[]).await;
    let connection = server.raw().await;
    let acknowledged = RedisProvider::builder()
        .connection(connection)
        .client(server.client())
        .acknowledged_by(1);
    for provider in [server.provider(), built(acknowledged.build())] {
        for _ in 0..50 {
            assert_eq!(provider.shard(&fresh_name("single")), 0);
        }
    }
}

/// A client that connects to a single node learns why some of the locks do not work.
#[tokio::test]
async fn a_connection_to_one_node_says_what_is_missing() {
    let cluster = Cluster::start().await;
    let alone = cluster.nodes[0].provider();
    let (mut here, mut elsewhere) = (0, 0);
    for _ in 0..30 {
        match alone.acquire(&try_for(&fresh_name("alone"), LONG)).await {
            Ok(_) => here += 1,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::NotApplied, "{error:?}");
                assert!(error.to_string().contains("cluster connection"), "{error}");
                elsewhere += 1;
            }
        }
    }
    assert!(here > 0 && elsewhere > 0);
    // A list of a part would look like a complete list.
    let error = alone.list(&List::new("")).await.unwrap_err();
    assert!(error.to_string().contains("cluster connection"), "{error}");
}

/// A dead node stops its own locks and no others, also within one batch.
#[tokio::test]
async fn a_dead_node_does_not_stop_the_others() {
    // No other process can take the address of the dead node, and none listens there.
    the_others_go_on(SOON, |address| {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.bind(address).unwrap();
        socket
    })
    .await;
}

/// The same if another process took its address, accepts and never answers. The driver makes all requests wait while it
/// tries to connect there, so its own limit for that must be short.
#[tokio::test]
async fn a_silent_address_of_a_dead_node_does_not_stop_the_others() {
    let to_connect = Duration::from_millis(500);
    the_others_go_on(to_connect, |address| TcpListener::bind(address).unwrap()).await;
}

/// Locks on all nodes, one of which dies; `occupy` then takes its address. `to_connect` is the driver's limit for an
/// attempt to connect.
async fn the_others_go_on<T>(to_connect: Duration, occupy: impl FnOnce(SocketAddr) -> T) {
    const LIMIT: Duration = Duration::from_secs(3);
    /// The number of locks on the dead node, and of those on the others.
    const EACH: usize = 20;
    let mut cluster = Cluster::start().await;
    let connection = cluster.connection_within(to_connect).await;
    let provider = RedisProvider::builder()
        .connection(connection)
        .call_timeout(LIMIT);
    let provider = built(provider.build());
    let (mut dead, mut living) = (Vec::new(), Vec::new());
    while dead.len() < EACH || living.len() < EACH {
        let term = try_for(&fresh_name("dead"), LONG);
        let slot = format!("CLUSTER KEYSLOT {}", key(&term.name));
        let slot: u16 = cluster.nodes[0].ask(&slot).await;
        let some = match slot {
            0..10880 => &mut living,
            // A shard that two nodes divide fails as a whole.
            10880..10944 => continue,
            _ => &mut dead,
        };
        if some.len() < EACH {
            at_last("the grant", || provider.acquire(&term)).await;
            some.push(term);
        }
    }
    let address = cluster.nodes[2].address();
    drop(cluster.nodes.pop());
    let _occupied = occupy(address);
    let renewals: Vec<Renew> = dead
        .iter()
        .chain(&living)
        .map(|term| Renew::new(term.name.clone(), term.new, 1))
        .collect();
    // A busy machine may be too slow for the limit of a call, so the renewals at the living nodes have some attempts.
    at_last("the renewals", || async {
        let began = Instant::now();
        let mut answers = provider.renew_many(&renewals).await;
        // One after the other, those of the dead node would take a minute.
        let took = began.elapsed();
        assert!(took < 10 * LIMIT, "{took:?}");
        let living: Result<Vec<_>, _> = answers.split_off(EACH).into_iter().collect();
        for answer in answers {
            assert_ne!(answer.unwrap_err().kind(), ErrorKind::Fatal);
        }
        for outcome in living? {
            assert_eq!(outcome, RenewOutcome::Renewed { asked: false });
        }
        Ok::<_, ProviderError>(())
    })
    .await;
    for term in living {
        let release = Release::new(term.name, term.new, None);
        at_last("the release", || provider.release(&release)).await;
    }
}

/// The same with as many requests in flight as a busy client has. With tokio 1.54.0 and 1.54.1 the driver stops for
/// good here: see "Connections" in the documentation of the crate.
#[tokio::test]
async fn a_dead_node_does_not_stop_a_crowd() {
    let mut cluster = Cluster::start().await;
    let connection = cluster.connection().await;
    let provider = RedisProvider::builder()
        .connection(connection)
        .call_timeout(Duration::from_secs(3));
    let provider = built(provider.build());
    let mut renewals = Vec::new();
    for _ in 0..2000 {
        let term = try_for(&fresh_name("crowd"), LONG);
        renewals.push(Renew::new(term.name, term.new, 1));
    }
    let mut living = None;
    for renewal in &renewals {
        let slot = format!("CLUSTER KEYSLOT {}", key(&renewal.name));
        if cluster.nodes[0].ask::<u16>(&slot).await < 5461 {
            living = Some(&renewal.name);
            break;
        }
    }
    let living = living.unwrap();
    drop(cluster.nodes.pop());
    for _ in 0..3 {
        provider.renew_many(&renewals).await;
        let record = at_last("the look", || provider.read(living)).await;
        assert!(record.is_none());
    }
}

/// A node that hangs is worse than one that is dead: each of its locks takes as long as a call may. The others are
/// answered as usual, and the batch takes about one such time, however many of them it contains.
#[tokio::test]
async fn a_node_that_hangs_delays_a_batch_by_one_call() {
    let mut cluster = Cluster::start().await;
    let provider = cluster.provider().await;
    let mut renewals = Vec::new();
    for _ in 0..2000 {
        let term = try_for(&fresh_name("hung"), LONG);
        renewals.push(Renew::new(term.name, term.new, 1));
    }
    // They are free: each renewal is lost, which only its node can report.
    for answer in provider.renew_many(&renewals).await {
        assert_eq!(answer.unwrap(), RenewOutcome::Lost(None));
    }
    let mut raw = cluster.nodes[0].raw().await;
    let mut slots = Vec::new();
    for renewal in &renewals {
        let slot = words(&format!("CLUSTER KEYSLOT {}", key(&renewal.name)));
        slots.push(ask::<u16>(&mut raw, &slot).await);
    }
    cluster.nodes[2].freeze().await;
    let began = tokio::time::Instant::now();
    let answers = provider.renew_many(&renewals).await;
    let took = began.elapsed();
    cluster.nodes[2].thaw();
    // The shard that two nodes divide fails as a whole.
    for (slot, answer) in slots.iter().zip(answers) {
        match answer {
            Ok(outcome) => assert_eq!(outcome, RenewOutcome::Lost(None)),
            Err(error) => {
                assert!(*slot >= 10880, "slot {slot} is a living node's: {error:?}");
                assert_ne!(error.kind(), ErrorKind::Fatal, "{error:?}");
            }
        }
    }
    assert!((SOON..3 * SOON).contains(&took), "{took:?}");
}

/// Slots move while locks are held: every redirection is followed, and nothing is lost.
#[tokio::test]
async fn a_lock_moves_with_its_slot() {
    let cluster = Cluster::start().await;
    let provider = cluster.provider().await;
    let term = loop {
        let term = try_for(&fresh_name("moving"), LONG);
        let slot = format!("CLUSTER KEYSLOT {}", key(&term.name));
        if cluster.nodes[0].ask::<u16>(&slot).await < 5461 {
            break term;
        }
    };
    let token = granted(&provider, &term).await;
    let [from, to, other] = cluster.nodes.as_slice() else {
        panic!("three nodes")
    };
    let slot: u16 = from
        .ask(&format!("CLUSTER KEYSLOT {}", key(&term.name)))
        .await;
    let from_id: String = from.ask("CLUSTER MYID").await;
    let to_id: String = to.ask("CLUSTER MYID").await;
    let mut n = 0;
    let mut renews = async |when: &str| {
        n += 1;
        let renew = Renew::new(term.name.clone(), term.new, n);
        let answer = provider.renew(&renew).await;
        assert_eq!(
            answer.unwrap_or_else(|error| panic!("{when}: {error:?}")),
            RenewOutcome::Renewed { asked: false },
            "{when}"
        );
    };
    renews("before").await;
    to.ask::<()>(&format!("CLUSTER SETSLOT {slot} IMPORTING {from_id}"))
        .await;
    from.ask::<()>(&format!("CLUSTER SETSLOT {slot} MIGRATING {to_id}"))
        .await;
    renews("while the slot is to move").await;
    let migrate = format!("MIGRATE 127.0.0.1 {} {} 0 5000", to.port(), key(&term.name));
    from.ask::<()>(&migrate).await;
    renews("when the key has moved").await;
    for node in [to, from, other] {
        let mut raw = node.raw().await;
        let assign = words(&format!("CLUSTER SETSLOT {slot} NODE {to_id}"));
        crate::support::ask::<()>(&mut raw, &assign).await;
    }
    renews("when the slot has moved").await;
    let record = provider.read(&term.name).await.unwrap().unwrap();
    assert_eq!(
        (record.uuid, record.renewals, record.token),
        (term.new, n, token)
    );
    let life: i64 = to.ask(&format!("PTTL {}", key(&term.name))).await;
    assert!(life > 0, "the key has its life still");
}
