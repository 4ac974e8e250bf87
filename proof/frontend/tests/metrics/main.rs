//! The metrics that locks report to the `metrics` facade: each name of the table in a story that triggers it, and no
//! other name; and the effect on locks of a recorder that misbehaves. In virtual time.
#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

mod panicking;
mod recorders;
mod scene;
mod stories;
mod traces;

use dlock_core::metrics;
use scene::{Scene, stores};

/// Each name, at least once.
#[tokio::test(start_paused = true)]
async fn every_name_of_the_table_is_told_and_no_other() {
    let scene = Scene::new(stores().remove(0));
    let _listening = scene.recorder.listen();
    for (name, story) in stories::ALL {
        println!("{name}");
        story(scene.again()).await;
    }
    let tables = [metrics::ALL];
    assert_eq!(scene.recorder.undocumented(&tables), [""; 0]);
    assert_eq!(scene.recorder.missing(&tables), [""; 0]);
}

#[test]
fn every_name_is_described_with_its_kind() {
    let recorder = dlock_proof::metrics::TestRecorder::new();
    let _listening = recorder.listen();
    metrics::describe();
    let names: Vec<&str> = metrics::ALL.iter().map(|metric| metric.name).collect();
    assert_eq!(recorder.described(), names);
}

/// Each story under both disciplines, with its own recorder.
macro_rules! tests {
    ($($name:ident,)*) => {
        $(
            #[tokio::test(start_paused = true)]
            async fn $name() {
                for store in stores() {
                    let scene = Scene::new(store);
                    let recorder = scene.recorder.clone();
                    let _listening = recorder.listen();
                    stories::$name(scene).await;
                }
            }
        )*
    };
}

stories::stories!(tests);
