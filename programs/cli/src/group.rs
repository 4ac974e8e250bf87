//! The command's process group: signals to it, and the processes left in it.
//!
//! A process that holds a [`Group`] has to keep its number from being reused: `dlock run` does by
//! not reaping the leader, the guard by its anchor.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// A process group that the command leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group(Pid);

impl Group {
    /// The group that this process leads; `None` for a number that no such group has.
    pub(crate) fn of_leader(leader: i32) -> Option<Self> {
        // To kill(2), 1 means every process (init's group, or all), and 0 our own group.
        if leader > 1 {
            Pid::from_raw(leader).map(Self)
        } else {
            None
        }
    }

    pub(crate) fn number(self) -> i32 {
        self.0.as_raw_pid()
    }

    pub(crate) const fn leader(self) -> Pid {
        self.0
    }

    /// Sends a signal to every member.
    pub(crate) fn signal(self, signal: Signal) {
        // It fails when no member is left, or none that we may signal (a command that has changed
        // its user); `living` distinguishes the two.
        kill_process_group(self.0, signal).ok();
    }

    /// TERM for every member, stopped ones too.
    pub(crate) fn terminate(self) {
        self.signal(Signal::TERM);
        // A stopped process does not see TERM until it is continued.
        self.signal(Signal::CONT);
    }

    /// KILL for every member, and for the leader should it have moved to another group. A member
    /// that forks in this moment does not get away: the kernel kills its child too, or fails the
    /// fork.
    pub(crate) fn kill(self) {
        self.signal(Signal::KILL);
        kill_process(self.0, Signal::KILL).ok();
    }

    /// The members that still run, zombies excepted. A member that forks during this call may hide
    /// its child; after [`Group::kill`] there are no more forks and the answer is exact.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(crate) fn living(self) -> Vec<i32> {
        let Ok(processes) = std::fs::read_dir("/proc") else {
            return Vec::new();
        };
        processes
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter(|process| linux::lives_in(*process, self.number()))
            .collect()
    }

    /// Unknown here: after the KILL no process is waited for.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub(crate) fn living(self) -> Vec<i32> {
        Vec::new()
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
mod linux {
    /// Whether the process is a member of the group and has not exited.
    pub(super) fn lives_in(process: i32, group: i32) -> bool {
        let Ok(stat) = std::fs::read(format!("/proc/{process}/stat")) else {
            return false;
        };
        match parse(&stat) {
            // A thread that began the process may end before the others do.
            Some((b'Z', of)) => of == group && threads(process) > 1,
            Some((b'X' | b'x', _)) | None => false,
            Some((_, of)) => of == group,
        }
    }

    /// State and group: the third and the fifth field. The second is a name in parentheses, which
    /// may contain any bytes.
    pub(super) fn parse(stat: &[u8]) -> Option<(u8, i32)> {
        let name_end = stat.iter().rposition(|byte| *byte == b')')?;
        let mut fields = std::str::from_utf8(stat.get(name_end + 1..)?)
            .ok()?
            .split_ascii_whitespace();
        let state = *fields.next()?.as_bytes().first()?;
        let group = fields.nth(1)?.parse().ok()?;
        Some((state, group))
    }

    fn threads(process: i32) -> usize {
        std::fs::read_dir(format!("/proc/{process}/task")).map_or(0, Iterator::count)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::{
        os::unix::process::CommandExt,
        process::{Command, Stdio},
    };

    use super::*;

    #[test]
    fn stat_line_is_read_behind_any_process_name() {
        assert_eq!(linux::parse(b"7 (sh) S 1 7 7 0"), Some((b'S', 7)));
        assert_eq!(linux::parse(b"7 (a) Z 9 9) R 1 12 7 0"), Some((b'R', 12)));
        assert_eq!(linux::parse(b"7 (\xff(\n) D 1 13 7 0"), Some((b'D', 13)));
        assert_eq!(linux::parse(b"7 sh S 1 7 7 0"), None);
        assert_eq!(linux::parse(b"7 (sh) S"), None);
    }

    #[test]
    fn numbers_with_a_meaning_of_their_own_are_no_groups() {
        for number in [i32::MIN, -7, -1, 0, 1] {
            assert_eq!(Group::of_leader(number), None, "{number}");
        }
    }

    #[test]
    fn killed_group_has_no_living_members_although_zombies_stay() {
        let mut leader = Command::new("sh")
            .args(["-c", "sleep 600 & sleep 600 & echo up; wait"])
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let group = Group::of_leader(i32::try_from(leader.id()).unwrap()).unwrap();
        std::io::Read::read_exact(leader.stdout.as_mut().unwrap(), &mut [0; 3]).unwrap();
        assert_eq!(group.living().len(), 3);
        group.kill();
        let mut looks = 0;
        while !group.living().is_empty() {
            looks += 1;
            assert!(looks < 1000, "still there: {:?}", group.living());
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        leader.wait().unwrap();
    }
}
