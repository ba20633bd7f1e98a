//! A second implementation of the graph language: a naive walker, written for this test alone, computes the outcomes of
//! random graphs, and the walker has to agree. The two share the doubles of the nodes and nothing else: the model never
//! sees the document that the walker reads.
#![allow(
    clippy::format_collect,
    clippy::format_push_string,
    clippy::struct_excessive_bools,
    clippy::too_many_lines,
    clippy::type_complexity,
    reason = "a model is read beside the rules it models: plain beats quick"
)]

mod boundary;
mod generate;
mod graph;
mod language;
mod model;
mod real;
mod render;
mod value;
mod written;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};

use self::generate::{Sketch, Tape, inputs, make, sketches};
use self::graph::Graph;
use self::model::{Answers, Model, Operation, Seen};
use self::real::Real;
use self::value::{V, text};
use crate::document;

/// Number of cases in a release build; ten times as many with `FULL=1`, or the number in `MODEL_CASES` if that is set.
/// Debug builds run a fraction.
const CASES: u32 = 10_000;

/// Rules that random cases must reach, each with its least number of cases in 10,000: about a third of the usual number.
const RULES: [(&str, u32); 96] = [
    ("a bare answer to several", 5),
    ("a barrier opens", 620),
    ("a barrier opens again", 150),
    ("a command that is denied", 40),
    ("a conflict", 270),
    ("a default edge", 360),
    ("a failure as a result", 160),
    ("a failure beside a question", 30),
    ("a failure that stops the run", 510),
    ("a later edge", 260),
    ("a node that asks more than once", 2),
    ("a partial answer", 10),
    ("a resume of a finished run", 930),
    ("a send in start", 530),
    ("a serial foreach stops", 110),
    ("a stalled barrier fails", 30),
    ("a stalled barrier is released", 20),
    ("a stalled barrier is told of", 50),
    ("a task that is not run again", 700),
    ("a template that fails", 330),
    ("a total that is not larger", 210),
    ("all", 250),
    ("an answer that is missing", 60),
    ("an answer that is rejected", 5),
    ("an edge to nothing", 80),
    ("an empty condition", 250),
    ("an envelope", 90),
    ("an unknown question", 250),
    ("another turn", 50),
    ("any", 260),
    ("append", 440),
    ("cancel", 160),
    ("command", 630),
    ("contains", 270),
    ("data that looks like an overwrite", 50),
    ("continue", 110),
    ("deferred nodes are drained", 390),
    ("ephemeral", 140),
    ("eq", 370),
    ("exists", 290),
    ("foreach in batches", 60),
    ("foreach parallel", 690),
    ("foreach serial", 700),
    ("from_json", 250),
    ("goto", 140),
    ("gt", 140),
    ("gte", 300),
    ("in", 260),
    ("interrupt after", 180),
    ("interrupt before", 330),
    ("invalid_update", 30),
    ("json", 240),
    ("keep_null", 70),
    ("keys", 250),
    ("last_value", 1970),
    ("length", 480),
    ("lower", 230),
    ("lt", 280),
    ("lte", 160),
    ("max", 340),
    ("max_fan_out", 30),
    ("max_steps", 450),
    ("max_total_steps", 30),
    ("max_visits_per_node", 80),
    ("merge", 320),
    ("messages", 290),
    ("min", 350),
    ("ne", 270),
    ("new inputs", 80),
    ("new inputs discard what was kept", 140),
    ("no edge matched at the end", 170),
    ("not", 410),
    ("null or false is an answer", 410),
    ("on_error", 200),
    ("over is no list", 60),
    ("overwrite", 120),
    ("question", 840),
    ("regex", 300),
    ("retry", 70),
    ("return", 230),
    ("return with output", 130),
    ("return_last", 210),
    ("return_with_flag", 190),
    ("routing that fails", 90),
    ("second question", 400),
    ("send", 140),
    ("skip", 70),
    ("sum", 350),
    ("text", 1270),
    ("the first edge", 430),
    ("topic", 320),
    ("two overwrites", 2),
    ("union", 410),
    ("untracked", 120),
    ("upper", 250),
    ("||", 2850),
];

/// Draws from bytes how a person continues a run that has stopped.
fn next_operation(tape: &mut Tape<'_>, model: &Model<'_>) -> Operation {
    let resume = |answers, max_steps, inputs| Operation::Resume { answers, max_steps, inputs };
    let asked: Vec<_> = model.interrupts.iter().filter(|(_, _, payload)| payload.is_some()).collect();
    let answer =
        |tape: &mut Tape<'_>| tape.one(&[text("yes"), V::Null, V::Bool(false), V::Map(BTreeMap::new())]);
    let all: Vec<_> = asked.iter().map(|(id, ..)| (id.clone(), answer(tape))).collect();
    let larger = (model.status == "limit").then_some(model.steps + 3);
    match tape.pick(18) {
        8 | 9 | 16 if !all.is_empty() => resume(Answers::Named(all[..1].to_vec()), larger, None),
        8 => resume(Answers::None, Some(model.steps), None),
        10 | 17 => resume(Answers::Bare(answer(tape)), larger, None),
        11 => resume(Answers::None, None, None),
        12 => resume(Answers::Named(vec![("nobody".to_owned(), V::Null)]), None, None),
        13 => match asked.first() {
            Some((_, node, _)) => {
                resume(Answers::Named(vec![(Model::name(*node), answer(tape))]), larger, None)
            }
            None => resume(Answers::Named(Vec::new()), larger, None),
        },
        14 => resume(Answers::None, larger, Some(inputs(tape))),
        15 => Operation::Cancel,
        _ if all.is_empty() => resume(Answers::None, larger, None),
        _ => resume(Answers::Named(all), larger, None),
    }
}

/// Runs a case on both sides. Returns the rules that it reached; `None` if its state outgrew the limit, so that it was
/// followed only to that point; or the difference as an error.
fn compare(sketch: &Sketch) -> Result<Option<BTreeSet<&'static str>>, String> {
    let (graph, inputs) = make(sketch);
    let document = format!("tool_type: graph\nconfig:\n{}", render::config(&graph, "  "));
    let loaded = document::load("random.yaml", &document, "t/random")
        .map_err(|problems| format!("the document is not taken:\n{document}\n{problems:?}"))?;
    let loaded = Arc::new(loaded.graph);
    let mut model = Model::new(&graph, sketch.salt, inputs.clone());
    let mut real = Real::new(&graph, loaded, sketch.salt, &inputs, sketch.restores);
    let mut script: Vec<(Operation, Seen)> = Vec::new();
    let (mut cancelled, mut finished) = (false, false);
    let mut tapes = sketch.script.iter();
    let mut operation = Operation::Run;
    loop {
        let expected = model.perform(&operation);
        if model.is_outgrown {
            return Ok(None);
        }
        let actual = real.perform(&operation, cancelled);
        cancelled = matches!(operation, Operation::Cancel);
        script.push((operation, expected.clone()));
        if expected != actual {
            return Err(difference(&graph, &inputs, &real, &script, &expected, &actual));
        }
        // A run that has ended is resumed once without inputs, to see that nothing happens.
        if finished
            && model.ended_by.is_some()
            && script.last().is_some_and(|(_, seen)| seen.refused.is_some())
        {
            break;
        }
        finished = model.ended_by.is_some();
        let Some(bytes) = tapes.next() else { break };
        operation = match next_operation(&mut Tape(bytes), &model) {
            Operation::Cancel if cancelled || finished => break,
            other => other,
        };
    }
    Ok(Some(model.reached))
}

fn difference(
    graph: &Graph,
    inputs: &model::Fields,
    real: &Real<'_>,
    script: &[(Operation, Seen)],
    expected: &Seen,
    actual: &Seen,
) -> String {
    let lines = |seen: &Seen| format!("{seen:#?}").lines().map(str::to_owned).collect::<Vec<_>>();
    let (wanted, found) = (lines(expected), lines(actual));
    let only = |these: &[String], those: &[String], sign: &str| {
        these
            .iter()
            .filter(|line| !those.contains(line))
            .map(|line| format!("{sign} {line}\n"))
            .collect::<String>()
    };
    let mut lines = only(&wanted, &found, "-") + &only(&found, &wanted, "+");
    if lines.is_empty() {
        lines = format!("- {expected:?}\n+ {actual:?}\n");
    }
    format!(
        "the model (-) and the walker (+) differ:\n{lines}\n# as a case, with what the model expects\n{}",
        render::case(graph, inputs, &real.answered, script)
    )
}

#[test]
fn the_walker_agrees_with_a_naive_model() {
    let cases = std::env::var("MODEL_CASES").ok().and_then(|cases| cases.parse().ok());
    let is_full = std::env::var_os("FULL").is_some_and(|full| !full.is_empty());
    let cases = cases.unwrap_or(match (cfg!(debug_assertions), is_full) {
        (true, _) => CASES / 40,
        (false, false) => CASES,
        (false, true) => CASES * 10,
    });
    let config = Config { cases, failure_persistence: None, max_shrink_time: 20_000, ..Config::default() };
    let outgrown = Cell::new(0);
    let reached: RefCell<BTreeMap<&'static str, u32>> = RefCell::default();
    let result = TestRunner::new(config).run(&sketches(), |sketch| {
        match compare(&sketch).map_err(TestCaseError::fail)? {
            Some(rules) => {
                for rule in rules {
                    *reached.borrow_mut().entry(rule).or_default() += 1;
                }
            }
            None => outgrown.set(outgrown.get() + 1),
        }
        Ok(())
    });
    match result {
        Ok(()) => {}
        Err(TestError::Fail(reason, _)) => panic!("{reason}"),
        Err(TestError::Abort(reason)) => panic!("the cases cannot be made: {reason}"),
    }
    let reached = reached.into_inner();
    println!("{} of {cases} cases outgrew what there is room for; rules: {reached:?}", outgrown.get());
    assert!(
        outgrown.get() <= cases / 200,
        "{} of {cases} cases were not followed to their end",
        outgrown.get()
    );
    if cases >= CASES {
        for (rule, least) in RULES {
            let found = reached.get(rule).copied().unwrap_or(0);
            assert!(
                found >= least,
                "`{rule}` was come upon in {found} cases of {cases}, which is less than {least}"
            );
        }
    }
}
