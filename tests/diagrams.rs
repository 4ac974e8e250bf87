//! 001-5: the three scenes of `examples/diagrams` happen as drawn. How often B asks while it waits
//! depends on the machine, so a run of the same refusal counts once.

#![cfg(feature = "sqlite")]

#[path = "../examples/diagrams/recorder.rs"]
mod recorder;
#[path = "../examples/diagrams/scenes.rs"]
mod scenes;

use dlock::sqlite::SqliteProvider;

#[tokio::test]
async fn scenes_happen_as_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let provider = SqliteProvider::open(folder.path().join("locks.db")).unwrap();

    // 001-1
    assert_eq!(
        drawn(scenes::contention(&provider).await.unwrap()),
        [
            "A ->> Provider: Acquire (prev_uuid=none, new_uuid=A1, duration=600ms)",
            "Provider ->> A: Acquired (uuid=A1, token=T1)",
            "A ->> A: Do synchronized work",
            "B ->> Provider: Acquire (prev_uuid=none, new_uuid=B*, duration=800ms)",
            "Provider ->> B: Failure (uuid=A1, duration=600ms)",
            "A ->> Provider: Release (uuid=A1)",
            "Provider ->> A: Released (uuid=A1)",
            "B ->> Provider: Acquire (prev_uuid=none, new_uuid=B*, duration=800ms)",
            "Provider ->> B: Acquired (uuid=B*, token=T2)",
            "B ->> B: Do synchronized work",
            "B ->> Provider: Release (uuid=B*)",
            "Provider ->> B: Released (uuid=B*)",
        ]
    );
    // 001-2
    assert_eq!(
        drawn(scenes::dead(&provider).await.unwrap()),
        [
            "A ->> Provider: Acquire (prev_uuid=none, new_uuid=A1, duration=600ms)",
            "Provider ->> A: Acquired (uuid=A1, token=T1)",
            "A ->> A: Crash!",
            "B ->> Provider: Acquire (prev_uuid=none, new_uuid=B*, duration=800ms)",
            "Provider ->> B: Failure (uuid=A1, duration=600ms)",
            "B ->> Provider: Acquire (prev_uuid=*, new_uuid=B*, duration=800ms)",
            "Provider ->> B: Acquired (uuid=B*, token=T2)",
            "B ->> B: Do synchronized work",
            "B ->> Provider: Release (uuid=B*)",
            "Provider ->> B: Released (uuid=B*)",
        ]
    );
    // 001-3
    assert_eq!(
        drawn(scenes::paused(&provider).await.unwrap()),
        [
            "A ->> Provider: Acquire (prev_uuid=none, new_uuid=A1, duration=600ms)",
            "Provider ->> A: Acquired (uuid=A1, token=T1)",
            "A ->> A: Stall",
            "B ->> Provider: Acquire (prev_uuid=none, new_uuid=B*, duration=800ms)",
            "Provider ->> B: Failure (uuid=A1, duration=600ms)",
            "B ->> Provider: Acquire (prev_uuid=*, new_uuid=B*, duration=800ms)",
            "Provider ->> B: Acquired (uuid=B*, token=T2)",
            "B ->> Storage: Synchronized work (token=T2)",
            "Storage ->> B: Success (token=T2)",
            "B ->> Provider: Release (uuid=B*)",
            "Provider ->> B: Released (uuid=B*)",
            "A ->> A: Wake up",
            "A ->> Storage: Synchronized work (token=T1)",
            "Storage ->> A: Failure (token=T1 < T2)",
            "A ->> Provider: Release (uuid=A1)",
            "Provider ->> A: Already Released",
        ]
    );
}

/// The lines, with B's fresh uuids alike and a repeated refusal once. A refusal that is followed by
/// the grant keeps its request, whose claim may be any: the store's clock decides here.
fn drawn(scene: scenes::Scene) -> Vec<String> {
    assert!(!scene.title.is_empty());
    let mut drawn: Vec<String> = Vec::new();
    for line in scene.lines {
        let mut line = line;
        for fresh in (1..100).rev() {
            line = line.replace(&format!("B{fresh}"), "B*");
        }
        if line.contains("Failure (uuid=") && drawn.len() >= 3 && drawn[drawn.len() - 2] == line {
            drawn.pop();
            continue;
        }
        drawn.push(line);
    }
    let dead = drawn
        .iter()
        .any(|line| line.contains("Crash") || line.contains("Stall"));
    if dead
        && let Some(granted) = drawn
            .iter()
            .position(|line| line.contains("Acquired (uuid=B*"))
    {
        let request = &mut drawn[granted - 1];
        *request = request
            .replace("prev_uuid=none", "prev_uuid=*")
            .replace("prev_uuid=A1", "prev_uuid=*");
    }
    drawn
}
