use fantoccini::{
    actions::{InputSource, KeyAction, KeyActions},
    key::Key,
};

use crate::{
    browser::{self, Browser},
    server::Server,
};

pub(crate) async fn strike(browser: &Browser, key: Key) {
    let value = char::from(key);
    let keys = KeyActions::new("keyboard".to_owned())
        .then(KeyAction::Down { value })
        .then(KeyAction::Up { value });
    browser.client.perform_actions(keys).await.unwrap();
}

async fn focused(browser: &Browser) -> String {
    let script = "const at = document.activeElement;
        return at.getAttribute('aria-label') ?? (at.labels?.[0]?.innerText || at.innerText.trim() || at.id)";
    browser.run(script).await.as_str().unwrap().to_owned()
}

#[tokio::test]
async fn everything_is_reached_in_order_and_works_by_keys_alone() {
    let server = Server::open().await;
    server.acquire("door", "web-1").await;
    browser::with(async move |browser| {
        browser.open(&server, "").await;
        browser.row("leases-table", "door", "held").await;
        let mut order = Vec::new();
        for _ in 0..11 {
            strike(&browser, Key::Tab).await;
            order.push(focused(&browser).await);
            let ring = "return getComputedStyle(document.activeElement).outlineStyle";
            assert_eq!(browser.run(ring).await, "solid", "nothing shows that {order:?} has the focus");
        }
        let expected = [
            "Skip to the content", "Leases", "Elections", "Tasks", "Namespace", "Names that start with", "Held only", "door",
            "Ask for door", "Revoke door", "Force door",
        ];
        assert_eq!(order, expected);
        strike(&browser, Key::Enter).await;
        browser.question(true).await;
        assert_eq!(browser.run("return document.activeElement.id").await, "typed");
        // The focus stays within the dialog.
        for _ in 0..6 {
            strike(&browser, Key::Tab).await;
            let inside = "return document.activeElement === document.body || document.getElementById('question').contains(document.activeElement)";
            assert_eq!(browser.run(inside).await, true);
        }
        strike(&browser, Key::Escape).await;
        browser.question(false).await;
        assert_eq!(focused(&browser).await, "Force door");
        strike(&browser, Key::Enter).await;
        browser.fill("typed", "door\n").await;
        browser.said("door is free").await;
        assert_eq!(server.lease("door").await["released"], true);
        browser.is_quiet().await;
    })
    .await;
}

/// The row changes all the time; the element with the focus stays the same.
#[tokio::test]
async fn the_focus_and_an_open_row_outlast_what_changes() {
    let server = Server::open().await;
    server.acquire("m", "web-1").await;
    browser::with(async move |browser| {
        browser.open(&server, "#/default/leases?held=1").await;
        browser.press("m").await;
        browser.row("leases-table", "m", "Seen since").await;
        for name in ["a", "z"] {
            let uuid = server.acquire(name, "web-2").await;
            browser.row("leases-table", name, "web-2").await;
            server.release(name, &uuid).await;
            browser.has_rows("leases-table", 1).await;
        }
        assert_eq!(focused(&browser).await, "m");
        browser.row("leases-table", "m", "Seen since").await;
    })
    .await;
}

#[tokio::test]
async fn the_skip_link_leads_past_the_header() {
    let server = Server::open().await;
    browser::with(async move |browser| {
        browser.open(&server, "").await;
        strike(&browser, Key::Tab).await;
        strike(&browser, Key::Enter).await;
        assert_eq!(
            browser.run("return document.activeElement.id").await,
            "main"
        );
        strike(&browser, Key::Tab).await;
        assert_eq!(focused(&browser).await, "Names that start with");
    })
    .await;
}
