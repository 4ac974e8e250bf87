//! "Fencing": storage that refuses a stale token, with each driver.

pub mod diesel;
pub mod dynamodb;
pub mod http;
pub mod postgres;
pub mod redis;
pub mod sea_orm;
pub mod sqlx;
