//! The page, in the words of its users.

use fantoccini::{Locator, elements::Element};
use serde_json::{Value, json};

use crate::{browser::Browser, server::Server};

/// Finds visible elements by their names.
const CALLED: &str = "const called = (name, what) => [...document.querySelectorAll(what)]
    .filter((element) => element.checkVisibility())
    .find((element) => (element.getAttribute('aria-label') ?? element.innerText).trim() === name);";

impl Browser {
    /// Opens a part of the page, `#/default/tasks` say, and waits until it is live.
    pub(crate) async fn open(&self, server: &Server, part: &str) {
        self.client
            .goto(&format!("{}{part}", server.url()))
            .await
            .unwrap();
        self.live().await;
    }

    pub(crate) async fn live(&self) {
        self.until(
            "the page is not live",
            "return document.getElementById('live')?.dataset.state === 'live'",
        )
        .await;
    }

    pub(crate) async fn log_in(&self, server: &Server, token: &str) {
        self.client.goto(&server.url()).await.unwrap();
        self.fill("token", token).await;
        self.press("Log in").await;
        self.until(
            "nobody is logged in",
            "return document.getElementById('who-name').innerText",
        )
        .await;
        self.live().await;
    }

    /// Types into the field of this id.
    pub(crate) async fn fill(&self, id: &str, text: &str) {
        self.until(
            &format!("there is no field {id}"),
            &format!("return document.getElementById('{id}')?.checkVisibility()"),
        )
        .await;
        let field = self.client.find(Locator::Id(id)).await.unwrap();
        field.clear().await.unwrap();
        field.send_keys(text).await.unwrap();
    }

    /// Clicks the button of this name.
    pub(crate) async fn press(&self, name: &str) {
        self.find(name, "button").await.click().await.unwrap();
    }

    pub(crate) async fn follow(&self, name: &str) {
        self.find(name, "a").await.click().await.unwrap();
    }

    async fn find(&self, name: &str, what: &str) -> Element {
        let name_json = json!(name);
        let found = format!("{CALLED} return called({name_json}, '{what}') ?? null");
        let element = self
            .until(&format!("there is no {what} {name:?}"), &found)
            .await;
        let reference = element
            .as_object()
            .unwrap()
            .values()
            .next()
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned();
        Element::from_element_id(self.client.clone(), reference.into())
    }

    /// The names of the visible buttons in a table.
    pub(crate) async fn buttons(&self, table: &str) -> Vec<String> {
        let script = format!(
            "return [...document.querySelectorAll('#{table} .buttons button')]
                .filter((button) => button.checkVisibility()).map((button) => button.getAttribute('aria-label'))"
        );
        let found = self.run(&script).await;
        found
            .as_array()
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap().to_owned())
            .collect()
    }

    /// Waits until the row that begins with this text contains that text.
    pub(crate) async fn row(&self, table: &str, first: &str, text: &str) -> String {
        let (row, wanted) = (json!(first), json!(text));
        let script = format!(
            "const row = [...document.querySelectorAll('#{table} tbody')]
                .find((row) => row.checkVisibility() && row.innerText.trim().startsWith({row}));
            return row?.innerText.includes({wanted}) ? row.innerText : null"
        );
        let found = self
            .until(&format!("no row {first:?} has {text:?}"), &script)
            .await;
        found.as_str().unwrap().to_owned()
    }

    pub(crate) async fn rows(&self, table: &str) -> u64 {
        let script = format!("return document.querySelectorAll('#{table} tbody').length");
        self.run(&script).await.as_u64().unwrap()
    }

    /// Waits until the page has reported this action.
    pub(crate) async fn said(&self, words: &str) {
        let wanted = json!(words);
        let script = format!("return document.getElementById('said').innerText.includes({wanted})");
        self.until(&format!("nobody has said {words:?}"), &script)
            .await;
    }

    /// Checks that the page has done nothing that its policy forbids, and that none of its scripts has failed.
    pub(crate) async fn is_quiet(&self) {
        assert_eq!(self.reports().await, Vec::<String>::new());
    }

    /// Waits until a dialog is open, or until none is.
    pub(crate) async fn question(&self, is_open: bool) {
        let script = format!("return document.getElementById('question').open === {is_open}");
        self.until("the question does not come or go", &script)
            .await;
    }

    /// Waits until the log-in is shown.
    pub(crate) async fn asks_for_a_token(&self) {
        let form = "return document.getElementById('log-in').checkVisibility()";
        self.until("the log-in does not come", form).await;
    }

    /// Waits until a table has that many rows.
    pub(crate) async fn has_rows(&self, table: &str, rows: u64) {
        let script =
            format!("return document.querySelectorAll('#{table} tbody').length === {rows}");
        self.until(&format!("not {rows} rows in {table}"), &script)
            .await;
    }

    /// A screen of this width: a telephone or a window.
    pub(crate) async fn width(&self, width: u32, is_phone: bool) {
        let screen =
            json!({"width": width, "height": 780, "deviceScaleFactor": 1, "mobile": is_phone});
        self.tell("Emulation.setDeviceMetricsOverride", screen)
            .await;
    }

    /// `dark` or `light`.
    pub(crate) async fn scheme(&self, scheme: &str) {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.tell("Emulation.setEmulatedMedia", features).await;
    }

    /// The page as a screen reader gets it: the role and the name of each element.
    pub(crate) async fn read_out(&self) -> Vec<(String, String)> {
        let tree = self.tell("Accessibility.getFullAXTree", json!({})).await;
        let nodes = tree["nodes"].as_array().unwrap().iter();
        let word = |value: &Value| value["value"].as_str().unwrap_or_default().to_owned();
        nodes
            .filter(|node| node["ignored"] == false)
            .map(|node| (word(&node["role"]), word(&node["name"])))
            .collect()
    }
}
