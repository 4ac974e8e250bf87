//! The scripts, and how one is sent: by its digest; the text follows only if the server does not
//! know it (after a restart, a failover, `SCRIPT FLUSH`).

use std::sync::LazyLock;

use redis::{Cmd, ErrorKind, RedisError, Script, ServerErrorKind};

/// A script of ours.
pub(crate) struct Lua {
    text: &'static str,
    digest: String,
}

/// A script that begins with the record of its key.
macro_rules! on_record {
    ($name:literal) => {
        LazyLock::new(|| {
            Lua::new(concat!(
                include_str!("lua/record.lua"),
                include_str!(concat!("lua/", $name, ".lua"))
            ))
        })
    };
}

pub(crate) static ACQUIRE: LazyLock<Lua> = on_record!("acquire");
pub(crate) static RENEW: LazyLock<Lua> = on_record!("renew");
pub(crate) static RELEASE: LazyLock<Lua> = on_record!("release");
pub(crate) static CLOSE: LazyLock<Lua> = on_record!("close");
pub(crate) static READ: LazyLock<Lua> = on_record!("read");
pub(crate) static REVOKE: LazyLock<Lua> = on_record!("revoke");
pub(crate) static ASK: LazyLock<Lua> = on_record!("ask");
pub(crate) static PURGE: LazyLock<Lua> = on_record!("purge");
pub(crate) static SCAN: LazyLock<Lua> = LazyLock::new(|| Lua::new(include_str!("lua/scan.lua")));

impl Lua {
    pub(crate) fn new(text: &'static str) -> Self {
        Self {
            text,
            digest: Script::new(text).get_hash().to_owned(),
        }
    }

    /// The command that runs the script by its digest.
    pub(crate) fn by_digest(
        &self,
        keys: &[impl AsRef<[u8]>],
        arguments: &[impl AsRef<[u8]>],
    ) -> Cmd {
        run("EVALSHA", &self.digest, keys, arguments)
    }

    /// The command that runs the script by its text. The server remembers the script then; `SCRIPT
    /// LOAD` would have to find the right node of a cluster first.
    pub(crate) fn by_text(&self, keys: &[impl AsRef<[u8]>], arguments: &[impl AsRef<[u8]>]) -> Cmd {
        run("EVAL", self.text, keys, arguments)
    }
}

/// The server does not know the digest. It ran nothing.
pub(crate) fn is_unknown(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
}

fn run(name: &str, script: &str, keys: &[impl AsRef<[u8]>], arguments: &[impl AsRef<[u8]>]) -> Cmd {
    let keys = keys.iter().map(AsRef::as_ref);
    let arguments = arguments.iter().map(AsRef::as_ref);
    let parts = || keys.clone().chain(arguments.clone());
    let size = name.len() + script.len() + parts().map(<[u8]>::len).sum::<usize>();
    // The number of keys takes a byte.
    let mut run = Cmd::with_capacity(3 + parts().count(), size + 1);
    run.arg(name).arg(script).arg(keys.len());
    parts().for_each(|part| {
        run.arg(part);
    });
    run
}
