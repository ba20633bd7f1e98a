//! What the records of a run take up follows what changes, not what is there.

use std::fmt::Write as _;
use std::sync::Arc;

use super::simulation::setup_with;
use crate::graph::Durability;
use crate::limits::RunLimits;
use crate::record::{ChainVerifier, Checkpoint, Record, Standing};
use crate::time::Timestamp;
use crate::trust::SigningKey;
use crate::walker::{Effect, Event, Graphs, RunTree};

/// What a run has stored.
struct Stored {
    checkpoints: Vec<Checkpoint>,
    /// The bytes of the texts of checkpoints.
    bytes: usize,
}

/// Walks a graph without components to its end, and checks its records.
fn walk(config: &str, durability: Durability) -> Stored {
    let document = format!("{{tool_type: graph, config: {{{config}}}}}");
    let graph = Arc::new(crate::document::load("g.yaml", &document, "t/g").unwrap().graph);
    let mut setup = setup_with(&graph, Arc::new(Graphs::new()), durability);
    let limits = RunLimits { fuel: u64::MAX, ..setup.manifest.run_limits() };
    setup.manifest = Arc::new((*setup.manifest).clone().with_run_limits(limits));
    setup.max_steps = Some(100_000);
    let mut tree = RunTree::new(graph, setup);
    let key = SigningKey::from_seed(&[7; 32]);
    let mut verifier = ChainVerifier::new(key.verifying_key());
    let mut stored = Stored { checkpoints: Vec::new(), bytes: 0 };
    let mut waiting = vec![Event::Started];
    while let Some(event) = waiting.pop() {
        for effect in tree.handle(Timestamp(1), event).unwrap() {
            match effect {
                Effect::Persist(persist) => {
                    waiting.push(Event::Persisted(persist.id));
                    if matches!(persist.record, Record::Checkpoint(_)) {
                        let signed = persist.sign(&key).unwrap();
                        stored.bytes += signed.body.len();
                        stored.checkpoints.push(verifier.checkpoint(&signed).unwrap());
                    }
                }
                Effect::Continue => waiting.push(Event::Continued),
                _ => {}
            }
        }
    }
    assert!(stored.checkpoints.last().unwrap().end.is_some(), "the run has not ended");
    stored
}

/// A chain of so many nodes.
fn chain(nodes: usize) -> Stored {
    let mut config = "start: n0, nodes: {".to_owned();
    for node in 0..nodes {
        let _ = write!(config, "n{node}: {{assign: {{last: {node}}}, next: n{}}}, ", node + 1);
    }
    let _ = write!(config, "n{nodes}: {{}}}}");
    walk(&config, Durability::Sync)
}

/// So many supersteps of a loop, beside so many channels that nobody touches after the first one.
fn beside(channels: usize, supersteps: usize) -> Stored {
    let mut config = "start: first, nodes: {first: {next: again, assign: {".to_owned();
    for channel in 0..channels {
        let _ = write!(config, "c{channel}: {channel}, ");
    }
    let _ = write!(
        config,
        "}}}}, again: {{assign: {{n: 1}}, next: [{{to: again, when: {{path: state.n, op: lt, value: {supersteps}}}}}, \
         {{to: []}}]}}}}, channels: {{n: {{reducer: sum}}}}, max_steps: 100000"
    );
    walk(&config, Durability::Sync)
}

#[test]
fn a_chain_of_nodes_stores_each_node_a_few_times() {
    let (some, more) = (chain(500), chain(1_000));
    assert_eq!((some.checkpoints.len(), more.checkpoints.len()), (502, 1_002));
    assert!(
        more.bytes < some.bytes * 21 / 10,
        "{} bytes for 500 nodes, {} for 1,000",
        some.bytes,
        more.bytes
    );
    // A whole checkpoint comes once there are as many changes: each time after twice as many.
    let whole = |stored: &Stored| stored.checkpoints.iter().filter(|one| one.is_whole()).count();
    assert!(whole(&more) <= whole(&some) + 1 && whole(&more) < 10, "{} and {}", whole(&some), whole(&more));
    let entries: u64 = more.checkpoints.iter().map(Checkpoint::state_entries).sum();
    assert!(entries < 1_000 * 3 * 3, "{entries} entries of 1,000 nodes and 1,001 changes of a channel");
}

#[test]
fn a_superstep_beside_many_channels_stores_the_one_that_it_changes() {
    let later = |channels: usize| {
        let stored = beside(channels, 100);
        // Those after the first superstep, which writes all of them, and the whole checkpoint that follows it; before the last
        // one, which has the output.
        let after = &stored.checkpoints[5..stored.checkpoints.len() - 1];
        let bytes: usize = after.iter().map(|one| serde_json::to_string(one).unwrap().len()).sum();
        assert!(after.iter().all(|one| !one.is_whole()), "{channels}");
        bytes
    };
    let (some, more) = (later(500), later(1_000));
    assert!(more < some * 101 / 100, "{some} bytes beside 500 channels, {more} beside 1,000");
}

/// Whatever was whole in between: the changes lead to what is there, and to its digests.
#[test]
fn changes_lead_to_what_is_there() {
    let stored = beside(10, 200);
    let whole: Vec<_> = stored.checkpoints.iter().filter(|one| one.is_whole()).collect();
    assert!(whole.len() > 2 && whole.len() < 20, "{}", whole.len());
    let mut standing = Standing::default();
    for checkpoint in &stored.checkpoints {
        if checkpoint.is_whole() && checkpoint.sequence > 0 {
            let mut before = standing.clone();
            before.follow(&Checkpoint { delta: stored.checkpoints[1].delta, ..checkpoint.clone() });
            assert_eq!(before, Standing::of(checkpoint), "{}", checkpoint.sequence);
        }
        standing.follow(checkpoint);
        assert_eq!(checkpoint.state, Some(standing.tree().digest()), "{}", checkpoint.sequence);
    }
}
