//! The keys of directives.

use super::shape::Shape::{Any, Bool, Text, Words};
use super::table::{Key, KeyTable};

/// An input in a list.
pub static INPUT: KeyTable = KeyTable {
    name: "directive_input",
    title: "an input of a directive",
    keys: &[
        Key::new("name", Text("a name"), "The name of the input").required(),
        TYPE,
        REQUIRED,
        DEFAULT,
        DESCRIPTION,
    ],
};

/// An input in a mapping, whose key is its name.
pub static NAMED_INPUT: KeyTable = KeyTable {
    name: "directive_named_input",
    title: "a named input of a directive",
    keys: &[TYPE, REQUIRED, DEFAULT, DESCRIPTION],
};

const TYPE: Key = Key::new(
    "type",
    Words(&[
        "any", "string", "text", "integer", "number", "boolean", "array", "object", "int", "float", "bool",
        "list", "dict",
    ]),
    "What it may be",
)
.or("`any`");
const REQUIRED: Key = Key::new("required", Bool, "Whether it has to be given").or("`false`");
const DEFAULT: Key = Key::new("default", Any, "The value if it is not given").blank();
const DESCRIPTION: Key = Key::new("description", Text(""), "What it is for");
