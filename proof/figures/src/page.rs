//! The pages that show figures.

use std::{error::Error, fs, path::Path};

use crate::{Kept, show};

/// What shows the figures of a part in a page.
type Show = fn(&Kept) -> Result<String, Box<dyn Error>>;

/// One place of a page, and what it shows.
#[derive(Debug)]
#[non_exhaustive]
pub struct Page {
    /// Below the workspace.
    pub file: &'static str,
    /// The part whose figures stand there.
    pub part: &'static str,
    show: Show,
}

const fn page(file: &'static str, part: &'static str, show: Show) -> Page {
    Page { file, part, show }
}

/// Every place.
pub const PAGES: &[Page] = &[
    page("RELIABILITY.md", "suite", show::suite),
    page("RELIABILITY.md", "simulation", show::simulation),
    page("RELIABILITY.md", "chaos", show::chaos),
    page("RELIABILITY.md", "model", show::model),
    page("RELIABILITY.md", "cancelling", show::cancelling),
    page("RELIABILITY.md", "planted", show::planted),
    page("RELIABILITY.md", "operators", show::operators),
    page("proof/model/README.md", "model", show::configurations),
];

impl Page {
    /// The text of the page, with what the data say at this place. Without data it stays as it is.
    ///
    /// # Errors
    /// There are no marks, or the data are not what they should be.
    pub fn filled(&self, workspace: &Path, text: &str) -> Result<String, Box<dyn Error>> {
        let Some(kept) = Kept::read(workspace, self.part)? else {
            return Ok(text.to_owned());
        };
        let shown = (self.show)(&kept).map_err(|error| format!("{}: {error}", self.part))?;
        let (begin, end) = (
            format!("<!-- figures: {} -->\n", self.part),
            "<!-- end of figures -->",
        );
        let lacks = || format!("{} lacks the marks of {}", self.file, self.part);
        let (before, rest) = text.split_once(&begin).ok_or_else(lacks)?;
        let (_, after) = rest.split_once(end).ok_or_else(lacks)?;
        Ok(format!("{before}{begin}{shown}{end}{after}"))
    }

    /// Writes them into the file.
    ///
    /// # Errors
    /// Those of [`Page::filled`]; a file that cannot be read or written.
    pub fn fill(&self, workspace: &Path) -> Result<(), Box<dyn Error>> {
        let path = workspace.join(self.file);
        let filled = self.filled(workspace, &fs::read_to_string(&path)?)?;
        Ok(fs::write(path, filled)?)
    }
}
