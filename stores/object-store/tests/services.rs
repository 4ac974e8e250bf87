//! Services with the behaviour of real ones: `verify` distinguishes those without true conditional writes from the
//! others, and lists come in order from all of them.

#![expect(
    clippy::unwrap_used,
    reason = "what is unwrapped here is a failed test"
)]

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use dlock_core::{
    ErrorKind, Name, Provider, ProviderError,
    provider::{Acquire, Admin, List},
};
use dlock_object_store::Objects;
use futures_util::{
    StreamExt, TryStreamExt,
    stream::{self, BoxStream},
};
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta,
    ObjectStore, ObjectStoreExt, PutMode, PutMultipartOptions, PutOptions, PutPayload, PutResult,
    Result, memory::InMemory, path::Path,
};
use tokio::time::Instant;
use uuid::Uuid;

/// How a service handles the condition of a write.
#[derive(Clone, Copy, Debug)]
enum Flaw {
    /// Keeps it.
    None,
    /// Creates whatever exists.
    ForgetsAbsence,
    /// Replaces whatever exists.
    ForgetsVersion,
    /// Reads, and writes a moment later.
    LooksFirst,
    /// Keeps it while many write, and forgets it afterwards.
    ForgetsLater,
    /// Acknowledges writes that it does not keep.
    ForgetsData,
    /// Takes a write, and denies it: the effect of a client library that repeats itself after a lost answer.
    DeniesWinner,
    /// Refuses a write within a second of another.
    Throttles,
    NamesNoVersion,
    /// Lists in reverse, and from the beginning.
    ListsAnyhow,
}

#[derive(Debug)]
struct Service {
    flaw: Flaw,
    objects: InMemory,
    last: Mutex<Option<Instant>>,
    writes: Mutex<HashMap<Path, usize>>,
}

impl Service {
    fn new(flaw: Flaw) -> Self {
        Self {
            flaw,
            objects: InMemory::new(),
            last: Mutex::new(None),
            writes: Mutex::default(),
        }
    }

    /// Whether it comes too soon after the one before.
    fn is_hasty(&self) -> bool {
        let mut last = self.last.lock().unwrap();
        let hasty = last.is_some_and(|last| last.elapsed() < Duration::from_secs(1));
        if !hasty {
            *last = Some(Instant::now());
        }
        hasty
    }

    /// How many writes of the object there were, this one included.
    fn count(&self, path: &Path) -> usize {
        let mut writes = self.writes.lock().unwrap();
        let writes = writes.entry(path.clone()).or_default();
        *writes += 1;
        *writes
    }

    /// Whether the condition holds now.
    async fn holds(&self, path: &Path, mode: &PutMode) -> bool {
        let found = self.objects.head(path).await.ok();
        match mode {
            PutMode::Overwrite => true,
            PutMode::Create => found.is_none(),
            PutMode::Update(version) => found.is_some_and(|found| found.e_tag == version.e_tag),
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.flaw {
            Flaw::Throttles => f.write_str("GoogleCloudStorage(bucket)"),
            _ => write!(f, "{self:?}"),
        }
    }
}

#[async_trait]
impl ObjectStore for Service {
    async fn put_opts(
        &self,
        path: &Path,
        payload: PutPayload,
        mut options: PutOptions,
    ) -> Result<PutResult> {
        let refused = || Error::Precondition {
            path: path.to_string(),
            source: "412".into(),
        };
        match (self.flaw, &options.mode) {
            (Flaw::ForgetsAbsence, PutMode::Create)
            | (Flaw::ForgetsVersion, PutMode::Update(_)) => {
                options.mode = PutMode::Overwrite;
            }
            // The writes to a missing object, and two races of eight.
            (Flaw::ForgetsLater, _) if self.count(path) > 17 => options.mode = PutMode::Overwrite,
            (Flaw::LooksFirst, mode) => {
                if !self.holds(path, mode).await {
                    return Err(refused());
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
                options.mode = PutMode::Overwrite;
            }
            (Flaw::ForgetsData, mode) => {
                if !self.holds(path, mode).await {
                    return Err(refused());
                }
                return self.objects.put_opts(path, "".into(), options).await;
            }
            (Flaw::Throttles, _) if self.is_hasty() => {
                return Err(Error::Generic {
                    store: "throttled",
                    source: "Server returned non-2xx status code: 429 Too Many Requests: ".into(),
                });
            }
            _ => {}
        }
        let mut done = self.objects.put_opts(path, payload, options).await?;
        match self.flaw {
            Flaw::DeniesWinner => return Err(refused()),
            Flaw::NamesNoVersion => (done.e_tag, done.version) = (None, None),
            _ => {}
        }
        Ok(done)
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.objects.put_multipart_opts(path, options).await
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        self.objects.get_opts(path, options).await
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.objects.delete_stream(paths)
    }

    fn list(&self, folder: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let listed = self.objects.list(folder);
        if !matches!(self.flaw, Flaw::ListsAnyhow) {
            return listed;
        }
        let backwards = async {
            let mut objects: Vec<ObjectMeta> = listed.try_collect().await?;
            objects.reverse();
            Ok::<_, Error>(stream::iter(objects.into_iter().map(Ok)))
        };
        stream::once(backwards).try_flatten().boxed()
    }

    fn list_with_offset(
        &self,
        folder: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        match self.flaw {
            Flaw::ListsAnyhow => self.list(folder),
            _ => self.objects.list_with_offset(folder, offset),
        }
    }

    async fn list_with_delimiter(&self, folder: Option<&Path>) -> Result<ListResult> {
        self.objects.list_with_delimiter(folder).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.objects.copy_opts(from, to, options).await
    }
}

/// The verdict of `verify`, and how many objects it leaves behind.
async fn verdict(flaw: Flaw) -> (Result<(), ProviderError>, usize) {
    let service = Arc::new(Service::new(flaw));
    let verdict = Objects::new(Arc::clone(&service) as Arc<dyn ObjectStore>)
        .verify("a/b")
        .await;
    let left: Vec<_> = service.list(None).try_collect().await.unwrap();
    (verdict, left.len())
}

/// The write of a mark would be in the way of the release.
#[test]
fn waiters_leave_no_marks_in_google_s_objects() {
    for (flaw, marks) in [(Flaw::None, true), (Flaw::Throttles, false)] {
        let provider = dlock_object_store::provider(Arc::new(Service::new(flaw)), "p").unwrap();
        assert_eq!(provider.capabilities().marks, marks);
    }
}

#[tokio::test(start_paused = true)]
async fn conditions_that_are_kept_are_enough() {
    for flaw in [Flaw::None, Flaw::DeniesWinner, Flaw::Throttles] {
        let (verdict, left) = verdict(flaw).await;
        assert!(verdict.is_ok(), "{flaw:?}: {verdict:?}");
        assert_eq!(left, 0, "{flaw:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn service_whose_conditions_are_none_is_refused() {
    for (flaw, says) in [
        (Flaw::ForgetsAbsence, "8 of 8 writers"),
        (Flaw::ForgetsVersion, "was not there"),
        (Flaw::LooksFirst, "8 of 8 writers"),
        (Flaw::ForgetsLater, "has created an object that was there"),
        (Flaw::ForgetsData, "acknowledged"),
        (Flaw::NamesNoVersion, "no version"),
    ] {
        let (verdict, left) = verdict(flaw).await;
        let error = verdict.expect_err(&format!("{flaw:?}"));
        assert_eq!(error.kind(), ErrorKind::Fatal, "{flaw:?}: {error:?}");
        assert!(error.to_string().contains(says), "{flaw:?}: {error}");
        assert_eq!(left, 0, "{flaw:?}");
    }
}

#[tokio::test]
async fn locks_are_listed_in_order_in_whatever_order_the_service_lists() {
    let names = ["a", "a-b", "a.b", "a/b", "b", "\u{e4}"];
    for flaw in [Flaw::None, Flaw::ListsAnyhow] {
        let provider = dlock_object_store::provider(Arc::new(Service::new(flaw)), "p").unwrap();
        for name in names {
            let name = Name::new(name).unwrap();
            let lease = Duration::from_secs(60);
            let term = Acquire::new(name, Uuid::new_v4(), lease);
            provider.acquire(&term).await.unwrap();
        }
        for limit in 1..8 {
            let (mut listed, mut after) = (Vec::new(), None);
            loop {
                let request = List::new("").after(after).limit(limit);
                let page = provider.list(&request).await.unwrap();
                listed.extend(page.records.into_iter().map(|(name, _)| name.to_string()));
                after = page.next;
                if after.is_none() || listed.len() > names.len() {
                    break;
                }
            }
            assert_eq!(listed, names, "{flaw:?}, pages of {limit}");
        }
    }
}
