use crate::{browser, server::Server};

const TABLE: &str = "leases-table";

#[tokio::test]
async fn what_happened_before_the_page_was_opened_is_shown_until_the_server_is_started_anew() {
    let mut server = Server::open().await;
    let uuid = server.acquire("door", "web-1").await;
    server.release("door", &uuid).await;
    server.acquire("door", "web-2").await;
    browser::with(async move |browser| {
        browser.open(&server, "").await;
        browser.press("door").await;
        let row = browser.row(TABLE, "door", "granted to web-1").await;
        let lines = ["granted to web-2", "released", "granted to web-1"];
        let at = lines.map(|line| row.find(line));
        assert!(at.is_sorted() && at[0].is_some(), "{row}");
        server.restart().await;
        browser.client.refresh().await.unwrap();
        browser.press("door").await;
        let row = browser.row(TABLE, "door", "held: web-2").await;
        assert!(
            !row.contains("web-1") && row.contains("begins anew"),
            "{row}"
        );
        browser.is_quiet().await;
    })
    .await;
}

/// Of two answers, the one to the older question may come last.
#[tokio::test]
async fn a_history_that_comes_late_does_not_replace_a_newer_one() {
    let server = Server::open().await;
    let uuid = server.acquire("door", "web-1").await;
    browser::with(async move |browser| {
        browser.open(&server, "").await;
        browser.row(TABLE, "door", "held").await;
        let hold_back = "const real = fetch;
            window.fetch = async (path, ...rest) => {
                const answer = await real(path, ...rest);
                if (!path.includes('/history') || window.late) return answer;
                await new Promise((resolve) => { window.late = resolve; });
                const value = await answer.json();
                answer.json = async () => { setTimeout(() => { window.read = true; }); return value; };
                return answer;
            }";
        browser.run(hold_back).await;
        browser.press("door").await;
        browser.until("nobody asks for the history", "return window.late !== undefined").await;
        server.release("door", &uuid).await;
        let released = "return document.querySelector('#leases-table .history').innerText.includes('released')";
        browser.until("the release is not shown", released).await;
        browser.run("late()").await;
        browser.until("the answer is not read", "return window.read").await;
        assert_eq!(browser.run(released).await, true);
    })
    .await;
}
