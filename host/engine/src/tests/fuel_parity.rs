//! Checks that instrumented modules count the same fuel as the engine, and stop at the same place. `tests/parity/run` writes the modules,
//! and compares the output of this test with the results of another engine.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::cast_possible_truncation)]

use std::path::Path;

use graph_core::digest::Digest;
use graph_core::fuel;
use serde_json::{Value, json};
use wasmtime::{
    Config, Engine, Error, Extern, Global, GlobalType, Instance, Linker, Module, Mutability, OperatorCost,
    Store, Trap, Val, ValType, component,
};

use crate::config::{operator_costs, semantic};
use crate::limiter::{LimitReached, Limiter};

/// Creates the metering engine, and one that meters nothing and leaves NaNs unchanged.
fn engines() -> [Engine; 2] {
    let mut metering = Config::new();
    semantic(&mut metering);
    let mut bare = Config::new();
    semantic(&mut bare);
    bare.consume_fuel(false).cranelift_nan_canonicalization(false);
    [metering, bare].map(|config| Engine::new(&config).unwrap())
}

/// An instance, and the globals of its meter, if any.
struct Running {
    store: Store<Limiter>,
    instance: Instance,
    meter: Option<[Global; 3]>,
    pages: i64,
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq)]
struct Came {
    /// The bits of the results, or the reason of the stop.
    result: Result<Vec<String>, String>,
    fuel: u64,
    memories: Vec<String>,
    globals: Vec<String>,
}

impl Running {
    fn new(module: &Module, described: &Value, metered: bool) -> Result<Self, Error> {
        let limit = described["memory"].as_u64().unwrap();
        let mut store = Store::new(module.engine(), Limiter::new(limit));
        store.limiter(|limiter| limiter);
        let mut linker = Linker::new(module.engine());
        let pages = i64::try_from(limit / 65_536).unwrap() - described["pages"].as_i64().unwrap();
        let meter = if metered {
            let mut global = |of_type: ValType, value: Val, name: &str| {
                let of_type = GlobalType::new(of_type, Mutability::Var);
                let global = Global::new(&mut store, of_type, value).unwrap();
                linker.define(&store, "graph-host:meter", name, global).unwrap();
                global
            };
            Some([
                global(ValType::I64, Val::I64(-1_000_000_000), "fuel"),
                global(ValType::I64, Val::I64(pages), "pages"),
                global(ValType::I32, Val::I32(0), "stop"),
            ])
        } else {
            store.set_fuel(1_000_000_000).unwrap();
            None
        };
        let instance = linker.instantiate(&mut store, module)?;
        Ok(Self { store, instance, meter, pages })
    }

    fn call(&mut self, call: &Value, limit: u64) -> Came {
        match &self.meter {
            None => self.store.set_fuel(limit).unwrap(),
            Some([fuel, _, stop]) => {
                fuel.set(&mut self.store, Val::I64(-i64::try_from(limit).unwrap())).unwrap();
                stop.set(&mut self.store, Val::I32(0)).unwrap();
            }
        }
        let function = self.instance.get_func(&mut self.store, call["export"].as_str().unwrap()).unwrap();
        let of_type = function.ty(&self.store);
        let arguments = call["arguments"].as_array().unwrap().iter().zip(of_type.params());
        let arguments: Vec<Val> = arguments.map(|(argument, of_type)| value(argument, &of_type)).collect();
        let mut results = vec![Val::I32(0); of_type.results().len()];
        let ended = function.call(&mut self.store, &arguments, &mut results);
        let stop = match &self.meter {
            None => 0,
            Some([_, _, stop]) => stop.get(&mut self.store).unwrap_i32(),
        };
        let result = match ended {
            Ok(()) => Ok(results.iter().map(bits).collect()),
            Err(error) => Err(reason(&error, stop)),
        };
        let fuel = match &self.meter {
            None => limit - self.store.get_fuel().unwrap(),
            Some([fuel, ..]) => {
                let used = i64::try_from(limit).unwrap() + fuel.get(&mut self.store).unwrap_i64();
                u64::try_from(used).unwrap().min(limit)
            }
        };
        let exports: Vec<_> =
            self.instance.exports(&mut self.store).map(wasmtime::Export::into_extern).collect();
        let (mut memories, mut globals) = (Vec::new(), Vec::new());
        for export in exports {
            match export {
                Extern::Memory(memory) => memories.push(Digest::of_bytes(memory.data(&self.store)).hex()),
                Extern::Global(global) => globals.push(bits(&global.get(&mut self.store))),
                _ => {}
            }
        }
        Came { result, fuel, memories, globals }
    }
}

fn value(argument: &Value, of_type: &ValType) -> Val {
    let bits: u64 = argument[1].as_str().unwrap().parse().unwrap();
    match of_type {
        ValType::I32 => Val::I32((bits as u32).cast_signed()),
        ValType::I64 => Val::I64(bits.cast_signed()),
        ValType::F32 => Val::F32(bits as u32),
        ValType::F64 => Val::F64(bits),
        ValType::V128 => unreachable!("no such function is called"),
        ValType::Ref(of_type) => Val::null_ref(of_type.heap_type()),
    }
}

/// Returns the type and the bits of a value; for a reference, whether it is null.
fn bits(value: &Val) -> String {
    match value {
        Val::I32(value) => format!("i32 {}", value.cast_unsigned()),
        Val::I64(value) => format!("i64 {}", value.cast_unsigned()),
        Val::F32(bits) => format!("f32 {bits}"),
        Val::F64(bits) => format!("f64 {bits}"),
        Val::V128(value) => format!("v128 {}", value.as_u128()),
        reference => format!("ref {}", u8::from(reference.ref_().as_ref().is_some_and(|one| !one.is_null()))),
    }
}

/// Returns the reason why a call did not return: limits and traps are the same for both engines.
fn reason(error: &Error, stop: i32) -> String {
    let of_limit = match error.downcast_ref::<LimitReached>() {
        Some(LimitReached::Memory { .. }) => Some("memory"),
        Some(LimitReached::Table { .. }) => Some("table"),
        _ => None,
    };
    let named = match (of_limit, stop, error.downcast_ref::<Trap>()) {
        (Some(limit), ..) => limit,
        (None, 1, _) | (_, _, Some(Trap::OutOfFuel)) => "fuel",
        (None, 2, _) => "memory",
        (None, 3, _) => "table",
        (_, _, Some(Trap::StackOverflow)) => "stack",
        _ => "trap",
    };
    named.to_owned()
}

#[derive(Debug, Default)]
struct Counts {
    modules: u64,
    refused: u64,
    calls: u64,
    completed: u64,
    stopped: std::collections::BTreeMap<String, u64>,
    limits: u64,
}

/// Performs the calls of a module in both engines, and returns their outcomes.
fn compare(engines: &[Engine; 2], folder: &Path, number: u64, counts: &mut Counts) -> Value {
    let read = |name: String| std::fs::read(folder.join(name)).unwrap();
    let described: Value = serde_json::from_slice(&read(format!("{number}.json"))).unwrap();
    let original = Module::new(&engines[0], read(format!("{number}.wasm"))).unwrap();
    let metered = Module::new(&engines[1], read(format!("{number}.metered.wasm"))).unwrap();
    let begin = || (Running::new(&original, &described, false), Running::new(&metered, &described, true));
    counts.modules += 1;
    let (mut one, mut other) = match begin() {
        (Ok(one), Ok(other)) => (one, other),
        (Err(_), Err(_)) => {
            counts.refused += 1;
            return json!([]);
        }
        (one, other) => panic!("module {number}: one is instantiated: {:?} {:?}", one.err(), other.err()),
    };
    assert_eq!(other.pages, other.meter.unwrap()[1].get(&mut other.store).unwrap_i64());
    let mut came = Vec::new();
    let mut first = None;
    for (place, call) in described["calls"].as_array().unwrap().iter().enumerate() {
        let limit = call["limit"].as_u64().unwrap();
        let (wanted, found) = (one.call(call, limit), other.call(call, limit));
        let stack = Err("stack".to_owned());
        if wanted.result == stack || found.result == stack {
            // The stack's depth depends on the engine.
            *counts.stopped.entry("stack".to_owned()).or_default() += 1;
            break;
        }
        counts.calls += 1;
        let mut wanted_of = wanted.clone();
        if wanted.result.is_err() {
            // A stopped call is charged in full, whatever was counted.
            wanted_of.fuel = found.fuel;
        }
        assert_eq!(found, wanted_of, "module {number}, call {place}: {call}");
        match &wanted.result {
            Ok(_) => counts.completed += 1,
            Err(reason) => *counts.stopped.entry(reason.clone()).or_default() += 1,
        }
        if place == 0 && wanted.result.is_ok() {
            first = Some((call, wanted.fuel));
        }
        came.push(json!({
            "results": wanted.result.as_ref().ok(), "stop": wanted.result.as_ref().err(),
            "fuel": wanted.result.is_ok().then_some(wanted.fuel), "memories": wanted.memories, "globals": wanted.globals,
        }));
    }
    // Limits around the fuel of the first call stop both or neither.
    if let Some((call, used)) = first {
        for limit in used.saturating_sub(3)..=used + 1 {
            let (Ok(mut one), Ok(mut other)) = begin() else { unreachable!("it was instantiated before") };
            let (wanted, found) = (one.call(call, limit), other.call(call, limit));
            assert_eq!(found.result, wanted.result, "module {number}, limit {limit} of {used}: {call}");
            assert_eq!((found.memories, found.globals), (wanted.memories, wanted.globals));
            counts.limits += 1;
        }
    }
    json!(came)
}

#[test]
#[ignore = "tests/parity/run writes the modules"]
fn instrumented_modules_count_what_the_engine_counts() {
    let folder = std::env::var("PARITY_FOLDER").expect("the folder that `parity` has written");
    let folder = Path::new(&folder);
    let engines = engines();
    let (mut counts, mut all) = (Counts::default(), Vec::new());
    for number in 0.. {
        if !folder.join(format!("{number}.json")).exists() {
            break;
        }
        all.push(compare(&engines, folder, number, &mut counts));
    }
    std::fs::write(folder.join("expected.json"), json!(all).to_string()).unwrap();
    println!("{counts:?}");
    assert!(
        counts.modules >= 50 && counts.completed >= counts.modules / 2,
        "too little was compared: {counts:?}"
    );
    assert!(counts.stopped.contains_key("fuel"), "{counts:?}");
}

/// Creates a value of a type: texts are an empty JSON object, numbers 1, and optional values are absent.
fn sample(of_type: &component::Type) -> component::Val {
    use component::{Type, Val};
    match of_type {
        Type::String => Val::String("{}".to_owned()),
        Type::U32 => Val::U32(1),
        Type::U64 => Val::U64(1),
        Type::List(_) => Val::List(Vec::new()),
        Type::Option(_) => Val::Option(None),
        Type::Record(record) => {
            Val::Record(record.fields().map(|field| (field.name.to_owned(), sample(&field.ty))).collect())
        }
        other => panic!("the contract has no {other:?}"),
    }
}

/// Calls a function of a node in a fresh instance, whose imports all trap; returns whether it returned, and the fuel.
fn call_node(node: &component::Component, name: &str, limit: u64) -> (bool, u64) {
    let mut store = Store::new(node.engine(), Limiter::new(64 << 20));
    store.limiter(|limiter| limiter);
    store.set_fuel(1_000_000_000).unwrap();
    let mut linker = component::Linker::new(node.engine());
    linker.define_unknown_imports_as_traps(node).unwrap();
    let instance = linker.instantiate(&mut store, node).unwrap();
    store.set_fuel(limit).unwrap();
    let action = instance.get_export_index(&mut store, None, "graph-host:node/action@0.1.0").unwrap();
    let function = instance.get_export_index(&mut store, Some(&action), name).unwrap();
    let function = instance.get_func(&mut store, function).unwrap();
    let arguments: Vec<_> = function.ty(&store).params().map(|(_, of_type)| sample(&of_type)).collect();
    let mut results = vec![component::Val::Bool(false)];
    let ended = function.call(&mut store, &arguments, &mut results);
    (ended.is_ok(), ended.map_or(limit, |()| limit - store.get_fuel().unwrap()))
}

/// Prints the fuel of components in the engine, which `tests/parity/components.mjs` compares with V8.
#[test]
#[ignore = "tests/parity/run writes the components"]
fn instrumented_components_are_compared_with_what_the_engine_counts() {
    let folder = std::env::var("PARITY_FOLDER").expect("the folder that `parity` has written");
    let folder = Path::new(&folder);
    let [metering, _] = engines();
    let listed: Vec<Value> =
        serde_json::from_slice(&std::fs::read(folder.join("components.json")).unwrap()).unwrap();
    println!("{:64} {:>10} {:>10}", "component", "describe", "run");
    let mut completed = 0;
    for described in &listed {
        let (path, file) = (described["component"].as_str().unwrap(), described["file"].as_str().unwrap());
        let bytes = std::fs::read(folder.join(format!("{file}.wasm"))).unwrap();
        let node = component::Component::new(&metering, bytes).unwrap();
        let mut row = Vec::new();
        for name in ["describe", "run"] {
            let (returned, used) = call_node(&node, name, 100_000_000);
            completed += usize::from(returned);
            row.push(if returned { used.to_string() } else { "trap".to_owned() });
        }
        println!("{path:64} {:>10} {:>10}", row[0], row[1]);
    }
    assert!(completed >= listed.len() && !listed.is_empty(), "only {completed} calls returned");
}

#[test]
fn the_table_of_costs_is_that_of_the_engine_id() {
    // The id says `default costs`: another table needs another id.
    let mut named = OperatorCost::new();
    named.variable.memory_grow_per_page = fuel::PAGE;
    assert_eq!(operator_costs(), named);
    assert_eq!(fuel::PAGE, 100);
}
