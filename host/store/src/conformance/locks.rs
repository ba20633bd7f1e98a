//! Locks: one process at a time holds a run.

use std::sync::Barrier;
use std::thread;

use super::sample::{SubjectFactory, owner, run, with_run, write};
use crate::error::{AcquireError, ReadError};
use crate::store::{CheckpointStore, Holder};

pub fn a_held_run_is_refused(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let (one, two) = (with_run(&*subject), subject.open());
    one.create_run(&run("s")).unwrap();
    let guard = one.acquire("r", &owner(1)).unwrap();
    assert_eq!((guard.run(), guard.abandoned()), ("r", None));
    let held = || AcquireError::Held { run: "r".to_owned(), holder: Some(owner(1)) };
    assert_eq!(one.acquire("r", &owner(2)).unwrap_err(), held());
    assert_eq!(two.acquire("r", &owner(3)).unwrap_err(), held());
    assert_eq!(two.holder("r").unwrap(), Holder::Known(owner(1)));
    let message = held().to_string();
    assert_eq!(
        message,
        "run r is held by process 1 on here since 1970-01-01T00:00:00.001Z: wait until it is done, or stop it"
    );
    // Another run can be acquired, and every process may read.
    let other = two.acquire("s", &owner(3)).unwrap();
    assert_eq!(one.holder("s").unwrap(), Holder::Known(owner(3)));
    assert!(two.run("r").unwrap().is_some());
    drop((guard, other));
}

pub fn a_dropped_guard_gives_the_run_back(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let (one, two) = (with_run(&*subject), subject.open());
    for pid in 1..4 {
        let (taker, other) = if pid % 2 == 0 { (&one, &two) } else { (&two, &one) };
        assert_eq!(other.holder("r").unwrap(), Holder::Nobody);
        let guard = taker.acquire("r", &owner(pid)).unwrap();
        assert_eq!(guard.abandoned(), None);
        assert_eq!(other.holder("r").unwrap(), Holder::Known(owner(pid)));
        write(&**taker, &guard, &[]);
        drop(guard);
    }
    // A guard outlives the handle that issued it.
    let guard = one.acquire("r", &owner(9)).unwrap();
    drop(one);
    assert_eq!(two.holder("r").unwrap(), Holder::Known(owner(9)));
    drop(guard);
    assert_eq!(two.holder("r").unwrap(), Holder::Nobody);
}

pub fn one_of_many_threads_gets_the_run(fresh: SubjectFactory<'_>) {
    const THREADS: u32 = 8;
    let subject = fresh();
    let store = with_run(&*subject);
    let handles: Vec<Box<dyn CheckpointStore>> = (0..THREADS).map(|_| subject.open()).collect();
    for _ in 0..10 {
        let (start, end) = (Barrier::new(THREADS as usize), Barrier::new(THREADS as usize));
        let taken = thread::scope(|scope| {
            let threads: Vec<_> = (1..)
                .zip(&handles)
                .map(|(pid, handle)| {
                    let (start, end) = (&start, &end);
                    scope.spawn(move || {
                        start.wait();
                        let guard = handle.acquire("r", &owner(pid));
                        end.wait();
                        guard.is_ok()
                    })
                })
                .collect();
            threads.into_iter().filter_map(|thread| thread.join().unwrap().then_some(())).count()
        });
        assert_eq!(taken, 1);
        assert_eq!(store.holder("r").unwrap(), Holder::Nobody);
    }
}

pub fn unknown_runs_cannot_be_held(fresh: SubjectFactory<'_>) {
    let subject = fresh();
    let store = subject.open();
    let refused = store.acquire("r", &owner(1)).unwrap_err();
    assert_eq!(refused, AcquireError::NotFound { run: "r".to_owned() });
    assert_eq!(store.holder("r"), Err(ReadError::NotFound { run: "r".to_owned() }));
}
