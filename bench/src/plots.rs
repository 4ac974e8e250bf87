//! A run as pictures: SVG files.

use std::{fs, path::Path};

use anyhow::{Result, anyhow};
use plotters::prelude::*;

use crate::{
    medians::Medians,
    results::Results,
    systems::{Entry, Kind, SYSTEMS, Store},
    table::{count, number},
};

const WIDTH: u32 = 860;
const BAR: u32 = 26;

const COLORS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(110, 110, 110),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(0, 0, 0),
];

/// Draws everything into a folder.
pub(crate) fn draw(results: &Results, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    let medians = Medians::of(results);
    for store in Store::ALL {
        let on = |what: &str| {
            let store = store.to_string().to_lowercase();
            folder.join(format!("{what}-{}.svg", store.replace("-compatible", "")))
        };
        let of = |experiment: &'static str, case: &'static str, figure: &'static str| {
            let medians = &medians;
            move |entry: &Entry| medians.get(experiment, store, entry.name, case, figure)
        };
        bars(
            &on("uncontended"),
            &format!("{store}: acquire and release, median (µs)"),
            store,
            of("uncontended", "", "pair_p50_us"),
        )?;
        bars(
            &on("handoff"),
            &format!("{store}: hand-off between processes, p99 (ms)"),
            store,
            of("hand-off", "", "p99_ms"),
        )?;
        bars(
            &on("contended"),
            &format!("{store}: 8 waiters of one process, 5 ms: worst wait (ms)"),
            store,
            of("contended, one process", "5 ms", "wait_worst_ms"),
        )?;
        bars(
            &on("processes"),
            &format!("{store}: 8 processes, 5 ms: worst wait (ms)"),
            store,
            of("contended, 8 processes", "5 ms", "wait_worst_ms"),
        )?;
        let tasks = |entry: &Entry| {
            let point = |tasks: &usize| {
                let case = format!("{tasks} tasks");
                let figure = "pairs_per_second";
                let rate = medians.get("throughput", store, entry.name, &case, figure)?;
                Some((*tasks as f64, rate))
            };
            results.sizes.tasks.iter().filter_map(point).collect()
        };
        lines(
            &on("throughput"),
            &format!("{store}: pairs a second by tasks"),
            store,
            tasks,
        )?;
        let names = |entry: &Entry| {
            let point = |names: &usize| {
                let case = names.to_string();
                let pair = |figure| medians.get("growth", store, entry.name, &case, figure);
                Some((*names as f64, pair("pair_p50_us")?))
            };
            results.sizes.names.iter().filter_map(point).collect()
        };
        lines(
            &on("growth"),
            &format!("{store}: acquire and release, median (µs), by names in the table"),
            store,
            names,
        )?;
    }
    Ok(())
}

/// A bar for each system on a store that has the figure; nothing if none has.
fn bars(
    file: &Path,
    title: &str,
    store: Store,
    figure: impl Fn(&Entry) -> Option<f64>,
) -> Result<()> {
    let all: Vec<(&Entry, f64)> = SYSTEMS
        .iter()
        .filter(|entry| entry.store == store)
        .filter_map(|entry| Some((entry, figure(entry)?)))
        .filter(|(_, value)| value.is_finite())
        .collect();
    let Some(most) = all.iter().map(|(_, value)| *value).max_by(f64::total_cmp) else {
        return Ok(());
    };
    let count = u32::try_from(all.len())?;
    let (left, top) = (220, 44);
    let height = top + count * BAR + 12;
    let area = SVGBackend::new(file, (WIDTH, height)).into_drawing_area();
    let drawn = (|| {
        area.fill(&WHITE)?;
        area.draw(&Text::new(title.to_owned(), (12, 12), ("sans-serif", 17)))?;
        for (row, (entry, value)) in (0..).zip(&all) {
            let middle = (top + row * BAR) as i32;
            let room = f64::from(WIDTH - left - 90);
            let right = left as i32 + (room * value / most.max(f64::MIN_POSITIVE)).max(1.0) as i32;
            let color = match entry.kind {
                Kind::Ours => COLORS[0],
                Kind::Raw => COLORS[1],
                Kind::Hand => COLORS[6],
                Kind::Peer => COLORS[2],
            };
            let corners = [(left as i32, middle), (right, middle + BAR as i32 - 8)];
            area.draw(&Rectangle::new(corners, color.filled()))?;
            area.draw(&Text::new(
                entry.name.to_owned(),
                (12, middle + 2),
                ("sans-serif", 14),
            ))?;
            area.draw(&Text::new(
                number(Some(*value)),
                (right + 6, middle + 2),
                ("sans-serif", 14),
            ))?;
        }
        area.present()
    })();
    drawn.map_err(|error| anyhow!("cannot draw {}: {error}", file.display()))
}

/// A line for each system on a store that has points; nothing if none has.
fn lines(
    file: &Path,
    title: &str,
    store: Store,
    points: impl Fn(&Entry) -> Vec<(f64, f64)>,
) -> Result<()> {
    let all: Vec<(&Entry, Vec<(f64, f64)>)> = SYSTEMS
        .iter()
        .filter(|entry| entry.store == store)
        .map(|entry| (entry, points(entry)))
        .filter(|(_, points)| points.len() > 1)
        .collect();
    let every = || all.iter().flat_map(|(_, points)| points.iter().copied());
    let far = every().map(|(x, _)| x).fold(1.0, f64::max);
    let near = every().map(|(x, _)| x).fold(far, f64::min);
    let high = every().map(|(_, y)| y).fold(1.0, f64::max);
    if all.is_empty() {
        return Ok(());
    }
    let area = SVGBackend::new(file, (WIDTH, 420)).into_drawing_area();
    let drawn = (|| -> Result<(), Box<dyn std::error::Error>> {
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(title, ("sans-serif", 17))
            .margin(12)
            .margin_right(40)
            .x_label_area_size(32)
            .y_label_area_size(72)
            .build_cartesian_2d((near..far).log_scale(), 0.0..high * 1.08)?;
        chart
            .configure_mesh()
            .x_label_formatter(&|x| count(*x))
            .y_label_formatter(&|y| number(Some(*y)))
            .draw()?;
        for ((entry, points), color) in all.iter().zip(COLORS.iter().cycle()) {
            let style = color.stroke_width(if entry.kind == Kind::Ours { 3 } else { 1 });
            chart
                .draw_series(LineSeries::new(points.iter().copied(), style))?
                .label(entry.name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], style));
        }
        chart
            .configure_series_labels()
            .border_style(BLACK.mix(0.3))
            .background_style(WHITE.mix(0.8))
            .draw()?;
        area.present()?;
        Ok(())
    })();
    drawn.map_err(|error| anyhow!("cannot draw {}: {error}", file.display()))
}
