//! A file system in user space with one empty directory: just enough for an opening to examine. The
//! numbers are those of linux/fuse.h, version 7.31.

use std::{
    fs::File,
    io::{ErrorKind, Read, Write},
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

const LOOKUP: u32 = 1;
const FORGET: u32 = 2;
const GETATTR: u32 = 3;
const STATFS: u32 = 17;
const INIT: u32 = 26;
const INTERRUPT: u32 = 36;
const BATCH_FORGET: u32 = 42;

const NOT_FOUND: i32 = -2;
const NOT_IMPLEMENTED: i32 = -38;
const DIRECTORY: u32 = 0o040_755;

/// Mounts it here as this type, and serves it for as long as this process lives.
pub(super) fn mount(at: &Path, kind: &str) {
    const DEVICE: &str = "/dev/fuse";
    let device = File::options()
        .read(true)
        .write(true)
        .open(DEVICE)
        .unwrap_or_else(|error| {
            panic!(
                "this test needs {DEVICE}: {error}; load the module `fuse`, or pass the device to the container"
            )
        });
    let mut mount = Command::new("mount")
        .args(["-i", "-t", kind, "-o"])
        .args(["fd=0,rootmode=40000,user_id=0,group_id=0", "none"])
        .arg(at)
        .stdin(Stdio::from(device.try_clone().unwrap()))
        .spawn()
        .unwrap();
    thread::spawn(move || serve(device));
    assert!(mount.wait().unwrap().success());
}

fn serve(mut device: File) {
    let mut request = vec![0; 1 << 17];
    loop {
        match device.read(&mut request) {
            Ok(_) => {}
            // Nothing is mounted yet.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                thread::sleep(Duration::from_millis(1));
                continue;
            }
            Err(error) => panic!("no request: {error}"),
        }
        let word = |at: usize| u32::from_ne_bytes(request[at..at + 4].try_into().unwrap());
        let (error, body) = match word(4) {
            FORGET | BATCH_FORGET | INTERRUPT => continue,
            INIT => {
                let mut body = vec![0; 64];
                put(&mut body, 0, 7); // major
                put(&mut body, 4, 31); // minor
                put(&mut body, 20, 4096); // max_write
                put(&mut body, 24, 1); // time_gran
                (0, body)
            }
            GETATTR => {
                let mut body = vec![0; 104];
                put(&mut body, 16, 1); // inode
                put(&mut body, 76, DIRECTORY); // mode
                put(&mut body, 80, 2); // nlink
                (0, body)
            }
            STATFS => (0, vec![0; 80]),
            LOOKUP => (NOT_FOUND, Vec::new()),
            _ => (NOT_IMPLEMENTED, Vec::new()),
        };
        let length = u32::try_from(16 + body.len()).unwrap();
        let mut reply = length.to_ne_bytes().to_vec();
        reply.extend(error.to_ne_bytes());
        reply.extend(&request[8..16]);
        reply.extend(body);
        device.write_all(&reply).unwrap();
    }
}

fn put(body: &mut [u8], at: usize, word: u32) {
    body[at..at + 4].copy_from_slice(&word.to_ne_bytes());
}
