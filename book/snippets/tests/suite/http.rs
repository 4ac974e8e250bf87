//! Fencing in a service behind HTTP.

use axum::{
    body::{Body, to_bytes},
    http::{Request, StatusCode},
};
use dlock_book_snippets::fencing::http::service;
use tower::ServiceExt;

#[tokio::test]
async fn a_service_refuses_an_earlier_holder() {
    let service = service();
    let put = |token: &str, text: &str| {
        let request = Request::put("/page")
            .header("fencing-token", token)
            .body(Body::from(text.to_owned()));
        let service = service.clone();
        async move { service.oneshot(request.unwrap()).await.unwrap().status() }
    };
    assert_eq!(put("7", "first").await, StatusCode::OK);
    assert_eq!(put("8", "second").await, StatusCode::OK);
    assert_eq!(put("8", "third").await, StatusCode::OK);
    assert_eq!(put("7", "fourth").await, StatusCode::CONFLICT);
    assert_eq!(put("0", "fifth").await, StatusCode::BAD_REQUEST);
    let page = service
        .oneshot(Request::get("/page").body(Body::empty()).unwrap())
        .await
        .unwrap();
    assert_eq!(to_bytes(page.into_body(), 100).await.unwrap(), "third");
}
