//! Tables of fences that former releases have made, in users' databases. What is in the folder of schemas stays as it
//! is; a table that changes is added to it.

use dlock_postgres::fence::{Fence, FenceError};

use super::token;
use crate::{
    former::essence,
    support::{fresh, server},
};

const NEWEST: &str = include_str!("../../schemas/fence-1.sql");

#[test]
fn table_of_today_is_the_newest_in_the_folder() {
    let fence = Fence::new("dlock", "fence").unwrap();
    assert!(
        essence(fence.schema_sql()) == essence(NEWEST),
        "the table has changed: add it to tests/schemas, and what becomes of remembered tokens to these tests"
    );
}

#[tokio::test]
async fn first_table_goes_on_with_what_it_remembers() {
    const SEEN: u64 = 1_795_253_490_374_226;
    let schema = fresh();
    let mut client = server().await.client().await;
    let table = NEWEST.replace("\"dlock\"", &format!("\"{schema}\""));
    client.batch_execute(&table).await.unwrap();
    // A usual token, and the highest that there is.
    let rows = format!(
        "INSERT INTO \"{schema}\".fence VALUES ('account 7', {SEEN}), ('account 8', 9007199254740991)"
    );
    client.batch_execute(&rows).await.unwrap();
    let fence = Fence::new(&schema, "fence").unwrap();
    fence.create_schema(&client).await.unwrap();

    for (resource, number, expected) in [
        ("account 7", SEEN - 1, Err(SEEN)),
        ("account 7", SEEN, Ok(())),
        ("account 7", SEEN + 1, Ok(())),
        ("account 7", SEEN, Err(SEEN + 1)),
        ("account 8", SEEN, Err(9_007_199_254_740_991)),
        ("account 9", 1, Ok(())),
    ] {
        let transaction = client.transaction().await.unwrap();
        let checked = match fence.check(&transaction, resource, token(number)).await {
            Ok(()) => Ok(()),
            Err(FenceError::Stale(stale)) => Err(stale.highest.get()),
            Err(other) => panic!("{other:?}"),
        };
        transaction.commit().await.unwrap();
        assert_eq!(checked, expected, "{resource}, {number}");
    }
}
