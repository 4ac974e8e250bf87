//! One task for each instant of a schedule.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use deadpool_postgres::tokio_postgres::{Row, types::Type};
use dlock_core::ProviderError;
use dlock_tasks::{NewTask, Served, limits};

use super::{
    PostgresTasks,
    answers::enqueued_at,
    requests::{Additions, micros},
};
use crate::{
    connections::Caller,
    error,
    record::{Flaw, value},
};

impl PostgresTasks {
    pub(super) async fn serve(
        &self,
        schedule: &str,
        instant: SystemTime,
        task: &NewTask,
    ) -> Result<Served, ProviderError> {
        limits::schedule(schedule)?;
        let additions = Additions::new(std::slice::from_ref(task))?;
        let instant = micros(instant.duration_since(UNIX_EPOCH).unwrap_or_default());
        let wrong = micros(limits::WRONG_CLOCK);
        let [
            queue,
            priority,
            delay,
            due,
            attempts,
            kind,
            key,
            until_start,
            lane,
            payload,
        ] = additions.parameters();
        let row = self
            .connections
            .query_one(
                Caller::Other,
                &self.statements.periodic,
                &[
                    (&schedule, Type::TEXT),
                    (&instant, Type::INT8),
                    (&wrong, Type::INT8),
                    queue,
                    priority,
                    delay,
                    due,
                    attempts,
                    kind,
                    key,
                    until_start,
                    lane,
                    payload,
                ],
            )
            .await?;
        served(&row).map_err(|flaw| error::bad_answer(&flaw))
    }
}

fn served(row: &Row) -> Result<Served, Flaw> {
    let verdict: &str = value(row, "verdict", 0)?;
    Ok(match verdict {
        "enqueued" => Served::Enqueued(enqueued_at(row, 2)?),
        "before" => Served::Before,
        "begun" => Served::Begun,
        "not yet" => {
            let wait: i64 = value(row, "wait", 1)?;
            Served::NotYet(Duration::from_micros(wait.unsigned_abs()))
        }
        other => return Err(format!("an unknown verdict {other:?}")),
    })
}
