//! Fencing in PostgreSQL, with four drivers.

use diesel_async::{AsyncConnection, AsyncPgConnection};
use dlock::{
    DLock,
    postgres::{
        deadpool_postgres::tokio_postgres,
        fence::{Fence, FenceError},
    },
};
use dlock_book_snippets::fencing::{
    diesel, postgres, sea_orm as with_sea_orm, sqlx as with_sqlx,
};
use dlock_test_servers::Service;
use sea_orm::{Database, TransactionTrait};
use sqlx::PgPool;
use tokio_postgres::{Client, NoTls};

use crate::two_holders;

pub(crate) async fn server() -> Service {
    dlock_test_servers::postgres::postgres(&[]).await.unwrap()
}

pub(crate) fn url(server: &Service) -> String {
    format!(
        "postgres://postgres@127.0.0.1:{}/postgres",
        server.place().port()
    )
}

pub(crate) async fn connect(server: &Service) -> Client {
    let (client, connection) =
        tokio_postgres::connect(&url(server), NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

fn fence() -> Fence {
    Fence::new("dlock", "fence").unwrap()
}

/// A connection, and the tables that the snippets write to: an account with a token in its row, and the table of
/// tokens.
pub(crate) async fn prepared(server: &Service) -> Client {
    let client = connect(server).await;
    fence().create_schema(&client).await.unwrap();
    client
        .batch_execute(
            "CREATE TABLE account (id bigint PRIMARY KEY, balance bigint NOT NULL, token bigint NOT NULL DEFAULT 0);
             INSERT INTO account VALUES (7, 100);",
        )
        .await
        .unwrap();
    client
}

async fn balance(client: &Client) -> i64 {
    client
        .query_one("SELECT balance FROM account WHERE id = 7", &[])
        .await
        .unwrap()
        .get(0)
}

#[tokio::test]
async fn work_of_a_lock_writes_with_its_token() {
    let server = server().await;
    let mut client = prepared(&server).await;
    let provider = dlock_book_snippets::stores::postgres(&url(&server))
        .await
        .unwrap();
    let lock = DLock::builder()
        .name("account 7")
        .provider(provider)
        .build()
        .unwrap();
    let earlier = lock.with(async |token| token).await.unwrap();
    postgres::withdraw_alone(&lock, &mut client).await.unwrap();
    let refused = postgres::withdraw(&mut client, &fence(), earlier).await;
    assert!(matches!(refused, Err(FenceError::Stale(_))), "{refused:?}");
    assert_eq!(balance(&client).await, 90);
    lock.client().close().await;
}

#[tokio::test]
async fn tokio_postgres_refuses_an_earlier_holder() {
    let server = server().await;
    let mut client = prepared(&server).await;
    let (earlier, later) = two_holders();
    postgres::withdraw(&mut client, &fence(), earlier)
        .await
        .unwrap();
    postgres::withdraw(&mut client, &fence(), later)
        .await
        .unwrap();
    postgres::withdraw(&mut client, &fence(), later)
        .await
        .unwrap();
    let refused = postgres::withdraw(&mut client, &fence(), earlier).await;
    assert!(matches!(refused, Err(FenceError::Stale(_))), "{refused:?}");
    assert_eq!(balance(&client).await, 70);
}

#[tokio::test]
async fn sqlx_refuses_an_earlier_holder() {
    let server = server().await;
    let client = prepared(&server).await;
    let pool = PgPool::connect(&url(&server)).await.unwrap();
    let (earlier, later) = two_holders();
    for (token, amount, admitted) in [
        (earlier, 90, true),
        (later, 80, true),
        (later, 70, true),
        (earlier, 60, false),
    ] {
        assert_eq!(
            with_sqlx::set_balance(&pool, token, amount).await.unwrap(),
            admitted,
            "{token} {amount}"
        );
    }
    assert_eq!(balance(&client).await, 70);
}

#[tokio::test]
async fn sqlx_and_tokio_postgres_share_the_table_of_tokens() {
    let server = server().await;
    let mut client = prepared(&server).await;
    let pool = PgPool::connect(&url(&server)).await.unwrap();
    let (earlier, later) = two_holders();
    for (token, expected) in [
        (earlier, true),
        (later, true),
        (later, true),
        (earlier, false),
    ] {
        let mut transaction = pool.begin().await.unwrap();
        assert_eq!(
            with_sqlx::admitted(&mut transaction, "account 7", token)
                .await
                .unwrap(),
            expected,
            "{token}"
        );
        transaction.commit().await.unwrap();
    }
    let refused = postgres::withdraw(&mut client, &fence(), earlier).await;
    assert!(matches!(refused, Err(FenceError::Stale(_))), "{refused:?}");
}

#[tokio::test]
async fn sea_orm_refuses_an_earlier_holder() {
    let server = server().await;
    let client = prepared(&server).await;
    let database = Database::connect(url(&server)).await.unwrap();
    let (earlier, later) = two_holders();
    for (token, amount, admitted) in [
        (earlier, 90, true),
        (later, 80, true),
        (later, 70, true),
        (earlier, 60, false),
    ] {
        let written = with_sea_orm::set_balance(&database, token, amount).await;
        assert_eq!(written.unwrap(), admitted, "{token} {amount}");
    }
    assert_eq!(balance(&client).await, 70);
}

#[tokio::test]
async fn sea_orm_and_tokio_postgres_share_the_table_of_tokens() {
    let server = server().await;
    let mut client = prepared(&server).await;
    let database = Database::connect(url(&server)).await.unwrap();
    let (earlier, later) = two_holders();
    for (token, expected) in [
        (earlier, true),
        (later, true),
        (later, true),
        (earlier, false),
    ] {
        let transaction = database.begin().await.unwrap();
        let admitted =
            with_sea_orm::admitted(&transaction, "account 7", token).await;
        assert_eq!(admitted.unwrap(), expected, "{token}");
        transaction.commit().await.unwrap();
    }
    let refused = postgres::withdraw(&mut client, &fence(), earlier).await;
    assert!(matches!(refused, Err(FenceError::Stale(_))), "{refused:?}");
}

#[tokio::test]
async fn diesel_refuses_an_earlier_holder() {
    let server = server().await;
    let client = prepared(&server).await;
    let mut connection = AsyncPgConnection::establish(&url(&server)).await.unwrap();
    let (earlier, later) = two_holders();
    for (token, amount, admitted) in [
        (earlier, 90, true),
        (later, 80, true),
        (later, 70, true),
        (earlier, 60, false),
    ] {
        assert_eq!(
            diesel::set_balance(&mut connection, token, amount)
                .await
                .unwrap(),
            admitted,
            "{token} {amount}"
        );
    }
    assert_eq!(balance(&client).await, 70);
}
