//! With `sea-orm`.

use dlock::{FencingToken, postgres::fence::bigint};
use sea_orm::{DatabaseTransaction, DbErr, Statement, entity::prelude::*};

// ANCHOR: entity
#[derive(Clone, Debug, PartialEq, Eq, DeriveEntityModel)]
#[sea_orm(table_name = "account")]
pub struct Model {
    #[sea_orm(primary_key, auto_increment = false)]
    pub id: i64,
    pub balance: i64,
    pub token: i64,
}
// ANCHOR_END: entity

#[derive(Clone, Copy, Debug, EnumIter, DeriveRelation)]
pub enum Relation {}

impl ActiveModelBehavior for ActiveModel {}

// ANCHOR: row
/// False: a later holder has written, so stop.
pub async fn set_balance(
    database: &DatabaseConnection,
    token: FencingToken,
    balance: i64,
) -> Result<bool, DbErr> {
    let written = Entity::update_many()
        .col_expr(Column::Balance, Expr::value(balance))
        .col_expr(Column::Token, Expr::value(bigint(token)))
        .filter(Column::Id.eq(7))
        .filter(Column::Token.lte(bigint(token)))
        .exec(database)
        .await?;
    Ok(written.rows_affected == 1)
}
// ANCHOR_END: row

// ANCHOR: transaction
/// The lock protects several rows: the first statement of their transaction checks
/// the table of tokens. False: a later holder was here. Drop the transaction, and
/// stop.
pub async fn admitted(
    transaction: &DatabaseTransaction,
    resource: &str,
    token: FencingToken,
) -> Result<bool, DbErr> {
    let remember = Statement::from_sql_and_values(
        transaction.get_database_backend(),
        "INSERT INTO dlock.fence AS f (resource, token) VALUES ($1, $2)
         ON CONFLICT (resource) DO UPDATE SET token = excluded.token
         WHERE f.token <= excluded.token",
        [resource.into(), bigint(token).into()],
    );
    let written = transaction.execute(remember).await?;
    Ok(written.rows_affected() == 1)
}
// ANCHOR_END: transaction
