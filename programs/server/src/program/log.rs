//! The log: lines on standard error, as text or as JSON.

use std::io::{self, Write};

use dlock_stores::text::without_credentials;
use tracing_subscriber::{
    EnvFilter, Layer, filter::filter_fn, fmt::MakeWriter, layer::SubscriberExt,
    util::SubscriberInitExt,
};

use super::{failure::say, settings::LogFormat};

/// Logs the reports of this project's crates, as far as `DLOCK_LOG` asks for them, and nothing of other libraries:
/// those that talk to servers log whole requests.
pub(super) fn start(format: LogFormat) {
    let wanted = std::env::var("DLOCK_LOG").unwrap_or_default();
    let filter = match &*wanted {
        "" => EnvFilter::new("info"),
        wanted => EnvFilter::try_new(wanted).unwrap_or_else(|error| {
            say(format_args!("DLOCK_LOG={wanted:?} is ignored: {error}"));
            EnvFilter::new("info")
        }),
    };
    let ours = filter_fn(|metadata| metadata.target().starts_with("dlock"));
    let lines = tracing_subscriber::fmt::layer().with_writer(WithoutCredentials(format));
    let lines = match format {
        LogFormat::Text => lines.with_ansi(false).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    tracing_subscriber::registry()
        .with(lines.with_filter(ours))
        .with(filter)
        .init();
}

/// Standard error. A driver's message about a URL may show all of it, so no line goes out unchanged.
#[derive(Clone, Copy, Debug)]
struct WithoutCredentials(LogFormat);

impl MakeWriter<'_> for WithoutCredentials {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        *self
    }
}

impl Write for WithoutCredentials {
    /// A line arrives in one piece.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let text = match self.0 {
            LogFormat::Text => without_credentials(&text),
            LogFormat::Json => json_without_credentials(&text),
        };
        io::stderr().write_all(text.as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The same for each string in a line of JSON, since there is no space between them.
fn json_without_credentials(line: &str) -> String {
    let mut escaped = false;
    let strings = line.split(|letter| {
        let ends = letter == '"' && !escaped;
        escaped = letter == '\\' && !escaped;
        ends
    });
    let strings: Vec<String> = strings.map(without_credentials).collect();
    strings.join("\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn string_of_a_line_of_json_keeps_its_end_and_loses_its_password() {
        let line = r#"{"store":"redis://h:1/0","why":"no \"redis://u:p\"w@h\"","who":"a@b"}"#;
        let shown = r#"{"store":"redis://h:1/0","why":"no \"redis://***@h\"","who":"a@b"}"#;
        assert_eq!(json_without_credentials(line), shown);
    }
}
