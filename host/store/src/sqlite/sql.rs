//! Every statement, in one place, so that a test can ask for the plan of each.

pub(super) const BEGIN: &str = "BEGIN IMMEDIATE";
pub(super) const COMMIT: &str = "COMMIT";
pub(super) const ROLLBACK: &str = "ROLLBACK";
/// One state of the file for several statements that read.
pub(super) const LOOK: &str = "SAVEPOINT look";
pub(super) const LOOKED: &str = "RELEASE look";
/// It changes when another connection writes to the file.
pub(super) const DATA_VERSION: &str = "PRAGMA data_version";

macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $text:expr;)*) => {
        $($(#[$doc])* pub(super) const $name: &str = $text;)*

        /// All of them with their names.
        #[cfg(test)]
        pub(super) const ALL: &[(&str, &str)] = &[$((stringify!($name), $name)),*];
    };
}

macro_rules! run_columns {
    () => {
        "run_id, graph_id, graph_path, parent_id, root_id, continuation_of, continuation_id, chain_root_id, status, \
         pid, step, fuel, result, error, graph, inputs, manifest, pins, seed, key, durability, max_steps, created_at, \
         updated_at"
    };
}

macro_rules! select_checkpoint {
    () => {
        "SELECT c.sequence, c.step, c.digest, c.key, c.signature, c.body, c.first_value, c.value_count, c.run, c.event, c.events \
         FROM runs r JOIN checkpoints c ON c.run = r.id WHERE r.run_id = ?1 AND c.namespace = ?2"
    };
}

statements! {
    INSERT_RUN = concat!(
        "INSERT INTO runs (", run_columns!(), ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, \
         ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24) ON CONFLICT (run_id) DO NOTHING"
    );
    UPDATE_RUN = "UPDATE runs SET updated_at = ?2, status = ifnull(?3, status), step = ifnull(?4, step), \
         fuel = ifnull(?5, fuel), graph = ifnull(?6, graph), inputs = ifnull(?7, inputs), \
         manifest = ifnull(?8, manifest), pins = ifnull(?9, pins), pid = iif(?10, ?11, pid), \
         result = iif(?12, ?13, result), error = iif(?14, ?15, error), \
         continuation_id = iif(?16, ?17, continuation_id), max_steps = iif(?18, ?19, max_steps) \
         WHERE run_id = ?1 RETURNING id";
    RUN = concat!("SELECT ", run_columns!(), " FROM runs WHERE run_id = ?1");
    RUN_KEY = "SELECT id FROM runs WHERE run_id = ?1";
    RUNS = concat!(
        "SELECT ", run_columns!(), " FROM runs WHERE (?1 IS NULL OR status = ?1) AND (?2 IS NULL OR graph_id = ?2) \
         ORDER BY id DESC LIMIT ?3"
    );
    RUNS_OF_ROOT = concat!(
        "SELECT ", run_columns!(), " FROM runs WHERE (?1 IS NULL OR status = ?1) AND (?2 IS NULL OR graph_id = ?2) \
         AND root_id = ?4 ORDER BY id DESC LIMIT ?3"
    );
    LAST_ROOT = "SELECT run_id FROM runs WHERE parent_id IS NULL ORDER BY id DESC LIMIT 1";
    RUNS_BEGINNING = "SELECT run_id FROM runs WHERE run_id >= ?1 AND run_id < ?1 || char(0x10ffff) ORDER BY run_id LIMIT ?2";

    HEAD = "SELECT sequence FROM checkpoints WHERE run = ?1 AND namespace = ?2 ORDER BY sequence DESC LIMIT 1";
    INSERT_CHECKPOINT = "INSERT INTO checkpoints (run, namespace, sequence, step, first_value, value_count, digest, key, \
         signature, body, event, events) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
    INSERT_HISTORY = "INSERT INTO history (run, event, events, namespace, kind, sequence, step, digest, key, signature, body) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    INSERT_VALUE = "INSERT INTO channel_values (run, namespace, channel, version, segment, json) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    PLACED = "SELECT last FROM placed WHERE one = 1";
    PLACE_VALUES = "INSERT INTO value_places (run, namespace, channel, version, id) \
         SELECT run, namespace, channel, version, id FROM channel_values WHERE id > ?1";
    LAST_VALUE = "SELECT ifnull(max(id), 0) FROM channel_values";
    SET_PLACED = "UPDATE placed SET last = ?1 WHERE one = 1";
    PUT_PENDING = "INSERT INTO pending (run, namespace, kind, task, sequence, step, digest, key, signature, body, events) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) ON CONFLICT (run, namespace, kind, task) DO UPDATE SET \
         sequence = excluded.sequence, step = excluded.step, digest = excluded.digest, key = excluded.key, \
         signature = excluded.signature, body = excluded.body, events = excluded.events";
    VOID_PENDING = "DELETE FROM pending WHERE run = ?1 AND namespace = ?2";

    CHECKPOINT_LATEST = concat!(select_checkpoint!(), " ORDER BY c.sequence DESC LIMIT 1");
    CHECKPOINT_AT_SEQUENCE = concat!(select_checkpoint!(), " AND c.sequence = ?3");
    /// The index answers for the step, so that no row is read but the one wanted.
    CHECKPOINT_AT_STEP = concat!(select_checkpoint!(), " AND c.step = ?3 ORDER BY c.sequence DESC LIMIT 1");
    CHECKPOINTS_AFTER = concat!(select_checkpoint!(), " AND c.sequence > ?3 ORDER BY c.sequence LIMIT ?4");
    VALUES_OF_CHECKPOINT = "SELECT channel, version, segment, json FROM channel_values \
         WHERE id >= ?1 AND id < ?2 AND run = ?3 AND namespace = ?4 AND version <= ?5 ORDER BY id";
    PLACED_VALUES_OF_CHANNEL = "SELECT v.channel, v.version, v.segment, v.json \
         FROM runs r CROSS JOIN value_places p CROSS JOIN channel_values v \
         WHERE r.run_id = ?1 AND p.run = r.id AND p.namespace = ?2 AND p.channel = ?3 AND p.version BETWEEN ?4 AND ?5 \
         AND v.id = p.id AND v.run = p.run AND v.namespace = p.namespace AND v.channel = p.channel \
         AND v.version = p.version ORDER BY p.version";
    /// Of one channel the later value has the higher number: what a removal of checkpoints has moved is placed at once.
    NEW_VALUES_OF_CHANNEL = "SELECT v.channel, v.version, v.segment, v.json FROM runs r CROSS JOIN channel_values v \
         WHERE r.run_id = ?1 AND v.id > ?6 AND v.run = r.id AND v.namespace = ?2 AND v.channel = ?3 \
         AND v.version BETWEEN ?4 AND ?5 ORDER BY v.id";
    PENDING = "SELECT p.kind, p.sequence, p.step, p.task, p.digest, p.key, p.signature, p.body, p.events \
         FROM runs r JOIN pending p ON p.run = r.id WHERE r.run_id = ?1 AND p.namespace = ?2";

    /// The first namespace of a run at or after a name.
    NAMESPACE_FROM = "SELECT c.namespace FROM runs r JOIN checkpoints c ON c.run = r.id \
         WHERE r.run_id = ?1 AND c.namespace >= ?2 ORDER BY c.namespace LIMIT 1";
    /// The newest checkpoint up to a sequence number, and the number of the last entry that it holds.
    LAST_EVENT_UP_TO = "SELECT c.sequence, ifnull(c.event + c.events, 0) FROM runs r JOIN checkpoints c ON c.run = r.id \
         WHERE r.run_id = ?1 AND c.namespace = ?2 AND c.sequence <= ?3 ORDER BY c.sequence DESC LIMIT 1";
    /// The number of the last entry that a status record holds.
    LAST_EVENT_OF_HISTORY = "SELECT h.event + h.events FROM runs r JOIN history h ON h.run = r.id WHERE r.run_id = ?1 \
         ORDER BY h.event DESC LIMIT 1";
    HISTORY_AFTER = "SELECT h.kind, h.sequence, h.step, '', h.digest, h.key, h.signature, h.body, h.events, h.namespace, \
         h.event FROM runs r JOIN history h ON h.run = r.id WHERE r.run_id = ?1 AND h.event + h.events > ?2 \
         ORDER BY h.event LIMIT ?3";

    PUT_SNAPSHOT = "INSERT INTO snapshots (digest, text) VALUES (?1, ?2) ON CONFLICT (digest) DO NOTHING";
    SNAPSHOT = "SELECT text FROM snapshots WHERE digest = ?1";

    PRUNING = "SELECT p.note FROM runs r JOIN prunings p ON p.run = r.id WHERE r.run_id = ?1 AND p.namespace = ?2";
    PUT_PRUNING = "INSERT INTO prunings (run, namespace, note) VALUES (?1, ?2, ?3) \
         ON CONFLICT (run, namespace) DO UPDATE SET note = excluded.note";

    PUT_RESULT = "INSERT INTO results (key, run, namespace, at, expires, signer, signature, body) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (key, run, namespace) DO UPDATE SET at = excluded.at, \
         expires = excluded.expires, signer = excluded.signer, signature = excluded.signature, body = excluded.body";
    RESULTS = "SELECT run, namespace, at, expires, signer, signature, body FROM results INDEXED BY results_by_age \
         WHERE key = ?1 AND at >= ?2 AND at <= ?3 ORDER BY at DESC, run DESC, namespace DESC";

    PUT_OWNER = "INSERT INTO owners (run, pid, host, since) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (run) DO UPDATE SET \
         pid = excluded.pid, host = excluded.host, since = excluded.since";
    OWNER = "SELECT o.pid, o.host, o.since FROM runs r JOIN owners o ON o.run = r.id WHERE r.run_id = ?1";
    REMOVE_OWNER = "DELETE FROM owners WHERE run = ?1";
}
