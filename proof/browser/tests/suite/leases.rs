use serde_json::json;

use crate::{
    browser,
    server::{ROOT, Server},
};

const TABLE: &str = "leases-table";

#[tokio::test]
async fn buttons_are_those_of_the_rights() {
    let server = Server::with_tokens(&[
        ("reader", &["read"]),
        ("holder", &["read", "hold"]),
        ("admin", &["read", "admin"]),
    ])
    .await;
    server.acquire("door", "web-1").await;
    browser::with(async move |browser| {
        for (token, buttons) in [
            ("reader", &[][..]),
            ("holder", &["Ask for door"]),
            ("admin", &["Revoke door", "Force door"]),
            (ROOT, &["Ask for door", "Revoke door", "Force door"]),
        ] {
            browser.log_in(&server, token).await;
            browser.row(TABLE, "door", "held").await;
            assert_eq!(browser.buttons(TABLE).await, buttons, "{token}");
            browser.press("Log out").await;
            browser.asks_for_a_token().await;
        }
        browser.is_quiet().await;
    })
    .await;
}

#[tokio::test]
async fn a_holder_is_asked_and_a_lease_is_revoked() {
    let server = Server::with_tokens(&[]).await;
    server.acquire("door", "web-1").await;
    let term = server.lease("door").await["uuid"].clone();
    browser::with(async move |browser| {
        browser.log_in(&server, ROOT).await;
        browser.press("Ask for door").await;
        browser.said("its holder learns").await;
        browser.row(TABLE, "door", "asked for").await;
        assert_eq!(server.lease("door").await["asked"], true);
        browser.press("Revoke door").await;
        browser.press("Leave it").await;
        assert_eq!(server.lease("door").await["uuid"], term);
        browser.press("Revoke door").await;
        browser.press("Revoke").await;
        browser.said("door is revoked").await;
        assert_ne!(server.lease("door").await["uuid"], term);
        browser.row(TABLE, "door", "revoked").await;
        assert_eq!(browser.buttons(TABLE).await, ["Force door"]);
        browser.press("door").await;
        browser.row(TABLE, "door", "asked to give it back").await;
        browser.is_quiet().await;
    })
    .await;
}

/// A browser reports that a dialog was closed a moment later, and by then the next one can be open.
#[tokio::test]
async fn a_question_asked_again_at_once_stays() {
    let server = Server::open().await;
    server.acquire("door", "web-1").await;
    browser::with(async move |browser| {
        browser.open(&server, "").await;
        browser.press("Force door").await;
        let again = "const button = document.querySelector('button[aria-label=\"Force door\"]');
            const question = document.getElementById('question');
            const told = new Promise((resolve) => question.addEventListener('close', () => setTimeout(resolve), { once: true }));
            document.getElementById('question-no').click();
            const ask = async () => {
                while (button.getAttribute('aria-busy') === 'true') await null;
                button.click();
                const asked = question.open;
                await told;
                return [asked, question.open];
            };
            return ask()";
        assert_eq!(browser.run(again).await, json!([true, true]));
        browser.fill("typed", "door\n").await;
        browser.said("door is free").await;
        browser.is_quiet().await;
    })
    .await;
}

#[tokio::test]
async fn a_lease_is_revoked_while_its_holder_renews_it() {
    let server = Server::open().await;
    let uuid = server.acquire("door", "web-1").await;
    browser::with(async move |browser| {
        browser.open(&server, "").await;
        browser.press("Revoke door").await;
        // The question is about the lease as it was before.
        browser.question(true).await;
        server.renew("door", &uuid, 1).await;
        browser.press("Revoke").await;
        browser.said("door is revoked").await;
        browser.row(TABLE, "door", "revoked").await;
        browser.is_quiet().await;
    })
    .await;
}

#[tokio::test]
async fn a_lease_is_forced_only_after_its_name_was_typed() {
    let server = Server::open().await;
    server.acquire("door", "web-1").await;
    browser::with(async move |browser| {
        browser.open(&server, "").await;
        let is_off = "return document.getElementById('question-yes').disabled";
        browser.press("Force door").await;
        for (typed, off) in [
            ("", true),
            ("doo", true),
            ("doors", true),
            ("Door", true),
            ("door", false),
        ] {
            browser.fill("typed", typed).await;
            assert_eq!(browser.run(is_off).await, off, "{typed:?}");
        }
        // The key Escape means no, whatever was typed.
        browser.fill("typed", "door\u{e00c}").await;
        browser.question(false).await;
        assert_eq!(server.lease("door").await["released"], false);
        browser.press("Force door").await;
        browser.fill("typed", "doors\n").await;
        assert_eq!(server.lease("door").await["released"], false);
        browser.fill("typed", "door").await;
        browser.press("Free it at once").await;
        browser.said("door is free").await;
        assert_eq!(server.lease("door").await["released"], true);
        browser.row(TABLE, "door", "released").await;
        browser.is_quiet().await;
    })
    .await;
}

#[tokio::test]
async fn a_question_ends_with_the_view_that_it_came_from() {
    let server = Server::open().await;
    server.acquire("door", "web-1").await;
    browser::with(async move |browser| {
        browser.open(&server, "").await;
        browser.follow("Tasks").await;
        browser.follow("Leases").await;
        browser.press("Force door").await;
        browser.client.back().await.unwrap();
        browser.question(false).await;
        assert_eq!(server.lease("door").await["released"], false);
    })
    .await;
}

#[tokio::test]
async fn what_happens_is_shown_without_a_reload() {
    let server = Server::open().await;
    browser::with(async move |browser| {
        browser.open(&server, "").await;
        browser.run("window.marker = 1").await;
        let uuid = server.acquire("door", "web-1").await;
        browser.row(TABLE, "door", "web-1").await;
        browser.press("door").await;
        browser.row(TABLE, "door", "granted to web-1").await;
        server.renew("door", &uuid, 1).await;
        browser.row(TABLE, "door", "renewed").await;
        server.release("door", &uuid).await;
        browser.row(TABLE, "door", "released").await;
        server.acquire("door", "web-2").await;
        browser.row(TABLE, "door", "granted to web-2").await;
        assert_eq!(browser.run("return window.marker").await, 1);
        browser.is_quiet().await;
    })
    .await;
}

#[tokio::test]
async fn the_bar_shrinks_with_the_time_that_is_left() {
    let server = Server::open().await;
    server.acquire("door", "web-1").await;
    browser::with(async move |browser| {
        browser.open(&server, "").await;
        browser.row(TABLE, "door", "min").await;
        let value = "return document.querySelector('#leases-table progress').value";
        let first = browser.run(value).await.as_f64().unwrap();
        assert!(first > 0.5, "{first}");
        browser
            .until(
                "the bar stands still",
                &format!("{value} < {}", first - 0.002),
            )
            .await;
    })
    .await;
}

#[tokio::test]
async fn pages_and_filters_lead_to_every_lease_and_back() {
    let server = Server::open().await;
    for number in 100..205 {
        server.acquire(&format!("a/{number}"), "web-1").await;
    }
    let uuid = server.acquire("b/free", "web-2").await;
    server.acquire("b/held", "web-2").await;
    server.release("b/free", &uuid).await;
    browser::with(async move |browser| {
        browser.open(&server, "").await;
        browser.row(TABLE, "a/100", "held").await;
        assert_eq!(browser.rows(TABLE).await, 100);
        browser.follow("Next page").await;
        browser.row(TABLE, "b/free", "released").await;
        assert_eq!(browser.rows(TABLE).await, 7);
        browser.fill("prefix", "b/\n").await;
        browser.has_rows("leases-table", 2).await;
        browser
            .run("document.getElementById('held-only').click()")
            .await;
        browser.has_rows("leases-table", 1).await;
        browser.row(TABLE, "b/held", "held").await;
        browser.client.back().await.unwrap();
        browser.row(TABLE, "b/free", "released").await;
        // Without the key Enter.
        browser.fill("prefix", "c/").await;
        browser.follow("Show all").await;
        browser.row(TABLE, "a/100", "held").await;
        // Rows of the previous view are gone.
        browser.follow("Tasks").await;
        browser
            .until(
                "the tasks do not come",
                "return document.getElementById('queues-empty').checkVisibility()",
            )
            .await;
        browser.follow("Leases").await;
        browser.row(TABLE, "a/100", "held").await;
        assert_eq!(browser.rows(TABLE).await, 100);
        browser.is_quiet().await;
    })
    .await;
}
