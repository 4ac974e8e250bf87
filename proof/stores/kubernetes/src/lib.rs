//! A Kubernetes for tests: its real API server over an etcd, without nodes. `scripts/kube-apiserver` builds it and prints
//! its path. Its tests are the published suites, and the cases that only Kubernetes can cause for a lock.

mod plain;

use std::{
    env, fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use dlock_kubernetes::KubernetesProvider;
use dlock_test_servers::{Place, Service, certificates::Certificates, etcd::command, must};
use k8s_openapi::api::core::v1::Namespace;
use kube::{
    Api, Client, Config,
    api::PostParams,
    config::{KubeConfigOptions, Kubeconfig},
};
use tokio::sync::OnceCell;
use uuid::Uuid;

pub use self::plain::plain;

/// The variable with the path of the program.
const PROGRAM: &str = "DLOCK_TEST_KUBE_APISERVER";

/// How long it may take to start: it creates its own objects before it is ready.
const START: Duration = Duration::from_secs(120);

/// The user with all rights.
pub const ADMIN: &str = "admin";

/// A user without rights.
pub const USER: &str = "somebody";

/// The prefix of locks here.
pub const PREFIX: &str = "dlock";

/// A server, which ends when this value is dropped or the process ends.
#[derive(Debug)]
pub struct Server {
    // Dropped, and so ended, first.
    api: Service,
    etcd: Service,
}

impl Server {
    /// One server for all tests of this process that do it no harm; each has its own namespace.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn shared() -> &'static Self {
        static SHARED: OnceCell<Server> = OnceCell::const_new();
        SHARED.get_or_init(Self::start).await
    }

    /// An empty server.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn start() -> Self {
        let etcd = Service::builder(etcd).spawn(etcd_is_ready).await;
        let etcd = must("etcd does not start", etcd);
        let store = etcd.place().port();
        let api = Service::builder(move |place: &Place| api(place, store))
            .ready_within(START)
            // An orderly end takes a minute.
            .stop_with("KILL", Duration::from_secs(5))
            .spawn(is_ready)
            .await;
        Self {
            api: must("kube-apiserver does not start", api),
            etcd,
        }
    }

    /// The address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        address(self.api.place())
    }

    /// The authority that its clients trust.
    #[must_use]
    pub fn certificates(&self) -> PathBuf {
        certificates(self.api.place())
    }

    /// The settings of a client of this user, as `kubectl` has them.
    #[must_use]
    pub fn kubeconfig(&self, user: &str) -> String {
        kubeconfig(&self.url(), &self.certificates(), user)
    }

    /// A client of this user.
    pub async fn client(&self, user: &str) -> Client {
        client(&self.kubeconfig(user), Duration::from_secs(20)).await
    }

    /// A new namespace.
    ///
    /// # Panics
    /// If it cannot be made.
    pub async fn namespace(&self) -> String {
        let name = format!("test-{}", Uuid::new_v4().simple());
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(name.clone());
        let all: Api<Namespace> = Api::all(self.client(ADMIN).await);
        let made = all.create(&PostParams::default(), &namespace).await;
        must("no namespace", made);
        name
    }

    /// A provider with separate connections.
    pub async fn provider(&self, namespace: &str) -> KubernetesProvider {
        provider(self.client(ADMIN).await, namespace)
    }

    /// Kills it without warning, and its etcd, and starts both again.
    ///
    /// # Panics
    /// If they do not come back.
    pub async fn restart(&mut self) {
        self.signal("KILL");
        must("etcd is gone", self.etcd.restart(etcd_is_ready).await);
        must("kube-apiserver is gone", self.api.restart(is_ready).await);
    }

    /// Stops it until it gets `CONT`. Meanwhile it answers nothing.
    ///
    /// # Panics
    /// If that fails.
    pub async fn freeze(&mut self) {
        must("it does not stop", self.api.freeze().await);
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// If that fails.
    pub fn signal(&mut self, name: &str) {
        must("no signal", self.api.signal(name));
    }

    /// Sends its etcd a signal.
    ///
    /// # Panics
    /// If that fails.
    pub fn signal_etcd(&mut self, name: &str) {
        must("no signal", self.etcd.signal(name));
    }

    fn url(&self) -> String {
        format!("https://{}", self.address())
    }
}

/// A client with these settings, whose calls end within this limit.
///
/// # Panics
/// If it cannot be created.
pub async fn client(kubeconfig: &str, limit: Duration) -> Client {
    let read = must("no settings", Kubeconfig::from_yaml(kubeconfig));
    let config = Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await;
    let mut config = must("no settings", config);
    config.default_retry = false;
    config.connect_timeout = Some(limit);
    config.read_timeout = Some(limit);
    config.reset_reader_on_write = true;
    must("no client", Client::try_from(config))
}

/// A provider over this client.
///
/// # Panics
/// If it cannot be created.
#[must_use]
pub fn provider(client: Client, namespace: &str) -> KubernetesProvider {
    let provider = dlock_kubernetes::provider(client, namespace, PREFIX);
    must("no provider", provider)
}

/// The settings of a client, as `kubectl` has them. A user's token is the user's name.
#[must_use]
pub fn kubeconfig(url: &str, certificates: &Path, user: &str) -> String {
    format!(
        "{{clusters: [{{name: c, cluster: {{server: '{url}', certificate-authority: '{}'}}}}], \
          users: [{{name: u, user: {{token: '{user}'}}}}], \
          contexts: [{{name: x, context: {{cluster: c, user: u}}}}], current-context: x}}",
        certificates.join("authority.pem").display()
    )
}

fn address(place: &Place) -> SocketAddr {
    ([127, 0, 0, 1], place.port()).into()
}

fn certificates(place: &Place) -> PathBuf {
    place.dir().join("certificates")
}

fn api(place: &Place, etcd: u16) -> Command {
    let unset = "it names the program that scripts/kube-apiserver builds and prints";
    let program = must(PROGRAM, env::var_os(PROGRAM).ok_or(unset));
    let made = Certificates::new(&certificates(place), "127.0.0.1");
    let Certificates {
        certificate, key, ..
    } = must("no certificates", made);
    let tokens = place.dir().join("tokens.csv");
    let users = format!("{ADMIN},{ADMIN},1,system:masters\n{USER},{USER},2\n");
    must("no users", fs::write(&tokens, users));

    let mut command = Command::new(program);
    command.arg(format!("--etcd-servers=http://127.0.0.1:{etcd}"));
    command.args(["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1"]);
    command.arg(format!("--secure-port={}", place.port()));
    // It authenticates users by their tokens, and grants the rights of their roles.
    command.arg("--authorization-mode=RBAC");
    let mut file = |option: &str, file: &Path| {
        command.arg(format!("--{option}={}", file.display()));
    };
    file("token-auth-file", &tokens);
    file("tls-cert-file", &certificate);
    file("tls-private-key-file", &key);
    // Clients may also have a certificate signed by its authority.
    file("client-ca-file", &certificates(place).join("authority.pem"));
    // For service accounts, of which there are none.
    file("service-account-key-file", &certificate);
    file("service-account-signing-key-file", &key);
    file("cert-dir", place.dir());
    command.arg("--service-account-issuer=https://127.0.0.1");
    command.arg("--service-cluster-ip-range=10.0.0.0/24");
    command.arg("--endpoint-reconciler-type=none");
    command
}

fn etcd(place: &Place) -> Command {
    let program = etcd_bin_vendored::etcd_bin_path();
    command(must("no etcd for this machine", program), place, "http")
}

async fn etcd_is_ready(place: Place) -> bool {
    place.accepts_connections().await
}

/// Whether the server has created its first namespace.
async fn is_ready(place: Place) -> bool {
    if !place.accepts_connections().await {
        return false;
    }
    let url = format!("https://{}", address(&place));
    let kubeconfig = kubeconfig(&url, &certificates(&place), ADMIN);
    let all: Api<Namespace> = Api::all(client(&kubeconfig, Duration::from_secs(5)).await);
    all.get("default").await.is_ok()
}
