//! Follows every link of the rendered pages.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use crate::html;

/// The result of a check.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Links into the book or the repository.
    pub(crate) inside: usize,
    /// Links that were not followed.
    pub(crate) network: usize,
    /// One line for each link that leads nowhere.
    pub(crate) broken: Vec<String>,
}

/// Follows the links of all pages below this folder.
///
/// # Errors
/// A page cannot be read.
pub(crate) fn check(folder: &Path) -> io::Result<Report> {
    let folder = fs::canonicalize(folder)?;
    let mut report = Report::default();
    for file in pages(&folder)? {
        let page = fs::read_to_string(&file)?;
        if html::lacks_code(&page) {
            let name = file.strip_prefix(&folder).unwrap_or(&file);
            let what = "a block of code is empty: is what it includes there?";
            report.broken.push(format!("{}: {what}", name.display()));
        }
        for link in html::values(&page, "href").chain(html::values(&page, "src")) {
            if link.contains("://") || link.starts_with("mailto:") {
                report.network += 1;
                continue;
            }
            report.inside += 1;
            if let Err(why) = follow(&file, &page, &link) {
                let name = file.strip_prefix(&folder).unwrap_or(&file);
                report
                    .broken
                    .push(format!("{}: {link}: {why}", name.display()));
            }
        }
    }
    Ok(report)
}

/// The error says why a link leads nowhere.
fn follow(file: &Path, page: &str, link: &str) -> Result<(), &'static str> {
    let (path, anchor) = link
        .split_once('#')
        .map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    if path.is_empty() {
        return named(page, anchor);
    }
    let target = plain(&file.with_file_name("").join(path));
    if target
        .extension()
        .is_some_and(|extension| extension == "html")
        && target.is_file()
    {
        let page = fs::read_to_string(&target).map_err(|_| "cannot be read")?;
        return named(&page, anchor);
    }
    if target.exists() {
        Ok(())
    } else {
        Err("there is no such file")
    }
}

fn named(page: &str, anchor: Option<&str>) -> Result<(), &'static str> {
    match anchor {
        Some(anchor) if !html::values(page, "id").any(|id| id == anchor) => {
            Err("the page has no such heading")
        }
        _ => Ok(()),
    }
}

/// Resolves `..` textually: a path in a link has no symbolic links.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

fn pages(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(pages(&path)?);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "html")
        {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A book of two pages, the first of which has these links, and a file next to them.
    fn book(links: &str) -> io::Result<(tempfile::TempDir, PathBuf)> {
        let kept = tempfile::tempdir()?;
        let html = kept.path().join("html");
        fs::create_dir_all(html.join("src"))?;
        fs::write(html.join("src/lib.rs"), "")?;
        fs::write(html.join("two.html"), "<h1 id=\"two\">Two</h1>")?;
        fs::write(html.join("one.html"), links)?;
        Ok((kept, html))
    }

    #[test]
    fn links_that_lead_somewhere_are_counted() -> io::Result<()> {
        let (_kept, html) = book(
            r##"<h1 id="one">One</h1><a href="#one"><a href="two.html"><a href="two.html#two"><a href="src/lib.rs"><a href="https://example.com/">"##,
        )?;
        let report = check(&html)?;
        assert_eq!(report.broken, [""; 0]);
        assert_eq!((report.inside, report.network), (4, 1));
        Ok(())
    }

    #[test]
    fn links_that_lead_nowhere_are_told() -> io::Result<()> {
        let (_kept, html) = book(
            r##"<a href="#two"><a href="three.html"><a href="two.html#three"><a href="src/main.rs"><img src="four.svg">"##,
        )?;
        let report = check(&html)?;
        assert_eq!((report.inside, report.broken.len()), (5, 5), "{report:?}");
        Ok(())
    }
}
