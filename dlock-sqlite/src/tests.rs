//! Cases that only the crate's inside can reach: clocks set by hand, and a disk that is full on
//! command.

mod purge;
mod terms;
mod wakeups;

use std::time::Duration;

use dlock_core::{
    ErrorKind, FencingToken, Name, Record,
    provider::{Acquire, AcquireOutcome, List, Prefix, Release, Renew, RenewOutcome, Version},
};
use tempfile::TempDir;
use uuid::Uuid;

use crate::{
    admin,
    boot_id::BootId,
    clock::{Now, StoreClock},
    key::Key,
    requests,
    store::Store,
    synchronous::Synchronous,
};

const D: Duration = Duration::from_secs(10);
const D_NANOS: i64 = 10_000_000_000;
const DAY_NANOS: i64 = 24 * 60 * 60 * 1_000_000_000;
const DAY_MICROS: u64 = 24 * 60 * 60 * 1_000_000;
const YEAR_MICROS: u64 = 365 * DAY_MICROS;
/// A day of 2026.
const TODAY: u64 = 1_790_000_000_000_000;

struct Bench {
    store: Store,
    clock: StoreClock,
    prefix: Prefix,
    _directory: TempDir,
}

impl Bench {
    /// A new file on a clock that shows one hour since boot.
    fn new() -> Self {
        Self::on(BootId::Kernel(Uuid::new_v4()))
    }

    fn on(boot: BootId) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let clock = StoreClock::manual(
            boot,
            Now {
                instant: 3_600_000_000_000,
                unix_micros: TODAY,
            },
        );
        let store = Store::open(
            &directory.path().join("l.db"),
            Synchronous::Normal,
            Duration::from_millis(100),
            false,
        )
        .unwrap();
        Self {
            store: store.with_clock(clock.clone()),
            clock,
            prefix: Prefix::default(),
            _directory: directory,
        }
    }

    /// Another process reads the file, which counts its time under this boot.
    fn under(self, boot: BootId) -> Self {
        let clock = StoreClock::manual(boot, self.clock.now());
        Self {
            store: self.store.with_clock(clock.clone()),
            clock,
            ..self
        }
    }

    /// Restarts the machine: another boot, `uptime` nanoseconds ago.
    fn reboot(self, uptime: i64) -> Self {
        let bench = self.under(BootId::Kernel(Uuid::new_v4()));
        bench.clock.set(|now| now.instant = uptime);
        bench
    }

    fn pass(&self, nanos: i64) {
        self.clock.set(|now| now.instant += nanos);
    }

    fn key(&self, name: &str) -> Key {
        Key::new(&self.prefix, &Name::new(name).unwrap()).unwrap()
    }

    fn acquire(&mut self, request: &Acquire) -> Result<AcquireOutcome, ErrorKind> {
        let key = self.key(request.name.as_str());
        requests::acquire(&mut self.store, &key, request).map_err(|error| error.kind())
    }

    fn take(&mut self, name: &str) -> (Uuid, FencingToken) {
        let request = request(name);
        match self.acquire(&request) {
            Ok(AcquireOutcome::Acquired(tokens)) => (request.new, tokens.last()),
            other => panic!("{other:?}"),
        }
    }

    fn refused(&mut self, name: &str) -> Record {
        match self.acquire(&request(name)) {
            Ok(AcquireOutcome::Held(record)) => record,
            other => panic!("{other:?}"),
        }
    }

    fn renew(&mut self, name: &str, uuid: Uuid, n: u64) -> RenewOutcome {
        let key = self.key(name);
        let request = Renew::new(Name::new(name).unwrap(), uuid, n);
        self.store
            .write(|_| None, |view| requests::renew(view, &key, &request))
            .unwrap()
    }

    fn release(&mut self, name: &str, uuid: Uuid) {
        let key = self.key(name);
        let request = Release::new(Name::new(name).unwrap(), uuid, None);
        self.store
            .write(|_| None, |view| requests::release(view, &key, &request))
            .unwrap();
    }

    fn purge(&mut self) -> u64 {
        let prefix = self.prefix.clone();
        self.store
            .write(|_| None, |view| admin::purge(view, &prefix, usize::MAX))
            .unwrap()
    }

    fn names(&self) -> Vec<String> {
        let page = self
            .store
            .read(|view| admin::list(view, &self.prefix, &List::new("")))
            .unwrap();
        page.records
            .iter()
            .map(|(name, _)| name.to_string())
            .collect()
    }
}

fn request(name: &str) -> Acquire {
    Acquire::new(Name::new(name).unwrap(), Uuid::new_v4(), D)
}

#[test]
fn a_full_disk_loses_nothing_and_says_what_to_do() {
    let mut bench = Bench::new();
    let (uuid, _) = bench.take("before");
    let pages: i64 = bench
        .store
        .connection()
        .query_row("PRAGMA page_count", [], |row| row.get(0))
        .unwrap();
    let limit = |bench: &Bench, pages: i64| {
        bench
            .store
            .connection()
            .query_row(&format!("PRAGMA max_page_count = {pages}"), [], |row| {
                row.get::<_, i64>(0)
            })
            .unwrap()
    };
    assert_eq!(limit(&bench, pages), pages);

    let big = |name: &str| request(name).data(Some(vec![7; Record::MAX_DATA]));
    let key = bench.key("too much");
    let error = requests::acquire(&mut bench.store, &key, &big("too much")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotApplied);
    assert!(error.to_string().contains("free space"), "{error}");
    assert_eq!(bench.names(), ["before"], "nothing half-written");
    // A takeover that does not fit on the disk leaves the old record whole.
    bench.pass(D_NANOS);
    assert_eq!(bench.acquire(&big("before")), Err(ErrorKind::NotApplied));
    let key = bench.key("before");
    assert_eq!(
        bench
            .store
            .read(|view| requests::read(view, &key))
            .unwrap()
            .unwrap()
            .uuid,
        uuid
    );
    // Calls that need no room still work, and so does every call once there is some.
    bench.release("before", uuid);
    limit(&bench, pages + 100);
    assert!(matches!(
        bench.acquire(&big("too much")),
        Ok(AcquireOutcome::Acquired(_))
    ));
}
