//! Items that the program itself performs: Rust closures, by item id. Only their deadline and the size of their answer
//! are limited, so a manifest has to say `unsandboxed: true` for each, and every answer is recorded in the journal
//! under the interface [`UNSANDBOXED`].

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use graph_core::capability::Manifest;
use graph_core::digest::Digest;
use graph_core::id::ItemId;
use graph_core::item::NodeCapabilities;
use graph_core::json::canonical_size;
use graph_core::limits::TaskLimits;
use graph_core::node::{Activation, Category, Failure, Outcome};
use graph_core::time::Timestamp;
use graph_core::trust::{Moment, TrustStore};
use graph_walker::walker::{TaskReport, TaskSpec};
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::journal::Tape;
use crate::journal::operation_journal as journal;
use crate::remedy::Remedy;

/// The interface under which the answers of functions are recorded in journals.
pub const UNSANDBOXED: &str = "graph-host:unsandboxed";

/// The task that a function performs.
#[derive(Clone, Debug)]
pub struct FunctionCall {
    /// Activation of the task; its `task` and `attempt` name the attempt.
    pub activation: Activation,
    /// The node's params, templates resolved.
    pub params: Value,
    /// The superstep's recorded time, which components read as the present time.
    pub clock: Timestamp,
    /// The seed of random numbers: the same for every attempt of the task.
    pub seed: Digest,
    /// The limits of the task. Of these the host enforces only `timeout` and `output` for functions.
    pub limits: TaskLimits,
}

type Answer = BoxFuture<'static, std::result::Result<Outcome, Failure>>;
type Closure = Arc<dyn Fn(FunctionCall) -> Answer + Send + Sync>;

/// The functions of a program, by item id.
///
/// ```
/// use graph_core::node::Outcome;
/// use graph_runtime::Functions;
/// use serde_json::json;
///
/// let functions = Functions::default().with("shop/price", |call| async move {
///     let pieces = call.params["pieces"].as_u64().unwrap_or(1);
///     Ok(Outcome::Result(json!({ "cents": 250 * pieces })))
/// })?;
/// assert!(functions.contains("shop/price"));
/// # Ok::<(), graph_runtime::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Functions {
    /// The closure; `None` if another program performed the run and only its records are available.
    by_id: BTreeMap<String, Option<Closure>>,
}

impl Functions {
    /// Adds a function. It replaces every component with its id, and an earlier function. A panic in it fails the
    /// attempt; if the attempt is abandoned, its future is dropped. It may run on any thread of the tokio runtime.
    ///
    /// # Errors
    ///
    /// If the id is not an item id, or has a version, which functions lack.
    pub fn with<F, A>(mut self, id: &str, function: F) -> Result<Self>
    where
        F: Fn(FunctionCall) -> A + Send + Sync + 'static,
        A: Future<Output = std::result::Result<Outcome, Failure>> + Send + 'static,
    {
        ItemId::parse(id)
            .map_err(|error| Error::usage(format!("`{id}` is not an item id: {error}")).caused_by(error))?;
        if id.contains('@') {
            return Err(Error::usage(format!("`{id}` names a version, and a function has none")));
        }
        let closure: Closure = Arc::new(move |call| function(call).boxed());
        self.by_id.insert(id.to_owned(), Some(closure));
        Ok(self)
    }

    /// Makes the functions that the records of a run name and that belong to another program.
    pub(crate) fn recorded<'i>(ids: impl IntoIterator<Item = &'i String>) -> Self {
        Self { by_id: ids.into_iter().map(|id| (id.clone(), None)).collect() }
    }

    /// Checks whether this item id is a function.
    pub fn contains(&self, id: &str) -> bool {
        self.by_id.contains_key(id)
    }

    /// Performs an attempt with a function of the program.
    pub(crate) async fn perform(&self, spec: TaskSpec) -> TaskReport {
        let (id, request, most) = (spec.item_id.clone(), journal::request(&spec), spec.limits.output);
        let call = FunctionCall {
            activation: spec.activation,
            params: spec.params,
            clock: spec.clock,
            seed: spec.seed,
            limits: spec.limits,
        };
        let result = match self.by_id.get(&id) {
            Some(Some(function)) => {
                let answer = AssertUnwindSafe(async move { function(call).await }).catch_unwind().await;
                answer.unwrap_or_else(|_| {
                    Err(Failure::new(Category::Internal, format!("the function `{id}` panicked")))
                })
            }
            _ => Err(Failure::new(
                Category::Denied,
                format!("`{id}` is a function of the program that ran the graph, and not of this one"),
            )),
        };
        let mut report = TaskReport::new(within(result, most), 0);
        report.journal.push(journal::entry(UNSANDBOXED, &spec.item_id, request, &report));
        report
    }
}

/// Returns the answer, or a failure if its canonical JSON has more than `most` bytes.
fn within(result: std::result::Result<Outcome, Failure>, most: u64) -> std::result::Result<Outcome, Failure> {
    let size = match &result {
        Ok(Outcome::Result(value)) => canonical_size(value),
        Ok(other) => canonical_size(&json!(other)),
        Err(_) => 0,
    };
    if size > most {
        let message = format!("its answer has {size} bytes, and {most} are allowed (`output` of its limits)");
        return Err(Failure::new(Category::Limit, message));
    }
    result
}

/// Returns the recorded answer of a function.
pub(crate) fn played(tape: &Tape, spec: &TaskSpec) -> TaskReport {
    journal::played(tape, (UNSANDBOXED, &spec.item_id), &journal::request(spec), 0)
}

/// Returns the refusal of a function by the trust store or the manifest; `None` if it may be performed.
pub(crate) fn refusal(
    id: &str,
    manifest: &Manifest,
    node: Option<&NodeCapabilities>,
    trust: &TrustStore,
    at: Moment,
) -> Option<Error> {
    if let Err(few) = trust.still_enough(id, &[], at) {
        return Some(
            Error::integrity(format!("`{id}` is a function of this program, which no key signs: {few}"))
                .help(Remedy::UseSignedComponent),
        );
    }
    if manifest.permits_unsandboxed(id, node) {
        return None;
    }
    Some(
        Error::denied(format!(
            "`{id}` is a function of this program, which no sandbox holds, and the manifest does not permit that"
        ))
        .help(format!("to permit it, write in the manifest: items: {{ \"{id}\": {{ unsandboxed: true }} }}; a node whose \
                       interfaces are narrowed runs no function")),
    )
}

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_id.keys()).finish()
    }
}

#[cfg(test)]
mod tests;
