//! A server that gives prepared answers, for cases that no emulator can produce.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::Notify,
};

/// An HTTP status and a body.
pub type Answer = (u16, String);

/// The answer to the text of a request; `None`: no answer at all.
type Script = dyn FnMut(&str) -> Option<Answer> + Send;

/// A server with prepared answers.
#[derive(Clone)]
pub struct Canned {
    script: Arc<Mutex<Script>>,
    counts: Arc<Mutex<Counts>>,
    hung_up: Arc<Notify>,
    url: String,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    requests: usize,
    unanswered: usize,
}

/// A refusal as DynamoDB words it.
pub fn refusal(status: u16, code: &str) -> Answer {
    let body = format!(r#"{{"__type":"com.amazonaws.dynamodb.v20120810#{code}","message":"no"}}"#);
    (status, body)
}

impl Canned {
    /// Gives these answers in order, then the last one again and again.
    pub async fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        let mut answers: VecDeque<Answer> = answers.into_iter().collect();
        Self::scripted(move |_| match answers.len() {
            1 => answers.front().cloned(),
            _ => answers.pop_front(),
        })
        .await
    }

    /// Gives the answers of the script.
    pub async fn scripted(script: impl FnMut(&str) -> Option<Answer> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let canned = Self {
            script: Arc::new(Mutex::new(script)),
            counts: Arc::default(),
            hung_up: Arc::default(),
            url: format!("http://{}", listener.local_addr().unwrap()),
        };
        let serving = canned.clone();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serving.clone().serve(client));
            }
        });
        canned
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// How many requests came so far.
    pub fn requests(&self) -> usize {
        self.counts.lock().unwrap().requests
    }

    /// How many requests, with callers still connected, wait for an answer that will not come.
    pub fn unanswered(&self) -> usize {
        self.counts.lock().unwrap().unanswered
    }

    /// Closes the connections of those requests.
    pub fn hang_up(&self) {
        self.hung_up.notify_waiters();
    }

    async fn serve(self, mut client: TcpStream) {
        let mut received = Vec::new();
        loop {
            let Some(length) = complete(&received) else {
                let mut piece = [0; 4096];
                match client.read(&mut piece).await {
                    Ok(0) | Err(_) => return,
                    Ok(length) => received.extend_from_slice(&piece[..length]),
                }
                continue;
            };
            let request: Vec<u8> = received.drain(..length).collect();
            self.counts.lock().unwrap().requests += 1;
            let answer = (self.script.lock().unwrap())(&String::from_utf8_lossy(&request));
            let Some((status, body)) = answer else {
                self.counts.lock().unwrap().unanswered += 1;
                let mut piece = [0; 4096];
                tokio::select! {
                    // The other side closes: it has sent everything.
                    _ = client.read(&mut piece) => {}
                    () = self.hung_up.notified() => {}
                }
                self.counts.lock().unwrap().unanswered -= 1;
                return;
            };
            let reply = format!(
                "HTTP/1.1 {status} Canned\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            if client.write_all(reply.as_bytes()).await.is_err() {
                return;
            }
        }
    }
}

/// The length of the first request, once it has arrived completely.
fn complete(received: &[u8]) -> Option<usize> {
    let head = received.windows(4).position(|bytes| bytes == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&received[..head])
        .unwrap()
        .to_lowercase();
    let length: usize = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .map_or(0, |length| length.trim().parse().unwrap());
    (received.len() >= head + length).then_some(head + length)
}
