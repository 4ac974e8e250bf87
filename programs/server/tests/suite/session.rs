//! Log-ins of browsers.

use axum::{
    body::Body,
    http::{HeaderMap, Method, Request},
};
use serde_json::{Value, json};

use crate::{
    rights::rights,
    support::{ACQUIRE, Answer, Api, acquire},
};

const SESSION: &str = "/v1/session";
const PAGE: (&str, &str) = ("sec-fetch-site", "same-origin");

async fn send(
    api: &Api,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: Value,
) -> Answer {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.header("content-type", "application/json");
    api.send(request.body(Body::from(body.to_string())).unwrap())
        .await
}

async fn log_in(api: &Api) -> Answer {
    let answer = send(
        api,
        Method::POST,
        SESSION,
        &[PAGE],
        json!({"token": "secret"}),
    )
    .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer
}

/// The cookie that a browser sends back.
fn cookie(headers: &HeaderMap) -> String {
    let set = headers["set-cookie"].to_str().unwrap();
    set.split(';').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_log_in_opens_what_its_token_does_until_the_log_out() {
    let api = Api::new();
    api.restrict(&rights("read", "team"));
    let answer = log_in(&api).await;
    let set = answer.headers["set-cookie"].to_str().unwrap();
    assert!(set.starts_with("__Host-dlock="), "{set}");
    for term in ["Path=/", "Secure", "HttpOnly", "SameSite=Strict"] {
        assert!(set.contains(term), "{set}");
    }
    let cookie = cookie(&answer.headers);
    let own = json!({"name": "somebody", "logged_in": true, "rights": {"team": ["read"]}});
    let with = [("cookie", cookie.as_str())];
    let none = Value::Null;
    assert_eq!(
        send(&api, Method::GET, SESSION, &with, none.clone())
            .await
            .body,
        own
    );
    let list = |namespace| format!("/v1/{namespace}/leases");
    assert_eq!(
        send(&api, Method::GET, &list("team"), &with, none.clone())
            .await
            .status,
        200
    );
    assert_eq!(
        send(&api, Method::GET, &list("other"), &with, none.clone())
            .await
            .status,
        403
    );
    let out = send(&api, Method::DELETE, SESSION, &[PAGE], none.clone()).await;
    let gone = out.headers["set-cookie"].to_str().unwrap();
    assert!(
        gone.starts_with("__Host-dlock=;") && gone.contains("Max-Age=0"),
        "{gone}"
    );
    // A token that is revoked ends the log-ins that it opened.
    api.restrict("[[certificate]]\nname = \"other\"\nrights = { team = [\"read\"] }");
    assert_eq!(
        send(&api, Method::GET, &list("team"), &with, none)
            .await
            .status,
        401
    );
}

#[tokio::test]
async fn somebody_unknown_is_not_logged_in() {
    let api = Api::new();
    api.restrict(&rights("read", "team"));
    for token in [
        "Secret",
        "",
        "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b",
    ] {
        let refused = send(&api, Method::POST, SESSION, &[], json!({"token": token})).await;
        assert_eq!(
            (refused.status, refused.code()),
            (401, "unauthenticated"),
            "{token}"
        );
        assert!(refused.headers.get("set-cookie").is_none());
    }
    let nobody = json!({"logged_in": false, "rights": {}});
    assert_eq!(api.get(SESSION).await.body, nobody);
    let forged = send(
        &api,
        Method::GET,
        SESSION,
        &[("cookie", "__Host-dlock=c2VjcmV0MQ")],
        Value::Null,
    )
    .await;
    assert_eq!(forged.body, nobody);
}

#[tokio::test]
async fn a_server_that_asks_nobody_needs_no_log_in() {
    let api = Api::new();
    let session = api.get(SESSION).await.body;
    assert_eq!(
        session["rights"]["*"].as_array().unwrap().len(),
        crate::rights::RIGHTS.len()
    );
    assert!(log_in(&api).await.headers.get("set-cookie").is_none());
}

#[tokio::test]
async fn what_a_cookie_changes_comes_from_the_page_of_this_server() {
    let api = Api::new();
    api.restrict(&rights("hold", "default"));
    let cookie = cookie(&log_in(&api).await.headers);
    let host = ("host", "locks.example:7420");
    for (status, proof) in [
        (200, Some(PAGE)),
        (200, Some(("origin", "https://locks.example:7420"))),
        (403, None),
        (403, Some(("sec-fetch-site", "none"))),
        (403, Some(("sec-fetch-site", "same-site"))),
        (403, Some(("sec-fetch-site", "cross-site"))),
        (403, Some(("origin", "https://evil.example"))),
        // Another server of the same machine.
        (403, Some(("origin", "https://locks.example:8080"))),
        (403, Some(("origin", "null"))),
    ] {
        let mut headers = vec![host, ("cookie", &cookie)];
        headers.extend(proof);
        let answer = send(&api, Method::POST, ACQUIRE, &headers, acquire("door", 1)).await;
        assert_eq!(answer.status, status, "{proof:?}");
    }
    // A program proves itself by the token, and is not a browser.
    let program = [
        host,
        ("authorization", "Bearer secret"),
        ("cookie", &cookie),
    ];
    let answer = send(&api, Method::POST, ACQUIRE, &program, acquire("door", 1)).await;
    assert_eq!(answer.status, 200);
}
