//! TLS, with the connector that the user brings: everything uses it, and a server without a valid certificate is
//! refused.

use std::{fs, net::Ipv4Addr, path::Path, sync::Arc, time::Duration};

use dlock_core::{
    Client, DLock, ErrorKind, Provider, ProviderError,
    provider::{Admin, List, Renew},
};
use dlock_postgres::{
    PostgresProvider,
    deadpool_postgres::{
        Manager, Pool,
        tokio_postgres::{Config, config::SslMode},
    },
};
use dlock_test_servers::certificates::Certificates;
use dlock_testkit::faults::Faulty;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};
use tempfile::TempDir;
use tokio::time::timeout;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::hearing::{SOON, sleeps};
use crate::support::{LONG, PATIENCE, Server, create, fresh, on, term};

/// A poll later than the end of any test: a waiter that gets the lock was woken.
const NEVER: Duration = Duration::from_secs(3600);

/// A server with TLS that is called `localhost`.
struct Secure {
    server: Server,
    certificates: Certificates,
    folder: TempDir,
}

impl Secure {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let certificates = Certificates::new(&folder.path().join("ours"), "localhost").unwrap();
        let certificates = certificates.for_postgres().unwrap();
        let server = Server::start(&[
            "ssl=on",
            &format!("ssl_cert_file={}", certificates.certificate.display()),
            &format!("ssl_key_file={}", certificates.key.display()),
        ])
        .await;
        Self {
            server,
            certificates,
            folder,
        }
    }

    /// A provider that trusts this authority, and connects only over TLS, to this host.
    fn provider(&self, authority: &Path, host: &str, schema: &str) -> PostgresProvider {
        encrypted(self.server.port(), authority, host, schema)
    }
}

fn encrypted(port: u16, authority: &Path, host: &str, schema: &str) -> PostgresProvider {
    let (config, tls) = required(port, authority, host, schema);
    let pool = Pool::builder(Manager::new(config.clone(), tls.clone()))
        .max_size(2)
        .build()
        .unwrap();
    PostgresProvider::builder()
        .pool(pool)
        .schema(schema)
        .listen(config, tls)
        .call_timeout(PATIENCE)
        .build()
        .unwrap()
}

/// The settings for a server that has to use TLS.
fn required(port: u16, authority: &Path, host: &str, schema: &str) -> (Config, MakeRustlsConnect) {
    let mut config = Config::new();
    config
        .host(host)
        .hostaddr(Ipv4Addr::LOCALHOST.into())
        .port(port)
        .user("postgres")
        .dbname("postgres")
        .application_name(schema)
        .ssl_mode(SslMode::Require);
    (config, trusting(authority))
}

fn trusting(authority: &Path) -> MakeRustlsConnect {
    let pem = fs::read(authority).unwrap();
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_slice(&pem).unwrap())
        .unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    MakeRustlsConnect::new(config)
}

#[tokio::test]
async fn locks_and_wakeups_go_over_tls() {
    let secure = Secure::start().await;
    let schema = fresh();
    let provider = || secure.provider(&secure.certificates.authority, "localhost", &schema);
    let (here, there) = (provider(), Faulty::new(provider()));
    create(&here).await;
    let lock = |client: Client| {
        let lock = DLock::builder()
            .name("lock")
            // At the end of the lease the waiter would try without a hint.
            .duration(LONG)
            .poll_every(NEVER)
            .provider(client);
        lock.build().unwrap()
    };
    let mut lease = lock(Client::new(here.clone())).acquire().await.unwrap();
    lease.renew().await.unwrap();
    let waiting = lock(Client::new(there.clone()));
    let waiter = tokio::spawn(async move { waiting.acquire().await });
    sleeps(&there).await;
    let token = lease.token();
    lease.release().await.unwrap();
    let next = timeout(SOON, waiter)
        .await
        .expect("never woken")
        .unwrap()
        .unwrap();
    assert!(next.token() > token);
    assert_eq!(here.list(&List::new("")).await.unwrap().records.len(), 1);
    let find =
        "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = $1";
    let client = secure.server.client().await;
    let sessions = client.query(find, &[&schema]).await.unwrap();
    // Those of the two pools, and the listener's.
    assert!(sessions.len() >= 3, "{sessions:?}");
    assert!(sessions.iter().all(|session| session.get(0)));
    next.release().await.unwrap();
}

/// With TLS that a server has to use, or may use: the driver requests it in different ways.
#[tokio::test]
async fn statements_are_prepared_over_tls() {
    let secure = Secure::start().await;
    let schema = fresh();
    let authority = &secure.certificates.authority;
    create(&secure.provider(authority, "localhost", &schema)).await;
    for mode in [SslMode::Require, SslMode::Prefer, SslMode::Disable] {
        let port = secure.server.port();
        let (mut config, tls) = required(port, authority, "localhost", &schema);
        config.ssl_mode(mode);
        let manager = Manager::new(config, tls);
        let pool = Pool::builder(manager).max_size(1).build().unwrap();
        let provider = on(pool.clone(), &schema);
        for _ in 0..3 {
            provider.read(&term("lock").name).await.unwrap();
        }
        let session = pool.get().await.unwrap();
        let find = "SELECT ssl, (SELECT count(*) FROM pg_prepared_statements)
            FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
        let found = session.query_typed_one(find, &[]).await.unwrap();
        assert_eq!(found.get::<_, bool>(0), mode != SslMode::Disable);
        assert_eq!(found.get::<_, i64>(1), 1, "{mode:?}");
    }
}

/// Nothing was sent, and trying again is of no use: the first call reports it.
async fn refused(provider: PostgresProvider, why: &str) {
    let says = |error: &ProviderError| {
        assert_eq!(error.kind(), ErrorKind::Fatal, "{error:?}");
        assert!(error.to_string().contains(why), "{error}");
    };
    let a = term("lock");
    says(&provider.acquire(&a).await.unwrap_err());
    let renew = Renew::new(a.name.clone(), a.new, 1);
    says(&provider.renew(&renew).await.unwrap_err());
    assert_eq!(provider.watch().await.unwrap_err().kind(), ErrorKind::Fatal);
    let lock = DLock::builder()
        .name("lock")
        // Otherwise the lock would retry for longer than the test waits.
        .give_up_after(NEVER)
        .provider(provider)
        .build()
        .unwrap();
    let error = timeout(SOON, lock.acquire())
        .await
        .expect("asks again and again");
    says(error.unwrap_err().store_error().unwrap());
}

#[tokio::test]
async fn server_with_an_unknown_certificate_is_refused_at_once() {
    let secure = Secure::start().await;
    let others = Certificates::new(&secure.folder.path().join("others"), "localhost").unwrap();
    let schema = fresh();
    let stranger = secure.provider(&others.authority, "localhost", &schema);
    refused(stranger, "certificate").await;
    let ours = &secure.certificates.authority;
    let elsewhere = secure.provider(ours, "elsewhere.example", &schema);
    refused(elsewhere, "certificate").await;
}

#[tokio::test]
async fn server_without_tls_is_refused_at_once_where_it_is_required() {
    let folder = tempfile::tempdir().unwrap();
    let certificates = Certificates::new(folder.path(), "localhost").unwrap();
    let plain = Server::start(&[]).await;
    let provider = encrypted(plain.port(), &certificates.authority, "localhost", "dlock");
    refused(provider, "TLS").await;
}
