//! The password file of PostgreSQL's own programs: lines `host:port:database:user:password`, `*` for
//! anything, a backslash before a colon or a backslash. The first line that fits counts.

use std::{fs, io, path::Path};

/// The connection whose password is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) host: &'a str,
    pub(crate) port: u16,
    pub(crate) database: &'a str,
    pub(crate) user: &'a str,
}

/// The password in this file; `None` if there is no file, or no line that fits.
pub(crate) fn look_up(file: &Path, wanted: Wanted<'_>) -> io::Result<Option<String>> {
    match read_private(file) {
        Ok(text) => Ok(find(&text, wanted)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A file that others may read is no place for passwords; PostgreSQL's own programs ignore it too.
fn read_private(file: &Path) -> io::Result<String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if fs::metadata(file)?.permissions().mode() & 0o077 != 0 {
            return Err(io::Error::other(
                "others may read it; take that right away: chmod 600",
            ));
        }
    }
    fs::read_to_string(file)
}

fn find(text: &str, wanted: Wanted<'_>) -> Option<String> {
    let port = wanted.port.to_string();
    let wanted = [wanted.host, &port, wanted.database, wanted.user];
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .find_map(|line| {
            let mut fields = fields(line);
            let fits = wanted.iter().all(|wanted| {
                fields
                    .next()
                    .is_some_and(|field| field == "*" || unescaped(field) == **wanted)
            });
            fits.then(|| fields.next().map(unescaped)).flatten()
        })
}

/// The parts between colons that have no backslash before them.
fn fields(line: &str) -> impl Iterator<Item = &str> {
    let mut escaped = false;
    line.split(move |letter| {
        let ends = letter == ':' && !escaped;
        escaped = letter == '\\' && !escaped;
        ends
    })
}

fn unescaped(field: &str) -> String {
    let mut text = String::with_capacity(field.len());
    let mut letters = field.chars();
    while let Some(letter) = letters.next() {
        text.extend(if letter == '\\' {
            letters.next()
        } else {
            Some(letter)
        });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: Wanted<'static> = Wanted {
        host: "db.example",
        port: 5432,
        database: "app",
        user: "me",
    };

    #[test]
    fn first_line_that_fits_counts() {
        let text = "# db.example:5432:app:me:no\n\
                    other:5432:app:me:no\n\
                    db.example:5433:app:me:no\n\
                    db.example\n\
                    *:*:app:me:pass\\:w\\\\ord\n\
                    db.example:5432:app:me:late\n";
        assert_eq!(find(text, WANTED).as_deref(), Some("pass:w\\ord"));
        let stranger = Wanted {
            user: "you",
            ..WANTED
        };
        assert_eq!(find(text, stranger), None);
        let socket = Wanted {
            host: "a:b",
            ..WANTED
        };
        assert_eq!(find("a\\:b:*:*:*:x:rest", socket).as_deref(), Some("x"));
    }

    #[cfg(unix)]
    #[test]
    fn file_that_others_may_read_is_ignored() {
        use std::os::unix::fs::PermissionsExt;
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "*:*:*:*:secret\n").unwrap();
        let mode = |mode| {
            fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).unwrap();
            look_up(file.path(), WANTED).ok()
        };
        assert_eq!(mode(0o600), Some(Some("secret".to_owned())));
        assert_eq!(mode(0o640), None);
        assert_eq!(look_up(Path::new("/no/such/file"), WANTED).unwrap(), None);
    }
}
