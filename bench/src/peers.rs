//! Programs that drive what others made, in languages of their own: where they are, and how they are built. Only when
//! somebody asks for them.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::{Context as _, Result, ensure};
use tokio::process::Command;

/// Where the source of such a program is.
pub(crate) fn folder(peer: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("peers")
        .join(peer)
}

/// Runs what builds it there.
///
/// # Errors
/// What is missing, and what to install.
pub(crate) async fn build(peer: &str, program: &str, words: &[&str], install: &str) -> Result<()> {
    let status = Command::new(program)
        .args(words)
        .current_dir(folder(peer))
        .stdout(Stdio::null())
        .status()
        .await
        .with_context(|| format!("there is no {program}: install {install}"))?;
    ensure!(
        status.success(),
        "`{program} {}` in bench/peers/{peer} failed; it needs {install}",
        words.join(" ")
    );
    Ok(())
}
