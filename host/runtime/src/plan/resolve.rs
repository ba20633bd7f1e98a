//! Items as they are found, and what becomes of them at each node.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use graph_core::graph::{Action, ItemType, Primary};
use graph_core::schema::InputSchema;
use graph_core::work::Meter;

use super::scope::Use;
use super::texts::{self, Texts};
use super::{PlanProblem, PlannedId, PlannedNode};
use crate::error::Error;
use crate::executor::functions;
use crate::items::locate::judged;
use crate::plan::admission::{Admitted, Components, cannot_prepare};

/// Finds, verifies and compiles items: several at once, as what is in no cache takes time.
pub(super) fn admit_all(
    components: &Components,
    items: BTreeSet<String>,
) -> BTreeMap<String, Result<Admitted, PlanProblem>> {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let waiting = Mutex::new(items.into_iter());
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let admit = || {
        std::iter::from_fn(next)
            .map(|id| {
                let admitted = components.admit(&id).map_err(|error| error.into_error().into());
                (id, admitted)
            })
            .collect::<Vec<_>>()
    };
    let others =
        waiting.lock().unwrap_or_else(PoisonError::into_inner).len().min(processors).saturating_sub(1);
    std::thread::scope(|scope| {
        let others: Vec<_> = (0..others).map(|_| scope.spawn(admit)).collect();
        let mut admitted = admit();
        for other in others {
            admitted.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        admitted.into_iter().collect()
    })
}

/// Looks at the text that an action uses, or takes note of its item. Whether it is an item that is known by its id.
pub(super) fn resolve_item(
    components: &Components,
    used: Use<'_>,
    action: &Action,
    planned: &mut PlannedNode,
    items: &mut BTreeSet<String>,
    texts: &mut Texts,
) -> bool {
    if (action.primary, action.item_type) != (Primary::Execute, ItemType::Tool) {
        texts::check_node(components, action, planned, texts);
        return false;
    }
    let PlannedId::Literal(id) = &planned.item else { return false };
    if components.functions.contains(id) {
        planned.is_function = true;
        let judged = judged(components.recorded);
        let refusal = functions::refusal(id, used.manifest, used.capabilities, &components.trust, judged);
        planned.problems.extend(refusal.map(PlanProblem::from));
        return false;
    }
    items.insert(id.clone());
    true
}

/// Grants, links and checks the params of a component at one node.
pub(super) async fn check_node(
    components: &Components,
    admitted: &Admitted,
    used: Use<'_>,
    action: &Action,
    planned: &mut PlannedNode,
    schemas: &mut HashMap<String, Option<InputSchema>>,
) {
    match components.grant(admitted, used.manifest, used.capabilities, used.limits) {
        Ok(grant) => {
            match components.engine.prepare(&admitted.loaded, &grant) {
                Ok(ready) => planned.ready = Some(ready),
                Err(error) => planned.problems.push(cannot_prepare(&error).into()),
            }
            planned.grant = Some(grant);
        }
        Err(refusals) => planned.problems.extend(refusals.into_iter().map(PlanProblem::from)),
    }
    let id = admitted.verified.id();
    if !schemas.contains_key(id) {
        let schema = match components.description(admitted).await {
            Ok(description) => match InputSchema::compile(&description.params, &Meter::of_one_step()) {
                Ok(schema) => Some(schema),
                Err(errors) => {
                    let reasons: Vec<_> = errors.iter().map(ToString::to_string).collect();
                    let message =
                        format!("the params schema of `{id}` is not usable: {}", reasons.join("; "));
                    planned.problems.push(Error::integrity(message).into());
                    None
                }
            },
            Err(error) => {
                planned.problems.push(error.into());
                None
            }
        };
        schemas.insert(id.to_owned(), schema);
    }
    if let Some(Some(schema)) = schemas.get(id) {
        let help = format!("see what it takes: graph-host inspect {id}");
        match schema.check_literal(&action.params, &Meter::of_one_step()) {
            Ok(problems) => {
                for problem in problems {
                    let message = format!("its params are not what `{id}` takes: {problem}");
                    planned.problems.push(Error::invalid(message).help(help.clone()).into());
                }
            }
            Err(exhausted) => {
                let message = format!("its params cannot be checked against what `{id}` takes: {exhausted}");
                planned.problems.push(Error::limit(message).help(help).into());
            }
        }
    }
}
