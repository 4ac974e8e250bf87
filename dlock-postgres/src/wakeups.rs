//! Wake-ups: one connection in addition to the pool, which receives the notifications of releases, and of transactions
//! that enqueue tasks.
//!
//! The stream ends when the connection does, and when it falls silent: the session is queried again and again whether
//! it listens. The frontend opens it anew, and then wakes every waiter.

mod hints;

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use deadpool_postgres::tokio_postgres::{
    AsyncMessage, Client, Config, Error, Socket,
    tls::{MakeTlsConnect, TlsConnect},
    types::{ToSql, Type},
};
use dlock_core::{
    ProviderError,
    provider::{Wakeup, WakeupSender, Wakeups},
};
use tokio::time::{Instant, sleep_until, timeout};

pub(crate) use self::hints::Hints;
use crate::error;

/// How many hints may wait for the frontend. If more arrive the stream ends, which wakes every waiter.
const ROOM: usize = 1024;
const STILL_LISTENS: &str =
    "SELECT FROM pg_catalog.pg_listening_channels() AS c WHERE c OPERATOR(pg_catalog.=) $1";

/// Opens a connection of our own. This hides the user's connector, whose type no other code needs to know.
pub(crate) type Connect = Arc<dyn Fn() -> Opening + Send + Sync>;
type Opening = Pin<Box<dyn Future<Output = Result<(Client, Messages), Error>> + Send>>;
/// The messages that a server sends unrequested; polling for them is what drives the connection.
type Messages =
    Box<dyn FnMut(&mut Context<'_>) -> Poll<Option<Result<AsyncMessage, Error>>> + Send>;

/// The hint in the text of a notification; `None` if it is not ours.
pub(crate) type Read = Box<dyn Fn(&str) -> Option<Wakeup> + Send + Sync>;

/// The parameters of a channel.
pub(crate) struct Listen<'a> {
    pub(crate) channel: &'a str,
    pub(crate) read: Read,
    /// How long opening it and each answer may take.
    pub(crate) limit: Duration,
    /// How long the session may be silent before it is queried whether it still listens.
    pub(crate) ask_every: Duration,
}

/// How to open connections with these settings.
pub(crate) fn connector(
    config: Config,
    tls: impl MakeTlsConnect<
        Socket,
        Stream: Send + 'static,
        TlsConnect: TlsConnect<Socket, Future: Send> + Send,
    > + Clone
    + Send
    + Sync
    + 'static,
) -> Connect {
    Arc::new(move || {
        let (config, tls) = (config.clone(), tls.clone());
        Box::pin(async move {
            let (client, mut connection) = config.connect(tls).await?;
            let messages: Messages = Box::new(move |context| connection.poll_message(context));
            Ok((client, messages))
        })
    })
}

/// Opens the channel. When this returns the server has confirmed that the session listens.
///
/// # Errors
/// Nothing was applied, whichever error it is.
///
/// # Cancel safety
/// Until it returns nothing runs but this future; dropping it closes the connection.
pub(crate) async fn open(connect: &Connect, listen: Listen<'_>) -> Result<Wakeups, ProviderError> {
    let Listen {
        channel,
        read,
        limit,
        ask_every,
    } = listen;
    let (sender, wakeups) = Wakeups::channel(ROOM);
    let opening = async {
        let (client, messages) = connect().await.map_err(error::no_channel)?;
        let mut channel = Channel {
            client,
            name: channel.to_owned(),
            inbox: Inbox {
                messages,
                sender,
                read,
            },
        };
        channel.listen().await?;
        Ok(channel)
    };
    match timeout(limit, opening).await {
        Ok(channel) => tokio::spawn(channel?.attend(limit, ask_every)),
        Err(_) => return Err(error::timed_out(false, limit)),
    };
    Ok(wakeups)
}

/// An open connection that listens.
struct Channel {
    client: Client,
    name: String,
    inbox: Inbox,
}

/// The receiving half.
struct Inbox {
    messages: Messages,
    sender: WakeupSender,
    read: Read,
}

impl Channel {
    async fn listen(&mut self) -> Result<(), ProviderError> {
        let Self {
            client,
            inbox,
            name,
        } = self;
        let listen = format!("LISTEN \"{name}\"");
        inbox.until(client.batch_execute(&listen)).await?;
        self.check().await
    }

    /// Queries whether the session listens. One that a pooler lends to others may not.
    async fn check(&mut self) -> Result<(), ProviderError> {
        let Self {
            client,
            inbox,
            name,
        } = self;
        let parameters: [(&(dyn ToSql + Sync), Type); 1] = [(name, Type::TEXT)];
        let asked = client.query_typed(STILL_LISTENS, &parameters);
        if inbox.until(asked).await?.is_empty() {
            return Err(error::deaf());
        }
        Ok(())
    }

    /// Passes hints on until the receiver is gone or nothing arrives any more. Ends with its runtime, and the
    /// connection with it.
    async fn attend(mut self, limit: Duration, ask_every: Duration) {
        let sender = self.inbox.sender.clone();
        let ended = tokio::select! {
            biased;
            () = sender.closed() => return,
            ended = self.pass_on(limit, ask_every) => ended,
        };
        tracing::debug!(
            error = &ended as &dyn std::error::Error,
            "the channel for wake-ups ended"
        );
    }

    async fn pass_on(&mut self, limit: Duration, ask_every: Duration) -> ProviderError {
        let mut ask_at = Instant::now() + ask_every;
        loop {
            tokio::select! {
                biased;
                message = next(&mut self.inbox.messages) => {
                    if let Err(ended) = self.inbox.pass(message) {
                        return ended;
                    }
                }
                () = sleep_until(ask_at) => match timeout(limit, self.check()).await {
                    Ok(Ok(())) => {}
                    Ok(Err(ended)) => return ended,
                    Err(_) => return error::silent(limit),
                },
            }
            ask_at = Instant::now() + ask_every;
        }
    }
}

impl Inbox {
    /// Waits for an answer; it drives the connection, and passes on the hints that arrive meanwhile.
    async fn until<T>(
        &mut self,
        answer: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, ProviderError> {
        let mut answer = pin!(answer);
        loop {
            tokio::select! {
                biased;
                answer = &mut answer => return answer.map_err(error::no_channel),
                message = next(&mut self.messages) => self.pass(message)?,
            }
        }
    }

    fn pass(&self, message: Option<Result<AsyncMessage, Error>>) -> Result<(), ProviderError> {
        let hint = match message {
            Some(Ok(AsyncMessage::Notification(hint))) => hint,
            // Notices.
            Some(Ok(_)) => return Ok(()),
            Some(Err(error)) => return Err(error::no_channel(error)),
            None => return Err(error::channel_closed()),
        };
        match (self.read)(hint.payload()).map(|wakeup| self.sender.send(wakeup)) {
            Some(false) => Err(error::too_many_hints()),
            _ => Ok(()),
        }
    }
}

async fn next(messages: &mut Messages) -> Option<Result<AsyncMessage, Error>> {
    poll_fn(|context| messages(context)).await
}
