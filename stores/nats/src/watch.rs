//! Wake-ups: a consumer of the stream, to which the server pushes the stored messages.

use std::{sync::atomic::Ordering, time::Duration};

use async_nats::{
    Client,
    jetstream::{
        self,
        consumer::{AckPolicy, Consumer, DeliverPolicy, Info, IntoConsumerConfig, push},
        response::Response,
    },
};
use dlock_cas::Hints;
use dlock_core::ProviderError;
use futures_util::StreamExt;
use serde_json::json;

use crate::{
    key,
    one_way::Suspicion,
    stream::{Stream, is_deletion},
};

/// How often the server says that nothing has happened. After twice this in silence, the consumer counts as gone.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// How long the server keeps a consumer whose client is gone.
const FORGOTTEN: Duration = Duration::from_secs(30);

/// How often it checks whether the connection is still that one. The client subscribes again on the next one, and does
/// not report it.
const LOOK: Duration = Duration::from_millis(200);

/// Begins to report changes of keys that start with this.
pub(crate) async fn open(stream: &Stream, prefix: &str, hints: Hints) -> Result<(), ProviderError> {
    let connects = stream.connects();
    let inbox = stream.client.new_inbox();
    // Named, so that the subject of the request contains the filter, for rights to match.
    let name = inbox.replace('.', "-");
    let filter = stream.subject(&key::filter(prefix));
    let part = format!(".{name}.{filter}");
    let config = push::Config {
        name: Some(name),
        deliver_subject: inbox,
        filter_subject: filter,
        deliver_policy: DeliverPolicy::New,
        ack_policy: AckPolicy::None,
        idle_heartbeat: HEARTBEAT,
        flow_control: true,
        inactive_threshold: FORGOTTEN,
        memory_storage: true,
        num_replicas: 1,
        ..push::Config::default()
    };
    let what =
        json!({ "stream_name": stream.name(), "config": config.clone().into_consumer_config() });
    let info = match stream
        .ask_about::<Info>("CONSUMER.CREATE", &part, &what)
        .await?
    {
        Response::Ok(info) => info,
        Response::Err { error } => return Err(stream.refused(error)),
    };
    // The server waits for the subscription before it pushes anything.
    let context = jetstream::new(stream.client.clone());
    let messages = Consumer::new(config, info, context).messages().await;
    let messages = messages.map_err(|error| {
        ProviderError::unknown("the connection to NATS is gone").with_source(error)
    })?;
    let suspicion = Suspicion {
        client: stream.client.clone(),
        // One of the subjects on which the server acknowledges flow; it uses none with so few parts.
        nobody: format!("$JS.FC.{}.question", stream.name()),
        calls: stream.calls.clone(),
    };
    let report = Report {
        client: stream.client.clone(),
        connects,
        entries: stream.subject(""),
        messages,
        hints,
    };
    tokio::spawn(async move {
        tokio::select! {
            () = report.run() => {}
            () = suspicion.run() => {}
        }
    });
    Ok(())
}

struct Report {
    client: Client,
    connects: u64,
    /// The common start of all subjects of the bucket.
    entries: String,
    messages: push::Messages,
    hints: Hints,
}

impl Report {
    /// Hints at changes until the channel breaks or no receiver is left.
    async fn run(mut self) {
        let mut last = 0;
        loop {
            tokio::select! {
                () = self.hints.closed() => return,
                () = tokio::time::sleep(LOOK) => {
                    let connects = self.client.statistics().connects.load(Ordering::Relaxed);
                    if connects != self.connects {
                        return;
                    }
                }
                message = self.messages.next() => match message {
                    Some(Ok(message)) if self.hint(&message, &mut last) => {}
                    _ => return,
                },
            }
        }
    }

    /// Whether to continue.
    fn hint(&self, message: &jetstream::Message, last: &mut u64) -> bool {
        let Ok(info) = message.info() else {
            return false;
        };
        // The client drops messages when it is too slow.
        if info.consumer_sequence != *last + 1 {
            return false;
        }
        *last = info.consumer_sequence;
        let entry = message.subject.strip_prefix(&*self.entries);
        let Some(key) = entry.and_then(key::decoded) else {
            return true;
        };
        let is_deleted = message.headers.as_ref().is_some_and(is_deletion);
        let bytes = (!is_deleted).then_some(&*message.payload);
        self.hints.changed(&key, bytes)
    }
}
