//! What the signs mean.

use super::{canvas::Canvas, colour};

/// Draws the legend in two lines from here down.
pub(super) fn draw(canvas: &mut Canvas, y: f64) {
    let box_of = |canvas: &mut Canvas, x: f64, y: f64, style: &str| {
        canvas.rect((x, y - 11.0), (22.0, 13.0), style);
    };
    let label = |canvas: &mut Canvas, x: f64, y: f64, text: &str| {
        canvas.text(x, y, 12.0, colour::FAINT, "normal", text);
    };
    let filled = |colour: &str| format!("fill=\"{colour}\" rx=\"2\"");

    box_of(canvas, 24.0, y, &filled(colour::VALID));
    canvas.line((35.0, y - 11.0), (35.0, y + 2.0), "#ffffff", 1.6, "");
    label(canvas, 52.0, y, "valid lease (| renewed)");
    box_of(canvas, 226.0, y, "fill=\"url(#unsure)\"");
    label(canvas, 254.0, y, "unsure: a renewal is overdue");
    let over = format!(
        "fill=\"{}\" stroke=\"{}\" stroke-dasharray=\"4 3\"",
        colour::OVER,
        colour::WAITS
    );
    box_of(canvas, 466.0, y, &over);
    label(canvas, 494.0, y, "over, not yet given back");
    let store = format!(
        "fill=\"{}\" stroke=\"{}\" rx=\"2\"",
        colour::STORE,
        colour::STORE_EDGE
    );
    box_of(canvas, 676.0, y, &store);
    label(canvas, 704.0, y, "store keeps others out");
    canvas.arrow((876.0, y - 9.0), colour::TEXT);
    label(canvas, 888.0, y, "takeover without a release");
    let ring = format!(
        "fill=\"none\" stroke=\"{}\" stroke-width=\"2.5\"",
        colour::BROKEN
    );
    canvas.circle((1088.0, y - 4.0), 7.0, &ring);
    label(canvas, 1102.0, y, "shows the violation");

    let y = y + 24.0;
    canvas.line(
        (24.0, y - 4.0),
        (46.0, y - 4.0),
        colour::WAITS,
        2.0,
        "stroke-dasharray=\"2 3\"",
    );
    label(canvas, 52.0, y, "somebody waits");
    canvas.circle((237.0, y - 4.0), 2.6, &filled(colour::WAITS));
    label(canvas, 254.0, y, "refused: held by another");
    canvas.cross((477.0, y - 4.0), 4.0, colour::FAILED);
    label(canvas, 494.0, y, "call failed or unknown");
    let fault = format!("fill=\"{}\" fill-opacity=\"0.2\"", colour::FAULT);
    box_of(canvas, 676.0, y, &fault);
    label(canvas, 704.0, y, "fault under way");
    canvas.cross((876.0, y - 4.0), 5.0, colour::TEXT);
    label(canvas, 888.0, y, "process killed");
    canvas.circle((1088.0, y - 4.0), 5.0, &filled(colour::VALID));
    label(canvas, 1102.0, y, "write accepted");
}
