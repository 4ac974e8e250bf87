//! The text that names what is wrong with a store.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use dlock_core::ProviderError;
use dlock_testkit::memory::{MemoryProvider, MemoryStore};

use super::PROGRAM;
use crate::{
    Store,
    diagnosis::Diagnosis,
    tables::{Tables, TablesError},
};

type State = fn() -> Result<(), TablesError>;

/// Tables in this state.
struct Prepared(State);

#[async_trait]
impl Tables for Prepared {
    async fn make(&self) -> Result<(), TablesError> {
        self.0()
    }

    async fn check(&self) -> Result<(), TablesError> {
        self.0()
    }
}

/// The message for such an error of a store with such tables, and whether it is a matter of time.
async fn told(tables: State, error: ProviderError) -> (bool, String) {
    let store = Store {
        provider: Arc::new(MemoryProvider::new(&MemoryStore::store_clock())),
        seen: None,
        encryption: None,
        diagnosis: Diagnosis {
            shown: "memory".into(),
            tables: Some(Arc::new(Prepared(tables))),
            if_silent: "is it up?",
            is_refusal: |error| error.is::<fmt::Error>(),
            probe: None,
            set_up: PROGRAM.set_up,
        },
    };
    let error = store.failure("can't", error).await;
    (error.is_temporary(), format!("{error:?}"))
}

#[tokio::test]
async fn kind_of_error_and_state_of_the_tables_decide_what_is_told() {
    for error in [ProviderError::unknown("x"), ProviderError::not_applied("x")] {
        let (temporary, text) = told(|| Ok(()), error).await;
        assert!(temporary, "{text}");
        assert!(text.contains("is it up?"), "{text}");
    }
    let refusal = ProviderError::not_applied("x").with_source(fmt::Error);
    let (temporary, text) = told(|| Ok(()), refusal).await;
    assert!(temporary, "{text}");
    assert!(
        text.contains("refuses") && !text.contains("is it up?"),
        "{text}"
    );
    let states: [(State, &str); 4] = [
        (|| Ok(()), "refused"),
        (|| Err(TablesError::Missing("none".into())), PROGRAM.set_up),
        (|| Err(TablesError::Wrong("another".into())), "another"),
        (
            || Err(TablesError::Store(ProviderError::fatal("x"))),
            "refused",
        ),
    ];
    for (state, words) in states {
        let (temporary, text) = told(state, ProviderError::fatal("refused")).await;
        assert!(!temporary, "{text}");
        assert!(text.contains(words), "{text}");
    }
}

#[cfg(feature = "http")]
#[tokio::test]
async fn server_that_does_not_know_the_client_is_given_a_token_by_the_environment() {
    let location = super::locate("http://127.0.0.1:1").unwrap();
    let diagnosis = Diagnosis {
        shown: location.to_string(),
        tables: None,
        if_silent: "is it up?",
        is_refusal: |_| false,
        probe: None,
        set_up: PROGRAM.set_up,
    };
    let error = ProviderError::fatal("x").with_source(dlock_http::Unauthenticated);
    let error = diagnosis.failure("can't", error).await;
    assert!(!error.is_temporary());
    let advice = error.advice().unwrap();
    assert!(advice.contains("DLOCK_SERVER_TOKEN"), "{advice}");
}
