//! Three scenes between two clients, printed message by message as they really happen: contention,
//! a dead holder, and a holder that was paused for too long.
//!
//! ```sh
//! cargo run --example diagrams --features sqlite
//! ```

mod recorder;
mod scenes;

use std::error::Error;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let provider = dlock::sqlite::SqliteProvider::open(folder.path().join("locks.db"))?;
    for scene in [
        scenes::contention(&provider).await?,
        scenes::dead(&provider).await?,
        scenes::paused(&provider).await?,
    ] {
        println!("{}", scene.title);
        for line in scene.lines {
            println!("    {line}");
        }
        println!();
    }
    Ok(())
}
