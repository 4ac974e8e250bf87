//! Azurite, Azure's emulator of its storage. It keeps everything in memory.

use std::{net::SocketAddr, process::Command};

use base64::{Engine, engine::general_purpose::STANDARD};
use dlock_object_store::ObjectProvider;
use dlock_test_servers::{Place, Service, must};
use object_store::azure::{MicrosoftAzure, MicrosoftAzureBuilder};
use ring::hmac;

use crate::{LIMIT, client, cryptography, over, program};

/// The account, secret and container of every emulator.
const ACCOUNT: &str = "dlock";
const SECRET: &[u8] = b"everybody knows";
const CONTAINER: &str = "locks";

/// An emulator, which ends when this value is dropped or the process ends.
#[derive(Debug)]
pub struct Azurite {
    service: Service,
}

impl Azurite {
    /// An emulator with an empty container.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn start() -> Self {
        let service = Service::builder(command).ready_within(LIMIT * 3);
        let listens = |place: Place| async move { place.accepts_connections().await };
        let service = must("Azurite does not start", service.spawn(listens).await);
        let azurite = Self { service };
        azurite.make(CONTAINER).await;
        azurite
    }

    /// The address that it listens on.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.service.place().port()).into()
    }

    /// A provider with separate connections.
    #[must_use]
    pub fn provider(&self) -> ObjectProvider {
        over(self.container(CONTAINER))
    }

    /// A container, which need not exist.
    ///
    /// # Panics
    /// If the client cannot be created.
    #[must_use]
    pub fn container(&self, name: &str) -> MicrosoftAzure {
        let (options, never) = client(LIMIT);
        let container = MicrosoftAzureBuilder::new()
            .with_account(ACCOUNT)
            .with_access_key(self.key())
            .with_endpoint(self.url())
            .with_container_name(name)
            .with_client_options(options)
            .with_retry(never);
        must("no client", container.build())
    }

    /// The URL of the account.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/{ACCOUNT}", self.address())
    }

    /// The account's secret, as clients have it.
    #[must_use]
    pub fn key(&self) -> String {
        STANDARD.encode(SECRET)
    }

    /// Creates a container, which `object_store` cannot do: with a shared access signature of the account.
    async fn make(&self, container: &str) {
        let (rights, services, kinds) = ("rwdlac", "b", "sco");
        let (until, version) = ("2100-01-01T00:00:00Z", "2020-10-02");
        let signed =
            format!("{ACCOUNT}\n{rights}\n{services}\n{kinds}\n\n{until}\n\n\n{version}\n");
        let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET);
        let signature = STANDARD.encode(hmac::sign(&key, signed.as_bytes()));
        let url = format!("{}/{container}", self.url());
        let parameters = [
            ("restype", "container"),
            ("sp", rights),
            ("ss", services),
            ("srt", kinds),
            ("se", until),
            ("sv", version),
            ("sig", &signature),
        ];
        let url = must("no URL", reqwest::Url::parse_with_params(&url, parameters));
        cryptography();
        let made = reqwest::Client::new().put(url).send().await;
        drop(must(
            "no container",
            must("no answer", made).error_for_status(),
        ));
    }
}

fn command(place: &Place) -> Command {
    let mut command = Command::new(program("DLOCK_TEST_AZURITE"));
    command.env(
        "AZURITE_ACCOUNTS",
        format!("{ACCOUNT}:{}", STANDARD.encode(SECRET)),
    );
    command.args(["--blobPort", &place.port().to_string()]);
    // The client's version of the protocol may be newer than the emulator.
    command.args([
        "--inMemoryPersistence",
        "--skipApiVersionCheck",
        "--blobKeepAliveTimeout=120",
        "--disableTelemetry",
        "--silent",
    ]);
    command
}
