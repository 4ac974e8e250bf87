//! The mounts that this process sees, and the file systems that several machines may share: Linux.

#[cfg(test)]
mod tests;

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::Path,
};

use rustix::fs::{major, minor, statfs};

const MOUNTS: &str = "/proc/self/mountinfo";

const FUSE: i128 = 0x6573_5546;

/// File systems whose files several machines may write, by the number that statfs(2) returns: those
/// of linux/magic.h, of the manual page, and the remote ones of stat(1) in coreutils.
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

/// The mounts that this process sees, as the kernel writes them (`proc_pid_mountinfo(5)`).
pub(super) struct Mounts(Vec<u8>);

/// One mount: its path, its device, and the type of its file system.
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

    /// Whether something is mounted at this path, which follows no symbolic links.
    pub(super) fn contains(&self, path: &Path) -> bool {
        let path = path.as_os_str().as_bytes();
        self.iter().any(|mount| mount.point == path)
    }

    /// The file system of a file, if machines may share it.
    pub(super) fn shared_file_system(&self, path: &Path) -> io::Result<Option<String>> {
        // 32 bits, which some platforms take for a negative number.
        let magic = i128::from(statfs(path)?.f_type) & 0xffff_ffff;
        if magic == FUSE {
            return self.shared_fuse(fs::metadata(path)?.dev());
        }
        let known = SHARED.into_iter().find(|(shared, _)| *shared == magic);
        Ok(known.map(|(_, name)| name.to_owned()))
    }

    /// All programs that act as file systems have one number. Two of their types are local by
    /// nature: those on a disk of this machine, and the layers of a container.
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
