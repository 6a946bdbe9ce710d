-- The tables of a SqliteTaskStore and everything it asks them. Parameters are always bound.
-- Times are microseconds since 1970, UTC; structured values are JSON text; booleans are 0 and 1.

-- name: migration_1
CREATE TABLE tasks (
    seq INTEGER PRIMARY KEY,  -- in the order of creation
    task_id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    spec_name TEXT,
    pipeline_run_id TEXT,
    node TEXT,
    depends_on TEXT,
    tags TEXT,
    priority INTEGER NOT NULL,
    bucket INTEGER,
    bucket_key TEXT,
    executor TEXT,
    inputs TEXT,
    status TEXT NOT NULL,
    status_version INTEGER NOT NULL,
    requested_action TEXT,
    overridden INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    max_attempts INTEGER NOT NULL,
    live INTEGER NOT NULL,
    abandoned INTEGER NOT NULL,
    queued_at INTEGER,
    started_at INTEGER,
    ended_at INTEGER,
    retry_at INTEGER,
    grace_until INTEGER,
    last_heartbeat_at INTEGER,
    progress TEXT,
    failure TEXT,
    outcome TEXT,
    owner TEXT,
    lease_until INTEGER,
    pid INTEGER
);
CREATE INDEX tasks_by_status ON tasks (status);
CREATE INDEX tasks_by_run ON tasks (pipeline_run_id, status) WHERE pipeline_run_id IS NOT NULL;

CREATE TABLE task_tags (
    tag TEXT NOT NULL,
    task_id TEXT NOT NULL,
    PRIMARY KEY (tag, task_id)
) WITHOUT ROWID;
CREATE INDEX task_tags_by_task ON task_tags (task_id);

CREATE TABLE transitions (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,  -- the feed's cursor: one writer at a time, so in the order of commits
    task_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    from_status TEXT NOT NULL,
    to_status TEXT NOT NULL,
    trigger TEXT NOT NULL,
    actor TEXT NOT NULL,
    reason TEXT,
    at INTEGER NOT NULL,
    UNIQUE (task_id, version)
);
-- Append-only. INSERT OR REPLACE deletes without asking the triggers on DELETE (unless recursive_triggers is on), so it
-- is refused where it begins.
CREATE TRIGGER transitions_insert BEFORE INSERT ON transitions
WHEN EXISTS (SELECT 1 FROM transitions WHERE task_id = NEW.task_id AND version = NEW.version)
  OR EXISTS (SELECT 1 FROM transitions WHERE seq = NEW.seq)
BEGIN
    SELECT RAISE(ABORT, 'the audit trail is append-only: that version of the record is there already');
END;
CREATE TRIGGER transitions_update BEFORE UPDATE ON transitions
BEGIN
    SELECT RAISE(ABORT, 'the audit trail is append-only: it cannot be changed');
END;
-- prune drops a record first, and its trail then.
CREATE TRIGGER transitions_delete BEFORE DELETE ON transitions
WHEN EXISTS (SELECT 1 FROM tasks WHERE task_id = OLD.task_id)
BEGIN
    SELECT RAISE(ABORT, 'the audit trail is append-only: it goes with its record only');
END;

CREATE TABLE attempts (
    task_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    status TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    seconds REAL,
    paused_seconds REAL NOT NULL,
    failure TEXT,
    executor TEXT,
    pid INTEGER,
    owner TEXT,
    note TEXT,
    PRIMARY KEY (task_id, attempt)
);

CREATE TABLE output (
    task_id TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    stream TEXT NOT NULL,
    text TEXT NOT NULL,
    at INTEGER NOT NULL,
    level INTEGER,
    PRIMARY KEY (task_id, seq)
);
CREATE TABLE output_sizes (  -- what is kept of each record, so that appending need not count it
    task_id TEXT PRIMARY KEY,
    newest INTEGER NOT NULL,
    lines INTEGER NOT NULL,
    characters INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE commands (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    task_id TEXT NOT NULL,
    verb TEXT NOT NULL,
    args TEXT NOT NULL,
    actor TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    lease_owner TEXT,
    lease_until INTEGER,
    completed_at INTEGER,
    outcome TEXT
);
CREATE INDEX commands_open ON commands (seq) WHERE completed_at IS NULL;
CREATE INDEX commands_by_task ON commands (task_id);

CREATE TABLE bucket_leases (
    bucket INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    lease_until INTEGER NOT NULL
);

-- name: migration_2
-- One lease for each owner takes the place of one for each record.
CREATE TABLE owners (
    owner TEXT PRIMARY KEY,
    process TEXT,
    lease_until INTEGER NOT NULL,
    buckets TEXT
) WITHOUT ROWID;
ALTER TABLE tasks DROP COLUMN lease_until;

-- name: bootstrap
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS migrations (version INTEGER PRIMARY KEY, at INTEGER NOT NULL);

-- name: has_meta
SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'meta'

-- name: foreign_tables
-- In a file that has no meta: another process may have made it since that was looked at.
SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
AND NOT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'meta') LIMIT 1

-- name: set_schema_version
INSERT INTO meta (name, value) VALUES ('schema_version', :version)
ON CONFLICT (name) DO UPDATE SET value = excluded.value

-- name: add_migration
INSERT INTO migrations (version, at) VALUES (:version, :at)

-- name: meta
SELECT name, value FROM meta

-- name: add_meta
INSERT INTO meta (name, value) VALUES (:name, :value) ON CONFLICT (name) DO NOTHING

-- name: versions
SELECT task_id, status_version, owner FROM tasks WHERE task_id IN (SELECT value FROM json_each(:ids))

-- name: add_task
INSERT INTO tasks (
    task_id, name, created_at, spec_name, pipeline_run_id, node, depends_on, tags, priority, bucket, bucket_key,
    executor, inputs, status, status_version, requested_action, overridden, attempt, max_attempts, live, abandoned,
    queued_at, started_at, ended_at, retry_at, grace_until, last_heartbeat_at, progress, failure, outcome, owner,
    pid
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: change_task
UPDATE tasks SET
    status = ?, status_version = ?, requested_action = ?, overridden = ?, attempt = ?, max_attempts = ?, live = ?,
    abandoned = ?, queued_at = ?, started_at = ?, ended_at = ?, retry_at = ?, grace_until = ?, last_heartbeat_at = ?,
    progress = ?, failure = ?, outcome = ?, owner = ?, pid = ?
WHERE task_id = ?

-- name: add_tag
INSERT INTO task_tags (tag, task_id) VALUES (?, ?) ON CONFLICT DO NOTHING

-- name: add_transition
INSERT INTO transitions (task_id, version, from_status, to_status, trigger, actor, reason, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: put_attempt
INSERT INTO attempts (
    task_id, attempt, status, started_at, ended_at, seconds, paused_seconds, failure, executor, pid, owner, note
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (task_id, attempt) DO UPDATE SET
    status = excluded.status, started_at = excluded.started_at, ended_at = excluded.ended_at,
    seconds = excluded.seconds, paused_seconds = excluded.paused_seconds, failure = excluded.failure,
    executor = excluded.executor, pid = excluded.pid, owner = excluded.owner, note = excluded.note

-- name: touch_task
UPDATE tasks SET
    progress = coalesce(?, progress), last_heartbeat_at = coalesce(?, last_heartbeat_at),
    abandoned = coalesce(?, abandoned)
WHERE task_id = ? AND owner IS coalesce(?, owner)

-- name: note_attempt
UPDATE attempts SET note = ?
WHERE task_id = ? AND attempt = ?
  AND EXISTS (SELECT 1 FROM tasks WHERE tasks.task_id = attempts.task_id AND tasks.owner IS coalesce(?, tasks.owner))

-- name: tasks
SELECT
    task_id, name, created_at, spec_name, pipeline_run_id, node, depends_on, tags, priority, bucket, bucket_key,
    executor, inputs, status, status_version, requested_action, overridden, attempt, max_attempts, live, abandoned,
    queued_at, started_at, ended_at, retry_at, grace_until, last_heartbeat_at, progress, failure, outcome, owner,
    pid
FROM tasks WHERE true

-- name: with_id
AND task_id = :task_id

-- name: with_status
AND status IN (SELECT value FROM json_each(:status))

-- name: with_tag
AND task_id IN (SELECT task_id FROM task_tags WHERE tag = :tag)

-- name: with_prefix
AND substr(name, 1, length(:prefix)) = :prefix

-- name: with_run
AND pipeline_run_id = :run

-- name: with_bucket
AND bucket IN (SELECT value FROM json_each(:buckets))

-- name: with_ids
AND task_id IN (SELECT value FROM json_each(:ids))

-- name: with_name
AND name = :name

-- name: with_any_run
AND pipeline_run_id IS NOT NULL

-- name: with_pipeline
AND substr(pipeline_run_id, 1, length(:pipeline) + 1) = :pipeline || ':'
AND instr(substr(pipeline_run_id, length(:pipeline) + 2), ':') = 0

-- name: since_created_at
AND created_at >= :since

-- name: until_created_at
AND created_at < :until

-- name: since_started_at
AND started_at >= :since

-- name: until_started_at
AND started_at < :until

-- name: since_at
AND at >= :since

-- name: until_at
AND at < :until

-- name: oldest_first
ORDER BY seq

-- name: newest_first
ORDER BY seq DESC LIMIT :limit

-- name: scan_attempts
SELECT task_id, attempt, status, started_at, ended_at, seconds, paused_seconds, failure, executor, pid, owner, note
FROM attempts WHERE true

-- name: attempts_oldest_first
ORDER BY started_at, task_id, attempt

-- name: attempts_newest_first
ORDER BY started_at DESC, task_id DESC, attempt DESC LIMIT :limit

-- name: scan_transitions
SELECT task_id, version, from_status, to_status, trigger, actor, reason, at
FROM transitions WHERE true

-- name: transitions_oldest_first
ORDER BY seq

-- name: transitions_newest_first
ORDER BY seq DESC LIMIT :limit

-- name: scan_output
SELECT task_id, attempt, seq, stream, text, at, level
FROM output WHERE true

-- name: output_oldest_first
ORDER BY at, task_id, seq

-- name: output_newest_first
ORDER BY at DESC, task_id DESC, seq DESC LIMIT :limit

-- name: of_tasks
AND task_id IN (
    SELECT task_id FROM tasks WHERE true

-- name: end_of_tasks
)

-- name: counts
SELECT status, count(*) FROM tasks GROUP BY status

-- name: counts_of_run
SELECT status, count(*) FROM tasks WHERE pipeline_run_id = :run GROUP BY status

-- name: transitions
SELECT task_id, version, from_status, to_status, trigger, actor, reason, at
FROM transitions WHERE task_id = :task_id AND version > :after ORDER BY version

-- name: changes
SELECT seq, task_id, version, from_status, to_status, trigger, actor, reason, at
FROM transitions WHERE seq > :after ORDER BY seq LIMIT :limit

-- name: last_change
SELECT coalesce(max(seq), 0) FROM transitions

-- name: attempts
SELECT task_id, attempt, status, started_at, ended_at, seconds, paused_seconds, failure, executor, pid, owner, note
FROM attempts WHERE task_id = :task_id ORDER BY attempt

-- name: output_sizes
SELECT t.task_id, t.owner, coalesce(s.newest, 0), coalesce(s.lines, 0), coalesce(s.characters, 0)
FROM tasks t LEFT JOIN output_sizes s ON s.task_id = t.task_id
WHERE t.task_id IN (SELECT value FROM json_each(:ids))

-- name: add_line
INSERT INTO output (task_id, attempt, seq, stream, text, at, level) VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: put_output_size
INSERT INTO output_sizes (task_id, newest, lines, characters) VALUES (?, ?, ?, ?)
ON CONFLICT (task_id) DO UPDATE SET
    newest = excluded.newest, lines = excluded.lines, characters = excluded.characters

-- name: oldest_lines
SELECT seq, length(text) FROM output WHERE task_id = :task_id ORDER BY seq

-- name: drop_lines
DELETE FROM output WHERE task_id = :task_id AND seq <= :seq

-- name: output
SELECT task_id, attempt, seq, stream, text, at, level
FROM output WHERE task_id = :task_id AND seq > :after ORDER BY seq

-- name: newest_output
SELECT task_id, attempt, seq, stream, text, at, level
FROM output WHERE task_id = :task_id AND seq > :after ORDER BY seq DESC LIMIT :limit

-- name: count_ended
SELECT count(*) FROM tasks WHERE status IN (SELECT value FROM json_each(:status))

-- name: oldest_ended
SELECT task_id FROM tasks WHERE status IN (SELECT value FROM json_each(:status)) ORDER BY seq LIMIT :excess

-- name: drop_tasks
DELETE FROM tasks WHERE task_id IN (SELECT value FROM json_each(:ids))

-- name: drop_tags
DELETE FROM task_tags WHERE task_id IN (SELECT value FROM json_each(:ids))

-- name: drop_transitions
DELETE FROM transitions WHERE task_id IN (SELECT value FROM json_each(:ids))

-- name: drop_attempts
DELETE FROM attempts WHERE task_id IN (SELECT value FROM json_each(:ids))

-- name: drop_output
DELETE FROM output WHERE task_id IN (SELECT value FROM json_each(:ids))

-- name: drop_output_sizes
DELETE FROM output_sizes WHERE task_id IN (SELECT value FROM json_each(:ids))

-- name: drop_commands_of_nothing
DELETE FROM commands WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.task_id = commands.task_id)

-- name: add_command
INSERT INTO commands (
    id, task_id, verb, args, actor, created_at, lease_owner, lease_until, completed_at, outcome
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING

-- name: claimable
SELECT id, task_id, verb, args, actor, created_at, lease_owner, lease_until, completed_at, outcome
FROM commands WHERE completed_at IS NULL AND (lease_until IS NULL OR lease_until <= :now)

-- name: for_records_of
AND EXISTS (
    SELECT 1 FROM tasks
    WHERE tasks.task_id = commands.task_id AND tasks.owner IN (SELECT value FROM json_each(:owners))
)

-- name: first_claimable
ORDER BY seq LIMIT :limit

-- name: lock_claimable
ORDER BY seq LIMIT :limit

-- name: lease_commands
UPDATE commands SET lease_owner = :owner, lease_until = :until WHERE id IN (SELECT value FROM json_each(:ids))

-- name: complete_command
UPDATE commands SET completed_at = :now, outcome = :outcome, lease_until = NULL
WHERE id = :id AND lease_owner = :owner AND completed_at IS NULL

-- name: release_commands
UPDATE commands SET lease_owner = NULL, lease_until = NULL
WHERE lease_owner = :owner AND completed_at IS NULL

-- name: of_these_commands
AND id IN (SELECT value FROM json_each(:ids))

-- name: command
SELECT id, task_id, verb, args, actor, created_at, lease_owner, lease_until, completed_at, outcome
FROM commands WHERE id = :id

-- name: commands
SELECT id, task_id, verb, args, actor, created_at, lease_owner, lease_until, completed_at, outcome
FROM commands WHERE task_id = :task_id ORDER BY seq

-- name: put_owner
INSERT INTO owners (owner, process, lease_until, buckets) VALUES (?, ?, ?, ?)
ON CONFLICT (owner) DO UPDATE SET
    process = excluded.process, lease_until = excluded.lease_until, buckets = excluded.buckets

-- name: drop_owner
DELETE FROM owners WHERE owner = :owner

-- name: owners
SELECT owner, process, lease_until, buckets FROM owners ORDER BY owner

-- name: claim_bucket
INSERT INTO bucket_leases (bucket, owner, lease_until) VALUES (:bucket, :owner, :until)
ON CONFLICT (bucket) DO UPDATE SET owner = excluded.owner, lease_until = excluded.lease_until
WHERE bucket_leases.owner = excluded.owner OR bucket_leases.lease_until <= :now

-- name: renew_buckets
UPDATE bucket_leases SET lease_until = :until WHERE owner = :owner

-- name: release_buckets
DELETE FROM bucket_leases WHERE owner = :owner

-- name: of_these_buckets
AND bucket IN (SELECT value FROM json_each(:buckets))

-- name: buckets_of
SELECT bucket FROM bucket_leases WHERE owner = :owner

-- name: bucket_leases
SELECT bucket, owner, lease_until FROM bucket_leases ORDER BY bucket
