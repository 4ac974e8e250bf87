//! More and more names in the table: what acquire and release of any of them cost then, and what a
//! name occupies. The names are written behind the provider's back, as released records.

use std::collections::HashMap;

use anyhow::{Context, Result};
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, WriteRequest};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::uncontended::Series;
use crate::{
    bench::{At, Bench},
    clock::Moment,
    results::Figures,
    systems::{Entry, Store, dynamodb_client, ours, postgres_pool},
};

/// How the names begin.
const NAME: &str = "grow-";

/// Fields of a released record.
const RELEASED: [(&str, &str); 8] = [
    ("uuid", "00000000-0000-4000-8000-000000000000"),
    ("renewals", "0"),
    ("owner", "bench"),
    ("since", "1795253490374226"),
    ("token", "1795253490374226"),
    ("duration", "15000"),
    ("released", "1"),
    ("asked", "0"),
];

/// The same as Redis keeps it.
const RELEASED_TEXT: &str = "dlock1 released 00000000-0000-4000-8000-000000000000 0 1795253490374226 \
    1795253490374226 15000 1795253490374226 5 - bench";

pub(super) async fn measure(bench: &Bench) -> Result<()> {
    for entry in bench.stores.iter().filter_map(|store| store.ours()) {
        let mut there = 0;
        for &names in &bench.sizes.names {
            if names > most(entry.store) {
                continue;
            }
            bench
                .progress
                .set_message(format!("{names} names on {}", entry.store));
            let measured = async {
                let before = size(bench, entry.store).await?;
                fill(bench, entry, there, names).await?;
                let after = size(bench, entry.store).await?;
                let mut figures = among(bench, entry, names).await?;
                // Of a few names, what the store sets up once is most.
                if names - there >= 10_000
                    && let (Some(before), Some(after)) = (before, after)
                {
                    let bytes = after.saturating_sub(before) as f64 / (names - there) as f64;
                    figures.insert("bytes_per_name".to_owned(), bytes.round());
                }
                Ok(figures)
            };
            let at = At {
                run: 0,
                experiment: "growth",
                case: &names.to_string(),
            };
            bench.settle(at, entry, measured.await);
            there = names;
        }
    }
    Ok(())
}

/// An emulator is not asked for a million rows by single requests.
const fn most(store: Store) -> usize {
    match store {
        Store::DynamoDb => 10_000,
        _ => usize::MAX,
    }
}

/// Acquire and release of names from all over the table.
async fn among(bench: &Bench, entry: &'static Entry, names: usize) -> Result<Figures> {
    let system = bench.open(entry).await?;
    let span = bench.sizes.turn * bench.sizes.turns;
    // Steps by a prime visit the names in no order that the store could foresee.
    let mut place = 0;
    let mut next = move || {
        place = (place + 7_368_787) % names;
        system.lock(&format!("{NAME}{place}"))
    };
    // In a task, as for `uncontended`.
    let pairs = tokio::spawn(async move {
        let mut series = Series::of(next()?);
        let begin = Moment::now();
        while Moment::now().since(begin) < span {
            series.pair().await?;
            series.switch(next()?);
        }
        series.figures()
    });
    pairs.await?
}

/// What the store's records occupy, where it says so.
async fn size(bench: &Bench, store: Store) -> Result<Option<u64>> {
    Ok(match store {
        Store::Redis => {
            let info: String = redis::cmd("INFO")
                .arg("memory")
                .query_async(&mut redis(bench).await?)
                .await?;
            info.lines()
                .find_map(|line| line.strip_prefix("used_memory:")?.trim().parse().ok())
        }
        Store::Postgres => {
            let client = postgres_pool(bench.places())?.get().await?;
            let row = client.query_one("SELECT pg_total_relation_size('dlock.lock')", &[]);
            Some(row.await?.get::<_, i64>(0).unsigned_abs())
        }
        Store::SQLite => {
            let connection = rusqlite::Connection::open(ours::file(bench.places())?)?;
            let bytes = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";
            Some(
                connection
                    .query_row(bytes, [], |row| row.get::<_, i64>(0))?
                    .unsigned_abs(),
            )
        }
        Store::DynamoDb | Store::Etcd => None,
    })
}

async fn redis(bench: &Bench) -> Result<redis::aio::MultiplexedConnection> {
    let port = bench.places().redis.context("there is no Redis")?;
    let client = redis::Client::open(("127.0.0.1", port))?;
    let config = redis::AsyncConnectionConfig::new().set_response_timeout(None);
    Ok(client
        .get_multiplexed_async_connection_with_config(&config)
        .await?)
}

async fn fill(bench: &Bench, entry: &'static Entry, from: usize, to: usize) -> Result<()> {
    match entry.store {
        Store::Redis => {
            let mut connection = redis(bench).await?;
            for start in (from..to).step_by(10_000) {
                let mut pipe = redis::pipe();
                for number in start..to.min(start + 10_000) {
                    let key = format!("dlock:{{{NAME}{number}}}");
                    pipe.set_ex(&key, RELEASED_TEXT, 604_800).ignore();
                }
                pipe.query_async::<()>(&mut connection).await?;
            }
        }
        Store::Postgres => {
            let client = postgres_pool(bench.places())?.get().await?;
            let insert = "INSERT INTO dlock.lock SELECT '', $1::text || i, gen_random_uuid(), 0, 'bench', \
                now(), 1, 15000, now(), true, false, NULL FROM generate_series($2::bigint, $3) AS i";
            let (from, last) = (i64::try_from(from)?, i64::try_from(to)? - 1);
            client.execute(insert, &[&NAME, &from, &last]).await?;
        }
        Store::SQLite => {
            // Its record says which boot this is.
            let lock = bench.open(entry).await?.lock("boot")?;
            lock.acquire().await?.release().await?;
            let mut connection = rusqlite::Connection::open(ours::file(bench.places())?)?;
            let insert = "INSERT INTO lock SELECT '', ?1 || value, ?2, 0, 'bench', 1, 1, 15000, 1, 0, \
                NULL, boot, 0 FROM lock, (WITH RECURSIVE n (value) AS (SELECT ?3 UNION ALL \
                SELECT value + 1 FROM n WHERE value + 1 < ?4) SELECT value FROM n) \
                WHERE prefix = '' AND name = 'boot'";
            let transaction = connection.transaction()?;
            let (from, to) = (i64::try_from(from)?, i64::try_from(to)?);
            transaction.execute(insert, rusqlite::params![NAME, RELEASED[0].1, from, to])?;
            transaction.commit()?;
        }
        Store::DynamoDb => {
            let client = dynamodb_client(bench.places())?;
            let numbers: Vec<usize> = (from..to).collect();
            let writes = numbers.chunks(25).map(|chunk| {
                let requests: Result<Vec<WriteRequest>> = chunk.iter().map(|n| write(*n)).collect();
                let client = &client;
                async move {
                    let batch = client
                        .batch_write_item()
                        .request_items(ours::TABLE, requests?);
                    batch.send().await?;
                    Ok::<_, anyhow::Error>(())
                }
            });
            stream::iter(writes)
                .buffer_unordered(8)
                .try_collect::<()>()
                .await?;
        }
        Store::Etcd => {}
    }
    Ok(())
}

fn write(number: usize) -> Result<WriteRequest> {
    let mut item = HashMap::from([(
        "name".to_owned(),
        AttributeValue::S(format!("/{NAME}{number}")),
    )]);
    for (field, value) in RELEASED {
        let value = match field {
            "uuid" | "owner" => AttributeValue::S(value.to_owned()),
            "released" | "asked" => AttributeValue::Bool(value == "1"),
            _ => AttributeValue::N(value.to_owned()),
        };
        item.insert(field.to_owned(), value);
    }
    let put = PutRequest::builder().set_item(Some(item)).build()?;
    Ok(WriteRequest::builder().put_request(put).build())
}
