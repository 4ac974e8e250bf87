//! Parses just enough HTML to find links and their targets in mdBook's output.

/// The values of an attribute, in the order of the page, entities resolved.
pub(crate) fn values<'a>(page: &'a str, attribute: &str) -> impl Iterator<Item = String> + use<'a> {
    let opening = format!(" {attribute}=\"");
    tags(page).flat_map(move |tag| {
        let found: Vec<String> = tag
            .match_indices(&opening)
            .filter_map(|(at, _)| tag[at + opening.len()..].split('"').next())
            .map(|value| value.replace("&amp;", "&"))
            .collect();
        found
    })
}

/// Whether a block of code is empty, or shows the directive that should have included it: mdBook continues if a file or
/// a part of it is missing.
pub(crate) fn lacks_code(page: &str) -> bool {
    page.split("<code class=\"language-").skip(1).any(|block| {
        let code = block.split_once('>').map_or("", |(_, rest)| rest);
        let code = code.split("</code>").next().unwrap_or_default();
        code.trim().is_empty() || code.contains("{{#include")
    })
}

/// The texts between `<` and `>`. Code that shows HTML is escaped, so it has no tags; a script may contain some, and
/// counts as one text up to its end.
fn tags(page: &str) -> impl Iterator<Item = &str> {
    let mut rest = page;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once('<')?;
        let (tag, after) = after.split_once('>')?;
        rest = match tag.starts_with("script") {
            true => after.split_once("</script").map_or("", |(_, after)| after),
            false => after,
        };
        Some(tag)
    })
}

#[cfg(test)]
mod tests {
    use super::{lacks_code, values};

    #[test]
    fn code_that_was_not_included_is_noticed() {
        let block = |code: &str| format!("<pre><code class=\"language-rust\">{code}</code></pre>");
        assert!(!lacks_code(&block("fn main() {}")));
        assert!(lacks_code(&(block("fn main() {}") + &block("\n"))));
        assert!(lacks_code(&block("{{#include ../gone.rs}}")));
    }

    #[test]
    fn values_are_those_of_tags_alone() {
        let page = r#"<a class="x" href="one.html?a=1&amp;b=2">href="text"</a>
            <script>let tag = '<a href="no">';</script><h2 id="words"><a href="two">..</a></h2>"#;
        let links: Vec<String> = values(page, "href").collect();
        assert_eq!(links, ["one.html?a=1&b=2", "two"]);
        assert_eq!(values(page, "id").collect::<Vec<_>>(), ["words"]);
    }
}
