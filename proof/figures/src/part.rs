//! What is repeated together.

/// The commands whose figures are kept in one file.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Part {
    /// What the file of its data is called.
    pub name: &'static str,
    /// As a shell runs them in the root of the workspace.
    pub commands: &'static [&'static str],
    /// Whether the commands run at the same time. Else one follows the other.
    pub at_once: bool,
}

impl Part {
    const fn new(name: &'static str, commands: &'static [&'static str]) -> Self {
        Self {
            name,
            commands,
            at_once: false,
        }
    }
}

/// Every part, the longest last.
pub const PARTS: [Part; 7] = [
    Part::new("suite", &["scripts/test"]),
    Part::new(
        "cancelling",
        &["cargo test -p dlock-proof --test cancelling -- --ignored --nocapture"],
    ),
    Part::new(
        "planted",
        &[
            "cargo test -p dlock-proof --test planted_provider -- --nocapture",
            "cargo test -p dlock-testkit --features wire --test own planted_wire -- --nocapture",
            "scripts/mutants",
        ],
    ),
    Part {
        at_once: true,
        ..Part::new(
            "chaos",
            &[
                "cargo run -p dlock-chaos --all-features -- run --store postgres --seconds 360 --seed 11",
                "cargo run -p dlock-chaos --all-features -- run --store redis --seconds 360 --seed 11",
                "cargo run -p dlock-chaos --all-features -- run --store dynamodb --seconds 360 --seed 11",
                "cargo run -p dlock-chaos --all-features -- run --store sqlite --seconds 360 --seed 11",
            ],
        )
    },
    Part::new("model", &["cargo run --release -p dlock-model -- all"]),
    Part::new("operators", &["scripts/mutants operators"]),
    Part::new(
        "simulation",
        &[
            "DLOCK_SIMULATION_SEEDS=10000 cargo test --release -p dlock-proof --test simulation -- --nocapture no_seed",
        ],
    ),
];
