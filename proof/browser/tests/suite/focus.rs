//! Where the focus goes when its element disappears, and what is read aloud.

use fantoccini::key::Key;
use serde_json::json;

use crate::{
    browser::{self, Browser},
    keyboard::strike,
    server::Server,
};

/// Gives the focus to the element of this name.
async fn focus(browser: &Browser, name: &str) {
    let name = json!(name);
    let script = format!(
        "const there = [...document.querySelectorAll('button, a')].filter((element) => element.checkVisibility());
        const found = there.find((element) => (element.getAttribute('aria-label') ?? element.innerText).trim() === {name});
        found?.focus();
        return Boolean(found)"
    );
    browser.until(&format!("there is no {name}"), &script).await;
}

/// Waits until the element of this name has the focus.
async fn is_at(browser: &Browser, name: &str) {
    let name = json!(name);
    let script = format!(
        "const at = document.activeElement;
        return (at.getAttribute('aria-label') ?? (at.innerText.trim() || at.id)).startsWith({name})"
    );
    browser
        .until(&format!("the focus is not at {name}"), &script)
        .await;
}

#[tokio::test]
async fn the_focus_goes_on_to_what_is_next_when_its_button_goes() {
    let server = Server::open().await;
    server.acquire("door", "web-1").await;
    server.image().await;
    browser::with(async move |browser| {
        browser.open(&server, "").await;
        focus(&browser, "Ask for door").await;
        strike(&browser, Key::Enter).await;
        is_at(&browser, "Revoke door").await;
        // The dialog gives the focus back when it is answered, and then its button disappears.
        strike(&browser, Key::Enter).await;
        is_at(&browser, "Leave it").await;
        strike(&browser, Key::Tab).await;
        strike(&browser, Key::Enter).await;
        browser.said("door is revoked").await;
        is_at(&browser, "Force door").await;
        browser.open(&server, "#/default/tasks").await;
        focus(&browser, "Pause images").await;
        strike(&browser, Key::Enter).await;
        is_at(&browser, "Resume images").await;
        strike(&browser, Key::Enter).await;
        is_at(&browser, "Pause images").await;
        browser.is_quiet().await;
    })
    .await;
}

#[tokio::test]
async fn the_focus_stays_near_what_is_no_longer_shown() {
    let server = Server::open().await;
    let one = server.acquire("a", "web-1").await;
    let two = server.acquire("b", "web-1").await;
    server.image().await;
    browser::with(async move |browser| {
        browser.open(&server, "#/default/leases?held=1").await;
        focus(&browser, "Force a").await;
        server.release("a", &one).await;
        is_at(&browser, "b").await;
        // The page answers no to a question about a lease that is gone.
        focus(&browser, "Force b").await;
        strike(&browser, Key::Enter).await;
        browser.question(true).await;
        server.release("b", &two).await;
        browser.has_rows("leases-table", 0).await;
        strike(&browser, Key::Escape).await;
        let main = "return document.activeElement.id === 'main'";
        browser.until("the focus is at no place", main).await;
        browser.open(&server, "#/default/tasks").await;
        focus(&browser, "Ready 1").await;
        strike(&browser, Key::Enter).await;
        browser
            .until(
                "the address stays",
                "return location.hash.includes('ready')",
            )
            .await;
        is_at(&browser, "Ready").await;
        focus(&browser, "1 task of images ready").await;
        strike(&browser, Key::Enter).await;
        browser
            .until(
                "the address stays",
                "return location.hash.includes('images')",
            )
            .await;
        browser.until("the focus is at no place", main).await;
        browser.is_quiet().await;
    })
    .await;
}

/// A text that changes each second is not announced.
#[tokio::test]
async fn nothing_is_read_out_while_all_goes_well() {
    let server = Server::open().await;
    let uuid = server.acquire("door", "web-1").await;
    browser::with(async move |browser| {
        browser.open(&server, "").await;
        let note = "window.news = [];
            for (const region of document.querySelectorAll('[role=status], [role=alert], [aria-live]')) {
                new MutationObserver(() => news.push(`${region.id}: ${region.textContent}`))
                    .observe(region, { subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: ['hidden'] });
            }";
        browser.run(note).await;
        browser.press("door").await;
        for n in 1..=3 {
            server.renew("door", &uuid, n).await;
            let times = if n == 1 { "renewed".to_owned() } else { format!("renewed {n} times") };
            browser.row("leases-table", "door", &times).await;
        }
        for part in ["Elections", "Leases"] {
            browser.follow(part).await;
            browser.live().await;
        }
        browser.row("leases-table", "door", "held").await;
        assert_eq!(browser.run("return news").await, json!([]));
        // Shows that the measure itself works.
        browser.press("Ask for door").await;
        browser.until("nothing is read out", "return news.length > 0").await;
    })
    .await;
}
