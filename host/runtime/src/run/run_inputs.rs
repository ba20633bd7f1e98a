//! The inputs of a new run, and those among them that are about the run itself.

use graph_core::diagnostic::{nearest, one_line, printable};
use graph_core::schema::SchemaProblem;
use graph_core::work::Meter;
use graph_walker::graph::Graph;
use graph_walker::parameters::{self, CheckedInputs, InputsError, Parameters};
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::remedy::Remedy;

/// The inputs that a run is to start with. The parameters of the run itself are read from them once.
#[derive(Debug)]
pub struct RunInputs {
    values: InputValues,
    parameters: Parameters,
}

#[derive(Debug)]
enum InputValues {
    Given(Map<String, Value>),
    /// Checked against the graph's schema, and filled in.
    Checked(Value),
}

impl RunInputs {
    /// Reads the parameters of the run itself from its inputs, which are checked later.
    pub fn read(graph: &Graph, given: Map<String, Value>) -> Result<Self> {
        let parameters = run_parameters(graph, &given)?;
        Ok(Self { values: InputValues::Given(given), parameters })
    }

    /// The inputs that are about the run itself.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The inputs as they were given; `None` once they were checked and filled in.
    pub fn given(&self) -> Option<&Map<String, Value>> {
        match &self.values {
            InputValues::Given(inputs) => Some(inputs),
            InputValues::Checked(_) => None,
        }
    }

    /// Lists the inputs that the graph's `config_schema` does not name, each as a sentence; none once they were checked.
    pub fn unknown(&self, graph: &Graph) -> Vec<String> {
        self.given().map_or_else(Vec::new, |given| unknown_inputs(graph, given))
    }

    /// Checks the inputs against the graph's schema, and fills in defaults, unless that has been done.
    pub fn checked(self, graph: &Graph) -> Result<Self> {
        let values = match self.values {
            InputValues::Given(inputs) => {
                parameters::fill_in(graph, inputs, &Meter::of_one_step()).map_err(refused_inputs)?
            }
            InputValues::Checked(inputs) => inputs,
        };
        Ok(Self { values: InputValues::Checked(values), ..self })
    }

    /// Returns the inputs, checked or not.
    pub(crate) fn into_value(self) -> Value {
        match self.values {
            InputValues::Given(inputs) => Value::Object(inputs),
            InputValues::Checked(inputs) => inputs,
        }
    }
}

/// Checks inputs against the graph's schema, fills in defaults, and reads the parameters of the run itself among them.
pub(crate) fn check_inputs(graph: &Graph, inputs: Map<String, Value>) -> Result<CheckedInputs> {
    parameters::check_inputs(graph, inputs, &Meter::of_one_step()).map_err(refused_inputs)
}

fn refused_inputs(error: InputsError) -> Error {
    match error {
        error @ InputsError::Exhausted(_) => Error::limit(error.to_string()).caused_by(error),
        InputsError::Schema { reasons } => {
            Error::invalid(format!("`config_schema` of the graph is not usable: {}", reasons.join("; ")))
        }
        InputsError::Unfit { unfit, parameters } => unfit_inputs(&unfit, &parameters),
    }
}

/// Lists the inputs that the graph's `config_schema` does not name, each as a sentence with the most similar name. A
/// schema with patterns for names, or with a rule for other names, decides for itself.
fn unknown_inputs(graph: &Graph, inputs: &Map<String, Value>) -> Vec<String> {
    let Some(Value::Object(schema)) = &graph.input_schema else { return Vec::new() };
    let Some(Value::Object(known)) = schema.get("properties") else { return Vec::new() };
    let decides = [
        "additionalProperties",
        "patternProperties",
        "unevaluatedProperties",
        "$ref",
        "allOf",
        "anyOf",
        "oneOf",
    ];
    if decides.iter().any(|key| schema.contains_key(*key)) {
        return Vec::new();
    }
    let unknown =
        inputs.keys().filter(|name| !known.contains_key(*name) && !parameters::is_about_the_run(graph, name));
    unknown
        .map(|name| {
            let meant = match nearest(name, known.keys().map(String::as_str)) {
                Some(near) => format!("; did you mean `{}`?", printable(near)),
                None => String::new(),
            };
            format!("the graph's `config_schema` has no input `{}`{meant}", one_line(name, 60))
        })
        .collect()
}

/// Reads the inputs that are parameters of the run itself.
pub fn run_parameters(graph: &Graph, inputs: &Map<String, Value>) -> Result<Parameters> {
    Parameters::read(graph, inputs).map_err(|problems| unfit_inputs(&[], &problems))
}

fn unfit_inputs(unfit: &[SchemaProblem], parameters: &[SchemaProblem]) -> Error {
    let mut message = Vec::new();
    let mut list = |head: &str, problems: &[SchemaProblem]| {
        if !problems.is_empty() {
            message.push(head.to_owned());
            message.extend(problems.iter().map(|problem| format!("- {problem}")));
        }
    };
    list("the inputs do not fit the graph's `config_schema`:", unfit);
    list("what the inputs say about the run itself cannot be done:", parameters);
    let details = unfit.iter().chain(parameters);
    let details: Vec<_> = details
        .map(|problem| serde_json::json!({ "path": problem.path, "message": problem.message }))
        .collect();
    let help = if unfit.is_empty() {
        "`capabilities`, `depth`, `resume_run_id` and `async` are read by graph-host; a graph that has inputs of these \
         names declares them in its `config_schema`"
            .into()
    } else {
        Remedy::GiveInputs
    };
    Error::invalid(message.join("\n")).details(serde_json::json!({ "problems": details })).help(help)
}
