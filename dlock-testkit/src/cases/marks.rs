//! N1 to N3: the mark that a refused waiter leaves, and the release that reports it. A provider without marks shows 0
//! everywhere, and reports that no release was wanted.

use std::time::Duration;

use dlock_core::{
    Name, Record,
    provider::{
        AcquireOutcome, Ask, AskOutcome, ReleaseOutcome, Renew, RenewOutcome, Revoke, RevokeOutcome,
    },
};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use super::{
    admin::both,
    batch::answered,
    closed::{LONG, closing},
    races::{at_once, racers, subjects},
};
use crate::{
    Bench, Subject,
    slow::joined,
    subject::{began, unchanged},
};

/// The mark of the waiters: all 32 bits are kept.
const MARK: u32 = 0xfedc_ba98;
const ANOTHER: u32 = 7;

pub(super) async fn refused_waiter_leaves_one_mark_and_changes_nothing_else(bench: Bench) {
    let (subject, other) = (bench.subject().await, bench.subject().await);
    let name = bench.name("");
    let a = bench.term(&name).data(Some(b"payload".to_vec()));
    subject.grants(&a).await;
    subject.renews(&a, 3).await;
    // So that a rewritten expiry would show.
    sleep(Duration::from_millis(30)).await;
    let mut expected = subject.record(&name).await;
    unchanged(&expected, &other.refuses(&bench.term(&name)).await);
    unchanged(&expected, &subject.record(&name).await);
    let shown = marked(&bench, &other, &name).await;
    expected.wanted = wanted(&bench);
    unchanged(&expected, &shown);
    unchanged(&expected, &subject.record(&name).await);
    for (marks, subject) in [(ANOTHER, &subject), (MARK, &other), (0, &other)] {
        let late = bench.term(&name).marks(marks);
        unchanged(&expected, &subject.refuses(&late).await);
    }
    unchanged(&expected, &subject.record(&name).await);
}

pub(super) async fn marked_term_is_renewed_and_its_release_says_so(bench: Bench) {
    let (subject, other) = (bench.subject().await, bench.subject().await);
    let name = bench.name("");
    let a = bench.term(&name);
    let token = subject.grants(&a).await;
    marked(&bench, &other, &name).await;
    subject.renews(&a, 1).await;
    subject.renews(&a, 1).await;
    let batch = [Renew::new(name.clone(), a.new, 2)];
    assert_eq!(
        answered(&**subject.provider(), &batch).await,
        [RenewOutcome::Renewed { asked: false }]
    );
    let mut expected = subject.record(&name).await;
    assert_eq!((expected.renewals, expected.wanted), (2, wanted(&bench)));
    for _ in 0..2 {
        assert_eq!(subject.releases(&a, Some(token)).await, wanted(&bench) != 0);
        (expected.released, expected.remaining) = (true, None);
        assert_eq!(subject.record(&name).await, expected);
    }
    // A refusal without a mark makes no release wanted.
    let b = bench.term(&name);
    let token = subject.grants(&b).await;
    other.refuses(&bench.term(&name)).await;
    for _ in 0..2 {
        assert!(!subject.releases(&b, Some(token)).await, "nothing marked");
    }
    subject.holds_not(&a).await;
}

pub(super) async fn next_term_begins_unmarked(bench: Bench) {
    let subject = bench.subject().await;
    let name = bench.name("");
    // An absent name (A1), and the repeat (A2).
    let a = bench.term(&name).marks(ANOTHER);
    let token = subject.grants(&a).await;
    subject.grants(&a).await;
    began(&subject.record(&name).await, &a, token);
    marked(&bench, &subject, &name).await;
    subject.releases(&a, Some(token)).await;
    let before = subject.record(&name).await;
    subject.spends(&a).await; // A3
    assert_eq!(subject.record(&name).await, before);
    let b = bench.term_of(&name, bench.lease()).marks(ANOTHER);
    let asked = Instant::now();
    let token = subject.grants(&b).await; // A4
    began(&subject.record(&name).await, &b, token);
    marked_until(asked + b.duration, &bench, &subject, &name).await;
    if bench.store_clock() {
        bench.outlast(b.duration).await;
        let c = bench.term(&name).marks(ANOTHER);
        let token = subject.grants(&c).await; // A5
        began(&subject.record(&name).await, &c, token);
    }
}

pub(super) async fn late_copy_marks_the_next_term_and_does_nothing_more(bench: Bench) {
    let subject = bench.subject().await;
    let name = bench.name("");
    let a = bench.term(&name).marks(MARK);
    let token = subject.grants(&a).await;
    subject.releases(&a, Some(token)).await;
    let b = bench.term(&name);
    let token = subject.grants(&b).await;
    let mut shown = subject.refuses(&a).await;
    let stored = subject.record(&name).await;
    assert_eq!(stored.wanted, shown.wanted, "the mark that was shown");
    shown.wanted = 0;
    began(&shown, &b, token);
    subject.renews(&b, 1).await;
    assert_eq!(
        subject.releases(&b, Some(token)).await,
        stored.wanted == MARK
    );
}

pub(super) async fn claim_keeps_the_mark(bench: Bench) {
    let (subject, other) = (bench.subject().await, bench.subject().await);
    let name = bench.name("");
    let a = bench.term(&name);
    subject.grants(&a).await;
    subject.renews(&a, 2).await;
    let seen = subject.record(&name).await.version();
    marked(&bench, &other, &name).await;
    // The mark is not part of the version that was seen.
    let b = bench.term(&name).prev(Some(seen)).marks(ANOTHER);
    let token = other.grants(&b).await;
    let mut record = subject.record(&name).await;
    assert_eq!(record.wanted, wanted(&bench));
    record.wanted = 0;
    began(&record, &b, token);
    assert_eq!(other.releases(&b, Some(token)).await, wanted(&bench) != 0);
}

pub(super) async fn closing_keeps_the_mark_and_answers_that_nothing_was_wanted(bench: Bench) {
    if !bench.capabilities().closing {
        return;
    }
    let subject = bench.subject().await;
    for marked_first in [true, false] {
        let a = bench.term(&bench.name(&marked_first.to_string()));
        let token = subject.grants(&a).await;
        if marked_first {
            marked(&bench, &subject, &a.name).await;
        }
        let closing = closing(LONG);
        for _ in 0..2 {
            assert_eq!(
                subject.close(&a, Some(token), closing).await,
                ReleaseOutcome::Released { wanted: false },
                "it frees nothing"
            );
        }
        if !marked_first {
            marked(&bench, &subject, &a.name).await;
        }
        let closed = subject.record(&a.name).await;
        assert_eq!(
            (closed.uuid, closed.wanted),
            (closing.uuid(), wanted(&bench))
        );
    }
    if bench.store_clock() {
        let a = bench.term(&bench.name("over"));
        let token = subject.grants(&a).await;
        marked(&bench, &subject, &a.name).await;
        let closed = subject.close(&a, Some(token), closing(bench.lease())).await;
        assert_eq!(closed, ReleaseOutcome::Released { wanted: false });
        bench.outlast(bench.lease()).await;
        let b = bench.term(&a.name);
        let token = subject.grants(&b).await;
        began(&subject.record(&a.name).await, &b, token);
    }
}

pub(super) async fn ask_revoke_and_force_keep_the_mark(bench: Bench) {
    let (admin, subject) = both(&bench).await;
    let name = bench.name("");
    let a = bench.term(&name);
    subject.grants(&a).await;
    let ask = Ask::new(name.clone(), a.new);
    assert_eq!(subject.ask(&*admin, &ask).await, AskOutcome::Asked);
    marked(&bench, &subject, &name).await;
    let mut expected = subject.record(&name).await;
    assert_eq!((expected.asked, expected.wanted), (true, wanted(&bench)));
    assert_eq!(subject.ask(&*admin, &ask).await, AskOutcome::Asked);
    unchanged(&expected, &subject.record(&name).await);
    let revoke = Revoke::new(name.clone(), expected.version());
    let revoke = revoke.unwrap_or_else(|error| panic!("no uuid to revoke with: {error:?}"));
    let revoked = subject.revoke(&*admin, &revoke).await;
    assert_eq!(revoked, RevokeOutcome::Revoked);
    expected.uuid = revoke.new;
    unchanged(&expected, &subject.record(&name).await);
    let forced = subject.force(&*admin, &name, &expected).await;
    let says = wanted(&bench) != 0;
    assert_eq!(forced, ReleaseOutcome::Released { wanted: says });
    (expected.released, expected.remaining) = (true, None);
    assert_eq!(subject.record(&name).await, expected);
    // A try that requests a mark takes a lock that is marked.
    let b = bench.term(&name);
    subject.grants(&b).await;
    marked(&bench, &subject, &name).await;
    subject.ask(&*admin, &Ask::new(name.clone(), b.new)).await;
    let asked = subject.record(&name).await;
    assert_eq!((asked.asked, asked.wanted), (true, wanted(&bench)));
}

pub(super) async fn refusals_at_once_leave_one_mark(bench: Bench) {
    let subjects = subjects(&bench).await;
    let a = bench.term(&bench.name(""));
    subjects[0].grants(&a).await;
    let racers = (1..).zip(racers(&bench, &a.name));
    let racers = racers.map(|(mark, racer)| racer.marks(mark)).collect();
    let mut marks = vec![subjects[0].record(&a.name).await.wanted];
    for (_, outcome) in at_once(&subjects, racers).await {
        match outcome {
            AcquireOutcome::Held(record) => marks.push(record.wanted),
            other => panic!("the lock is held: {other:?}"),
        }
    }
    marks.push(subjects[0].record(&a.name).await.wanted);
    marks.retain(|mark| *mark != 0); // Seen before, or absent.
    marks.dedup();
    assert_eq!(marks.len(), usize::from(bench.capabilities().marks));
}

pub(super) async fn marks_beside_renewals_and_releases_disturb_neither(bench: Bench) {
    let subjects = subjects(&bench).await;
    for round in 0..40 {
        let a = bench.term(&bench.name(&round.to_string()));
        let token = subjects[0].grants(&a).await;
        let mut marking = JoinSet::new();
        for subject in &subjects[1..] {
            let (subject, b) = (subject.clone(), bench.term(&a.name).marks(MARK));
            marking.spawn(async move { (b.new, subject.acquire(&b).await) });
        }
        // A term is marked once, so each is renewed or released concurrently with the refusal.
        if round % 2 == 0 {
            subjects[0].renews(&a, 1).await;
        } else {
            subjects[0].releases(&a, Some(token)).await;
        }
        let mut next = None;
        while let Some(done) = marking.join_next().await {
            if let (uuid, AcquireOutcome::Acquired(_)) = joined(done) {
                next = Some(uuid);
            }
        }
        let record = subjects[0].record(&a.name).await;
        let (released, renewals) = match (round % 2, next) {
            (0, None) => (false, 1),
            (1, None) => (true, 0),
            (1, Some(_)) => (false, 0),
            _ => panic!("a held lock was granted: {record:?}"),
        };
        assert_eq!(
            (record.uuid, record.released, record.renewals),
            (next.unwrap_or(a.new), released, renewals),
            "a mark took something back"
        );
    }
}

/// Waits on a held lock: is refused, and marks it. A provider may omit a mark, but not every time.
pub(super) async fn marked(bench: &Bench, subject: &Subject, name: &Name) -> Record {
    marked_until(Instant::now() + LONG, bench, subject, name).await
}

/// The same, for a lease that lasts until `end`.
async fn marked_until(end: Instant, bench: &Bench, subject: &Subject, name: &Name) -> Record {
    for _ in 0..20 {
        let waiter = bench.term(name).marks(MARK);
        let shown = subject.refuses_until(end, &waiter).await;
        if shown.wanted != 0 || !bench.capabilities().marks {
            assert_eq!(shown.wanted, wanted(bench), "the mark of the refusal");
            return shown;
        }
        sleep(Duration::from_millis(20)).await;
    }
    panic!("a refused waiter never marks {name}");
}

/// The mark in a record that [`marked`] has marked.
fn wanted(bench: &Bench) -> u32 {
    if bench.capabilities().marks { MARK } else { 0 }
}
