use serde_json::json;

use crate::{
    browser::{self, Browser},
    server::Server,
};

/// Every control has to have a name.
const USED: [&str; 8] = [
    "button",
    "link",
    "textbox",
    "searchbox",
    "combobox",
    "checkbox",
    "progressbar",
    "dialog",
];

async fn has_names(browser: &Browser, roles: &[(&str, usize)]) {
    let things = browser.read_out().await;
    for (role, name) in &things {
        assert!(
            !USED.contains(&role.as_str()) || !name.is_empty(),
            "a {role} has no name: {things:?}"
        );
    }
    for (role, least) in roles {
        let count = things.iter().filter(|(found, _)| found == role).count();
        assert!(
            count >= *least,
            "{count} of {role}, not {least}: {things:?}"
        );
    }
}

async fn filled() -> Server {
    let server = Server::open().await;
    server.acquire("door", "web-1").await;
    server.acquire("gate", "web-2").await;
    server.lead("scheduler", "node-a").await;
    server.image().await;
    server.claim("images", "worker-1").await;
    server
}

#[tokio::test]
async fn everything_has_a_role_and_a_name() {
    let server = filled().await;
    browser::with(async move |browser| {
        for width in [1280, 360] {
            browser.width(width, width == 360).await;
            browser.open(&server, "#/default/leases").await;
            browser.row("leases-table", "gate", "held").await;
            let table = [
                ("table", 1),
                ("row", 4),
                ("columnheader", 6),
                ("rowheader", 2),
                ("cell", 10),
                ("progressbar", 2),
                ("status", 1),
                ("main", 1),
                ("banner", 1),
                ("navigation", 1),
            ];
            has_names(&browser, &table).await;
            browser.open(&server, "#/default/elections").await;
            browser.row("elections-table", "scheduler", "led").await;
            has_names(
                &browser,
                &[("table", 1), ("columnheader", 7), ("rowheader", 1)],
            )
            .await;
            browser.open(&server, "#/default/tasks").await;
            browser.row("tasks-table", "#1", "running").await;
            has_names(
                &browser,
                &[
                    ("table", 2),
                    ("columnheader", 17),
                    ("rowheader", 2),
                    ("progressbar", 1),
                ],
            )
            .await;
        }
        browser.open(&server, "#/default/leases").await;
        browser.press("Force door").await;
        browser.question(true).await;
        has_names(&browser, &[("dialog", 1), ("textbox", 1)]).await;
    })
    .await;
}

/// All visible text whose contrast is below the one required by WCAG 2.2, 1.4.3.
const PALE: &str = "
    const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b].map((part) => part / 255)
        .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
        .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
    const behind = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const color = numbers(getComputedStyle(at).backgroundColor);
            if (color.length < 4 || color[3] === 1) return color;
        }
        return [255, 255, 255];
    };
    const own = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    return [...document.body.querySelectorAll('*')].filter((element) => element.checkVisibility() && own(element))
        .map((element) => {
            const [one, two] = [light(numbers(getComputedStyle(element).color)), light(behind(element))];
            return [element.innerText, (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05)];
        }).filter(([, ratio]) => !(ratio >= 4.5))";

#[tokio::test]
async fn text_stands_out_from_what_is_behind_it() {
    let server = filled().await;
    browser::with(async move |browser| {
        for scheme in ["light", "dark"] {
            browser.scheme(scheme).await;
            for (part, table, row) in [
                ("leases", "leases-table", "gate"),
                ("elections", "elections-table", "scheduler"),
                ("tasks", "tasks-table", "#1"),
            ] {
                browser.open(&server, &format!("#/default/{part}")).await;
                browser.row(table, row, "").await;
                assert_eq!(browser.run(PALE).await, json!([]), "{scheme} {part}");
            }
        }
        // Shows that the measure itself works.
        browser
            .run("document.getElementById('tasks-title').style.color = 'rgb(100 100 100)'")
            .await;
        assert_ne!(browser.run(PALE).await, json!([]));
    })
    .await;
}
