//! The engine, and loaded components.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use graph_core::capability::CapabilityKind;
use graph_core::digest::Digest;
use graph_core::trust::{ComponentStanding, VerifiedComponent};
use tokio::sync::{Semaphore, SemaphorePermit};
use wasmtime::component::{Component, InstancePre};

use crate::cache::{self, Cache, CacheStatus};
use crate::compile::{
    CompileError, CompileLimits, CompileObserver, CompileSlots, Compiler, compile_in_child,
};
use crate::config::{self, EngineConfig};
use crate::error::{EngineError, LoadError};
use crate::functions;
use crate::host::http::{Client, SystemResolver};
use crate::imports;
use crate::interface::{self, Import};
use crate::state::TaskState;
use crate::structure;
use crate::ticker::Ticker;

/// Compiles, links and calls components. Cheap to clone; every clone is the same engine.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<EngineInner>,
    /// The resources of this machine that preparing a component opens.
    pub(crate) opens: HostResources,
}

/// The resources of the machine and its environment that preparing a component opens, as far as its grant names them. Others get a
/// placeholder: a component that a journal or doubles answer does not see the difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostResources {
    /// The granted folders.
    pub folders: bool,
    /// The values of secrets.
    pub secrets: bool,
    /// The keys of language models.
    pub keys: bool,
}

impl HostResources {
    /// Everything that is granted: for runs.
    pub const ALL: Self = Self { folders: true, secrets: true, keys: true };
    /// Everything but the keys of language models: if the record or doubles answer for models.
    pub const WITHOUT_KEYS: Self = Self { keys: false, ..Self::ALL };
    /// Only folders, as a journal has digests of the large contents of files: if a journal answers.
    pub const FOLDERS: Self = Self { folders: true, ..Self::NOTHING };
    /// Nothing.
    pub const NOTHING: Self = Self { folders: false, secrets: false, keys: false };
}

pub(crate) struct EngineInner {
    pub(crate) wasmtime: wasmtime::Engine,
    pub(crate) ticker: Ticker,
    pub(crate) linked: Mutex<LinkedComponents>,
    pub(crate) client: Arc<Client>,
    loaded: Mutex<BTreeMap<Digest, Weak<CompiledCode>>>,
    slots: Semaphore,
    pub(crate) chains: Arc<Semaphore>,
    cache: Option<Cache>,
    compiler: Compiler,
    compile_limits: CompileLimits,
    compile_observer: Option<Arc<dyn CompileObserver>>,
    crew: CompileSlots,
    digest: Digest,
    pooled: bool,
}

impl EngineInner {
    /// Waits for a slot among the calls that may be active at the same time.
    pub(crate) async fn slot(&self) -> Option<SemaphorePermit<'_>> {
        // The semaphore is never closed.
        self.slots.acquire().await.ok()
    }
}

/// Linked components, by digest and by the capabilities that they are linked with.
type LinkedComponents = BTreeMap<(Digest, BTreeSet<CapabilityKind>), InstancePre<TaskState>>;

/// A compiled component. Cheap to clone.
#[derive(Clone)]
pub struct LoadedComponent {
    id: String,
    inner: Arc<CompiledCode>,
}

struct CompiledCode {
    digest: Digest,
    component: Component,
    imports: Vec<Import>,
    has_action: bool,
    status: CacheStatus,
}

impl Engine {
    /// Creates an engine: with slots reserved in advance if the system has the address space, otherwise with memory on demand, which is
    /// slower and gives the same results.
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
        let cache = config.cache_dir.map(|folder| Cache::new(folder, config.cache_bytes, &wasmtime));
        Ok(Self {
            inner: Arc::new(EngineInner {
                ticker,
                linked: Mutex::default(),
                client: Arc::new(Client::new(config.resolver.unwrap_or_else(|| Arc::new(SystemResolver)))),
                loaded: Mutex::default(),
                slots: Semaphore::new(slots as usize),
                chains: Arc::new(Semaphore::new(config::CALL_CHAINS as usize)),
                cache,
                compiler: config.compiler,
                compile_limits: config.compile_limits,
                compile_observer: config.compile_observer,
                crew: CompileSlots::new(),
                digest: config::digest(),
                pooled,
                wasmtime,
            }),
            opens: HostResources::ALL,
        })
    }

    /// Returns the same engine, limited to opening these resources.
    #[must_use]
    pub fn opening(self, opens: HostResources) -> Self {
        Self { opens, ..self }
    }

    /// Returns the digest of the engine for checkpoints: the version of wasmtime and every setting that can change a result or its fuel.
    /// The processor is not part of it.
    pub fn digest(&self) -> Digest {
        self.inner.digest
    }

    /// Checks whether slots are reserved in advance.
    pub fn pooled(&self) -> bool {
        self.inner.pooled
    }

    /// Checks whether the component is in memory, or has a file in the cache, whose code is not checked.
    pub fn has_compiled(&self, verified: &VerifiedComponent) -> bool {
        let digest = verified.digest();
        self.loaded(digest).is_some() || self.inner.cache.as_ref().is_some_and(|cache| cache.has(digest))
    }

    /// Returns the imports of a component, read from its bytes without compiling. Its structure is counted first, so that a component that
    /// is nested too deeply is refused.
    pub fn read_imports(&self, verified: &VerifiedComponent) -> Result<Vec<Import>, LoadError> {
        let bytes = verified.bytes();
        structure::count(bytes)
            .map_err(|source| LoadError::Structure { id: verified.id().to_string(), source })?;
        Ok(imports::of_bytes(bytes))
    }

    /// Compiles a component, or loads it from the cache. Its structure is counted first, and a component over a cap is
    /// refused. This blocks: about 0.1 s for a small component, 20 s for one of 20 MB that is not in the cache.
    pub fn load(&self, verified: &VerifiedComponent) -> Result<LoadedComponent, LoadError> {
        let id = verified.id().to_string();
        let digest = *verified.digest();
        if let Some(inner) = self.loaded(&digest) {
            return Ok(LoadedComponent { id, inner });
        }
        let cache = self.inner.cache.as_ref().map(|cache| (cache, cache.open()));
        let engine = &self.inner.wasmtime;
        let cached = cache.as_ref().and_then(|(cache, key)| cache.read(engine, key.as_ref().ok()?, &digest));
        if let Some(component) = cached {
            // The component was counted before it was compiled, and the tag covers the caps of that time.
            return Ok(LoadedComponent { id, inner: self.add(digest, component, CacheStatus::Hit) });
        }
        structure::count(verified.bytes())
            .map_err(|source| LoadError::Structure { id: id.clone(), source })?;
        // Held until other threads can find the compiled component.
        let _slot = self.inner.crew.place(digest);
        if let Some(inner) = self.loaded(&digest) {
            return Ok(LoadedComponent { id, inner });
        }
        let keep = |code: &[u8]| match &cache {
            Some((cache, key)) => cache.keep(key, &digest, code),
            None => CacheStatus::Off,
        };
        match self.compile(verified, keep) {
            Ok((component, status)) => Ok(LoadedComponent { id, inner: self.add(digest, component, status) }),
            Err(source) => Err(LoadError::Compile { id, source }),
        }
    }

    /// Returns the component, if it is in memory.
    fn loaded(&self, digest: &Digest) -> Option<Arc<CompiledCode>> {
        let loaded = self.inner.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.get(digest).and_then(Weak::upgrade)
    }

    fn add(&self, digest: Digest, component: Component, status: CacheStatus) -> Arc<CompiledCode> {
        let imports = interface::imports(&self.inner.wasmtime, &component);
        let has_action = functions::has_action(&self.inner.wasmtime, &component);
        let added = Arc::new(CompiledCode { digest, component, imports, has_action, status });
        let mut loaded = self.inner.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.insert(digest, Arc::downgrade(&added));
        added
    }
}

impl Engine {
    /// Returns the limits for compiling a component. Built-in components get more time, since they are known to compile, even on a slow
    /// machine.
    fn limits_for(&self, verified: &VerifiedComponent) -> CompileLimits {
        let limits = self.inner.compile_limits;
        match verified.standing() {
            ComponentStanding::BuiltIn => {
                CompileLimits { cpu: limits.cpu * 4, deadline: limits.deadline * 4, ..limits }
            }
            ComponentStanding::Signed { .. } | ComponentStanding::Unsigned => limits,
        }
    }

    /// Compiles a component, and stores the code in the cache.
    fn compile(
        &self,
        verified: &VerifiedComponent,
        keep: impl FnOnce(&[u8]) -> CacheStatus,
    ) -> Result<(Component, CacheStatus), CompileError> {
        let inner = &self.inner;
        let (id, bytes) = (verified.id(), verified.bytes());
        let invalid = |error: wasmtime::Error| CompileError::Invalid(format!("{error:#}"));
        match &inner.compiler {
            Compiler::InProcess => {
                let component = Component::from_binary(&inner.wasmtime, bytes).map_err(invalid)?;
                let status = match &inner.cache {
                    Some(_) => keep(&component.serialize().map_err(invalid)?),
                    None => CacheStatus::Off,
                };
                Ok((component, status))
            }
            Compiler::Child(program) => {
                let slow = || {
                    if let Some(observer) = &inner.compile_observer {
                        observer.slow(id, bytes.len());
                    }
                };
                if let Some(observer) = &inner.compile_observer {
                    observer.started(id, bytes.len());
                }
                let code = compile_in_child(program, bytes, self.limits_for(verified), slow);
                if let Some(observer) = &inner.compile_observer {
                    observer.finished(id);
                }
                let code = code?;
                let component = cache::load_compiled(&inner.wasmtime, &code).map_err(invalid)?;
                Ok((component, keep(&code)))
            }
        }
    }
}

impl LoadedComponent {
    /// Returns the id of the item for which it was loaded.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the digest of the component's bytes.
    pub fn digest(&self) -> Digest {
        self.inner.digest
    }

    /// Returns its imports, in the order of its bytes.
    pub fn imports(&self) -> &[Import] {
        &self.inner.imports
    }

    /// Checks whether it is a node action. If not, nodes can only call its functions.
    pub fn has_action(&self) -> bool {
        self.inner.has_action
    }

    /// Returns the source of the compiled form.
    pub fn cache_status(&self) -> &CacheStatus {
        &self.inner.status
    }

    pub(crate) fn component(&self) -> &Component {
        &self.inner.component
    }
}
