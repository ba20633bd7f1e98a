//! Reads the params of an item and the document among them, within bounds, and charges the work before it is done.

use std::io;

use serde_json::{Map, Value};

use super::limits::WrittenLimits;
use super::report::ProblemReport;
use crate::document::{self, LoadedGraph};
use crate::host_item::HostItem;
use graph_core::diagnostic::{Diagnostic, Diagnostics, Span, codes};
use graph_core::digest::Digest;
use graph_core::json::canonical_length;
use graph_core::node::{Category, Failure};
use graph_core::schema::{InputSchema, SchemaFailure};
use graph_core::work::{CompileBudget, FuelExhausted, Meter, rates};

/// Limit of the text of a written graph, in bytes. The text is read during a run and must take no longer than one step
/// of the host's work; a file may be larger.
pub const MAX_TEXT: usize = 256 << 10;

/// Number of characters of a document's digest in its id.
const ID: usize = 16;

/// Prefix of the ids of written graphs.
const WRITTEN: &str = "written/";

/// Returns `true` if a graph's id is that of a written one.
pub(crate) fn is_written(id: &str) -> bool {
    id.starts_with(WRITTEN)
}

/// Name of the document in its diagnostics.
pub(super) const NAME: &str = "graph";

/// Reason why an item that takes a graph has no result.
#[derive(Clone, Debug)]
pub enum Refusal {
    /// The item has failed.
    Failed(Failure),
    /// There is not enough fuel for the item.
    Exhausted(FuelExhausted),
}

impl From<FuelExhausted> for Refusal {
    fn from(exhausted: FuelExhausted) -> Self {
        Self::Exhausted(exhausted)
    }
}

/// Reason why a document cannot be opened.
pub(super) enum OpenError {
    Invalid(Box<Diagnostics>),
    Exhausted(FuelExhausted),
    /// The document's patterns or schemas take more than one step of work may.
    Costly(Failure),
}

/// A document that was opened: the graph, its warnings, and the length of its text.
pub(super) struct OpenedDocument {
    pub(super) loaded: LoadedGraph,
    pub(super) length: usize,
}

/// A call of `graph/run`: the graph, its inputs and its limits.
#[derive(Clone, Debug)]
pub struct RunCall {
    graph: Value,
    /// The inputs of the graph; a mapping.
    pub inputs: Value,
    /// The limits of the run.
    pub limits: WrittenLimits,
}

impl RunCall {
    /// Reads the params of a call.
    pub fn read(params: &Value, meter: &Meter) -> Result<Self, Refusal> {
        let mut params = checked(HostItem::Run, params, meter)?;
        let limits = match params.get("limits") {
            Some(Value::Object(limits)) => WrittenLimits::read(limits),
            _ => Ok(WrittenLimits::NONE),
        };
        let limits = limits.map_err(|name| {
            let message =
                format!("`{name}` among the `limits` of `graph/run` is not a number that this host can use: it is too large, or has too many decimals");
            Refusal::Failed(Failure::new(Category::InvalidInput, message))
        })?;
        let graph = params.remove("graph").unwrap_or_default();
        let inputs = params.remove("inputs").unwrap_or_else(|| Value::Object(Map::new()));
        Ok(Self { graph, inputs, limits })
    }

    /// Loads the document. Returns the graph, and the length of its text in bytes.
    pub fn load(&self, meter: &Meter) -> Result<(crate::graph::Graph, u64), Refusal> {
        match open(&self.graph, meter) {
            Ok(OpenedDocument { loaded, length }) => Ok((loaded.graph, length as u64)),
            Err(OpenError::Exhausted(exhausted)) => Err(exhausted.into()),
            Err(OpenError::Costly(failure)) => Err(Refusal::Failed(failure)),
            Err(OpenError::Invalid(problems)) => {
                let report = ProblemReport::from_diagnostics(&problems);
                let more = match problems.len() {
                    0 | 1 => String::new(),
                    count => format!("; one of {count} problems, which `graph/validate` lists"),
                };
                let message = format!("the graph cannot be run: {}{more}", report.first);
                let details = Some(report.into_details());
                Err(Refusal::Failed(Failure { details, ..Failure::new(Category::InvalidInput, message) }))
            }
        }
    }
}

/// Checks params against the schema of an item, and fills in defaults.
pub(super) fn checked(item: HostItem, params: &Value, meter: &Meter) -> Result<Map<String, Value>, Refusal> {
    let wrong = |reason: String| {
        let message = format!("the params are not what `{}` takes: {reason}", item.id());
        Refusal::Failed(Failure::new(Category::InvalidInput, message))
    };
    let schema = InputSchema::compile(&item.params_schema(), meter).map_err(|errors| {
        let limit = errors.iter().any(|error| error.limit);
        if limit { meter.reason().into() } else { wrong(errors.iter().map(ToString::to_string).collect()) }
    })?;
    meter.charge(graph_core::work::size::of(params))?;
    match schema.validate_and_fill(params.clone(), meter) {
        Ok(Value::Object(params)) => Ok(params),
        Ok(_) => Err(wrong("a mapping is needed".to_owned())),
        Err(SchemaFailure::Exhausted(exhausted)) => Err(exhausted.into()),
        Err(failure @ SchemaFailure::Problems(_)) => Err(wrong(failure.to_string())),
    }
}

/// Reads a document. The id follows from the text, so that a document cannot choose its own.
pub(super) fn open(graph: &Value, meter: &Meter) -> Result<OpenedDocument, OpenError> {
    let text = match graph {
        Value::String(text) => {
            bounded(text.len())?;
            text.clone()
        }
        graph => {
            bounded(canonical_length(graph, meter).map_err(OpenError::Exhausted)?)?;
            laid_out(graph)
        }
    };
    meter.charge_each(text.len(), rates::DOCUMENT_BYTE).map_err(OpenError::Exhausted)?;
    let id = format!("{WRITTEN}{}", &Digest::of_bytes(text.as_bytes()).hex()[..ID]);
    let compiling = CompileBudget::of_written(text.len(), meter);
    let loaded = document::load_within(NAME, &text, &id, &compiling);
    match compiling.refused() {
        None => {}
        Some(exhausted @ FuelExhausted::Fuel) => return Err(OpenError::Exhausted(exhausted)),
        // The work is that of the document and not a step of this graph.
        Some(exhausted @ FuelExhausted::Step) => {
            let message = format!("the graph cannot be read: {}", compiling.refusal(exhausted));
            return Err(OpenError::Costly(Failure::new(Category::Limit, message)));
        }
    }
    Ok(OpenedDocument { loaded: loaded.map_err(OpenError::Invalid)?, length: text.len() })
}

fn bounded(length: usize) -> Result<(), OpenError> {
    if length <= MAX_TEXT {
        return Ok(());
    }
    let message =
        format!("the document has {length} bytes; of one that a run writes, at most {MAX_TEXT} are read");
    let problem = Diagnostic::error(codes::YAML_TOO_LARGE, Span::NONE, message);
    let problem = problem.help("divide it into several graphs, or save it as an item of the project");
    Err(OpenError::Invalid(Box::new(Diagnostics::new(NAME, "", vec![problem]))))
}

/// Writes a mapping as text: over several lines, which problems can name, unless indentation makes it too long.
fn laid_out(graph: &Value) -> String {
    let mut out = BoundedBuffer(Vec::new());
    let written = serde_json::to_writer_pretty(&mut out, graph);
    match (written, String::from_utf8(out.0)) {
        (Ok(()), Ok(text)) => text,
        _ => graph_core::json::canonical_string(graph),
    }
}

/// A buffer of at most [`MAX_TEXT`] bytes.
struct BoundedBuffer(Vec<u8>);

impl io::Write for BoundedBuffer {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        if self.0.len() + piece.len() > MAX_TEXT {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
