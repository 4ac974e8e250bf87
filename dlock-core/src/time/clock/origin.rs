//! The origin of a clock: readings of two processes can be compared only if it is the same.

use std::io;

/// The origin of the system's clocks: which boot, and by how much this process's time namespace shifts them. Read
/// anew each time, since a process may be moved with its memory.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn of_the_system() -> io::Result<String> {
    use std::fs::{read_link, read_to_string};

    const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";
    const OFFSETS: &str = "/proc/self/timens_offsets";

    let boot = read_to_string(BOOT_ID)?;
    let boot = uuid::Uuid::try_parse(boot.trim()).map_err(io::Error::other)?;
    let offsets = match read_to_string(OFFSETS) {
        Ok(text) => text,
        // A kernel without time namespaces shifts nothing.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(boot.to_string()),
        Err(error) => return Err(error),
    };
    // The offsets are those of the children's namespace.
    if read_link("/proc/self/ns/time")? != read_link("/proc/self/ns/time_for_children")? {
        return Err(io::Error::other(
            "this process is not in the time namespace of its children, and the system reports only the offsets of that one",
        ));
    }
    let offsets: Vec<&str> = offsets.split_whitespace().collect();
    Ok(format!("{boot} {}", offsets.join(" ")))
}

/// One boot cannot be distinguished from another.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn of_the_system() -> io::Result<String> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "this system does not report which boot its clocks count from",
    ))
}
