//! How the engine is set up, and why.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use graph_core::digest::{Digest, DomainHasher};
use wasmtime::{
    Config, Enabled, InstanceAllocationStrategy, OperatorCost, PoolingAllocationConfig, WasmFeatures,
};

use crate::compile::{CompileLimits, CompileObserver, Compiler};
use crate::host::http::Resolver;

/// The wasmtime that this crate is built with, as checkpoints record it. A test compares it with the lockfile.
pub(crate) const WASMTIME_VERSION: &str = "48.0.8";

/// Native stack for WebAssembly frames: where endless recursion ends.
const WASM_STACK: usize = 1 << 20;
/// Native stack of a call, host functions included.
const CALL_STACK: usize = 2 << 20;
/// Fuel for each page that memory grows by: about what a page costs the host in time.
const FUEL_PER_PAGE: u8 = 100;
/// Core instances, memories and tables of one component.
pub(crate) const MAX_CORE_INSTANCES: u32 = 64;
pub(crate) const MAX_MEMORIES: u32 = 4;
pub(crate) const MAX_TABLES: u32 = 16;
/// Tasks whose components may call others at one time.
pub(crate) const CALL_CHAINS: u32 = 4;
/// How deep such calls may nest, whatever a manifest allows.
pub(crate) const MAX_CALL_DEPTH: u32 = 8;
/// Elements of one table.
pub(crate) const MAX_TABLE_ELEMENTS: usize = 100_000;
/// Bytes of a linear memory that are reset in place rather than given back to the system.
const KEEP_RESIDENT: usize = 1 << 20;
/// The same where the system cannot say which pages were touched, and all of them have to be written.
const KEEP_RESIDENT_BLIND: usize = 64 << 10;

/// What a host decides about its engine.
#[derive(Clone, Debug, Default)]
pub struct EngineConfig {
    /// Where compiled components are kept. `None`: each process compiles for itself.
    pub cache_dir: Option<PathBuf>,
    /// How many bytes of compiled components are kept there. Once there are more, those that were not used for the longest
    /// time are removed when a component is added. `None`: any number.
    pub cache_bytes: Option<u64>,
    /// How many calls may be under way at once; more wait their turn. `None`: twice the number of processors, at
    /// least eight.
    pub concurrency: Option<u32>,
    /// Who compiles.
    pub compiler: Compiler,
    /// What compiling one component may use up; a compiler in this process is not bound by it.
    pub compile_limits: CompileLimits,
    /// Is told of components that take long.
    pub compile_observer: Option<Arc<dyn CompileObserver>>,
    /// How the hosts of requests are looked up. `None`: as the system does it.
    pub resolver: Option<Arc<dyn Resolver>>,
}

impl EngineConfig {
    /// The number of calls that may be under way at once.
    pub(crate) fn slots(&self) -> u32 {
        self.concurrency
            .unwrap_or_else(|| {
                let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
                u32::try_from(processors.saturating_mul(2)).unwrap_or(u32::MAX).max(8)
            })
            .max(1)
    }
}

/// The proposals that components may use. An allow-list: a new release of wasmtime adds none by itself.
fn features() -> WasmFeatures {
    (WasmFeatures::WASM2 - WasmFeatures::GC_TYPES)
        | WasmFeatures::EXTENDED_CONST
        | WasmFeatures::MULTI_MEMORY
        | WasmFeatures::TAIL_CALL
        | WasmFeatures::COMPONENT_MODEL
}

/// All settings that change what a component computes or what it costs; performance settings are not among them.
fn semantic(config: &mut Config) {
    let mut cost = OperatorCost::new();
    cost.variable.memory_grow_per_page = FUEL_PER_PAGE;
    config
        .wasm_features(WasmFeatures::all(), false)
        .wasm_features(features(), true)
        .cranelift_nan_canonicalization(true)
        .consume_fuel(true)
        .operator_cost(cost)
        .max_wasm_stack(WASM_STACK)
        .async_stack_size(CALL_STACK);
}

/// The configuration; `pooled` reserves address space for all slots beforehand.
pub(crate) fn wasmtime_config(slots: u32, pooled: bool, pagemap: bool) -> Config {
    // Calls inside of others come on top of those that hold a slot.
    let slots = slots + CALL_CHAINS * MAX_CALL_DEPTH;
    let mut config = Config::new();
    semantic(&mut config);
    config
        .epoch_interruption(true)
        .parallel_compilation(true)
        .memory_init_cow(true)
        .wasm_backtrace_max_frames(None)
        .native_unwind_info(false);
    if pooled {
        let mut pool = PoolingAllocationConfig::new();
        let keep = if pagemap { KEEP_RESIDENT } else { KEEP_RESIDENT_BLIND };
        pool.total_component_instances(slots)
            .total_stacks(slots)
            .total_core_instances(slots.saturating_mul(MAX_CORE_INSTANCES))
            .total_memories(slots.saturating_mul(MAX_MEMORIES))
            .total_tables(slots.saturating_mul(MAX_TABLES))
            .max_core_instances_per_component(MAX_CORE_INSTANCES)
            .max_memories_per_component(MAX_MEMORIES)
            .max_tables_per_component(MAX_TABLES)
            .max_memories_per_module(MAX_MEMORIES)
            .max_tables_per_module(MAX_TABLES)
            .table_elements(MAX_TABLE_ELEMENTS)
            .max_unused_warm_slots(slots)
            .linear_memory_keep_resident(keep)
            .table_keep_resident(KEEP_RESIDENT_BLIND)
            .pagemap_scan(if pagemap { Enabled::Yes } else { Enabled::No });
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    } else {
        config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
    }
    config
}

/// The engine as a checkpoint records it: what changes it may change results or fuel. The processor is no part of it.
pub(crate) fn digest() -> Digest {
    let mut text = String::new();
    let _ = write!(
        text,
        "features {:?}; nan canonical; fuel default costs, {FUEL_PER_PAGE} a page grown; stack {WASM_STACK}; instances \
         {MAX_CORE_INSTANCES}; memories {MAX_MEMORIES}; tables {MAX_TABLES} of {MAX_TABLE_ELEMENTS}; contract {}",
        features(),
        graph_core::node::WORLD,
    );
    DomainHasher::new("graph-host/engine/v1")
        .field(b"wasmtime")
        .field(WASMTIME_VERSION.as_bytes())
        .field(text.as_bytes())
        .finish()
}
