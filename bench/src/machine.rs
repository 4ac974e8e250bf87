//! Where a run took place.

use std::{fs, process::Command};

use serde::{Deserialize, Serialize};

/// The conditions of a run that its figures depend on, other than the code.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) processors: usize,
    pub(crate) memory_mib: u64,
    pub(crate) kernel: String,
    pub(crate) redis: String,
    pub(crate) postgres: String,
    pub(crate) rustc: String,
    /// The commit that was measured, marked if files had changed since.
    pub(crate) commit: String,
    /// The load of the machine when the run began: processes that wanted to run, over one minute.
    pub(crate) load: f64,
}

impl Machine {
    pub(crate) fn here() -> Self {
        let after = |file: &str, key: &str| {
            let text = fs::read_to_string(file).unwrap_or_default();
            text.lines()
                .find_map(|line| line.strip_prefix(key)?.split_once(':'))
                .map(|(_, value)| value.trim().to_owned())
                .unwrap_or_default()
        };
        let memory = after("/proc/meminfo", "MemTotal");
        let kilobytes: u64 = memory.trim_end_matches(" kB").parse().unwrap_or_default();
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        Self {
            processor: after("/proc/cpuinfo", "model name"),
            processors: std::thread::available_parallelism().map_or(0, usize::from),
            memory_mib: kilobytes / 1024,
            kernel: rustix::system::uname()
                .release()
                .to_string_lossy()
                .into_owned(),
            redis: said("redis-server", &["--version"]),
            postgres: newest_postgres(),
            rustc: said("rustc", &["--version"]),
            commit: said(
                "git",
                &[
                    "-C",
                    env!("CARGO_MANIFEST_DIR"),
                    "describe",
                    "--always",
                    "--dirty",
                    "--exclude=*",
                ],
            ),
            load: load
                .split(' ')
                .next()
                .and_then(|text| text.parse().ok())
                .unwrap_or_default(),
        }
    }
}

/// The version that `dlock_test_servers` starts.
fn newest_postgres() -> String {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let newest = versions
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .max();
    match newest {
        Some(version) => said(
            &format!("/usr/lib/postgresql/{version}/bin/postgres"),
            &["--version"],
        ),
        None => said("postgres", &["--version"]),
    }
}

/// The first line of a program's output; empty if there is no such program.
pub(crate) fn said(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map_or_else(
        |_| String::new(),
        |output| {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            text.lines().next().unwrap_or_default().trim().to_owned()
        },
    )
}
