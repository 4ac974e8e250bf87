//! The files that a folder keeps, those that it refuses, and those that it deletes when it has no more room.

use tempfile::TempDir;

use super::*;

const TEXT: &str = "dlock observation 1\n";

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

/// A folder of one store, and the place on the disk.
fn scene() -> (TempDir, ObservationFolder) {
    let place = TempDir::new().unwrap();
    let folder = ObservationFolder::new(place.path(), "a store");
    (place, folder)
}

fn files(place: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(place).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn last_text_stays_whatever_the_name() {
    let (place, folder) = scene();
    let longest = "\u{1}".repeat(Name::MAX_BYTES);
    for name in ["door", "two\nlines \"sum 0\"", "schlüssel", &longest].map(name) {
        assert_eq!(folder.load(&name).unwrap(), None);
        for text in ["a text\n", TEXT] {
            folder.store(&name, text).unwrap();
            assert_eq!(folder.load(&name).unwrap().as_deref(), Some(text));
        }
    }
    assert_eq!(files(place.path()).len(), 4);
}

#[test]
fn damaged_file_is_replaced() {
    let (place, folder) = scene();
    let (door, enormous) = (name("door"), vec![b'x'; 1 << 20]);
    for garbage in [&b""[..], b"dlock observation 1\n", b"\xff\xfe", &enormous] {
        folder.store(&door, TEXT).unwrap();
        fs::write(&files(place.path())[0], garbage).unwrap();
        assert_eq!(folder.load(&door).unwrap(), None);
        folder.store(&door, TEXT).unwrap();
        assert_eq!(folder.load(&door).unwrap().as_deref(), Some(TEXT));
    }
}

/// Another lock's file of the same hash counts for nothing.
#[test]
fn file_of_another_lock_is_not_this_ones() {
    let (_place, folder) = scene();
    let (door, gate) = (name("door"), name("gate"));
    folder.store(&door, TEXT).unwrap();
    fs::copy(folder.file(&door).0, folder.file(&gate).0).unwrap();
    assert_eq!(folder.load(&gate).unwrap(), None);
}

/// A link to itself.
#[cfg(unix)]
#[test]
fn file_that_cannot_be_read_is_an_error() {
    let (_place, folder) = scene();
    let (file, _) = folder.file(&name("door"));
    std::os::unix::fs::symlink(&file, &file).unwrap();
    folder.load(&name("door")).unwrap_err();
}

#[test]
fn stores_do_not_meet() {
    let (place, folder) = scene();
    folder.store(&name("door"), TEXT).unwrap();
    let other = ObservationFolder::new(place.path(), "b store");
    assert_eq!(other.load(&name("door")).unwrap(), None);
    other.store(&name("door"), "another").unwrap();
    assert_eq!(files(place.path()).len(), 2);
    assert_eq!(folder.load(&name("door")).unwrap().as_deref(), Some(TEXT));
}

#[test]
fn files_are_bounded_and_foreign_ones_stay() {
    let (place, folder) = scene();
    let foreign = ["readme", "x.seen.txt", ".seen"].map(|name| place.path().join(name));
    for file in &foreign {
        fs::write(file, "foreign").unwrap();
    }
    let mut most = 0;
    for lock in 0..2 * MOST {
        let lock = name(&format!("door {lock}"));
        folder.store(&lock, TEXT).unwrap();
        if lock.as_str().ends_with("00") {
            most = most.max(files(place.path()).len());
        }
    }
    assert!(most > MOST / 2, "{most}");
    assert!(most <= MOST + foreign.len(), "{most}");
    assert!(foreign.iter().all(|file| file.exists()));
}

#[cfg(unix)]
#[test]
fn folder_of_everybody_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let (place, folder) = scene();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    let error = folder.store(&name("door"), TEXT).unwrap_err().to_string();
    assert!(error.contains("any user may write"), "{error}");
    folder.load(&name("door")).unwrap_err();
    assert!(files(place.path()).is_empty());
}

#[cfg(target_os = "linux")]
#[test]
fn file_system_that_may_be_shared_is_refused() {
    let error = local("/proc".as_ref()).unwrap_err().to_string();
    assert!(error.contains("0x9fa0"), "{error}");
}

#[cfg(unix)]
#[test]
fn folder_is_made_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let (place, _) = scene();
    let path = place.path().join("made/for us");
    let folder = ObservationFolder::new(&path, "a store");
    folder.store(&name("door"), TEXT).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o700);
    assert_eq!(mode(&files(&path)[0]), 0o600);
}

const HOUR: Duration = Duration::from_secs(3600);

/// A file of this age.
fn file(folder: &Path, name: &str, age: Duration) -> PathBuf {
    let path = folder.join(name);
    let file = fs::File::create(&path).unwrap();
    #[expect(clippy::disallowed_methods, reason = "the file system's time")]
    let now = SystemTime::now();
    file.set_modified(now - age).unwrap();
    path
}

#[test]
fn oldest_quarter_goes_once_the_folder_is_full() {
    let place = TempDir::new().unwrap();
    let folder = place.path();
    // The first ones are the oldest, whatever their names.
    let mut files: Vec<PathBuf> = (0..MOST)
        .map(|number| {
            let age = u32::try_from(MOST - number).unwrap();
            file(
                folder,
                &format!("{:03x}.seen", number * 7 % MOST),
                age * HOUR,
            )
        })
        .collect();
    let newest = files.pop().unwrap();
    fs::remove_file(&newest).unwrap();
    prune(folder).unwrap();
    assert!(files.iter().all(|file| file.exists()), "there was room");

    files.push(file(folder, "newest.seen", Duration::ZERO));
    prune(folder).unwrap();
    let (gone, kept) = files.split_at(MOST / 4);
    assert!(gone.iter().all(|file| !file.exists()));
    assert!(kept.iter().all(|file| file.exists()));
}

#[test]
fn unfinished_file_goes_when_its_writer_must_be_dead() {
    let place = TempDir::new().unwrap();
    let old = file(place.path(), "old.seen-tmp", ABANDONED + HOUR);
    let new = file(place.path(), "new.seen-tmp", ABANDONED / 2);
    prune(place.path()).unwrap();
    assert!(!old.exists());
    assert!(new.exists());
}

#[test]
fn file_that_is_gone_already_was_removed_and_one_that_stays_was_not() {
    let place = TempDir::new().unwrap();
    remove(&place.path().join("gone.seen")).unwrap();
    let folder = place.path().join("folder.seen");
    fs::create_dir(&folder).unwrap();
    assert!(remove(&folder).is_err());
}
