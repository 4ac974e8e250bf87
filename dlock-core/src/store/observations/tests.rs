//! Files and folders, past any store: what counts, what does not, and what a folder costs at most.

use std::{fs, io, path::PathBuf, time::Instant};

use tempfile::TempDir;
use uuid::Uuid;

use super::{sight::Damaged, *};
use crate::{provider::Version, testing::ManualClock};

const ORIGIN: &str = "a boot";

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn version(renewals: u64) -> Version {
    Version {
        uuid: Uuid::from_u128(7),
        renewals,
    }
}

fn sight(renewals: u64, first: ContenderInstant) -> Sight {
    Sight {
        version: version(renewals),
        first,
    }
}

/// A folder, and a clock that has run for an hour.
struct Scene {
    place: TempDir,
    folder: Folder,
    clock: Clock,
    hand: ManualClock,
}

impl Scene {
    fn new() -> Self {
        let place = TempDir::new().unwrap();
        let folder = Folder::new(place.path().to_owned(), "a store".into());
        let (clock, hand) = Clock::manual();
        hand.advance(Duration::from_secs(3600));
        Self {
            place,
            folder,
            clock,
            hand,
        }
    }

    /// Sees this version now: the instant that is kept, as a reading of the clock.
    fn sees(&self, renewals: u64) -> io::Result<i64> {
        let seen = sight(renewals, self.clock.contender_now());
        let kept = self.folder.exchange(&self.clock, &name("door"), seen)?;
        Ok(kept.readings().0)
    }

    fn now(&self) -> i64 {
        self.clock.contender_now().readings().0
    }

    fn files(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.place.path()).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    fn file(&self) -> PathBuf {
        let files = self.files();
        assert_eq!(files.len(), 1, "{files:?}");
        files.into_iter().next().unwrap()
    }
}

#[test]
fn first_sight_of_a_version_stays() {
    let scene = Scene::new();
    let first = scene.now();
    for _ in 0..3 {
        assert_eq!(scene.sees(4).unwrap(), first);
        scene.hand.advance(Duration::from_secs(1));
    }
    let next = scene.now();
    assert_eq!(scene.sees(5).unwrap(), next);
    scene.hand.advance(Duration::from_secs(1));
    assert_eq!(scene.sees(5).unwrap(), next);
    let back = scene.now();
    assert_eq!(scene.sees(4).unwrap(), back);
    scene.file();
}

#[test]
fn text_says_what_was_seen_whatever_the_name() {
    let longest = "\u{1}".repeat(Name::MAX_BYTES);
    for name in ["door", "two\nlines \"sum 0\"", "schlüssel", &longest] {
        let lock = format!("{:?} {name:?}", "a store");
        let seen = sight(u64::MAX, ContenderInstant::at(i64::MAX, 0));
        let text = seen.render(&lock, ORIGIN);
        let read = Sight::parse(&text, &lock, ORIGIN).unwrap().unwrap();
        assert_eq!(read.version, seen.version);
        assert_eq!(read.first.readings(), (i64::MAX, 0));
        for (lock, origin) in [("\"b store\" \"door\"", ORIGIN), (&lock, "b boot")] {
            assert!(Sight::parse(&text, lock, origin).unwrap().is_none());
        }
    }
}

#[test]
fn text_with_any_damage_counts_for_nothing() {
    let lock = "\"a store\" \"door\"";
    let text = sight(12, ContenderInstant::at(345, 678)).render(lock, ORIGIN);
    let damaged = |text: &str| {
        let read = Sight::parse(text, lock, ORIGIN);
        assert!(matches!(read, Err(Damaged)), "{text}: {read:?}");
    };
    for at in 0..text.len() {
        damaged(&text[..at]);
        damaged(&[&text[..at], &text[at + 1..]].concat());
        for other in ['0', '1', ' ', '\n', 'x'] {
            if !text[at..].starts_with(other) {
                damaged(&format!("{}{other}{}", &text[..at], &text[at + 1..]));
            }
        }
    }
    damaged(&format!("{text}\n"));
    damaged(&format!("{text}{text}"));
}

#[test]
fn instant_in_the_future_counts_for_nothing() {
    let scene = Scene::new();
    let (hour, later) = (scene.now(), scene.now() + 1);
    for first in [
        ContenderInstant::at(later, hour),
        ContenderInstant::at(hour, later),
    ] {
        scene.sees(1).unwrap();
        let lock = "\"a store\" \"door\"";
        let text = sight(1, first).render(lock, &scene.clock.origin().unwrap());
        fs::write(scene.file(), text).unwrap();
        assert_eq!(scene.sees(1).unwrap(), hour);
    }
}

#[test]
fn damaged_file_is_replaced() {
    let scene = Scene::new();
    let enormous = vec![b'x'; 1 << 20];
    for garbage in [&b""[..], b"dlock observation 1\n", b"\xff\xfe", &enormous] {
        scene.sees(1).unwrap();
        fs::write(scene.file(), garbage).unwrap();
        scene.hand.advance(Duration::from_secs(1));
        let now = scene.now();
        assert_eq!(scene.sees(1).unwrap(), now);
        scene.hand.advance(Duration::from_secs(1));
        assert_eq!(scene.sees(1).unwrap(), now, "it was not replaced");
    }
}

/// Whatever keeps it from being read, it is not ours to replace.
#[cfg(unix)]
#[test]
fn file_that_cannot_be_read_stays() {
    let scene = Scene::new();
    scene.sees(1).unwrap();
    let file = scene.file();
    fs::remove_file(&file).unwrap();
    // A link to itself.
    std::os::unix::fs::symlink(&file, &file).unwrap();
    scene.sees(1).unwrap_err();
    assert!(fs::symlink_metadata(&file).unwrap().is_symlink());
}

#[test]
fn stores_do_not_meet() {
    let mut scene = Scene::new();
    let first = scene.sees(1).unwrap();
    scene.hand.advance(Duration::from_secs(1));
    scene.folder = Folder::new(scene.place.path().to_owned(), "b store".into());
    let now = scene.now();
    assert_eq!(scene.sees(1).unwrap(), now);
    assert_eq!(scene.files().len(), 2);
    scene.folder = Folder::new(scene.place.path().to_owned(), "a store".into());
    assert_eq!(scene.sees(1).unwrap(), first);
}

#[test]
fn files_are_bounded_and_foreign_ones_stay() {
    let scene = Scene::new();
    let foreign = ["readme", "x.seen.txt", ".seen"].map(|name| scene.place.path().join(name));
    for file in &foreign {
        fs::write(file, "foreign").unwrap();
    }
    let seen = sight(1, scene.clock.contender_now());
    let mut most = 0;
    for lock in 0..2 * folder::MOST {
        let lock = name(&format!("door {lock}"));
        scene.folder.exchange(&scene.clock, &lock, seen).unwrap();
        if lock.as_str().ends_with("00") {
            most = most.max(scene.files().len());
        }
    }
    assert!(most > folder::MOST / 2, "{most}");
    assert!(most <= folder::MOST + foreign.len(), "{most}");
    assert!(foreign.iter().all(|file| file.exists()));
}

#[test]
fn folder_of_everybody_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let scene = Scene::new();
    fs::set_permissions(scene.place.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    let error = scene.sees(1).unwrap_err().to_string();
    assert!(error.contains("everybody may write"), "{error}");
    assert!(scene.files().is_empty());
}

#[cfg(target_os = "linux")]
#[test]
fn file_system_that_may_be_shared_is_refused() {
    let error = folder::local("/proc".as_ref()).unwrap_err().to_string();
    assert!(error.contains("0x9fa0"), "{error}");
}

#[test]
fn folder_is_made_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let mut scene = Scene::new();
    let path = scene.place.path().join("made/for us");
    scene.folder = Folder::new(path.clone(), "a store".into());
    scene.sees(1).unwrap();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o700);
    let file = fs::read_dir(&path).unwrap().next().unwrap().unwrap();
    assert_eq!(mode(&file.path()), 0o600);
}

#[test]
fn only_clones_of_a_manual_clock_have_its_origin() {
    let (clock, _hand) = Clock::manual();
    let (other, _hand) = Clock::manual();
    assert_eq!(clock.origin().unwrap(), clock.clone().origin().unwrap());
    assert_ne!(clock.origin().unwrap(), other.origin().unwrap());
    assert!(Clock::tokio(1.0).origin().is_err());
}

#[cfg(target_os = "linux")]
#[test]
fn origin_of_the_system_is_this_boot() {
    let origin = Clock::system().origin().unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    assert!(origin.starts_with(boot.trim()), "{origin}");
    assert_eq!(origin, Clock::system().origin().unwrap());
}

/// A file that nobody writes to: reading it takes for ever.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn folder_that_hangs_costs_one_wait_and_one_thread() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    let scene = Scene::new();
    scene.sees(1).unwrap();
    let file = scene.file();
    fs::remove_file(&file).unwrap();
    let mode = Mode::from_raw_mode(0o600);
    mknodat(CWD, &file, FileType::Fifo, mode, 0).unwrap();

    let clock = Clock::system();
    let observations = Observations::new(scene.place.path().to_owned(), "a store".into());
    let (limit, seen) = (Duration::from_millis(50), sight(1, clock.contender_now()));
    let door = name("door");
    let ask = |limit| observations.exchange(&clock, &door, seen.version, seen.first, limit);
    assert!(ask(limit).await.is_none());
    #[expect(clippy::disallowed_methods, reason = "the test's own time")]
    let began = Instant::now();
    for _ in 0..200 {
        assert!(ask(limit).await.is_none());
    }
    assert!(began.elapsed() < 100 * limit, "each waited anew");
    assert_eq!(observations.turn.available_permits(), 0);

    // It comes back.
    drop(fs::OpenOptions::new().write(true).open(&file).unwrap());
    let turn = Arc::clone(&observations.turn).acquire_owned();
    let turn = tokio::time::timeout(Duration::from_secs(20), turn).await;
    drop(turn.unwrap().unwrap());
    let long = Duration::from_secs(20);
    let kept = ask(long).await;
    assert_eq!(kept.unwrap().readings(), seen.first.readings());
}
