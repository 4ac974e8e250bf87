//! The names of the table and its procedures, and every statement with these names filled in.

#[cfg(test)]
mod tests;

use crate::error::BuildError;

/// The longest name that the server takes, in characters, which are bytes here.
const MAX_IDENTIFIER: usize = 64;

/// The version of the procedures, which is part of their names. A release that changes a procedure's parameters, its
/// answers or its effect has the next number, so that processes of two releases can work on one table while one
/// replaces the other.
const VERSION: u32 = 1;

/// The procedures, and the files that create them.
const PROCEDURES: [(&str, &str); 9] = [
    ("acquire", include_str!("sql/acquire.sql")),
    ("renew", include_str!("sql/renew.sql")),
    ("release", include_str!("sql/release.sql")),
    ("close", include_str!("sql/close.sql")),
    ("read", include_str!("sql/read.sql")),
    ("list", include_str!("sql/list.sql")),
    ("revoke", include_str!("sql/revoke.sql")),
    ("ask", include_str!("sql/ask.sql")),
    ("purge", include_str!("sql/purge.sql")),
];

/// The parts that the files above have in common. A part may name those that come after it.
const PARTS: [(&str, &str); 7] = [
    ("declare", include_str!("sql/declare.sql")),
    ("begin", include_str!("sql/begin.sql")),
    ("lock", include_str!("sql/lock.sql")),
    ("look", include_str!("sql/look.sql")),
    ("answer", include_str!("sql/answer.sql")),
    ("sound", include_str!("sql/sound.sql")),
    ("now", include_str!("sql/now.sql")),
];

/// A procedure keeps the mode of the session that makes it. In this mode a value that does not fit is an error.
const MODE: &str =
    "SET @dlock_sql_mode = @@SESSION.sql_mode, SESSION sql_mode = 'STRICT_ALL_TABLES'";
const MODE_BEFORE: &str = "SET SESSION sql_mode = @dlock_sql_mode";

/// The longest ending of a procedure's name.
const LONGEST_ENDING: usize = "_acquire_".len() + 3;

/// The rows that `inspect.sql` shows of the table.
const TABLE: [(&str, &str); 16] = [
    ("table", "BASE TABLE InnoDB"),
    ("column", "prefix varbinary(1024)"),
    ("column", "name varbinary(1024)"),
    ("column", "uuid binary(16)"),
    ("column", "renewals bigint"),
    ("column", "owner varchar(1024) utf8mb4_bin"),
    ("column", "since bigint"),
    ("column", "token bigint"),
    ("column", "duration bigint"),
    ("column", "expiry bigint"),
    ("column", "released tinyint"),
    ("column", "asked tinyint"),
    ("column", "wanted int unsigned"),
    ("column", "data varbinary(4096) null"),
    ("key", "1 prefix"),
    ("key", "2 name"),
];

/// A table and its procedures, by their names, quoted and with the database where one was named.
#[derive(Clone, Debug)]
pub(crate) struct Schema {
    pub(crate) table: String,
    pub(crate) acquire: String,
    pub(crate) renew: String,
    pub(crate) release: String,
    pub(crate) close: String,
    pub(crate) read: String,
    pub(crate) list: String,
    pub(crate) revoke: String,
    pub(crate) ask: String,
    pub(crate) purge: String,
    pub(crate) inspect: String,
    names: Names,
}

impl Schema {
    pub(crate) fn new(table: &str) -> Result<Self, BuildError> {
        let names = Names::new(table)?;
        let procedure = |name: &str| names.fill(&format!("{{{name}}}"));
        Ok(Self {
            table: names.table(),
            acquire: procedure("acquire"),
            renew: procedure("renew"),
            release: procedure("release"),
            close: procedure("close"),
            read: procedure("read"),
            list: procedure("list"),
            revoke: procedure("revoke"),
            ask: procedure("ask"),
            purge: procedure("purge"),
            inspect: names.inspect(),
            names,
        })
    }

    /// The statements that make the schema; safe to run again.
    pub(crate) fn sql(&self) -> String {
        let mut sql = format!("-- The schema of dlock for MariaDB.\n{MODE};\n");
        let files = PROCEDURES.map(|(_, file)| file);
        for file in [include_str!("sql/table.sql")].into_iter().chain(files) {
            sql.push('\n');
            sql.push_str(self.names.fill(file).trim_end());
            sql.push_str(";\n");
        }
        sql.push_str(&format!("\n{MODE_BEFORE};\n"));
        sql
    }

    /// The parts of the table and its procedures that were not found, in words. Without a table, everything counts as
    /// missing.
    pub(crate) fn lacks(&self, found: &[(String, String)]) -> Vec<String> {
        let has = |kind: &str, name: &str| found.iter().any(|(k, n)| k == kind && n == name);
        if !found.iter().any(|(kind, _)| kind == "table") {
            return vec!["it does not exist".into()];
        }
        let mut lacks: Vec<String> = TABLE
            .into_iter()
            .filter(|(kind, name)| !has(kind, name))
            .map(|(kind, name)| match kind {
                "table" => "it is no ordinary table of the engine InnoDB".into(),
                "column" => format!("the column {name} is missing"),
                _ => "(prefix, name) is not its primary key".into(),
            })
            .collect();
        lacks.dedup();
        let procedures = PROCEDURES
            .iter()
            .map(|(name, _)| self.names.ending(name))
            .filter(|procedure| !has("procedure", procedure));
        // The database shows a procedure to users who may execute it.
        lacks.extend(procedures.map(|procedure| {
            format!("the procedure {procedure} is missing, or this user lacks EXECUTE on it")
        }));
        lacks
    }
}

/// A table, alone or with its database.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    database: Option<String>,
    table: String,
}

impl Names {
    pub(crate) fn new(table: &str) -> Result<Self, BuildError> {
        let (database, table) = match table.split_once('.') {
            Some((database, table)) => (Some(database), table),
            None => (None, table),
        };
        if let Some(database) = database {
            check("database", database, MAX_IDENTIFIER)?;
        }
        check("table", table, MAX_IDENTIFIER - LONGEST_ENDING)?;
        // The server compares names of procedures without regard to case, and those of tables perhaps not.
        if table.chars().any(|letter| letter.is_ascii_uppercase()) {
            return Err(refused(
                "table",
                table,
                "it has a capital letter",
                MAX_IDENTIFIER,
            ));
        }
        Ok(Self {
            database: database.map(Into::into),
            table: table.into(),
        })
    }

    /// The table, quoted, and qualified if it can be.
    pub(crate) fn table(&self) -> String {
        self.quoted(&self.table)
    }

    /// Puts the parts and the names in. Neither names nor parts contain words in braces that were already replaced.
    pub(crate) fn fill(&self, sql: &str) -> String {
        let mut filled = sql.to_owned();
        for (name, part) in PARTS {
            let word = format!("{{{name}}}");
            if filled.contains(&word) {
                filled = filled.replace(&word, &without_comments(part));
            }
        }
        for (name, _) in PROCEDURES {
            let procedure = self.quoted(&self.ending(name));
            filled = filled.replace(&format!("{{{name}}}"), &procedure);
        }
        filled.replace("{table}", &self.table())
    }

    fn inspect(&self) -> String {
        let database = self.database.as_ref().map_or_else(
            || "DATABASE()".into(),
            // As the server keeps it.
            |name| format!("IF(@@lower_case_table_names = 0, '{name}', LOWER('{name}'))"),
        );
        without_comments(include_str!("sql/inspect.sql"))
            .replace("{database}", &database)
            .replace("{name}", &format!("'{}'", self.table))
    }

    fn ending(&self, name: &str) -> String {
        format!("{}_{name}_{VERSION}", self.table)
    }

    fn quoted(&self, name: &str) -> String {
        match &self.database {
            Some(database) => format!("`{database}`.`{name}`"),
            None => format!("`{name}`"),
        }
    }
}

/// A name without quotes cannot end its own quotes.
fn check(what: &'static str, name: &str, most: usize) -> Result<(), BuildError> {
    let reason = if name.is_empty() {
        "it is empty"
    } else if name.len() > most {
        "it is too long"
    } else if !name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    {
        "it contains another character"
    } else {
        return Ok(());
    };
    Err(refused(what, name, reason, most))
}

fn refused(what: &'static str, name: &str, reason: &'static str, most: usize) -> BuildError {
    BuildError::Identifier {
        what,
        name: name.into(),
        reason,
        most,
    }
}

/// The statement alone, for sending with every call or for use within another statement.
pub(crate) fn without_comments(sql: &str) -> String {
    let lines: Vec<&str> = sql
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with("--"))
        .collect();
    lines.join(" ")
}
