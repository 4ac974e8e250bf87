//! The runtime releases leases that were dropped before the end of `main`, and the runtime ends there. So every program
//! closes its clients, and shows readers who copy from it to do so.

use std::{fs, path::Path};

#[test]
fn every_program_closes_its_clients() {
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bin");
    let mut open: Vec<String> = Vec::new();
    for program in fs::read_dir(programs).unwrap() {
        let program = program.unwrap();
        if !source(&program.path()).contains(".close().await") {
            open.push(program.file_name().into_string().unwrap());
        }
    }
    assert_eq!(open, [""; 0]);
}

/// The whole source of a program: it is a file or a folder, and may share `src/tasks` with others.
fn source(program: &Path) -> String {
    if program.is_file() {
        let text = fs::read_to_string(program).unwrap();
        let shared = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tasks");
        return match text.contains("tasks::{self, ") {
            true => text + &of_folder(&shared),
            false => text,
        };
    }
    of_folder(program)
}

fn of_folder(folder: &Path) -> String {
    let files = fs::read_dir(folder).unwrap();
    let files = files.map(|file| file.unwrap().path());
    files
        .filter(|file| file.extension().is_some_and(|end| end == "rs"))
        .map(|file| fs::read_to_string(file).unwrap())
        .collect()
}
