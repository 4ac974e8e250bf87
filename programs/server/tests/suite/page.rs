//! The dashboard's files. Their behaviour is tested in a browser, in `proof/browser`.

use axum::{
    body::{Body, to_bytes},
    http::{HeaderMap, Request},
};

use crate::support::Api;

async fn get(api: &Api, path: &str, tag: Option<&str>) -> (u16, HeaderMap, String) {
    let mut request = Request::builder().uri(path);
    if let Some(tag) = tag {
        request = request.header("if-none-match", tag);
    }
    let response = api.open(request.body(Body::empty()).unwrap()).await;
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, headers, String::from_utf8(body.to_vec()).unwrap())
}

/// The files that a text names: `"page/x.js"` in the page, `"./x.js"` in a script.
fn named(text: &str) -> Vec<String> {
    let words = text.split('"');
    let names = words.filter_map(|word| word.strip_prefix("page/").or(word.strip_prefix("./")));
    names.map(|name| format!("/page/{name}")).collect()
}

#[tokio::test]
async fn everything_that_the_page_names_is_there_under_its_policy() {
    let api = Api::new();
    let mut files = vec!["/".to_owned()];
    let mut at = 0;
    while let Some(path) = files.get(at).cloned() {
        let (status, headers, text) = get(&api, &path, None).await;
        assert_eq!(status, 200, "{path}");
        let policy = headers["content-security-policy"].to_str().unwrap();
        for rule in [
            "default-src 'none'",
            "script-src 'self'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        ] {
            assert!(policy.contains(rule), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert_eq!(headers["referrer-policy"], "no-referrer");
        assert_eq!(headers["cache-control"], "no-cache");
        for name in named(&text) {
            if !files.contains(&name) {
                files.push(name);
            }
        }
        at += 1;
    }
    assert!(files.len() > 12, "{files:?}");
    assert_eq!(get(&api, "/page/none.js", None).await.0, 404);
}

#[tokio::test]
async fn a_file_that_a_browser_has_is_not_sent_again() {
    let api = Api::new();
    let (_, headers, page) = get(&api, "/", None).await;
    let tag = headers["etag"].to_str().unwrap();
    let weak = format!("\"other\", W/{tag}");
    for known in [tag, &weak] {
        let (status, headers, body) = get(&api, "/", Some(known)).await;
        assert_eq!((status, body.as_str()), (304, ""), "{known}");
        assert_eq!(headers["etag"], tag);
    }
    let (status, _, again) = get(&api, "/", Some("\"other\"")).await;
    assert_eq!((status, again), (200, page));
    let (_, headers, _) = get(&api, "/page/page.css", None).await;
    assert_ne!(headers["etag"], tag);
}

/// It reads nothing of the answer, but would take a place among the streams, and a query a second.
#[tokio::test]
async fn a_page_of_another_site_does_not_even_look_but_its_links_lead_here() {
    let api = Api::new();
    let look = async |path: &str, site: &str, destination: &str| {
        let request = Request::builder()
            .uri(path)
            .header("sec-fetch-site", site)
            .header("sec-fetch-dest", destination);
        let response = api.open(request.body(Body::empty()).unwrap()).await;
        response.status().as_u16()
    };
    let live = "/v1/default/leases/live";
    for site in ["cross-site", "same-site"] {
        assert_eq!(look(live, site, "empty").await, 403);
        assert_eq!(look(live, site, "iframe").await, 403);
        assert_eq!(look("/", site, "document").await, 200);
        assert_eq!(look("/", site, "iframe").await, 403);
    }
    assert_eq!(look(live, "same-origin", "empty").await, 200);
    assert_eq!(look("/", "none", "document").await, 200);
}
