//! Examines and compiles the items of a plan, and checks each node's use of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use graph_core::id::{function_of, path_of, without_version};
use graph_core::item::{ItemOperation, ItemType};
use graph_core::schema::InputSchema;
use graph_walker::graph::Action;
use serde_json::Value;

use super::scope::Use;
use super::text_items::{self, Texts};
use super::work::PlanWork;
use super::{PlanProblem, PlannedId, PlannedNode};
use super::{models, scripts};
use crate::error::Error;
use crate::functions;
use crate::items::locate::moment_of_superstep;
use crate::plan::admission::{Admitted, Components, cannot_prepare};
use crate::remedy::Remedy;

/// The params schema of an item, compiled and as written.
pub(super) struct ParamsSchema {
    compiled: InputSchema,
    written: Value,
}

/// Items by id: the admitted component, or why it was not admitted.
pub(super) type Items = BTreeMap<String, Result<Admitted, PlanProblem>>;

/// Finds and verifies items, several in parallel; nothing is compiled.
pub(super) fn examine_all(components: &Components, items: BTreeSet<String>) -> Items {
    side_by_side(items, |id| {
        let examined = components.examine(&id, components.recorded);
        (id, examined.map_err(|error| error.into_error().into()))
    })
}

/// Compiles the items for which `wanted` holds, several in parallel.
pub(super) fn compile_all(components: &Components, items: &mut Items, wanted: impl Fn(&str) -> bool) {
    let is_wanted = |(id, item): &(&String, &mut Result<Admitted, PlanProblem>)| {
        wanted(id) && item.as_ref().is_ok_and(|admitted| admitted.loaded.is_none())
    };
    let waiting: Vec<_> = items.iter_mut().filter(is_wanted).collect();
    let _: Vec<()> = side_by_side(waiting, |(_, item)| {
        if let Ok(examined) = item {
            *item = components.compile(examined.clone()).map_err(|error| error.into_error().into());
        }
    });
}

/// Maps all elements in parallel, on as many threads as there are processors.
fn side_by_side<T: Send, R: Send, C: FromIterator<R>>(
    all: impl IntoIterator<Item = T, IntoIter: Send + ExactSizeIterator>,
    work: impl Fn(T) -> R + Sync,
) -> C {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let all = all.into_iter();
    let others = all.len().min(processors).saturating_sub(1);
    let waiting = Mutex::new(all);
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
    let share = || std::iter::from_fn(next).map(&work).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        let others: Vec<_> = (0..others).map(|_| scope.spawn(share)).collect();
        let mut done = share();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done.into_iter().collect()
    })
}

/// Checks the text item or function that an action uses, or inserts the id of its component into the items to examine.
/// Returns `true` in the latter case.
pub(super) fn resolve_item(
    components: &Components,
    used: Use<'_>,
    action: &Action,
    planned: &mut PlannedNode,
    items: &mut BTreeSet<String>,
    texts: &mut Texts,
    work: &PlanWork,
) -> bool {
    if (action.operation, action.item_type) != (ItemOperation::Execute, ItemType::Tool) {
        text_items::check_node(components, action, planned, texts, work);
        return false;
    }
    let PlannedId::Literal(id) = &planned.item else { return false };
    if components.functions.contains(id) {
        planned.is_function = true;
        let moment = moment_of_superstep(components.recorded);
        let refusal = functions::refusal(id, used.manifest, used.capabilities, &components.trust, moment);
        planned.problems.extend(refusal.map(PlanProblem::from));
        return false;
    }
    items.insert(id.clone());
    true
}

/// Grants and links a component at one node, and checks its params.
pub(super) async fn check_node(
    components: &Components,
    admitted: &Admitted,
    used: Use<'_>,
    action: &Action,
    planned: &mut PlannedNode,
    schemas: &mut HashMap<String, Option<ParamsSchema>>,
    work: &PlanWork,
) {
    let PlannedId::Literal(item) = &planned.item else { return };
    let item = item.clone();
    match components.grant(&item, admitted, used.manifest, used.capabilities, used.limits) {
        Ok(grant) => {
            match components.link(&item, admitted, &grant) {
                Ok(linked) => planned.linked = Some(linked),
                // It was refused at another node, and so was not compiled.
                Err(None) => {}
                Err(Some(error)) => planned.problems.push(cannot_prepare(&error).into()),
            }
            planned.grant = Some(grant);
        }
        Err(refusals) => {
            let problems =
                refusals.into_iter().map(|refusal| components.problem_of(refusal, &admitted.verified));
            planned.problems.extend(problems);
        }
    }
    let id = &*without_version(&item);
    if admitted.loaded.is_none() && admitted.verified.statement().is_none() {
        // A component without a statement has to be compiled before it can be asked for its schema.
        return;
    }
    if !schemas.contains_key(id) {
        let schema = match components.description(admitted).await {
            Ok(description) => match description.params(function_of(id)) {
                // Linking reports the missing function or node action.
                None => None,
                Some(params) => match work.step(|meter| InputSchema::compile(params, meter)) {
                    Ok(compiled) => Some(ParamsSchema { compiled, written: params.clone() }),
                    Err(errors) => {
                        let reasons: Vec<_> = errors.iter().map(ToString::to_string).collect();
                        let message =
                            format!("the params schema of `{id}` is not usable: {}", reasons.join("; "));
                        planned.problems.push(Error::integrity(message).into());
                        None
                    }
                },
            },
            Err(error) => {
                planned.problems.push(error.into());
                None
            }
        };
        schemas.insert(id.to_owned(), schema);
    }
    if let Some(Some(schema)) = schemas.get(id) {
        if planned.grant.as_ref().is_some_and(|grant| !grant.models.is_empty()) {
            let written = Some(&schema.written);
            planned.warnings.extend(models::warnings(written, action, used.manifest, Some(id), work));
        }
        let scripts = scripts::check(&schema.written, action, work);
        planned.problems.extend(scripts.problems);
        planned.warnings.extend(scripts.warnings);
        let help = Remedy::InspectItem { id: path_of(id).to_owned() };
        match work.step(|meter| schema.compiled.check_literal(&action.params, meter)) {
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
