//! The metrics that a program reports to its `metrics` recorder, kept for tests.
//!
//! ```
//! # use dlock_proof::metrics::TestRecorder;
//! # use dlock_testkit::memory::{MemoryProvider, MemoryStore};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let recorder = TestRecorder::new();
//! // For this thread: on a current-thread runtime, for every task.
//! let _listening = recorder.listen();
//! let provider = MemoryProvider::new(&MemoryStore::store_clock());
//! let lock = dlock_core::DLock::builder().name("door").provider(provider).build()?;
//! lock.acquire().await?.release().await?;
//! assert_eq!(recorder.count("dlock_releases_total", &[("outcome", "released")]), 1);
//! # Ok(()) }
//! ```

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use dlock_core::metrics::{Kind, Metric, SharedString, Unit};
use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, LocalRecorderGuard,
    Metadata, Recorder,
};

/// A recorder that keeps everything that is reported to it. Clones share it.
#[derive(Clone, Default)]
pub struct TestRecorder(Arc<Mutex<Told>>);

#[derive(Default)]
struct Told {
    series: BTreeMap<Series, Value>,
    described: Vec<String>,
}

/// One name with one value for each of its labels, in the order in which they came.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Series {
    name: String,
    labels: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
enum Value {
    Counter(u64),
    Gauge(f64),
    Histogram(Vec<f64>),
}

/// The handle that the recorder returns for one series.
struct Handle(TestRecorder, Series);

impl TestRecorder {
    /// A recorder to which nothing has been reported.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Records the events of this thread, until the guard is dropped.
    #[must_use = "it listens until this is dropped"]
    pub fn listen(&self) -> LocalRecorderGuard<'_> {
        metrics::set_default_local_recorder(self)
    }

    /// The sum of all series of a counter that have these labels.
    #[must_use]
    pub fn count(&self, name: &str, labels: &[(&str, &str)]) -> u64 {
        let told = self.told();
        let values = told.of(name, labels).map(|value| match value {
            Value::Counter(count) => *count,
            Value::Gauge(_) | Value::Histogram(_) => 0,
        });
        values.sum()
    }

    /// Whether a series with these labels exists, with any value.
    #[must_use]
    pub fn knows(&self, name: &str, labels: &[(&str, &str)]) -> bool {
        self.told().of(name, labels).next().is_some()
    }

    /// The last value of the one series of a gauge that has these labels.
    #[must_use]
    pub fn gauge(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let told = self.told();
        let mut values = told.of(name, labels).filter_map(|value| match value {
            Value::Gauge(value) => Some(*value),
            Value::Counter(_) | Value::Histogram(_) => None,
        });
        let value = values.next();
        values.next().map_or(value, |_| None)
    }

    /// The values of all series of a histogram that have these labels.
    #[must_use]
    pub fn values(&self, name: &str, labels: &[(&str, &str)]) -> Vec<f64> {
        let told = self.told();
        let values = told.of(name, labels).flat_map(|value| match value {
            Value::Histogram(values) => values.clone(),
            Value::Counter(_) | Value::Gauge(_) => Vec::new(),
        });
        values.collect()
    }

    /// The metrics of these tables that were never reported.
    #[must_use]
    pub fn missing(&self, tables: &[&[Metric]]) -> Vec<&'static str> {
        let told = self.told();
        let metrics = tables.iter().copied().flatten();
        let missing = metrics.filter(|metric| told.of(metric.name, &[]).next().is_none());
        missing.map(|metric| metric.name).collect()
    }

    /// The series that differ from these tables: their names, kinds and labels.
    #[must_use]
    pub fn undocumented(&self, tables: &[&[Metric]]) -> Vec<String> {
        let told = self.told();
        let wrong = told.series.iter().filter(|(series, value)| {
            let mut metrics = tables.iter().copied().flatten();
            !metrics.any(|metric| series.is_one_of(metric) && value.kind() == metric.kind)
        });
        wrong
            .map(|(series, value)| format!("{series:?}: {value:?}"))
            .collect()
    }

    /// The names that were described.
    #[must_use]
    pub fn described(&self) -> Vec<String> {
        self.told().described.clone()
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handle(&self, key: &Key, value: Value) -> Arc<Handle> {
        let label = |label: &metrics::Label| (label.key().to_owned(), label.value().to_owned());
        let series = Series {
            name: key.name().to_owned(),
            labels: key.labels().map(label).collect(),
        };
        self.told().series.entry(series.clone()).or_insert(value);
        Arc::new(Handle(self.clone(), series))
    }
}

impl Told {
    fn of<'a>(
        &'a self,
        name: &'a str,
        labels: &'a [(&str, &str)],
    ) -> impl Iterator<Item = &'a Value> {
        let wanted = move |series: &Series| {
            let has = |(label, value): &(&str, &str)| {
                let mut labels = series.labels.iter();
                labels.any(|(key, is)| key == label && is == value)
            };
            series.name == name && labels.iter().all(has)
        };
        let series = self.series.iter();
        series.filter_map(move |(series, value)| wanted(series).then_some(value))
    }
}

impl Series {
    fn is_one_of(&self, metric: &Metric) -> bool {
        let labels = self.labels.iter().map(|(label, _)| label.as_str());
        self.name == metric.name && labels.eq(metric.labels.iter().copied())
    }
}

impl Value {
    const fn kind(&self) -> Kind {
        match self {
            Self::Counter(_) => Kind::Counter,
            Self::Gauge(_) => Kind::Gauge,
            Self::Histogram(_) => Kind::Histogram,
        }
    }
}

impl Handle {
    fn change(&self, change: impl FnOnce(&mut Value)) {
        let Self(recorder, series) = self;
        if let Some(value) = recorder.told().series.get_mut(series) {
            change(value);
        }
    }

    fn change_gauge(&self, to: impl FnOnce(f64) -> f64) {
        self.change(|value| {
            if let Value::Gauge(value) = value {
                *value = to(*value);
            }
        });
    }
}

impl Recorder for TestRecorder {
    fn describe_counter(&self, name: KeyName, _: Option<Unit>, _: SharedString) {
        self.told().described.push(name.as_str().to_owned());
    }

    fn describe_gauge(&self, name: KeyName, _: Option<Unit>, _: SharedString) {
        self.told().described.push(name.as_str().to_owned());
    }

    fn describe_histogram(&self, name: KeyName, _: Option<Unit>, _: SharedString) {
        self.told().described.push(name.as_str().to_owned());
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.handle(key, Value::Counter(0)))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.handle(key, Value::Gauge(0.0)))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.handle(key, Value::Histogram(Vec::new())))
    }
}

impl CounterFn for Handle {
    fn increment(&self, by: u64) {
        self.change(|value| {
            if let Value::Counter(count) = value {
                *count += by;
            }
        });
    }

    fn absolute(&self, to: u64) {
        self.change(|value| *value = Value::Counter(to));
    }
}

impl GaugeFn for Handle {
    fn increment(&self, by: f64) {
        self.change_gauge(|value| value + by);
    }

    fn decrement(&self, by: f64) {
        self.change_gauge(|value| value - by);
    }

    fn set(&self, to: f64) {
        self.change_gauge(|_| to);
    }
}

impl HistogramFn for Handle {
    fn record(&self, value: f64) {
        self.change(|values| {
            if let Value::Histogram(values) = values {
                values.push(value);
            }
        });
    }
}

impl fmt::Debug for TestRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.told().series).finish()
    }
}
