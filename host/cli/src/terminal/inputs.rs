//! A run's inputs from the command line.

use std::io::Read as _;
use std::path::Path;

use graph_core::json::{self, StrictJsonError, TreeLimit};
use serde_json::{Map, Value};

use crate::terminal::paths::shown_input;
use graph_runtime::error::{Error, Result};
use graph_runtime::run::typed_answers::AS_TEXT;
use graph_runtime::run::typed_inputs::{self, MAX_DEPTH};

/// The largest file of inputs, in bytes.
const LARGEST: u64 = 64 << 20;

/// Splits `--input k=v`. The graph defines the type of the value.
pub fn split_pair(text: &str) -> Result<(String, String), String> {
    let (key, value) =
        text.split_once('=').ok_or_else(|| format!("`{text}` has no `=`: write it as KEY=VALUE"))?;
    if key.is_empty() {
        return Err(format!("`{text}` has no name before `=`"));
    }
    Ok((key.to_owned(), value.to_owned()))
}

/// Reads `--update k=v`. A value that is JSON is parsed, anything else is text: `n=3` is a number, `n="3"` and `name=Ada` are text.
pub fn parse_pair(text: &str) -> Result<(String, Value), String> {
    let (key, value) = split_pair(text)?;
    match parse_value(&value) {
        Ok(value) => Ok((key, value)),
        Err(error) => Err(format!("`{key}` is JSON that cannot be used unchanged: {error}; {AS_TEXT}")),
    }
}

/// Parses a typed value: as JSON if it is JSON, else as text. JSON that cannot be kept unchanged (a duplicate key, a number out of
/// range) is an error.
pub fn parse_value(text: &str) -> Result<Value, StrictJsonError> {
    match json::parse_strict(text.trim(), MAX_DEPTH, TreeLimit::INPUTS) {
        Err(error) if json::is_json(text.trim()) => Err(error),
        read => Ok(read.unwrap_or_else(|_| Value::from(text))),
    }
}

/// Collects the inputs of a command line: those of the file, overridden by the single ones, which get the types of the graph's schema.
pub fn gather(
    file: Option<&Path>,
    typed: &[(String, String)],
    schema: Option<&Value>,
) -> Result<Map<String, Value>> {
    let mut inputs = match file {
        Some(path) => read("inputs", path)?,
        None => Map::new(),
    };
    inputs.extend(typed_inputs::read(schema, typed)?);
    Ok(inputs)
}

/// Reads a mapping from a JSON or YAML file, `-` for stdin. `what` names its content in messages: `inputs`, `values`.
pub fn read(what: &str, path: &Path) -> Result<Map<String, Value>> {
    let stdin = path == Path::new("-");
    let name = shown_input(path);
    let mut text = String::new();
    let read = if stdin {
        std::io::stdin().lock().take(LARGEST + 1).read_to_string(&mut text)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_string(&mut text))
    };
    read.map_err(|error| Error::read(&format!("the file of {what}"), Path::new(&name), &error))?;
    if text.len() as u64 > LARGEST {
        return Err(Error::invalid(format!("the {what} in {name} are larger than {} MiB", LARGEST >> 20)));
    }
    let value = parse_document(&name, &text)?;
    match value {
        Value::Object(inputs) => Ok(inputs),
        other => {
            Err(Error::invalid(format!("the {what} in {name} are {}, a mapping is needed", kind(&other)))
                .help("write them as KEY: VALUE, one a line"))
        }
    }
}

fn parse_document(name: &str, text: &str) -> Result<Value> {
    // JSON is tried first: its numbers and limits are those of all values in a run.
    let is_json = Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
    let mut not_json = None;
    let as_json = text.trim_start_matches('\u{feff}');
    if is_json || as_json.trim_start().starts_with(['{', '[']) {
        match json::parse_strict(as_json, MAX_DEPTH, TreeLimit::INPUTS) {
            Ok(value) => return Ok(value),
            Err(error) if error.too_large.is_some() => {
                return Err(Error::invalid(format!("{name} is too large: {error}")));
            }
            // YAML would change it: it would keep one of two equal keys, and round a number that is out of range.
            Err(error) if !is_json && json::is_json(as_json) => {
                let message = format!("{name} is JSON that cannot be used unchanged: {error}");
                return Err(Error::invalid(message));
            }
            Err(error) => not_json = Some(error).filter(|_| is_json),
        }
    }
    let problems = graph_core::diagnostic::Problems::new();
    let value = graph_core::yaml::parse(text, &problems).map(|node| node.to_json());
    let (value, _) = problems.finish(name, text, value)?;
    match not_json {
        None => Ok(value),
        // YAML in a file that is named `.json` is rejected: it would be read otherwise than its name says.
        Some(error) => {
            Err(Error::invalid(format!("{name} is not JSON: {error}")).help("a file of YAML ends in .yaml"))
        }
    }
}

/// Names the type of a value, for messages.
pub(crate) const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;
    use graph_runtime::error::Kind;

    #[test]
    fn a_value_is_json_where_it_can_be() {
        let of = |text: &str| parse_pair(text).unwrap().1;
        assert_eq!(of("n=3"), json!(3));
        assert_eq!(of("n=18446744073709551615"), json!(u64::MAX));
        assert_eq!(of("n=\"3\""), json!("3"));
        assert_eq!(of("n=Ada = Lovelace"), json!("Ada = Lovelace"));
        assert_eq!(of("n="), json!(""));
        assert_eq!(of("n={\"a\":[true,null]}"), json!({"a": [true, null]}));
        assert_eq!(of("n={a: 1}"), json!("{a: 1}"));
        assert_eq!(of("n=NaN"), json!("NaN"));
        for lossy in ["n=18446744073709551616", "n=1e400", r#"n={"a":1,"a":2}"#, r#"n="\ud800""#] {
            let error = parse_pair(lossy).unwrap_err();
            assert!(error.contains("quotes of its own"), "{lossy}: {error}");
        }
        assert!(parse_pair("n").is_err());
        assert!(parse_pair("=1").is_err());
    }

    #[test]
    fn single_inputs_win_over_those_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("inputs.yaml");
        std::fs::write(&path, "a: 1\nb: [x]\n").unwrap();
        let inputs = gather(Some(&path), &[("a".to_owned(), "2".to_owned())], None).unwrap();
        assert_eq!(Value::Object(inputs), json!({"a": 2, "b": ["x"]}));
        std::fs::write(&path, "- 1\n").unwrap();
        let error = gather(Some(&path), &[], None).unwrap_err();
        assert!(error.message().contains("a list"), "{error}");
        std::fs::write(&path, "a: [1\n").unwrap();
        assert_eq!(gather(Some(&path), &[], None).unwrap_err().kind(), Kind::Invalid);
        // JSON is JSON, whatever its file is called.
        for json in [r#"{"n": 1, "n": 2}"#, "\u{feff} {\"n\": 18446744073709551616}", r#"{"n": 1e400}"#] {
            std::fs::write(&path, json).unwrap();
            let error = gather(Some(&path), &[], None).unwrap_err();
            assert!(error.message().contains("is JSON that cannot be used unchanged"), "{json}: {error}");
        }
        std::fs::write(&path, "\u{feff}{\"n\": 1e3, \"t\": \"\\ud83d\\ude00\"}").unwrap();
        let inputs = gather(Some(&path), &[], None).unwrap();
        assert_eq!(Value::Object(inputs), json!({"n": 1e3, "t": "\u{1f600}"}));
        std::fs::write(&path, "{n: 1, t: 'x',}").unwrap();
        assert_eq!(Value::Object(gather(Some(&path), &[], None).unwrap()), json!({"n": 1, "t": "x"}));
        let missing = gather(Some(Path::new("/no/such/file")), &[], None).unwrap_err();
        assert_eq!(missing.kind(), Kind::NotFound);
    }
}
