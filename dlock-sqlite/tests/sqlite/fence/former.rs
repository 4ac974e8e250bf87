//! Tables of fences that former releases have made, in users' databases. What is in the folder of schemas stays as it
//! is; a table that changes is added to it.

use dlock_sqlite::fence::Fence;

use super::{connect, database, immediate, stale, token};
use crate::{former::essence, support::Scratch};

const NEWEST: &str = include_str!("../../schemas/fence-1.sql");

/// What it remembers: a usual token, and the highest that there is.
const ROWS: &str =
    "INSERT INTO fence VALUES ('account 7', 1795253490374226), ('account 8', 9007199254740991)";

#[test]
fn table_of_today_is_the_newest_in_the_folder() {
    assert!(
        essence(Fence::new("fence").schema_sql()) == essence(NEWEST),
        "the table has changed: add it to tests/schemas, and what becomes of remembered tokens to these tests"
    );
}

#[test]
fn first_table_goes_on_with_what_it_remembers() {
    const SEEN: u64 = 1_795_253_490_374_226;
    let scratch = Scratch::new();
    let mut connection = connect(&database(&scratch));
    connection.execute_batch(NEWEST).unwrap();
    connection.execute_batch(ROWS).unwrap();
    let fence = Fence::new("fence");
    fence.create_schema(&connection).unwrap();

    let mut check = |resource: &str, number: u64| {
        let transaction = immediate(&mut connection);
        let checked = stale(fence.check(&transaction, resource, token(number)));
        transaction.commit().unwrap();
        checked.map_err(|stale| stale.highest.get())
    };
    assert_eq!(check("account 7", SEEN - 1), Err(SEEN));
    assert_eq!(check("account 7", SEEN), Ok(()));
    assert_eq!(check("account 7", SEEN + 1), Ok(()));
    assert_eq!(check("account 7", SEEN), Err(SEEN + 1));
    assert_eq!(check("account 8", SEEN), Err(9_007_199_254_740_991));
    assert_eq!(check("account 9", 1), Ok(()));
}
