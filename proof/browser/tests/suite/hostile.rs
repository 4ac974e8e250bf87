use serde_json::json;

use crate::{browser, server::Server};

const IMAGE: &str = "<img src=x onerror=\"window.harm=1\">";

#[tokio::test]
async fn names_of_others_are_text_and_nothing_else() {
    let server = Server::open().await;
    let script = "<script>window.harm=1</script>";
    server.acquire(IMAGE, script).await;
    server
        .acquire("'\"><svg onload=window.harm=1>", "javascript:window.harm=1")
        .await;
    server
        .acquire("safe\u{202e}gnp.exe", "a\u{7}\u{200b}b\u{2028}\u{a0}c")
        .await;
    server
        .acquire(
            "${window.harm=1}",
            "{{constructor.constructor('window.harm=1')()}}",
        )
        .await;
    server.acquire(r"safe\u{202e}gnp.exe", "another one").await;
    // Letters without a glyph that are neither controls nor spaces.
    server
        .acquire("no\u{3164}thing\u{2800}.", "a\u{34f}b\u{fe0f}c")
        .await;
    server.lead("<i>e\u{202e}", "<b>leader").await;
    let body = json!({"name": "data", "uuid": uuid::Uuid::new_v4(), "duration_ms": 600_000, "data": "PGI+4oCueA=="});
    server.post("v1/default/leases/acquire", body).await;
    let id = server
        .enqueue(json!({"kind": IMAGE, "queue": "<b>q\u{202e}", "payload": {IMAGE: script, "back": "\u{202e}x", "blank": "y\u{115f}\u{2800}"}, "key": script}))
        .await;
    let (uuid, task) = server.claim("<b>q\u{202e}", IMAGE).await;
    let failure = json!({"uuid": uuid, "token": task["token"], "error": format!("{IMAGE}\nsecond\u{1b}[31m"), "retry_in_ms": 600_000});
    server
        .post(&format!("v1/default/tasks/{id}/fail"), failure)
        .await;
    browser::with(async move |browser| {
        let is_inert = "return window.harm === undefined && !document.querySelector('main img, main script, main b, main i, svg')";
        browser.open(&server, "").await;
        browser.row("leases-table", IMAGE, script).await;
        browser.row("leases-table", r"safe\u{202e}gnp.exe", r"a\u{7}\u{200b}b\u{2028}\u{a0}c").await;
        browser.row("leases-table", r"no\u{3164}thing\u{2800}.", r"a\u{34f}b\u{fe0f}c").await;
        // No two names look alike.
        browser.row("leases-table", r"safe\\u{202e}gnp.exe", "another one").await;
        browser.press(IMAGE).await;
        browser.row("leases-table", IMAGE, "Seen since").await;
        browser.press(&format!("Revoke {IMAGE}")).await;
        browser.question(true).await;
        assert_eq!(browser.run(is_inert).await, true);
        browser.press("Revoke").await;
        browser.said(IMAGE).await;
        browser.press(r"Force safe\u{202e}gnp.exe").await;
        browser.fill("typed", r"safe\u{202e}gnp.exe").await;
        browser.press("Free it at once").await;
        browser.said("is free").await;
        assert_eq!(server.lease("safe\u{202e}gnp.exe").await["released"], true);
        assert_eq!(server.lease(r"safe\u{202e}gnp.exe").await["released"], false);
        assert_eq!(browser.run(is_inert).await, true);
        browser.press("data").await;
        browser.row("leases-table", "data", r"<b>\u{202e}x").await;
        browser.open(&server, "#/default/elections").await;
        browser.row("elections-table", r"<i>e\u{202e}", "<b>leader").await;
        browser.press(r"<i>e\u{202e}").await;
        browser.row("elections-table", r"<i>e\u{202e}", "granted to <b>leader").await;
        assert_eq!(browser.run(is_inert).await, true);
        browser.open(&server, "#/default/tasks").await;
        browser.row("queues-table", r"<b>q\u{202e}", "1").await;
        browser.press(&format!("#{id} {IMAGE}")).await;
        let row = format!("#{id}");
        browser.row("tasks-table", &row, r"\u{202e}x").await;
        browser.row("tasks-table", &row, r"y\u{115f}\u{2800}").await;
        browser.row("tasks-table", &row, r"second\u{1b}[31m").await;
        assert_eq!(browser.run(is_inert).await, true);
        let shown = browser.run("return document.body.innerText").await;
        let shown = shown.as_str().unwrap();
        assert!(!shown.contains(['\u{202e}', '\u{7}', '\u{1b}', '\u{200b}']), "{shown}");
        browser.is_quiet().await;
    })
    .await;
}

/// The other tests rely on this report.
#[tokio::test]
async fn what_the_policy_forbids_is_refused_and_reported() {
    let server = Server::open().await;
    browser::with(async move |browser| {
        browser.open(&server, "").await;
        browser.is_quiet().await;
        for attack in [
            "const script = document.createElement('script'); script.src = '/page/main.js'; document.body.append(script);",
            "const box = document.createElement('div'); box.setAttribute('style', 'color: blue'); document.body.append(box);",
            "const image = new Image(); image.src = 'http://evil.example/x.png'; document.body.append(image);",
            "const frame = document.createElement('iframe'); frame.src = 'http://evil.example/'; document.body.append(frame);",
        ] {
            browser.run("reports.length = 0").await;
            browser.run(&format!("try {{ {attack} }} catch {{ /* it is reported as well */ }}")).await;
            browser.until(attack, "return reports.length > 0").await;
        }
        assert_ne!(browser.reports().await.len(), 0);
        let refused = "try { document.body.innerHTML = '<b>x</b>'; return 'taken' } catch (error) { return error.name }";
        assert_eq!(browser.run(refused).await, "TypeError");
    })
    .await;
}
