//! Paper scale: what the measured figures amount to beyond one machine.

use crate::{
    medians::Medians,
    results::Results,
    systems::Store,
    table::{Table, count, number},
};

/// Writes a second that one partition of DynamoDB takes, and so one name:
/// <https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ServiceQuotas.html>.
const PARTITION: f64 = 1_000.0;

/// Dollars in us-east-1: a million write units on demand (halved on 2024-11-01), one write unit a
/// second for an hour if provisioned, a GB for a month. From
/// <https://aws.amazon.com/dynamodb/pricing/>, as of 2026-11.
const ON_DEMAND: f64 = 0.625;
const PROVISIONED: f64 = 0.000_65;
const STORAGE: f64 = 0.25;

const HOURS_A_MONTH: f64 = 730.0;
const SECONDS_A_MONTH: f64 = HOURS_A_MONTH * 3_600.0;

/// Bytes that an item occupies for its bill: a name of 20 bytes, the other fields, 100 of DynamoDB's.
const ITEM: f64 = 300.0;

/// The leases that are planned with: the default, and a long one.
const LEASES: [f64; 2] = [15.0, 60.0];

pub(crate) fn render(results: &Results) -> String {
    let medians = Medians::of(results);
    let mut text = String::new();
    for (title, table) in [
        (
            "What one server, shard or partition carries",
            carries(&medians, results),
        ),
        (
            "What N locks cost on DynamoDB, held all month (dollars)",
            costs(&medians),
        ),
    ] {
        if !table.is_empty() {
            text.push_str(&format!(
                "\n### Paper scale: {title}\n\n{}",
                table.render(1)
            ));
        }
    }
    text
}

/// By what is measured here: pairs from the throughput, renewals from the time they cost the store.
fn carries(medians: &Medians, results: &Results) -> Table {
    let head = LEASES.map(|lease| format!("leases held, D = {lease} s"));
    let mut table = Table::new(
        [
            "",
            "acquire + release a second",
            "renewals a second of one core",
        ]
        .map(str::to_owned)
        .into_iter()
        .chain(head),
    );
    for (store, what) in [
        (Store::Postgres, "one Postgres"),
        (Store::Redis, "one Redis shard"),
    ] {
        let Some(ours) = store.ours() else {
            continue;
        };
        let rate = |tasks: &usize| {
            let case = format!("{tasks} tasks");
            medians.get("throughput", store, ours.name, &case, "pairs_per_second")
        };
        let pairs = results
            .sizes
            .tasks
            .iter()
            .filter_map(rate)
            .max_by(f64::total_cmp);
        // The largest number of leases is where batches are full.
        let cost = |leases: &usize| {
            let case = leases.to_string();
            medians.get(
                "renewals",
                store,
                ours.name,
                &case,
                "us_of_the_store_per_renewal",
            )
        };
        let renewals = results.sizes.leases.iter().rev().find_map(cost);
        row(&mut table, what, pairs, renewals.map(|cost| 1e6 / cost));
    }
    if let Some(units) = units(medians) {
        let pair = units.acquire + units.release;
        let (pairs, renewals) = (PARTITION / pair, PARTITION / units.renew);
        row(
            &mut table,
            "one DynamoDB partition",
            Some(pairs),
            Some(renewals),
        );
    }
    table
}

fn row(table: &mut Table, what: &str, pairs: Option<f64>, renewals: Option<f64>) {
    if pairs.or(renewals).is_none() {
        return;
    }
    let held = LEASES.map(|lease| renewals.map(|renewals| renewals * lease / 3.0));
    let numbers = [pairs, renewals].into_iter().chain(held).map(number);
    table.row(std::iter::once(what.to_owned()).chain(numbers));
}

fn costs(medians: &Medians) -> Table {
    let head = LEASES.iter().flat_map(|lease| {
        [
            format!("on demand, D = {lease} s"),
            format!("provisioned, D = {lease} s"),
        ]
    });
    let mut table = Table::new(
        std::iter::once("locks".to_owned())
            .chain(head)
            .chain(std::iter::once("storage".to_owned())),
    );
    let Some(units) = units(medians) else {
        return table;
    };
    for locks in [100.0, 1_000.0, 10_000.0, 100_000.0, 1_000_000.0] {
        let money = LEASES.iter().flat_map(|lease| {
            let a_second = locks * units.renew * 3.0 / lease;
            [
                a_second * SECONDS_A_MONTH / 1e6 * ON_DEMAND,
                a_second * HOURS_A_MONTH * PROVISIONED,
            ]
        });
        let storage = locks * ITEM / 1e9 * STORAGE;
        let cells = money
            .chain(std::iter::once(storage))
            .map(|cost| number(Some(cost)));
        table.row(std::iter::once(count(locks)).chain(cells));
    }
    table
}

struct Units {
    acquire: f64,
    renew: f64,
    release: f64,
}

fn units(medians: &Medians) -> Option<Units> {
    let ours = Store::DynamoDb.ours()?;
    let get = |figure| medians.get("costs", Store::DynamoDb, ours.name, "", figure);
    Some(Units {
        acquire: get("acquire_units")?,
        renew: get("renew_units")?,
        release: get("release_units")?,
    })
}
