//! `graph-host explain`.

use graph_core::diagnostic::printable;
use graph_core::diagnostic::{Code, codes, nearest};
use graph_host::context::Context;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{self, styled};
use graph_runtime::error::{Error, Result};
use serde_json::{Value, json};

/// Tell what a problem's code means and what to do about it
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The code, such as GH0302
    #[arg(required_unless_present = "list")]
    code: Option<String>,
    /// List all codes
    #[arg(long, conflicts_with = "code")]
    list: bool,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<Exit> {
    let output = context.output;
    let Some(wanted) = args.code else {
        if output.is_json() {
            output.document(&codes::ALL.iter().map(|code| entry(*code, false)).collect::<Vec<_>>())?;
        } else {
            for code in codes::ALL {
                output.line(format_args!("{}  {}", styled(output::BOLD, code.id()), code.title()))?;
            }
        }
        return Ok(Exit::Ok);
    };
    let Some(code) = codes::find(&wanted) else {
        let error = Error::not_found(format!("there is no code `{}`", printable(&wanted)));
        let upper = wanted.to_ascii_uppercase();
        return Err(match nearest(&upper, codes::ALL.iter().map(|code| code.id())) {
            Some(near) => {
                error.help(format!("did you mean {near}? `graph-host explain --list` lists all codes"))
            }
            None => error.help("`graph-host explain --list` lists all codes"),
        });
    };
    if output.is_json() {
        output.document(&entry(code, true))?;
    } else {
        output.line(format_args!(
            "{}: {}\n\n{}",
            styled(output::BOLD, code.id()),
            code.title(),
            code.explanation()
        ))?;
    }
    Ok(Exit::Ok)
}

fn entry(code: Code, explained: bool) -> Value {
    let mut entry = json!({ "code": code.id(), "title": code.title() });
    if explained {
        entry["explanation"] = Value::from(code.explanation());
    }
    entry
}
