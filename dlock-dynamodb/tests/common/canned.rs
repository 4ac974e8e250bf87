//! A server that gives prepared answers, for what no emulator can be made to say.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// An HTTP status and a body.
pub type Answer = (u16, String);

/// The answers still to be given, in order; the last one is given again and again.
#[derive(Clone)]
pub struct Canned {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    requests: Arc<Mutex<usize>>,
    url: String,
}

/// A refusal as DynamoDB words it.
pub fn refusal(status: u16, code: &str) -> Answer {
    let body = format!(r#"{{"__type":"com.amazonaws.dynamodb.v20120810#{code}","message":"no"}}"#);
    (status, body)
}

impl Canned {
    pub async fn start(answers: impl IntoIterator<Item = Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let canned = Self {
            answers: Arc::new(Mutex::new(answers.into_iter().collect())),
            requests: Arc::default(),
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
        *self.requests.lock().unwrap()
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
            received.drain(..length);
            *self.requests.lock().unwrap() += 1;
            let (status, body) = self.next();
            let reply = format!(
                "HTTP/1.1 {status} Canned\r\ncontent-type: application/x-amz-json-1.0\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            if client.write_all(reply.as_bytes()).await.is_err() {
                return;
            }
        }
    }

    fn next(&self) -> Answer {
        let mut answers = self.answers.lock().unwrap();
        if answers.len() > 1 {
            answers.pop_front().unwrap()
        } else {
            answers[0].clone()
        }
    }
}

/// The length of the first request, if it is there as a whole.
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
