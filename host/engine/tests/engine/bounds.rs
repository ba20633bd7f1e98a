//! Every limit, and the report about exceeding it.

use std::time::{Duration, Instant};

use graph_core::limits::TaskLimits;
use graph_core::node::Category;
use graph_engine::{CallReport, Classification};
use serde_json::json;

use crate::support::{RUN, call, call_within, limits, nothing, prepare, testkit, value, wat, wat_run};

/// Checks that a call ended as expected, and was charged in full.
fn ended(report: &CallReport, classification: Classification, category: Category, message: &str) {
    assert_eq!(report.classification, classification, "{:?}", report.result);
    let failure = report.result.as_ref().unwrap_err();
    assert_eq!(failure.category, category, "{failure}");
    assert!(failure.message.contains(message), "{failure}");
    assert_eq!(report.fuel_used, limits().fuel);
}

#[tokio::test]
async fn fuel() {
    let report = call(&testkit(), json!({"op": "spin", "iterations": 1_u64 << 60})).await;
    ended(&report, Classification::Fuel, Category::Limit, "fuel");
}

#[tokio::test]
async fn fuel_while_it_starts() {
    let code = "(func $spin (loop (br 0))) (start $spin)";
    let run = format!("(func {RUN} (param i32) (result i32) (i32.const 0))");
    let describe = crate::support::DESCRIBE;
    let bytes = wat("{}", &format!("{code} {run} (func {describe} (result i32) (i32.const 0))"));
    ended(
        &call(&prepare(&bytes, &nothing()), json!(null)).await,
        Classification::Fuel,
        Category::Limit,
        "fuel",
    );
}

#[tokio::test]
async fn starting_is_not_charged_to_the_call() {
    let start = "(func $work (local $i i32) (loop (local.set $i (i32.add (local.get $i) (i32.const 1)))
                 (br_if 0 (i32.lt_u (local.get $i) (i32.const 100000))))) (start $work)";
    let describe = crate::support::DESCRIBE;
    let bytes = wat(
        "{}",
        &format!(
            "{start} (func {RUN} (param i32) (result i32) (call $result (i32.const 1024) (i32.const 2)))
             (func {describe} (result i32) (i32.const 0))"
        ),
    );
    let report = call(&prepare(&bytes, &nothing()), json!(null)).await;
    assert_eq!(value(&report), &json!({}));
    assert!(report.fuel_used < 1000, "{}", report.fuel_used);
}

#[tokio::test]
async fn memory() {
    let report = call(&testkit(), json!({"op": "grow", "bytes": 100 << 20})).await;
    ended(&report, Classification::Memory, Category::Limit, "67108864 are allowed");
    let report = call(&testkit(), json!({"op": "grow", "bytes": 32 << 20})).await;
    assert_eq!(value(&report), &json!(32 << 20));
    assert!(report.fuel_used > 32 << 20, "zeroing memory costs fuel by the byte");
}

#[tokio::test]
async fn memory_before_it_starts() {
    let small = TaskLimits { memory: 1 << 20, ..limits() };
    let report = call_within(&testkit(), &json!({"op": "nan"}), small).await;
    ended(&report, Classification::Memory, Category::Limit, "1048576 are allowed");
}

#[tokio::test]
async fn stack_at_the_same_depth_every_time() {
    let node = testkit();
    let report = call(&node, json!({"op": "recurse", "depth": 1_u64 << 40})).await;
    ended(&report, Classification::Stack, Category::Limit, "stack");
    assert_eq!(value(&call(&node, json!({"op": "recurse", "depth": 1000})).await), &json!(1000));
}

#[tokio::test]
async fn a_trap() {
    let report = call(&testkit(), json!({"op": "trap"})).await;
    ended(&report, Classification::Trap, Category::Internal, "unreachable");
}

#[tokio::test]
async fn a_panic_says_why_in_the_log() {
    // More bytes than a text can have: the allocation's size overflows.
    let report = call(&testkit(), json!({"op": "output", "bytes": 1_u64 << 31})).await;
    ended(&report, Classification::Trap, Category::Internal, "unreachable");
    assert!(report.logs.iter().any(|line| line.message.contains("capacity overflow")), "{:?}", report.logs);
}

#[tokio::test]
async fn the_deadline() {
    let within = TaskLimits { fuel: u64::MAX / 2, timeout: Duration::from_millis(60), ..limits() };
    let began = Instant::now();
    let report = call_within(&testkit(), &json!({"op": "spin", "iterations": 1_u64 << 60}), within).await;
    assert_eq!(report.classification, Classification::Deadline, "{:?}", report.result);
    let failure = report.result.unwrap_err();
    assert_eq!(failure.category, Category::Timeout);
    assert!(failure.message.contains("60 ms"), "{failure}");
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_dropped_call_stops() {
    let within = TaskLimits { fuel: u64::MAX / 2, timeout: Duration::from_mins(10), ..limits() };
    let node = testkit();
    let params = json!({"op": "spin", "iterations": 1_u64 << 60});
    let began = Instant::now();
    let spinning = call_within(&node, &params, within);
    assert!(tokio::time::timeout(Duration::from_millis(50), spinning).await.is_err());
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn output() {
    let node = testkit();
    let report = call(&node, json!({"op": "output", "bytes": 1 << 20})).await;
    assert_eq!(report.classification, Classification::InvalidResult);
    let failure = report.result.unwrap_err();
    assert_eq!(failure.category, Category::Limit);
    assert!(failure.message.contains("1048576 bytes"), "{failure}");
    assert!(call(&node, json!({"op": "output", "bytes": (1 << 20) - 2})).await.result.is_ok());
    // The answer is too large to be taken over by the host.
    let roomy = TaskLimits { memory: 512 << 20, ..limits() };
    let report = call_within(&node, &json!({"op": "output", "bytes": 20 << 20}), roomy).await;
    ended(&report, Classification::HostLimit, Category::Limit, "more data");
}

#[tokio::test]
async fn log_lines() {
    let node = testkit();
    let report = call(&node, json!({"op": "log", "lines": 10, "bytes": 100})).await;
    assert_eq!(report.logs.len(), 10);
    let report = call(&node, json!({"op": "log", "lines": 1_000_000, "bytes": 100})).await;
    ended(&report, Classification::HostLimit, Category::Limit, "65536 bytes");
    assert_eq!(report.logs.len(), 564, "what was written within the budget is kept");
    let empty = call(&node, json!({"op": "log", "lines": 1_000_000, "bytes": 0})).await;
    ended(&empty, Classification::HostLimit, Category::Limit, "65536 bytes");
}

#[tokio::test]
async fn broken_pointers_and_text() {
    for code in [
        "(i32.const -4)",
        "(i32.const 65533)",
        "(i32.const 2)",
        "(call $result (i32.const 1024) (i32.const -1))",
        "(call $result (i32.const 65530) (i32.const 100))",
        // Not UTF-8.
        "(i32.store8 (i32.const 2048) (i32.const 255)) (call $result (i32.const 2048) (i32.const 1))",
        // No such case.
        "(i32.store8 (i32.const 0) (i32.const 9)) (i32.const 0)",
    ] {
        let report = call(&prepare(&wat_run("{}", code), &nothing()), json!(null)).await;
        ended(&report, Classification::Trap, Category::Internal, "it ");
    }
}
