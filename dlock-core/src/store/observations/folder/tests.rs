//! What goes when there is no more room.

use tempfile::TempDir;

use super::*;

const HOUR: Duration = Duration::from_secs(3600);

/// A file that was last written so long ago.
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
