//! Compares a run with the goals.

use clap::ValueEnum as _;

use crate::{
    loads::Load,
    medians::Medians,
    results::Results,
    systems::Store,
    table::{Table, number},
};

/// The goal for one of our figures on a store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal {
    store: Store,
    case: &'static str,
    figure: &'static str,
    bound: Bound,
    is_open: bool,
}

/// The bound of a figure.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    Most(f64),
    Least(f64),
    /// That many times the raw calls.
    MostOfRaw(f64),
    LeastOfRaw(f64),
    /// That many times our own figure of another case.
    LeastOfCase(f64, &'static str),
    /// As good as the system of this name.
    NotAbove(&'static str),
}

/// A goal that was reached before.
pub(crate) const fn goal(
    store: Store,
    case: &'static str,
    figure: &'static str,
    bound: Bound,
) -> Goal {
    Goal {
        store,
        case,
        figure,
        bound,
        is_open: false,
    }
}

impl Goal {
    /// No run has reached it yet, so missing it is no failure.
    pub(crate) const fn open(mut self) -> Self {
        self.is_open = true;
        self
    }

    /// The figure and its limit, as far as they were measured.
    fn measured(&self, load: Load, medians: &Medians) -> (Option<f64>, Option<f64>) {
        let Self {
            store,
            case,
            figure,
            bound,
            ..
        } = *self;
        let ours = medians.ours(load, case, store);
        let raw = || medians.raw(load, case, store)?.get(figure);
        let limit = match bound {
            Bound::Most(limit) | Bound::Least(limit) => Some(limit),
            Bound::MostOfRaw(times) | Bound::LeastOfRaw(times) => raw().map(|raw| raw * times),
            Bound::LeastOfCase(times, other) => medians
                .ours(load, other, store)
                .and_then(|row| row.get(figure))
                .map(|other| other * times),
            Bound::NotAbove(system) => medians
                .of_case(load, case, store)
                .find(|row| row.system == system)
                .and_then(|row| row.get(figure)),
        };
        (ours.and_then(|row| row.get(figure)), limit)
    }

    fn verdict(&self, measured: Option<f64>, limit: Option<f64>) -> Verdict {
        let (Some(measured), Some(limit)) = (measured, limit) else {
            return Verdict::NotMeasured;
        };
        let reached = match self.bound {
            Bound::Least(_) | Bound::LeastOfRaw(_) | Bound::LeastOfCase(..) => measured >= limit,
            Bound::Most(_) | Bound::MostOfRaw(_) | Bound::NotAbove(_) => measured <= limit,
        };
        match (reached, self.is_open) {
            (true, _) => Verdict::Reached,
            (false, true) => Verdict::NotYet,
            (false, false) => Verdict::Missed,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Reached,
    NotYet,
    Missed,
    NotMeasured,
}

/// The goals for the loads and stores of the run, and whether every goal that was reached before is still reached.
pub(crate) fn render(results: &Results) -> (String, bool) {
    let medians = Medians::of(std::slice::from_ref(results));
    let mut table = Table::new(["load", "case", "store", "figure", "measured", "goal", ""]);
    let mut holds = true;
    for load in Load::value_variants() {
        for goal in load.page().goals {
            if !medians.of_load(*load).any(|row| row.store == goal.store) {
                continue;
            }
            let (measured, limit) = goal.measured(*load, &medians);
            let verdict = goal.verdict(measured, limit);
            holds &= matches!(verdict, Verdict::Reached | Verdict::NotYet);
            let sign = match goal.bound {
                Bound::Least(_) | Bound::LeastOfRaw(_) | Bound::LeastOfCase(..) => "≥",
                Bound::Most(_) | Bound::MostOfRaw(_) | Bound::NotAbove(_) => "≤",
            };
            table.row([
                format!("{load:?}").to_lowercase(),
                goal.case.to_owned(),
                goal.store.to_string(),
                goal.figure.to_owned(),
                number(measured),
                format!("{sign} {}", number(limit)),
                match verdict {
                    Verdict::Reached => "reached",
                    Verdict::NotYet => "not reached yet",
                    Verdict::Missed => "MISSED",
                    Verdict::NotMeasured => "NOT MEASURED",
                }
                .to_owned(),
            ]);
        }
    }
    (format!("\n### Goals\n\n{}", table.render(4)), holds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        results::tests::results,
        systems::{Kind, OURS},
    };

    #[test]
    fn figure_that_is_missing_or_beyond_its_bound_holds_not() {
        let verdict = |bound, ours: Option<f64>, raw: f64| {
            let pair = |system, kind, value| (Load::Pair, "", system, kind, "pair_p50_us", value);
            let ours = ours.map(|ours| pair(OURS, Kind::Ours, ours));
            let samples: Vec<_> = ours
                .into_iter()
                .chain([pair("raw", Kind::Raw, raw)])
                .collect();
            let medians = Medians::of(&[results(&samples)]);
            let goal = goal(Store::Postgres, "", "pair_p50_us", bound);
            let (measured, limit) = goal.measured(Load::Pair, &medians);
            [goal, goal.open()].map(|goal| goal.verdict(measured, limit))
        };
        let twice = Bound::MostOfRaw(2.0);
        assert_eq!(verdict(twice, Some(20.0), 10.0), [Verdict::Reached; 2]);
        assert_eq!(
            verdict(twice, Some(20.1), 10.0),
            [Verdict::Missed, Verdict::NotYet]
        );
        assert_eq!(verdict(twice, None, 10.0), [Verdict::NotMeasured; 2]);
        assert_eq!(
            verdict(Bound::Least(5.0), Some(4.9), 1.0),
            [Verdict::Missed, Verdict::NotYet]
        );
        assert_eq!(
            verdict(Bound::NotAbove("absent"), Some(1.0), 1.0),
            [Verdict::NotMeasured; 2]
        );
    }

    #[test]
    fn run_without_a_load_is_not_asked_for_it() {
        let (text, holds) = render(&results(&[]));
        assert!(holds && !text.contains("Postgres"), "{text}");
    }
}
