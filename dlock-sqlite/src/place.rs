//! Whether everybody who opens a lock file meets there.
//!
//! SQLite keeps the log and the index of a database beside it, by its name, and processes share the
//! index through the memory of one machine. A file that is mounted by itself is the same file under
//! another name, without its companions; a network file system is shared by machines, but their
//! memory is not. In both cases nothing fails, and a lock has two holders.
//!
//! Leaves to others: a file with several links (`files.rs`), which `stat` tells.

use std::path::Path;

use crate::error::OpenError;

/// Refuses a file that is a mount point, and one on a file system that several machines may share
/// unless `any_file_system`. A file that is missing will lie in its directory.
#[cfg(target_os = "linux")]
pub(crate) fn check(path: &Path, any_file_system: bool) -> Result<(), OpenError> {
    use std::io::ErrorKind::NotFound;

    let other = |error: std::io::Error| OpenError::Other {
        path: path.to_owned(),
        source: Box::new(error),
    };
    // SQLite follows symbolic links, and keeps the companions beside what they lead to.
    let place = match path.canonicalize() {
        Err(error) if error.kind() == NotFound => {
            match path.parent().map(Path::canonicalize).transpose() {
                Ok(Some(directory)) => directory,
                Err(error) if error.kind() != NotFound => return Err(other(error)),
                // Opening tells what is missing.
                _ => return Ok(()),
            }
        }
        place => place.map_err(other)?,
    };
    let mounts = linux::Mounts::read().map_err(other)?;
    if !place.is_dir() && mounts.contains(&place) {
        return Err(OpenError::MountPoint {
            path: path.to_owned(),
        });
    }
    if any_file_system {
        return Ok(());
    }
    match mounts.shared_file_system(&place).map_err(other)? {
        Some(kind) => Err(OpenError::FileSystem {
            path: path.to_owned(),
            kind,
        }),
        None => Ok(()),
    }
}

/// Other systems tell this in other ways, which nobody has tried.
#[cfg(not(target_os = "linux"))]
pub(crate) fn check(_: &Path, _: bool) -> Result<(), OpenError> {
    Ok(())
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{
        ffi::OsStr,
        fs, io,
        os::unix::{ffi::OsStrExt, fs::MetadataExt},
        path::Path,
    };

    use rustix::fs::{major, minor, statfs};

    const MOUNTS: &str = "/proc/self/mountinfo";

    const FUSE: i128 = 0x6573_5546;

    /// File systems whose files several machines may write, by the number that statfs(2) tells:
    /// those of linux/magic.h, of the manual page, and the remote ones of stat(1) in coreutils.
    const SHARED: [(i128, &str); 25] = [
        (0x6969, "NFS"),
        (0x517b, "SMB"),
        (0xff53_4d42, "CIFS"),
        (0xfe53_4d42, "SMB2"),
        (0x564c, "NCP"),
        (0x0102_1997, "9p"),
        (0x5346_414f, "AFS"),
        (0x6b41_4653, "AFS"),
        (0x7375_7245, "Coda"),
        (0x00c3_6400, "Ceph"),
        (0x0bd0_0bd0, "Lustre"),
        (0x4750_4653, "GPFS"),
        (0x0116_1970, "GFS2"),
        (0x7461_636f, "OCFS2"),
        (0x1983_0326, "BeeGFS"),
        (0x2003_0528, "OrangeFS"),
        (0xaad7_aaea, "PanFS"),
        (0x6163_6673, "ACFS"),
        (0x0131_11a8, "IBRIX"),
        (0xa501_fcf5, "VxFS"),
        (0xbeef_dead, "StorNext"),
        (0x00c0_ffee, "hostfs"),
        (0xbacb_acbc, "a folder that VMware shares"),
        (0x786f_4256, "a folder that VirtualBox shares"),
        (0x7c7c_6673, "a folder that Parallels shares"),
    ];

    /// What this process sees mounted, as the kernel writes it (`proc_pid_mountinfo(5)`).
    pub(super) struct Mounts(Vec<u8>);

    /// One mount: where, of which device, and the type of its file system.
    #[derive(Debug, PartialEq, Eq)]
    struct Mount<'m> {
        device: &'m [u8],
        point: Vec<u8>,
        kind: &'m [u8],
    }

    impl Mounts {
        pub(super) fn read() -> io::Result<Self> {
            fs::read(MOUNTS).map(Self)
        }

        /// Something is mounted at this path, which follows no symbolic links.
        pub(super) fn contains(&self, path: &Path) -> bool {
            let path = path.as_os_str().as_bytes();
            self.iter().any(|mount| mount.point == path)
        }

        /// The file system that a file lies on, if machines may share it.
        pub(super) fn shared_file_system(&self, path: &Path) -> io::Result<Option<String>> {
            // 32 bits, which some platforms take for a negative number.
            let magic = i128::from(statfs(path)?.f_type) & 0xffff_ffff;
            if magic == FUSE {
                return self.shared_fuse(fs::metadata(path)?.dev());
            }
            let known = SHARED.into_iter().find(|(shared, _)| *shared == magic);
            Ok(known.map(|(_, name)| name.to_owned()))
        }

        /// One number stands for all programs that are file systems. Two types of them are local by
        /// what they are: those on a disk of this machine, and the layers of a container.
        fn shared_fuse(&self, device: u64) -> io::Result<Option<String>> {
            let device = format!("{}:{}", major(device), minor(device));
            let mount = self.iter().find(|mount| mount.device == device.as_bytes());
            let kind = mount.map_or(&b"fuse"[..], |mount| mount.kind);
            Ok(match kind {
                b"fuseblk" | b"fuse.fuse-overlayfs" => None,
                kind => Some(format!("FUSE ({})", OsStr::from_bytes(kind).display())),
            })
        }

        fn iter(&self) -> impl Iterator<Item = Mount<'_>> {
            self.0.split(|byte| *byte == b'\n').filter_map(Mount::parse)
        }
    }

    impl<'m> Mount<'m> {
        /// `id parent MAJOR:MINOR root POINT options [tag..] - TYPE source options`
        fn parse(line: &'m [u8]) -> Option<Self> {
            let mut fields = line.split(|byte| *byte == b' ');
            let device = fields.nth(2)?;
            let point = unescape(fields.nth(1)?);
            let kind = fields.skip_while(|field| field != b"-").nth(1)?;
            Some(Self {
                device,
                point,
                kind,
            })
        }
    }

    /// The kernel writes a space, a line's end and a backslash as `\` and three octal digits.
    fn unescape(text: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(text.len());
        let mut rest = text;
        while let Some((first, after)) = rest.split_first() {
            let digits = after
                .get(..3)
                .and_then(|digits| str::from_utf8(digits).ok())
                .and_then(|digits| u8::from_str_radix(digits, 8).ok());
            match digits {
                Some(byte) if *first == b'\\' => {
                    bytes.push(byte);
                    rest = &after[3..];
                }
                _ => {
                    bytes.push(*first);
                    rest = after;
                }
            }
        }
        bytes
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        const TABLE: &str = r"22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
36 22 0:31 / /mnt/my\040files\134n rw master:1 shared:7 - fuse.sshfs me@host: rw
37 22 8:1 / /mnt/stick rw - fuseblk /dev/sda1 rw
38 22 0:40 / /var/lib/box/merged rw - fuse.fuse-overlayfs fuse-overlayfs rw
39 22 0:41 / /host rw - virtiofs tag rw
40 22 254:0 /srv/a\012b /home/locks.db rw - ext4 /dev/vda rw
";

        fn mounts() -> Mounts {
            Mounts(TABLE.into())
        }

        #[test]
        fn mount_points_are_found_under_their_real_names() {
            for point in ["/", "/mnt/my files\\n", "/home/locks.db"] {
                assert!(mounts().contains(Path::new(point)), "{point}");
            }
            for other in ["/home", "/srv/a\nb", "/mnt", "/home/locks.db-wal", ""] {
                assert!(!mounts().contains(Path::new(other)), "{other}");
            }
        }

        #[test]
        fn a_line_of_the_table_that_is_none_is_left_out() {
            for line in ["", " ", "1 2 3", "22 1 254:0 / / rw,relatime - "] {
                assert!(
                    Mounts(line.into())
                        .iter()
                        .all(|mount| mount.kind.is_empty()),
                    "{line}"
                );
            }
        }

        #[test]
        fn programs_that_are_file_systems_are_told_apart_by_their_type() {
            let kind = |minor| {
                let device = rustix::fs::makedev(0, minor);
                mounts().shared_fuse(device).unwrap()
            };
            assert_eq!(kind(31).as_deref(), Some("FUSE (fuse.sshfs)"));
            assert_eq!(kind(41).as_deref(), Some("FUSE (virtiofs)"));
            assert_eq!(kind(40), None);
            assert_eq!(
                mounts().shared_fuse(rustix::fs::makedev(8, 1)).unwrap(),
                None
            );
            // One that nobody knows is not believed to be local.
            assert_eq!(kind(99).as_deref(), Some("FUSE (fuse)"));
        }

        #[test]
        fn a_directory_of_this_machine_is_not_shared() {
            let here = tempfile::tempdir().unwrap();
            let mounts = Mounts::read().unwrap();
            assert_eq!(mounts.shared_file_system(here.path()).unwrap(), None);
            assert!(mounts.contains(Path::new("/")) && mounts.contains(Path::new("/proc")));
            assert!(!mounts.contains(here.path()));
        }
    }
}
