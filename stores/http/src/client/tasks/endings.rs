//! Endings, as many as fit into one request.

use dlock_core::ProviderError;
use dlock_tasks::{Ended, Ending};

use super::{HttpTasks, expected, state};
use crate::{
    Code,
    client::{answer::refused, provider::unexpected},
    tasks::{self as wire, EndingAnswer},
};

/// The most endings of one request, and how many bytes of outputs: half of the body that a server takes.
const MOST: usize = 500;
const MOST_BYTES: usize = 512 * 1024;

/// Endings in parts, each of which fits into a request.
pub(super) fn parts(endings: &[Ending]) -> Result<Vec<Vec<wire::Ending>>, ProviderError> {
    let mut parts = vec![Vec::new()];
    let mut bytes = 0;
    for ending in endings {
        let output = ending.check()?.map_or(0, |text| text.len());
        let Some(ending) = wire::Ending::of(ending) else {
            return Err(ProviderError::fatal("this version has no such ending"));
        };
        bytes += output;
        match parts.last_mut() {
            Some(part) if part.len() < MOST && (bytes <= MOST_BYTES || part.is_empty()) => {
                part.push(ending);
            }
            _ => {
                bytes = output;
                parts.push(vec![ending]);
            }
        }
    }
    Ok(parts)
}

impl HttpTasks {
    /// Ends as many claims as fit into one request.
    pub(super) async fn end(
        &self,
        endings: Vec<wire::Ending>,
    ) -> Result<Vec<Ended>, ProviderError> {
        let sent = endings.len();
        let body = wire::Endings { endings };
        let wire::EndedMany { answers } = expected(self.post("tasks/endings", &body).await?)?;
        if answers.len() != sent {
            let why = "the server answered more or fewer endings than were sent";
            return Err(ProviderError::unknown(why));
        }
        let answers = answers.into_iter().map(|answer| match answer {
            EndingAnswer::Ended(wire::Ended { became }) => Ok(Ended::Own(became)),
            EndingAnswer::Problem(problem) => match refused::<()>(*problem)? {
                Err(problem) if problem.code == Code::Lost => Ok(Ended::Lost(state(&problem))),
                Err(problem) => Err(unexpected(&problem)),
                Ok(()) => Err(ProviderError::unknown("no answer")),
            },
        });
        answers.collect()
    }
}
