//! What a process has cost so far, as Linux counts it; nothing elsewhere.

use std::{fs, time::Duration};

/// Linux counts a process's time in hundredths of a second, on every architecture, whatever the
/// kernel's own tick.
const TICK: Duration = Duration::from_millis(10);

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    pub(super) processor: Duration,
    /// In bytes.
    pub(super) memory: u64,
}

impl Cost {
    pub(super) fn now() -> Self {
        Self {
            processor: processor().unwrap_or_default(),
            memory: memory().unwrap_or_default(),
        }
    }
}

/// Time in user and system mode: the 14th and 15th field of `/proc/self/stat`, counted from behind
/// the program's name, which may hold anything.
fn processor() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let user: u32 = fields.next()?.parse().ok()?;
    let system: u32 = fields.next()?.parse().ok()?;
    Some(TICK * (user + system))
}

/// `VmRSS`, in kB.
fn memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn work_and_memory_are_counted() {
        let before = Cost::now();
        let block = vec![1_u8; 64 << 20];
        let mut sum = 0_u64;
        let after = loop {
            sum = block.iter().fold(sum, |sum, byte| sum + u64::from(*byte));
            let after = Cost::now();
            if after.processor >= before.processor + TICK {
                break after;
            }
        };
        assert!(sum > 0);
        assert!(
            after.memory >= before.memory + (60 << 20),
            "{before:?} {after:?}"
        );
    }
}
