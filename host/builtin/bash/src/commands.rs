//! The commands that differ from bashkit's: `sleep`, and those that do not exist.

use std::sync::Arc;
use std::time::Duration;

use bashkit::{Builtin, BuiltinContext, CommandResolver, ExecResult, async_trait};

use crate::clock;

/// Commands of bashkit that have no use here: they need a network, a terminal, or a clock that moves by itself.
const LEFT_OUT: [&str; 14] = [
    "curl", "wget", "http", "ssh", "scp", "sftp", "git", "watch", "vi", "vim", "nano", "python", "python3",
    "sudo",
];

/// Whether a command of bashkit is one of this shell's.
pub(crate) fn is_kept(name: &str) -> bool {
    !LEFT_OUT.contains(&name)
}

/// `sleep`: the virtual clock moves on, and nothing waits.
pub(crate) struct Sleep;

#[async_trait]
impl Builtin for Sleep {
    async fn execute(&self, context: BuiltinContext<'_>) -> bashkit::Result<ExecResult> {
        let operands: Vec<&String> = context.args.iter().skip_while(|operand| *operand == "--").collect();
        if operands.is_empty() {
            return Ok(ExecResult::err("sleep: missing operand\n", 1));
        }
        let mut total = Duration::ZERO;
        for operand in operands {
            match span(operand) {
                Some(span) => total = total.saturating_add(span),
                None => return Ok(ExecResult::err(format!("sleep: invalid time interval '{operand}'\n"), 1)),
            }
        }
        clock::sleep(total).await;
        Ok(ExecResult::ok(String::new()))
    }
}

/// A number of seconds, or of what its suffix names.
fn span(operand: &str) -> Option<Duration> {
    let (number, unit) = match operand.char_indices().next_back()? {
        (at, 's') => (&operand[..at], 1.0),
        (at, 'm') => (&operand[..at], 60.0),
        (at, 'h') => (&operand[..at], 3600.0),
        (at, 'd') => (&operand[..at], 86_400.0),
        _ => (operand, 1.0),
    };
    let seconds = number.parse::<f64>().ok().filter(|seconds| *seconds >= 0.0)? * unit;
    Some(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

/// Answers for every command that does not exist.
pub(crate) struct Missing;

impl CommandResolver for Missing {
    fn resolve(&self, name: &str) -> Option<Arc<dyn Builtin>> {
        Some(Arc::new(NotFound(name.to_owned())))
    }
}

struct NotFound(String);

#[async_trait]
impl Builtin for NotFound {
    async fn execute(&self, _: BuiltinContext<'_>) -> bashkit::Result<ExecResult> {
        let name = &self.0;
        let hint = match name.as_str() {
            "curl" | "wget" | "http" | "ssh" | "scp" | "sftp" => {
                "this shell has no network: dispatch an item that is granted `http` in another node"
            }
            "git" | "python" | "python3" | "node" | "cargo" | "make" | "npm" | "pip" => {
                "this shell starts no programs: dispatch an item for it in another node"
            }
            _ => {
                "this shell has its own commands only, which `compgen -c` lists: dispatch an item for it in another node"
            }
        };
        Ok(ExecResult::err(format!("bash: {name}: command not found ({hint})\n"), 127))
    }
}
