//! The rendered pages: every link of each, followed.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

use crate::{html, markdown};

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Links into the book or the repository.
    pub(crate) inside: usize,
    /// Links that were not followed.
    pub(crate) network: usize,
    /// A line for each link that leads nowhere.
    pub(crate) broken: Vec<String>,
}

/// Follows the links of all pages below this folder, and puts those to Markdown pages of the repository right.
///
/// # Errors
/// A page cannot be read or written.
pub(crate) fn check(folder: &Path) -> io::Result<Report> {
    let folder = fs::canonicalize(folder)?;
    let mut report = Report::default();
    for file in pages(&folder)? {
        let mut page = fs::read_to_string(&file)?;
        if html::lacks_code(&page) {
            let name = file.strip_prefix(&folder).unwrap_or(&file);
            let what = "a block of code is empty: is what it includes there?";
            report.broken.push(format!("{}: {what}", name.display()));
        }
        for link in html::values(&page, "href")
            .chain(html::values(&page, "src"))
            .collect::<Vec<_>>()
        {
            if link.contains("://") || link.starts_with("mailto:") {
                report.network += 1;
                continue;
            }
            report.inside += 1;
            match follow(&file, &page, &link) {
                Found::Yes => {}
                Found::Markdown(right) => {
                    let (wrong, right) = (format!("\"{link}\""), format!("\"{right}\""));
                    page = page.replace(&wrong, &right);
                    fs::write(&file, &page)?;
                }
                Found::No(why) => {
                    let name = file.strip_prefix(&folder).unwrap_or(&file);
                    report
                        .broken
                        .push(format!("{}: {link}: {why}", name.display()));
                }
            }
        }
    }
    Ok(report)
}

enum Found {
    Yes,
    /// It is a Markdown page of the repository: the link that leads there.
    Markdown(String),
    No(&'static str),
}

fn follow(file: &Path, page: &str, link: &str) -> Found {
    let (path, anchor) = link
        .split_once('#')
        .map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    if path.is_empty() {
        return named(page, anchor);
    }
    let target = plain(&file.with_file_name("").join(path));
    let markdown = target.with_extension("md");
    match target.extension().and_then(|extension| extension.to_str()) {
        Some("html") if target.is_file() => match fs::read_to_string(&target) {
            Ok(page) => named(&page, anchor),
            Err(_) => Found::No("cannot be read"),
        },
        Some("html" | "md") if markdown.is_file() => {
            let anchors = markdown::anchors(&fs::read_to_string(&markdown).unwrap_or_default());
            if anchor.is_some_and(|anchor| !anchors.contains(anchor)) {
                return Found::No("the page has no such heading");
            }
            let path = path.strip_suffix(".html").map(|path| format!("{path}.md"));
            path.map_or(Found::Yes, |path| {
                Found::Markdown(anchor.map_or(path.clone(), |anchor| format!("{path}#{anchor}")))
            })
        }
        _ if target.exists() => Found::Yes,
        _ => Found::No("there is no such file"),
    }
}

fn named(page: &str, anchor: Option<&str>) -> Found {
    match anchor {
        Some(anchor) if !html::values(page, "id").any(|id| id == anchor) => {
            Found::No("the page has no such heading")
        }
        _ => Found::Yes,
    }
}

/// Without `..`, by words alone: a link is no symbolic link.
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

    /// A repository with a page of its own and a book of two pages, the first of which has these links.
    fn book(links: &str) -> io::Result<(tempfile::TempDir, PathBuf)> {
        let repository = tempfile::tempdir()?;
        let html = repository.path().join("book/html");
        fs::create_dir_all(&html)?;
        fs::write(repository.path().join("README.md"), "# Read me\n")?;
        fs::write(html.join("two.html"), "<h1 id=\"two\">Two</h1>")?;
        fs::write(html.join("one.html"), links)?;
        Ok((repository, html))
    }

    #[test]
    fn links_that_lead_somewhere_are_counted() -> io::Result<()> {
        let (_kept, html) = book(
            r##"<h1 id="one">One</h1><a href="#one"><a href="two.html"><a href="two.html#two"><a href="https://example.com/">"##,
        )?;
        let report = check(&html)?;
        assert_eq!(report.broken, [""; 0]);
        assert_eq!((report.inside, report.network), (3, 1));
        Ok(())
    }

    #[test]
    fn links_that_lead_nowhere_are_told() -> io::Result<()> {
        let (_kept, html) = book(
            r##"<a href="#two"><a href="three.html"><a href="two.html#three"><a href="../../README.html#three"><img src="four.svg">"##,
        )?;
        let report = check(&html)?;
        assert_eq!((report.inside, report.broken.len()), (5, 5), "{report:?}");
        Ok(())
    }

    #[test]
    fn links_to_pages_of_the_repository_are_put_right() -> io::Result<()> {
        let (_kept, html) =
            book(r#"<a href="../../README.html#read-me">, <a href="../../README.html">"#)?;
        assert_eq!(check(&html)?.broken, [""; 0]);
        let page = fs::read_to_string(html.join("one.html"))?;
        assert_eq!(
            page,
            r#"<a href="../../README.md#read-me">, <a href="../../README.md">"#
        );
        Ok(())
    }
}
