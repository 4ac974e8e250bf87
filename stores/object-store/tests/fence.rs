//! The fence where writes cross: on a service that names versions by the contents, as S3 does, and whose clients lose,
//! delay and repeat requests.

#![expect(
    clippy::unwrap_used,
    reason = "what is unwrapped here is a failed test"
)]

use std::{
    collections::VecDeque,
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use dlock_core::{ErrorKind, FencingToken, Stale};
use dlock_object_store::{
    Objects,
    fence::{self, Fence, FenceError},
};
use futures_util::{future::BoxFuture, stream::BoxStream};
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    Result, memory::InMemory, path::Path,
};

/// The fate of one put.
enum Step {
    /// Others write before it.
    After(BoxFuture<'static, ()>),
    /// It is made, and its answer is lost.
    LoseAnswer,
    /// It is still in flight when its client gives up.
    Delay,
    /// It is made, others write, and its client repeats it and gets the answer to the repeat.
    Repeat(BoxFuture<'static, ()>),
}

#[derive(Default)]
struct Service {
    objects: InMemory,
    script: Mutex<VecDeque<Step>>,
    delayed: Mutex<Vec<(PutPayload, PutOptions)>>,
}

fn path() -> Path {
    Path::from("accounts/a-17")
}

fn token(value: u64) -> FencingToken {
    FencingToken::new(value).unwrap()
}

impl Service {
    fn will(&self, step: Step) {
        self.script.lock().unwrap().push_back(step);
    }

    /// The delayed puts arrive. Their answers go unread.
    async fn deliver(&self) {
        let delayed = std::mem::take(&mut *self.delayed.lock().unwrap());
        assert!(!delayed.is_empty(), "nothing was delayed");
        for (payload, options) in delayed {
            drop(self.put_if(&path(), payload, options).await);
        }
    }

    async fn contents(&self) -> Option<Vec<u8>> {
        let found = self.objects.get(&path()).await.ok()?;
        Some(found.bytes().await.unwrap().to_vec())
    }

    /// The token that the fence remembers, and the writer's text.
    async fn page(&self) -> (u64, String) {
        let contents = self.contents().await.unwrap();
        let (token, text) = fence::split(&contents).unwrap();
        (token.get(), String::from_utf8(text.to_vec()).unwrap())
    }

    async fn version(&self, path: &Path) -> Option<String> {
        let found = self.objects.get(path).await.ok()?;
        let mut hasher = DefaultHasher::new();
        found.bytes().await.unwrap().hash(&mut hasher);
        Some(format!("\"{:x}\"", hasher.finish()))
    }

    /// There is one thread, and nothing here waits for another task, so a put is atomic.
    async fn put_if(
        &self,
        path: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let seen = self.version(path).await;
        let holds = match options.mode {
            PutMode::Overwrite => true,
            PutMode::Create => seen.is_none(),
            PutMode::Update(expected) => seen == expected.e_tag,
        };
        if !holds {
            return Err(refused(path));
        }
        let mut done = self.objects.put(path, payload).await?;
        done.e_tag = self.version(path).await;
        Ok(done)
    }
}

fn refused(path: &Path) -> Error {
    Error::Precondition {
        path: path.to_string(),
        source: "412".into(),
    }
}

fn silent() -> Error {
    Error::Generic {
        store: "silent",
        source: "error sending request".into(),
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Service")
    }
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Service")
    }
}

#[async_trait]
impl ObjectStore for Service {
    async fn put_opts(
        &self,
        path: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let step = self.script.lock().unwrap().pop_front();
        match step {
            None => self.put_if(path, payload, options).await,
            Some(Step::After(others)) => {
                others.await;
                self.put_if(path, payload, options).await
            }
            Some(Step::LoseAnswer) => {
                self.put_if(path, payload, options).await?;
                Err(silent())
            }
            Some(Step::Delay) => {
                self.delayed.lock().unwrap().push((payload, options));
                Err(silent())
            }
            Some(Step::Repeat(others)) => {
                self.put_if(path, payload, options).await?;
                others.await;
                Err(refused(path))
            }
        }
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        let mut found = self.objects.get_opts(path, options).await?;
        found.meta.e_tag = self.version(path).await;
        Ok(found)
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.objects.put_multipart_opts(path, options).await
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.objects.delete_stream(paths)
    }

    fn list(&self, folder: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.objects.list(folder)
    }

    async fn list_with_delimiter(&self, folder: Option<&Path>) -> Result<ListResult> {
        self.objects.list_with_delimiter(folder).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.objects.copy_opts(from, to, options).await
    }
}

/// A service, and a fence whose client sends each request once.
fn service() -> (Arc<Service>, Fence) {
    let service = Arc::new(Service::default());
    let objects = Objects::new(Arc::clone(&service) as Arc<dyn ObjectStore>);
    (service, Fence::new(objects.sent_once()))
}

/// A fence whose client may repeat requests.
fn repeating(service: &Arc<Service>) -> Fence {
    Fence::new(Objects::new(Arc::clone(service) as Arc<dyn ObjectStore>))
}

/// Writes of another writer, with these tokens.
fn others(fence: &Fence, tokens: &[u64], text: &'static str) -> BoxFuture<'static, ()> {
    let (fence, tokens) = (fence.clone(), tokens.to_vec());
    Box::pin(async move {
        for number in tokens {
            fence.put(&path(), token(number), text).await.unwrap();
        }
    })
}

fn is_unknown(outcome: &Result<(), FenceError>) -> bool {
    matches!(outcome, Err(FenceError::Store(error)) if error.kind() == ErrorKind::Unknown)
}

fn is_stale(outcome: &Result<(), FenceError>, presented: u64, highest: u64) -> bool {
    let (presented, highest) = (token(presented), token(highest));
    matches!(outcome, Err(FenceError::Stale(stale)) if *stale == Stale { presented, highest })
}

#[tokio::test]
async fn object_is_a_line_and_what_was_written() {
    let (service, fence) = service();
    for text in ["40", "", "a\nb"] {
        fence.put(&path(), token(5), text).await.unwrap();
        let contents = service.contents().await.unwrap();
        let (line, rest) = contents.split_at(64);
        assert_eq!(rest, text.as_bytes());
        assert!(line.starts_with(b"dlock-fence/1 0000000000000005 "));
        assert_eq!(line.iter().position(|&byte| byte == b'\n'), Some(63));
        assert_eq!(fence::split(&contents), Some((token(5), text.as_bytes())));
    }
}

/// The version that was read is there again, but a later holder has written it.
#[tokio::test]
async fn older_token_does_not_replace_equal_contents_of_a_later_one() {
    let (service, fence) = service();
    fence.put(&path(), token(5), "a").await.unwrap();
    service.will(Step::After(others(&fence, &[7], "a")));
    let late = fence.put(&path(), token(6), "b").await;
    assert!(is_stale(&late, 6, 7), "{late:?}");
    assert_eq!(service.page().await, (7, "a".to_owned()));
}

#[tokio::test]
async fn writer_who_was_overtaken_looks_again() {
    for first in [None, Some("z")] {
        for (before, expected) in [(vec![4, 6], Ok("a")), (vec![7], Err(7))] {
            let (service, fence) = service();
            if let Some(text) = first {
                fence.put(&path(), token(3), text).await.unwrap();
            }
            service.will(Step::After(others(&fence, &before, "b")));
            let outcome = fence.put(&path(), token(6), "a").await;
            match expected {
                Ok(text) => {
                    outcome.unwrap();
                    assert_eq!(service.page().await, (6, text.to_owned()));
                }
                Err(highest) => assert!(is_stale(&outcome, 6, highest), "{outcome:?}"),
            }
        }
    }
}

#[tokio::test]
async fn lost_answer_is_unknown_and_may_be_asked_for_again() {
    let (service, fence) = service();
    service.will(Step::LoseAnswer);
    let lost = fence.put(&path(), token(5), "a").await;
    assert!(is_unknown(&lost), "{lost:?}");
    assert_eq!(service.page().await, (5, "a".to_owned()));
    fence.put(&path(), token(5), "a").await.unwrap();
    assert_eq!(service.page().await, (5, "a".to_owned()));
    fence.put(&path(), token(6), "b").await.unwrap();
    let late = fence.put(&path(), token(5), "a").await;
    assert!(is_stale(&late, 5, 6), "{late:?}");
}

/// Not even where the same holder has restored the contents that it was meant to replace.
#[tokio::test]
async fn delayed_put_changes_nothing_after_its_repeat() {
    let (service, fence) = service();
    fence.put(&path(), token(5), "z").await.unwrap();
    service.will(Step::Delay);
    let lost = fence.put(&path(), token(5), "a").await;
    assert!(is_unknown(&lost), "{lost:?}");
    fence.put(&path(), token(5), "a").await.unwrap();
    fence.put(&path(), token(5), "z").await.unwrap();
    service.deliver().await;
    assert_eq!(service.page().await, (5, "z".to_owned()));
}

#[tokio::test]
async fn client_that_repeats_itself_is_not_refused_by_its_own_write() {
    let (service, _) = service();
    let fence = repeating(&service);
    service.will(Step::Repeat(others(&fence, &[], "")));
    fence.put(&path(), token(5), "a").await.unwrap();
    assert_eq!(service.page().await, (5, "a".to_owned()));
    // Its write was made, so no answer may say that nothing has changed.
    service.will(Step::Repeat(others(&fence, &[7], "b")));
    let overtaken = fence.put(&path(), token(6), "a").await;
    assert!(is_unknown(&overtaken), "{overtaken:?}");
    let again = fence.put(&path(), token(6), "a").await;
    assert!(is_stale(&again, 6, 7), "{again:?}");
}

#[tokio::test]
async fn writer_who_is_always_overtaken_gives_up() {
    let (service, fence) = service();
    for _ in 0..100 {
        // The other writer is not overtaken.
        service.will(Step::After(Box::pin({
            let service = Arc::clone(&service);
            async move {
                let steps = std::mem::take(&mut *service.script.lock().unwrap());
                let fence = repeating(&service);
                fence.put(&path(), token(5), "b").await.unwrap();
                *service.script.lock().unwrap() = steps;
            }
        })));
    }
    let outcome = fence.put(&path(), token(5), "a").await;
    assert!(is_unknown(&outcome), "{outcome:?}");
    let left = service.script.lock().unwrap().len();
    assert_eq!(left, 100 - 32);
}

#[tokio::test]
async fn what_was_not_written_through_a_fence_is_left_alone() {
    let (service, fence) = service();
    let line = "dlock-fence/1 0000000000000005 67e5504410b1426f9247bb680e5fe0c8\n";
    service.put(&path(), line.into()).await.unwrap();
    assert!(fence::split(line.as_bytes()).is_some());
    for foreign in [
        "",
        "40",
        &"x".repeat(100),
        line.trim_end(),
        &line[1..],
        &line.replace('\n', " "),
        &line.replace("/1", "/2"),
        &line.replace(" 67", "  7"),
        &line.replace("e5", "E5"),
        &line.replace("0000005", "+000005"),
        &line.replace('5', "0"),
        &line.replace("0000000000000005", "9007199254740992"),
        r#"{"v":1,"uuid":"67e55044-10b1-426f-9247-bb680e5fe0c8","n":0}"#,
    ] {
        assert_eq!(fence::split(foreign.as_bytes()), None, "{foreign:?}");
        let put = PutPayload::from(foreign.to_owned());
        service.put(&path(), put).await.unwrap();
        let refused = fence.put(&path(), token(6), "x").await;
        let Err(FenceError::Foreign { place }) = &refused else {
            panic!("{foreign:?}: {refused:?}");
        };
        assert!(place.contains("accounts/a-17"), "{place}");
        let left = service.contents().await.unwrap();
        assert_eq!(left, foreign.as_bytes());
    }
}
