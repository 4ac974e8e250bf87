//! The lanes of a picture: one for each process, the store and each resource; and what is drawn in them.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    RIGHT,
    bars::width_of,
    canvas::{Canvas, Scale},
    colour,
};
use crate::history::{
    Line, Micros, What,
    checker::{
        Violation,
        facts::{Facts, NameFacts, TermFacts},
    },
    line::{KILL, PAUSE},
};

/// A row of bars in a lane, and a lane's own margins.
pub(super) const ROW: f64 = 30.0;
const MARGIN: f64 = 13.0;

pub(super) struct Lanes<'f, 'a> {
    pub(super) facts: &'f Facts<'a>,
    pub(super) names: Vec<&'f NameFacts<'a>>,
    pub(super) scale: Scale,
    /// The processes in the order of their names, then the store, then the resources.
    lanes: Vec<Lane<'f, 'a>>,
}

pub(super) struct Lane<'f, 'a> {
    pub(super) label: String,
    pub(super) of: Of<'f, 'a>,
    rows: usize,
}

pub(super) enum Of<'f, 'a> {
    /// Each term with its row.
    Process(Vec<(&'f TermFacts<'a>, usize)>),
    Store,
    Resource(String),
}

/// The part of a process's name that its incarnations share.
pub(super) fn base(process: &str) -> &str {
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

    pub(super) fn placed(&self, top: f64) -> impl Iterator<Item = (&Lane<'f, 'a>, f64)> {
        self.lanes.iter().scan(top, |next, lane| {
            let y = *next;
            *next += lane.height();
            Some((lane, y))
        })
    }
}

impl Lane<'_, '_> {
    #[expect(clippy::cast_precision_loss, reason = "a few rows")]
    pub(super) fn height(&self) -> f64 {
        2.0 * MARGIN + ROW * self.rows as f64
    }

    #[expect(clippy::cast_precision_loss, reason = "a few rows")]
    pub(super) fn row(&self, y: f64, row: usize) -> f64 {
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
