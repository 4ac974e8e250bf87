//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use super::settings::Settings;

/// Serve the locks and the tasks of a store over HTTP.
///
/// Without arguments: locks and tasks in a file of this user, for programs of this machine, on <http://127.0.0.1:7420>.
#[derive(Debug, Parser)]
#[command(name = "dlock-server", version, after_long_help = include_str!("help.txt"))]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) settings: Settings,
    /// A file (TOML) with settings that are not given here; its keys have the names of these options
    #[arg(long, value_name = "FILE", global = true)]
    pub(super) config: Option<PathBuf>,
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

/// The alternative to serving.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Read the configuration and its files, check whether the store is set up, say what would be served, and end
    Check,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn definition_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn options_stand_before_and_behind_the_subcommand() {
        for words in [
            ["dlock-server", "--store", "sqlite:x", "check"],
            ["dlock-server", "check", "--store", "sqlite:x"],
        ] {
            let arguments = Arguments::try_parse_from(words).unwrap();
            assert_eq!(arguments.settings.store.as_deref(), Some("sqlite:x"));
            assert!(matches!(arguments.command, Some(Command::Check)));
        }
    }
}
