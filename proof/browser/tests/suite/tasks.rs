use serde_json::json;

use crate::{browser, server::Server};

const TABLE: &str = "tasks-table";
const QUEUES: &str = "queues-table";
const TASKS: &str = "#/default/tasks";

#[tokio::test]
async fn buttons_are_those_of_the_rights() {
    let server = Server::with_tokens(&[
        ("reader", &["read", "work", "hold", "enqueue"]),
        ("admin", &["read", "admin"]),
    ])
    .await;
    let id = server.image().await;
    browser::with(async move |browser| {
        for (token, of_task, of_queue) in [
            ("reader", None, &[][..]),
            ("admin", Some("Cancel"), &["Limit images", "Pause images"]),
        ] {
            browser.log_in(&server, token).await;
            browser.follow("Tasks").await;
            browser.row(TABLE, &format!("#{id}"), "ready").await;
            let expected: Vec<_> = of_task
                .iter()
                .map(|word| format!("{word} task {id}"))
                .collect();
            assert_eq!(browser.buttons(TABLE).await, expected, "{token}");
            assert_eq!(browser.buttons(QUEUES).await, of_queue, "{token}");
            browser.press("Log out").await;
            browser.asks_for_a_token().await;
        }
        browser.is_quiet().await;
    })
    .await;
}

#[tokio::test]
async fn a_queue_is_paused_and_resumed() {
    let server = Server::open().await;
    server.image().await;
    server
        .send(
            reqwest::Method::PUT,
            "v1/default/queues",
            json!({"queue": "mail", "limit": 3}),
        )
        .await;
    browser::with(async move |browser| {
        browser.open(&server, TASKS).await;
        browser.row(QUEUES, "mail", "3 at a time").await;
        browser.press("Pause images").await;
        browser.said("images is paused").await;
        browser.row(QUEUES, "images", "paused").await;
        assert_eq!(
            server.get("v1/default/queues").await["paused"][0]["queue"],
            "images"
        );
        browser.press("Resume images").await;
        browser.said("images is resumed").await;
        assert_eq!(server.get("v1/default/queues").await["paused"], json!([]));
        browser.row(QUEUES, "images", "open").await;
        browser.is_quiet().await;
    })
    .await;
}

#[tokio::test]
async fn a_limit_is_set_and_taken_away() {
    let server = Server::open().await;
    server.image().await;
    browser::with(async move |browser| {
        browser.open(&server, TASKS).await;
        let limits = async || server.get("v1/default/queues").await["limits"].clone();
        let is_off = "return document.getElementById('question-yes').disabled";
        browser.press("Limit images").await;
        for (typed, off) in [
            ("0", true),
            ("-1", true),
            ("1.5", true),
            ("4294967296", true),
            ("12", false),
        ] {
            browser.fill("number", typed).await;
            assert_eq!(browser.run(is_off).await, off, "{typed}");
        }
        browser.press("Leave it").await;
        assert_eq!(limits().await, json!([]));
        browser.press("Limit images").await;
        browser.fill("number", "12\n").await;
        browser.said("images: 12 tasks at a time").await;
        assert_eq!(limits().await, json!([{"queue": "images", "limit": 12}]));
        browser.row(QUEUES, "images", "12 at a time").await;
        browser.press("Limit images").await;
        // The field shows the present limit, to be changed.
        let now = "return document.getElementById('number').value";
        assert_eq!(browser.run(now).await, "12");
        browser.fill("number", "").await;
        browser.press("Set the limit").await;
        browser.said("images has no limit").await;
        assert_eq!(limits().await, json!([]));
        // Other dialogs have no such field.
        browser.press("Cancel task 1").await;
        let field = "return document.getElementById('number').checkVisibility()";
        assert_eq!(browser.run(field).await, false);
        browser.press("Cancel the task").await;
        browser.said("Task 1 is cancelled").await;
        browser.is_quiet().await;
    })
    .await;
}

#[tokio::test]
async fn tasks_are_cancelled_and_retried() {
    let server = Server::open().await;
    let waiting = server
        .enqueue(json!({"kind": "waiting", "queue": "mail"}))
        .await;
    let running = server
        .enqueue(json!({"kind": "running", "queue": "images"}))
        .await;
    server.claim("images", "worker-1").await;
    let done = server
        .enqueue(json!({"kind": "done", "queue": "sound"}))
        .await;
    let (uuid, task) = server.claim("sound", "worker-2").await;
    let proof = json!({"uuid": uuid, "token": task["token"]});
    let path = format!("v1/default/tasks/{done}/complete");
    server.post(&path, proof).await;
    browser::with(async move |browser| {
        browser.open(&server, TASKS).await;
        // One click does not repeat a task that has succeeded.
        browser.press(&format!("Retry task {done}")).await;
        browser.press("Leave it").await;
        assert_eq!(server.task(done).await["state"], "succeeded");
        browser.press(&format!("Retry task {done}")).await;
        browser.press("Run it again").await;
        browser.said(&format!("does the work of task {done}")).await;
        browser.press(&format!("Cancel task {waiting}")).await;
        browser.press("Leave it").await;
        assert_eq!(server.task(waiting).await["state"], "ready");
        browser.press(&format!("Cancel task {waiting}")).await;
        browser.press("Cancel the task").await;
        browser.said(&format!("Task {waiting} is cancelled")).await;
        assert_eq!(server.task(waiting).await["state"], "cancelled");
        browser.press(&format!("Retry task {waiting}")).await;
        browser.said("is in its queue again").await;
        assert_eq!(server.task(waiting).await["state"], "ready");
        let row = format!("#{running}");
        browser.row(TABLE, &row, "worker-1").await;
        browser.press(&format!("Cancel task {running}")).await;
        browser.press("Cancel the task").await;
        browser.said("is asked to stop").await;
        browser.row(TABLE, &row, "asked to stop").await;
        assert_eq!(server.task(running).await["holder"]["asked"], true);
        browser.press(&format!("Cancel task {running}")).await;
        browser
            .run("document.getElementById('choice').click()")
            .await;
        browser.press("Cancel the task").await;
        browser.said(&format!("Task {running} is cancelled")).await;
        assert_eq!(server.task(running).await["state"], "cancelled");
        browser.row(TABLE, &row, "cancelled").await;
        browser.is_quiet().await;
    })
    .await;
}

#[tokio::test]
async fn counts_errors_and_checkpoints_are_shown_as_they_come() {
    let server = Server::open().await;
    let id = server
        .enqueue(json!({"kind": "resize", "queue": "images", "payload": {"file": "a.png"}}))
        .await;
    browser::with(async move |browser| {
        browser.open(&server, TASKS).await;
        browser.row(TABLE, &format!("#{id}"), "ready").await;
        browser.press(&format!("#{id} resize")).await;
        browser.row(TABLE, &format!("#{id}"), "a.png").await;
        let (uuid, task) = server.claim("images", "worker-1").await;
        browser.row(TABLE, &format!("#{id}"), "running").await;
        let claim =
            json!({"uuid": uuid, "token": task["token"], "number": 1, "checkpoint": {"done": 17}});
        server
            .post(&format!("v1/default/tasks/{id}/checkpoint"), claim)
            .await;
        browser.row(TABLE, &format!("#{id}"), "\"done\": 17").await;
        let failure = json!({"uuid": uuid, "token": task["token"], "error": "no space left", "retry_in_ms": 600_000});
        server
            .post(&format!("v1/default/tasks/{id}/fail"), failure)
            .await;
        browser
            .row(TABLE, &format!("#{id}"), "Attempt 1 failed: no space left")
            .await;
        browser.row(TABLE, &format!("#{id}"), "due in").await;
        // The page counts tasks less often than it reads a page of them.
        let chips = "return document.getElementById('states').innerText.replace(/\\s+/g, ' ').includes('Scheduled 1')";
        browser.until("the task is not counted", chips).await;
        browser.follow("Dead 0").await;
        browser
            .until(
                "dead tasks are there",
                "return document.getElementById('tasks-empty').innerText.includes('are dead')",
            )
            .await;
        browser.follow("1 task of images scheduled").await;
        browser.row(TABLE, &format!("#{id}"), "scheduled").await;
        browser.is_quiet().await;
    })
    .await;
}

/// The page requests a row anew when its task changes, and the first answer may come last.
#[tokio::test]
async fn an_answer_that_is_late_does_not_replace_a_newer_one() {
    let server = Server::open().await;
    let id = server.image().await;
    browser::with(async move |browser| {
        browser.open(&server, TASKS).await;
        browser.row(TABLE, &format!("#{id}"), "ready").await;
        let script = format!(
            "const real = fetch;
            window.fetch = async (path, ...rest) => {{
                const answer = await real(path, ...rest);
                if (!path.endsWith('tasks/{id}') || window.late) return answer;
                await new Promise((resolve) => {{ window.late = resolve; }});
                const value = await answer.json();
                answer.json = async () => {{ setTimeout(() => {{ window.read = true; }}); return value; }};
                return answer;
            }}"
        );
        browser.run(&script).await;
        browser.press(&format!("#{id} resize")).await;
        browser.until("nobody asks for the task", "return window.late !== undefined").await;
        server.claim("images", "worker-1").await;
        browser.row(TABLE, &format!("#{id}"), "Token").await;
        browser.run("late()").await;
        browser.until("the answer is not read", "return window.read").await;
        let newer = "return document.querySelector('#tasks-table tbody').innerText.includes('Token')";
        assert_eq!(browser.run(newer).await, true);
    })
    .await;
}
