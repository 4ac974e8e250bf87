//! Streams that break, and streams that the server refuses.

use crate::{browser, server::Server};

/// Records when the page requests a stream, and what it reports about it.
const NOTES: &str = "window.opened = [];
    window.told = [];
    const look = () => told.push(document.getElementById('live').dataset.state + document.getElementById('trouble').textContent);
    new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });";

/// A proxy may cut every answer off after a minute.
#[tokio::test]
async fn a_stream_that_is_cut_is_opened_again_without_a_word() {
    let server = Server::open().await;
    browser::with(async move |browser| {
        browser.open(&server, "").await;
        browser.run(NOTES).await;
        let cut = "const real = fetch;
            window.fetch = async (path, ...rest) => {
                const answer = await real(path, ...rest);
                if (!path.includes('/live')) return answer;
                opened.push(performance.now());
                const reader = answer.body.getReader();
                const { value } = await reader.read();
                reader.cancel();
                return new Response(new Blob([value]));
            };
            location.hash = '#/default/leases?prefix=d'";
        browser.run(cut).await;
        browser
            .until("the stream is not opened again", "return opened.length > 4")
            .await;
        server.acquire("door", "web-1").await;
        browser.row("leases-table", "door", "web-1").await;
        let complaints =
            "return told.filter((text) => text.startsWith('waiting') || text.includes('old'))";
        assert_eq!(browser.run(complaints).await, serde_json::json!([]));
        // The page pauses between two requests.
        let shortest = "return Math.min(...opened.slice(1).map((at, index) => at - opened[index]))";
        let shortest = browser.run(shortest).await.as_f64().unwrap();
        assert!(shortest >= 499.0, "{shortest}");
        browser.is_quiet().await;
    })
    .await;
}

#[tokio::test]
async fn a_server_without_room_is_asked_less_and_less_often() {
    let server = Server::open().await;
    browser::with(async move |browser| {
        browser.open(&server, "").await;
        browser.run(NOTES).await;
        let refuse = "const real = fetch;
            window.fetch = (path, ...rest) => {
                if (!path.includes('/live') || window.hasRoom) return real(path, ...rest);
                opened.push(performance.now());
                const problem = { status: 503, code: 'overloaded', title: 'the server is busy' };
                return Promise.resolve(new Response(JSON.stringify(problem), { status: 503 }));
            };
            location.hash = '#/default/leases?prefix=d'";
        browser.run(refuse).await;
        let says = "return document.getElementById('trouble').innerText.includes('the server is busy')";
        browser.until("nobody says why", says).await;
        let pauses = "return opened.length > 4 ? opened.slice(1).map((at, index) => at - opened[index]) : null";
        let pauses = browser.until("nobody asks again", pauses).await;
        let pauses: Vec<f64> = pauses.as_array().unwrap().iter().map(|pause| pause.as_f64().unwrap()).collect();
        for (pause, least) in pauses.iter().zip([499.0, 999.0, 1_999.0, 3_999.0]) {
            assert!(*pause >= least, "{pauses:?}");
        }
        browser.run("window.hasRoom = true").await;
        browser.live().await;
    })
    .await;
}
