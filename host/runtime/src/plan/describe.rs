//! Descriptions of components: the node action, and the functions that nodes can call.

use graph_core::diagnostic::one_line;
use graph_core::node::{Description, FUNCTIONS, FunctionDescription, WORLD};
use graph_core::trust::{ComponentStatement, VerifiedComponent};
use graph_engine::{DocumentationError, Engine, ExportedFunctions, UncallableFunction};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::plan::admission::{cannot_describe, cannot_load};

/// Limit of the functions that a text about a component names.
const SHOWN: usize = 8;
/// Limit of the characters of each function in such a text.
const LONGEST: usize = 300;

/// The node action and the functions of a component.
#[derive(Clone, Debug)]
pub struct ComponentDescription {
    /// The world that it implements: [`WORLD`], or [`FUNCTIONS`] if it is no node action.
    pub world: &'static str,
    /// Its answer of `describe`; for a component without node action, only a summary.
    pub description: Description,
    /// The functions that nodes can call.
    pub functions: Vec<FunctionDescription>,
    /// The functions that nodes cannot call, with the reasons. Statements lack them; [`ComponentDescription::complete`] adds them.
    pub uncallable: Vec<UncallableFunction>,
    /// Error of the documentation of its functions, if it cannot be read.
    pub undocumented: Option<DocumentationError>,
}

impl ComponentDescription {
    /// Reads the description from a signed statement.
    pub fn stated(statement: &ComponentStatement) -> Self {
        let predicate = &statement.predicate;
        Self {
            world: if predicate.world == FUNCTIONS { FUNCTIONS } else { WORLD },
            description: predicate.description.clone(),
            functions: predicate.functions.clone(),
            uncallable: Vec::new(),
            undocumented: None,
        }
    }

    /// Adds the functions that nodes cannot call, which a signed statement lacks.
    pub fn complete(&mut self, engine: &Engine, component: &VerifiedComponent) -> Result<()> {
        let exported = engine.functions(component).map_err(|error| cannot_load(&error))?;
        self.uncallable = exported.uncallable;
        self.undocumented = exported.undocumented;
        Ok(())
    }

    /// Reads the types of a component, and calls its `describe` if it is a node action.
    pub async fn from_component(engine: &Engine, component: &VerifiedComponent) -> Result<Self> {
        let loaded = engine.load(component).map_err(|error| cannot_load(&error))?;
        let ExportedFunctions { callable: functions, uncallable, undocumented } =
            engine.functions(component).map_err(|error| cannot_load(&error))?;
        if loaded.has_action() || (functions.is_empty() && uncallable.is_empty()) {
            let description = engine.describe(component).await.map_err(|error| cannot_describe(&error))?;
            return Ok(Self { world: WORLD, description, functions, uncallable, undocumented });
        }
        if functions.is_empty() {
            let mut reasons: Vec<_> =
                uncallable.iter().take(SHOWN).map(|known| one_line(&known.to_string(), LONGEST)).collect();
            if uncallable.len() > SHOWN {
                reasons.push(format!("{} more", uncallable.len() - SHOWN));
            }
            let message = format!(
                "`{}` is no node action, and nodes cannot call what it exports: {}",
                component.id(),
                reasons.join("; ")
            );
            return Err(Error::integrity(message));
        }
        let description = Description {
            summary: summary(&functions),
            params: Value::Bool(false),
            result: Value::Bool(false),
            interfaces: Vec::new(),
        };
        Ok(Self { world: FUNCTIONS, description, functions, uncallable, undocumented })
    }

    /// The JSON Schema of the parameters of the node action, or of the function with that name. `None` if there is no
    /// such function, or no node action.
    pub fn params(&self, function: Option<&str>) -> Option<&Value> {
        match function {
            None => (self.world == WORLD).then_some(&self.description.params),
            Some(name) => self.functions.iter().find(|known| known.name == name).map(|known| &known.params),
        }
    }
}

/// Makes the summary of a component that exports functions: the summary of its only function, or the names of the first ones.
fn summary(functions: &[FunctionDescription]) -> String {
    match functions {
        [only] if !only.summary.is_empty() => only.summary.clone(),
        several => {
            let names: Vec<_> =
                several.iter().take(SHOWN).map(|function| one_line(&function.name, LONGEST)).collect();
            let more = if several.len() > SHOWN { ", …" } else { "" };
            format!("Exports {}{more}.", names.join(", "))
        }
    }
}
