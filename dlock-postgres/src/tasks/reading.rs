//! Rows of tasks, read on a thread of their own where they are large. A payload may have a megabyte and a page a thousand
//! tasks; the thread of a runtime that read them would let nothing else run for seconds, no renewal either.

use deadpool_postgres::tokio_postgres::Row;
use dlock_core::ProviderError;
use tokio::task::spawn_blocking;
use tracing::Span;

/// Rows of more bytes than that are large. A thread of the runtime reads so many in under a millisecond.
const LARGE: usize = 64 * 1024;

/// What `read` makes of the rows.
///
/// # Errors
/// `Unknown` if the runtime stops before they are read.
pub(super) async fn off_the_runtime<T: Send + 'static>(
    rows: Vec<Row>,
    read: impl FnOnce(&[Row]) -> T + Send + 'static,
) -> Result<T, ProviderError> {
    if rows.iter().map(Row::raw_size_bytes).sum::<usize>() <= LARGE {
        return Ok(read(&rows));
    }
    let span = Span::current();
    let answer = spawn_blocking(move || span.in_scope(|| read(&rows)));
    answer.await.map_err(|error| {
        ProviderError::unknown("the answer was not read to its end").with_source(error)
    })
}
