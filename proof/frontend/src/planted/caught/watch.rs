//! Which cases catch the wrong decisions of wake-ups.

caught! {
    WatchHearsLate: release_wakes_every_listener release_right_after_watch_is_hinted
        every_release_is_hinted_under_its_own_name watching_again_after_a_stream_was_dropped_works
        release_of_a_name_that_was_looked_at_is_hinted;
    HintsReachOneListener: release_wakes_every_listener watching_again_after_a_stream_was_dropped_works;
    HintsAreCut: every_release_is_hinted_under_its_own_name;
    HintsLoseCase: every_release_is_hinted_under_its_own_name;
    DropEndsTheOthers: watching_again_after_a_stream_was_dropped_works;
    HintsNeedARefusal: release_of_a_name_that_was_looked_at_is_hinted;
}
