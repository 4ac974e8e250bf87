//! An argument that is not a store is refused, without repeating a possible password. `dlock-stores` has the other
//! tests.

use crate::place::{plain_quickstart, refusal};

const PASSWORD: &str = "s3cret-of-the-server";

#[tokio::test]
async fn what_is_not_understood_is_not_repeated() {
    for (wrong, why) in [
        (&["--store", PASSWORD][..], "this is not a store"),
        (
            &["--store", "radis://somebody:s3cret-of-the-server@127.0.0.1"],
            "this is not a store",
        ),
        (&["--store"], "usage: [--store"),
        (
            &["redis://:s3cret-of-the-server@127.0.0.1"],
            "usage: [--store",
        ),
        (&["--store", "sqlite:x", PASSWORD], "usage: [--store"),
    ] {
        let said = refusal(wrong).await;
        assert!(said.contains(why) && !said.contains(PASSWORD), "{said}");
    }
}

#[tokio::test]
async fn without_a_store_there_is_a_file_that_is_gone_afterwards() {
    let output = plain_quickstart().await;
    assert!(output.status.success(), "{output:?}");
}
