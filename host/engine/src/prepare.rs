//! Linking a component with its grant.

use std::collections::BTreeSet;
use std::sync::Arc;

use graph_core::capability::{CapabilityKind, EffectiveGrant, InterfaceName, OutgoingGrant, Provision};
use graph_core::diagnostic::printable;
use wasmtime::component::{InstancePre, Linker};
use wasmtime_wasi::p2::bindings::io;
use wasmtime_wasi_http::WasiHttp;
use wasmtime_wasi_http::p2::bindings::{LinkOptions, http};

use crate::bindings::{ComponentPre, graph_host, wasi};
use crate::engine::{Engine, EngineInner, LoadedComponent};
use crate::error::{MissingInterface, PrepareError};
use crate::functions::{self, FunctionEntry, FunctionLookup};
use crate::host::filesystem::Mounts;
use crate::host::http::{placeholder, read_secret};
use crate::host::model;
use crate::state::{GrantedResources, HasState, HasTable, TaskState};

/// A component that is linked with its grant, ready to be called. Cheap to clone.
#[derive(Clone)]
pub struct PreparedNode {
    pub(crate) inner: Arc<LinkedNode>,
}

pub(crate) struct LinkedNode {
    pub(crate) engine: Arc<EngineInner>,
    pub(crate) entry: EntryPoint,
    pub(crate) granted: Arc<GrantedResources>,
}

/// The entry point of calls.
pub(crate) enum EntryPoint {
    /// `run` of the node action.
    Action(ComponentPre<TaskState>),
    /// Another exported function.
    Function(FunctionEntry),
}

impl Engine {
    /// Links a component with exactly the granted interfaces, to call its node action, or the function with the given name in item ids. The
    /// granted resources are opened here, once.
    pub fn prepare(
        &self,
        loaded: &LoadedComponent,
        function: Option<&str>,
        grant: &EffectiveGrant,
    ) -> Result<PreparedNode, PrepareError> {
        let missing = missing(loaded, &grant.kinds);
        if !missing.is_empty() {
            return Err(PrepareError::NotGranted { id: loaded.id().to_owned(), missing });
        }
        let entry = self.entry(loaded, function, &grant.kinds)?;
        let mounts =
            if grant.kinds.contains(&CapabilityKind::Filesystem) { &grant.filesystem[..] } else { &[] };
        let mounts = if self.opens.folders {
            Mounts::open(mounts).map_err(|unusable| unusable.granted_to(loaded.id()))?
        } else {
            Mounts::unopened(mounts)
        };
        let secret = |rule| if self.opens.secrets { read_secret(rule) } else { placeholder(rule) };
        let secrets = grant.secrets.iter().map(secret).collect::<Result<_, _>>();
        let secrets =
            secrets.map_err(|source| PrepareError::Secret { id: loaded.id().to_owned(), source })?;
        let models = grant.models.iter().map(|rule| {
            model::provider(rule, self.opens.keys).map_err(|source| PrepareError::ModelKey {
                id: loaded.id().to_owned(),
                model: rule.name.clone(),
                source,
            })
        });
        let models = models.collect::<Result<_, _>>()?;
        let granted = GrantedResources {
            mounts,
            outgoing: Arc::new(OutgoingGrant { rules: grant.http.clone(), secrets }),
            client: Arc::clone(&self.inner.client),
            chains: Arc::clone(&self.inner.chains),
            knowledge: grant.knowledge.clone(),
            models,
        };
        let engine = Arc::clone(&self.inner);
        Ok(PreparedNode { inner: Arc::new(LinkedNode { engine, entry, granted: Arc::new(granted) }) })
    }

    fn entry(
        &self,
        loaded: &LoadedComponent,
        function: Option<&str>,
        kinds: &BTreeSet<CapabilityKind>,
    ) -> Result<EntryPoint, PrepareError> {
        let engine = &self.inner.wasmtime;
        let id = || loaded.id().to_owned();
        let Some(name) = function else {
            if !loaded.has_action()
                && let Some(example) = functions::first_callable(engine, loaded.component())
                    .map_err(|full| PrepareError::Functions { id: id(), full })?
            {
                return Err(PrepareError::NoAction { id: id(), example: example.name });
            }
            let pre =
                ComponentPre::new(self.pre(loaded, kinds)?).map_err(|error| wrong_world(loaded, &error))?;
            return Ok(EntryPoint::Action(pre));
        };
        let wrong = |reason: String| PrepareError::Function { id: id(), reason };
        match functions::look_up(engine, loaded.component(), name)
            .map_err(|full| PrepareError::Functions { id: id(), full })?
        {
            FunctionLookup::Callable => {}
            FunctionLookup::Uncallable(uncallable) => return Err(wrong(format!("exports {uncallable}"))),
            FunctionLookup::Unknown { near, some, more } => {
                let hint = match near {
                    Some(near) => format!("did you mean `{near}`?"),
                    None if some.is_empty() => "nodes can call none of it".to_owned(),
                    None if more > 0 => format!("it exports {} and {more} more", some.join(", ")),
                    None => format!("it exports {}", some.join(", ")),
                };
                return Err(wrong(format!("exports no function `{}`; {hint}", printable(name))));
            }
        }
        let pre = self.pre(loaded, kinds)?;
        let entry = FunctionEntry::find(engine, name, pre);
        entry
            .map(EntryPoint::Function)
            .ok_or_else(|| wrong(format!("exports no function `{}`", printable(name))))
    }

    /// Returns the component, type-checked against the host functions of its grants; one for each component and set of grants.
    fn pre(
        &self,
        loaded: &LoadedComponent,
        kinds: &BTreeSet<CapabilityKind>,
    ) -> Result<InstancePre<TaskState>, PrepareError> {
        let key = (loaded.digest(), kinds.clone());
        let mut linked = self.inner.linked.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(pre) = linked.get(&key) {
            return Ok(pre.clone());
        }
        let pre = linker(&self.inner.wasmtime, kinds)
            .and_then(|linker| linker.instantiate_pre(loaded.component()))
            .map_err(|error| wrong_world(loaded, &error))?;
        linked.insert(key, pre.clone());
        Ok(pre)
    }
}

fn wrong_world(loaded: &LoadedComponent, error: &wasmtime::Error) -> PrepareError {
    PrepareError::WrongWorld { id: loaded.id().to_owned(), message: format!("{error:#}") }
}

/// Returns the imports with functions that no grant links.
fn missing(loaded: &LoadedComponent, granted: &BTreeSet<CapabilityKind>) -> Vec<MissingInterface> {
    let needs = |interface: &str| match InterfaceName::parse(interface).map(|name| name.provision()) {
        Ok(Provision::Kinds { own: Some(own), .. }) => vec![own],
        Ok(Provision::Kinds { own: None, brought_by }) => brought_by.to_vec(),
        _ => Vec::new(),
    };
    loaded
        .imports()
        .iter()
        .filter(|import| !import.type_only)
        .map(|import| MissingInterface { interface: import.name.clone(), kinds: needs(&import.name) })
        .filter(|import| !import.kinds.iter().any(|kind| granted.contains(kind)))
        .collect()
}

/// Creates a linker with exactly the interfaces of the grants.
pub(crate) fn linker(
    engine: &wasmtime::Engine,
    kinds: &BTreeSet<CapabilityKind>,
) -> wasmtime::Result<Linker<TaskState>> {
    let mut linker = Linker::new(engine);
    let to = &mut linker;
    for kind in kinds {
        match kind {
            CapabilityKind::Log => {
                graph_host::host::log::add_to_linker::<_, HasState>(to, |state| state)?;
                graph_host::host::events::add_to_linker::<_, HasState>(to, |state| state)?;
                io::error::add_to_linker::<_, HasTable>(to, |state| &mut state.table)?;
                io::poll::add_to_linker::<_, HasTable>(to, |state| &mut state.table)?;
                io::streams::add_to_linker::<_, HasTable>(to, |state| &mut state.table)?;
                add_cli(to)?;
            }
            CapabilityKind::Clocks => {
                wasi::clocks::wall_clock::add_to_linker::<_, HasState>(to, |state| state)?;
                wasi::clocks::monotonic_clock::add_to_linker::<_, HasState>(to, |state| state)?;
            }
            CapabilityKind::Random => {
                wasi::random::random::add_to_linker::<_, HasState>(to, |state| state)?;
                wasi::random::insecure::add_to_linker::<_, HasState>(to, |state| state)?;
                wasi::random::insecure_seed::add_to_linker::<_, HasState>(to, |state| state)?;
            }
            CapabilityKind::Filesystem => {
                wasi::filesystem::types::add_to_linker::<_, HasState>(to, |state| state)?;
                wasi::filesystem::preopens::add_to_linker::<_, HasState>(to, |state| state)?;
            }
            CapabilityKind::Http => {
                let options = LinkOptions::default();
                http::types::add_to_linker::<_, WasiHttp>(to, &(&options).into(), crate::host::http::view)?;
                wasi::http::outgoing_handler::add_to_linker::<_, HasState>(to, |state| state)?;
                crate::host::http::add_to_linker(to)?;
            }
            CapabilityKind::Secrets => {
                graph_host::host::secrets::add_to_linker::<_, HasState>(to, |state| state)?;
            }
            CapabilityKind::Knowledge => {
                graph_host::host::knowledge::add_to_linker::<_, HasState>(to, |state| state)?;
            }
            CapabilityKind::Tools => crate::host::tools::add_to_linker(to)?,
            CapabilityKind::Model => {
                graph_host::host::model::add_to_linker::<_, HasState>(to, |state| state)?;
            }
        }
    }
    Ok(linker)
}

/// Adds `wasi:cli` without its world.
fn add_cli(to: &mut Linker<TaskState>) -> wasmtime::Result<()> {
    wasi::cli::environment::add_to_linker::<_, HasState>(to, |state| state)?;
    wasi::cli::exit::add_to_linker::<_, HasState>(to, |state| state)?;
    wasi::cli::stdin::add_to_linker::<_, HasState>(to, |state| state)?;
    wasi::cli::stdout::add_to_linker::<_, HasState>(to, |state| state)?;
    wasi::cli::stderr::add_to_linker::<_, HasState>(to, |state| state)?;
    wasi::cli::terminal_input::add_to_linker::<_, HasState>(to, |state| state)?;
    wasi::cli::terminal_output::add_to_linker::<_, HasState>(to, |state| state)?;
    wasi::cli::terminal_stdin::add_to_linker::<_, HasState>(to, |state| state)?;
    wasi::cli::terminal_stdout::add_to_linker::<_, HasState>(to, |state| state)?;
    wasi::cli::terminal_stderr::add_to_linker::<_, HasState>(to, |state| state)
}
