//! Credentials that follow the user's files. The SDK reads those once, so a program that runs for months would not learn
//! that its keys were rotated.

use std::{
    env, fmt, fs,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};

use aws_config::ConfigLoader;
use aws_credential_types::{
    Credentials,
    provider::{
        self, ProvideCredentials, SharedCredentialsProvider, error::CredentialsError, future,
    },
};
use tokio::sync::Mutex;

/// Credentials that expire within this time are fetched anew, as the SDK does it.
const EARLY: Duration = Duration::from_secs(10);

/// The files of the user's keys and profiles: the variable that names each, and its default in the home directory.
const FILES: [(&str, &str); 2] = [
    ("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials"),
    ("AWS_CONFIG_FILE", ".aws/config"),
];

/// Credentials of this process's surroundings, kept until they expire or the user's files change.
///
/// The first ones are fetched before any request: a request has a sixth of a lease, which may be less than the search
/// takes (a program that prompts the user, a role to assume). Later ones are fetched in a separate task, so that a
/// request that gives up does not restart the search.
#[derive(Clone)]
pub(super) struct Followed(Arc<Source>);

struct Source {
    /// Makes a chain that has read nothing yet.
    load: Box<dyn Fn() -> ConfigLoader + Send + Sync>,
    newest: Mutex<Fetched>,
}

struct Fetched {
    credentials: Credentials,
    chain: SharedCredentialsProvider,
    files: Files,
}

/// When each of the files was written, and its length; `None` for a missing file.
type Files = [Option<(SystemTime, u64)>; FILES.len()];

impl Followed {
    /// Fetches the first credentials.
    ///
    /// # Errors
    /// There are none, or they could not be fetched.
    pub(super) async fn new(
        load: impl Fn() -> ConfigLoader + Send + Sync + 'static,
    ) -> Result<Self, CredentialsError> {
        let first = fetched(load()).await?;
        Ok(Self(Arc::new(Source {
            load: Box::new(load),
            newest: Mutex::new(first),
        })))
    }

    async fn credentials(&self) -> provider::Result {
        let source = Arc::clone(&self.0);
        if let Ok(newest) = source.newest.try_lock()
            && newest.is_good()
        {
            return Ok(newest.credentials.clone());
        }
        let fetching = tokio::spawn(async move { source.refreshed().await });
        fetching
            .await
            .unwrap_or_else(|error| Err(CredentialsError::unhandled(error)))
    }
}

impl Source {
    /// The newest credentials, fetched if these are not good any more and no other request has fetched newer ones
    /// meanwhile.
    async fn refreshed(&self) -> provider::Result {
        let mut newest = self.newest.lock().await;
        if newest.is_good() {
            return Ok(newest.credentials.clone());
        }
        let found = if newest.files == files() {
            newest.chain.provide_credentials().await.map(|credentials| {
                newest.credentials = credentials;
            })
        } else {
            fetched((self.load)())
                .await
                .map(|fetched| *newest = fetched)
        };
        match found {
            Ok(()) => Ok(newest.credentials.clone()),
            // A file may be half written, for example: the former credentials serve until they expire, and each request
            // checks again.
            Err(_) if newest.lasts(Duration::ZERO) => Ok(newest.credentials.clone()),
            Err(error) => Err(error),
        }
    }
}

impl Fetched {
    fn is_good(&self) -> bool {
        self.lasts(EARLY) && self.files == files()
    }

    /// Whether they are still valid after this time, by the clock of this machine.
    #[expect(
        clippy::disallowed_methods,
        reason = "what issues credentials says when they expire by the wall clock"
    )]
    fn lasts(&self, time: Duration) -> bool {
        let end = SystemTime::now() + time;
        self.credentials.expiry().is_none_or(|expiry| expiry > end)
    }
}

/// The credentials that a new chain finds.
async fn fetched(loader: ConfigLoader) -> Result<Fetched, CredentialsError> {
    // Before the files are read: the next request notices a change in between.
    let files = files();
    let config = loader.load().await;
    let chain = config.credentials_provider().ok_or_else(|| {
        CredentialsError::not_loaded("there is nowhere to look for AWS credentials")
    })?;
    Ok(Fetched {
        credentials: chain.provide_credentials().await?,
        chain,
        files,
    })
}

/// Checks two local files, with each request.
fn files() -> Files {
    FILES.map(|(variable, otherwise)| {
        let home = || env::home_dir().map(|home| home.join(otherwise));
        let path = env::var_os(variable).map_or_else(home, |named| {
            let named = PathBuf::from(named);
            // As the SDK reads it.
            match named.strip_prefix("~") {
                Ok(inside) => Some(env::home_dir()?.join(inside)),
                Err(_) => Some(named),
            }
        });
        let found = fs::metadata(path?).ok()?;
        Some((found.modified().ok()?, found.len()))
    })
}

impl ProvideCredentials for Followed {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(self.credentials())
    }
}

impl fmt::Debug for Followed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Followed").finish_non_exhaustive()
    }
}
