//! Random graphs as files: hosts with real components run them, and must compute the same digests.

use std::fs;
use std::path::PathBuf;

use proptest::prelude::Strategy as _;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::generate::{make, sketches};
use super::graph::{Node, Reply};
use super::render;
use super::value::{V, quoted};
use crate::document;

/// Returns the action of a node, which has `examples/testkit` give one of the node's replies.
fn action(at: usize, node: &Node, salt: u64) -> Option<String> {
    let params = node.params.as_ref()?.written();
    let draw = salt.rotate_left(u32::try_from(at * 7).unwrap());
    let reply = &node.replies[usize::try_from(draw % node.replies.len() as u64).unwrap()];
    let fields = |items: Vec<(String, String)>| {
        let items = items.into_iter().map(|(key, value)| format!("{}: {value}", quoted(&key)));
        format!("{{{}}}", items.collect::<Vec<_>>().join(", "))
    };
    let params = match reply {
        // A strict template refuses a missing path, unless it has an alternative.
        Reply::Echo => format!(
            "{{op: echo, value: {{params: {params}, n: \"${{node.visit}}\", superstep: \"${{run.superstep}}\", \
             argument: \"${{argument || 'none'}}\"}}}}"
        ),
        Reply::Result(value) => format!("{{op: echo, value: {}}}", value.template()),
        Reply::Ask(value) => format!("{{op: interrupt, payload: {}}}", value.template()),
        Reply::Fail(category) => format!("{{op: fail, category: {category}, message: \"no\"}}"),
        Reply::Command(update, goto) => {
            let update = update.iter().map(|(key, value)| ((*key).to_owned(), value.template()));
            let goto = goto.iter().map(|(node, argument)| match argument {
                Some(argument) => format!("{{node: {node}, argument: {}}}", argument.template()),
                None => node.clone(),
            });
            let goto = goto.collect::<Vec<_>>().join(", ");
            format!("{{op: command, update: {}, goto: [{goto}]}}", fields(update.collect()))
        }
    };
    Some(format!("{{item_id: examples/testkit, params: {params}}}"))
}

/// Writes `RANDOM_COUNT` graphs (`graph-N.yaml`) with their inputs (`graph-N.json`) into the folder `RANDOM_OUT`. The same
/// `SEED` gives the same files.
#[test]
#[ignore = "tests/browser runs it: it writes files"]
fn random_graphs_are_written() {
    let number =
        |name: &str, default| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let out = PathBuf::from(std::env::var_os("RANDOM_OUT").expect("RANDOM_OUT names a folder"));
    let (count, seed): (u64, u64) = (number("RANDOM_COUNT", 20), number("SEED", 11));
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    for at in 0..count {
        let sketch = sketches().new_tree(&mut runner).unwrap().current();
        let (graph, inputs) = make(&sketch);
        let config = render::config_with(&graph, "  ", &|node, of| action(node, of, sketch.salt));
        let text = format!(
            "version: \"1.0.0\"\ntool_type: graph\nexecutor_id: graph-host\ncategory: random\nconfig:\n{config}"
        );
        document::load("graph.yaml", &text, "random/graph")
            .unwrap_or_else(|problems| panic!("{text}\n{problems:?}"));
        fs::write(out.join(format!("graph-{at}.yaml")), text).unwrap();
        fs::write(out.join(format!("graph-{at}.json")), V::Map(inputs).json()).unwrap();
    }
}
