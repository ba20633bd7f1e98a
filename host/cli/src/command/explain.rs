//! `graph-host explain`.

use graph_core::diagnostic::{Code, codes, nearest, printable};
use graph_core::keys::{Key, KeyTable, one_line};
use graph_host::context::Context;
use graph_host::document_kind::key_tables;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{self, Output, styled};
use graph_runtime::error::{Error, Result};
use graph_walker::compat::Dialect;
use graph_walker::compat::rye::differences;
use graph_walker::compat::rye::differences::{DIFFERENCES, Difference};
use serde_json::{Value, json};

/// Explain an error code, a key of a document, or Rye's dialect
///
/// `explain GH0302` explains a code; `explain node.retry`, the key of one mapping; `explain retry`, every key of that name
/// and all keys of the mapping `retry`; `explain foreach`, the keys that can have this value. `explain rye` lists the
/// points in which a graph in Rye's dialect behaves as in Rye.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The code, such as GH0302; the key, such as `max_steps` or `node.retry`; or `rye`
    #[arg(required_unless_present = "list")]
    subject: Option<String>,
    /// List all codes
    #[arg(long, conflicts_with = "subject")]
    list: bool,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<Exit> {
    let output = context.output;
    let Some(wanted) = args.subject else {
        if output.is_json() {
            output.document(&codes::ALL.iter().map(|code| entry(*code, false)).collect::<Vec<_>>())?;
        } else {
            for code in codes::ALL {
                output.line(format_args!("{}  {}", styled(output::BOLD, code.id()), code.title()))?;
            }
        }
        return Ok(Exit::Ok);
    };
    if wanted.eq_ignore_ascii_case("rye") {
        explain_rye(output)?;
        return Ok(Exit::Ok);
    }
    let found = rows(&wanted);
    if !found.is_empty() {
        explain_keys(&found, context)?;
        return Ok(Exit::Ok);
    }
    let Some(code) = codes::find(&wanted) else { return Err(unknown(&wanted)) };
    if output.is_json() {
        output.document(&entry(code, true))?;
    } else {
        output.line(format_args!(
            "{}: {}\n\n{}",
            styled(output::BOLD, code.id()),
            code.title(),
            explanation(code)
        ))?;
    }
    Ok(Exit::Ok)
}

/// Lists the differences between the dialects.
fn explain_rye(output: Output) -> Result<()> {
    if output.is_json() {
        let points: Vec<_> = DIFFERENCES
            .iter()
            .map(|point| json!({ "point": point.point, "rye": point.rye, "graph_host": point.graph_host }))
            .collect();
        let executors: serde_json::Map<_, _> = Dialect::EXECUTORS
            .iter()
            .map(|(executor, dialect)| {
                let dialect = if *dialect == Dialect::Rye { "rye" } else { "graph_host" };
                ((*executor).to_owned(), Value::from(dialect))
            })
            .collect();
        return output.document(&json!({ "executors": executors, "differences": points }));
    }
    output.line(format_args!(
        "{}: Rye's dialect\n\n{}",
        styled(output::BOLD, "rye"),
        differences::selection()
    ))?;
    output.line(
        "In exactly these points a graph of Rye's behaves as in Rye; everything else is the same in both.",
    )?;
    for Difference { point, rye, graph_host } in DIFFERENCES {
        output.line(format_args!(
            "\n{}\n  in Rye's dialect: {rye}\n  in graph-host's:  {graph_host}",
            styled(output::BOLD, point)
        ))?;
    }
    output.line(
        "\n`run --state-item` asks for the state item of a run, and `--store file` keeps runs in files.",
    )?;
    Ok(())
}

/// Finds the keys that a word names: `node.retry`; `retry` for every key of that name and the keys of that mapping; or `foreach` for
/// the keys that can have this value.
fn rows(wanted: &str) -> Vec<(&'static KeyTable, &'static Key)> {
    let tables = key_tables();
    let of_all = |key: &str| -> Vec<_> {
        tables.iter().filter_map(|table| Some((*table, table.find(key)?))).collect()
    };
    if let Some((table, key)) = wanted.rsplit_once('.') {
        return of_all(key).into_iter().filter(|(of, _)| of.name == table).collect();
    }
    let mut found = of_all(wanted);
    let table = tables.iter().find(|table| table.name == wanted);
    found.extend(table.into_iter().flat_map(|table| table.keys.iter().map(|key| (*table, key))));
    if found.is_empty() {
        // The word may be a value of keys, such as a type of node or a reducer.
        let keys = tables.iter().flat_map(|table| table.keys.iter().map(|key| (*table, key)));
        found.extend(keys.filter(|(_, key)| key.shape.has_word(wanted)));
    }
    found
}

fn explain_keys(found: &[(&'static KeyTable, &'static Key)], context: &Context) -> Result<()> {
    let output = context.output;
    if output.is_json() {
        let keys: Vec<Value> = found.iter().map(|(table, key)| key_entry(table, key)).collect();
        return output.document(&json!({ "keys": keys }));
    }
    for (table, key) in found {
        output.line(format_args!("{} of {}", styled(output::BOLD, key.name), table.title))?;
        output.line(format_args!("  {}", one_line(key)))?;
        output.line(format_args!("  {}.", key.about))?;
    }
    Ok(())
}

fn key_entry(table: &KeyTable, key: &Key) -> Value {
    json!({
        "key": key.name,
        "of": table.name,
        "type": key.shape.words(),
        "required": key.is_required,
        "default": if key.default.is_empty() { Value::Null } else { Value::from(key.default) },
        "only_for": key.only_for,
        "about": key.about,
    })
}

fn unknown(wanted: &str) -> Error {
    let error = Error::not_found(format!("there is no code and no key `{}`", printable(wanted)));
    let upper = wanted.to_ascii_uppercase();
    let code = nearest(&upper, codes::ALL.iter().map(|code| code.id()));
    let tables = key_tables();
    let last = wanted.rsplit_once('.').map_or(wanted, |(_, key)| key);
    let names = tables.iter().flat_map(|table| table.names().chain([table.name]));
    let key = nearest(last, names);
    match code.or(key) {
        Some(near) => {
            error.help(format!("did you mean `{near}`? `graph-host explain --list` lists all codes"))
        }
        None => error.help("`graph-host explain --list` lists all codes, and the reference all keys"),
    }
}

/// Returns the explanation of a code, with the commands that have to do with it.
fn explanation(code: Code) -> String {
    let commands = match code.id() {
        id if id == codes::NOT_A_GRAPH.id() => {
            "`graph-host explain rye` lists what differs in Rye's dialect."
        }
        id if id == codes::TRUST_KEY.id() => {
            "`graph-host keys show NAME` prints the public key of one of your own pairs, `openssl pkey -in KEY -pubout` that of \
             any private key."
        }
        id if id == codes::TRUST_TWICE.id() => "`graph-host trust revoke NAME` revokes a key.",
        id if id == codes::TRUST_REQUIREMENT.id() => {
            "`graph-host sign FILE --key KEY --add` adds a signature to a component."
        }
        id if id == codes::LOCK_ENTRY.id() => "`graph-host pull` and `graph-host lock` write such entries.",
        _ => return code.explanation().to_owned(),
    };
    format!("{}\n\n{commands}", code.explanation())
}

fn entry(code: Code, explained: bool) -> Value {
    let mut entry = json!({ "code": code.id(), "title": code.title() });
    if explained {
        entry["explanation"] = Value::from(explanation(code));
    }
    entry
}
