//! How long a page of a list is searched for among rows that it does not show.

use std::time::Duration;

use tokio::time::Instant;

/// The most calls of the store for a page that has a row.
const CALLS: usize = 10;

/// How long the first row of a page is searched for. Rows not found by then are left to the next page.
const LONGEST: Duration = Duration::from_secs(2);

/// A page being searched for, call by call.
#[derive(Debug)]
pub(crate) struct Search {
    began: Instant,
    calls: usize,
}

impl Search {
    pub(crate) fn new() -> Self {
        Self {
            began: Instant::now(),
            calls: 0,
        }
    }

    /// Whether to call the store once more; `found`: whether the page has a row.
    pub(crate) fn continues(&mut self, found: bool) -> bool {
        self.calls += 1;
        self.calls <= CALLS || (!found && self.began.elapsed() < LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn page_without_a_row_is_looked_for_longer() {
        let mut search = Search::new();
        for _ in 0..100 {
            assert!(search.continues(false));
        }
        assert!(!search.continues(true));
        advance(LONGEST).await;
        assert!(!search.continues(false));
        let mut slow = Search::new();
        for _ in 0..CALLS {
            assert!(slow.continues(true));
            advance(LONGEST).await;
        }
        assert!(!slow.continues(false));
    }
}
