//! A browser, and the functions of its driver beyond clicks.

use std::{fmt, process::Command, time::Duration};

use dlock_test_servers::{Place, Service};
use fantoccini::{Client, ClientBuilder, wd::WebDriverCompatibleCommand};
use http::Method;
use serde_json::{Value, json};
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, sleep},
};
use url::{ParseError, Url};

/// How long a test waits for what must come: longer than any machine takes.
const PATIENCE: Duration = Duration::from_secs(90);

/// That many browsers at a time: each of them is a dozen processes.
static PLACES: Semaphore = Semaphore::const_new(2);

/// The browser itself records these reports, before any script of the page runs.
const REPORTS: &str = "window.reports = [];
    addEventListener('securitypolicyviolation', (event) => reports.push(`${event.violatedDirective} ${event.blockedURI}`));
    addEventListener('error', (event) => reports.push(event.message));
    addEventListener('unhandledrejection', (event) => reports.push(String(event.reason)));";

/// A browser with one window. It ends when this value is dropped; [`with`] ends it in an orderly way.
pub(crate) struct Browser {
    pub(crate) client: Client,
    _driver: Service,
    _place: SemaphorePermit<'static>,
}

/// Runs a test with its own browser.
pub(crate) async fn with<Test, Done>(test: Test)
where
    Test: FnOnce(std::sync::Arc<Browser>) -> Done,
    Done: Future<Output = ()> + Send + 'static,
{
    let browser = std::sync::Arc::new(Browser::start().await);
    let done = tokio::spawn(test(std::sync::Arc::clone(&browser))).await;
    let closed = browser.client.clone().close().await;
    if let Err(error) = done {
        std::panic::resume_unwind(error.into_panic());
    }
    closed.unwrap();
}

impl Browser {
    async fn start() -> Self {
        let place = PLACES.acquire().await.unwrap();
        let driver = Service::builder(|place: &Place| {
            let mut command = Command::new("chromedriver");
            command.arg(format!("--port={}", place.port()));
            command
        })
        .spawn(|place| async move { place.accepts_connections().await })
        .await
        .expect("chromedriver does not start; on Debian it is in the package chromium-driver");
        let profile = driver.place().dir().join("profile");
        // Every page that it loads comes from this test's own server, so the sandbox, which not every test
        // machine has, would keep nothing away.
        let arguments = [
            "--headless=new".to_owned(),
            "--no-sandbox".to_owned(),
            "--disable-dev-shm-usage".to_owned(),
            "--disable-gpu".to_owned(),
            "--lang=en-GB".to_owned(),
            format!("--user-data-dir={}", profile.display()),
            "--window-size=1280,900".to_owned(),
        ];
        let wanted = json!({
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL"},
        });
        let address = format!("http://127.0.0.1:{}", driver.place().port());
        let client = ClientBuilder::new(Connector::new())
            .capabilities(wanted.as_object().unwrap().clone())
            .connect(&address)
            .await
            .expect("no browser; on Debian it is in the package chromium");
        let browser = Self {
            client,
            _driver: driver,
            _place: place,
        };
        let first = json!({"source": REPORTS});
        browser
            .tell("Page.addScriptToEvaluateOnNewDocument", first)
            .await;
        browser
    }

    /// A command of the browser's own protocol.
    pub(crate) async fn tell(&self, command: &str, parameters: Value) -> Value {
        let body = json!({"cmd": command, "params": parameters});
        self.client
            .issue_cmd(Extra("goog/cdp/execute", body))
            .await
            .unwrap()
    }

    pub(crate) async fn run(&self, script: &str) -> Value {
        self.client.execute(script, Vec::new()).await.unwrap()
    }

    /// Waits until this script returns something that is not false, null, 0 or empty.
    pub(crate) async fn until(&self, what: &str, script: &str) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let found = self.run(script).await;
            match &found {
                Value::Null | Value::Bool(false) => {}
                Value::String(text) if text.is_empty() => {}
                Value::Array(items) if items.is_empty() => {}
                _ => return found,
            }
            if Instant::now() > deadline {
                let text = self.run("return document.body.innerText").await;
                panic!(
                    "{what}; the page says: {}",
                    text.as_str().unwrap_or_default()
                );
            }
            sleep(Duration::from_millis(50)).await;
        }
    }

    /// The page's refused requests, and the errors of its scripts. Refusals of the server are not errors of the page.
    pub(crate) async fn reports(&self) -> Vec<String> {
        let log = self
            .client
            .issue_cmd(Extra("se/log", json!({"type": "browser"})))
            .await
            .unwrap();
        let of_console = log.as_array().unwrap().iter().filter(|entry| {
            let of_server = entry["message"]
                .as_str()
                .unwrap()
                .contains("Failed to load resource");
            ["SEVERE", "WARNING"].contains(&entry["level"].as_str().unwrap()) && !of_server
        });
        let mut reports: Vec<_> = of_console.map(ToString::to_string).collect();
        let of_page = self.run("return reports").await;
        reports.extend(of_page.as_array().unwrap().iter().map(ToString::to_string));
        reports
    }
}

type Connector = hyper_util::client::legacy::connect::HttpConnector;

/// A request that Chromium's driver supports beyond the standard.
#[derive(Debug)]
struct Extra(&'static str, Value);

impl WebDriverCompatibleCommand for Extra {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!(
            "session/{}/{}",
            session.unwrap_or_default(),
            self.0
        ))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(self.1.to_string()))
    }
}

impl fmt::Debug for Browser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Browser").finish_non_exhaustive()
    }
}
