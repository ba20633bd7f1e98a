//! Tests that the size of a run's records follows the changes, not the size of the state.

use std::fmt::Write as _;
use std::sync::Arc;

use super::simulation::setup_with;
use crate::walker::{Effect, Event, Graphs, RunTree};
use graph_core::limits::RunLimits;
use graph_core::policy::Durability;
use graph_core::record::{
    ChainError, ChainReader, ChainVerifier, Checkpoint, CheckpointWindow, CumulativeState, DecodeError,
    Record, SignedRecord, TrustedCheckpoint,
};
use graph_core::time::Timestamp;
use graph_core::trust::SigningKey;

/// Stored records of a run.
struct Stored {
    checkpoints: Vec<Checkpoint>,
    signed: Vec<SignedRecord>,
    /// Largest number of visited nodes in the walker's memory after it had handed out a checkpoint.
    held: usize,
    /// Number of bytes of the checkpoints' texts.
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
    let mut stored = Stored { checkpoints: Vec::new(), signed: Vec::new(), held: 0, bytes: 0 };
    let mut waiting = vec![Event::Started];
    while let Some(event) = waiting.pop() {
        let effects = tree.handle(Timestamp(1), event).unwrap();
        if effects.iter().any(|effect| matches!(effect, Effect::Persist(_))) {
            stored.held = stored.held.max(tree.unwritten_visits());
        }
        for effect in effects {
            match effect {
                Effect::Persist(persist) => {
                    waiting.push(Event::Persisted(persist.id));
                    if matches!(persist.record, Record::Checkpoint(_)) {
                        let signed = persist.sign(&key).unwrap();
                        stored.bytes += signed.body.len();
                        stored.checkpoints.push(verifier.checkpoint(&signed).unwrap());
                        stored.signed.push(signed);
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

/// Walks a chain of `nodes` nodes.
fn chain(nodes: usize) -> Stored {
    let mut config = "start: n0, nodes: {".to_owned();
    for node in 0..nodes {
        let _ = write!(config, "n{node}: {{assign: {{last: {node}}}, next: n{}}}, ", node + 1);
    }
    let _ = write!(config, "n{nodes}: {{}}}}");
    walk(&config, Durability::Sync)
}

/// Walks a loop of `supersteps` supersteps, with `channels` channels that only the first one writes.
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
    // A whole checkpoint comes once there are as many changes as entries, each time after twice as many.
    let whole = |stored: &Stored| stored.checkpoints.iter().filter(|one| one.is_whole()).count();
    assert!(whole(&more) <= whole(&some) + 1 && whole(&more) < 10, "{} and {}", whole(&some), whole(&more));
    let entries: u64 = more.checkpoints.iter().map(Checkpoint::state_entries).sum();
    assert!(entries < 1_000 * 3 * 3, "{entries} entries of 1,000 nodes and 1,001 changes of a channel");
}

#[test]
fn a_superstep_beside_many_channels_stores_the_one_that_it_changes() {
    let later = |channels: usize| {
        let stored = beside(channels, 100);
        // The checkpoints after the first superstep, which writes all channels, and after the whole checkpoint that
        // follows it, without the last one, which has the output.
        let after = &stored.checkpoints[5..stored.checkpoints.len() - 1];
        let bytes: usize = after.iter().map(|one| serde_json::to_string(one).unwrap().len()).sum();
        assert!(after.iter().all(|one| !one.is_whole()), "{channels}");
        bytes
    };
    let (some, more) = (later(500), later(1_000));
    assert!(more < some * 101 / 100, "{some} bytes beside 500 channels, {more} beside 1,000");
}

/// The changes add up to the whole state and its digests, across whole checkpoints.
#[test]
fn changes_lead_to_what_is_there() {
    let stored = beside(10, 200);
    let whole: Vec<_> = stored.checkpoints.iter().filter(|one| one.is_whole()).collect();
    assert!(whole.len() > 2 && whole.len() < 20, "{}", whole.len());
    let mut standing = CumulativeState::default();
    for checkpoint in &stored.checkpoints {
        if checkpoint.is_whole() && checkpoint.sequence > 0 {
            let mut before = standing.clone();
            before.follow(&Checkpoint { delta: stored.checkpoints[1].delta, ..checkpoint.clone() });
            assert_eq!(before, CumulativeState::from_checkpoint(checkpoint), "{}", checkpoint.sequence);
        }
        standing.follow(checkpoint);
        assert_eq!(checkpoint.state, Some(standing.tree().digest()), "{}", checkpoint.sequence);
    }
}

/// Opens a checkpoint with those that it builds on.
fn open(stored: &Stored, at: usize) -> Result<TrustedCheckpoint, ChainError> {
    open_of(&stored.signed, at)
}

fn open_of(line: &[SignedRecord], at: usize) -> Result<TrustedCheckpoint, ChainError> {
    let key = SigningKey::from_seed(&[7; 32]).verifying_key();
    let mut stretch = CheckpointWindow::up_to(&line[at], Some(&key), None)?;
    let mut earlier = line[..at].iter().rev();
    while stretch.wants_below().is_some() {
        let Some(record) = earlier.next() else { return Err(stretch.missing()) };
        stretch.take(record)?;
    }
    stretch.finish()
}

#[test]
fn a_checkpoint_is_opened_with_as_few_others_however_long_the_history_is() {
    let most = |supersteps: usize| {
        let stored = beside(10, supersteps);
        let mut standing = CumulativeState::default();
        let mut most = 0;
        for (at, checkpoint) in stored.checkpoints.iter().enumerate() {
            standing.follow(checkpoint);
            let trusted = open(&stored, at).unwrap();
            assert_eq!(CumulativeState::from_checkpoint(&trusted.checkpoint), standing, "{at}");
            assert_eq!(trusted.checkpoint.sequence - trusted.first + 1, trusted.checkpoints);
            most = most.max(trusted.checkpoints);
        }
        assert_eq!(stored.held, 0, "names of nodes are held that checkpoints have");
        most
    };
    let (some, more) = (most(200), most(2_000));
    assert!(some > 10, "{some}");
    assert_eq!(some, more);
}

#[test]
fn what_is_read_backwards_is_what_the_checkpoint_after_it_names() {
    let stored = beside(10, 100);
    let whole = |from: usize| (0..=from).rev().find(|at| stored.checkpoints[*at].is_whole()).unwrap();
    let at = (20..60).find(|at| whole(*at) > 0 && at - whole(*at) > 3).unwrap();
    let number = |at: usize| stored.checkpoints[at].sequence;
    open(&stored, at).unwrap();

    // A changed text, with its digest and without.
    let mut line = stored.signed.clone();
    line[at - 2].body = line[at - 2].body.replace("\"step\":", "\"step\": ").into();
    let changed = |error: &ChainError| matches!(error, ChainError::Record(DecodeError::Changed { .. }));
    assert!(changed(&open_of(&line, at).unwrap_err()));
    let Record::Checkpoint(mut forged) = stored.signed[at - 2].decode().unwrap() else { panic!() };
    forged.fuel += 1;
    (line[at - 2].body, line[at - 2].digest) = Record::Checkpoint(forged).encode().unwrap();
    assert_eq!(open_of(&line, at).unwrap_err(), ChainError::Parent { sequence: number(at - 1) });
    // A record that no other builds on does not matter here.
    let mut line = stored.signed.clone();
    line[whole(at) - 1].body = "{}".into();
    assert_eq!(open_of(&line, at), open(&stored, at));
    // A missing record, two in another order, and one of another history.
    let mut line = stored.signed.clone();
    line.remove(at - 2);
    assert_eq!(open_of(&line, at - 1).unwrap_err(), ChainError::Parent { sequence: number(at - 1) });
    let mut line = stored.signed.clone();
    line.swap(at - 2, at - 3);
    assert_eq!(open_of(&line, at).unwrap_err(), ChainError::Parent { sequence: number(at - 1) });
    line = beside(11, 100).signed;
    line[at] = stored.signed[at].clone();
    assert_eq!(open_of(&line, at).unwrap_err(), ChainError::Parent { sequence: number(at) });
    // A signature counts where the reading begins, and not before.
    let other = SigningKey::from_seed(&[8; 32]);
    let mut line = stored.signed.clone();
    for record in [at - 1, at] {
        let signature = other.sign_digest(line[record].kind.domain(), &line[record].digest);
        (line[record].signature, line[record].key_id) = (signature.into(), other.id());
        let is_trusted = open_of(&line, at).is_ok();
        assert_eq!(is_trusted, record != at, "{record}");
    }
    // A cycle is refused.
    let key = SigningKey::from_seed(&[7; 32]).verifying_key();
    let (mut reader, _) = ChainReader::from_signed(&stored.signed[at], Some(&key), None).unwrap();
    reader.earlier(&stored.signed[at - 1]).unwrap();
    assert!(reader.earlier(&stored.signed[at]).is_err());
}

#[test]
fn the_values_of_a_checkpoint_are_those_of_its_digests() {
    use graph_core::record::{ChannelValue, ValueKind};
    let stored = beside(3, 10);
    let trusted = open(&stored, 5).unwrap();
    let mut values: Vec<ChannelValue> = Vec::new();
    for (channel, stamp) in &trusted.checkpoint.channels {
        let all = stored.signed[..=5].iter().flat_map(|signed| &signed.values);
        let of_channel = all.filter(|value| value.channel == *channel);
        values.extend(
            of_channel.filter(|value| (stamp.base..=stamp.version).contains(&value.version)).cloned(),
        );
    }
    let check = |values: &[ChannelValue]| trusted.checkpoint.check_values(values);
    assert_eq!(check(&values), Ok(()));
    let lacks = |channel: &str| {
        Err(ChainError::Value { sequence: trusted.checkpoint.sequence, channel: channel.to_owned() })
    };
    let (channel, place) = (values[1].channel.clone(), 1);
    let mut other = values.clone();
    other[place].json = "17".into();
    assert_eq!(check(&other), lacks(&channel));
    other.remove(place);
    assert_eq!(check(&other), lacks(&channel));
    let mut other = values.clone();
    other[place].version += 1;
    assert_eq!(check(&other), lacks(&channel));
    let mut other = values.clone();
    let more = ChannelValue { kind: ValueKind::Segment, json: "[]".into(), ..other[place].clone() };
    other.insert(place + 1, more);
    assert_eq!(check(&other), lacks(&channel));
}
