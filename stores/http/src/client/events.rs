//! Server-sent events, as wake-ups. (WHATWG HTML, section 9.2: lines of `field: value`, an empty line ends an
//! event, a colon begins a comment.)

use std::time::Duration;

use dlock_core::{
    Name, ProviderError,
    provider::{Wakeup, WakeupSender, Wakeups},
};
use futures_util::StreamExt;
use reqwest::{Method, RequestBuilder, Response, StatusCode, header::ACCEPT};
use tokio::time::timeout;

use super::server::Server;
use crate::leases::Hint;

/// How many unread hints may wait.
const ROOM: usize = 1_024;
/// A server shows that it is alive every 10 s. One that is silent for this long is gone.
const SILENCE: Duration = Duration::from_secs(30);
/// The longest line that is kept: a name has 1,024 bytes at most, and escapes make six of one.
const LONGEST_LINE: usize = 16 * 1024;

/// Opens the stream of hints that names may be free. It ends when the connection does.
pub(super) async fn leases(server: &Server) -> Result<Wakeups, ProviderError> {
    let response = open(server, "leases/watch", &[]).await?;
    if response.status() != StatusCode::OK {
        return Err(without_stream(response.status()));
    }
    Ok(pass_on(response, ROOM, WakeupSender::send))
}

/// Opens the stream of hints that there may be tasks, limited by `query`. `None` if the server has none.
pub(super) async fn tasks(
    server: &Server,
    query: &[(&str, &str)],
) -> Result<Option<Wakeups>, ProviderError> {
    let response = open(server, "tasks/events", query).await?;
    match response.status() {
        StatusCode::OK => {}
        StatusCode::NOT_FOUND => return Ok(None),
        status => return Err(without_stream(status)),
    }
    // One unread hint stands for all that follow.
    let send = |sender: &WakeupSender, hint| sender.is_full() || sender.send(hint);
    Ok(Some(pass_on(response, 1, send)))
}

async fn open(
    server: &Server,
    rest: &str,
    query: &[(&str, &str)],
) -> Result<Response, ProviderError> {
    let fill = |request: RequestBuilder| request.header(ACCEPT, "text/event-stream").query(query);
    server.send(Method::GET, &server.path(rest), fill).await
}

fn without_stream(status: StatusCode) -> ProviderError {
    ProviderError::not_applied(format!(
        "the server has no stream of hints: it answered {status}"
    ))
}

/// Hands a hint over; `false` ends the stream.
type Send = fn(&WakeupSender, Wakeup) -> bool;

fn pass_on(response: Response, room: usize, send: Send) -> Wakeups {
    let (sender, wakeups) = Wakeups::channel(room);
    drop(tokio::spawn(async move {
        tokio::select! {
            () = pump(response, &sender, send) => {}
            () = sender.closed() => {}
        }
    }));
    wakeups
}

/// Passes hints on until the stream ends or is silent for too long.
async fn pump(response: Response, sender: &WakeupSender, send: Send) {
    let mut parts = response.bytes_stream();
    let mut events = Events::default();
    while let Ok(Some(Ok(part))) = timeout(SILENCE, parts.next()).await {
        for &byte in &*part {
            if let Some(wakeup) = events.push(byte)
                && !send(sender, wakeup)
            {
                return;
            }
        }
    }
}

/// The event that is being read.
#[derive(Debug, Default)]
struct Events {
    line: Vec<u8>,
    event: String,
    data: String,
}

impl Events {
    /// One more byte; the hint of an event that it completes.
    fn push(&mut self, byte: u8) -> Option<Wakeup> {
        if byte != b'\n' {
            if self.line.len() < LONGEST_LINE {
                self.line.push(byte);
            }
            return None;
        }
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let line = line.strip_suffix('\r').unwrap_or(&line);
        if line.is_empty() {
            let Self { event, data, .. } = std::mem::take(self);
            return hint(&event, &data);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event),
            "data" => self.data.push_str(value),
            _ => {}
        }
        None
    }
}

/// The meaning of an event. An unreadable `free` may be of any name.
fn hint(event: &str, data: &str) -> Option<Wakeup> {
    let named = |data| {
        let Hint { name } = serde_json::from_str(data).ok()?;
        Name::new(name).ok()
    };
    match event {
        "free" => Some(named(data).map_or(Wakeup::Everyone, Wakeup::Name)),
        "everyone" | "tasks" => Some(Wakeup::Everyone),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Wakeup> {
        let mut events = Events::default();
        text.bytes().filter_map(|byte| events.push(byte)).collect()
    }

    #[test]
    fn events_are_read_and_the_rest_is_passed_over() {
        let door = || Wakeup::Name(Name::new("a door").unwrap());
        assert_eq!(
            read("event: free\ndata: {\"name\":\"a door\"}\n\n"),
            [door()]
        );
        assert_eq!(
            read("event:free\r\ndata:{\"name\":\"a door\"}\r\n\r\n"),
            [door()]
        );
        assert_eq!(read("event: everyone\ndata: {}\n\n"), [Wakeup::Everyone]);
        assert_eq!(read("event: tasks\ndata: {}\n\n"), [Wakeup::Everyone]);
        assert_eq!(read("event: free\ndata: nonsense\n\n"), [Wakeup::Everyone]);
        assert_eq!(read(":\n\nevent: later\ndata: {}\n\ndata: {}\n\n"), []);
        assert_eq!(read("event: free\ndata: {\"name\":\"a door\"}\n"), []);
    }
}
