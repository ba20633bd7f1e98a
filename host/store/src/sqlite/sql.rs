//! All statements in one place, so that a test can check the query plan of each.

pub(super) const BEGIN: &str = "BEGIN IMMEDIATE";
pub(super) const COMMIT: &str = "COMMIT";
pub(super) const ROLLBACK: &str = "ROLLBACK";
/// Gives several statements that read the same state of the file.
pub(super) const LOOK: &str = "SAVEPOINT look";
pub(super) const LOOKED: &str = "RELEASE look";
/// Returns a number that changes when another connection writes to the file.
pub(super) const DATA_VERSION: &str = "PRAGMA data_version";

macro_rules! statements {
    ($($(#[$doc:meta])* $name:ident = $text:expr;)*) => {
        $($(#[$doc])* pub(super) const $name: &str = $text;)*

        /// All statements with their names.
        #[cfg(test)]
        pub(super) const ALL: &[(&str, &str)] = &[$((stringify!($name), $name)),*];
    };
}

/// A column of a name, a digest or a number. A value longer than any name was not written by this program: it is
/// replaced by an empty blob, which is invalid for all of these. The length is computed without reading the value.
macro_rules! short {
    ($table:literal, $column:literal) => {
        concat!("iif(octet_length(", $table, $column, ") > 1048576, x'', ", $table, $column, ") AS ", $column)
    };
}

/// A column of text, with a greater maximum length.
macro_rules! long {
    ($table:literal, $column:literal) => {
        concat!(
            "iif(octet_length(",
            $table,
            $column,
            ") > 536870912, x'', ",
            $table,
            $column,
            ") AS ",
            $column
        )
    };
}

/// A column of a text that a run stores, or of a note, with its maximum length.
macro_rules! kept {
    ($table:literal, $column:literal) => {
        concat!(
            "iif(octet_length(",
            $table,
            $column,
            ") > 134217728, x'', ",
            $table,
            $column,
            ") AS ",
            $column
        )
    };
}

/// Several columns of names, digests and numbers.
macro_rules! shorts {
    ($table:literal, $first:literal $(, $column:literal)*) => {
        concat!(short!($table, $first) $(, ", ", short!($table, $column))*)
    };
}

/// The columns of a run's row, with an expression for each of its two texts.
macro_rules! select_run {
    ($result:expr, $error:expr) => {
        concat!(
            "SELECT ",
            shorts!(
                "runs.",
                "run_id",
                "graph_id",
                "graph_path",
                "parent_id",
                "root_id",
                "continuation_of",
                "continuation_id",
                "chain_root_id",
                "status",
                "pid",
                "step",
                "fuel"
            ),
            ", ",
            $result,
            ", ",
            $error,
            ", ",
            shorts!(
                "runs.",
                "graph",
                "inputs",
                "manifest",
                "pins",
                "seed",
                "key",
                "durability",
                "max_steps",
                "created_at",
                "updated_at",
                "turns",
                "input_tokens",
                "output_tokens",
                "spend",
                "model"
            ),
            ", runs.id FROM runs"
        )
    };
}

macro_rules! run_columns {
    () => {
        "run_id, graph_id, graph_path, parent_id, root_id, continuation_of, continuation_id, chain_root_id, status, \
         pid, step, fuel, result, error, graph, inputs, manifest, pins, seed, key, durability, max_steps, created_at, \
         updated_at, turns, input_tokens, output_tokens, spend, model"
    };
}

macro_rules! select_value {
    () => {
        concat!(
            "SELECT ",
            shorts!("v.", "channel", "version", "segment"),
            ", ",
            long!("v.", "json"),
            ", v.id"
        )
    };
}

macro_rules! select_checkpoint {
    () => {
        concat!(
            "SELECT ",
            shorts!("c.", "sequence", "step", "digest", "key", "signature"),
            ", ",
            long!("c.", "body"),
            ", ",
            shorts!("c.", "first_value", "value_count", "run", "event", "events"),
            " FROM runs r JOIN checkpoints c ON c.run = r.id WHERE r.run_id = ?1 AND c.namespace = ?2"
        )
    };
}

macro_rules! select_history {
    () => {
        concat!(
            "SELECT ",
            shorts!("h.", "kind", "sequence", "step"),
            ", '' AS task, ",
            shorts!("h.", "digest", "key", "signature"),
            ", ",
            long!("h.", "body"),
            ", ",
            shorts!("h.", "events", "namespace", "event"),
            ", h.id FROM runs r JOIN history h ON h.run = r.id WHERE r.run_id = ?1"
        )
    };
}

statements! {
    INSERT_RUN = concat!(
        "INSERT INTO runs (", run_columns!(), ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, \
         ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29) ON CONFLICT (run_id) DO NOTHING"
    );
    UPDATE_RUN = "UPDATE runs SET updated_at = ?2, status = ifnull(?3, status), step = ifnull(?4, step), \
         fuel = ifnull(?5, fuel), graph = ifnull(?6, graph), inputs = ifnull(?7, inputs), \
         manifest = ifnull(?8, manifest), pins = ifnull(?9, pins), pid = iif(?10, ?11, pid), \
         result = iif(?12, ?13, result), error = iif(?14, ?15, error), \
         continuation_id = iif(?16, ?17, continuation_id), max_steps = iif(?18, ?19, max_steps), \
         turns = ifnull(?20, turns), input_tokens = ifnull(?21, input_tokens), \
         output_tokens = ifnull(?22, output_tokens), spend = ifnull(?23, spend), model = ifnull(?24, model) \
         WHERE run_id = ?1";
    RUN = concat!(select_run!(long!("runs.", "result"), long!("runs.", "error")), " WHERE runs.run_id = ?1");
    /// The row without its texts, which may be large.
    LISTED_RUN = concat!(select_run!("NULL", "NULL"), " WHERE runs.run_id = ?1");
    RUN_KEY = "SELECT id FROM runs WHERE run_id = ?1";
    /// The rows without their texts: a list of runs does not read the results of all of them. The statement has no
    /// limit, because rows that are refused do not count; the caller stops reading when it has enough.
    RUNS = concat!(
        select_run!("NULL", "NULL"), " WHERE (?1 IS NULL OR runs.status = ?1) AND (?2 IS NULL OR runs.graph_id = ?2) \
         AND runs.id < ?3 ORDER BY runs.id DESC"
    );
    RUNS_OF_ROOT = concat!(
        select_run!("NULL", "NULL"), " WHERE (?1 IS NULL OR runs.status = ?1) AND (?2 IS NULL OR runs.graph_id = ?2) \
         AND runs.id < ?3 AND runs.root_id = ?4 ORDER BY runs.id DESC"
    );
    LAST_ROOT = concat!("SELECT ", short!("", "run_id"), ", id FROM runs WHERE parent_id IS NULL ORDER BY id DESC LIMIT 1");
    RUNS_BEGINNING = concat!("SELECT ", short!("runs.", "run_id"), " FROM runs WHERE runs.run_id >= ?1 \
         AND runs.run_id < ?1 || char(0x10ffff) ORDER BY runs.run_id");

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
    /// The index contains the step, so that only the row that was searched for is read.
    CHECKPOINT_AT_STEP = concat!(select_checkpoint!(), " AND c.step = ?3 ORDER BY c.sequence DESC LIMIT 1");
    /// The newest checkpoint after a step within a range of sequence numbers. Only this range of the index is searched.
    CHECKPOINT_AT_STEP_WITHIN = concat!(select_checkpoint!(), " AND c.step = ?3 AND c.sequence BETWEEN ?4 AND ?5 \
         ORDER BY c.sequence DESC LIMIT 1");
    CHECKPOINTS_UP_TO = concat!(select_checkpoint!(), " AND c.sequence <= ?3 ORDER BY c.sequence DESC LIMIT ?4");
    CHECKPOINTS_AFTER = concat!(select_checkpoint!(), " AND c.sequence > ?3 ORDER BY c.sequence LIMIT ?4");
    VALUES_OF_CHECKPOINT = concat!(select_value!(), " FROM channel_values v \
         WHERE v.id >= ?1 AND v.id < ?2 AND v.run = ?3 AND v.namespace = ?4 AND v.version <= ?5 ORDER BY v.id");
    PLACED_VALUES_OF_CHANNEL = concat!(select_value!(), " FROM runs r CROSS JOIN value_places p CROSS JOIN channel_values v \
         WHERE r.run_id = ?1 AND p.run = r.id AND p.namespace = ?2 AND p.channel = ?3 AND p.version BETWEEN ?4 AND ?5 \
         AND v.id = p.id AND v.run = p.run AND v.namespace = p.namespace AND v.channel = p.channel \
         AND v.version = p.version ORDER BY p.version");
    /// In one channel a later value has a higher number. Values that a removal of checkpoints has moved are an
    /// exception, and are placed at once.
    NEW_VALUES_OF_CHANNEL = concat!(select_value!(), " FROM runs r CROSS JOIN channel_values v \
         WHERE r.run_id = ?1 AND v.id > ?6 AND v.run = r.id AND v.namespace = ?2 AND v.channel = ?3 \
         AND v.version BETWEEN ?4 AND ?5 ORDER BY v.id");
    PENDING = concat!("SELECT ", shorts!("p.", "kind", "sequence", "step", "task", "digest", "key", "signature"), ", ",
         long!("p.", "body"), ", ", short!("p.", "events"), ", NULL, NULL, p.id FROM runs r JOIN pending p ON p.run = r.id \
         WHERE r.run_id = ?1 AND p.namespace = ?2 AND p.kind = ?3 AND p.task > ?4 ORDER BY p.task LIMIT ?5");
    /// The pending records from the first one on: no text precedes the empty one.
    PENDING_FROM = concat!("SELECT ", shorts!("p.", "kind", "sequence", "step", "task", "digest", "key", "signature"), ", ",
         long!("p.", "body"), ", ", short!("p.", "events"), ", NULL, NULL, p.id FROM runs r JOIN pending p ON p.run = r.id \
         WHERE r.run_id = ?1 AND p.namespace = ?2 AND p.kind = ?3 AND p.task >= ?4 ORDER BY p.task LIMIT ?5");

    /// The first namespace of a run at or after a name.
    NAMESPACE_FROM = concat!("SELECT ", short!("c.", "namespace"), ", c.id FROM runs r JOIN checkpoints c ON c.run = r.id \
         WHERE r.run_id = ?1 AND c.namespace >= ?2 ORDER BY c.namespace LIMIT 1");
    PENDING_NAMESPACE_FROM = concat!("SELECT ", short!("p.", "namespace"), ", p.id FROM runs r JOIN pending p ON p.run = r.id \
         WHERE r.run_id = ?1 AND p.namespace >= ?2 ORDER BY p.namespace LIMIT 1");
    /// The first checkpoint after a sequence number that holds numbered entries, and the number of entries before them.
    EVENT_AFTER = concat!("SELECT ", shorts!("c.", "sequence", "event"), " FROM runs r JOIN checkpoints c ON c.run = r.id \
         WHERE r.run_id = ?1 AND c.namespace = ?2 AND c.sequence > ?3 AND c.event IS NOT NULL ORDER BY c.sequence LIMIT 1");
    /// The newest checkpoint up to a sequence number, and the number of the last entry that it holds.
    LAST_EVENT_UP_TO = "SELECT c.sequence, iif(octet_length(c.event) + octet_length(c.events) > 40, x'', \
         ifnull(c.event + c.events, 0)) FROM runs r JOIN checkpoints c ON c.run = r.id \
         WHERE r.run_id = ?1 AND c.namespace = ?2 AND c.sequence <= ?3 ORDER BY c.sequence DESC LIMIT 1";
    /// The number of the last entry that a status record holds.
    LAST_EVENT_OF_HISTORY = "SELECT iif(octet_length(h.events) > 20, x'', h.event + h.events) FROM runs r JOIN history h ON h.run = r.id WHERE r.run_id = ?1 \
         ORDER BY h.event DESC LIMIT 1";
    /// Number of history entries before those of the newest status record up to a number.
    LAST_STATUS_UP_TO = concat!("SELECT ", short!("h.", "event"), " FROM runs r JOIN history h ON h.run = r.id \
         WHERE r.run_id = ?1 AND h.event <= ?2 ORDER BY h.event DESC LIMIT 1");
    HISTORY_AFTER = concat!(select_history!(), " AND h.event >= ?4 \
         AND iif(octet_length(h.events) > 20, 1, h.event + h.events > ?2) ORDER BY h.event LIMIT ?3");
    STATUS_AT = concat!(select_history!(), " AND h.event = ?2");

    PUT_SNAPSHOT = "INSERT INTO snapshots (digest, text) VALUES (?1, ?2) ON CONFLICT (digest) DO NOTHING";
    SNAPSHOT = concat!("SELECT ", kept!("", "text"), " FROM snapshots WHERE digest = ?1");
    HAS_SNAPSHOT = "SELECT 1 FROM snapshots WHERE digest = ?1";

    PRUNING = concat!("SELECT ", kept!("p.", "note"), " FROM runs r JOIN prunings p ON p.run = r.id WHERE r.run_id = ?1 AND p.namespace = ?2");
    PUT_PRUNING = "INSERT INTO prunings (run, namespace, note) VALUES (?1, ?2, ?3) \
         ON CONFLICT (run, namespace) DO UPDATE SET note = excluded.note";

    PUT_RESULT = "INSERT INTO results (key, run, namespace, at, expires, signer, signature, body) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (key, run, namespace) DO UPDATE SET at = excluded.at, \
         expires = excluded.expires, signer = excluded.signer, signature = excluded.signature, body = excluded.body";
    RESULTS = concat!("SELECT ", shorts!("k.", "run", "namespace", "at", "expires", "signer", "signature"), ", ",
         long!("k.", "body"), ", k.id FROM results k INDEXED BY results_by_age \
         WHERE k.key = ?1 AND k.at >= ?2 AND k.at <= ?3 ORDER BY k.at DESC, k.run DESC, k.namespace DESC");

    PUT_OWNER = "INSERT INTO owners (run, pid, host, since) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (run) DO UPDATE SET \
         pid = excluded.pid, host = excluded.host, since = excluded.since";
    OWNER = concat!("SELECT ", shorts!("o.", "pid", "host", "since"), ", o.run FROM runs r JOIN owners o ON o.run = r.id \
         WHERE r.run_id = ?1");
    REMOVE_OWNER = "DELETE FROM owners WHERE run = ?1";

    NEXT_EPOCH = "UPDATE epochs SET last = last + 1 WHERE one = 1 AND last BETWEEN 0 AND 9223372036854775806 RETURNING last";
    RAISE_EPOCH = "INSERT INTO fences (run, epoch) VALUES (?1, ?2) ON CONFLICT (run) DO UPDATE SET epoch = excluded.epoch";
    FENCE = concat!("SELECT ", shorts!("f.", "epoch", "head"), " FROM fences f WHERE f.run = ?1");
    OWN_HEAD = concat!("SELECT ", short!("c.", "digest"), " FROM checkpoints c WHERE c.run = ?1 AND c.namespace = '' \
         ORDER BY c.sequence DESC LIMIT 1");
    SET_HEAD = "UPDATE fences SET head = ?2 WHERE run = ?1";
}
