//! Results of reads, and their order.

use graph_core::digest::Digest;
use graph_core::record::{RecordSignature, SignedRecord, ValueKind};
use graph_core::trust::SigningKey;

use super::sample::{SubjectFactory, checkpoint, commit, run, segment, whole, with_run};
use crate::error::ReadError;
use crate::store::{CheckpointPosition, WantedChannel};

pub fn checkpoints_are_found_by_sequence_and_step(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = with_run(&*subject);
    assert_eq!(store.checkpoint("r", "", CheckpointPosition::Latest).unwrap(), None);
    let at = |sequence, step| SignedRecord { step, ..checkpoint("r", sequence, vec![]) };
    // Steps 1 and 2 have two boundaries each, as when inputs arrive in between.
    let all = [at(0, 0), at(1, 1), at(3, 1), at(4, 2), at(9, 2), at(10, 3)];
    commit(&*store, "r", &all);
    let find = |at| store.checkpoint("r", "", at).unwrap();
    for record in &all {
        assert_eq!(find(CheckpointPosition::Sequence(record.sequence)).as_ref(), Some(record));
    }
    for absent in [2, 5, 11, u64::MAX] {
        assert_eq!(find(CheckpointPosition::Sequence(absent)), None);
    }
    assert_eq!(find(CheckpointPosition::Latest), Some(at(10, 3)));
    assert_eq!(find(CheckpointPosition::Step(0)), Some(at(0, 0)));
    assert_eq!(find(CheckpointPosition::Step(1)), Some(at(3, 1)));
    assert_eq!(find(CheckpointPosition::Step(2)), Some(at(9, 2)));
    assert_eq!(find(CheckpointPosition::Step(3)), Some(at(10, 3)));
    assert_eq!(find(CheckpointPosition::Step(4)), None);
    assert_eq!(find(CheckpointPosition::Step(u64::MAX)), None);
    let within = |step, first, last| find(CheckpointPosition::StepWithin { step, first, last });
    assert_eq!(within(1, 0, 10), Some(at(3, 1)));
    assert_eq!(within(1, 0, 3), Some(at(3, 1)));
    assert_eq!(within(1, 0, 2), Some(at(1, 1)));
    assert_eq!(within(1, 2, 2), None);
    assert_eq!(within(1, 4, u64::MAX), None);
    assert_eq!(within(2, 9, u64::MAX), Some(at(9, 2)));
    assert_eq!(within(u64::MAX, 0, u64::MAX), None);
}

pub fn namespaces_are_listed(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = with_run(&*subject);
    assert_eq!(store.namespaces("r").unwrap(), Vec::<String>::new());
    let at = |namespace: &str, sequence| SignedRecord {
        namespace: namespace.to_owned(),
        ..checkpoint("r", sequence, vec![])
    };
    let names = ["3.10", "", "3.0/1.0", "3.0", "3.0@4"];
    for sequence in 0..3 {
        commit(&*store, "r", &names.map(|name| at(name, sequence)));
    }
    assert_eq!(store.namespaces("r").unwrap(), ["", "3.0", "3.0/1.0", "3.0@4", "3.10"]);
}

pub fn pages_follow_each_other(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = with_run(&*subject);
    let all: Vec<_> = (0..25)
        .map(|number| {
            let sequence = number * 3 + 1;
            checkpoint(
                "r",
                sequence,
                vec![whole("a", sequence, &number.to_string()), whole("b", sequence, "null")],
            )
        })
        .collect();
    commit(&*store, "r", &all);
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = store.checkpoints("r", "", after, 4).unwrap();
        assert!(page.len() <= 4);
        let Some(last) = page.last() else { break };
        after = Some(last.sequence);
        found.extend(page);
    }
    assert_eq!(found, all);
    assert_eq!(store.checkpoints("r", "", None, 0).unwrap(), []);
    assert_eq!(store.checkpoints("r", "", Some(1), 1).unwrap(), all[1..2]);
    assert_eq!(store.checkpoints("r", "", Some(u64::MAX), 1).unwrap(), []);
    assert_eq!(store.checkpoints("r", "", None, usize::MAX).unwrap(), all);
    let bare: Vec<_> = all.iter().map(|record| checkpoint("r", record.sequence, vec![])).collect();
    assert_eq!(store.checkpoints_alone("r", "", None, usize::MAX).unwrap(), bare);
    assert_eq!(store.checkpoints_alone("r", "", Some(4), 2).unwrap(), bare[2..4]);
    let (mut found, mut before) = (Vec::new(), None);
    loop {
        let page = store.checkpoints_before("r", "", before, 4).unwrap();
        assert!(page.len() <= 4);
        let Some(last) = page.last() else { break };
        before = Some(last.sequence);
        found.extend(page);
    }
    found.reverse();
    assert_eq!(found, bare);
    assert_eq!(store.checkpoints_before("r", "", None, 0).unwrap(), []);
    assert_eq!(store.checkpoints_before("r", "", Some(5), 1).unwrap(), bare[1..2]);
    assert_eq!(store.checkpoints_before("r", "", Some(4), 1).unwrap(), bare[..1]);
    assert_eq!(store.checkpoints_before("r", "", Some(1), 1).unwrap(), []);
    assert_eq!(store.checkpoints_before("r", "", Some(0), 1).unwrap(), []);
    assert_eq!(store.checkpoints_before("r", "", Some(u64::MAX), 1).unwrap(), bare[24..]);
    // A single checkpoint comes without its values.
    let bare = store.checkpoint("r", "", CheckpointPosition::Sequence(1)).unwrap().unwrap();
    assert_eq!(bare, checkpoint("r", 1, vec![]));
}

/// Tests that a checkpoint includes earlier changes. Under `durability: exit` the boundaries before the end are not
/// written: its checkpoint contains the values that they changed.
pub fn a_checkpoint_brings_what_came_before_it(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = with_run(&*subject);
    let values =
        vec![whole("log", 1, "[1]"), whole("n", 2, "2"), segment("log", 2, "[2]"), segment("log", 3, "[3]")];
    commit(&*store, "r", &[checkpoint("r", 3, values)]);
    let log = [whole("log", 1, "[1]"), segment("log", 2, "[2]"), segment("log", 3, "[3]")];
    let get =
        |channel, base, version| store.values("r", "", &[WantedChannel { channel, base, version }]).unwrap();
    assert_eq!(get("log", 1, 3), log);
    assert_eq!(get("n", 2, 2), [whole("n", 2, "2")]);
    let read = store.checkpoints("r", "", None, 10).unwrap();
    let values: Vec<_> = log.into_iter().chain([whole("n", 2, "2")]).collect();
    assert_eq!(read[0].values, values);
    commit(&*store, "r", &[checkpoint("r", 4, vec![segment("log", 4, "[4]")])]);
    assert_eq!(get("log", 1, 4).len(), 4);
}

pub fn values_are_put_together(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = with_run(&*subject);
    let large = format!("\"{}\"", "x".repeat(3_000_000));
    commit(
        &*store,
        "r",
        &[
            checkpoint("r", 0, vec![whole("log", 0, "[]"), whole("big", 0, &large), whole("n", 0, "0")]),
            checkpoint("r", 1, vec![segment("log", 1, "[1]"), whole("n", 1, "1")]),
            checkpoint("r", 2, vec![whole("n", 2, "2")]),
            checkpoint("r", 3, vec![segment("log", 3, "[3,3]")]),
            checkpoint("r", 4, vec![whole("log", 4, "[9]")]),
            checkpoint("r", 5, vec![segment("log", 5, "[5]")]),
        ],
    );
    let get =
        |channel, base, version| store.values("r", "", &[WantedChannel { channel, base, version }]).unwrap();
    assert_eq!(get("log", 0, 0), [whole("log", 0, "[]")]);
    assert_eq!(get("log", 0, 1), [whole("log", 0, "[]"), segment("log", 1, "[1]")]);
    let third = [whole("log", 0, "[]"), segment("log", 1, "[1]"), segment("log", 3, "[3,3]")];
    assert_eq!(get("log", 0, 3), third);
    assert_eq!(get("log", 4, 5), [whole("log", 4, "[9]"), segment("log", 5, "[5]")]);
    assert_eq!(get("n", 1, 1), [whole("n", 1, "1")]);
    assert_eq!(get("big", 0, 0), [whole("big", 0, &large)]);
    let wanted = [
        WantedChannel { channel: "n", base: 2, version: 2 },
        WantedChannel { channel: "log", base: 4, version: 5 },
        WantedChannel { channel: "n", base: 0, version: 0 },
    ];
    let several = store.values("r", "", &wanted).unwrap();
    assert_eq!(
        several,
        [whole("n", 2, "2"), whole("log", 4, "[9]"), segment("log", 5, "[5]"), whole("n", 0, "0")]
    );
    assert_eq!(store.values("r", "", &[]).unwrap(), []);
    assert!(several.iter().any(|value| value.kind == ValueKind::Segment));
}

pub fn missing_values_are_errors(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = with_run(&*subject);
    commit(
        &*store,
        "r",
        &[
            checkpoint("r", 0, vec![whole("a", 0, "[]")]),
            checkpoint("r", 1, vec![segment("a", 1, "[1]")]),
            checkpoint("r", 2, vec![whole("a", 2, "[]"), segment("orphan", 2, "[]")]),
        ],
    );
    let get = |run, namespace, channel, base, version| {
        store.values(run, namespace, &[WantedChannel { channel, base, version }]).unwrap_err()
    };
    let missing = |run: &str, channel: &str, version| ReadError::MissingValue {
        run: run.to_owned(),
        channel: channel.to_owned(),
        version,
    };
    assert_eq!(get("r", "", "b", 0, 0), missing("r", "b", 0));
    assert_eq!(get("r", "", "a", 1, 1), missing("r", "a", 1));
    assert_eq!(get("r", "", "a", 0, 3), missing("r", "a", 0));
    assert_eq!(get("r", "", "a", 2, 3), missing("r", "a", 3));
    assert_eq!(get("r", "", "a", 2, 1), missing("r", "a", 2));
    assert_eq!(get("r", "", "orphan", 2, 2), missing("r", "orphan", 2));
    assert_eq!(get("r", "", "a", u64::MAX, u64::MAX), missing("r", "a", u64::MAX));
    assert_eq!(get("r", "n", "a", 0, 0), missing("r", "a", 0));
    assert_eq!(get("s", "", "a", 0, 0), missing("s", "a", 0));
}

pub fn nothing_is_found_in_an_unknown_run(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = with_run(&*subject);
    assert_eq!(store.run("s").unwrap(), None);
    assert_eq!(store.checkpoint("s", "", CheckpointPosition::Latest).unwrap(), None);
    assert_eq!(store.checkpoints("s", "", None, 1).unwrap(), []);
    assert_eq!(store.checkpoints_alone("s", "", None, 1).unwrap(), []);
    assert_eq!(store.checkpoints_before("s", "", None, 1).unwrap(), []);
    assert_eq!(store.pending("s", "").unwrap(), []);
    assert_eq!(store.values("s", "", &[]).unwrap(), []);
}

pub fn texts_come_back_byte_for_byte(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = subject.open();
    let odd = "r'\"; DROP TABLE runs; --é\u{200d}\u{10ffff}";
    store.create_run(&run("r")).unwrap();
    let key = SigningKey::from_seed(&[9; 32]);
    let body: std::sync::Arc<str> = "{\"nul\":\"\u{0}\",\"é\":18446744073709551615}".into();
    let digest = Digest::of_bytes(body.as_bytes());
    // The signature is that of a record that was signed together with others: 64 bytes and two steps of a path.
    let signature = [[1; 64].as_slice(), &[0; 33], &[1; 33]].concat();
    let signature = RecordSignature::from_bytes(&signature).unwrap();
    let record = SignedRecord {
        namespace: odd.to_owned(),
        signature: signature.clone(),
        key_id: key.id(),
        body,
        digest,
        values: vec![whole(odd, 2, "\"\u{0}'\"")],
        ..checkpoint("r", 2, vec![])
    };
    commit(&*store, "r", std::slice::from_ref(&record));
    let found = subject.open().checkpoints("r", odd, None, 5).unwrap();
    assert_eq!(found, [record]);
    let found = &found[0];
    assert_eq!(found.signature, signature);
    let values = store.values("r", odd, &[WantedChannel { channel: odd, base: 2, version: 2 }]).unwrap();
    assert_eq!(values, [whole(odd, 2, "\"\u{0}'\"")]);
}
