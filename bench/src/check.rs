//! A run beside the figures that are to be reached.

mod locks;

use crate::{
    http,
    medians::Medians,
    results::{Parts, Results},
    systems::Store,
    table::{Table, number},
    tasks,
};

/// The row of the goals that a line belongs to, what is asked, and what came of it.
pub(crate) struct Line {
    pub(crate) row: &'static str,
    pub(crate) store: Store,
    pub(crate) asked: String,
    measured: String,
    pub(crate) verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Reached,
    Missed,
    /// Nothing is asked; the figure is shown.
    Shown,
    NotMeasured,
}

/// The table, and whether everything that was asked was measured and reached. What nobody measured is left out, be it
/// the locks, the queue or servers.
pub(crate) fn render(results: &Results) -> (String, bool) {
    let Parts {
        locks,
        queues,
        servers,
    } = results.parts();
    let mut lines = Vec::new();
    if locks {
        lines.extend(locks::lines(results));
    }
    if queues {
        lines.extend(of_queues(results));
    }
    if servers {
        lines.extend(http::check::lines(results));
    }
    render_lines(&lines)
}

pub(crate) fn render_locks(results: &Results) -> String {
    render_lines(&locks::lines(results)).0
}

pub(crate) fn render_queues(results: &Results) -> String {
    render_lines(&of_queues(results)).0
}

pub(crate) fn render_servers(results: &Results) -> String {
    render_lines(&http::check::lines(results)).0
}

fn of_queues(results: &Results) -> Vec<Line> {
    tasks::check::lines(&Medians::of(results), &results.sizes.queue.backlog)
}

fn render_lines(lines: &[Line]) -> (String, bool) {
    let mut table = Table::new(["figure", "store", "at least", "measured", ""]);
    for line in lines {
        let verdict = match line.verdict {
            Verdict::Reached => "reached",
            Verdict::Missed => "NOT REACHED",
            Verdict::Shown => "for information",
            Verdict::NotMeasured => "not measured",
        };
        table.row([
            line.row.to_owned(),
            line.store.to_string(),
            line.asked.clone(),
            line.measured.clone(),
            verdict.to_owned(),
        ]);
    }
    let count = |verdict| lines.iter().filter(|line| line.verdict == verdict).count();
    let (reached, missed) = (count(Verdict::Reached), count(Verdict::Missed));
    let absent = count(Verdict::NotMeasured);
    let text = format!(
        "\n### Figures to reach\n\n{}\n{reached} reached, {missed} not reached, {absent} not measured.\n",
        table.render(5)
    );
    (text, missed == 0 && absent == 0)
}

pub(crate) fn at_most(
    row: &'static str,
    store: Store,
    asked: String,
    measured: Option<f64>,
    limit: Option<f64>,
    unit: &str,
) -> Line {
    judge(
        row,
        store,
        asked,
        measured.zip(limit),
        |measured, limit| measured <= limit,
        ("≤", unit),
    )
}

pub(crate) fn at_least(
    row: &'static str,
    store: Store,
    asked: String,
    measured: Option<f64>,
    limit: f64,
    unit: &str,
) -> Line {
    let both = measured.map(|measured| (measured, limit));
    judge(
        row,
        store,
        asked,
        both,
        |measured, limit| measured >= limit,
        ("≥", unit),
    )
}

fn judge(
    row: &'static str,
    store: Store,
    asked: String,
    both: Option<(f64, f64)>,
    holds: fn(f64, f64) -> bool,
    (sign, unit): (&str, &str),
) -> Line {
    let (measured, verdict) = match both {
        None => ("–".to_owned(), Verdict::NotMeasured),
        Some((measured, limit)) => {
            let verdict = if holds(measured, limit) {
                Verdict::Reached
            } else {
                Verdict::Missed
            };
            let text = format!(
                "{} {sign} {} {unit}",
                number(Some(measured)),
                number(Some(limit))
            );
            (text.trim_end().to_owned(), verdict)
        }
    };
    Line {
        row,
        store,
        asked,
        measured,
        verdict,
    }
}

pub(crate) fn shown(
    row: &'static str,
    store: Store,
    asked: &str,
    measured: Option<f64>,
    beside: Option<f64>,
) -> Line {
    let beside = beside.map_or_else(String::new, |beside| {
        format!(" beside {}", number(Some(beside)))
    });
    Line {
        row,
        store,
        asked: asked.to_owned(),
        measured: format!("{}{beside}", number(measured)),
        verdict: Verdict::Shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(measured: Option<f64>, limit: Option<f64>) -> Verdict {
        at_most("a pair", Store::Redis, String::new(), measured, limit, "µs").verdict
    }

    #[test]
    fn what_was_not_measured_is_not_reached() {
        assert!(verdict(Some(1.0), Some(1.0)) == Verdict::Reached);
        assert!(verdict(Some(1.1), Some(1.0)) == Verdict::Missed);
        assert!(verdict(Some(f64::INFINITY), Some(1.5)) == Verdict::Missed);
        assert!(verdict(Some(f64::NAN), Some(1.5)) == Verdict::Missed);
        assert!(verdict(None, Some(1.0)) == Verdict::NotMeasured);
        assert!(verdict(Some(1.0), None) == Verdict::NotMeasured);
    }
}
