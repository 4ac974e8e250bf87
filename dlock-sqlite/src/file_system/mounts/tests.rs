//! A table of mounts as the kernel writes it.

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
    // An unknown one is not assumed to be local.
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
