//! A store that is compatible with DynamoDB, for tests: `dynoxide`, which runs inside this process
//! and needs nothing installed.

use std::{
    io::{self, Error},
    sync::mpsc,
    thread,
};

pub use dynoxide;
use dynoxide::{Database, server};
use tokio::{net::TcpListener, runtime};

/// Starts a new store in memory. Returns the URL of its endpoint, and its contents. It ends with this
/// process.
///
/// # Errors
/// If there is no port, no thread or no memory for it.
pub fn dynamodb() -> io::Result<(String, Database)> {
    let database = Database::memory().map_err(Error::other)?;
    let served = database.clone();
    let (sender, started) = mpsc::channel();
    // On a separate runtime: those of the tests come and go.
    thread::Builder::new().spawn(move || {
        let runtime = runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build();
        let served = runtime.and_then(|runtime| {
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await?;
                // The caller that started it may have gone.
                drop(sender.send(listener.local_addr()));
                server::serve_on(listener, served).await;
                Ok(())
            })
        });
        if let Err(error) = served {
            drop(sender.send(Err(error)));
        }
    })?;
    let address = started.recv().map_err(Error::other)??;
    Ok((format!("http://{address}"), database))
}
