//! Compares a store with the one in memory, on random batches.

use graph_core::record::{RecordKind, SignedRecord, Status};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::sample::{
    SubjectFactory, acquire_run, answers, checkpoint, everything, hook, late, run, segment, status, task,
    update, whole, within,
};
use crate::memory::MemoryStore;
use crate::run::{Change, RunUpdate};
use crate::store::{CheckpointPosition, CheckpointStore, SyncMode, WantedChannel};

const RUNS: [&str; 2] = ["r", "s"];
const NAMESPACES: [&str; 2] = ["", "child"];
const CHANNELS: [&str; 3] = ["a", "b", "c"];

/// A randomly drawn record. Its sequence number is relative to that of the newest checkpoint, so that most batches are
/// in order.
#[derive(Clone, Debug)]
struct Draft {
    kind: RecordKind,
    namespace: usize,
    ahead: i64,
    task: usize,
    says: u8,
    values: Vec<(usize, bool)>,
}

#[derive(Clone, Debug)]
struct Step {
    run: usize,
    batch: Vec<Draft>,
    update: RunUpdate,
    other_handle: bool,
    /// True if the run is released and acquired again before this batch.
    taken_up: bool,
}

fn draft() -> impl Strategy<Value = Draft> {
    let kind = prop_oneof![
        3 => Just(RecordKind::Checkpoint),
        4 => Just(RecordKind::Task),
        2 => Just(RecordKind::Answers),
        2 => Just(RecordKind::Hook),
        1 => Just(RecordKind::Status),
    ];
    let ahead = prop_oneof![30 => Just(0_i64), 1 => -2..3_i64];
    (kind, 0..NAMESPACES.len(), ahead, 0..3_usize, any::<u8>(), vec((0..CHANNELS.len(), any::<bool>()), 0..3))
        .prop_map(|(kind, namespace, ahead, task, says, values)| Draft {
            kind,
            namespace,
            ahead,
            task,
            says,
            values,
        })
}

fn change() -> impl Strategy<Value = RunUpdate> {
    let result = prop_oneof![
        Just(Change::Keep),
        Just(Change::Clear),
        any::<u8>().prop_map(|number| Change::Set(number.to_string().into()))
    ];
    (0..9_000_u64, proptest::option::of(0..9_u64), result, any::<bool>()).prop_map(
        |(at, step, result, failed)| {
            let status = failed.then_some(Status::Failed);
            RunUpdate { status, step, result, ..update(at) }
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    (0..RUNS.len(), vec(draft(), 0..8), change(), any::<bool>(), any::<bool>()).prop_map(
        |(run, batch, update, other_handle, taken_up)| Step { run, batch, update, other_handle, taken_up },
    )
}

/// Builds records from drafts, with numbers that follow the present state of the run's namespaces.
fn records(store: &dyn CheckpointStore, run: &str, drafts: &[Draft]) -> Vec<SignedRecord> {
    let mut newest = NAMESPACES.map(|namespace| {
        let newest = store.checkpoint(run, namespace, CheckpointPosition::Latest).unwrap();
        newest.map_or(-1, |newest| i64::try_from(newest.sequence).unwrap())
    });
    let mut records = Vec::new();
    for draft in drafts {
        let newest = &mut newest[draft.namespace];
        let next = *newest + i64::from(draft.kind == RecordKind::Checkpoint) + draft.ahead;
        let sequence = u64::try_from(next.max(0)).unwrap();
        let (name, says) = (draft.task.to_string(), draft.says.to_string());
        let record = match draft.kind {
            RecordKind::Task => task(run, sequence, &name, &says),
            RecordKind::Answers => answers(run, sequence, &name, &says),
            RecordKind::Hook => hook(run, sequence, &name, &says),
            RecordKind::Status => status(run, sequence, &says),
            RecordKind::Checkpoint => {
                *newest = (*newest).max(next);
                let values = draft.values.iter().map(|&(channel, grows)| {
                    let channel = CHANNELS[channel];
                    if grows {
                        segment(channel, sequence, &format!("[{says}]"))
                    } else {
                        whole(channel, sequence, &says)
                    }
                });
                checkpoint(run, sequence, values.collect())
            }
        };
        records.push(within(NAMESPACES[draft.namespace], record));
    }
    records
}

/// Checks that both stores return the same values for every channel, base and version.
fn compare_values(one: &dyn CheckpointStore, two: &dyn CheckpointStore, run: &str) {
    for namespace in NAMESPACES {
        let newest = one
            .checkpoint(run, namespace, CheckpointPosition::Latest)
            .unwrap()
            .map_or(0, |newest| newest.sequence);
        for channel in CHANNELS {
            for base in 0..=newest {
                let wanted = [
                    WantedChannel { channel, base, version: newest },
                    WantedChannel { channel, base, version: base },
                ];
                for wanted in wanted {
                    let wanted = [wanted];
                    assert_eq!(one.values(run, namespace, &wanted), two.values(run, namespace, &wanted));
                }
            }
        }
        for step in 0..=newest + 1 {
            let at = CheckpointPosition::Step(step);
            assert_eq!(one.checkpoint(run, namespace, at), two.checkpoint(run, namespace, at));
        }
    }
}

pub fn random_batches_agree_with_the_memory_store(fresh: SubjectFactory<'_>) {
    let config = Config { cases: 96, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config).run(&vec(step(), 1..12), |steps| {
        let subject = fresh();
        let handles = [subject.open(), subject.open()];
        let model = MemoryStore::new();
        for id in RUNS {
            handles[0].create_run(&run(id)).unwrap();
            model.create_run(&run(id)).unwrap();
        }
        let mut guards = RUNS.map(|id| Some([acquire_run(&*handles[0], id), acquire_run(&model, id)]));
        for step in steps {
            let (id, store) = (RUNS[step.run], &*handles[usize::from(step.other_handle)]);
            let batch = records(&model, id, &step.batch);
            let mut former = None;
            if step.taken_up {
                former = guards[step.run].take().map(|guards| guards.map(|guard| guard.fence()));
                guards[step.run] = Some([acquire_run(store, id), acquire_run(&model, id)]);
            }
            if let Some([fence, of_model]) = former {
                let refused = store.commit(&late(id, fence), &batch, &step.update, SyncMode::Normal);
                let expected = model.commit(&late(id, of_model), &batch, &step.update, SyncMode::Normal);
                prop_assert_eq!(refused, expected);
            }
            let Some([guard, of_model]) = &guards[step.run] else { continue };
            prop_assert_eq!(guard.fence().head, of_model.fence().head);
            let expected = model.commit(of_model, &batch, &step.update, SyncMode::Normal);
            let result = store.commit(guard, &batch, &step.update, SyncMode::Normal);
            prop_assert_eq!(result, expected);
            prop_assert_eq!(guard.fence().head, of_model.fence().head);
            prop_assert_eq!(everything(store, id, &NAMESPACES), everything(&model, id, &NAMESPACES));
        }
        for id in RUNS {
            compare_values(&*handles[0], &model, id);
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}
