//! Supersteps that wait for the disk, over the minimum cost of such a wait.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Context as _, Result};
use graph_driver::WriteMode;
use graph_engine::PreparedNode;
use graph_store::{BareDatabase, CheckpointStore, MemoryStore, SqliteOptions, SqliteStore, SyncMode};

use super::{Executor, Pair, ROUNDS, STEPS, Table, micros, supersteps, supersteps_by};

/// Supersteps of one measured run.
const DURABLE_STEPS: u32 = 100;

/// Bare commits of the bytes of a superstep.
pub(super) struct BareCommits {
    database: Mutex<BareDatabase>,
    bytes: Vec<u8>,
}

impl BareCommits {
    pub(super) fn commit(&self) -> Result<()> {
        let database = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(database.commit(&self.bytes)?)
    }
}

/// Measures a superstep with SQLite over one bare commit of the same bytes at the same `synchronous`.
pub(super) async fn measure(node: &PreparedNode, folder: &Path, table: &mut Table) -> Result<()> {
    let store: Arc<dyn CheckpointStore> =
        Arc::new(SqliteStore::open(&folder.join("runs.db"), SqliteOptions::default())?);
    for (what, durability, synchronous, limit) in [
        ("a superstep, SQLite, durability sync", "sync", SyncMode::Full, Some(1.5)),
        ("a superstep, SQLite, durability async", "async", SyncMode::Normal, None),
    ] {
        let bytes = bytes_of_a_step(node, durability).await?;
        let database = BareDatabase::create(&folder.join(format!("{durability}.db")))?;
        database.set_synchronous(synchronous)?;
        let bare = Arc::new(BareCommits { database: Mutex::new(database), bytes });
        // The floor: a superstep in memory with one bare commit in it cannot be faster.
        let (mut pair, mut floor) = (Pair::default(), Pair::default());
        // The speed of a disk varies: with short turns, both sides see the same speed.
        for round in 0..ROUNDS * 4 {
            let start = Instant::now();
            for _ in 0..DURABLE_STEPS {
                bare.commit()?;
            }
            pair.base.push(start.elapsed() / DURABLE_STEPS);
            floor.base.extend(pair.base.last());
            let executor = Executor { node: node.clone(), bare: Some(Arc::clone(&bare)), is_brief: true };
            let memory = Arc::new(MemoryStore::new());
            let run = format!("floor{round}");
            floor
                .ours
                .push(supersteps_by(executor, memory, &run, "sync", WriteMode::Inline, DURABLE_STEPS).await?);
            let run = format!("{durability}{round}");
            pair.ours.push(
                supersteps(node, Arc::clone(&store), &run, durability, WriteMode::Thread, DURABLE_STEPS)
                    .await?,
            );
        }
        table.row(what, "one bare SQLite commit of its bytes", &pair, limit);
        if synchronous == SyncMode::Full {
            // The rest of a superstep is computation, which does not depend on the disk.
            let added = pair.ours_median().saturating_sub(pair.base_median());
            table.notes.push(format!(
                "to a bare commit at FULL, a superstep adds {}: that is half of a commit that takes {}",
                micros(added),
                micros(added * 2)
            ));
            table.row("the same in memory, with that bare commit in it", "that bare commit", &floor, None);
        }
    }
    Ok(())
}

/// Returns the bytes that one superstep of the loop stores.
pub(super) async fn bytes_of_a_step(node: &PreparedNode, durability: &str) -> Result<Vec<u8>> {
    let store: Arc<dyn CheckpointStore> = Arc::new(MemoryStore::new());
    supersteps(node, Arc::clone(&store), "bytes", durability, WriteMode::Inline, STEPS).await?;
    let records = store.checkpoints("bytes", "", Some(u64::from(STEPS) / 2), 1)?;
    let record = records.first().context("a run of the loop has checkpoints")?;
    let mut bytes = record.body.as_bytes().to_vec();
    bytes.extend_from_slice(record.digest.as_bytes());
    bytes.extend_from_slice(record.key_id.as_bytes());
    bytes.extend_from_slice(&record.signature.to_bytes());
    for value in &record.values {
        bytes.extend_from_slice(value.channel.as_bytes());
        bytes.extend_from_slice(value.json.as_bytes());
    }
    Ok(bytes)
}
