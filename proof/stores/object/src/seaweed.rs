//! SeaweedFS: all of its servers in one process, and one bucket.

use std::{fs, net::SocketAddr, process::Command, time::Duration};

use dlock_object_store::ObjectProvider;
use dlock_test_servers::{Place, Service, certificates::Certificates, must};
use object_store::{
    Certificate, ObjectStoreExt,
    aws::{AmazonS3, AmazonS3Builder},
    path::Path,
    signer::Signer,
};
use reqwest::Method;

use crate::{LIMIT, client, program};

/// The bucket of each server.
pub const BUCKET: &str = "locks";

/// A user of the server; the name is its key and its secret.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct User(&'static str);

impl User {
    /// Has all rights.
    pub const ROOT: Self = Self("root");
    /// May read, write and list the objects of the bucket.
    pub const LOCKER: Self = Self("locker");
    /// May do the same; its key and secret appear in no output.
    pub const GUARDED: Self = Self("hunter2-of-these-tests");
    /// May read and list them.
    pub const READER: Self = Self("reader");
    /// Has no rights.
    pub const NOBODY: Self = Self("nobody");
    /// Is unknown.
    pub const STRANGER: Self = Self("stranger");
}

/// A server, which ends when this value is dropped or the process ends.
#[derive(Debug)]
pub struct Server {
    service: Service,
}

impl Server {
    /// A server with an empty bucket.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn start() -> Self {
        let service = Service::builder(|place: &Place| command(place, None))
            .ready_within(3 * LIMIT)
            .stop_with("KILL", Duration::ZERO);
        Self {
            service: must("SeaweedFS does not start", service.spawn(is_ready).await),
        }
    }

    /// A server that uses only TLS, with an empty bucket.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn with_tls(certificates: &Certificates) -> Self {
        let service = Service::builder(|place: &Place| command(place, Some(certificates)));
        let authority = must("no authority", fs::read(&certificates.authority));
        let is_ready = |place: Place| {
            let bucket = over_tls(address(&place), "localhost", &authority);
            let authority = must("no certificate", reqwest::Certificate::from_pem(&authority));
            let client = reqwest::Client::builder()
                .tls_certs_only([authority])
                .build();
            async move { takes_writes(&bucket, &must("no client", client)).await }
        };
        let service = service
            .ready_within(3 * LIMIT)
            .stop_with("KILL", Duration::ZERO);
        Self {
            service: must("SeaweedFS does not start", service.spawn(is_ready).await),
        }
    }

    /// The address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        address(self.service.place())
    }

    /// The bucket, as this user reaches it.
    ///
    /// # Panics
    /// If the client cannot be created.
    #[must_use]
    pub fn bucket(&self, user: User) -> AmazonS3 {
        bucket(self.address(), LIMIT, user)
    }

    /// A bucket of this name, which need not exist.
    ///
    /// # Panics
    /// If the client cannot be created.
    #[must_use]
    pub fn bucket_named(&self, name: &str) -> AmazonS3 {
        let root = builder(self.address(), LIMIT, User::ROOT).with_bucket_name(name);
        must("no client", root.build())
    }

    /// The bucket over TLS, at this host and with this authority (PEM).
    ///
    /// # Panics
    /// If the client cannot be created.
    #[must_use]
    pub fn bucket_over_tls(&self, host: &str, authority: &[u8]) -> AmazonS3 {
        over_tls(self.address(), host, authority)
    }

    /// A provider with separate connections.
    #[must_use]
    pub fn provider(&self) -> ObjectProvider {
        crate::provider(self.address(), LIMIT)
    }

    /// Kills it without warning, and starts it again.
    ///
    /// # Panics
    /// If it does not come back.
    pub async fn restart(&mut self) {
        must("SeaweedFS is gone", self.service.restart(is_ready).await);
    }

    /// Stops it until it gets `CONT`. Meanwhile it answers nothing.
    ///
    /// # Panics
    /// If that fails.
    pub async fn freeze(&mut self) {
        must("it does not stop", self.service.freeze().await);
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// If that fails.
    pub fn signal(&mut self, name: &str) {
        must("no signal", self.service.signal(name));
    }
}

/// The settings of a client at this address.
pub(crate) fn builder(address: SocketAddr, limit: Duration, user: User) -> AmazonS3Builder {
    let (options, never) = client(limit);
    AmazonS3Builder::new()
        .with_endpoint(format!("http://{address}"))
        .with_region("us-east-1")
        .with_bucket_name(BUCKET)
        .with_access_key_id(user.0)
        .with_secret_access_key(user.0)
        .with_client_options(options)
        .with_retry(never)
}

pub(crate) fn bucket(address: SocketAddr, limit: Duration, user: User) -> AmazonS3 {
    must("no client", builder(address, limit, user).build())
}

fn over_tls(address: SocketAddr, host: &str, authority: &[u8]) -> AmazonS3 {
    let (options, _) = client(LIMIT);
    let authority = must("no certificate", Certificate::from_pem(authority));
    let root = builder(address, LIMIT, User::ROOT)
        .with_endpoint(format!("https://{host}:{}", address.port()))
        .with_client_options(options.with_root_certificate(authority));
    must("no client", root.build())
}

fn address(place: &Place) -> SocketAddr {
    ([127, 0, 0, 1], place.port()).into()
}

async fn is_ready(place: Place) -> bool {
    let bucket = bucket(address(&place), Duration::from_secs(2), User::ROOT);
    takes_writes(&bucket, &reqwest::Client::new()).await
}

/// Creates the bucket, if it does not exist, and an object in it: the gateway starts before the servers behind it.
async fn takes_writes(bucket: &AmazonS3, client: &reqwest::Client) -> bool {
    // `object_store` cannot create buckets, but it can sign a request that does.
    let Ok(url) = bucket.signed_url(Method::PUT, &Path::ROOT, LIMIT).await else {
        return false;
    };
    drop(client.put(url).send().await);
    let path = Path::from("ready");
    bucket.put(&path, "yes".into()).await.is_ok() && bucket.get(&path).await.is_ok()
}

fn command(place: &Place, certificates: Option<&Certificates>) -> Command {
    let users = place.dir().join("users.json");
    must("no users", fs::write(&users, identities()));
    let another = || must("no port", place.another_port());
    let s3 = place.port();
    let (master, volume, filer) = (another(), another(), another());
    let (masters, volumes, filers, s3s) = (another(), another(), another(), another());
    let mut command = Command::new(program("DLOCK_TEST_SEAWEEDFS"));
    command.args([
        "-logtostderr=true",
        "server",
        "-s3",
        "-ip=127.0.0.1",
        "-ip.bind=127.0.0.1",
    ]);
    for (name, port) in [
        ("master.port", master),
        ("master.port.grpc", masters),
        ("volume.port", volume),
        ("volume.port.grpc", volumes),
        ("filer.port", filer),
        ("filer.port.grpc", filers),
        ("s3.port.grpc", s3s),
        ("s3.port.iceberg", 0),
        ("s3.port.lance", 0),
    ] {
        command.arg(format!("-{name}={port}"));
    }
    let plain = if certificates.is_some() {
        another()
    } else {
        s3
    };
    command.arg(format!("-s3.port={plain}"));
    match certificates {
        None => {}
        Some(Certificates {
            certificate, key, ..
        }) => {
            command.arg(format!("-s3.port.https={s3}"));
            command.arg(format!("-s3.cert.file={}", certificate.display()));
            command.arg(format!("-s3.key.file={}", key.display()));
        }
    }
    command.arg(format!("-dir={}", place.dir().display()));
    command.arg(format!("-s3.config={}", users.display()));
    // Otherwise it waits for its peers when it starts and when it ends.
    command.args(["-master.electionTimeout=1s", "-volume.preStopSeconds=0"]);
    // Records are small, and are stored with the names. Otherwise they would take a gigabyte, and twenty seconds after
    // a restart.
    command.args([
        "-filer.saveToFilerLimit=65536",
        "-s3.iam=false",
        "-s3.autoCreateBucket=false",
    ]);
    let sockets = [
        format!("master-grpc-{masters}"),
        format!("volume-grpc-{volumes}"),
        format!("filer-grpc-{filers}"),
        format!("s3-grpc-{s3s}"),
        format!("filer-{filer}"),
        format!("s3-{plain}"),
    ];
    let sockets = sockets.map(|name| format!("/tmp/seaweedfs-{name}.sock"));
    command.env("DLOCK_LEFT_BEHIND", sockets.join(" "));
    command
}

fn identities() -> String {
    let identity = |User(name), actions: &[&str]| {
        let actions: Vec<_> = actions.iter().map(|action| format!("{action:?}")).collect();
        let actions = actions.join(",");
        format!(
            r#"{{"name":"{name}","credentials":[{{"accessKey":"{name}","secretKey":"{name}"}}],"actions":[{actions}]}}"#
        )
    };
    let identities = [
        identity(User::ROOT, &["Admin"]),
        identity(User::LOCKER, &["Read:locks", "Write:locks", "List:locks"]),
        identity(User::GUARDED, &["Read:locks", "Write:locks", "List:locks"]),
        identity(User::READER, &["Read:locks", "List:locks"]),
        identity(User::NOBODY, &["Read:other"]),
    ];
    format!(r#"{{"identities":[{}]}}"#, identities.join(","))
}
