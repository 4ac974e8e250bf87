//! Three scenes between two clients, printed message by message as they actually happen: contention, a dead holder, and
//! a holder that was paused for too long.
//!
//! ```sh
//! cargo run -p dlock-examples --bin diagrams
//! cargo run -p dlock-examples --bin diagrams --features postgres -- --store postgres://localhost/mydb
//! ```

mod scenes;

use dlock_examples::Failure;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let store = dlock_examples::store()?;
    let provider = store.provider().await?;
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
