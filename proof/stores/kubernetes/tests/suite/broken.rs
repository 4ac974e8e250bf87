//! A server that is killed, gone, or silent.

use std::time::Duration;

use dlock_core::{ErrorKind, Provider, provider::AcquireOutcome};
use dlock_kubernetes::KubernetesProvider;
use dlock_kubernetes_proof::{ADMIN, Server, client, provider};
use dlock_proof::stores::{self, LONG, term, until_answered};
use tokio::time::timeout;

const NAMESPACE: &str = "default";

async fn connect(server: &Server) -> KubernetesProvider {
    server.provider(NAMESPACE).await
}

#[tokio::test]
async fn acknowledged_writes_survive_a_server_that_is_killed() {
    let (server, restart) = (Server::start().await, Server::restart);
    stores::acknowledged_writes_survive_a_server_that_is_killed(server, connect, restart).await;
}

#[tokio::test]
async fn guard_survives_a_server_that_is_killed() {
    let (server, restart) = (Server::start().await, Server::restart);
    stores::guard_survives_a_server_that_is_killed(server, connect, restart).await;
}

#[tokio::test]
async fn server_that_is_not_there_is_said_so_at_once() {
    let kubeconfig = Server::start().await.kubeconfig(ADMIN);
    // The server's authority is gone with it, so there is no certificate to trust.
    let kubeconfig = kubeconfig.replace("certificate-authority", "no");
    let provider = provider(client(&kubeconfig, 60 * LONG).await, NAMESPACE);
    stores::server_that_is_not_there_is_said_so_at_once(provider).await;
}

/// The server or its etcd stops and continues: the outcome of the call is unknown, and the next answer is
/// right.
#[tokio::test]
async fn silent_server_leaves_it_unknown() {
    let mut server = Server::start().await;
    let patient = server.provider(NAMESPACE).await;
    let hasty = client(&server.kubeconfig(ADMIN), Duration::from_secs(1)).await;
    let hasty = provider(hasty, NAMESPACE);
    for (name, signal) in [
        ("door", Server::signal as fn(&mut Server, &str)),
        ("gate", Server::signal_etcd),
    ] {
        let a = term(name);
        until_answered(&hasty).await;
        signal(&mut server, "STOP");
        // The server may still answer for a moment. The try is repeated, and answered in the same way.
        let until_silent = async {
            loop {
                if let Err(error) = hasty.acquire(&a).await {
                    return error;
                }
            }
        };
        let error = timeout(LONG, until_silent).await.unwrap();
        assert_eq!(error.kind(), ErrorKind::Unknown, "{error:?}");
        signal(&mut server, "CONT");
        let until_granted = async {
            loop {
                match patient.acquire(&a).await {
                    Ok(AcquireOutcome::Acquired(tokens)) => return tokens.last(),
                    Ok(other) => panic!("{other:?}"),
                    Err(error) => assert_ne!(error.kind(), ErrorKind::Fatal, "{error:?}"),
                }
            }
        };
        timeout(LONG, until_granted).await.unwrap();
    }
}
