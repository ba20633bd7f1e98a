//! The costs of work, in host fuel. A unit is about a nanosecond of one processor core, like a unit of WebAssembly fuel;
//! `cargo bench --bench host_work` compares each rate with the measured time.
//!
//! Records of runs contain these costs: a change of a rate changes the fuel of every run.

/// Limit of one step of work, whatever a run's budget is: about 100 ms of processor time. A more expensive step ends the run as `limit`.
pub const STEP: u64 = 100_000_000;

/// Work after which the walker returns control, so that signals and timers are checked.
pub const SLICE: u64 = 4_000_000;

/// Reading, copying, comparing or writing one byte of text.
pub const BYTE: u64 = 1;

/// Reading, copying or writing one value, apart from its text. Equal to [`size::VALUE`](super::size::VALUE).
pub const VALUE: u64 = 64;

/// Measuring the depth of one value, or moving past it, without reading it.
pub const PASS: u64 = 4;

/// Reading one byte of JSON text.
pub const PARSE_BYTE: u64 = 8;

/// Reading one byte of the text of a graph document that a run has written: parsing, checking and resolving it.
pub const DOCUMENT_BYTE: u64 = 300;

/// Changing the case of one byte of text, or counting its characters.
pub const CASE_BYTE: u64 = 4;

/// One step of a lookup that compares keys: a path, an id in an index, a test of a condition.
pub const LOOKUP: u64 = 32;

/// One byte of a subject against one state of a pattern.
pub const PATTERN_STATE: u64 = 1;

/// Evaluating one keyword of a schema.
pub const SCHEMA_VISIT: u64 = 128;

/// One comparison while values are sorted, apart from their text.
pub const SORT_STEP: u64 = 16;

/// Compiling a pattern, apart from its text and its states.
pub const PATTERN_COMPILE: u64 = 40_000;

/// Reading one byte of the text of a pattern that is compiled.
pub const PATTERN_COMPILE_BYTE: u64 = 500;

/// Compiling one state of a pattern: a state of a Unicode class, which takes the longest.
pub const PATTERN_COMPILE_STATE: u64 = 4_000;

/// Refusing a pattern that is too large or takes too long to be compiled.
pub const PATTERN_REFUSED: u64 = 2_500 * PATTERN_COMPILE_STATE;

/// Processing one task from its creation to its commit, with its records and events but without its values.
pub const TASK: u64 = 4_000;

/// Processing one superstep, with its checkpoint but without its values.
pub const VISIT: u64 = 2_000;

/// Building the values that templates read as `node` and `run`.
pub const CONTEXT: u64 = 1_000;

/// Starting a child run, before its first superstep.
pub const CHILD: u64 = 100_000;
