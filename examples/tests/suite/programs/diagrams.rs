//! The three scenes of `diagrams` happen as drawn, on every store. How often B tries while it waits depends on the
//! store and the machine, so a run of equal refusals counts once.

use crate::place::Place;

async fn scenes_happen_as_drawn(place: Place) {
    let printed = place.diagrams().await;
    let scenes: Vec<Vec<&str>> = printed
        .trim_end()
        .split("\n\n")
        .map(|scene| scene.lines().collect())
        .collect();
    let [contention, dead, paused] = &scenes[..] else {
        panic!("{printed}");
    };
    assert_eq!(
        drawn(contention),
        [
            "A ->> Provider: Acquire (prev_uuid=none, new_uuid=A1, duration=9s)",
            "Provider ->> A: Acquired (uuid=A1, token=T1)",
            "A ->> A: Do synchronized work",
            "B ->> Provider: Acquire (prev_uuid=none, new_uuid=B*, duration=12s)",
            "Provider ->> B: Failure (uuid=A1, duration=9s)",
            "A ->> Provider: Release (uuid=A1)",
            "Provider ->> A: Released (uuid=A1)",
            "B ->> Provider: Acquire (prev_uuid=none, new_uuid=B*, duration=12s)",
            "Provider ->> B: Acquired (uuid=B*, token=T2)",
            "B ->> B: Do synchronized work",
            "B ->> Provider: Release (uuid=B*)",
            "Provider ->> B: Released (uuid=B*)",
        ]
    );
    assert_eq!(
        drawn(dead),
        [
            "A ->> Provider: Acquire (prev_uuid=none, new_uuid=A1, duration=9s)",
            "Provider ->> A: Acquired (uuid=A1, token=T1)",
            "A ->> A: Crash!",
            "B ->> Provider: Acquire (prev_uuid=none, new_uuid=B*, duration=12s)",
            "Provider ->> B: Failure (uuid=A1, duration=9s)",
            "B ->> Provider: Acquire (prev_uuid=*, new_uuid=B*, duration=12s)",
            "Provider ->> B: Acquired (uuid=B*, token=T2)",
            "B ->> B: Do synchronized work",
            "B ->> Provider: Release (uuid=B*)",
            "Provider ->> B: Released (uuid=B*)",
        ]
    );
    assert_eq!(
        drawn(paused),
        [
            "A ->> Provider: Acquire (prev_uuid=none, new_uuid=A1, duration=9s)",
            "Provider ->> A: Acquired (uuid=A1, token=T1)",
            "A ->> A: Stall",
            "B ->> Provider: Acquire (prev_uuid=none, new_uuid=B*, duration=12s)",
            "Provider ->> B: Failure (uuid=A1, duration=9s)",
            "B ->> Provider: Acquire (prev_uuid=*, new_uuid=B*, duration=12s)",
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

/// The lines below the title, with one label for all of B's fresh uuids, and repeated refusals reduced to one. A
/// refusal that is followed by the grant keeps its request, which may make any claim: where the store's clock decides,
/// it needs none. Reads in between (on DynamoDB, where they cost less than a refusal) change nothing, and neither does
/// a request that got no answer in time and was repeated.
fn drawn(scene: &[&str]) -> Vec<String> {
    let mut drawn: Vec<String> = Vec::new();
    for line in &scene[1..] {
        let mut line = line
            .strip_prefix("    ")
            .unwrap_or_else(|| panic!("{line:?}"))
            .to_owned();
        for fresh in (1..100).rev() {
            line = line.replace(&format!("B{fresh}"), "B*");
        }
        if let Some((_, record)) = line.split_once(": Record (") {
            assert!(record.starts_with("uuid=A1, duration=9s, "), "{line}");
        }
        if line.contains(": Record (") || line.contains(": No answer (") {
            let question = question(&drawn, &line);
            drawn.remove(question);
            continue;
        }
        if line.contains("Failure (uuid=") {
            // There may be a line of the other client between the request and its answer.
            let question = question(&drawn, &line);
            if question > 0 && drawn[question - 1] == line {
                drawn.remove(question);
            } else {
                drawn.insert(question + 1, line);
            }
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

/// The position of the request that this line answers: each client has one request at a time.
fn question(drawn: &[String], answer: &str) -> usize {
    let (who, _) = answer
        .strip_prefix("Provider ->> ")
        .and_then(|rest| rest.split_once(':'))
        .unwrap_or_else(|| panic!("{answer:?}"));
    let who = format!("{who} ->> Provider: ");
    drawn
        .iter()
        .rposition(|line| line.starts_with(&who))
        .unwrap_or_else(|| panic!("nobody asked for {answer:?}"))
}

#[test]
fn refusal_that_crosses_another_message_is_drawn_with_its_question() {
    let scene = [
        "Contention",
        "    B ->> Provider: Acquire (new_uuid=B1)",
        "    Provider ->> B: Failure (uuid=A1)",
        "    B ->> Provider: Acquire (new_uuid=B2)",
        "    A ->> Provider: Release (uuid=A1)",
        "    Provider ->> B: Failure (uuid=A1)",
        "    Provider ->> A: Released (uuid=A1)",
    ];
    assert_eq!(
        drawn(&scene),
        [
            "B ->> Provider: Acquire (new_uuid=B*)",
            "Provider ->> B: Failure (uuid=A1)",
            "A ->> Provider: Release (uuid=A1)",
            "Provider ->> A: Released (uuid=A1)",
        ]
    );
}

on_every_store!(scenes_happen_as_drawn);
