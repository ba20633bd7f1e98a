//! Linking a component with its grant.

use std::collections::BTreeSet;
use std::sync::Arc;

use graph_core::capability::{CapabilityKind, EffectiveGrant, InterfaceName, Outgoing, Provision};
use wasmtime::component::Linker;
use wasmtime_wasi::p2::bindings::io;
use wasmtime_wasi_http::WasiHttp;
use wasmtime_wasi_http::p2::bindings::{LinkOptions, http};

use crate::bindings::{ComponentPre, graph_host, wasi};
use crate::engine::{Engine, EngineInner, LoadedComponent};
use crate::error::{MissingInterface, PrepareError};
use crate::host::filesystem::Mounts;
use crate::host::http::read_secret;
use crate::state::{Granted, HasState, HasTable, TaskState};

/// A component that is linked with what it was granted, ready to be called. Cheap to clone.
#[derive(Clone)]
pub struct PreparedNode {
    pub(crate) inner: Arc<LinkedNode>,
}

pub(crate) struct LinkedNode {
    pub(crate) engine: Arc<EngineInner>,
    pub(crate) pre: ComponentPre<TaskState>,
    pub(crate) granted: Arc<Granted>,
}

impl Engine {
    /// Links a component with exactly the interfaces that it was granted. Granted folders are opened here, once.
    pub fn prepare(
        &self,
        loaded: &LoadedComponent,
        grant: &EffectiveGrant,
    ) -> Result<PreparedNode, PrepareError> {
        let missing = missing(loaded, &grant.kinds);
        if !missing.is_empty() {
            return Err(PrepareError::NotGranted { id: loaded.id().to_owned(), missing });
        }
        let pre = self.pre(loaded, &grant.kinds)?;
        let mounts =
            if grant.kinds.contains(&CapabilityKind::Filesystem) { &grant.filesystem[..] } else { &[] };
        let mounts = Mounts::open(mounts).map_err(|unusable| unusable.granted_to(loaded.id()))?;
        let secrets = grant.secrets.iter().map(read_secret).collect::<Result<_, _>>();
        let secrets =
            secrets.map_err(|source| PrepareError::Secret { id: loaded.id().to_owned(), source })?;
        let granted = Granted {
            mounts,
            outgoing: Arc::new(Outgoing { rules: grant.http.clone(), secrets }),
            client: Arc::clone(&self.inner.client),
            chains: Arc::clone(&self.inner.chains),
            knowledge: grant.knowledge.clone(),
        };
        let engine = Arc::clone(&self.inner);
        Ok(PreparedNode { inner: Arc::new(LinkedNode { engine, pre, granted: Arc::new(granted) }) })
    }

    /// The component, type-checked against the host functions of its grants; one for each component and set of grants.
    fn pre(
        &self,
        loaded: &LoadedComponent,
        kinds: &BTreeSet<CapabilityKind>,
    ) -> Result<ComponentPre<TaskState>, PrepareError> {
        let key = (loaded.digest(), kinds.clone());
        let mut linked = self.inner.linked.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(pre) = linked.get(&key) {
            return Ok(pre.clone());
        }
        let pre = linker(&self.inner.wasmtime, kinds)
            .and_then(|linker| linker.instantiate_pre(loaded.component()))
            .and_then(ComponentPre::new)
            .map_err(|error| PrepareError::WrongWorld {
                id: loaded.id().to_owned(),
                message: format!("{error:#}"),
            })?;
        linked.insert(key, pre.clone());
        Ok(pre)
    }
}

/// The imports with functions that no grant links.
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

/// A linker with exactly the interfaces of the grants.
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
