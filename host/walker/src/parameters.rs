//! Inputs about the run itself, which Rye's graph tools accept among a graph's inputs: `capabilities`, `depth`,
//! `resume_run_id`, and `async` (also spelled `async_exec`). In Rye's dialect there is also `resume: true` with
//! `graph_run_id`.
//!
//! They are not checked against the graph's `config_schema`, unless it declares an input of that name: then the input is
//! the graph's own. `capabilities` is the exception: a list of patterns narrows the manifest whatever the graph declares,
//! so that no graph can avoid a restriction of its caller by declaring an input. As in Rye, `capabilities` and `depth`
//! stay among the inputs that the graph reads, and are stored with them; the others only concern the start of the run,
//! and are removed.

use serde_json::{Map, Value};

use crate::compat::Dialect;
use crate::graph::Graph;
use graph_core::capability::{DispatchPattern, DispatchPatterns, Manifest};
use graph_core::schema::{InputSchema, SchemaFailure, SchemaProblem};
use graph_core::template::ValueTemplate;
use graph_core::work::{FuelExhausted, Meter};

const CAPABILITIES: &str = "capabilities";
const DEPTH: &str = "depth";
const RESUME: &str = "resume_run_id";
/// In Rye's dialect, the flag that continues a run, and the run's id.
const RESUME_OF_RYE: [&str; 2] = ["resume", "graph_run_id"];
const ASYNC: [&str; 2] = ["async", "async_exec"];

/// Returns the names of all inputs about the run in a dialect.
pub(crate) fn names(dialect: Dialect) -> impl Iterator<Item = &'static str> {
    let of_rye: &[&'static str] = if dialect.resumes_by_graph_run_id() { &RESUME_OF_RYE } else { &[] };
    [CAPABILITIES, DEPTH, RESUME].into_iter().chain(ASYNC).chain(of_rye.iter().copied())
}

/// The inputs about the run itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// Patterns of capability names: of the manifest's grants, the run may dispatch only matching ones. An empty list permits nothing.
    pub capabilities: Option<Vec<String>>,
    /// The largest depth of child runs below the run, if the manifest permits as much.
    pub depth: Option<u32>,
    /// The run to resume instead of starting one.
    pub resume_run_id: Option<String>,
    /// `true` if the caller does not wait for the run.
    pub detached: bool,
}

/// Inputs with which a run can start.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedInputs {
    /// The inputs, with the defaults of the schema filled in.
    pub inputs: Value,
    /// The inputs about the run itself.
    pub parameters: Parameters,
}

/// Inputs cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum InputsError {
    /// The graph's `config_schema` is not a valid schema.
    #[error("`config_schema` is not usable: {}", .reasons.join("; "))]
    Schema { reasons: Vec<String> },
    /// The inputs do not match.
    #[error("{}", lines(.unfit, .parameters))]
    Unfit {
        /// The violations of the graph's `config_schema`.
        unfit: Vec<SchemaProblem>,
        /// The problems of inputs about the run itself.
        parameters: Vec<SchemaProblem>,
    },
    /// The check takes more work than there is fuel for.
    #[error("the inputs cannot be checked against `config_schema`: {0}")]
    Exhausted(#[from] FuelExhausted),
}

fn lines(unfit: &[SchemaProblem], parameters: &[SchemaProblem]) -> String {
    let lines: Vec<_> = unfit.iter().chain(parameters).map(ToString::to_string).collect();
    lines.join("; ")
}

impl Parameters {
    /// Reads the inputs about the run from the inputs of a graph. `null` counts as missing.
    pub fn read(graph: &Graph, inputs: &Map<String, Value>) -> Result<Self, Vec<SchemaProblem>> {
        let mut problems = Vec::new();
        let mut read = Self::default();
        let own = |name: &str| declares(graph, name);
        let input = |name: &str| inputs.get(name).filter(|value| !value.is_null());
        // A list of patterns from the schema's default restricts the run as well.
        let filled_in = default_of(graph, CAPABILITIES);
        match input(CAPABILITIES).or(filled_in) {
            Some(value @ Value::Array(list)) => {
                let mut wrong = Vec::new();
                let patterns = patterns(list, &mut wrong);
                if wrong.is_empty() {
                    read.capabilities = Some(patterns);
                } else if filled_in != Some(value) {
                    problems.append(&mut wrong);
                }
            }
            Some(other) if !own(CAPABILITIES) => problems.push(problem(
                CAPABILITIES,
                format!("a list of patterns, such as [\"execute.tool.examples.*\"], narrows what the run may use; this is {}", kind(other)),
            )),
            _ => {}
        }
        if let Some(value) = input(DEPTH).filter(|_| !own(DEPTH)) {
            match value.as_u64() {
                Some(depth) => read.depth = Some(u32::try_from(depth).unwrap_or(u32::MAX)),
                None => problems.push(problem(
                    DEPTH,
                    format!(
                        "how many levels of graphs inside graphs the run may have is a whole number from 0; this is {}",
                        described(value)
                    ),
                )),
            }
        }
        match input(RESUME).filter(|_| !own(RESUME)) {
            None => {}
            Some(Value::String(run)) if !run.is_empty() => read.resume_run_id = Some(run.clone()),
            // An id of digits only comes as a number from the command line.
            Some(Value::Number(run)) if run.is_u64() => read.resume_run_id = Some(run.to_string()),
            Some(other) => {
                problems.push(problem(
                    RESUME,
                    format!("the id of the run to resume is text; this is {}", described(other)),
                ));
            }
        }
        if graph.dialect.resumes_by_graph_run_id()
            && read.resume_run_id.is_none()
            && !RESUME_OF_RYE.into_iter().any(own)
        {
            match resumed_in_rye(RESUME_OF_RYE.map(input)) {
                Ok(run) => read.resume_run_id = run,
                Err(wrong) => problems.push(wrong),
            }
        }
        if !graph.dialect.resumes_by_graph_run_id()
            && !RESUME_OF_RYE.into_iter().any(own)
            && let [Some(Value::Bool(true)), Some(_)] = RESUME_OF_RYE.map(input)
        {
            let [resume, run] = RESUME_OF_RYE;
            problems.push(problem(
                resume,
                format!(
                    "`{resume}: true` with `{run}` continues a run of a graph in Rye's dialect, and would start a new one of this graph; \
                     `{RESUME}` continues a run in both"
                ),
            ));
        }
        for name in ASYNC {
            match input(name).filter(|_| !own(name)) {
                None => {}
                Some(Value::Bool(detached)) => read.detached |= detached,
                Some(other) => problems.push(problem(
                    name,
                    format!(
                        "whether the run is in the background is true or false; this is {}",
                        described(other)
                    ),
                )),
            }
        }
        if problems.is_empty() { Ok(read) } else { Err(problems) }
    }

    /// Returns the manifest, narrowed for a run that is `level` levels below the root.
    #[must_use]
    pub fn narrow(&self, manifest: &Manifest, level: u32) -> Manifest {
        let deepest = self.depth.map(|depth| level.saturating_add(depth));
        // The patterns were read before; an invalid one would permit nothing.
        let own = self.capabilities.as_ref().map(|own| DispatchPatterns::parse(own).unwrap_or_default());
        manifest.narrowed_to(own.as_ref(), deepest)
    }
}

/// Returns the manifest, narrowed by the inputs of a root run. If they cannot be read, nothing is permitted.
pub fn allowed(graph: &Graph, inputs: &Value, manifest: &Manifest) -> Manifest {
    let empty = Map::new();
    match Parameters::read(graph, inputs.as_object().unwrap_or(&empty)) {
        Ok(parameters) => parameters.narrow(manifest, 0),
        Err(_) => manifest.narrowed_to(Some(&DispatchPatterns::deny_all()), Some(0)),
    }
}

/// Checks inputs against the graph's schema, fills in defaults, and reads the inputs about the run itself. The schema is untrusted:
/// compiling and applying it is charged to the meter.
pub fn check_inputs(
    graph: &Graph,
    inputs: Map<String, Value>,
    meter: &Meter,
) -> Result<CheckedInputs, InputsError> {
    match (Parameters::read(graph, &inputs), fill_in(graph, inputs, meter)) {
        (Ok(parameters), Ok(inputs)) => Ok(CheckedInputs { inputs, parameters }),
        (Err(parameters), Ok(_)) => Err(InputsError::Unfit { unfit: Vec::new(), parameters }),
        (Err(parameters), Err(InputsError::Unfit { unfit, .. })) => {
            Err(InputsError::Unfit { unfit, parameters })
        }
        (_, Err(error)) => Err(error),
    }
}

/// Checks inputs against the graph's schema and fills in defaults, as [`check_inputs`] does, once [`Parameters::read`] has read
/// the inputs about the run itself.
pub fn fill_in(graph: &Graph, inputs: Map<String, Value>, meter: &Meter) -> Result<Value, InputsError> {
    let (inputs, kept) = set_apart(graph, inputs);
    let mut inputs = Value::Object(inputs);
    if let Some(schema) = &graph.input_schema {
        let schema = InputSchema::compile(schema, meter).map_err(|errors| match errors.as_slice() {
            [only] if only.limit => InputsError::Exhausted(meter.reason()),
            errors => InputsError::Schema { reasons: errors.iter().map(ToString::to_string).collect() },
        })?;
        match schema.validate_and_fill(inputs, meter) {
            Ok(filled) => inputs = filled,
            Err(SchemaFailure::Problems(unfit)) => {
                return Err(InputsError::Unfit { unfit, parameters: Vec::new() });
            }
            Err(SchemaFailure::Exhausted(exhausted)) => return Err(exhausted.into()),
        }
    }
    if let Value::Object(inputs) = &mut inputs {
        inputs.extend(kept);
    }
    Ok(inputs)
}

/// The literal params of a node that starts a graph.
#[derive(Clone, Debug)]
pub struct WrittenParams {
    /// The inputs for the graph.
    pub inputs: ValueTemplate,
    /// The inputs about the run itself.
    pub parameters: Result<Parameters, Vec<SchemaProblem>>,
}

/// Returns the run that Rye's `resume: true` and `graph_run_id` continue. Without an id Rye starts another run, which is not what a caller
/// of `resume: true` expects: here that is an error.
fn resumed_in_rye([resume, run]: [Option<&Value>; 2]) -> Result<Option<String>, SchemaProblem> {
    let [resume_name, run_name] = RESUME_OF_RYE;
    match resume {
        None | Some(Value::Bool(false)) => return Ok(None),
        Some(Value::Bool(true)) => {}
        Some(other) => {
            let message =
                format!("whether a run is continued is true or false; this is {}", described(other));
            return Err(problem(resume_name, message));
        }
    }
    match run {
        Some(Value::String(run)) if !run.is_empty() => Ok(Some(run.clone())),
        Some(Value::Number(run)) if run.is_u64() => Ok(Some(run.to_string())),
        Some(other) => Err(problem(
            run_name,
            format!("the id of the run to continue is text; this is {}", described(other)),
        )),
        None => {
            let message =
                "`resume: true` continues the run that `graph_run_id` names, and there is no `graph_run_id`";
            Err(problem(resume_name, message.to_owned()))
        }
    }
}

/// Returns the params of a node that are known before templates are evaluated.
pub fn written(graph: &Graph, params: &ValueTemplate) -> WrittenParams {
    let Some(source) = params.source().as_object() else {
        return WrittenParams { inputs: params.clone(), parameters: Ok(Parameters::default()) };
    };
    let is_literal = |value: &Value| ValueTemplate::parse(value).is_ok_and(|value| value.literal().is_some());
    let literal = source.iter().filter(|(_, value)| is_literal(value));
    let parameters =
        Parameters::read(graph, &literal.map(|(name, value)| (name.clone(), value.clone())).collect());
    let (inputs, _) = set_apart(graph, source.clone());
    let inputs = ValueTemplate::parse(&Value::Object(inputs)).unwrap_or_else(|_| params.clone());
    WrittenParams { inputs, parameters }
}

/// Separates the inputs for the graph from `capabilities` and `depth`, which remain among them, and removes the others about the run.
fn set_apart(graph: &Graph, mut inputs: Map<String, Value>) -> (Map<String, Value>, Map<String, Value>) {
    let mut kept = Map::new();
    for name in [CAPABILITIES, DEPTH].into_iter().filter(|name| !declares(graph, name)) {
        kept.extend(inputs.remove(name).map(|value| (name.to_owned(), value)));
    }
    let others = names(graph.dialect).filter(|name| ![CAPABILITIES, DEPTH].contains(name));
    for name in others.filter(|name| !declares(graph, name)) {
        inputs.remove(name);
    }
    (inputs, kept)
}

/// Checks whether an input with this name is about the run, and not an input of the graph.
pub fn is_about_the_run(graph: &Graph, name: &str) -> bool {
    names(graph.dialect).any(|known| known == name) && !declares(graph, name)
}

/// Checks whether a graph declares an input with this name.
fn declares(graph: &Graph, name: &str) -> bool {
    let Some(schema) = &graph.input_schema else { return false };
    let required = schema.get("required").and_then(Value::as_array);
    schema.get("properties").is_some_and(|properties| properties.get(name).is_some())
        || required.is_some_and(|required| required.iter().any(|required| required == name))
}

/// Returns the default that a graph declares for one of its inputs.
fn default_of<'g>(graph: &'g Graph, name: &str) -> Option<&'g Value> {
    graph.input_schema.as_ref()?.get("properties")?.get(name)?.get("default")
}

fn patterns(list: &[Value], problems: &mut Vec<SchemaProblem>) -> Vec<String> {
    let mut patterns = Vec::new();
    for (index, entry) in list.iter().enumerate() {
        let place = format!("{CAPABILITIES}/{index}");
        match entry {
            Value::String(pattern) => match DispatchPattern::parse(pattern) {
                Ok(_) => patterns.push(pattern.clone()),
                Err(error) => problems.push(problem(&place, format!("{error}; {}", error.help))),
            },
            other => {
                problems.push(problem(&place, format!("a pattern is text; this is {}", described(other))));
            }
        }
    }
    patterns
}

fn problem(place: &str, message: String) -> SchemaProblem {
    SchemaProblem { path: format!("/{place}"), message }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

/// Describes a value by its type, or shows it if it is short.
fn described(value: &Value) -> String {
    match value {
        Value::Number(number) => number.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::String(text) if text.is_empty() => "empty".to_owned(),
        other => kind(other).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;
    use crate::document::load;
    use graph_core::capability::DispatchPatterns;
    use graph_core::item::{ItemOperation, ItemType};

    fn graph(schema: &str) -> Graph {
        let text = format!(
            "version: '1'\ntool_type: graph\nexecutor_id: graph-host\ncategory: t\ndescription: d\n{schema}\nconfig: {{ start: a, nodes: {{ a: {{}} }} }}\n"
        );
        load("g.yaml", &text, "g").unwrap().graph
    }

    fn of(value: Value) -> Map<String, Value> {
        let Value::Object(map) = value else { panic!("a mapping") };
        map
    }

    #[test]
    fn they_are_set_apart_from_the_inputs_of_the_graph() {
        let graph =
            graph("config_schema: { properties: { n: { default: 1 } }, additionalProperties: false }");
        let inputs =
            json!({ "capabilities": ["execute.tool.a"], "depth": 2, "resume_run_id": "r", "async": true });
        let checked = check_inputs(&graph, of(inputs), &Meter::of_one_step()).unwrap();
        let wanted = Parameters {
            capabilities: Some(vec!["execute.tool.a".to_owned()]),
            depth: Some(2),
            resume_run_id: Some("r".to_owned()),
            detached: true,
        };
        assert_eq!(checked.parameters, wanted);
        assert_eq!(checked.inputs, json!({ "n": 1, "capabilities": ["execute.tool.a"], "depth": 2 }));
        let none =
            of(json!({ "capabilities": null, "depth": null, "resume_run_id": null, "async_exec": null }));
        assert_eq!(Parameters::read(&graph, &none).unwrap(), Parameters::default());
    }

    #[test]
    fn what_a_graph_declares_is_its_own_but_for_a_list_of_capabilities() {
        let all = "{ capabilities: {}, depth: { type: string }, resume_run_id: {}, async: {} }";
        let graph = graph(&format!("config_schema: {{ properties: {all}, additionalProperties: false }}"));
        let inputs =
            of(json!({ "capabilities": "fly", "depth": "deep", "resume_run_id": 1.5, "async": "no" }));
        let checked = check_inputs(&graph, inputs.clone(), &Meter::of_one_step()).unwrap();
        assert_eq!((checked.parameters, checked.inputs), (Parameters::default(), Value::Object(inputs)));
        let listed = of(json!({ "capabilities": ["execute.tool.a"] }));
        assert!(Parameters::read(&graph, &listed).unwrap().capabilities.is_some());
        assert!(Parameters::read(&graph, &of(json!({ "capabilities": ["fly"] }))).is_err());
    }

    #[test]
    fn what_a_graph_fills_in_is_no_way_out_and_no_mistake() {
        let with = |default: &str| {
            graph(&format!("config_schema: {{ properties: {{ capabilities: {{ default: {default} }} }} }}"))
        };
        let none = Map::new();
        let fly = with("[fly, swim]");
        assert_eq!(Parameters::read(&fly, &none).unwrap().capabilities, None);
        let filled = check_inputs(&fly, none.clone(), &Meter::of_one_step()).unwrap();
        assert_eq!(filled.parameters.capabilities, None);
        let manifest = Manifest::of_dispatch(DispatchPatterns::parse(["execute.tool.*"]).unwrap());
        let permits = |graph: &Graph, inputs: &Value| {
            allowed(graph, inputs, &manifest).dispatch().permits(ItemOperation::Execute, ItemType::Tool, "a")
        };
        assert!(permits(&fly, &filled.inputs));
        // A list that reads as patterns narrows, whether it is a default or given.
        let load = with("['load.*']");
        assert!(!permits(&load, &json!({})) && !permits(&load, &json!({ "capabilities": ["load.*"] })));
    }

    #[test]
    fn every_mistake_is_told() {
        let graph = graph("config_schema: { properties: { n: { type: integer } } }");
        let inputs = json!({
            "n": "x", "capabilities": ["execute.tool.a", "exec.tool.b", 3], "depth": -1, "resume_run_id": [], "async": "yes",
        });
        let Err(InputsError::Unfit { unfit, parameters }) =
            check_inputs(&graph, of(inputs), &Meter::of_one_step())
        else {
            panic!("it is refused")
        };
        assert_eq!(unfit.len(), 1);
        let reports: Vec<_> = parameters.iter().map(ToString::to_string).collect();
        for (line, text) in reports.iter().zip([
            "/capabilities/1: ",
            "/capabilities/2: ",
            "/depth: ",
            "/resume_run_id: ",
            "/async: ",
        ]) {
            assert!(line.starts_with(text), "{line}");
        }
        assert_eq!(reports.len(), 5);
    }

    #[test]
    fn they_narrow_and_never_widen() {
        let graph = graph("");
        let manifest = Manifest::of_dispatch(DispatchPatterns::parse(["execute.tool.a.*"]).unwrap());
        let permits = |inputs: Value, id: &str| {
            let allowed = allowed(&graph, &inputs, &manifest);
            allowed.dispatch().permits(ItemOperation::Execute, ItemType::Tool, id)
        };
        assert!(permits(json!({}), "a/x"));
        assert!(permits(json!({ "capabilities": ["rye.execute.tool.*"] }), "a/x"));
        assert!(!permits(json!({ "capabilities": ["*"] }), "b/x"));
        assert!(!permits(json!({ "capabilities": ["execute.tool.a.y"] }), "a/x"));
        assert!(!permits(json!({ "capabilities": [] }), "a/x"));
        assert!(!permits(json!({ "capabilities": ["nonsense"] }), "a/x"));
        let depth = |inputs: Value| allowed(&graph, &inputs, &manifest).run_limits().depth;
        assert_eq!(
            (depth(json!({})), depth(json!({ "depth": 2 })), depth(json!({ "depth": 1_u64 << 40 }))),
            (5, 2, 5)
        );
        // Narrowing again changes nothing, and the digest remains that of the manifest.
        let once = allowed(&graph, &json!({ "depth": 2, "capabilities": ["*"] }), &manifest);
        let twice = allowed(&graph, &json!({ "depth": 2, "capabilities": ["*"] }), &once);
        assert_eq!(once, twice);
        assert_eq!(once.digest(), manifest.digest());
    }
}
