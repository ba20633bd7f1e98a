//! The keys of a trust store.

use super::manifest::TASK_LIMITS;
use super::shape::Shape::{Bool, Either, Integer, List, Table, Text, Time, Words};
use super::table::{Key, KeyTable};

/// The kinds that the ceiling of a key may name.
pub static KINDS: [&str; 9] =
    ["log", "clocks", "random", "filesystem", "http", "secrets", "knowledge", "tools", "model"];

/// The shape of a trust store file: an empty one trusts no key.
pub static DOCUMENT: super::Shape = Either(&[Table(&TRUST), super::Shape::Null]);

/// A trust store.
pub static TRUST: KeyTable = KeyTable {
    name: "trust",
    title: "a trust store",
    keys: &[
        Key::new("version", Integer(1, 1), "The version of the format").or("`1`"),
        Key::new("keys", List(&Table(&TRUSTED_KEY)), "The trusted keys").required(),
        Key::new(
            "require",
            List(&Table(&REQUIREMENT)),
            "Items that several keys have to sign. All entries that match an item apply",
        ),
    ],
};

/// A trusted key.
pub static TRUSTED_KEY: KeyTable = KeyTable {
    name: "trusted_key",
    title: "a trusted key",
    keys: &[
        Key::new("name", Text("a name"), "What messages call the key").required(),
        Key::new("key", Text("a public key"), "The Ed25519 public key: PEM, or 64 hexadecimal digits")
            .required(),
        Key::new("items", List(&Text("an item pattern")), "The items that the key may sign").required(),
        Key::new(
            "ceiling",
            Table(&CEILING),
            "The most that components signed with this key may use, whatever a manifest grants",
        )
        .or("`{kinds: [log]}`"),
        Key::new("not_before", Time, "From when it counts").blank(),
        Key::new("not_after", Time, "Until when it counts").blank(),
        Key::new(
            "revoked",
            Either(&[Bool, Time]),
            "`true`: nothing that it signed counts. A time: what it signed before still counts where the log of this machine shows that it was admitted before",
        ),
        Key::new(
            "succeeds",
            Text("the name of a key"),
            "The key that this one replaces; both count as one author",
        ),
    ],
};

/// The ceiling of a key.
pub static CEILING: KeyTable = KeyTable {
    name: "ceiling",
    title: "a ceiling",
    keys: &[
        Key::new("kinds", List(&Words(&KINDS)), "The kinds of capabilities").required(),
        Key::new(
            "limits",
            Table(&TASK_LIMITS),
            "The largest limits of a task; a key that is left out has no bound here",
        ),
    ],
};

/// The keys of a requirement for signatures.
pub static REQUIREMENT: KeyTable = KeyTable {
    name: "requirement",
    title: "an entry of require",
    keys: &[
        Key::new("items", List(&Text("an item pattern")), "The items that it is about").required(),
        Key::new("threshold", Integer(1, 16), "How many of the keys have to sign").required(),
        Key::new("keys", List(&Text("the name of a key")), "The keys that count").required(),
    ],
};
