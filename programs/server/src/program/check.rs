//! `dlock-server check`: everything but serving.

use std::io::Write;

use super::{
    failure::{Exit, Failure},
    run,
    settings::Plan,
    stores::{Found, HOW_TO_SERVE_TASKS, Stores},
};
use crate::listen::Tls;

pub(super) async fn check(plan: &Plan) -> Result<(), Failure> {
    if let Some(path) = &plan.tokens {
        run::rights(path)?;
    }
    if let Some(files) = plan.tls.clone() {
        Tls::open(files).map_err(run::no_tls)?;
    }
    let location = &plan.location;
    let store = if location.exists() {
        let mut stores = Stores::open(plan).await?;
        let found = stores.check().await?;
        let served = format!("{} of {location}", stores.serves());
        match found {
            Found::All => served,
            Found::NoQueue => format!("{served}\n  {HOW_TO_SERVE_TASKS}"),
        }
    } else {
        format!("locks and tasks of {location}, which is made at the first start")
    };
    let who = match (&plan.tokens, plan.is_open()) {
        (Some(path), _) => format!("those whom {} names", path.display()),
        (None, true) => "every program on this machine".to_owned(),
        (None, false) => "every client with a certificate".to_owned(),
    };
    let url = plan.url(plan.listen);
    let text = format!("would serve {store}\nat {url}\nto {who}\n");
    std::io::stdout()
        .write_all(text.as_bytes())
        .map_err(|error| {
            Failure::new(Exit::System, "can't write to standard output").because(&error)
        })
}
