//! The program `dlock` on the stores whose servers its own tests do not need: the stories that it shares with the others
//! (`programs/cli/tests/support`), and the exit code and the text for each refusal of these servers.

#![cfg(unix)]
#![expect(
    clippy::unwrap_used,
    reason = "what is unwrapped here is a failed test"
)]

mod etcd;
mod kubernetes;
mod mysql;
mod nats;
mod object;
#[path = "../../../../../programs/cli/tests/support/mod.rs"]
mod support;

use std::sync::atomic::{AtomicU32, Ordering};

use dlock_test_servers::certificates::Certificates;
use tempfile::TempDir;

use self::support::Scene;

/// The program.
const DLOCK: &str = env!("CARGO_BIN_EXE_dlock-of-the-proof");

/// A unique word: a prefix on a server that tests share.
fn fresh() -> String {
    static WORDS: AtomicU32 = AtomicU32::new(0);
    format!("test-{}", WORDS.fetch_add(1, Ordering::Relaxed))
}

/// A server's certificate and a stranger's, and the folder that has to outlive them.
fn certificates() -> (Certificates, Certificates, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let of = |who: &str| Certificates::new(&folder.path().join(who), "localhost").unwrap();
    (of("ours"), of("stranger"), folder)
}

/// A scene on the store at this URL, whose server's certificate is signed by this authority.
fn trusting(url: impl Into<String>, certificates: &Certificates) -> Scene {
    Scene::with(vec![
        ("DLOCK_STORE", url.into()),
        (
            "SSL_CERT_FILE",
            certificates.authority.display().to_string(),
        ),
    ])
}
