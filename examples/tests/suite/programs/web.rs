//! `web` books one order of a customer at a time, and refuses one that would wait for too long.

use crate::place::Place;

async fn second_order_at_a_time_is_refused(place: Place) {
    let printed = place.web().await;
    let lines: Vec<&str> = printed
        .lines()
        .map(|line| line.split(" with token ").next().unwrap())
        .collect();
    assert_eq!(
        lines,
        [
            "customer 7: 409 another order is in progress",
            "customer 7: 200 booked",
            "customer 8: 200 booked",
        ],
        "{printed}"
    );
}

on_every_store!(second_order_at_a_time_is_refused);
