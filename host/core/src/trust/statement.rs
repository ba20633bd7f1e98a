//! The signed statement about a component: an in-toto Statement, version 1, with a predicate of our own.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{objects_at, shown};
use crate::capability::{CapabilityKind, Ceiling, InterfaceName};
use crate::digest::Digest;
use crate::id::{ItemId, is_function};
use crate::json::{self, TreeLimit};
use crate::limits::TaskLimits;
use crate::node::{Description, FUNCTIONS, FunctionDescription, WORLD};

/// The `_type` of an in-toto Statement, version 1.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

/// The `predicateType` of a component's statement. It identifies the meaning of [`Predicate`]; a change of that meaning needs another
/// version.
pub const PREDICATE_TYPE: &str = "https://graph-host.dev/component/v1";

/// Largest nesting depth of a statement; its schemas are the deepest part.
const MAX_DEPTH: usize = 64;

/// The content of a statement about a component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Predicate {
    /// The item id under which the component may be used, for example `examples/list-files`.
    pub id: String,
    /// The component's version (Semantic Versioning 2.0.0).
    pub version: String,
    /// The world that it implements: [`WORLD`], or [`FUNCTIONS`].
    pub world: String,
    /// The interfaces that it may import, each with its version. A component that imports others is refused.
    pub interfaces: Vec<String>,
    /// The component's own description.
    pub description: Description,
    /// The functions that it exports and that nodes can call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<FunctionDescription>,
    /// The upper bound of its grant.
    pub ceiling: Ceiling,
    /// The limits that a task of it needs, if its author states them; `timeout` in milliseconds.
    #[serde(default, deserialize_with = "crate::limits::stated", skip_serializing_if = "Option::is_none")]
    pub limits: Option<TaskLimits>,
}

/// A statement: the digest of the component, and its predicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComponentStatement {
    /// The SHA-256 of the component's bytes.
    pub subject: Digest,
    /// The stated id, version, interfaces, ceiling and more.
    pub predicate: Predicate,
}

/// The reason why a document is not a statement about a component.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum StatementError {
    /// Not JSON, or not of the statement's shape: a field is unknown, missing, duplicate or of another type.
    #[error("{0}")]
    Shape(String),
    /// Another kind of document.
    #[error("its `_type` is `{0}`, expected `{STATEMENT_TYPE}`")]
    StatementType(String),
    /// A predicate that this host does not know.
    #[error("its `predicateType` is `{0}`, this host knows `{PREDICATE_TYPE}`")]
    PredicateType(String),
    /// None or several subjects.
    #[error("it has {0} subjects, exactly one is allowed")]
    Subjects(usize),
    /// The name of the subject differs from the predicate's id.
    #[error("its subject is named `{subject}`, its id is `{id}`")]
    SubjectName {
        /// The name of the statement's only subject.
        subject: String,
        id: String,
    },
    /// A field's value breaks a rule.
    #[error("`{field}`: {reason}")]
    Field { field: &'static str, reason: String },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StatementDocument {
    #[serde(rename = "_type")]
    statement_type: String,
    subject: Vec<SubjectDocument>,
    #[serde(rename = "predicateType")]
    predicate_type: String,
    predicate: Value,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SubjectDocument {
    name: String,
    digest: DigestDocument,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DigestDocument {
    /// In hexadecimal digits, without a prefix.
    sha256: String,
}

/// Makes a statement about a component. The same rules apply as when reading one.
pub fn make_statement(component: &[u8], predicate: Predicate) -> Result<ComponentStatement, StatementError> {
    check(&predicate)?;
    Ok(ComponentStatement { subject: Digest::of_bytes(component), predicate })
}

impl ComponentStatement {
    /// Reads a statement. Only `limits` is optional, and other fields are refused.
    pub(super) fn parse(payload: &[u8]) -> Result<Self, StatementError> {
        let text = std::str::from_utf8(payload).map_err(|error| StatementError::Shape(error.to_string()))?;
        let value = json::parse_strict(text, MAX_DEPTH, TreeLimit::STATEMENT)
            .map_err(|error| StatementError::Shape(error.to_string()))?;
        let shape = |error: serde_json::Error| StatementError::Shape(shown(&error.to_string()));
        objects_at(&value, &["", "/subject/0", "/subject/0/digest"]).map_err(StatementError::Shape)?;
        let document: StatementDocument = serde_json::from_value(value).map_err(shape)?;
        if document.statement_type != STATEMENT_TYPE {
            return Err(StatementError::StatementType(shown(&document.statement_type)));
        }
        if document.predicate_type != PREDICATE_TYPE {
            return Err(StatementError::PredicateType(shown(&document.predicate_type)));
        }
        let [subject] = document.subject.as_slice() else {
            return Err(StatementError::Subjects(document.subject.len()));
        };
        let predicate = document.predicate;
        objects_at(&predicate, &["", "/description", "/ceiling", "/ceiling/limits", "/limits"])
            .map_err(StatementError::Shape)?;
        for wanted in
            predicate.pointer("/description/interfaces").and_then(Value::as_array).into_iter().flatten()
        {
            objects_at(wanted, &[""]).map_err(StatementError::Shape)?;
        }
        for function in predicate.get("functions").and_then(Value::as_array).into_iter().flatten() {
            objects_at(function, &[""]).map_err(StatementError::Shape)?;
        }
        let predicate: Predicate = serde_json::from_value(predicate).map_err(shape)?;
        check(&predicate)?;
        if subject.name != predicate.id {
            return Err(StatementError::SubjectName { subject: shown(&subject.name), id: predicate.id });
        }
        let digest =
            format!("sha256:{}", subject.digest.sha256).parse().map_err(|_| StatementError::Field {
                field: "subject.digest.sha256",
                reason: "expected 64 lower-case hexadecimal digits".to_owned(),
            })?;
        Ok(Self { subject: digest, predicate })
    }

    /// Writes the statement as canonical JSON (RFC 8785): equal statements have equal bytes.
    pub(super) fn to_payload(&self) -> Result<Vec<u8>, serde_json::Error> {
        let document = StatementDocument {
            statement_type: STATEMENT_TYPE.to_owned(),
            subject: vec![SubjectDocument {
                name: self.predicate.id.clone(),
                digest: DigestDocument { sha256: self.subject.hex() },
            }],
            predicate_type: PREDICATE_TYPE.to_owned(),
            predicate: serde_json::to_value(&self.predicate)?,
        };
        Ok(json::canonical_string(&serde_json::to_value(&document)?).into_bytes())
    }
}

/// Checks the rules that the types do not express.
fn check(predicate: &Predicate) -> Result<(), StatementError> {
    let rule = |field, holds: bool, reason: &str| {
        if holds { Ok(()) } else { Err(StatementError::Field { field, reason: reason.to_owned() }) }
    };
    rule(
        "id",
        ItemId::is_path(&predicate.id),
        "an item id is segments of letters, digits, `_` and `-`, joined by `/`",
    )?;
    rule(
        "version",
        is_version(&predicate.version),
        "a version is like 1.2.3 or 1.2.3-rc.1 (Semantic Versioning)",
    )?;
    let has_functions = predicate.world == FUNCTIONS && !predicate.functions.is_empty();
    if predicate.world != WORLD && !has_functions {
        let reason = format!("`{}` is not the world that this host runs, `{WORLD}`", shown(&predicate.world));
        return Err(StatementError::Field { field: "world", reason });
    }
    let mut seen = BTreeSet::new();
    for interface in &predicate.interfaces {
        let holds = InterfaceName::parse(interface).is_ok() && seen.insert(interface);
        if !holds {
            let reason = format!(
                "`{}` is not an interface like `wasi:clocks/wall-clock@0.2.6`, or occurs twice",
                shown(interface)
            );
            return Err(StatementError::Field { field: "interfaces", reason });
        }
    }
    let description = &predicate.description;
    rule("description.summary", !description.summary.trim().is_empty(), "a summary says what the node does")?;
    let is_schema = |schema: &Value| schema.is_object() || schema.is_boolean();
    rule("description.params", is_schema(&description.params), "a JSON Schema is an object or a boolean")?;
    rule("description.result", is_schema(&description.result), "a JSON Schema is an object or a boolean")?;
    let mut names = BTreeSet::new();
    for function in &predicate.functions {
        rule(
            "functions.name",
            is_function(&function.name) && names.insert(&function.name),
            "a function is named as in `add` or `acme:math/ops/add`, and once",
        )?;
        rule("functions.params", is_schema(&function.params), "a JSON Schema is an object or a boolean")?;
        rule("functions.result", is_schema(&function.result), "a JSON Schema is an object or a boolean")?;
    }
    for wanted in &description.interfaces {
        rule("description.interfaces", !wanted.name.trim().is_empty(), "an interface without a name")?;
        rule(
            "description.interfaces",
            !wanted.why.trim().is_empty(),
            "an interface is wanted without a reason",
        )?;
    }
    rule(
        "ceiling.kinds",
        predicate.ceiling.kinds.contains(&CapabilityKind::Log),
        "`log` is always granted and has to be among them",
    )
}

/// Checks for Semantic Versioning 2.0.0, of at most 128 bytes.
pub(super) fn is_version(version: &str) -> bool {
    version.len() <= 128 && semver::Version::parse(version).is_ok()
}
