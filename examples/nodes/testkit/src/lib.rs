//! A node that does what its params say, for tests and for anyone who wants to see a limit at work.

use std::hint::black_box;

use graph_sdk::host::{Level, emit, log};
use graph_sdk::prelude::*;

/// What to do.
#[derive(Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "kebab-case", deny_unknown_fields)]
enum Params {
    /// Answers with `value`.
    Echo {
        /// Any JSON.
        value: Value,
    },
    /// Answers with a command.
    Command {
        /// Channel values to write.
        #[serde(default)]
        update: Map<String, Value>,
        /// Node names, or sends `{node, argument}`.
        #[serde(default)]
        goto: Vec<Target>,
    },
    /// Asks, and answers with the answer.
    Interrupt {
        /// The question.
        payload: Value,
    },
    /// Fails.
    Fail {
        /// A failure category.
        category: String,
        /// The failure's message.
        message: String,
    },
    /// Counts to `iterations`.
    Spin {
        /// How far.
        iterations: u64,
    },
    /// Allocates memory, touches each page of it, and answers with its size.
    Grow {
        /// How much.
        bytes: u64,
    },
    /// Calls itself `depth` times, and answers with `depth`.
    Recurse {
        /// How deep.
        depth: u64,
    },
    /// Answers with a text.
    Output {
        /// How long the text is.
        bytes: u64,
    },
    /// Writes log lines, and answers with how many.
    Log {
        /// How many lines.
        lines: u64,
        /// How long each is.
        bytes: u64,
    },
    /// Emits events, each with its number and `text`, and answers with how many.
    Emit {
        /// The name of the events.
        name: String,
        /// How many events.
        count: u64,
        /// What each says beside its number.
        #[serde(default)]
        text: String,
    },
    /// Traps.
    Trap {},
    /// Answers with the bits of 0/0, in hexadecimal.
    Nan {},
    /// Answers with what the host said about the task.
    Activation {},
}

/// Where a command goes.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum Target {
    /// A node.
    Node(String),
    /// A task of its own for a node.
    Send {
        /// The node.
        node: String,
        /// What the task is handed.
        argument: Value,
    },
}

graph_sdk::node! {
    summary: "Does what its params say: echoes, fails, spins, grows, asks, traps.",
    run
}

fn run(params: Params, ctx: &Context) -> Result<Outcome, Failure> {
    let value = match params {
        Params::Echo { value } => value,
        Params::Command { update, goto } => return Ok(command(update, goto).into()),
        Params::Interrupt { payload } => ctx.ask(payload)?,
        Params::Fail { category, message } => return Err(Failure::new(parse_category(&category)?, message)),
        Params::Spin { iterations } => json!((0..iterations).fold(0, |sum: u64, i| black_box(sum.wrapping_add(i)))),
        Params::Grow { bytes } => json!(grow(bytes)),
        Params::Recurse { depth } => {
            black_box(recurse(depth));
            json!(depth)
        }
        Params::Output { bytes } => json!("x".repeat(size(bytes)?)),
        Params::Log { lines, bytes } => {
            let line = "x".repeat(size(bytes)?);
            (0..lines).for_each(|_| log(Level::Info, &line));
            json!(lines)
        }
        Params::Emit { name, count, text } => {
            for number in 0..count {
                emit(&name, json!({ "number": number, "text": text }))?;
            }
            json!(count)
        }
        Params::Trap {} => trap(),
        Params::Nan {} => {
            let zero = black_box(0.0_f64);
            json!(format!("{:016x}", (zero / zero).to_bits()))
        }
        Params::Activation {} => activation(ctx)?,
    };
    Ok(Outcome::Result(value))
}

fn size(bytes: u64) -> Result<usize, Failure> {
    usize::try_from(bytes).map_err(Failure::invalid_input)
}

fn command(update: Map<String, Value>, goto: Vec<Target>) -> Command {
    let command = update.into_iter().fold(Command::new(), |command, (channel, value)| command.write(channel, value));
    goto.into_iter().fold(command, |command, target| match target {
        Target::Node(node) => command.goto(node),
        Target::Send { node, argument } => command.send(node, argument),
    })
}

fn parse_category(name: &str) -> Result<Category, Failure> {
    Ok(match name.replace('_', "-").as_str() {
        "transient" => Category::Transient,
        "rate-limited" => Category::RateLimited,
        "timeout" => Category::Timeout,
        "permanent" => Category::Permanent,
        "invalid-input" => Category::InvalidInput,
        "denied" => Category::Denied,
        "limit" => Category::Limit,
        "internal" => Category::Internal,
        _ => return Err(Failure::invalid_input(format_args!("`{name}` is no failure category"))),
    })
}

fn grow(bytes: u64) -> u64 {
    let mut held: Vec<Vec<u8>> = Vec::new();
    let mut left = bytes;
    while left > 0 {
        let chunk = left.min(1 << 20);
        let mut block = vec![0_u8; usize::try_from(chunk).unwrap_or(0)];
        block.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        held.push(black_box(block));
        left -= chunk;
    }
    held.iter().map(|block| block.len() as u64).sum()
}

/// Nothing that a compiler could turn into a loop, and nothing that it would keep in memory rather than on the stack.
#[inline(never)]
fn recurse(depth: u64) -> u64 {
    if depth == 0 { 1 } else { (recurse(depth - 1) ^ depth).wrapping_mul(3) }
}

#[cfg(target_arch = "wasm32")]
fn trap() -> ! {
    core::arch::wasm32::unreachable()
}

#[cfg(not(target_arch = "wasm32"))]
fn trap() -> ! {
    std::process::abort()
}

fn activation(ctx: &Context) -> Result<Value, Failure> {
    let activation = ctx.activation();
    let answers: Vec<Value> =
        activation.answers.iter().map(|answer| graph_sdk::serde_json::from_str(answer)).collect::<Result<_, _>>()?;
    Ok(json!({
        "run_id": activation.run_id,
        "root_run_id": activation.root_run_id,
        "parent_run_id": activation.parent_run_id,
        "graph_id": activation.graph_id,
        "node_id": activation.node_id,
        "superstep": activation.superstep,
        "task": activation.task,
        "attempt": activation.attempt,
        "visit": activation.visit,
        "argument": ctx.argument::<Value>()?,
        "answers": answers,
        "idempotency_key": activation.idempotency_key,
    }))
}
