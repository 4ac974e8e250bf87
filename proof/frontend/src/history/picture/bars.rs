//! What is drawn in a lane: leases, calls, commits, writes.

use super::{
    RIGHT,
    canvas::Canvas,
    colour,
    lanes::{Lane, Lanes, Of, ROW, base},
};
use crate::history::{
    Micros, What,
    checker::facts::{At, Call, TermFacts},
    line::{CommitKind, Outcome},
};

impl Lanes<'_, '_> {
    /// Where two leases of the one lock that is shown are valid at the same time.
    pub(super) fn overlaps(&self, canvas: &mut Canvas, top: f64) {
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

    pub(super) fn waits(&self, canvas: &mut Canvas, lane: &Lane<'_, '_>, y: f64) {
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
    pub(super) fn term(&self, canvas: &mut Canvas, term: &TermFacts<'_>, y: f64) {
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
    pub(super) fn store(&self, canvas: &mut Canvas, y: f64) {
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
                    CommitKind::Release
                    | CommitKind::Close
                    | CommitKind::Delete
                    | CommitKind::Forget => {
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

    pub(super) fn resource(&self, canvas: &mut Canvas, wanted: &str, y: f64) {
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
pub(super) fn width_of(text: &str) -> f64 {
    text.chars().count() as f64
}
