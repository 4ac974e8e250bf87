//! The findings of `dlock doctor`: a table for people, JSON for programs.

use std::time::Duration;

use serde::Serialize;

use crate::{
    exit::{Exit, Failure},
    status,
};

/// One finding.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    check: &'static str,
    state: Grade,
    found: String,
    /// The advice; null if none is needed.
    advice: Option<String>,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Grade {
    Ok,
    /// It works, but could be better.
    Advice,
    /// Something has to be done.
    Wrong,
}

impl Finding {
    pub(super) fn good(check: &'static str, found: impl Into<String>) -> Self {
        Self {
            check,
            state: Grade::Ok,
            found: found.into(),
            advice: None,
        }
    }

    /// It works, but could be better.
    pub(super) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.state = Grade::Advice;
        self.advice = Some(advice.into());
        self
    }

    /// It does not work, and this has to be done.
    pub(super) fn wrong(mut self, advice: impl Into<String>) -> Self {
        self.state = Grade::Wrong;
        self.advice = Some(advice.into());
        self
    }
}

/// All findings of one store.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    store: String,
    lease_ms: u64,
    checks: Vec<Finding>,
}

impl Report {
    pub(super) fn new(store: String, lease: Duration) -> Self {
        Self {
            store,
            lease_ms: u64::try_from(lease.as_millis()).unwrap_or(u64::MAX),
            checks: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, finding: Finding) {
        self.checks.push(finding);
    }

    /// Adds the finding of a result, and passes the result on.
    pub(super) fn note<T>(
        &mut self,
        check: &'static str,
        result: Result<T, Failure>,
        found: impl FnOnce(&T) -> String,
    ) -> Result<T, Failure> {
        match &result {
            Ok(value) => self.add(Finding::good(check, found(value))),
            // Another doctor at work is not a finding.
            Err(failure) if failure.exit() == Exit::NotAcquired => {}
            Err(failure) => {
                let advice = failure.advice().unwrap_or("mend that, and look again");
                self.add(Finding::good(check, failure.to_string()).wrong(advice));
            }
        }
        result
    }

    pub(super) fn is_well(&self) -> bool {
        self.checks
            .iter()
            .all(|finding| finding.state != Grade::Wrong)
    }

    pub(super) fn text(&self, json: bool) -> Result<String, Failure> {
        if json {
            let text = serde_json::to_string_pretty(self).map_err(status::no_json)?;
            return Ok(text + "\n");
        }
        let mut text = format!("{}\n", self.store);
        for Finding {
            check,
            state,
            found,
            advice,
        } in &self.checks
        {
            let state = match state {
                Grade::Ok => "ok",
                Grade::Advice => "advice",
                Grade::Wrong => "WRONG",
            };
            text.push_str(&format!("{state:6}  {check:10}  {found}\n"));
            if let Some(advice) = advice {
                text.push_str(&format!("{:20}{advice}\n", ""));
            }
        }
        Ok(text)
    }
}
