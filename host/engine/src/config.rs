//! The configuration of wasmtime, with reasons.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use graph_core::digest::{Digest, DomainHasher};
use graph_core::fuel;
use wasmtime::{
    Config, Enabled, InstanceAllocationStrategy, OperatorCost, PoolingAllocationConfig, WasmFeatures,
};

use crate::compile::{CompileLimits, CompileObserver, Compiler};
use crate::host::http::Resolver;

/// The wasmtime that this crate is built with, as checkpoints record it. A test compares it with the lockfile.
pub(crate) const WASMTIME_VERSION: &str = "48.0.8";

/// The native stack of WebAssembly frames, in bytes; recursion ends there.
const WASM_STACK: usize = 1 << 20;
/// Native stack of a call, host functions included.
const CALL_STACK: usize = 2 << 20;
/// Fuel for each page that memory grows by.
const FUEL_PER_PAGE: u8 = fuel::PAGE;
/// Core instances, memories and tables of one component.
pub(crate) const MAX_CORE_INSTANCES: u32 = 64;
pub(crate) const MAX_MEMORIES: u32 = 4;
pub(crate) const MAX_TABLES: u32 = 16;
/// Largest number of tasks at the same time whose components call others.
pub(crate) const CALL_CHAINS: u32 = 4;
/// Largest nesting of such calls, whatever a manifest allows.
pub(crate) const MAX_CALL_DEPTH: u32 = 8;
/// Elements of one table.
pub(crate) const MAX_TABLE_ELEMENTS: usize = fuel::TABLE_ELEMENTS as usize;
/// Bytes of a linear memory that are reset in place rather than given back to the system.
const KEEP_RESIDENT: usize = 1 << 20;
/// Like `KEEP_RESIDENT`, if the system cannot report which pages were touched, so that all of them have to be written.
const KEEP_RESIDENT_BLIND: usize = 64 << 10;

/// A host's settings for its engine.
#[derive(Clone, Debug, Default)]
pub struct EngineConfig {
    /// The folder of compiled components. `None`: each process compiles for itself.
    pub cache_dir: Option<PathBuf>,
    /// Limit on the bytes of compiled components in it. If there are more, the least recently used ones are removed when a component is
    /// added. `None`: no limit.
    pub cache_bytes: Option<u64>,
    /// Number of calls that may be active at the same time; others wait. `None`: twice the number of processors, at least eight.
    pub concurrency: Option<u32>,
    /// The process that compiles components: a child with limits, or this one.
    pub compiler: Compiler,
    /// Limits of compiling one component; a compiler in this process ignores them.
    pub compile_limits: CompileLimits,
    /// Is notified of components that are compiled.
    pub compile_observer: Option<Arc<dyn CompileObserver>>,
    /// Resolves the host names of requests. `None`: the resolver of the system.
    pub resolver: Option<Arc<dyn Resolver>>,
}

impl EngineConfig {
    /// Returns the number of calls that may be under way at once.
    pub(crate) fn slots(&self) -> u32 {
        self.concurrency
            .unwrap_or_else(|| {
                let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
                u32::try_from(processors.saturating_mul(2)).unwrap_or(u32::MAX).max(8)
            })
            .max(1)
    }
}

/// Returns the proposals that components may use. This is an allow-list: a new release of wasmtime adds none by itself.
fn features() -> WasmFeatures {
    (WasmFeatures::WASM2 - WasmFeatures::GC_TYPES)
        | WasmFeatures::EXTENDED_CONST
        | WasmFeatures::MULTI_MEMORY
        | WasmFeatures::TAIL_CALL
        | WasmFeatures::COMPONENT_MODEL
}

macro_rules! define_operator_costs {
    ($(@$proposal:ident $op:ident $({ $($arg:ident: $argty:ty),* })? => $visit:ident ($($ann:tt)*) )*) => {
        /// Returns the costs of instructions, from [`fuel`]. Each is set, so that a new release of wasmtime changes none.
        pub(crate) fn operator_costs() -> OperatorCost {
            let mut cost = OperatorCost::new();
            $(cost.$op = const { fuel::of_operator(stringify!($op)) };)*
            cost.variable.memory_copy_per_byte = fuel::BYTE;
            cost.variable.memory_fill_per_byte = fuel::BYTE;
            cost.variable.memory_init_per_byte = fuel::BYTE;
            cost.variable.memory_grow_per_page = FUEL_PER_PAGE;
            cost.variable.table_copy_per_element = fuel::ELEMENT;
            cost.variable.table_fill_per_element = fuel::ELEMENT;
            cost.variable.table_init_per_element = fuel::ELEMENT;
            cost.variable.table_grow_per_element = fuel::ELEMENT;
            cost
        }
    };
}

wasmparser::for_each_operator!(define_operator_costs);

/// Applies all settings that affect the results or the fuel of a component; performance settings are not among them.
pub(crate) fn semantic(config: &mut Config) {
    config
        .wasm_features(WasmFeatures::all(), false)
        .wasm_features(features(), true)
        .cranelift_nan_canonicalization(true)
        .consume_fuel(true)
        .operator_cost(operator_costs())
        .max_wasm_stack(WASM_STACK)
        .async_stack_size(CALL_STACK);
}

/// Returns the configuration; `pooled` reserves address space for all slots beforehand.
pub(crate) fn wasmtime_config(slots: u32, pooled: bool, pagemap: bool) -> Config {
    // Nested calls need instances in addition to those that hold a slot.
    let slots = slots + CALL_CHAINS * MAX_CALL_DEPTH;
    let mut config = Config::new();
    semantic(&mut config);
    config
        .epoch_interruption(true)
        .parallel_compilation(true)
        .memory_init_cow(true)
        .wasm_backtrace_max_frames(None)
        .native_unwind_info(false)
        // Backtraces are disabled, so the map from code to module offsets, a tenth of the code of a large component, is not needed.
        .generate_address_map(false);
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

/// Returns the digest of the engine for checkpoints: it covers all settings that may change results or fuel. The processor is not part of
/// it.
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
