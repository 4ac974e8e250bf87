//! Checks the links of the rendered book: `dlock-book-links HTML`, where HTML is the folder that mdBook wrote.
//!
//! A link to a page must find the page, and its heading if it names one; any other link into the book must find the
//! file. Links to the network are counted but not followed. A block of code must not be empty.

mod book;
mod html;

use std::{path::Path, process::ExitCode};

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("usage: dlock-book-links HTML");
        return ExitCode::from(2);
    };
    match book::check(Path::new(&folder)) {
        Ok(report) if report.broken.is_empty() && report.inside > 0 => {
            println!(
                "{} links into the book, all lead somewhere; {} into the network were not looked at",
                report.inside, report.network
            );
            ExitCode::SUCCESS
        }
        Ok(report) => {
            for broken in &report.broken {
                eprintln!("{broken}");
            }
            eprintln!(
                "{} of these, in {} links",
                report.broken.len(),
                report.inside
            );
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{}: {error}", folder.to_string_lossy());
            ExitCode::FAILURE
        }
    }
}
