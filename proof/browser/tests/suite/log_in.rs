use serde_json::json;

use crate::{
    browser,
    server::{ROOT, Server},
};

#[tokio::test]
async fn a_token_opens_the_page_until_the_log_out() {
    let server = Server::with_tokens(&[("anna", &["read"])]).await;
    server.acquire("door", "web-1").await;
    browser::with(async move |browser| {
        let url = server.url();
        browser.client.goto(&url).await.unwrap();
        browser.fill("token", "wrong").await;
        browser.press("Log in").await;
        browser
            .until(
                "the token is not refused",
                "return document.getElementById('log-in-trouble').innerText",
            )
            .await;
        assert_eq!(browser.rows("leases-table").await, 0);
        browser.log_in(&server, "anna").await;
        browser.row("leases-table", "door", "web-1").await;
        assert_eq!(
            browser
                .run("return document.getElementById('who-name').innerText")
                .await,
            "anna"
        );
        // No script can read it.
        assert_eq!(
            browser
                .run("return document.cookie + document.getElementById('token').value")
                .await,
            ""
        );
        browser.client.refresh().await.unwrap();
        browser.row("leases-table", "door", "web-1").await;
        browser.press("Log out").await;
        browser.asks_for_a_token().await;
        // No row that was shown remains.
        let rest = "return document.documentElement.textContent.includes('door')";
        assert_eq!(browser.run(rest).await, false);
        browser.client.refresh().await.unwrap();
        browser.asks_for_a_token().await;
        let script = "return fetch('/v1/default/leases').then((answer) => answer.status)";
        assert_eq!(browser.run(script).await, 401);
        browser.is_quiet().await;
    })
    .await;
}

#[tokio::test]
async fn a_server_that_asks_nobody_shows_no_log_in() {
    let server = Server::open().await;
    browser::with(async move |browser| {
        browser.open(&server, "").await;
        let hidden = "return !document.getElementById('log-in').checkVisibility() && !document.getElementById('who').checkVisibility()";
        assert_eq!(browser.run(hidden).await, true);
        browser.until("nothing says what to do", "return document.getElementById('leases-empty').innerText.includes('dlock run nightly')").await;
        browser.is_quiet().await;
    })
    .await;
}

#[tokio::test]
async fn a_namespace_without_a_right_says_so() {
    let server = Server::with_tokens(&[("nothing", &["enqueue"])]).await;
    browser::with(async move |browser| {
        browser.client.goto(&server.url()).await.unwrap();
        browser.fill("token", "nothing").await;
        browser.press("Log in").await;
        browser
            .until(
                "the page does not say why it is empty",
                "return document.getElementById('trouble').innerText.includes('no right')",
            )
            .await;
        browser.is_quiet().await;
    })
    .await;
}

/// The browser sends the cookie to every port of a machine, also for pages of other ports.
#[tokio::test]
async fn a_page_of_another_port_cannot_use_the_log_in() {
    let server = Server::with_tokens(&[]).await;
    let other = Server::open().await;
    let uuid = server.acquire("door", "web-1").await;
    browser::with(async move |browser| {
        browser.log_in(&server, ROOT).await;
        browser.client.goto(&other.url()).await.unwrap();
        browser.live().await;
        let token = server.lease("door").await["token"].clone();
        let (url, body) = (json!(format!("{}v1/default/leases/force", server.url())), json!({"name": "door", "uuid": uuid, "token": token}));
        // The page's own policy would forbid this request. A malicious page's policy would not.
        browser.tell("Page.setBypassCSP", json!({"enabled": true})).await;
        browser.client.refresh().await.unwrap();
        let script = format!(
            "return fetch({url}, {{ method: 'POST', mode: 'no-cors', credentials: 'include', body: JSON.stringify({body}) }})
                .then(() => 'sent', (error) => String(error))"
        );
        browser.run(&script).await;
        assert_eq!(server.lease("door").await["released"], false);
        // The request did arrive, with the cookie, and the server refused it because of its origin.
        let metrics = server.metrics().await;
        let refused = metrics.lines().find(|line| {
            ["seconds_count{", "leases/force\"", "status=\"403\""].iter().all(|part| line.contains(part))
        });
        assert!(refused.is_some(), "{metrics}");
    })
    .await;
}

#[tokio::test]
async fn a_namespace_may_have_any_name() {
    let server = Server::open().await;
    browser::with(async move |browser| {
        browser.open(&server, "#/constructor/leases").await;
        browser.is_quiet().await;
    })
    .await;
}

#[tokio::test]
async fn other_rights_are_shown_without_a_reload() {
    let mut server = Server::with_tokens(&[("anna", &["read", "admin"])]).await;
    server.acquire("door", "web-1").await;
    browser::with(async move |browser| {
        browser.log_in(&server, "anna").await;
        browser.row("leases-table", "door", "held").await;
        assert_eq!(browser.buttons("leases-table").await, ["Revoke door", "Force door"]);
        server.reload(&[("anna", &["read", "hold"])]);
        browser
            .until(
                "the buttons stay",
                "return [...document.querySelectorAll('#leases-table .buttons button')]
                    .filter((button) => button.checkVisibility()).map((button) => button.innerText).join() === 'Ask'",
            )
            .await;
        server.reload(&[]);
        browser.asks_for_a_token().await;
        browser.is_quiet().await;
    })
    .await;
}

/// One of two servers does not know the token in the cookie that the other one has set.
#[tokio::test]
async fn a_server_that_knows_no_token_is_asked_no_more_often() {
    let server = Server::with_tokens(&[("anna", &["read"])]).await;
    browser::with(async move |browser| {
        browser.log_in(&server, "anna").await;
        let script = "const real = fetch;
            window.refused = [];
            window.fetch = (path, ...rest) => {
                if (!path.includes('/live')) return real(path, ...rest);
                refused.push(performance.now());
                return Promise.resolve(new Response('{}', { status: 401 }));
            };
            location.hash = '#/default/leases?prefix=d'";
        browser.run(script).await;
        let many = "return refused.length > 3 ? refused[3] - refused[0] : null";
        let took = browser.until("the page gives up", many).await;
        assert!(took.as_f64().unwrap() > 3_000.0, "{took}");
    })
    .await;
}
