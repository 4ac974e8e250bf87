//! SVG, as little of it as a timeline needs.

use std::fmt::Write as _;

use super::colour;
use crate::history::{Micros, checker::Seconds};

/// From instants to pixels.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    from: Micros,
    to: Micros,
    left: f64,
    right: f64,
}

pub(super) struct Canvas(String);

type Point = (f64, f64);

impl Scale {
    pub(super) const fn new((from, to): (Micros, Micros), left: f64, right: f64) -> Self {
        Self {
            from,
            to,
            left,
            right,
        }
    }

    /// Where an instant is; what is outside of the window is at its edge.
    pub(super) fn x(self, t: Micros) -> f64 {
        let share = seconds(t.clamp(self.from, self.to) - self.from) / seconds(self.to - self.from);
        self.left + share * (self.right - self.left)
    }

    pub(super) const fn shows(self, t: Micros) -> bool {
        self.from <= t && t <= self.to
    }

    /// A span that is at least partly inside, as left edge and width.
    pub(super) fn span(self, from: Micros, to: Micros) -> Option<(f64, f64)> {
        (from <= self.to && to >= self.from).then(|| {
            let left = self.x(from);
            (left, (self.x(to) - left).max(1.5))
        })
    }

    /// About ten round instants.
    fn ticks(self) -> impl Iterator<Item = Micros> {
        let span = self.to - self.from;
        let mut step = 1;
        'found: for power in 0..18 {
            for factor in [1, 2, 5] {
                step = factor * 10_u64.pow(power);
                if span / step <= 12 {
                    break 'found;
                }
            }
        }
        let first = self.from.div_ceil(step) * step;
        (first..=self.to).step_by(usize::try_from(step).unwrap_or(usize::MAX))
    }
}

#[expect(clippy::cast_precision_loss, reason = "pixels need less")]
fn seconds(span: Micros) -> f64 {
    span as f64 / 1e6
}

impl Canvas {
    pub(super) fn new(width: f64, height: f64) -> Self {
        let mut canvas = Self(String::new());
        canvas.put(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"'DejaVu Sans', Verdana, sans-serif\">"
        ));
        let unsure = format!(
            "<pattern id=\"unsure\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\" \
             patternTransform=\"rotate(45)\"><rect width=\"8\" height=\"8\" fill=\"{}\"/>\
             <rect width=\"4\" height=\"8\" fill=\"{}\"/></pattern>",
            colour::VALID,
            colour::UNSURE
        );
        canvas.put(format_args!("<defs>{unsure}</defs>"));
        canvas.rect((0.0, 0.0), (width, height), "fill=\"#ffffff\"");
        canvas
    }

    pub(super) fn finish(mut self) -> String {
        self.0.push_str("</svg>\n");
        self.0
    }

    pub(super) fn text(&mut self, x: f64, y: f64, size: f64, fill: &str, weight: &str, text: &str) {
        let text = escaped(text);
        self.put(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" fill=\"{fill}\" \
             font-weight=\"{weight}\">{text}</text>"
        ));
    }

    pub(super) fn centred(&mut self, x: f64, y: f64, size: f64, fill: &str, text: &str) {
        let text = escaped(text);
        self.put(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" fill=\"{fill}\" \
             font-weight=\"bold\" text-anchor=\"middle\">{text}</text>"
        ));
    }

    /// `style` is SVG attributes.
    pub(super) fn rect(&mut self, (x, y): Point, (width, height): Point, style: &str) {
        self.put(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" {style}/>"
        ));
    }

    pub(super) fn line(&mut self, from: Point, to: Point, stroke: &str, width: f64, style: &str) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.put(format_args!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" \
             stroke=\"{stroke}\" stroke-width=\"{width}\" {style}/>"
        ));
    }

    pub(super) fn circle(&mut self, (x, y): Point, radius: f64, style: &str) {
        self.put(format_args!(
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius}\" {style}/>"
        ));
    }

    pub(super) fn cross(&mut self, (x, y): Point, size: f64, stroke: &str) {
        for (stroke, width) in [("#ffffff", 5.0), (stroke, 2.4)] {
            let round = "stroke-linecap=\"round\"";
            self.line(
                (x - size, y - size),
                (x + size, y + size),
                stroke,
                width,
                round,
            );
            self.line(
                (x - size, y + size),
                (x + size, y - size),
                stroke,
                width,
                round,
            );
        }
    }

    /// A triangle that points up at this point.
    pub(super) fn arrow(&mut self, (x, y): Point, fill: &str) {
        let (left, right, low) = (x - 5.5, x + 5.5, y + 9.0);
        self.put(format_args!(
            "<polygon points=\"{x:.1},{y:.1} {left:.1},{low:.1} {right:.1},{low:.1}\" fill=\"{fill}\"/>"
        ));
    }

    /// Round instants as grid lines, with labels below.
    pub(super) fn axis(&mut self, scale: Scale, top: f64, bottom: f64) {
        for tick in scale.ticks() {
            let x = scale.x(tick);
            self.line((x, top), (x, bottom + 4.0), colour::GRID, 1.0, "");
            let label = Seconds(tick).to_string();
            let label = label.trim_end_matches(" s").trim_end_matches('0');
            let label = format!("{} s", label.trim_end_matches('.'));
            let label = escaped(&label);
            self.put(format_args!(
                "<text x=\"{x:.1}\" y=\"{:.1}\" font-size=\"11.5\" fill=\"{}\" \
                 text-anchor=\"middle\">{label}</text>",
                bottom + 19.0,
                colour::FAINT
            ));
        }
    }

    fn put(&mut self, element: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _written = writeln!(self.0, "{element}");
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .chars()
        // What XML cannot hold at all.
        .map(|letter| {
            if letter.is_control() {
                '\u{fffd}'
            } else {
                letter
            }
        })
        .collect()
}
