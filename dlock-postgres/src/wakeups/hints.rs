//! What a release says to those who listen: the channel, which is the table's, and the text, which
//! says whose lock it is. Nothing here speaks to the database.

use dlock_core::{Name, Prefix};

use crate::schema::Schema;

/// The hints about the locks of one prefix in one table.
#[derive(Debug)]
pub(crate) struct Hints {
    channel: String,
    /// Everything in front of the name: the table, since a channel's name may have been cut short;
    /// then the prefix after its length, so that ("ab", "c") and ("a", "bc") differ.
    head: String,
}

impl Hints {
    pub(crate) fn new(schema: &Schema, prefix: &Prefix) -> Self {
        let (table, prefix) = (schema.table_unquoted(), prefix.as_str());
        Self {
            channel: schema.channel(),
            head: format!("{table}:{}:{prefix}", prefix.len()),
        }
    }

    /// Its name, which needs no more than quotes to be an identifier.
    pub(crate) fn channel(&self) -> &str {
        &self.channel
    }

    /// The hint that this lock may be free. With the longest of all names it has 1.2 KB; the server
    /// takes 8.
    pub(crate) fn about(&self, name: &Name) -> String {
        format!("{}{name}", self.head)
    }

    /// The lock that a hint is about; `None` if it is none of ours.
    pub(crate) fn name(&self, hint: &str) -> Option<Name> {
        Name::new(hint.strip_prefix(&self.head)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hints(schema: &str, table: &str, prefix: &str) -> Hints {
        Hints::new(
            &Schema::new(schema, table).unwrap(),
            &Prefix::new(prefix).unwrap(),
        )
    }

    #[test]
    fn hint_is_for_its_own_table_and_prefix_alone() {
        let name = Name::new("7:b:'\"\u{1f512}").unwrap();
        let all = [
            hints("dlock", "lock", ""),
            hints("dlock", "lock", "7"),
            hints("dlock", "lock", "7:"),
            hints("dlock", "lock", "7:b"),
            hints("dlock", "lock-", ""),
            hints("dlock-", "lock", ""),
            hints(&"x".repeat(63), &"y".repeat(51), ""),
            hints(&"x".repeat(63), &"z".repeat(51), ""),
        ];
        for (n, teller) in all.iter().enumerate() {
            for (m, listener) in all.iter().enumerate() {
                let heard = listener.name(&teller.about(&name));
                assert_eq!(heard, (n == m).then(|| name.clone()), "{n} to {m}");
            }
        }
    }

    #[test]
    fn channel_is_never_longer_than_the_server_keeps() {
        for (schema, table) in [("x", "y"), ("ö", "ß")] {
            let (schema, table) = (schema.repeat(63 / schema.len()), table.repeat(25));
            let channel = hints(&schema, &table, "").channel;
            assert!(channel.len() <= 63, "{channel}");
            assert!(channel.starts_with("dlock:"), "{channel}");
        }
        assert_eq!(hints("dlock", "lock", "p").channel, "dlock:dlock.lock");
    }
}
