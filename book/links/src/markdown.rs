//! The headings of a Markdown page of the repository, as links name them.

use std::collections::HashSet;

/// The anchors of all headings of a page, as code forges make them.
pub(crate) fn anchors(page: &str) -> HashSet<String> {
    let mut fenced = false;
    let mut found = HashSet::new();
    for line in page.lines() {
        fenced ^= line.starts_with("```");
        let title = line.trim_start_matches('#');
        if !fenced && title.len() < line.len() && title.starts_with(' ') {
            found.insert(anchor(title.trim()));
        }
    }
    found
}

/// Lower case, blanks as hyphens, and nothing else but letters, digits, hyphens and underscores.
fn anchor(title: &str) -> String {
    title
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            '-' | '_' => Some(c),
            c if c.is_alphanumeric() => Some(c),
            _ => None,
        })
        .flat_map(char::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_become_anchors() {
        let page =
            "# One page\n```sh\n# a comment\n```\n## `/api`: the sample's way\ntext\n#hash\n";
        let expected = ["one-page", "api-the-samples-way"].map(str::to_owned);
        assert_eq!(anchors(page), HashSet::from(expected));
    }
}
