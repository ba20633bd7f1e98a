//! Commands that differ from bashkit's: `sleep`, `expr`, and those that do not exist.

use std::sync::Arc;
use std::time::Duration;

use bashkit::{Builtin, BuiltinContext, CommandResolver, ExecResult, async_trait};

use crate::clock;

/// Commands of bashkit that are left out: they need a network, a terminal or real time, or their results differ from
/// those of the programs with these names: `bc` computes with binary floating-point numbers.
const LEFT_OUT: [&str; 15] = [
    "bc", "curl", "wget", "http", "ssh", "scp", "sftp", "git", "watch", "vi", "vim", "nano", "python",
    "python3", "sudo",
];

/// Reports whether a command of bashkit is available in this shell.
pub(crate) fn is_kept(name: &str) -> bool {
    !LEFT_OUT.contains(&name)
}

/// `sleep`, which advances the virtual clock without waiting.
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

/// Parses a number of seconds, or of the unit of its suffix.
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

/// `expr`, as in the GNU tools.
pub(crate) struct Expr;

#[async_trait]
impl Builtin for Expr {
    async fn execute(&self, context: BuiltinContext<'_>) -> bashkit::Result<ExecResult> {
        let words: Vec<Vec<u8>> = context.args.iter().map(|word| word.clone().into_bytes()).collect();
        // Other words are not options: `expr -1 + 2` is 1.
        let expression = match words.as_slice() {
            [only] if only == b"--help" || only == b"--version" => {
                return Ok(ExecResult::ok(
                    "expr of uutils coreutils 0.12.0\nUsage: expr EXPRESSION\n".to_owned(),
                ));
            }
            [first, rest @ ..] if first == b"--" => rest,
            all => all,
        };
        Ok(match graph_bash_expr::evaluate(expression) {
            Ok((value, truthy)) => {
                let line = format!("{}\n", String::from_utf8_lossy(&value));
                ExecResult { exit_code: i32::from(!truthy), ..ExecResult::ok(line) }
            }
            Err(error) => ExecResult::err(format!("expr: {error}\n"), 2),
        })
    }
}

/// Resolver of commands that do not exist.
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
            "bc" | "dc" => {
                "this shell has none: `$((...))` computes with whole numbers, `awk` and `jq` with binary floating point numbers"
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
