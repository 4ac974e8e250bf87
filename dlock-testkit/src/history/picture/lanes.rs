//! The lanes: who is in which, and what is drawn there.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    RIGHT,
    canvas::{Canvas, Scale},
    colour,
};
use crate::history::{
    Line, Micros, What,
    checker::{
        Violation,
        facts::{At, Call, Facts, NameFacts, TermFacts},
    },
    line::{CommitKind, KILL, Outcome, PAUSE},
};

/// A row of bars in a lane, and a lane's own margins.
const ROW: f64 = 30.0;
const MARGIN: f64 = 13.0;

pub(super) struct Lanes<'f, 'a> {
    facts: &'f Facts<'a>,
    names: Vec<&'f NameFacts<'a>>,
    scale: Scale,
    /// The processes in the order of their names, then the store, then the resources.
    lanes: Vec<Lane<'f, 'a>>,
}

struct Lane<'f, 'a> {
    label: String,
    of: Of<'f, 'a>,
    rows: usize,
}

enum Of<'f, 'a> {
    /// Each term with its row.
    Process(Vec<(&'f TermFacts<'a>, usize)>),
    Store,
    Resource(String),
}

/// The part of a process's name that its incarnations share.
fn base(process: &str) -> &str {
    process.split('#').next().unwrap_or_default()
}

impl<'f, 'a> Lanes<'f, 'a> {
    pub(super) fn new(facts: &'f Facts<'a>, names: &BTreeSet<&'a str>, scale: Scale) -> Self {
        let names: Vec<_> = names
            .iter()
            .filter_map(|name| facts.names.get(name))
            .collect();
        let mut processes: BTreeMap<&str, Vec<(&TermFacts<'_>, usize)>> = BTreeMap::new();
        for process in facts.rates.keys() {
            processes.entry(base(process)).or_default();
        }
        for of_name in &names {
            for ask in &of_name.asks {
                processes.entry(base(ask.process)).or_default();
            }
            for (_, term) in of_name.terms() {
                if !term.process.is_empty() {
                    let terms = processes.entry(base(term.process)).or_default();
                    terms.push((term, 0));
                }
            }
        }
        let mut lanes: Vec<_> = processes
            .into_iter()
            .map(|(process, mut terms)| Lane {
                label: process.to_owned(),
                rows: stacked(facts, &mut terms),
                of: Of::Process(terms),
            })
            .collect();
        if facts.header.commits {
            lanes.push(Lane {
                label: "store".into(),
                of: Of::Store,
                rows: 1,
            });
        }
        let resources: BTreeSet<&str> = facts
            .writes
            .iter()
            .filter_map(|(_, write)| match write {
                What::Write { resource, .. } => Some(&**resource),
                _ => None,
            })
            .collect();
        lanes.extend(resources.into_iter().map(|resource| Lane {
            label: resource.to_owned(),
            of: Of::Resource(resource.to_owned()),
            rows: 1,
        }));
        Self {
            facts,
            names,
            scale,
            lanes,
        }
    }

    pub(super) fn height(&self) -> f64 {
        self.lanes.iter().map(Lane::height).sum()
    }

    pub(super) fn backgrounds(&self, canvas: &mut Canvas, top: f64) {
        for (lane, y) in self.placed(top) {
            let height = lane.height();
            canvas.line((24.0, y), (RIGHT, y), colour::GRID, 1.0, "");
            let label: String = lane.label.chars().take(14).collect();
            let middle = y + height / 2.0 + 5.0;
            let weight = match lane.of {
                Of::Process(_) => "bold",
                Of::Store | Of::Resource(_) => "normal",
            };
            canvas.text(24.0, middle, 14.0, colour::TEXT, weight, &label);
        }
    }

    /// Behind everything: where something was broken on purpose.
    pub(super) fn faults(&self, canvas: &mut Canvas, top: f64) {
        let mut last_label = [f64::MIN; 2];
        for fault in &self.facts.faults.all {
            let Some((x, width)) = self.scale.span(fault.from, fault.to) else {
                continue;
            };
            let everywhere = fault.process.is_empty();
            let (fill, shade) = match fault.kind.as_str() {
                KILL => (colour::OVER, 0.7),
                PAUSE => (colour::FAULT, 0.26),
                _ => (colour::FAULT, 0.13),
            };
            let style = format!("fill=\"{fill}\" fill-opacity=\"{shade}\"");
            let places: Vec<(f64, f64)> = if everywhere {
                vec![(top, self.height())]
            } else {
                self.placed(top)
                    .filter(|(lane, _)| {
                        matches!(lane.of, Of::Process(_)) && lane.label == base(&fault.process)
                    })
                    .map(|(lane, y)| (y, lane.height()))
                    .collect()
            };
            for (y, height) in places {
                canvas.rect((x, y), (width.max(3.0), height), &style);
                // The first of faults that stand close together names them.
                let label = &mut last_label[usize::from(everywhere)];
                if (x - *label).abs() > 60.0 || !everywhere {
                    *label = x;
                    let x = x.min(RIGHT - 7.0 * width_of(&fault.kind)) + 3.0;
                    let ink = if fault.kind == KILL {
                        colour::FAINT
                    } else {
                        colour::FAULT
                    };
                    canvas.text(x, y + 10.5, 10.5, ink, "bold", &fault.kind);
                }
                if fault.kind == KILL && self.scale.shows(fault.from) {
                    canvas.cross((x, y + height / 2.0), 7.0, colour::TEXT);
                }
            }
        }
    }

    pub(super) fn draw(&self, canvas: &mut Canvas, top: f64) {
        for (lane, y) in self.placed(top) {
            match &lane.of {
                Of::Process(terms) => {
                    self.waits(canvas, lane, y);
                    for (term, row) in terms {
                        self.term(canvas, term, lane.row(y, *row));
                    }
                }
                Of::Store => self.store(canvas, lane.row(y, 0)),
                Of::Resource(resource) => self.resource(canvas, resource, lane.row(y, 0)),
            }
        }
        self.overlaps(canvas, top);
    }

    /// Where two leases of the one lock that is shown are valid at the same time.
    fn overlaps(&self, canvas: &mut Canvas, top: f64) {
        if self.names.len() != 1 {
            return;
        }
        let mut leases: Vec<(Micros, Micros, f64)> = Vec::new();
        for (lane, y) in self.placed(top) {
            let Of::Process(terms) = &lane.of else {
                continue;
            };
            leases.extend(terms.iter().filter_map(|(term, row)| {
                let (from, until) = term.valid(&self.facts.faults)?;
                Some((from.t, until, lane.row(y, *row)))
            }));
        }
        leases.sort_by_key(|(from, ..)| *from);
        let band = format!("fill=\"{}\" fill-opacity=\"0.16\"", colour::BROKEN);
        let edge = format!(
            "fill=\"none\" stroke=\"{}\" stroke-width=\"2.5\" rx=\"3\"",
            colour::BROKEN
        );
        let mut longest: Option<(Micros, f64)> = None;
        for (from, until, y) in leases {
            if let Some((busy, other)) = longest
                && busy > from
                && let Some((x, width)) = self.scale.span(from, busy.min(until))
            {
                let (high, low) = (other.min(y) - 5.0, other.max(y) + ROW - 3.0);
                canvas.rect((x, high), (width, low - high), &band);
                for y in [other, y] {
                    canvas.rect((x, y), (width, ROW - 8.0), &edge);
                }
            }
            if longest.is_none_or(|(busy, _)| until > busy) {
                longest = Some((until, y));
            }
        }
    }

    /// Rings around what shows the violation.
    pub(super) fn evidence(
        &self,
        canvas: &mut Canvas,
        top: f64,
        lines: &[Line],
        violation: &Violation,
    ) {
        for line in violation.lines.iter().filter_map(|line| lines.get(*line)) {
            for (lane, y) in self.placed(top) {
                let here = match (&lane.of, &line.what) {
                    (Of::Store, What::Commit(_)) => true,
                    (Of::Resource(name), What::Write { resource, .. }) => **name == **resource,
                    (Of::Process(_), _) => {
                        !line.process.is_empty() && lane.label == base(&line.process)
                    }
                    _ => false,
                };
                if here && self.scale.shows(line.t) {
                    let row = lane.term_row(line);
                    let style = format!(
                        "fill=\"none\" stroke=\"{}\" stroke-width=\"2.5\"",
                        colour::BROKEN
                    );
                    let middle = lane.row(y, row) + ROW / 2.0 - 4.0;
                    canvas.circle((self.scale.x(line.t), middle), 12.0, &style);
                }
            }
        }
    }

    fn placed(&self, top: f64) -> impl Iterator<Item = (&Lane<'f, 'a>, f64)> {
        self.lanes.iter().scan(top, |next, lane| {
            let y = *next;
            *next += lane.height();
            Some((lane, y))
        })
    }

    fn waits(&self, canvas: &mut Canvas, lane: &Lane<'_, '_>, y: f64) {
        let low = y + lane.height() - 6.0;
        for ask in self.names.iter().flat_map(|of_name| &of_name.asks) {
            let ended = ask.ended.map_or(self.facts.end, |at| at.t);
            if base(ask.process) == lane.label
                && ask.waits
                && let Some((x, width)) = self.scale.span(ask.began.t, ended)
            {
                let style = "stroke-dasharray=\"2 3\"";
                canvas.line((x, low), (x + width, low), colour::WAITS, 2.0, style);
            }
        }
    }

    /// A lease: its bar, what its holder did not know, its renewals, its failures.
    fn term(&self, canvas: &mut Canvas, term: &TermFacts<'_>, y: f64) {
        let Self { facts, scale, .. } = self;
        let (bar, middle) = (ROW - 8.0, y + (ROW - 8.0) / 2.0);
        if let Some((granted, until)) = term.valid(&facts.faults) {
            // What the holder still had in hand after it was over.
            let held = term.release_began.map_or(until, |at| at.t);
            if held > until
                && let Some((x, width)) = scale.span(until, held)
            {
                let style = format!(
                    "fill=\"{}\" stroke=\"{}\" stroke-dasharray=\"4 3\"",
                    colour::OVER,
                    colour::WAITS
                );
                canvas.rect((x, y), (width, bar), &style);
            }
            if let Some((x, width)) = scale.span(granted.t, until) {
                let style = format!("fill=\"{}\" rx=\"3\"", colour::VALID);
                canvas.rect((x, y), (width, bar), &style);
            }
            self.unsure(canvas, term, until, y);
            self.successes(canvas, term, y);
            if let (Some((x, width)), Some(token)) = (scale.span(granted.t, until), term.token()) {
                let label = short(token);
                let room = width > 15.0 + 8.0 * width_of(&label);
                let (x, y, fill) = if room {
                    (x + 15.0, y + 15.5, "#ffffff")
                } else {
                    (x + width + 4.0, y + 15.5, colour::TEXT)
                };
                canvas.text(x, y, 12.0, fill, "bold", &label);
            }
        }
        for call in term
            .acquires
            .iter()
            .chain(&term.renews)
            .chain(&term.releases)
        {
            self.failure(canvas, call, middle);
        }
    }

    fn unsure(&self, canvas: &mut Canvas, term: &TermFacts<'_>, until: Micros, y: f64) {
        let renew_every = match self.facts.header.renew_every {
            0 => self.facts.duration(term) / 3,
            every => every,
        };
        let patience = renew_every + self.facts.duration(term) / 6;
        for (index, belief) in term.beliefs.iter().enumerate() {
            let next = term.beliefs.get(index + 1).map_or(until, |next| next.at.t);
            let from = belief.sent + patience;
            if term.keep.is_some()
                && from < next.min(until)
                && let Some((x, width)) = self.scale.span(from, next.min(until))
            {
                canvas.rect((x, y), (width, ROW - 8.0), "fill=\"url(#unsure)\"");
            }
        }
    }

    /// Ticks at credited renewals.
    fn successes(&self, canvas: &mut Canvas, term: &TermFacts<'_>, y: f64) {
        for belief in term.beliefs.iter().filter(|belief| belief.n > 0) {
            if self.scale.shows(belief.at.t) {
                let x = self.scale.x(belief.at.t);
                canvas.line((x, y), (x, y + ROW - 8.0), "#ffffff", 1.6, "");
            }
        }
    }

    /// A cross where a call ended without a good answer; a dot where somebody else held the lock.
    fn failure(&self, canvas: &mut Canvas, call: &Call, middle: f64) {
        let Some((at, outcome)) = call.answered else {
            return;
        };
        if !self.scale.shows(at.t) {
            return;
        }
        let x = self.scale.x(at.t);
        match outcome {
            Outcome::Ok => {}
            Outcome::Held => {
                let style = format!("fill=\"{}\"", colour::WAITS);
                canvas.circle((x, middle), 2.6, &style);
            }
            _ => canvas.cross((x, middle), 4.0, colour::FAILED),
        }
    }

    /// Whom the store has the name for, and until when.
    fn store(&self, canvas: &mut Canvas, y: f64) {
        for of_name in &self.names {
            let mut open: Option<(At, u64, Micros)> = None;
            let mut taken_over = false;
            for (at, commit) in &of_name.commits {
                let expiry = commit.expiry.unwrap_or(at.t + commit.duration);
                match commit.kind {
                    CommitKind::Take => {
                        self.kept(canvas, open, at.t, y, taken_over);
                        taken_over = open.is_some();
                        open = Some((*at, commit.token, expiry));
                    }
                    CommitKind::Renew => {
                        open = open.map(|(from, token, _)| (from, token, expiry));
                        if self.scale.shows(at.t) {
                            let x = self.scale.x(at.t);
                            let to = (x, y + ROW - 8.0);
                            canvas.line((x, y + ROW - 14.0), to, colour::STORE_EDGE, 1.5, "");
                        }
                    }
                    CommitKind::Release | CommitKind::Delete | CommitKind::Forget => {
                        self.kept(canvas, open.take(), at.t, y, taken_over);
                        taken_over = false;
                    }
                    CommitKind::Revoke | CommitKind::Touch | CommitKind::Undo => {}
                }
            }
            self.kept(canvas, open, Micros::MAX, y, taken_over);
        }
    }

    fn kept(
        &self,
        canvas: &mut Canvas,
        term: Option<(At, u64, Micros)>,
        until: Micros,
        y: f64,
        taken_over: bool,
    ) {
        let Some((from, token, expiry)) = term else {
            return;
        };
        let Some((x, width)) = self.scale.span(from.t, expiry.min(until)) else {
            return;
        };
        let style = format!(
            "fill=\"{}\" stroke=\"{}\" rx=\"3\" fill-opacity=\"0.85\"",
            colour::STORE,
            colour::STORE_EDGE
        );
        canvas.rect((x, y), (width, ROW - 8.0), &style);
        let label = short(token);
        if width > 15.0 + 8.0 * width_of(&label) {
            canvas.text(x + 15.0, y + 15.5, 12.0, colour::TEXT, "normal", &label);
        }
        if taken_over && self.scale.shows(from.t) {
            canvas.arrow((x, y + ROW - 9.0), colour::TEXT);
        }
    }

    fn resource(&self, canvas: &mut Canvas, wanted: &str, y: f64) {
        let middle = y + (ROW - 8.0) / 2.0;
        let mut highest = 0;
        let mut label_from = f64::MIN;
        for (at, write) in &self.facts.writes {
            let What::Write {
                resource,
                token,
                accepted,
                ..
            } = write
            else {
                continue;
            };
            if **resource != *wanted {
                continue;
            }
            let stale = *accepted && *token < highest;
            highest = highest.max(if *accepted { *token } else { 0 });
            if !self.scale.shows(at.t) {
                continue;
            }
            let x = self.scale.x(at.t);
            if *accepted {
                let fill = if stale { colour::BROKEN } else { colour::VALID };
                canvas.circle((x, middle), 5.0, &format!("fill=\"{fill}\""));
            } else {
                canvas.cross((x, middle), 4.0, colour::WAITS);
            }
            if x > label_from || stale {
                let label = short(*token);
                label_from = x + 8.0 * width_of(&label);
                let x = (x - 4.0).min(RIGHT + 24.0 - 6.5 * width_of(&label));
                canvas.text(x, y + ROW + 1.0, 10.5, colour::FAINT, "normal", &label);
            }
        }
    }
}

impl Lane<'_, '_> {
    #[expect(clippy::cast_precision_loss, reason = "a few rows")]
    fn height(&self) -> f64 {
        2.0 * MARGIN + ROW * self.rows as f64
    }

    #[expect(clippy::cast_precision_loss, reason = "a few rows")]
    fn row(&self, y: f64, row: usize) -> f64 {
        y + MARGIN + ROW * row as f64
    }

    /// The row of the term that a line is about.
    fn term_row(&self, line: &Line) -> usize {
        let Of::Process(terms) = &self.of else {
            return 0;
        };
        let of_line = |term: &TermFacts<'_>| {
            term.beliefs.iter().any(|belief| belief.at.t == line.t)
                || term.grants.iter().any(|(at, _)| at.t == line.t)
        };
        terms
            .iter()
            .find(|(term, _)| of_line(term))
            .map_or(0, |(_, row)| *row)
    }
}

/// Puts leases that are valid at the same time into rows of their own; how many it takes.
fn stacked(facts: &Facts<'_>, terms: &mut [(&TermFacts<'_>, usize)]) -> usize {
    let spans: Vec<_> = terms
        .iter()
        .map(|(term, _)| term.valid(&facts.faults))
        .collect();
    let mut order: Vec<usize> = (0..terms.len())
        .filter(|index| spans[*index].is_some())
        .collect();
    order.sort_by_key(|index| spans[*index].map(|(from, _)| from.t));
    let mut rows: Vec<Micros> = Vec::new();
    for index in order {
        let Some((from, until)) = spans[index] else {
            continue;
        };
        let free = rows.iter().position(|busy| *busy <= from.t);
        let row = free.unwrap_or(rows.len());
        if row == rows.len() {
            rows.push(until);
        } else {
            rows[row] = until;
        }
        terms[index].1 = row;
    }
    rows.len().clamp(1, 4)
}

/// Tokens made of the time have sixteen digits, of which the last ones differ.
fn short(token: u64) -> String {
    let digits = token.to_string();
    if digits.len() <= 8 {
        format!("token {digits}")
    } else {
        format!("token …{}", &digits[digits.len() - 7..])
    }
}

#[expect(clippy::cast_precision_loss, reason = "a few letters")]
fn width_of(text: &str) -> f64 {
    text.chars().count() as f64
}
