//! The description of the interface, against which every answer of the tests is checked.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, OnceLock},
};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Method, Request, header},
};
use futures_util::FutureExt;
use jsonschema::Validator;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::support::{ACQUIRE, Api, acquire};

pub(crate) struct Description {
    whole: Value,
    /// For schemas that were used, by their text.
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

impl Description {
    /// The description of any router: all have the same.
    pub(crate) fn of(router: &Router) -> &'static Self {
        static DESCRIPTION: OnceLock<Description> = OnceLock::new();
        DESCRIPTION.get_or_init(|| Self::read(router))
    }

    fn read(router: &Router) -> Self {
        let request = Request::builder()
            .uri("/openapi.json")
            .header(header::HOST, "localhost")
            .body(Body::empty());
        let answer = async {
            let response = router.clone().oneshot(request.unwrap()).await.unwrap();
            to_bytes(response.into_body(), usize::MAX).await.unwrap()
        };
        let body = answer.now_or_never().expect("it waits for nobody");
        Self {
            whole: serde_json::from_slice(&body).unwrap(),
            validators: Mutex::default(),
        }
    }

    fn validator(&self, schema: &Value) -> Arc<Validator> {
        let mut validators = self.validators.lock().unwrap();
        let validator = validators.entry(schema.to_string()).or_insert_with(|| {
            let whole = json!({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "components": self.whole["components"],
                "allOf": [schema],
            });
            Arc::new(jsonschema::validator_for(&whole).unwrap())
        });
        Arc::clone(validator)
    }

    /// The path in the description of which this one is an instance.
    fn described<'own>(&'own self, path: &str) -> Option<&'own Value> {
        let paths = self.whole["paths"].as_object().unwrap();
        let is_instance = |template: &str| {
            let (mut parts, mut given) = (template.split('/'), path.split('/'));
            loop {
                match (parts.next(), given.next()) {
                    (None, None) => return true,
                    (Some(part), Some(_)) if part.starts_with('{') => {}
                    (Some(part), Some(given)) if part == given => {}
                    _ => return false,
                }
            }
        };
        let exact = paths.get(path);
        let mut of_template = paths.iter().filter(|(template, _)| is_instance(template));
        exact.or_else(|| of_template.next().map(|(_, item)| item))
    }

    /// Whether an answer matches the description.
    pub(crate) fn check(
        &self,
        method: &Method,
        path: &str,
        status: u16,
        content: &str,
        body: &Value,
    ) {
        if path == "/openapi.json" {
            return;
        }
        let Some(item) = self.described(path) else {
            assert_eq!(status, 404, "{path} is served, and not described");
            return;
        };
        let operation = &item[method.as_str().to_ascii_lowercase()];
        if operation.is_null() {
            assert_eq!(status, 405, "{method} {path} is served, and not described");
            return;
        }
        let responses = &operation["responses"];
        let of_status = &responses[status.to_string()];
        let response = if of_status.is_null() {
            assert!(
                !(200..300).contains(&status),
                "{method} {path} does not describe success"
            );
            &responses["default"]
        } else {
            of_status
        };
        assert!(
            !response.is_null(),
            "{method} {path} does not describe {status}"
        );
        if status == 204 {
            assert!(
                response["content"].is_null() && body.is_null(),
                "{method} {path}"
            );
            return;
        }
        let contents = response["content"].as_object().unwrap();
        let (essence, shape) = contents.iter().next().unwrap();
        if (200..300).contains(&status) {
            assert!(content.starts_with(essence), "{method} {path}: {content}");
        } else {
            assert_eq!(content, "application/problem+json", "{method} {path}");
        }
        let validator = self.validator(&shape["schema"]);
        let errors: Vec<_> = validator
            .iter_errors(body)
            .map(|error| error.to_string())
            .collect();
        assert!(
            errors.is_empty(),
            "{method} {path} answered {status} {body}, which is not as described: {errors:?}"
        );
    }
}

#[tokio::test]
async fn every_path_is_described_once_and_for_a_right() {
    let api = Api::new();
    let description = api.get("/openapi.json").await;
    let paths = description.body["paths"].as_object().unwrap();
    assert!(paths.len() >= 12, "{paths:?}");
    for (path, item) in paths {
        for (method, operation) in item.as_object().unwrap() {
            assert!(
                operation["description"].as_str().is_some()
                    || operation["summary"].as_str().is_some(),
                "{method} {path} says nothing"
            );
        }
    }
}

#[tokio::test]
async fn answer_that_is_not_described_is_noticed() {
    let api = Api::new();
    let answer = api.post(ACQUIRE, acquire("door", 1)).await;
    let check = |status: u16, content: &'static str, body: Value| {
        let description = api.description;
        let check = || description.check(&Method::POST, ACQUIRE, status, content, &body);
        catch_unwind(AssertUnwindSafe(check)).is_ok()
    };
    assert!(check(200, "application/json", answer.body));
    assert!(!check(200, "application/json", json!({"token": "1"})));
    assert!(!check(
        200,
        "text/plain",
        json!({"token": 1, "waited_ms": 0})
    ));
    assert!(!check(
        409,
        "application/problem+json",
        json!({"code": "new"})
    ));
}
