//! `leader`: one of three leads; when it is killed, and when it stops, the next one does.

use crate::place::Place;

async fn next_one_takes_over(place: Place) {
    let printed = place.leader().await;
    let lines: Vec<&str> = printed.lines().collect();
    let gains: Vec<(&str, u64)> = lines
        .iter()
        .filter_map(|line| line.split_once(" leads with token "))
        .map(|(who, token)| (who, token.parse().unwrap()))
        .collect();
    let [first, second, third] = gains[..] else {
        panic!("{printed}");
    };
    let mut names = [first.0, second.0, third.0];
    names.sort_unstable();
    assert_eq!(names, ["a", "b", "c"], "{printed}");
    assert!(first.1 < second.1 && second.1 < third.1, "{printed}");

    // The killed instance printed nothing more; the other two stopped in good order.
    let killed = format!("== {} leads: killing it", first.0);
    let at = lines.iter().position(|line| *line == killed).unwrap();
    let stepped = |who: &str| lines.contains(&&*format!("{who} has stepped down"));
    assert!(
        !stepped(first.0) && stepped(second.0) && stepped(third.0),
        "{printed}"
    );
    assert!(
        !lines
            .iter()
            .any(|line| line.contains("does not lead any more")),
        "{printed}"
    );
    // Every run was done by the leader with that token.
    for line in &lines {
        let Some((who, token)) = line.split_once(" runs the task with token ") else {
            continue;
        };
        assert!(
            gains.contains(&(who, token.parse().unwrap())),
            "{line}: {printed}"
        );
    }
    assert!(
        lines[at..]
            .iter()
            .any(|line| line.starts_with("== ") && line.ends_with("after the kill"))
    );
}

on_every_store!(next_one_takes_over);
