//! Tries to learn the key of a model.

use graph_sdk::host::{Level, emit, log};
use graph_sdk::model::{self, Request};
use graph_sdk::prelude::*;

use crate::{as_value, question};

/// Everything that the component has seen. What it has got from one answer is part of the next question: if the host puts the
/// key where its handle is, a provider that sends everything back gives it away.
pub(crate) fn run(model: &str, questions: Vec<String>) -> Value {
    let mut seen = vec![json!({ "models": model::models(), "environment": environment() })];
    let mut last = String::new();
    for text in questions {
        let answer = ask(&question(model, &text.replace("{last}", &last)));
        last = answer.to_string();
        log(Level::Info, &last);
        // An answer that cannot be emitted is returned all the same.
        let _ = emit("seen", &answer);
        seen.push(answer);
    }
    for name in ["", "other", "m\r\nx-note: {{m}}", "${m}", "m/../m"] {
        seen.push(ask(&question(name, "Hello")));
    }
    json!({ "seen": seen })
}

fn ask(request: &Request) -> Value {
    match model::complete(request) {
        Ok(answer) => json!({ "answer": answer }),
        Err(failure) => json!({ "failed": as_value(&failure) }),
    }
}

#[cfg(target_arch = "wasm32")]
fn environment() -> Value {
    use crate::leak::imports::wasi::cli::environment::{get_arguments, get_environment, initial_cwd};
    json!({ "variables": get_environment(), "arguments": get_arguments(), "folder": initial_cwd() })
}

#[cfg(not(target_arch = "wasm32"))]
fn environment() -> Value {
    Value::Null
}

#[cfg(target_arch = "wasm32")]
#[allow(clippy::all, clippy::pedantic)]
mod imports {
    wit_bindgen::generate!({ world: "wasi:cli/reads", path: "wit" });
}
