//! Host of a test.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::state::State;
use crate::bindings::graph_host::node::types as wit;
use crate::host::Level;
use crate::http::Response;
use crate::{Activation, Answer, Command, Context, Failure, Outcome, node};

/// Implements the SDK's functions on the thread that has created it, until it is dropped.
///
/// A test fills it with values and closures, runs the node, and reads the node's effects. If the thread creates another
/// host in the meantime, that one is used until it is dropped.
///
/// ```
/// use graph_sdk::http::Response;
/// use graph_sdk::testing::Host;
/// use graph_sdk::{Failure, http, secrets, tools};
/// use graph_sdk::serde_json::json;
///
/// let host = Host::new()
///     .secret("TOKEN", "handle-of-token")
///     .item("acme/double", |params| Ok(json!(params["n"].as_i64().unwrap_or(0) * 2)))
///     .server(|request| match request.url.as_str() {
///         "https://api.acme.com/me" => Ok(Response { status: 200, body: b"Ada".to_vec(), ..Response::default() }),
///         _ => Err(Failure::timeout("the server did not answer in time")),
///     });
///
/// assert_eq!(tools::call::<i64>("acme/double", json!({ "n": 4 })), Ok(8));
/// assert_eq!(http::get("https://api.acme.com/me").unwrap().text(), Ok("Ada".to_owned()));
/// assert_eq!(secrets::names(), ["TOKEN"]);
/// assert!(host.lines().is_empty());
/// ```
pub struct Host(pub(super) Rc<RefCell<State>>);

/// A request that a node has sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Method, in capital letters.
    pub method: String,
    /// URL, without a fragment.
    pub url: String,
    /// Header fields; their names are as the node has written them.
    pub fields: Vec<(String, Vec<u8>)>,
    /// Body; empty if the node has sent none.
    pub body: Vec<u8>,
}

/// Functions that set up the host. Each can also be called between two runs of a node: `let host = host.answer("yes");`.
impl Host {
    /// Creates an empty host that refuses calls of items and requests. The time is 1970, and the folder `/` is granted.
    #[must_use]
    pub fn new() -> Self {
        let state = Rc::new(RefCell::new(State::new()));
        State::install(&state);
        Self(state)
    }

    /// Adds a file, by its absolute path. The folders above it exist, too.
    #[must_use]
    pub fn file(self, path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        self.0.borrow_mut().files.put(path.into(), content.into());
        self
    }

    /// Grants a folder for reading and writing. After the first one, paths outside of all granted folders are `denied`.
    #[must_use]
    pub fn folder(self, path: impl Into<String>) -> Self {
        self.0.borrow_mut().files.grant(path.into());
        self
    }

    /// Adds an entry to the knowledge store.
    #[must_use]
    pub fn knowledge(self, key: impl Into<String>, text: impl Into<String>) -> Self {
        self.0.borrow_mut().knowledge.insert(key.into(), text.into());
        self
    }

    /// Grants a secret; the node gets its handle.
    #[must_use]
    pub fn secret(self, name: impl Into<String>, handle: impl Into<String>) -> Self {
        self.0.borrow_mut().secrets.insert(name.into(), handle.into());
        self
    }

    /// Adds an item that the node may call: a function from params to a result, which can call the SDK itself.
    #[must_use]
    pub fn item(
        self,
        id: impl Into<String>,
        perform: impl Fn(Value) -> Result<Value, Failure> + 'static,
    ) -> Self {
        self.0.borrow_mut().items.insert(id.into(), Rc::new(perform));
        self
    }

    /// Sets the function that answers every request of the node. A failure of it stands for a server that cannot be reached.
    #[must_use]
    pub fn server(self, answer: impl Fn(&Request) -> Result<Response, Failure> + 'static) -> Self {
        self.0.borrow_mut().server = Some(Rc::new(answer));
        self
    }

    /// Sets the time of the superstep since 1970. Sleeping advances it.
    #[must_use]
    pub fn clock(self, since_1970: Duration) -> Self {
        self.0.borrow_mut().clock = since_1970;
        self
    }

    /// Sets the seed of random numbers. They differ from those of a run with this seed.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        self.0.borrow_mut().seed = seed;
        self
    }

    /// Adds the answer to the node's next question.
    ///
    /// ```
    /// use graph_sdk::prelude::*;
    /// use graph_sdk::testing::Host;
    ///
    /// fn run(_params: Value, ctx: &Context) -> Result<bool, Failure> {
    ///     let answer: String = ctx.ask("Shall this be published?")?;
    ///     Ok(answer == "yes")
    /// }
    ///
    /// let host = Host::new();
    /// assert_eq!(host.run(run, json!({})), Ok(Outcome::Interrupt(json!("Shall this be published?"))));
    /// let host = host.answer("yes");
    /// assert_eq!(host.run(run, json!({})), Ok(Outcome::Result(json!(true))));
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the answer cannot be written as JSON.
    #[must_use]
    pub fn answer(self, answer: impl Serialize) -> Self {
        self.0.borrow_mut().activation.answers.push(json_text(&answer));
        self
    }

    /// Sets the argument of the send, or the item of the `foreach`, that has created the task.
    ///
    /// # Panics
    ///
    /// Panics if the argument cannot be written as JSON.
    #[must_use]
    pub fn argument(self, argument: impl Serialize) -> Self {
        self.0.borrow_mut().activation.argument = Some(json_text(&argument));
        self
    }

    /// Changes other data of the task: `|of| of.attempt = 2`.
    #[must_use]
    pub fn activation(self, change: impl FnOnce(&mut Activation)) -> Self {
        change(&mut self.0.borrow_mut().activation);
        self
    }
}

/// Functions that run the node.
impl Host {
    /// Calls the node's function as its component does: the params are read from JSON, and the outcome is written as
    /// JSON. A question of [`Context::ask`] is an [`Outcome::Interrupt`].
    ///
    /// # Panics
    ///
    /// Panics if the params cannot be written as JSON.
    pub fn run<P: DeserializeOwned, A: Answer>(
        &self,
        run: fn(P, &Context) -> Result<A, Failure>,
        params: impl Serialize,
    ) -> Result<Outcome, Failure> {
        let activation = self.0.borrow().activation.clone();
        match node::run(run, activation, &json_text(&params)) {
            Ok(wit::Outcome::Result(json)) => Ok(Outcome::Result(value(&json))),
            Ok(wit::Outcome::Interrupt(json)) => Ok(Outcome::Interrupt(value(&json))),
            Ok(wit::Outcome::Command(command)) => Ok(Outcome::Command(read_command(command))),
            Err(failure) => Err(Failure::from_wit(failure)),
        }
    }

    /// Returns the context of the task, to call a function of the node directly.
    pub fn context(&self) -> Context {
        Context::new(self.0.borrow().activation.clone())
    }
}

/// Functions that read the effects of the node.
impl Host {
    /// Returns the log lines so far.
    pub fn lines(&self) -> Vec<(Level, String)> {
        self.0.borrow().lines.clone()
    }

    /// Returns the records that the node has added to the event stream: names and payloads.
    pub fn records(&self) -> Vec<(String, Value)> {
        self.0.borrow().records.clone()
    }

    /// Returns the content of a file, by its absolute path.
    pub fn content(&self, path: &str) -> Option<Vec<u8>> {
        self.0.borrow().files.content(path).cloned()
    }

    /// Returns the text of a key of the knowledge store.
    pub fn text(&self, key: &str) -> Option<String> {
        self.0.borrow().knowledge.get(key).cloned()
    }

    /// Returns the time since 1970, including the time that the node has slept.
    pub fn now(&self) -> Duration {
        self.0.borrow().clock
    }
}

impl Default for Host {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        State::uninstall(&self.0);
    }
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.borrow();
        f.debug_struct("Host")
            .field("lines", &state.lines)
            .field("records", &state.records)
            .finish_non_exhaustive()
    }
}

fn json_text(of: &impl Serialize) -> String {
    match serde_json::to_string(of) {
        Ok(text) => text,
        Err(error) => panic!("a value of the test cannot be written as JSON: {error}"),
    }
}

/// Parses JSON that the SDK has written, which is always valid.
fn value(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_default()
}

fn read_command(command: wit::Command) -> Command {
    let update: Map<String, Value> = serde_json::from_str(&command.update).unwrap_or_default();
    let command_of =
        update.into_iter().fold(Command::new(), |made, (channel, value)| made.write(channel, value));
    command.goto.into_iter().fold(command_of, |made, target| match target.argument {
        Some(argument) => made.send(target.node, value(&argument)),
        None => made.goto(target.node),
    })
}
