use super::*;

const PAUSE: Duration = Duration::from_millis(7);
const LONG: Duration = Duration::from_secs(7);

/// A waiter whose turn has come, and that knows nothing else.
const FACTS: Facts = Facts {
    gone: false,
    is_late: false,
    woken: false,
    looked: true,
    expects_term: None,
    admitted: true,
    reads: false,
    result: None,
};

fn after(result: CallResult) -> Facts {
    Facts {
        result: Some(result),
        ..FACTS
    }
}

#[test]
fn next_step_of_a_waiter() {
    let refused = after(CallResult::Refused(PAUSE));
    let gone = Facts {
        gone: true,
        is_late: true,
        ..FACTS
    };
    let silence = after(CallResult::Silence(PAUSE));
    let beyond_help = after(CallResult::BeyondHelp);
    let expects = Facts {
        expects_term: Some(LONG),
        ..FACTS
    };
    #[rustfmt::skip]
    let table = [
        ("it tries", FACTS, Step::Try),
        ("a read costs less", Facts { reads: true, ..FACTS }, Step::Read),
        ("but a wake-up promises a grant", Facts { reads: true, woken: true, ..FACTS }, Step::Try),
        ("a term of its own client costs nothing", Facts { looked: false, ..FACTS }, Step::Take),
        ("also in an outage", Facts { looked: false, admitted: false, ..FACTS }, Step::Take),
        ("also after a wake-up", Facts { looked: false, woken: true, ..FACTS }, Step::Take),
        ("before it expects one", Facts { looked: false, ..expects }, Step::Take),
        ("one that will come is awaited", expects, Step::Sleep(LONG)),
        ("also if a wake-up came", Facts { woken: true, ..expects }, Step::Sleep(LONG)),
        ("also in an outage", Facts { admitted: false, ..expects }, Step::Sleep(LONG)),
        ("an outage lets others call first", Facts { admitted: false, ..FACTS }, Step::Skip),
        ("with reads, too", Facts { admitted: false, reads: true, ..FACTS }, Step::Skip),
        ("and after a wake-up", Facts { admitted: false, woken: true, ..FACTS }, Step::Skip),
        ("and at its limit", Facts { admitted: false, is_late: true, ..FACTS }, Step::Skip),
        ("a caller that has gone takes no term", Facts { looked: false, ..gone }, Step::Leave),
        ("nor sends a call", Facts { woken: true, ..gone }, Step::Leave),
        ("a limit allows a call", Facts { is_late: true, ..FACTS }, Step::Try),
        ("but none that a wake-up asks for", Facts { is_late: true, woken: true, looked: false, ..FACTS }, Step::TimeOut),
        ("refused, it sleeps", refused, Step::Sleep(PAUSE)),
        ("unless its limit has passed", Facts { is_late: true, ..refused }, Step::TimeOut),
        ("refused after a wake-up, it sleeps, too", Facts { woken: true, ..refused }, Step::Sleep(PAUSE)),
        ("without an answer, no wake-up ends its sleep", silence, Step::Rest(PAUSE)),
        ("without a call in an outage, neither", Facts { admitted: false, ..silence }, Step::Rest(PAUSE)),
        ("nor after a wake-up", Facts { admitted: false, woken: true, ..silence }, Step::Rest(PAUSE)),
        ("it looks for no term before it has slept", Facts { looked: false, ..silence }, Step::Rest(PAUSE)),
        ("without an answer, at its limit", Facts { is_late: true, ..silence }, Step::TimeOut),
        ("a store beyond help ends the wait", beyond_help, Step::GiveUp),
        ("with the store's error, also at its limit", Facts { is_late: true, ..beyond_help }, Step::GiveUp),
    ];
    for (case, facts, step) in table {
        assert_eq!(next(&facts), step, "{case}");
    }
}
