//! Operations on items other than running components: load, search and sign them, and fill directives in.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use graph_core::capability::DispatchPatterns;
use graph_core::digest::Digest;
use graph_core::item::{ItemOperation, ItemType};
use graph_core::json::canonical_size;
use graph_core::node::{Category, Failure, Outcome};
use graph_core::schema::{InputSchema, SchemaFailure};
use graph_core::text_item::Directive;
use graph_core::trust::SigningKey;
use graph_core::work::{FuelExhausted, Meter, rates, size};
use graph_store::CheckpointStore;
use graph_walker::walker::TaskReport;
use serde_json::{Map, Value, json};

use super::load;
use crate::items::operation_params::{NO_TOOLS, params_schema};
use crate::items::text_items::{Text, Texts};
use crate::plan::admission::Components;

/// Operations on items other than running components.
pub struct ItemOperations {
    /// Reads knowledge and directives.
    pub texts: Texts,
    /// Permitted dispatches: a search lists only such items.
    pub dispatch: DispatchPatterns,
    /// Admits components without a signature.
    pub allow_unsigned: bool,
    /// The text items that graphs name, with their contents at the start of the run.
    pub pinned: BTreeMap<(&'static str, String), Arc<Text>>,
    /// The store that keeps the text of every item that a run reads.
    pub store: Option<Arc<dyn CheckpointStore>>,
    /// The key with which the user allows this run to sign items.
    pub signing_key: Option<SigningKey>,
}

/// One operation on an item.
#[derive(Clone, Copy, Debug)]
pub struct Request<'r> {
    /// Operation: load, search, sign, or fill in.
    pub operation: ItemOperation,
    /// The type of the item.
    pub item_type: ItemType,
    /// The item's id; empty for a search over everything.
    pub item_id: &'r str,
    /// The params of the operation, as the node gives them.
    pub params: &'r Value,
    /// Restricts the items that a search lists.
    pub narrowed: Option<&'r DispatchPatterns>,
    /// Limit of the answer, in bytes of its canonical JSON.
    pub most_output: u64,
}

impl ItemOperations {
    /// Makes the operations on the items that the components of a run are found among.
    pub fn from_components(components: &Components) -> Self {
        Self {
            texts: components.texts(),
            dispatch: components.manifest.dispatch().clone(),
            allow_unsigned: components.allow_unsigned,
            pinned: BTreeMap::new(),
            store: None,
            signing_key: components.signing_key.clone(),
        }
    }

    /// Performs the operation. It blocks.
    pub fn perform(&self, request: Request<'_>) -> TaskReport {
        let mut warnings = Vec::new();
        let meter = Meter::of_one_step();
        let result = self.done(request, &mut warnings, &meter).and_then(|value| {
            size::charge(&value, &meter).map_err(|exhausted| too_much(request, exhausted))?;
            let length = canonical_size(&value);
            if length > request.most_output {
                let most = request.most_output;
                let message =
                    format!("the answer has {length} bytes, and the task's limit `output` is {most}");
                return Err(Failure::new(Category::Limit, message));
            }
            Ok(Outcome::Result(value))
        });
        TaskReport { warnings, work: meter.spent(), ..TaskReport::new(result, 0) }
    }

    fn done(
        &self,
        request: Request<'_>,
        warnings: &mut Vec<String>,
        meter: &Meter,
    ) -> Result<Value, Failure> {
        let Request { operation, item_type, item_id, .. } = request;
        let checked = |schema: &Value| checked(schema, request, meter);
        let text = || {
            let text = self.text(item_type, item_id)?;
            meter
                .charge_each(text.content.len(), 2 * rates::BYTE)
                .map_err(|exhausted| too_much(request, exhausted))?;
            Ok::<_, Failure>(text)
        };
        match (operation, item_type) {
            (ItemOperation::Execute, ItemType::Directive) => {
                let text = text()?;
                let directive = text.item.directive.clone().unwrap_or_default();
                let inputs = checked(&directive.schema())?;
                filled(&text, &directive, inputs, meter).map_err(|exhausted| too_much(request, exhausted))
            }
            (ItemOperation::Execute, ItemType::Knowledge)
            | (ItemOperation::Load, ItemType::Knowledge | ItemType::Directive) => {
                checked(&params_schema(operation))?;
                Ok(load::document(&*text()?))
            }
            (ItemOperation::Load, ItemType::Tool) => {
                checked(&params_schema(operation))?;
                self.load_tool(item_id)
            }
            (ItemOperation::Search, _) => {
                let params = checked(&params_schema(operation))?;
                self.search(request, &params, warnings, meter)
                    .map_err(|exhausted| too_much(request, exhausted))
            }
            (ItemOperation::Sign, ItemType::Knowledge | ItemType::Directive) => {
                checked(&params_schema(operation))?;
                self.sign(item_type, item_id, warnings)
            }
            (ItemOperation::Sign, ItemType::Tool) => Err(Failure::new(Category::Denied, NO_TOOLS)),
            (ItemOperation::Execute, ItemType::Tool) => {
                Err(Failure::new(Category::Internal, format!("`{item_id}` is not executed here")))
            }
        }
    }

    /// Returns a text item: for an item that a graph names, its contents at the start of the run; else its present contents.
    fn text(&self, item_type: ItemType, item: &str) -> Result<Arc<Text>, Failure> {
        if let Some(text) = self.pinned.get(&(item_type.as_str(), item.to_owned())) {
            return Ok(Arc::clone(text));
        }
        let text =
            self.texts.read(item_type, item).map_err(crate::items::text_items::TextError::into_failure)?;
        self.keep(&text.digest, &text.content)?;
        Ok(Arc::new(text))
    }

    /// Stores a text with the run, so that its digest in the records can be resolved later.
    pub(super) fn keep(&self, digest: &Digest, content: &str) -> Result<(), Failure> {
        let Some(store) = &self.store else { return Ok(()) };
        store.put_snapshot(digest, content).map_err(|error| {
            Failure::new(Category::Internal, format!("the text cannot be kept with the run: {error}"))
        })
    }
}

/// Names the operation in messages.
fn what(request: Request<'_>) -> String {
    let Request { operation, item_type, item_id, .. } = request;
    format!("{} {} {item_id}", operation.as_str(), item_type.as_str()).trim_end().to_owned()
}

/// Makes the failure of an operation that would need more of the host's work than a task may use.
fn too_much(request: Request<'_>, exhausted: FuelExhausted) -> Failure {
    Failure::new(Category::Limit, format!("`{}`: {exhausted}", what(request)))
}

/// Checks the params against the schema and fills in its defaults.
fn checked(schema: &Value, request: Request<'_>, meter: &Meter) -> Result<Map<String, Value>, Failure> {
    let wrong = |problems: Vec<String>| {
        let message = format!("the params are not what `{}` takes: {}", what(request), problems.join("; "));
        Failure::new(Category::InvalidInput, message)
    };
    let schema = InputSchema::compile(schema, meter)
        .map_err(|errors| wrong(errors.iter().map(ToString::to_string).collect()))?;
    let params = if request.params.is_null() { json!({}) } else { request.params.clone() };
    match schema.validate_and_fill(params, meter) {
        Ok(Value::Object(params)) => Ok(params),
        Ok(other) => Err(wrong(vec![format!("they are {other}, a mapping is needed")])),
        Err(SchemaFailure::Problems(problems)) => {
            Err(wrong(problems.iter().map(ToString::to_string).collect()))
        }
        Err(SchemaFailure::Exhausted(exhausted)) => Err(too_much(request, exhausted)),
    }
}

/// Fills in the placeholders of a directive and returns its document.
fn filled(
    text: &Text,
    directive: &Directive,
    inputs: Map<String, Value>,
    meter: &Meter,
) -> Result<Value, FuelExhausted> {
    let body = Directive::fill(&text.item.body, &inputs, meter)?;
    let mut document = load::document(text);
    if let Value::Object(document) = &mut document {
        document.remove("content");
        document.remove("body");
        document.insert("text".to_owned(), Value::from(body));
        document.insert("inputs".to_owned(), Value::Object(inputs));
        if let Some(outputs) = &directive.outputs {
            document.insert("outputs".to_owned(), outputs.clone());
        }
        document.insert("thread".to_owned(), directive.thread.to_json());
    }
    Ok(document)
}

impl fmt::Debug for ItemOperations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ItemOperations").field("locator", &self.texts.locator).finish_non_exhaustive()
    }
}
