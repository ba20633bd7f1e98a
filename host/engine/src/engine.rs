//! The engine and the components that it has loaded.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use graph_core::capability::CapabilityKind;
use graph_core::digest::Digest;
use graph_core::trust::VerifiedComponent;
use tokio::sync::{Semaphore, SemaphorePermit};
use wasmtime::component::Component;

use crate::bindings::ComponentPre;
use crate::cache::{Cache, CacheStatus};
use crate::config::{self, EngineConfig};
use crate::error::{EngineError, LoadError};
use crate::interface::{self, Import};
use crate::state::TaskState;
use crate::ticker::Ticker;

/// Compiles, links and calls components. Cheap to clone; every clone is the same engine.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<EngineInner>,
}

pub(crate) struct EngineInner {
    pub(crate) wasmtime: wasmtime::Engine,
    pub(crate) ticker: Ticker,
    pub(crate) linked: Mutex<Linked>,
    loaded: Mutex<BTreeMap<Digest, Weak<Loaded>>>,
    slots: Semaphore,
    cache: Option<Cache>,
    max_component_size: usize,
    digest: Digest,
    pooled: bool,
}

impl EngineInner {
    /// Waits for a place among the calls that may be under way at once.
    pub(crate) async fn slot(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.slots.acquire().await.ok()
    }
}

/// Components that are linked, by digest and by what they were granted.
type Linked = BTreeMap<(Digest, BTreeSet<CapabilityKind>), ComponentPre<TaskState>>;

/// A compiled component. Cheap to clone.
#[derive(Clone)]
pub struct LoadedComponent {
    id: String,
    inner: Arc<Loaded>,
}

struct Loaded {
    digest: Digest,
    component: Component,
    imports: Vec<Import>,
    status: CacheStatus,
}

impl Engine {
    /// Sets the engine up: with slots reserved beforehand where the system has the address space for them, otherwise
    /// with memory on demand, which is slower and gives the same results.
    pub fn new(config: EngineConfig) -> Result<Self, EngineError> {
        let slots = config.slots();
        let configs = [(true, true), (true, false), (false, false)];
        let mut last = None;
        let (wasmtime, pooled) = configs
            .into_iter()
            .find_map(|(pooled, pagemap)| {
                wasmtime::Engine::new(&config::wasmtime_config(slots, pooled, pagemap))
                    .map_err(|error| last = Some(error))
                    .ok()
                    .map(|engine| (engine, pooled))
            })
            .ok_or_else(|| {
                EngineError::Unsupported(
                    last.map_or_else(String::new, |error: wasmtime::Error| format!("{error:#}")),
                )
            })?;
        let ticker = Ticker::start(&wasmtime).map_err(EngineError::Ticker)?;
        let cache = config.cache_dir.map(|folder| Cache::new(folder, &wasmtime));
        Ok(Self {
            inner: Arc::new(EngineInner {
                ticker,
                linked: Mutex::default(),
                loaded: Mutex::default(),
                slots: Semaphore::new(slots as usize),
                cache,
                max_component_size: config.max_component_size,
                digest: config::digest(),
                pooled,
                wasmtime,
            }),
        })
    }

    /// The engine as a checkpoint records it: the version of wasmtime and every setting that can change a result or
    /// its fuel. The processor is no part of it.
    pub fn digest(&self) -> Digest {
        self.inner.digest
    }

    /// Whether slots are reserved beforehand.
    pub fn pooled(&self) -> bool {
        self.inner.pooled
    }

    /// Compiles a component, or takes it from the cache. It blocks: some 0.1 s for a small component, 20 s for one of
    /// 20 MB that no cache holds.
    pub fn load(&self, verified: &VerifiedComponent) -> Result<LoadedComponent, LoadError> {
        let id = verified.id().to_string();
        let digest = *verified.digest();
        let known = || self.inner.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(inner) = known().get(&digest).and_then(Weak::upgrade) {
            return Ok(LoadedComponent { id, inner });
        }
        let bytes = verified.bytes();
        let limit = self.inner.max_component_size;
        if bytes.len() > limit {
            return Err(LoadError::TooLarge { id, size: bytes.len(), limit });
        }
        let engine = &self.inner.wasmtime;
        let (component, status) = match &self.inner.cache {
            Some(cache) => cache.get_or_compile(engine, &digest, bytes),
            None => Component::from_binary(engine, bytes).map(|component| (component, CacheStatus::Off)),
        }
        .map_err(|error| LoadError::Invalid { id: id.clone(), message: format!("{error:#}") })?;
        let imports = interface::imports(engine, &component);
        let inner = Arc::new(Loaded { digest, component, imports, status });
        known().insert(digest, Arc::downgrade(&inner));
        Ok(LoadedComponent { id, inner })
    }
}

impl LoadedComponent {
    /// The item that it was loaded as.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The digest of the component's bytes.
    pub fn digest(&self) -> Digest {
        self.inner.digest
    }

    /// What it imports, in its own order.
    pub fn imports(&self) -> &[Import] {
        &self.inner.imports
    }

    /// Where the compiled form came from.
    pub fn cache_status(&self) -> &CacheStatus {
        &self.inner.status
    }

    pub(crate) fn component(&self) -> &Component {
        &self.inner.component
    }
}
