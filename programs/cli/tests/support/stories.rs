//! The stories of `stores`, `tickets` and `looking` that every kind of server is tried with, and those of TLS.

use dlock_test_servers::certificates::Certificates;

use super::{
    Scene,
    stores::{SETUP, STATUS, TRY, assert_all_end, assert_ended, set_up},
};
pub(crate) use super::{
    looking::healthy_store_is_examined_and_measured,
    stores::{
        candidates_lead_in_turn, commands_take_turns, force_frees_at_once,
        killed_holder_is_followed, nothing_is_purged, revoked_holder_ends_before_the_next_one,
        status_tells_who_holds_what,
    },
    tickets::{holder_gives_back_when_asked, ticket_holds_from_one_command_to_the_next},
};

/// A test of each story, on the scene that `$scene` makes. `$clock`: the store knows the remaining time of a lease.
macro_rules! shared_stories {
    ($scene:expr, clock: $clock:literal) => {
        shared_stories! { $scene =>
            candidates_lead_one_after_the_other: candidates_lead_in_turn,
            commands_never_run_at_the_same_time: commands_take_turns,
            holder_that_is_asked_gives_back: holder_gives_back_when_asked,
            operator_releases_a_lock: revoked_holder_ends_before_the_next_one,
            operator_releases_a_lock_by_force: force_frees_at_once,
            purge_leaves_what_is_not_old: nothing_is_purged,
            store_is_examined_and_measured: healthy_store_is_examined_and_measured,
            ticket_holds_a_lock: ticket_holds_from_one_command_to_the_next,
            waiter_follows_a_killed_holder: killed_holder_is_followed,
        }

        #[test]
        fn status_shows_the_records() {
            $crate::support::stories::status_tells_who_holds_what(&$scene, $clock);
        }
    };
    ($scene:expr => $($test:ident: $story:ident,)*) => {
        $(
            #[test]
            fn $test() {
                $crate::support::stories::$story(&$scene);
            }
        )*
    };
}
pub(crate) use shared_stories;

/// A server over TLS: it is reached only by clients that trust the authority of its certificate and use the name in
/// it. `trusting`: a scene that trusts this authority, and uses that name.
pub(crate) fn certificate_of_the_server_is_checked(
    trusting: impl Fn(&Certificates, &str) -> Scene,
    ours: &Certificates,
    stranger: &Certificates,
) {
    let right = trusting(ours, "localhost");
    set_up(&right);
    commands_take_turns(&right);
    for wrong in [trusting(stranger, "localhost"), trusting(ours, "127.0.0.1")] {
        assert_all_end(&wrong, &[TRY, STATUS, SETUP], 78, &["certificate"]);
    }
}

/// The advice for a client whose certificate the server does not accept, or that shows none.
pub(crate) const SHOW_ONE: &str = "sslcert and sslkey name the files of this client's";

/// A server that knows its clients by their certificates. `showing`: a scene of the client with these parameters in
/// its URL; `without`: a part of the message if there are none.
pub(crate) fn client_is_known_by_its_certificate(
    showing: impl Fn(&str) -> Scene,
    ours: &Certificates,
    stranger: &Certificates,
    without: &str,
) {
    let of = |certificates: &Certificates| {
        let (certificate, key) = (&certificates.certificate, &certificates.key);
        format!("sslcert={}&sslkey={}", certificate.display(), key.display())
    };
    let known = showing(&of(ours));
    set_up(&known);
    assert_ended(&known.finish(TRY), 0, "");
    let all = &[TRY, STATUS, SETUP][..];
    assert_all_end(&showing(""), all, 78, &[without]);
    assert_all_end(&showing(&of(stranger)), all, 78, &[SHOW_ONE]);
    let absent = format!("sslcert={}&sslkey=/none", ours.certificate.display());
    assert_all_end(&showing(&absent), &[TRY, SETUP], 78, &["can't read /none"]);
    let half = format!("sslcert={}", ours.certificate.display());
    assert_all_end(&showing(&half), &[TRY, SETUP], 78, &["sslkey"]);
}
