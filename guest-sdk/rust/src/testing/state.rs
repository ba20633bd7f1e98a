//! State of a test's host, and the choice of the current host.

use std::cell::RefCell;
use std::collections::BTreeMap;
#[cfg(feature = "model")]
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use serde_json::Value;

use super::Request;
use super::tree::Tree;
use crate::host::Level;
use crate::http::Response;
#[cfg(feature = "model")]
use crate::model;
use crate::{Activation, Failure};

/// Function that performs an item.
pub(crate) type Perform = Rc<dyn Fn(Value) -> Result<Value, Failure>>;
/// Function that answers a request.
pub(crate) type Server = Rc<dyn Fn(&Request) -> Result<Response, Failure>>;
/// Answers of a model to its next calls.
#[cfg(feature = "model")]
pub(crate) type ModelAnswers = VecDeque<Result<model::Response, Failure>>;

thread_local! {
    /// Hosts of this thread. The last one is the current one.
    static HOSTS: RefCell<Vec<Rc<RefCell<State>>>> = const { RefCell::new(Vec::new()) };
}

pub(crate) struct State {
    pub(crate) lines: Vec<(Level, String)>,
    pub(crate) records: Vec<(String, Value)>,
    pub(crate) files: Tree,
    pub(crate) knowledge: BTreeMap<String, String>,
    pub(crate) secrets: BTreeMap<String, String>,
    pub(crate) items: BTreeMap<String, Perform>,
    pub(crate) server: Option<Server>,
    pub(crate) clock: Duration,
    pub(crate) seed: u64,
    pub(crate) activation: Activation,
    /// Models with their answers, in the order in which the test grants them.
    #[cfg(feature = "model")]
    pub(crate) models: Vec<(String, ModelAnswers)>,
    #[cfg(feature = "model")]
    pub(crate) model_requests: Vec<model::Request>,
    #[cfg(feature = "model")]
    pub(crate) model_budget: model::Budget,
}

impl State {
    pub(super) fn new() -> Self {
        Self {
            lines: Vec::new(),
            records: Vec::new(),
            files: Tree::default(),
            knowledge: BTreeMap::new(),
            secrets: BTreeMap::new(),
            items: BTreeMap::new(),
            server: None,
            clock: Duration::ZERO,
            seed: 0,
            activation: Activation {
                run_id: "run".to_owned(),
                root_run_id: "run".to_owned(),
                parent_run_id: None,
                graph_id: "graph".to_owned(),
                node_id: "node".to_owned(),
                superstep: 1,
                task: "1.0".to_owned(),
                attempt: 1,
                visit: 1,
                argument: None,
                answers: Vec::new(),
                idempotency_key: "key".to_owned(),
            },
            #[cfg(feature = "model")]
            models: Vec::new(),
            #[cfg(feature = "model")]
            model_requests: Vec::new(),
            #[cfg(feature = "model")]
            model_budget: model::Budget::default(),
        }
    }

    /// Makes a state the one of this thread's current host.
    pub(super) fn install(this: &Rc<RefCell<Self>>) {
        HOSTS.with_borrow_mut(|hosts| hosts.push(Rc::clone(this)));
    }

    /// Removes the state of a host. The host that was current before is current again.
    pub(super) fn uninstall(this: &Rc<RefCell<Self>>) {
        // When the thread ends, the list of hosts can be destroyed before the host.
        let _ = HOSTS.try_with(|hosts| hosts.borrow_mut().retain(|host| !Rc::ptr_eq(host, this)));
    }

    /// Calls a function with the current host's state. The function must not call the host itself.
    ///
    /// # Panics
    ///
    /// Panics if this thread has no host.
    pub(crate) fn with_current<T>(use_of: impl FnOnce(&mut Self) -> T) -> T {
        let current = HOSTS.with_borrow(|hosts| hosts.last().cloned());
        let Some(current) = current else {
            panic!(
                "the node calls its host, and this test has none: create a `graph_sdk::testing::Host` first"
            );
        };
        use_of(&mut current.borrow_mut())
    }
}
