use crate::{browser, server::Server};

#[tokio::test]
async fn a_server_that_is_gone_is_told_and_found_again() {
    let mut server = Server::open().await;
    server.acquire("door", "web-1").await;
    browser::with(async move |browser| {
        browser.open(&server, "").await;
        browser.row("leases-table", "door", "web-1").await;
        server.signal("KILL");
        browser
            .until("the page claims to be live", "return document.getElementById('live').dataset.state === 'waiting' && document.getElementById('trouble').innerText.includes('out of date')")
            .await;
        // The rows that were shown last stay.
        browser.row("leases-table", "door", "web-1").await;
        browser.press("Ask for door").await;
        browser.said("Not done").await;
        server.restart().await;
        browser.live().await;
        assert_eq!(browser.run("return document.getElementById('trouble').innerText").await, "");
        server.acquire("gate", "web-2").await;
        browser.row("leases-table", "gate", "web-2").await;
    })
    .await;
}
