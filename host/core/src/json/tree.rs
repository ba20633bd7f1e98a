//! The memory that an external JSON text takes once it is read, measured in advance.
//!
//! A text of 16 MB can denote two million objects, which take more than a gigabyte. Every reader of a text that this process has not
//! written itself therefore names a [`TreeLimit`]; the text is measured in one pass over its bytes.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::work::size;

/// Largest memory for one byte of JSON, in bytes: `{"":{"":` has a field in five bytes.
const MOST_OF_A_BYTE: u64 = size::of_map(1) / 4;

/// Largest nesting that the measurement follows. No reader creates deeper values: `serde_json` stops at 128.
const DEEPEST: usize = 128;

/// Limit on the memory of one JSON text of a kind once it is read, measured like [`size`](crate::work::size) measures a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeLimit {
    what: &'static str,
    most: u64,
}

impl TreeLimit {
    /// Files of settings, notes and records of origin, and the first lines of files.
    pub const NOTE: Self = Self::new("a note or a file of settings", 16 << 20);
    /// Signed statements, envelopes and lines of logs.
    pub const STATEMENT: Self = Self::new("a signed statement", 64 << 20);
    /// Answers of registries, model providers and credential helpers.
    pub const ANSWER: Self = Self::new("an answer", 64 << 20);
    /// Values that a component passes to the host, unless its own limit on the text allows more: the default limit of a run's channels.
    pub const CALL: Self = Self::new("what a component passes", 64 << 20);
    /// Graphs, manifests and hooks in runs; the documents of bundles; schemas; output of other programs.
    pub const DOCUMENT: Self = Self::new("a document", 128 << 20);
    /// The inputs of a run: twice the default limit of a run's channels.
    pub const INPUTS: Self = Self::new("the inputs of a run", 128 << 20);
    /// A value of a run, such as its result, and all channels of a run together: four times the default limit of a run's channels.
    pub const VALUE: Self = Self::new("the values of a run", 256 << 20);
    /// A record of a run: the largest one is the checkpoint of a superstep with very many tasks.
    pub const RECORD: Self = Self::new("a record of a run", 640 << 20);

    const fn new(what: &'static str, most: u64) -> Self {
        Self { what, most }
    }

    /// Returns the limit in bytes.
    pub const fn most(self) -> u64 {
        self.most
    }

    /// Returns the same limit, or a larger one that a user has set.
    #[must_use]
    pub const fn or(self, most: u64) -> Self {
        Self { most: if most > self.most { most } else { self.most }, ..self }
    }

    /// Returns the rest of the limit after `used` bytes.
    #[must_use]
    pub const fn less(self, used: u64) -> Self {
        Self { most: self.most.saturating_sub(used), ..self }
    }

    /// Measures a text, and returns the memory that it takes once it is read. Of a text that is not JSON, at least the part that a reader
    /// would reach is measured.
    pub fn check(self, text: &[u8]) -> Result<u64, TreeTooLarge> {
        let needed = tree_size(text);
        if needed <= self.most {
            Ok(needed)
        } else {
            Err(TreeTooLarge { limit: self, needed, bytes: text.len() })
        }
    }

    /// Like [`Self::check`] without the size, which is not measured if no text of that length can exceed the limit.
    pub(super) fn allows(self, text: &[u8]) -> Result<(), TreeTooLarge> {
        if (text.len() as u64).saturating_mul(MOST_OF_A_BYTE) <= self.most {
            return Ok(());
        }
        self.check(text).map(|_| ())
    }
}

/// A JSON text takes more memory than its reader allows. None of it was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "its {bytes} bytes would take {} MiB of memory as JSON values, and {} may take {} MiB",
    .needed.div_ceil(1 << 20), .limit.what, .limit.most >> 20
)]
pub struct TreeTooLarge {
    /// The limit.
    pub limit: TreeLimit,
    /// Memory that the text takes once it is read, in bytes.
    pub needed: u64,
    /// The length of the text, in bytes.
    pub bytes: usize,
}

/// The reason why a JSON text was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadJsonError {
    /// The text takes too much memory.
    #[error(transparent)]
    TooLarge(#[from] TreeTooLarge),
    /// The text is not JSON, or does not have the expected form.
    #[error(transparent)]
    Malformed(#[from] serde_json::Error),
}

impl ReadJsonError {
    /// Returns the line and the column at which reading stopped, from 1; `(1, 1)` if it did not start.
    pub fn position(&self) -> (usize, usize) {
        match self {
            Self::TooLarge(_) => (1, 1),
            Self::Malformed(error) => (error.line(), error.column()),
        }
    }
}

/// Reads an external JSON text, within a limit on the memory that it takes.
pub fn read<T: DeserializeOwned>(text: impl AsRef<[u8]>, limit: TreeLimit) -> Result<T, ReadJsonError> {
    let text = text.as_ref();
    limit.allows(text)?;
    Ok(serde_json::from_slice(text)?)
}

/// Like [`read`], with the measured size: for texts that share a limit.
pub fn read_measured(text: &str, limit: TreeLimit) -> Result<(Value, u64), ReadJsonError> {
    let size = limit.check(text.as_bytes())?;
    Ok((serde_json::from_str(text)?, size))
}

/// Returns the size of the value that a text denotes, as [`size::of`] counts it; escapes in its strings count as written.
fn tree_size(text: &[u8]) -> u64 {
    let mut total = 0_u64;
    // For each open list or object: the number of fields, or `None` for a list.
    let mut open: Vec<Option<u64>> = Vec::with_capacity(16);
    // Number of open values below the deepest followed level: only readers that skip them get there.
    let mut deeper = 0_u64;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => {
                total += size::VALUE;
                if open.len() == DEEPEST {
                    deeper += 1;
                } else {
                    open.push((byte == b'{').then_some(0));
                }
            }
            b'}' | b']' if deeper > 0 => deeper -= 1,
            b'}' | b']' => {
                open.pop();
            }
            b'"' => {
                let begins = at;
                while let Some(&inside) = text.get(at) {
                    match inside {
                        b'"' => break,
                        b'\\' => at += 2,
                        _ => at += 1,
                    }
                }
                total += size::VALUE + (at.min(text.len()) - begins) as u64;
                at += 1;
            }
            b':' => {
                // The text of the key was counted like a value.
                if deeper == 0
                    && let Some(Some(fields)) = open.last_mut()
                {
                    let before = size::of_map(usize::try_from(*fields).unwrap_or(usize::MAX));
                    *fields += 1;
                    let after = size::of_map(usize::try_from(*fields).unwrap_or(usize::MAX));
                    total = (total + (after - before)).saturating_sub(size::VALUE);
                }
            }
            b'-' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                total += size::VALUE;
                let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
                let rest = text.get(at..).unwrap_or_default();
                at += rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
            }
            _ => {}
        }
    }
    total
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::json::{any_json, canonical_string};

    #[test]
    fn each_kind_of_text_is_measured_as_its_value_is() {
        for text in [
            "null",
            "-1.5e+10",
            "[]",
            "[[],[],[]]",
            "{}",
            r#"{"a":0}"#,
            r#"[{"a":0},{"a":{"b":[1,true,"x"]}}]"#,
            " { \"a\" : [ 1 , 2 ] , \"b\" : \"c\" } ",
        ] {
            let value: Value = serde_json::from_str(text).unwrap();
            assert_eq!(tree_size(text.as_bytes()), size::of(&value), "{text}");
        }
        let many: Vec<_> = (0..30).map(|at| format!("\"{at}\":{at}")).collect();
        let many = format!("{{{}}}", many.join(","));
        assert_eq!(tree_size(many.as_bytes()), size::of(&serde_json::from_str(&many).unwrap()));
        // Escapes count as written, which is more than the stored text.
        assert_eq!(tree_size(br#""\u0000\"\\""#), size::VALUE + 10);
    }

    #[test]
    fn a_text_that_would_take_too_much_is_refused_before_it_is_read() {
        for part in ["{\"a\":0}", "[]", "{}", "0", "\"\"", "[[[[]]]]", "{\"a\":{\"b\":{\"c\":{}}}}"] {
            let text = format!("[{}{part}]", format!("{part},").repeat(1 << 20));
            let error = read::<Value>(&text, TreeLimit::NOTE).unwrap_err();
            let ReadJsonError::TooLarge(error) = error else { panic!("{error}") };
            assert_eq!((error.limit, error.bytes), (TreeLimit::NOTE, text.len()));
            assert_eq!(error.needed, tree_size(text.as_bytes()));
        }
        // A skipped value may nest to any depth, and does not hide the following text.
        let skipped = format!("{}{}", "[".repeat(1 << 20), "]".repeat(1 << 20));
        let text = format!("{{\"skipped\":{skipped},\"x\":[{}0]}}", "0,".repeat(1 << 20));
        assert!(matches!(read::<Value>(text, TreeLimit::NOTE.or(96 << 20)), Err(ReadJsonError::TooLarge(_))));
        // A key may be as long as a text.
        let text = format!("{{\"{}\":0}}", "k".repeat(17 << 20));
        assert!(matches!(read::<Value>(text, TreeLimit::NOTE), Err(ReadJsonError::TooLarge(_))));
        assert_eq!(read::<Value>("[1]", TreeLimit::NOTE.less(u64::MAX).or(192)).unwrap(), json!([1]));
        let error = read::<Value>("[1]", TreeLimit::NOTE.less(u64::MAX).or(127)).unwrap_err();
        assert!(error.to_string().starts_with("its 3 bytes would take 1 MiB of memory"), "{error}");
    }

    #[test]
    fn no_text_takes_more_for_a_byte_than_is_assumed() {
        let deep = format!("{}0{}", "{\"\":".repeat(127), "}".repeat(127));
        for text in [deep.as_str(), "{\"\":0}", "[0]", "{}", "0", "[[]]"] {
            let most = text.len() as u64 * MOST_OF_A_BYTE;
            assert!(tree_size(text.as_bytes()) <= most, "{text}");
            let value: Value = serde_json::from_str(text).unwrap();
            assert!(size::of(&value) <= most, "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_measured_text_takes_no_less_than_its_value(value in any_json()) {
            let text = canonical_string(&value);
            let measured = tree_size(text.as_bytes());
            prop_assert!(measured >= size::of(&value), "{text}");
            if !text.contains('\\') {
                prop_assert_eq!(measured, size::of(&value));
            }
            let spaced = serde_json::to_string_pretty(&value).unwrap();
            prop_assert!(tree_size(spaced.as_bytes()) >= size::of(&value));
        }

        #[test]
        fn measuring_never_panics(text in any::<Vec<u8>>(), near in "[\\[\\]{}\",:0-9eE.+\\- a\\\\]{0,40}") {
            let _ = (tree_size(&text), tree_size(near.as_bytes()));
        }
    }
}
