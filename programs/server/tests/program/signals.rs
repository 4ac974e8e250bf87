//! Stopping, and reading files again.

use dlock_test_servers::certificates::Certificates;
use rustix::process::Signal;
use sha2::{Digest, Sha256};

use crate::support::{ACQUIRE, User, answer, send, str, term};

const LIST: &str = "/v1/default/leases?prefix=";

#[test]
fn who_waits_is_answered_before_the_end() {
    for signal in [Signal::TERM, Signal::INT] {
        let user = User::new();
        let mut served = user.serve(&[]);
        assert_eq!(served.post(ACQUIRE, &term("job", 1, 0)).0, 200);
        let mut waiting = served.connect();
        let wait = term("job", 2, 25_000).to_string();
        send(&mut waiting, &format!("POST {ACQUIRE}"), "", &wait);
        served.until_one_waits();
        served.signal(signal);
        assert_eq!(served.ended(), Some(0));
        let log = &served.log;
        assert!(log.last().unwrap().contains("stopped"), "{log:?}");
        // The lock is held, or the server stops: both are true.
        let status = answer(&mut waiting).map(|(status, _)| status);
        assert!(matches!(status, Some(409 | 503)), "{status:?}");
    }
}

fn tokens(token: &str) -> String {
    let hash = Sha256::digest(token);
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("[[token]]\nname = \"ci\"\nsha256 = \"{hex}\"\nrights = {{ \"*\" = [\"read\"] }}\n")
}

#[test]
fn tokens_are_read_again_and_broken_ones_change_nothing() {
    let user = User::new();
    let file = user.write("tokens.toml", &tokens("old"));
    let mut served = user.serve(&["--tokens", str(&file)]);
    let status = |served: &crate::support::Served, token| served.status_with_token(LIST, token);
    assert_eq!(status(&served, "old"), 200);
    assert_eq!(status(&served, "new"), 401);

    user.write("tokens.toml", &tokens("new"));
    served.signal(Signal::HUP);
    served.logged("tokens were read again");
    assert_eq!(status(&served, "old"), 401);
    assert_eq!(status(&served, "new"), 200);

    for broken in ["token = \"hunter2\"", ""] {
        user.write("tokens.toml", broken);
        served.signal(Signal::HUP);
        let kept = served.logged("the tokens stay as they were");
        assert!(!kept.to_string().contains("hunter2"), "{kept}");
        assert_eq!(status(&served, "new"), 200);
    }
    served.signal(Signal::TERM);
    assert_eq!(served.ended(), Some(0));
}

#[test]
fn certificates_are_read_again_and_broken_ones_change_nothing() {
    let user = User::new();
    let certificates = Certificates::new(user.home(), "localhost").unwrap();
    let mut served = user.serve(&[
        "--tls-cert",
        str(&certificates.certificate),
        "--tls-key",
        str(&certificates.key),
    ]);
    served.signal(Signal::HUP);
    served.logged("certificates were read again");
    std::fs::write(&certificates.certificate, "nothing").unwrap();
    served.signal(Signal::HUP);
    let kept = served.logged("the certificates stay as they were");
    assert!(
        kept["why"].as_str().unwrap().contains("certificate.pem"),
        "{kept}"
    );
    served.signal(Signal::TERM);
    assert_eq!(served.ended(), Some(0));
}
