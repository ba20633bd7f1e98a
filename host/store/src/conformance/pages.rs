//! Division of lists into pages, by number and by size.

use graph_core::record::{RecordKind, SignedRecord};

use super::sample::{
    SubjectFactory, answers, checkpoint, commit, hook, segment, status, task, whole, with_run, within,
};
use crate::bounds::PAGE_BYTES;
use crate::store::{CheckpointStore, NumberedRecord, WantedChannel};

/// Reads all pages, and returns their entries and the size of the largest page.
fn all<T>(mut next: impl FnMut(Option<&T>) -> Vec<T>) -> (Vec<T>, usize) {
    let (mut found, mut largest) = (Vec::new(), 0);
    loop {
        let page = next(found.last());
        if page.is_empty() {
            return (found, largest);
        }
        largest = largest.max(page.len());
        found.extend(page);
    }
}

fn history(store: &dyn CheckpointStore, limit: usize) -> (Vec<NumberedRecord>, usize) {
    all(|last: Option<&NumberedRecord>| {
        let after = last.map_or(0, |last| last.before + last.record.events);
        store.history("r", after, limit).unwrap()
    })
}

pub fn a_page_ends_after_so_many_bytes(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = with_run(&*subject);
    // Three of these are more than a page, and each of the two at the end is more than a page by itself.
    let third = format!("\"{}\"", "x".repeat(usize::try_from(PAGE_BYTES).unwrap() * 2 / 5));
    let large = format!("\"{}\"", "y".repeat(usize::try_from(PAGE_BYTES).unwrap() + 1));
    let records: Vec<_> = (0..12)
        .map(|sequence| {
            let json = if sequence >= 10 { &large } else { &third };
            checkpoint("r", sequence, vec![whole("a", sequence, json)])
        })
        .collect();
    commit(&*store, "r", &records[..6]);
    records[6..].iter().for_each(|record| commit(&*store, "r", std::slice::from_ref(record)));
    let (found, largest) = all(|last: Option<&SignedRecord>| {
        store.checkpoints("r", "", last.map(|last| last.sequence), 256).unwrap()
    });
    assert!(found == records);
    assert_eq!(largest, 3);
    let (told, largest) = history(&*store, 256);
    assert!(told.iter().map(|numbered| &numbered.record).eq(&records));
    assert_eq!(largest, 3);
    // Channel values are not divided into pages.
    let values = store.values("r", "", &[WantedChannel { channel: "a", base: 11, version: 11 }]).unwrap();
    assert!(values == [whole("a", 11, &large)]);
}

pub fn pending_records_come_in_pages(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = with_run(&*subject);
    commit(&*store, "r", &[checkpoint("r", 0, vec![segment("log", 0, "[]")])]);
    let mut expected: Vec<SignedRecord> = Vec::new();
    let large = "z".repeat(usize::try_from(PAGE_BYTES).unwrap() / 2);
    for number in (0..40).rev() {
        // The records are written in several commits, and in another order than that of reading.
        let says = if number == 20 { &large } else { "x" };
        let batch = [
            task("r", 0, &number.to_string(), says),
            answers("r", 0, &number.to_string(), "yes"),
            hook("r", 0, &format!("h{number}"), "on"),
        ];
        commit(&*store, "r", &batch);
        expected.extend(batch);
    }
    let last = status("r", 0, "interrupted");
    commit(&*store, "r", std::slice::from_ref(&last));
    expected.push(last);
    expected.sort_by(|one, other| (one.kind, &one.task).cmp(&(other.kind, &other.task)));
    assert!(store.pending("r", "").unwrap() == expected);
    for limit in [1, 7, 1_000] {
        let (found, largest) = all(|last: Option<&SignedRecord>| {
            let after = last.map(|last| (last.kind, last.task.as_str()));
            store.pending_after("r", "", after, limit).unwrap()
        });
        assert!(found == expected, "{limit}");
        assert!(largest <= limit);
    }
    let answers = store.pending_after("r", "", Some((RecordKind::Answers, "zzz")), 1).unwrap();
    assert_eq!(answers[0].kind, RecordKind::Hook);
    assert_eq!(store.pending_after("r", "other", None, 9).unwrap(), []);
}

pub fn histories_of_many_namespaces_come_in_order(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = with_run(&*subject);
    let mut expected = 0;
    for round in 0..6 {
        for child in 0..20 {
            let name = format!("{round}.{child}");
            commit(&*store, "r", &[within(&name, checkpoint("r", 0, vec![whole("n", 0, "1")]))]);
            commit(
                &*store,
                "r",
                &[within(&name, checkpoint("r", 1, vec![])), within(&name, status("r", 1, "done"))],
            );
            expected += 3;
        }
        commit(&*store, "r", &[checkpoint("r", round, vec![])]);
        expected += 1;
    }
    for limit in [1, 17, 1_000] {
        let (found, _) = history(&*store, limit);
        assert_eq!(found.len(), expected);
        let mut next = 0;
        for numbered in &found {
            assert_eq!(numbered.before, next);
            next += numbered.record.events;
        }
        assert_eq!(next, store.history_length("r").unwrap());
    }
}
