//! `graph-host:host/tools`: calls of other items, charged to the caller's budget.

use std::sync::Arc;
use std::time::Instant;

use graph_core::json::{MAX_DEPTH, TreeLimit, canonical_string, parse_strict};
use graph_core::limits::HostUse;
use graph_core::node::{Category, Failure};
use graph_core::record::journal::{CALLED, fault_after};
use serde_json::{Value, json};
use wasmtime::StoreContextMut;
use wasmtime::component::Linker;

use crate::bindings::graph_host::node::types as wit;
use crate::config::MAX_CALL_DEPTH;
use crate::convert;
use crate::host::output::EventRecord;
use crate::journal::AnswerSource;
use crate::services::{ToolCall, ToolReport};
use crate::state::TaskState;

const INTERFACE: &str = "graph-host:host/tools";
const FUNCTION: &str = "call";
/// The key in an entry's result for the events of the callee, each as a name and a payload.
const EVENTS: &str = "events";

/// Divisor of the part of its fuel that a caller always keeps, so that it can continue after a callee that has used up everything.
const KEPT_BACK: u64 = 8;

/// The answer of the function: the result's JSON text, or a failure.
type CallAnswer = Result<String, wit::Failure>;

/// Adds the function, which uses the store directly: a callee's fuel is taken from the caller's.
pub(crate) fn add_to_linker(linker: &mut Linker<TaskState>) -> wasmtime::Result<()> {
    linker.instance("graph-host:host/tools@0.1.0")?.func_wrap_async(
        FUNCTION,
        |store: StoreContextMut<'_, TaskState>, (item, params): (String, String)| {
            Box::new(async move { call(store, item, &params).await.map(|given| (given,)) })
        },
    )?;
    Ok(())
}

async fn call(
    mut store: StoreContextMut<'_, TaskState>,
    item: String,
    params: &str,
) -> wasmtime::Result<CallAnswer> {
    let params = match parse_strict(params, MAX_DEPTH, TreeLimit::CALL) {
        Ok(params) => params,
        Err(error) => {
            let message = format!("the params of its call are not JSON: {error}");
            return Ok(Err(convert::failure(Failure::new(Category::InvalidInput, message))));
        }
    };
    let left = store.get_fuel()?;
    let state = store.data_mut();
    let begun = state.output.begin();
    let request = json!({"item": item, "params": params});
    let report = match state.journal.begin(INTERFACE, FUNCTION, &request)? {
        AnswerSource::Recorded(kept) => {
            let read = kept.answer().map_or_else(read_again, read_again);
            read.ok_or_else(|| state.journal.malformed(&kept))?
        }
        AnswerSource::World => {
            let number = state.tool_calls;
            let timeout = state.deadline.saturating_duration_since(Instant::now());
            let deadline = state.deadline.into();
            let tools = state.services.tools.clone();
            let depth = state.depth;
            let chains = Arc::clone(&state.granted.chains);
            let report = match &tools {
                Some(_) if depth >= MAX_CALL_DEPTH => ToolReport {
                    result: Err(Failure::new(
                        Category::Limit,
                        format!("`{item}` would be called more than {MAX_CALL_DEPTH} levels deep"),
                    )),
                    fuel: 0,
                    host: HostUse::default(),
                    events: Vec::new(),
                },
                Some(tools) => {
                    let host = state.journal.left();
                    let meter = state.services.meter.clone();
                    let before = meter.total();
                    let asked = ToolCall {
                        item,
                        params,
                        fuel: left - left / KEPT_BACK,
                        host,
                        timeout,
                        number,
                        meter: meter.clone(),
                    };
                    let called = async {
                        // The outermost call of a chain waits for a slot; nested calls share it.
                        let _chain = if depth == 0 { chains.acquire().await.ok() } else { None };
                        tools.call(asked).await
                    };
                    // A callee that waits until its own deadline, which is never earlier, may answer in the same millisecond: the caller
                    // ends nevertheless, so that the result does not depend on the order of the two timers.
                    match tokio::time::timeout_at(deadline, called).await {
                        Ok(report) if Instant::now() < state.deadline => report,
                        _ => {
                            let message = "it ran past its deadline while it called another item";
                            let failure = Failure::new(Category::Timeout, message);
                            // The callee can no longer report its use, and the provider of a model counts it.
                            let result = fault_after(&failure, meter.total().less(before));
                            let fault =
                                state.journal.record_fault(INTERFACE, FUNCTION, request, result, failure);
                            return Err(fault.into());
                        }
                    }
                }
                None => ToolReport {
                    result: Err(Failure::new(Category::Denied, "this host calls no items for components")),
                    fuel: 0,
                    host: HostUse::default(),
                    events: Vec::new(),
                },
            };
            let kept = |mut kept: Value| {
                if !report.host.is_nothing() {
                    kept[CALLED] = json!(report.host);
                }
                if !report.events.is_empty() {
                    let events = report.events.iter();
                    kept[EVENTS] = events.map(|event| json!([event.name, event.payload])).collect();
                }
                kept
            };
            let kept = match &report.result {
                Ok(value) => Ok(kept(json!({"fuel": report.fuel, "result": value}))),
                Err(failure) => Err(kept(json!({"fuel": report.fuel, "failure": failure}))),
            };
            state.journal.used_inside(report.host);
            state.journal.record(INTERFACE, FUNCTION, request, kept)?;
            report
        }
    };
    state.tool_calls += 1;
    // The events are reported as the caller's, within its budget.
    for event in report.events {
        state.output.add_event(event)?;
    }
    state.output.ended(begun, INTERFACE, FUNCTION, report.result.is_ok());
    // The callee cannot have used more, since its limit was a part of the caller's remaining fuel.
    store.set_fuel(left.saturating_sub(report.fuel))?;
    Ok(match report.result {
        Ok(value) => Ok(canonical_string(&value)),
        Err(failure) => Err(convert::failure(failure)),
    })
}

fn read_again(kept: &Value) -> Option<ToolReport> {
    let fuel = kept.get("fuel")?.as_u64()?;
    let result = match kept.get("failure") {
        Some(failure) => Err(serde_json::from_value(failure.clone()).ok()?),
        None => Ok(kept.get("result")?.clone()),
    };
    let host =
        kept.get(CALLED).and_then(|host| serde_json::from_value(host.clone()).ok()).unwrap_or_default();
    let event = |event: &Value| {
        Some(EventRecord { name: event.get(0)?.as_str()?.to_owned(), payload: event.get(1)?.clone() })
    };
    let events = match kept.get(EVENTS) {
        Some(events) => events.as_array()?.iter().map(event).collect::<Option<_>>()?,
        None => Vec::new(),
    };
    Some(ToolReport { result, fuel, host, events })
}
