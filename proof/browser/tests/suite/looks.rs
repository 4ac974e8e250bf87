use serde_json::json;

use crate::{
    browser::{self, Browser},
    server::Server,
};

/// A server with one of everything. Some of its leases are short, so the test fills it once a browser is there.
async fn filled() -> Server {
    let server = Server::open().await;
    for (name, owner, seconds) in [
        ("billing/invoices-2026-11", "web-1:4711", 60),
        ("billing/payments", "web-3:980", 12),
        ("nightly-report", "cron-2:1290", 45),
        ("scheduler", "node-a:812", 600),
    ] {
        let body = json!({"name": name, "uuid": uuid::Uuid::new_v4(), "owner": owner, "duration_ms": seconds * 1_000});
        server.post("v1/default/leases/acquire", body).await;
    }
    let uuid = server.acquire("migrations", "deploy-7:33").await;
    server.release("migrations", &uuid).await;
    let scheduler = server.lease("scheduler").await;
    server
        .post(
            "v1/default/leases/ask",
            json!({"name": "scheduler", "uuid": scheduler["uuid"]}),
        )
        .await;
    server.lead("compaction", "node-b:99").await;
    for kind in ["resize", "resize", "thumbnail"] {
        server
            .enqueue(json!({"kind": kind, "queue": "images"}))
            .await;
    }
    server.claim("images", "worker-1").await;
    server
}

#[tokio::test]
async fn the_page_is_dark_where_the_reader_wants_it() {
    let server = Server::open().await;
    browser::with(async move |browser| {
        browser.open(&server, "").await;
        let mut backs = Vec::new();
        for scheme in ["light", "dark"] {
            browser.scheme(scheme).await;
            let color = "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0)";
            backs.push(browser.run(color).await.as_u64().unwrap());
        }
        assert!(backs[0] > 600 && backs[1] < 150, "{backs:?}");
    })
    .await;
}

async fn fits(browser: &Browser, part: &str) {
    let wide = "return document.documentElement.scrollWidth > innerWidth ? ['the page'] : [...document.querySelectorAll('main *, dialog *')]
        .filter((element) => element.checkVisibility() && !element.closest('thead, pre'))
        .filter((element) => element.getBoundingClientRect().right > 0.5 +
            (element.parentElement.closest('.card, dialog') ?? document.documentElement).getBoundingClientRect().right)
        .map((element) => `${element.tagName} ${element.className} ${element.innerText}`)";
    assert_eq!(browser.run(wide).await, json!([]), "{part}");
    // WCAG 2.2, 2.5.5: the size of a touch target.
    let small = "return [...document.querySelectorAll('main .buttons button')].filter((button) => button.checkVisibility())
        .filter((button) => button.offsetHeight < 44 || button.offsetWidth < 44).map((button) => button.innerText)";
    assert_eq!(browser.run(small).await, json!([]), "{part}");
}

#[tokio::test]
async fn a_telephone_shows_everything_without_scrolling_sideways() {
    browser::with(async move |browser| {
        let server = filled().await;
        server.acquire(&"long".repeat(200), &"w".repeat(300)).await;
        server
            .enqueue(
                json!({"kind": "k".repeat(60), "queue": "q".repeat(100), "payload": "x".repeat(500)}),
            )
            .await;
        let guarded = Server::with_tokens(&[("anna", &["read"])]).await;
        browser.width(360, true).await;
        browser.open(&server, "#/default/leases").await;
        browser.row("leases-table", "scheduler", "asked for").await;
        browser.press("scheduler").await;
        fits(&browser, "leases").await;
        browser.press("Force scheduler").await;
        fits(&browser, "the question").await;
        browser.press("Leave it").await;
        browser.open(&server, "#/default/elections").await;
        browser.row("elections-table", "compaction", "led").await;
        browser.press("compaction").await;
        browser.row("elections-table", "compaction", "granted to").await;
        fits(&browser, "elections").await;
        browser.open(&server, "#/default/tasks").await;
        browser.row("tasks-table", "#1", "running").await;
        browser.press("Limit images").await;
        fits(&browser, "the limit").await;
        browser.press("Leave it").await;
        browser.press("#1 resize").await;
        browser.row("tasks-table", "#1", "Enqueued").await;
        fits(&browser, "tasks").await;
        browser.client.goto(&guarded.url()).await.unwrap();
        browser.log_in(&guarded, "anna").await;
        fits(&browser, "the log-in").await;
        browser.is_quiet().await;
    })
    .await;
}
