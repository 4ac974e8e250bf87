//! The files of the page.

use sha2::{Digest, Sha256};

/// A file of the page.
#[derive(Debug)]
pub(super) struct File {
    name: &'static str,
    pub(super) kind: &'static str,
    pub(super) text: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// The page itself.
pub(super) const PAGE: File = File {
    name: "",
    kind: HTML,
    text: include_str!("page.html"),
};

macro_rules! parts {
    ($($kind:ident $name:literal),+ $(,)?) => {
        /// The files that the page loads.
        const PARTS: &[File] = &[$(File { name: $name, kind: $kind, text: include_str!($name) }),+];
    };
}

parts! {
    CSS "page.css",
    SVG "icon.svg",
    SCRIPT "main.js",
    SCRIPT "actions.js",
    SCRIPT "dialog.js",
    SCRIPT "dom.js",
    SCRIPT "elections.js",
    SCRIPT "focus.js",
    SCRIPT "history.js",
    SCRIPT "lease.js",
    SCRIPT "leases.js",
    SCRIPT "place.js",
    SCRIPT "server.js",
    SCRIPT "session.js",
    SCRIPT "stream.js",
    SCRIPT "table.js",
    SCRIPT "task.js",
    SCRIPT "tasks.js",
    SCRIPT "text.js",
}

/// The file that the page loads under this name.
pub(super) fn part(name: &str) -> Option<&'static File> {
    PARTS.iter().find(|file| file.name == name)
}

impl File {
    /// Distinguishes its text from that of every other version (RFC 9110, section 8.8.3).
    pub(super) fn tag(&self) -> String {
        let hash = Sha256::digest(self.text);
        let digits: String = hash
            .iter()
            .take(16)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        format!("\"{digits}\"")
    }
}
