//! The line that represents a lease between two commands of a script.

use std::{env, fmt, io::stdin, str::FromStr};

use dlock_core::{FencingToken, Name};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use uuid::Uuid;

use crate::exit::{Exit, Failure};

/// The variable in which a script keeps it.
const VARIABLE: &str = "DLOCK_TICKET";

const TAG: &str = "dlock-lease-1";

/// The characters written with a percent sign, so that no shell splits or expands the line.
const SPECIAL: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'/');

/// A lease: `dlock-lease-1:TOKEN:UUID:NAME`, letters, digits and `-._/:%`.
///
/// The owner of a ticket can renew the lease and release it, as far as the store permits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ticket {
    pub(super) name: Name,
    pub(super) uuid: Uuid,
    pub(super) token: FencingToken,
}

impl Ticket {
    /// The one that the user means: an argument, standard input for `-`, or the variable.
    pub(super) fn of_user(argument: Option<&str>) -> Result<Self, Failure> {
        let text = match argument {
            Some("-") => std::io::read_to_string(stdin()).map_err(|error| {
                Failure::new(Exit::Usage, "can't read the ticket from standard input")
                    .because(error)
            })?,
            Some(text) => text.to_owned(),
            None => env::var_os(VARIABLE)
                .ok_or_else(|| {
                    let what = format!("there is no ticket: neither an argument nor {VARIABLE}");
                    Failure::new(Exit::Usage, what).advise(format!(
                        "in a script: {VARIABLE}=$(dlock acquire NAME) || exit; export {VARIABLE}"
                    ))
                })?
                .to_string_lossy()
                .into_owned(),
        };
        text.trim().parse()
    }
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, uuid, token } = self;
        let name = utf8_percent_encode(name.as_str(), SPECIAL);
        write!(f, "{TAG}:{token}:{uuid}:{name}")
    }
}

impl FromStr for Ticket {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        read(text)
            // Each ticket has one spelling: a line that was cut or is spelled differently was not
            // written here.
            .filter(|ticket| ticket.to_string() == text)
            .ok_or_else(|| {
                Failure::new(Exit::Usage, "this is not a ticket of 'dlock acquire'").advise(
                    format!(
                        "it is one line that begins with {TAG}: ; in a shell quote it, \"$ticket\""
                    ),
                )
            })
    }
}

fn read(text: &str) -> Option<Ticket> {
    let mut parts = text.splitn(4, ':');
    if parts.next()? != TAG {
        return None;
    }
    Some(Ticket {
        token: FencingToken::new(parts.next()?.parse().ok()?)?,
        uuid: Uuid::try_parse(parts.next()?).ok()?,
        name: Name::new(percent_decode_str(parts.next()?).decode_utf8().ok()?).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticket(name: &str) -> Ticket {
        Ticket {
            name: Name::new(name).unwrap(),
            uuid: Uuid::from_u128(0x67e5_5044_10b1_426f_9247_bb68_0e5f_e0c8),
            token: FencingToken::new(1_795_390_114_370_226).unwrap(),
        }
    }

    #[test]
    fn ticket_is_read_as_it_was_written_and_needs_no_quotes() {
        for name in ["a", "a b:c\n%", "$(reboot) `x` *?~'\"\\", "%41", "ünï/🦀"] {
            let text = ticket(name).to_string();
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/:%".contains(&byte);
            assert!(text.bytes().all(plain), "{text}");
            assert_eq!(text.parse::<Ticket>().unwrap(), ticket(name));
        }
    }

    #[test]
    fn nothing_else_is_a_ticket() {
        let good = ticket("a b").to_string();
        assert!(good.parse::<Ticket>().is_ok());
        for wrong in [
            String::new(),
            "hello".into(),
            good.replace("lease-1", "lease-2"),
            good.replace("179", "0179"),
            good.replace("67e55044", "67E55044"),
            good.replace("%20", " "),
            good.replace("a%20b", ""),
            good.replace("a%20b", "%61"),
            good.replace("a%20b", "%FF"),
            good.replace("a%20b", "%2"),
            good.replace(":a%20b", ""),
            format!("{good}\n"),
        ] {
            assert!(wrong.parse::<Ticket>().is_err(), "{wrong:?}");
        }
    }
}
