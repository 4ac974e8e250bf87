use crate::{browser, server::Server};

const TABLE: &str = "elections-table";

#[tokio::test]
async fn who_leads_is_shown_and_told_that_others_want_to() {
    let server = Server::open().await;
    server.acquire("door", "web-1").await;
    let uuid = server.lead("scheduler", "node-a").await;
    browser::with(async move |browser| {
        browser.open(&server, "").await;
        browser.row("leases-table", "scheduler", "election").await;
        browser.follow("Elections").await;
        let row = browser.row(TABLE, "scheduler", "node-a").await;
        assert!(row.contains("led") && row.contains("min"), "{row}");
        let token = server.lease("scheduler").await["token"].to_string();
        assert!(row.contains(&token), "{row}");
        assert_eq!(browser.rows(TABLE).await, 1, "a lock is no election");
        browser.press("Ask for scheduler").await;
        browser.said("its holder learns").await;
        browser.row(TABLE, "scheduler", "asked to resign").await;
        browser.press("scheduler").await;
        browser.row(TABLE, "scheduler", "granted to node-a").await;
        server.release("scheduler", &uuid).await;
        let row = browser.row(TABLE, "scheduler", "no leader").await;
        assert!(row.contains("no leader"), "{row}");
        server.lead("scheduler", "node-b").await;
        browser.row(TABLE, "scheduler", "granted to node-b").await;
        browser.press("Force scheduler").await;
        browser.fill("typed", "scheduler\n").await;
        browser.said("scheduler is free").await;
        browser.row(TABLE, "scheduler", "freed by force").await;
        browser.is_quiet().await;
    })
    .await;
}

#[tokio::test]
async fn a_namespace_without_elections_says_how_there_is_one() {
    let server = Server::open().await;
    server.acquire("door", "web-1").await;
    browser::with(async move |browser| {
        browser.open(&server, "#/default/elections").await;
        let help =
            "return document.getElementById('elections-empty').innerText.includes('dlock elect')";
        browser.until("nothing says what to do", help).await;
        browser.is_quiet().await;
    })
    .await;
}
