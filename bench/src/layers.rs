//! Where the time of a pair goes, as a table that adds up: each layer costs what a pair takes on it more than on the one
//! below, so a row ends with the pair of the frontend.

use crate::{
    experiments::{LAYERS, Workers},
    medians::Medians,
    systems::{Store, layers::Layer},
    table::{Table, number},
};

const TITLE: &str = "Where the time of a pair goes (µs, medians; each layer beyond the one below)";

/// The columns between the driver and the whole: the layer, and what it adds.
const ADDED: [(Layer, &str); 5] = [
    (Layer::Raw, "server"),
    (Layer::Flushed, "flush"),
    (Layer::Provider, "provider"),
    (Layer::Calling, "calling waiters"),
    (Layer::Frontend, "frontend"),
];

/// Empty if it was not measured.
pub(crate) fn render(medians: &Medians) -> String {
    let head = ["store", "runtime", "driver"]
        .into_iter()
        .chain(ADDED.map(|(_, added)| added))
        .chain(["pair"]);
    let mut table = Table::new(head);
    for store in Store::ALL {
        for workers in Workers::ALL {
            let pair = |layer: Layer| {
                let case = workers.name();
                medians.get(LAYERS, store, layer.name(), case, "pair_p50_us")
            };
            if let Some(costs) = costs(store, pair) {
                let words = [store.to_string(), workers.name().to_owned()];
                table.row(words.into_iter().chain(costs.into_iter().map(number)));
            }
        }
    }
    if table.is_empty() {
        return String::new();
    }
    format!("\n### {TITLE}\n\n{}", table.render(2))
}

/// What each column costs, and the whole; `None` in it where the store has no such layer.
fn costs(store: Store, pair: impl Fn(Layer) -> Option<f64>) -> Option<Vec<Option<f64>>> {
    let mut below = pair(Layer::EmptyCalls)?;
    let mut costs = vec![Some(below)];
    for (layer, _) in ADDED {
        if Layer::of(store).contains(&layer) {
            let with = pair(layer)?;
            costs.push(Some(with - below));
            below = with;
        } else {
            costs.push(None);
        }
    }
    costs.push(Some(below));
    Some(costs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(layer: Layer) -> Option<f64> {
        Some(match layer {
            Layer::EmptyCalls => 10.0,
            Layer::Raw => 30.0,
            Layer::Flushed => 100.0,
            Layer::Provider => 105.0,
            Layer::Calling => 117.0,
            Layer::Frontend => 120.0,
        })
    }

    #[test]
    fn every_row_adds_up_to_its_pair() {
        let of = |store| costs(store, pair).unwrap_or_default();
        let some = |values: [f64; 7]| values.map(Some).to_vec();
        assert_eq!(
            of(Store::Postgres),
            some([10.0, 20.0, 70.0, 5.0, 12.0, 3.0, 120.0])
        );
        for store in Store::ALL {
            let costs: Vec<f64> = of(store).into_iter().flatten().collect();
            let Some((whole, parts)) = costs.split_last() else {
                panic!("no costs of {store}");
            };
            assert_eq!(parts.iter().sum::<f64>(), *whole, "{store}");
        }
    }

    #[test]
    fn row_with_a_hole_is_left_out() {
        let holed = |layer| pair(layer).filter(|_| layer != Layer::Provider);
        assert_eq!(costs(Store::Redis, holed), None);
    }
}
