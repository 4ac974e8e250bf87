//! Which configurations are refused, and which values count.

use super::*;
use crate::program::failure::Exit;

const NOT_LOOPBACK: &str = "0.0.0.0:7420";

fn settings(text: &str) -> Settings {
    Settings::parse(text).unwrap_or_else(|failure| panic!("{failure:?}"))
}

fn plan(text: &str) -> Result<Plan, Failure> {
    Plan::new(settings(&format!("store = \"sqlite:x\"\n{text}")))
}

#[test]
fn without_a_word_it_listens_on_loopback() {
    let plan = plan("").unwrap();
    assert_eq!(plan.url(plan.listen), "http://127.0.0.1:7420");
    assert!(plan.is_open() && !plan.setup);
    assert!(plan.hosts().iter().any(|host| host == "localhost"));
}

#[test]
fn address_that_others_reach_takes_rights_and_tls() {
    let listen = format!("listen = \"{NOT_LOOPBACK}\"\n");
    let tokens = "tokens = \"t\"\n";
    let tls = "tls-cert = \"c\"\ntls-key = \"k\"\n";
    let clients = "client-ca = \"a\"\n";
    let insecure = "insecure = true\n";
    for (settings, advice) in [
        (vec![], "tokens"),
        (vec![tls], "tokens"),
        (vec![insecure], "tokens"),
        (vec![tokens], "tls-cert"),
        (vec![clients], "tls-cert"),
    ] {
        let refused = plan(&(listen.clone() + &settings.concat())).unwrap_err();
        assert_eq!(refused.exit, Exit::Unusable, "{settings:?}");
        assert!(refused.to_string().contains(advice), "{refused}");
    }
    for settings in [
        vec![tokens, tls],
        vec![tls, clients],
        vec![tokens, insecure],
    ] {
        let plan = plan(&(listen.clone() + &settings.concat())).unwrap();
        assert!(!plan.is_open() && plan.hosts().is_empty());
    }
}

#[test]
fn clients_must_have_a_certificate_unless_there_are_tokens() {
    let tls = "tls-cert = \"c\"\ntls-key = \"k\"\nclient-ca = \"a\"\n";
    for (text, must) in [
        (tls.to_owned(), true),
        (format!("{tls}tokens = \"t\""), false),
    ] {
        assert_eq!(plan(&text).unwrap().tls.unwrap().clients_must, must);
    }
}

#[test]
fn half_of_a_pair_is_refused() {
    for half in ["tls-cert = \"c\"", "tls-key = \"k\""] {
        assert_eq!(plan(half).unwrap_err().exit, Exit::Unusable);
    }
}

#[test]
fn command_line_counts_before_the_file() {
    let all = settings("listen = \"127.0.0.1:1\"\nlog-format = \"json\"").or(settings(
        "listen = \"127.0.0.1:2\"\nsetup = true\nlog-format = \"text\"",
    ));
    assert_eq!(all.listen.unwrap().port(), 1);
    assert_eq!(all.log_format, Some(LogFormat::Json));
    assert!(all.setup && !all.insecure);
}

#[test]
fn mistake_in_the_file_is_named_by_line_and_key_without_its_value() {
    for (text, said) in [
        (
            "\nstor = \"redis://:hunter2@h\"",
            "line 2: unknown field `stor`",
        ),
        ("insecure = \"hunter2\"", "line 1: this should be a boolean"),
        ("store = \"a\"\nlisten = \"hunter2\"", "line 2"),
        ("log-format = \"hunter2\"", "`text`"),
        ("store = hunter2", "line 1"),
    ] {
        let why = Settings::parse(text).unwrap_err();
        assert!(why.contains(said), "{why}");
        assert!(!why.contains("hunter2"), "{why}");
    }
}
