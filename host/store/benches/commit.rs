//! The cost of a commit: in memory, and with SQLite in relation to one bare commit of the same bytes. The two kinds of
//! SQLite commits alternate, so that both sides see the same disk; the figures are medians.

use std::hint::black_box;
use std::time::{Duration, Instant};

use graph_core::record::SignedRecord;
use graph_store::conformance::sample::{acquire_run, checkpoint, run, segment, task, update, whole};
use graph_store::{BareDatabase, CheckpointStore, MemoryStore, SqliteOptions, SqliteStore, SyncMode};

/// Bytes of a checkpoint's text: about the size for a small graph.
const BODY: usize = 1_024;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn timed(work: impl FnOnce() -> Outcome<()>) -> Outcome<Duration> {
    let start = Instant::now();
    work()?;
    Ok(start.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn sized(mut record: SignedRecord) -> SignedRecord {
    record.body = "x".repeat(BODY).into();
    record
}

/// Returns the record that a superstep of one task commits under `sync`: a checkpoint with a changed value and a grown
/// list.
fn boundary(sequence: u64) -> SignedRecord {
    let values = if sequence == 0 {
        vec![whole("log", 0, "[]"), whole("count", 0, "0")]
    } else {
        vec![segment("log", sequence, r#"["one more line"]"#), whole("count", sequence, "12345")]
    };
    sized(checkpoint("r", sequence, values))
}

/// Returns the bytes of a batch that any store has to write.
fn bytes(batch: &[SignedRecord]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for record in batch {
        bytes.extend_from_slice(record.body.as_bytes());
        bytes.extend_from_slice(record.digest.as_bytes());
        bytes.extend_from_slice(record.key_id.as_bytes());
        bytes.extend_from_slice(&record.signature.to_bytes());
        for value in &record.values {
            bytes.extend_from_slice(value.channel.as_bytes());
            bytes.extend_from_slice(value.json.as_bytes());
        }
    }
    bytes
}

fn memory() -> Outcome<()> {
    const COUNT: u32 = 100_000;
    for (what, values) in [("a checkpoint", false), ("a checkpoint with two values", true)] {
        let store = MemoryStore::new();
        store.create_run(&run("r"))?;
        let guard = acquire_run(&store, "r");
        let batches: Vec<_> = (0..u64::from(COUNT))
            .map(|sequence| {
                [if values { boundary(sequence) } else { sized(checkpoint("r", sequence, Vec::new())) }]
            })
            .collect();
        let start = Instant::now();
        for batch in &batches {
            store.commit(&guard, black_box(batch), &update(1), SyncMode::Normal)?;
        }
        println!("memory  {what:<36} {:>9.3} µs", start.elapsed().as_secs_f64() * 1e6 / f64::from(COUNT));
    }
    Ok(())
}

fn sqlite(
    what: &str,
    synchronous: SyncMode,
    count: u64,
    batch: impl Fn(u64) -> Vec<SignedRecord>,
) -> Outcome<()> {
    let folder =
        tempfile::tempdir_in(std::env::var_os("BENCH_DIR").map_or_else(std::env::temp_dir, Into::into))?;
    let store = SqliteStore::open(&folder.path().join("runs.db"), SqliteOptions::default())?;
    let bare = BareDatabase::create(&folder.path().join("bare.db"))?;
    bare.set_synchronous(synchronous)?;
    store.create_run(&run("r"))?;
    let guard = acquire_run(&store, "r");
    store.commit(&guard, &[boundary(0)], &update(0), synchronous)?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for sequence in 1..=count {
        let batch = batch(sequence);
        let bytes = bytes(&batch);
        ours.push(timed(|| Ok(store.commit(&guard, &batch, &update(sequence), synchronous)?))?);
        theirs.push(timed(|| Ok(bare.commit(&bytes)?))?);
    }
    let (ours, theirs) = (median(ours).as_secs_f64() * 1e6, median(theirs).as_secs_f64() * 1e6);
    println!(
        "{synchronous:?}\t{what:<36} {ours:>9.1} µs   bare {theirs:>9.1} µs   ratio {:.2}",
        ours / theirs
    );
    Ok(())
}

fn main() -> Outcome<()> {
    memory()?;
    for (synchronous, count) in [(SyncMode::Normal, 4_000), (SyncMode::Full, 400)] {
        sqlite("a checkpoint with two values", synchronous, count, |sequence| vec![boundary(sequence)])?;
        sqlite("and the ten tasks that it voids", synchronous, count, |sequence| {
            let tasks =
                (0..10).map(|number| sized(task("r", sequence - 1, &format!("{sequence}.{number}"), "x")));
            tasks.chain([boundary(sequence)]).collect()
        })?;
    }
    Ok(())
}
