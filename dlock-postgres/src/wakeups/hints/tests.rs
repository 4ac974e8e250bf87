//! Which hints belong to which provider, and the names of channels.

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
