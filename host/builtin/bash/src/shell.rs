//! Execution of a script.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bashkit::{
    Bash, Error, ExecOptions, ExecResult, ExecutionLimits, FsLimits, LimitExceeded, MemoryLimits, PosixFs,
    SessionLimits,
};
use graph_sdk::host::{self, Level};
use graph_sdk::prelude::*;

use crate::commands::{self, Expr, Missing, Sleep};
use crate::executor;
use crate::folder::{self, Folder};
use crate::params::{Ended, Params};

/// Maximum number of bytes that a script can print to each of its outputs. The manifest's `limits.output` is usually lower.
const OUTPUT: usize = 32 << 20;
/// Time that is longer than any script sleeps.
const FOREVER: Duration = Duration::from_secs(100 * 365 * 86_400);
/// Maximum nesting of a script, which is limited by the stack and not by fuel.
const NESTED: usize = 64;
/// Maximum number of bytes of standard error in the log of the run: a small part of the default of `limits.log`.
const LOGGED: usize = 8 << 10;
/// Number of bytes that each line counts in addition to its text, so that there are few lines.
const LINE: usize = 64;
const HOME: &str = "/home/user";

/// Runs the script of a task.
pub(crate) fn run(params: Params, _: &Context) -> Result<Ended, Failure> {
    let folders = folder::granted();
    let working_dir = match (&params.working_dir, folders.first()) {
        (Some(named), _) => named.clone(),
        (None, Some(first)) => first.path().to_owned(),
        (None, None) => HOME.to_owned(),
    };
    let mut bash = shell(&params, folders, &working_dir)?;
    let options = ExecOptions::new().positional(params.args.clone()).stdin(params.stdin.clone());
    let script = async {
        if !bash.fs().stat(Path::new(&working_dir)).await.is_ok_and(|found| found.file_type.is_dir()) {
            return Err(Failure::invalid_input(format_args!(
                "working_dir: {working_dir} is not a folder that the shell sees"
            )));
        }
        // `$RANDOM` has its own generator. A script can also set its seed.
        let seed = format!("RANDOM={}", host::random_u64() & 0x7fff_ffff);
        bash.exec(&seed).await.map_err(|error| failed(&error, &params))?;
        bash.exec_with_options(&params.command, options).await.map_err(|error| failed(&error, &params))
    };
    let result = executor::run(script)
        .unwrap_or_else(|| Err(Failure::permanent("the script waits for something that never happens")))?;
    ended(result, &params)
}

fn shell(params: &Params, folders: Vec<Folder>, working_dir: &str) -> Result<Bash, Failure> {
    let mut builder = Bash::builder()
        .cwd(working_dir)
        .username("user")
        .hostname("graph-host")
        .limits(limits(params))
        .session_limits(SessionLimits::unlimited())
        .memory_limits(MemoryLimits::unlimited())
        .filesystem_limits(FsLimits::unlimited())
        .builtin_filter(commands::is_kept)
        .builtin("sleep", Box::new(Sleep))
        .builtin("expr", Box::new(Expr))
        .command_resolver(Arc::new(Missing));
    for (name, value) in &params.env {
        builder = builder.env(name, value);
    }
    let bash = builder.build();
    for folder in folders {
        let path = folder.path().to_owned();
        bash.mount(&path, Arc::new(PosixFs::new(folder)))
            .map_err(|error| Failure::internal(format_args!("{path}: {error}")))?;
    }
    Ok(bash)
}

/// Returns the limits of the shell. The task already limits fuel, memory and time, so these are unlimited here.
fn limits(params: &Params) -> ExecutionLimits {
    let mut limits = ExecutionLimits::new()
        .max_work_units(u64::MAX)
        .max_aggregate_input_bytes(u64::MAX)
        .max_live_intermediate_bytes(u64::MAX)
        .max_commands(usize::MAX)
        .max_loop_iterations(usize::MAX)
        .max_total_loop_iterations(usize::MAX)
        .timeout(params.timeout.map_or(FOREVER, |seconds| Duration::from_secs(seconds.into())))
        .parser_timeout(FOREVER)
        .max_input_bytes(usize::MAX)
        .max_ast_depth(NESTED)
        .max_parser_operations(usize::MAX)
        .max_stdout_bytes(OUTPUT)
        .max_stderr_bytes(OUTPUT)
        .max_word_split_fields(usize::MAX)
        .max_word_split_bytes(usize::MAX);
    limits.max_history_output_bytes = OUTPUT;
    limits
}

/// Writes the lines of standard error to the log of the run.
fn log(stderr: &str) {
    let lines: Vec<&str> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    let mut left = LOGGED;
    for (number, line) in lines.iter().enumerate() {
        let Some(rest) = left.checked_sub(line.len() + LINE) else {
            let more = lines.len() - number;
            host::log(Level::Warn, format!("{more} more lines of standard error are in the result"));
            return;
        };
        left = rest;
        host::log(Level::Warn, line);
    }
}

fn ended(result: ExecResult, params: &Params) -> Result<Ended, Failure> {
    if result.stdout_truncated || result.stderr_truncated {
        return Err(Failure::limit(format_args!("the script printed more than {OUTPUT} bytes")));
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(result.stdout.as_bytes()), text(result.stderr.as_bytes()));
    log(&stderr);
    // The status has eight bits, as in `wait`.
    let exit_code = result.exit_code & 0xff;
    let lines = stdout.lines().map(str::to_owned).collect();
    let ended = Ended { stdout, stderr, exit_code, lines };
    if exit_code == 0 || !params.check { Ok(ended) } else { Err(not_zero(&ended)) }
}

/// Returns the failure of a script that ended with another status than 0. Its details have the keys of Rye's result.
fn not_zero(ended: &Ended) -> Failure {
    let last = ended.stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let code = ended.exit_code;
    let message = if last.is_empty() {
        format!("the script ended with status {code}")
    } else {
        format!("the script ended with status {code}: {last}")
    };
    let details = json!({
        "success": false, "error": message, "exit_code": code,
        "stdout": ended.stdout, "stderr": ended.stderr, "lines": ended.lines,
    });
    Failure::permanent(&message).with_details(details)
}

/// Returns the failure of a script that did not run to its end.
fn failed(error: &Error, params: &Params) -> Failure {
    match error {
        Error::Parse { .. } => Failure::invalid_input(format_args!("the script cannot be read: {error}")),
        Error::ResourceLimit(LimitExceeded::Timeout(_)) | Error::Cancelled => Failure::timeout(format_args!(
            "the script ran longer than {} s",
            params.timeout.unwrap_or_default()
        )),
        Error::ResourceLimit(limit) => Failure::limit(format_args!("the script: {limit}")),
        error => Failure::permanent(format_args!("the script ended: {error}")),
    }
}
