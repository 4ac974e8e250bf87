//! The memory and the processor time that a process has used, according to the kernel.

use std::{fs, time::Duration};

/// Bytes of memory that a process occupies; 0 if there is no such process.
pub(crate) fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kilobytes
        .and_then(|text| text.parse::<u64>().ok())
        .unwrap_or_default()
        * 1024
}

/// Processor time of a process and its children, in ticks of 10 ms.
pub(crate) fn family_time(pid: u32) -> Duration {
    let mut ticks = 0;
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(text) = fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        // The second field is a name in parentheses, which may contain any character.
        let Some((head, rest)) = text.rsplit_once(')') else {
            continue;
        };
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let number = |index: usize| fields.get(index).and_then(|text| text.parse::<u64>().ok());
        let own = head.split(' ').next() == Some(&pid.to_string());
        // After the name: state, parent, .., and from the 12th on the times: of the process in user
        // and in kernel mode, and of its ended children.
        if own || number(1) == Some(u64::from(pid)) {
            ticks += (11..15)
                .filter(|index| own || *index < 13)
                .filter_map(number)
                .sum::<u64>();
        }
    }
    Duration::from_millis(ticks * 10)
}
