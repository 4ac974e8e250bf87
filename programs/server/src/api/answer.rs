//! How rows and refusals are written.

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use dlock_http::{Code, Problem};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Value, json};

use crate::problem::Refusal;

/// A status, and a body.
pub(super) type Answer<T> = Result<(StatusCode, Json<T>), Refusal>;

/// The row that was just written. If the store does not show it, the answer must not say that nothing was done.
pub(super) fn of_written<T>(row: Result<T, Refusal>) -> Result<T, Refusal> {
    row.map_err(|_| Code::Unknown.into())
}

/// A row. Each instant is written in both ways, as `created_at` and as `createdAt`: the sample answers changes of a row
/// with the one, and reads of it with the other. The payload and the output of a task, which may be large, are written
/// once.
#[derive(Debug)]
pub(super) struct Row<T>(pub(super) T);

impl<T: Serialize> Serialize for Row<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = serde_json::to_value(&self.0).map_err(serde::ser::Error::custom)?;
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in row.as_object().into_iter().flatten() {
            map.serialize_entry(name, value)?;
            if name.contains('_') && !name.starts_with("task_") {
                map.serialize_entry(&in_camel_case(name), value)?;
            }
        }
        map.end()
    }
}

/// The name as the sample writes it, which has `lastHeartBeatAt` for `last_heartbeat_at`.
fn in_camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let (first, rest) = word.split_at_checked(1).unwrap_or(("", word));
        camel.push_str(&first.to_ascii_uppercase());
        camel.push_str(rest);
    }
    camel.replace("Heartbeat", "HeartBeat")
}

/// A refusal of a path or a method that may have been meant for this interface.
pub(crate) async fn refused(path: &str, refusal: Refusal) -> Response {
    let response = refusal.into_response();
    match path.starts_with("/api/") {
        true => with_error(response).await,
        false => response,
    }
}

/// Adds the member `error`, which clients of the sample read, to every problem.
pub(super) async fn with_error(mut response: Response) -> Response {
    let Some(problem) = response.extensions_mut().remove::<Problem>() else {
        return response;
    };
    let error = problem.detail.as_ref().unwrap_or(&problem.title).clone();
    let Ok(Value::Object(mut members)) = serde_json::to_value(&problem) else {
        return response;
    };
    members.insert("error".to_owned(), json!(error));
    *response.body_mut() = Value::Object(members).to_string().into();
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_written_twice_and_payloads_once() {
        #[derive(Serialize)]
        struct Beat {
            id: u8,
            last_heartbeat_at: u8,
            task_data: u8,
        }
        let row = Row(Beat {
            id: 1,
            last_heartbeat_at: 2,
            task_data: 3,
        });
        let row = serde_json::to_value(row).unwrap();
        assert_eq!(
            row,
            json!({"id": 1, "last_heartbeat_at": 2, "lastHeartBeatAt": 2, "task_data": 3})
        );
    }
}
