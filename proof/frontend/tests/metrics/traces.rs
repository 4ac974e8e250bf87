//! Spans and events of locks are those of the chapter.

use std::path::Path;

use dlock_proof::traces::{Chapter, Seen, names_in};

use crate::{
    scene::{Scene, stores},
    stories,
};

const CHAPTER: &str = include_str!("../../../../dlock-core/METRICS.md");

#[tokio::test(start_paused = true)]
async fn what_is_traced_is_as_the_chapter_says() {
    let seen = Seen::install("dlock_core").unwrap();
    for store in stores() {
        for (_, story) in stories::ALL {
            let scene = Scene::new(store.clone()).again();
            let recorder = scene.recorder.clone();
            let _listening = recorder.listen();
            story(scene).await;
        }
    }
    assert!(seen.names().len() >= 12, "{seen:?}");
    assert_eq!(seen.unlike(&Chapter::read(CHAPTER)), [""; 0]);
}

/// This covers events that no story triggers.
#[test]
fn every_event_has_a_name_of_the_chapter_and_each_name_an_event() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dlock-core/src");
    assert_eq!(names_in(&sources).unwrap(), Chapter::read(CHAPTER).names());
}
