//! A history as a picture: an SVG timeline with a lane for each process, the store and the
//! resources, on which a person sees at a glance what went wrong.

mod bars;
mod canvas;
mod lanes;
mod legend;

use std::collections::BTreeSet;

use self::{
    canvas::{Canvas, Scale},
    lanes::Lanes,
};
use super::{
    Line, Micros,
    checker::{Report, Seconds, Violation, facts::Facts},
};

/// The colours, chosen to differ in brightness too.
mod colour {
    pub(super) const VALID: &str = "#2f9e6e";
    pub(super) const UNSURE: &str = "#f2b134";
    pub(super) const OVER: &str = "#e3e6ea";
    pub(super) const WAITS: &str = "#9aa5b1";
    pub(super) const STORE: &str = "#cfe0f2";
    pub(super) const STORE_EDGE: &str = "#5b8db8";
    pub(super) const FAILED: &str = "#d9661f";
    pub(super) const FAULT: &str = "#7a5fd3";
    pub(super) const BROKEN: &str = "#d7263d";
    pub(super) const TEXT: &str = "#1f2933";
    pub(super) const FAINT: &str = "#616e7c";
    pub(super) const GRID: &str = "#e4e7eb";
}

/// Where the lanes begin and end.
const LEFT: f64 = 130.0;
const RIGHT: f64 = 1250.0;
const WIDTH: f64 = 1280.0;
const TOP: f64 = 118.0;

/// Draws a history with what a check of it found: the time around the first violation, or all of it
/// where nothing is broken. `None` without a header.
///
/// ```
/// # use std::time::Duration;
/// # use dlock_core::provider::Discipline;
/// # use dlock_proof::history::{Header, Log, checker::check, picture};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let log = Log::memory();
/// log.header(Header::new("empty", Discipline::StoreClock, Duration::from_secs(1)));
/// let svg = picture(&log.lines(), &check(&log.lines()));
/// assert!(svg.is_some_and(|svg| svg.starts_with("<svg")));
/// # }
/// ```
#[must_use]
pub fn picture(lines: &[Line], report: &Report) -> Option<String> {
    let facts = Facts::new(lines)?;
    let violation = report.violations.first();
    let window = window(lines, &facts, violation);
    let scale = Scale::new(window, LEFT, RIGHT);
    let names = names(&facts, violation);
    let lanes = Lanes::new(&facts, &names, scale);
    let bottom = TOP + lanes.height();
    let mut canvas = Canvas::new(WIDTH, bottom + 96.0);

    heading(&mut canvas, &facts, violation, &names, window);
    canvas.axis(scale, TOP - 6.0, bottom);
    lanes.backgrounds(&mut canvas, TOP);
    lanes.faults(&mut canvas, TOP);
    if let Some(violation) = violation {
        mark(&mut canvas, scale, violation, bottom);
    }
    lanes.draw(&mut canvas, TOP);
    if let Some(violation) = violation {
        lanes.evidence(&mut canvas, TOP, lines, violation);
    }
    legend::draw(&mut canvas, bottom + 44.0);
    Some(canvas.finish())
}

/// What is shown: everything, or the violation with what led to it and half a lease around.
fn window(lines: &[Line], facts: &Facts<'_>, violation: Option<&Violation>) -> (Micros, Micros) {
    let start = lines
        .iter()
        .filter(|line| !matches!(line.what, super::What::Header(_)))
        .map(|line| line.t)
        .min()
        .unwrap_or_default();
    let (mut from, mut to) = (start, facts.end);
    if let Some(violation) = violation {
        let shown = |index: &usize| lines.get(*index).map(|line| line.t);
        let last = violation.lines.iter().filter_map(shown).max();
        let last = last.unwrap_or_default().max(violation.t);
        let around = facts.header.duration / 2;
        from = from.max(violation.since.saturating_sub(around));
        to = to.min(last.saturating_add(2 * around)).max(last + 1);
    }
    (from, to.max(from + 1))
}

/// The locks that are shown: that of the violation, or all.
fn names<'a>(facts: &Facts<'a>, violation: Option<&Violation>) -> BTreeSet<&'a str> {
    let wanted = violation.map_or("", |violation| &violation.name);
    facts
        .names
        .keys()
        .copied()
        .filter(|name| wanted.is_empty() || *name == wanted)
        .collect()
}

fn heading(
    canvas: &mut Canvas,
    facts: &Facts<'_>,
    violation: Option<&Violation>,
    names: &BTreeSet<&str>,
    (from, to): (Micros, Micros),
) {
    let header = facts.header;
    let mut origin = vec![header.title.clone()];
    if let Some(seed) = header.seed {
        origin.push(format!("seed {seed}"));
    }
    if let [name] = names.iter().collect::<Vec<_>>()[..] {
        origin.push(format!("lock \"{name}\""));
    }
    origin.push(format!("lease {}", Seconds(header.duration)));
    origin.push(format!("shown: {} to {}", Seconds(from), Seconds(to)));
    let origin = origin.join("  ·  ");
    let (title, says, colour) = match violation {
        Some(violation) => (
            format!(
                "{} broken: {}",
                violation.invariant,
                violation.invariant.says()
            ),
            violation.says.as_str(),
            colour::BROKEN,
        ),
        None => ("Nothing is broken".to_owned(), "", colour::TEXT),
    };
    canvas.text(24.0, 34.0, 21.0, colour, "bold", &title);
    canvas.text(24.0, 58.0, 14.5, colour::TEXT, "normal", says);
    canvas.text(24.0, 80.0, 12.5, colour::FAINT, "normal", &origin);
}

/// The instant at which it is broken, through all lanes.
fn mark(canvas: &mut Canvas, scale: Scale, violation: &Violation, bottom: f64) {
    let x = scale.x(violation.t);
    canvas.line((x, TOP - 6.0), (x, bottom), colour::BROKEN, 2.0, "");
    let label = violation.invariant.to_string();
    #[expect(clippy::cast_precision_loss, reason = "a few letters")]
    let width = 14.0 + 8.0 * label.len() as f64;
    let left = (x - width / 2.0).clamp(LEFT, RIGHT - width);
    canvas.rect(
        (left, TOP - 26.0),
        (width, 20.0),
        &format!("fill=\"{}\" rx=\"4\"", colour::BROKEN),
    );
    canvas.centred(left + width / 2.0, TOP - 11.5, 13.0, "#ffffff", &label);
}
