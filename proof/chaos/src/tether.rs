//! A process that ends with the process that started it: however that one ends, the pipe between them closes.

use std::{
    io::{self, Read},
    process, thread,
};

use tokio::sync::watch;

use crate::{cli::Failure, limits::GOODBYE};

/// Becomes true when the standard input closes. A process that hangs then ends all the same.
pub(crate) fn until_let_go() -> watch::Receiver<bool> {
    let (gone, let_go) = watch::channel(false);
    thread::spawn(move || {
        let mut byte = [0];
        while matches!(io::stdin().read(&mut byte), Ok(1..)) {}
        gone.send_replace(true);
        thread::sleep(GOODBYE);
        eprintln!("it hangs");
        process::exit(3);
    });
    let_go
}

/// Does the work, and abandons it when the process that started this one is gone, if it is tethered to that.
pub(crate) async fn tethered<T>(
    tethered: bool,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    if !tethered {
        return work.await;
    }
    let mut let_go = until_let_go();
    tokio::select! {
        done = work => done,
        _ = let_go.wait_for(|gone| *gone) => Err("its starter is gone".into()),
    }
}
