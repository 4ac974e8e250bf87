//! Namespaces, and the names that leases and queues have in the store (N2).

use dlock_core::{Name, provider::Prefix};
use dlock_http::{Code, Problem, is_namespace};
use utoipa::IntoParams;

use crate::problem::Refusal;

/// The most bytes of the name of a queue or a schedule, as stores have it.
const LONGEST_LABEL: usize = 128;

/// The part of a path that names a namespace, for the description.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "a description")]
pub(crate) struct InNamespace {
    /// 1 to 63 of a-z, 0-9 and -
    namespace: String,
}

/// 1 to 63 of `a-z`, `0-9` and `-`. The names of all that is in a namespace begin with its name and a slash.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Namespace(String);

impl Namespace {
    pub(crate) fn new(text: &str) -> Option<Self> {
        is_namespace(text).then(|| Self(text.to_owned()))
    }

    /// The namespace of paths that name none.
    pub(crate) fn default() -> Self {
        Self("default".to_owned())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// The beginning of all its names.
    pub(crate) fn prefix(&self) -> String {
        format!("{}/", self.0)
    }

    /// The name before all of its names in the store. A record of just this name may exist, made without a server; the
    /// rest of that name is empty, so it has no name here.
    pub(crate) fn before_all(&self) -> Result<Name, Refusal> {
        Name::new(self.prefix()).map_err(|_| Code::Fatal.into())
    }

    /// The name in the store. `pointer` is the position of the name in the body.
    pub(crate) fn stored(&self, name: &str, pointer: &str) -> Result<Name, Refusal> {
        if name.is_empty() {
            let problem = Problem::new(Code::BadRequest).detail("the name is empty");
            return Err(problem.pointer(pointer).into());
        }
        Name::new(format!("{}/{name}", self.0)).map_err(|error| {
            let detail = format!("{error}; the namespace and a slash are counted");
            Problem::new(Code::BadRequest)
                .detail(detail)
                .pointer(pointer)
                .into()
        })
    }

    /// The beginning, in the store, of names that begin with this.
    pub(crate) fn stored_prefix(&self, prefix: &str) -> Result<String, Refusal> {
        let stored = format!("{}{prefix}", self.prefix());
        match Prefix::new(&stored) {
            Ok(_) => Ok(stored),
            Err(error) => {
                let problem = Problem::new(Code::BadRequest).detail(error.to_string());
                Err(problem.pointer("/prefix").into())
            }
        }
    }

    /// The name of a queue or a schedule in the store.
    pub(crate) fn stored_label(&self, name: &str, pointer: &str) -> Result<String, Refusal> {
        let stored = format!("{}/{name}", self.0);
        let wrong = if name.is_empty() {
            "the name is empty".to_owned()
        } else if name.contains('\0') {
            "the name has a NUL character".to_owned()
        } else if stored.len() > LONGEST_LABEL {
            let bytes = stored.len();
            format!(
                "the name has {bytes} bytes with the namespace and a slash: at most {LONGEST_LABEL} are possible"
            )
        } else {
            return Ok(stored);
        };
        Err(Problem::new(Code::BadRequest)
            .detail(wrong)
            .pointer(pointer)
            .into())
    }

    /// The name without the namespace, if it is one of this namespace.
    pub(crate) fn shown<'name>(&self, stored: &'name str) -> Option<&'name str> {
        stored.strip_prefix(&self.0)?.strip_prefix('/')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_into_another_namespace() {
        for bad in ["", "A", "a_b", "a/b", "ü", "a.b", &"a".repeat(64)] {
            assert_eq!(Namespace::new(bad), None, "{bad:?}");
        }
        let team = Namespace::new("team-1").unwrap();
        let stored = team.stored("../other/door", "/name").unwrap();
        assert_eq!(stored.as_str(), "team-1/../other/door");
        assert_eq!(team.shown(stored.as_str()), Some("../other/door"));
        assert_eq!(team.shown("team-10/door"), None);
        assert!(team.stored("", "/name").is_err());
        assert!(team.stored("a\0", "/name").is_err());
        let longest = "x".repeat(Name::MAX_BYTES - "team-1/".len());
        assert!(team.stored(&longest, "/name").is_ok());
        assert!(team.stored(&format!("{longest}x"), "/name").is_err());
        let longest = "x".repeat(LONGEST_LABEL - "team-1/".len());
        assert_eq!(
            team.stored_label(&longest, "/queue").unwrap().len(),
            LONGEST_LABEL
        );
        for bad in ["", "a\0", &format!("{longest}x")] {
            assert!(team.stored_label(bad, "/queue").is_err(), "{bad:?}");
        }
    }
}
