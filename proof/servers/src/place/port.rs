//! A port for one server. The system gives a free port to each process that asks, and gives it again until a
//! server listens on it: two tests that start at the same time could get the same one, and the test whose server
//! came too late would find the other's. So a port is claimed by a lock on a file, also beside tests of other
//! processes.

use std::{
    fs::{self, File, TryLockError},
    io,
    net::{Ipv4Addr, TcpListener},
    path::PathBuf,
};

/// Claimed until this value is dropped.
#[derive(Debug)]
pub(super) struct Port {
    number: u16,
    path: PathBuf,
    _claim: File,
}

impl Port {
    /// A free port that nobody has claimed.
    pub(super) fn claim() -> io::Result<Self> {
        loop {
            let number = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
                .local_addr()?
                .port();
            let path = std::env::temp_dir().join(format!("dlock-port-{number}"));
            let claim = match File::create(&path) {
                Ok(file) => file,
                // Another user has claimed it.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => continue,
                Err(error) => return Err(error),
            };
            match claim.try_lock() {
                Ok(()) => {
                    return Ok(Self {
                        number,
                        path,
                        _claim: claim,
                    });
                }
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }

    pub(super) const fn number(&self) -> u16 {
        self.number
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        // Before the lock on it ends.
        drop(fs::remove_file(&self.path));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The system alone repeats itself: nothing listens on any of them.
    #[test]
    fn claimed_ports_differ() -> io::Result<()> {
        let ports: Vec<Port> = (0..500).map(|_| Port::claim()).collect::<io::Result<_>>()?;
        let numbers: BTreeSet<u16> = ports.iter().map(Port::number).collect();
        assert_eq!(numbers.len(), ports.len());
        let paths: Vec<PathBuf> = ports.iter().map(|port| port.path.clone()).collect();
        drop(ports);
        assert!(paths.iter().all(|path| !path.exists()));
        Ok(())
    }
}
