//! Rows of tasks, read on a blocking thread if they are large. A payload may have 256 KiB and a page a thousand tasks;
//! a thread of the runtime that read them would run no other task for seconds, not even a renewal.

use deadpool_postgres::tokio_postgres::Row;
use dlock_core::ProviderError;
use tokio::task::spawn_blocking;
use tracing::Span;

/// The limit in bytes beyond which rows are large: one large payload is, a claim of a hundred small tasks is not.
const LARGE: usize = 64 * 1024;

/// The result of `read` on the rows.
///
/// # Errors
/// `Unknown` if the runtime stops before they are read.
///
/// # Cancel safety
/// The rows are read to their end, and the result of `read` is dropped.
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
