//! Where the time of a pair goes: acquire and release on each layer of the way, in turns, on a runtime of one thread and
//! on one of two workers.

use anyhow::Result;
use tokio::{
    runtime::{Builder, Runtime},
    task::spawn_blocking,
};

use super::uncontended::{Series, take_turns};
use crate::{
    bench::{At, Bench},
    results::Figures,
    sizes::Sizes,
    systems::{Places, Store, layers::Layer},
};

pub(crate) const EXPERIMENT: &str = "layers";

/// The runtime of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Workers {
    One,
    Two,
}

impl Workers {
    pub(crate) const ALL: [Self; 2] = [Self::One, Self::Two];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::One => "one thread",
            Self::Two => "two workers",
        }
    }

    fn start(self) -> Result<Runtime> {
        let mut builder = match self {
            Self::One => Builder::new_current_thread(),
            Self::Two => Builder::new_multi_thread(),
        };
        if matches!(self, Self::Two) {
            builder.worker_threads(2);
        }
        Ok(builder.enable_all().build()?)
    }
}

pub(super) async fn measure(bench: &Bench, run: u32) -> Result<()> {
    for &store in &bench.stores {
        for workers in Workers::ALL {
            let case = workers.name();
            bench
                .progress
                .set_message(format!("layers on {store}, {case}"));
            let (places, sizes) = (bench.places().clone(), bench.sizes.clone());
            let name = bench.name("layers");
            let measured = spawn_blocking(move || {
                workers
                    .start()?
                    .block_on(in_turns(store, &places, &name, &sizes))
            });
            let at = At {
                run,
                experiment: EXPERIMENT,
                case,
            };
            for (layer, figures) in measured.await?? {
                bench.settle_as(at, store, layer.name(), figures);
            }
        }
    }
    Ok(())
}

/// All layers of a store, on this runtime.
async fn in_turns(
    store: Store,
    places: &Places,
    name: &str,
    sizes: &Sizes,
) -> Result<Vec<(Layer, Result<Figures>)>> {
    let mut turns = Vec::new();
    let mut measured = Vec::new();
    for &layer in Layer::of(store) {
        let series = async {
            let system = layer.open(store, places).await?;
            Series::warm(system.lock(&format!("{name}/{}", layer.name()))?).await
        };
        match series.await {
            Ok(series) => turns.push((layer, series)),
            Err(error) => measured.push((layer, Err(error))),
        }
    }
    let turns = take_turns(turns, sizes).await?;
    measured.extend(
        turns
            .into_iter()
            .map(|(layer, series)| (layer, series.figures())),
    );
    Ok(measured)
}
