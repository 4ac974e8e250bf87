//! Locks in a Redis Cluster.
#![expect(clippy::unwrap_used, reason = "in a test, that is how it fails")]

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use dlock_test_servers::{Service, redis::redis};

use super::at;
use crate::support::{
    Scene,
    stores::{block_on, commands_take_turns, killed_holder_is_followed},
    until,
};

/// A server's answer to a command.
fn say(service: &Service, command: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", service.place().port())).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    write!(stream, "{command}\r\nQUIT\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(!answer.starts_with('-'), "{command}: {answer}");
    answer
}

#[test]
fn any_node_leads_to_the_locks_of_a_cluster() {
    let start = || {
        block_on(redis(&["--cluster-enabled", "yes"]))
            .unwrap_or_else(|error| panic!("no redis-server; scripts/test installs it: {error}"))
    };
    let nodes = [start(), start()];
    say(&nodes[0], "CLUSTER ADDSLOTSRANGE 0 8191");
    say(&nodes[1], "CLUSTER ADDSLOTSRANGE 8192 16383");
    say(&nodes[1], "CLUSTER SET-CONFIG-EPOCH 2");
    let port = nodes[1].place().port();
    say(&nodes[0], &format!("CLUSTER MEET 127.0.0.1 {port}"));
    for node in &nodes {
        until("the cluster", || {
            say(node, "CLUSTER INFO")
                .contains("cluster_state:ok")
                .then_some(())
        });
        until("both nodes", || {
            say(node, "CLUSTER SLOTS").starts_with("*2").then_some(())
        });
    }
    let scene = |node: &Service, query: &str| {
        at(format!("redis://127.0.0.1:{}{query}", node.place().port()))
    };
    // One on each node.
    let names = ["lock-0", "lock-2"];
    let run = |scene: &Scene, name, lease| {
        let run = ["run", name, "--lease", lease, "--no-wait", "--", "true"];
        scene.finish(run).code()
    };
    for (node, here) in nodes.iter().zip([0, 1]) {
        let both = scene(node, "?cluster=true");
        assert_eq!(names.map(|name| run(&both, name, "30s")), [0; 2]);
        let alone = scene(node, "");
        assert_eq!(run(&alone, names[here], "30s"), 0);
        // How long the store is queried follows from the lease.
        assert_eq!(run(&alone, names[1 - here], "2s"), 69);
    }
    let both = scene(&nodes[0], "?cluster=true");
    let listed = both.finish(["status", "--json"]).out;
    assert!(names.iter().all(|name| listed.contains(name)), "{listed}");
    commands_take_turns(&both);
    killed_holder_is_followed(&scene(&nodes[1], "?cluster=true"));
}
