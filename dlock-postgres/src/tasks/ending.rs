//! Endings: together if that works, and each separately if one would keep the others waiting.

use dlock_core::ProviderError;
use dlock_tasks::{Ended, Ending};
use tokio::task::JoinSet;

use super::{
    PostgresTasks,
    answers::ended_in_order,
    requests::{Endings, Texts},
};
use crate::{connections::Caller, error};

impl PostgresTasks {
    pub(super) async fn end(&self, endings: &[Ending]) -> Result<Vec<Ended>, ProviderError> {
        match self.finish_together(endings, Texts::Plain).await {
            // A row that another session keeps locked does not hold up the others.
            Err(error) if endings.len() > 1 && error::of_one_row(&error) => {
                self.finish_apart(endings).await
            }
            Err(error) if error::of_the_encoding(&error) => {
                self.finish_together(endings, Texts::Escaped).await
            }
            answer => answer,
        }
    }

    /// Ends claims in one statement.
    async fn finish_together(
        &self,
        endings: &[Ending],
        texts: Texts,
    ) -> Result<Vec<Ended>, ProviderError> {
        let all = Endings::new(endings, texts)?;
        let rows = self
            .connections
            .query(Caller::Holder, &self.statements.finish, &all.parameters())
            .await?;
        ended_in_order(endings.len(), &rows)
    }

    /// Each separately, as many at once as the pool allows. Dropping this future stops them all.
    ///
    /// # Errors
    /// The error of an ending that has one; all others have ended.
    async fn finish_apart(&self, endings: &[Ending]) -> Result<Vec<Ended>, ProviderError> {
        let mut finishing = JoinSet::new();
        for (place, ending) in endings.iter().cloned().enumerate() {
            let own = self.clone();
            finishing.spawn(async move {
                let ending = [ending];
                let mut answer = own.finish_together(&ending, Texts::Plain).await;
                if answer.as_ref().is_err_and(error::of_the_encoding) {
                    answer = own.finish_together(&ending, Texts::Escaped).await;
                }
                (place, answer)
            });
        }
        let mut answers: Vec<Result<Ended, ProviderError>> = endings
            .iter()
            .map(|_| Err(error::bad_answer("no answer for an ending")))
            .collect();
        while let Some(done) = finishing.join_next().await {
            // An ending that did not finish, because its runtime does, stays without an answer.
            if let Ok((place, answer)) = done {
                answers[place] = answer.map(|ended| ended[0]);
            }
        }
        answers.into_iter().collect()
    }
}
