-- The tables of a PostgresTaskStore and everything it asks them. Parameters are always bound.
-- Times are microseconds since 1970, UTC; structured values are JSON text, which comes back as it was written;
-- booleans are 0 and 1.
-- Statements that lock several rows do so in the order of their ids, so that none waits for another in a circle.
-- What is written many rows at a time takes them as one JSON array of arrays, the values in the order of the columns.

-- name: migration_1
CREATE TABLE chongming_tasks (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,  -- in the order of creation
    task_id text NOT NULL UNIQUE,
    name text NOT NULL,
    created_at bigint NOT NULL,
    spec_name text,
    pipeline_run_id text,
    node text,
    depends_on text,
    tags text,
    priority bigint NOT NULL,
    bucket bigint,
    bucket_key text,
    executor text,
    inputs text,
    status text NOT NULL,
    status_version bigint NOT NULL,
    requested_action text,
    overridden smallint NOT NULL,
    attempt bigint NOT NULL,
    max_attempts bigint NOT NULL,
    live smallint NOT NULL,
    abandoned smallint NOT NULL,
    queued_at bigint,
    started_at bigint,
    ended_at bigint,
    retry_at bigint,
    grace_until bigint,
    last_heartbeat_at bigint,
    progress text,
    failure text,
    outcome text,
    owner text,
    lease_until bigint,
    pid bigint
);
CREATE INDEX chongming_tasks_by_status ON chongming_tasks (status);
CREATE INDEX chongming_tasks_by_run ON chongming_tasks (pipeline_run_id, status) WHERE pipeline_run_id IS NOT NULL;

CREATE TABLE chongming_task_tags (
    tag text NOT NULL,
    task_id text NOT NULL,
    PRIMARY KEY (tag, task_id)
);
CREATE INDEX chongming_task_tags_by_task ON chongming_task_tags (task_id);

CREATE TABLE chongming_transitions (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,  -- the feed's cursor: commits take turns, so in their order
    task_id text NOT NULL,
    version bigint NOT NULL,
    from_status text NOT NULL,
    to_status text NOT NULL,
    trigger text NOT NULL,
    actor text NOT NULL,
    reason text,
    at bigint NOT NULL,
    UNIQUE (task_id, version)
);
-- Append-only: a trail goes with its record only, and prune drops the record first.
CREATE FUNCTION chongming_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND NOT EXISTS (SELECT 1 FROM chongming_tasks WHERE task_id = OLD.task_id) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'the audit trail is append-only: it cannot be changed, and goes with its record only';
END
$$;
CREATE TRIGGER chongming_transitions_row BEFORE UPDATE OR DELETE ON chongming_transitions
FOR EACH ROW EXECUTE FUNCTION chongming_append_only();
CREATE TRIGGER chongming_transitions_all BEFORE TRUNCATE ON chongming_transitions
FOR EACH STATEMENT EXECUTE FUNCTION chongming_append_only();

CREATE TABLE chongming_attempts (
    task_id text NOT NULL,
    attempt bigint NOT NULL,
    status text NOT NULL,
    started_at bigint NOT NULL,
    ended_at bigint,
    seconds double precision,
    paused_seconds double precision NOT NULL,
    failure text,
    executor text,
    pid bigint,
    owner text,
    note text,
    PRIMARY KEY (task_id, attempt)
);

CREATE TABLE chongming_output (
    task_id text NOT NULL,
    attempt bigint NOT NULL,
    seq bigint NOT NULL,
    stream text NOT NULL,
    text text NOT NULL,
    at bigint NOT NULL,
    level bigint,
    PRIMARY KEY (task_id, seq)
);
CREATE TABLE chongming_output_sizes (  -- what is kept of each record, so that appending need not count it
    task_id text PRIMARY KEY,
    newest bigint NOT NULL,
    lines bigint NOT NULL,
    characters bigint NOT NULL
);

CREATE TABLE chongming_commands (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL UNIQUE,
    task_id text NOT NULL,
    verb text NOT NULL,
    args text NOT NULL,
    actor text NOT NULL,
    created_at bigint NOT NULL,
    lease_owner text,
    lease_until bigint,
    completed_at bigint,
    outcome text
);
CREATE INDEX chongming_commands_open ON chongming_commands (seq) WHERE completed_at IS NULL;
CREATE INDEX chongming_commands_by_task ON chongming_commands (task_id);

CREATE TABLE chongming_bucket_leases (
    bucket bigint PRIMARY KEY,
    owner text NOT NULL,
    lease_until bigint NOT NULL
);

-- name: migration_2
-- One lease for each owner takes the place of one for each record.
CREATE TABLE chongming_owners (
    owner text COLLATE "C" PRIMARY KEY,
    process text,
    lease_until bigint NOT NULL,
    buckets text
);
ALTER TABLE chongming_tasks DROP COLUMN lease_until;
-- Whoever was let in before goes on: the new table is for those who have a right to the leases on buckets.
DO $$
DECLARE
    given record;
BEGIN
    FOR given IN
        SELECT privilege_type, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END AS name
        FROM pg_class, aclexplode(relacl)
        WHERE pg_class.oid = 'chongming_bucket_leases'::regclass AND grantee <> relowner
    LOOP
        EXECUTE format('GRANT %s ON chongming_owners TO %s', given.privilege_type, given.name);
    END LOOP;
END
$$;

-- name: bootstrap
CREATE TABLE IF NOT EXISTS chongming_meta (name text PRIMARY KEY, value text NOT NULL);
CREATE TABLE IF NOT EXISTS chongming_migrations (version bigint PRIMARY KEY, at bigint NOT NULL);

-- name: has_meta
SELECT 1 FROM pg_class WHERE relname = 'chongming_meta' AND pg_table_is_visible(oid)

-- name: set_schema_version
INSERT INTO chongming_meta (name, value) VALUES ('schema_version', %(version)s)
ON CONFLICT (name) DO UPDATE SET value = excluded.value

-- name: add_migration
INSERT INTO chongming_migrations (version, at) VALUES (%(version)s, %(at)s)

-- name: meta
SELECT name, value FROM chongming_meta

-- name: add_meta
INSERT INTO chongming_meta (name, value) VALUES (%(name)s, %(value)s) ON CONFLICT (name) DO NOTHING

-- name: versions
SELECT task_id, status_version, owner FROM chongming_tasks WHERE task_id = ANY(%(ids)s) ORDER BY task_id FOR UPDATE

-- name: add_task
INSERT INTO chongming_tasks (
    task_id, name, created_at, spec_name, pipeline_run_id, node, depends_on, tags, priority, bucket, bucket_key,
    executor, inputs, status, status_version, requested_action, overridden, attempt, max_attempts, live, abandoned,
    queued_at, started_at, ended_at, retry_at, grace_until, last_heartbeat_at, progress, failure, outcome, owner,
    pid
) SELECT
    r->>0, r->>1, (r->>2)::bigint, r->>3, r->>4, r->>5, r->>6, r->>7, (r->>8)::bigint, (r->>9)::bigint, r->>10,
    r->>11, r->>12, r->>13, (r->>14)::bigint, r->>15, (r->>16)::smallint, (r->>17)::bigint, (r->>18)::bigint,
    (r->>19)::smallint, (r->>20)::smallint, (r->>21)::bigint, (r->>22)::bigint, (r->>23)::bigint, (r->>24)::bigint,
    (r->>25)::bigint, (r->>26)::bigint, r->>27, r->>28, r->>29, r->>30, (r->>31)::bigint
FROM jsonb_array_elements(%s::jsonb) AS r

-- name: change_task
UPDATE chongming_tasks SET (
    status, status_version, requested_action, overridden, attempt, max_attempts, live, abandoned, queued_at,
    started_at, ended_at, retry_at, grace_until, last_heartbeat_at, progress, failure, outcome, owner, pid
) = (
    r->>0, (r->>1)::bigint, r->>2, (r->>3)::smallint, (r->>4)::bigint, (r->>5)::bigint, (r->>6)::smallint,
    (r->>7)::smallint, (r->>8)::bigint, (r->>9)::bigint, (r->>10)::bigint, (r->>11)::bigint, (r->>12)::bigint,
    (r->>13)::bigint, r->>14, r->>15, r->>16, r->>17, (r->>18)::bigint
)
FROM jsonb_array_elements(%s::jsonb) AS r WHERE task_id = r->>19

-- name: add_tag
INSERT INTO chongming_task_tags (tag, task_id) SELECT r->>0, r->>1 FROM jsonb_array_elements(%s::jsonb) AS r
ON CONFLICT DO NOTHING

-- name: add_transition
INSERT INTO chongming_transitions (task_id, version, from_status, to_status, trigger, actor, reason, at)
SELECT r->>0, (r->>1)::bigint, r->>2, r->>3, r->>4, r->>5, r->>6, (r->>7)::bigint
FROM jsonb_array_elements(%s::jsonb) AS r

-- name: put_attempt
INSERT INTO chongming_attempts (
    task_id, attempt, status, started_at, ended_at, seconds, paused_seconds, failure, executor, pid, owner, note
) SELECT
    r->>0, (r->>1)::bigint, r->>2, (r->>3)::bigint, (r->>4)::bigint, (r->>5)::float8, (r->>6)::float8, r->>7, r->>8,
    (r->>9)::bigint, r->>10, r->>11
FROM jsonb_array_elements(%s::jsonb) AS r WHERE true
ON CONFLICT (task_id, attempt) DO UPDATE SET
    status = excluded.status, started_at = excluded.started_at, ended_at = excluded.ended_at,
    seconds = excluded.seconds, paused_seconds = excluded.paused_seconds, failure = excluded.failure,
    executor = excluded.executor, pid = excluded.pid, owner = excluded.owner, note = excluded.note

-- name: touch_task
UPDATE chongming_tasks SET
    progress = coalesce(%s, progress), last_heartbeat_at = coalesce(%s, last_heartbeat_at),
    abandoned = coalesce(%s, abandoned)
WHERE task_id = %s AND owner IS NOT DISTINCT FROM coalesce(%s, owner)

-- name: note_attempt
UPDATE chongming_attempts a SET note = %s
WHERE task_id = %s AND attempt = %s AND EXISTS (
    SELECT 1 FROM chongming_tasks t
    WHERE t.task_id = a.task_id AND t.owner IS NOT DISTINCT FROM coalesce(%s, t.owner)
)

-- name: tasks
SELECT
    task_id, name, created_at, spec_name, pipeline_run_id, node, depends_on, tags, priority, bucket, bucket_key,
    executor, inputs, status, status_version, requested_action, overridden, attempt, max_attempts, live, abandoned,
    queued_at, started_at, ended_at, retry_at, grace_until, last_heartbeat_at, progress, failure, outcome, owner,
    pid
FROM chongming_tasks WHERE true

-- name: with_id
AND task_id = %(task_id)s

-- name: with_status
AND status = ANY(%(status)s)

-- name: with_tag
AND task_id IN (SELECT task_id FROM chongming_task_tags WHERE tag = %(tag)s)

-- name: with_prefix
AND starts_with(name, %(prefix)s)

-- name: with_run
AND pipeline_run_id = %(run)s

-- name: with_bucket
AND bucket = ANY(%(buckets)s)

-- name: with_ids
AND task_id = ANY(%(ids)s)

-- name: with_name
AND name = %(name)s

-- name: with_any_run
AND pipeline_run_id IS NOT NULL

-- name: with_pipeline
AND starts_with(pipeline_run_id, %(pipeline)s || ':')
AND strpos(substr(pipeline_run_id, length(%(pipeline)s) + 2), ':') = 0

-- name: since_created_at
AND created_at >= %(since)s

-- name: until_created_at
AND created_at < %(until)s

-- name: since_started_at
AND started_at >= %(since)s

-- name: until_started_at
AND started_at < %(until)s

-- name: since_at
AND at >= %(since)s

-- name: until_at
AND at < %(until)s

-- name: oldest_first
ORDER BY seq

-- name: newest_first
ORDER BY seq DESC LIMIT %(limit)s

-- name: scan_attempts
SELECT task_id, attempt, status, started_at, ended_at, seconds, paused_seconds, failure, executor, pid, owner, note
FROM chongming_attempts WHERE true

-- name: attempts_oldest_first
ORDER BY started_at, task_id COLLATE "C", attempt

-- name: attempts_newest_first
ORDER BY started_at DESC, task_id COLLATE "C" DESC, attempt DESC LIMIT %(limit)s

-- name: scan_transitions
SELECT task_id, version, from_status, to_status, trigger, actor, reason, at
FROM chongming_transitions WHERE true

-- name: transitions_oldest_first
ORDER BY seq

-- name: transitions_newest_first
ORDER BY seq DESC LIMIT %(limit)s

-- name: scan_output
SELECT task_id, attempt, seq, stream, text, at, level
FROM chongming_output WHERE true

-- name: output_oldest_first
ORDER BY at, task_id COLLATE "C", seq

-- name: output_newest_first
ORDER BY at DESC, task_id COLLATE "C" DESC, seq DESC LIMIT %(limit)s

-- name: of_tasks
AND task_id IN (
    SELECT task_id FROM chongming_tasks WHERE true

-- name: end_of_tasks
)

-- name: counts
SELECT status, count(*) FROM chongming_tasks GROUP BY status

-- name: counts_of_run
SELECT status, count(*) FROM chongming_tasks WHERE pipeline_run_id = %(run)s GROUP BY status

-- name: transitions
SELECT task_id, version, from_status, to_status, trigger, actor, reason, at
FROM chongming_transitions WHERE task_id = %(task_id)s AND version > %(after)s ORDER BY version

-- name: changes
SELECT seq, task_id, version, from_status, to_status, trigger, actor, reason, at
FROM chongming_transitions WHERE seq > %(after)s ORDER BY seq LIMIT %(limit)s

-- name: last_change
SELECT coalesce(max(seq), 0) FROM chongming_transitions

-- name: attempts
SELECT task_id, attempt, status, started_at, ended_at, seconds, paused_seconds, failure, executor, pid, owner, note
FROM chongming_attempts WHERE task_id = %(task_id)s ORDER BY attempt

-- name: output_sizes
SELECT t.task_id, t.owner, coalesce(s.newest, 0), coalesce(s.lines, 0), coalesce(s.characters, 0)
FROM chongming_tasks t LEFT JOIN chongming_output_sizes s ON s.task_id = t.task_id
WHERE t.task_id = ANY(%(ids)s) ORDER BY t.task_id FOR UPDATE OF t

-- name: add_line
INSERT INTO chongming_output (task_id, attempt, seq, stream, text, at, level)
SELECT r->>0, (r->>1)::bigint, (r->>2)::bigint, r->>3, r->>4, (r->>5)::bigint, (r->>6)::bigint
FROM jsonb_array_elements(%s::jsonb) AS r

-- name: put_output_size
INSERT INTO chongming_output_sizes (task_id, newest, lines, characters)
SELECT r->>0, (r->>1)::bigint, (r->>2)::bigint, (r->>3)::bigint FROM jsonb_array_elements(%s::jsonb) AS r WHERE true
ON CONFLICT (task_id) DO UPDATE SET
    newest = excluded.newest, lines = excluded.lines, characters = excluded.characters

-- name: oldest_lines
SELECT seq, length(text) FROM chongming_output WHERE task_id = %(task_id)s ORDER BY seq

-- name: drop_lines
DELETE FROM chongming_output WHERE task_id = %(task_id)s AND seq <= %(seq)s

-- name: output
SELECT task_id, attempt, seq, stream, text, at, level
FROM chongming_output WHERE task_id = %(task_id)s AND seq > %(after)s ORDER BY seq

-- name: newest_output
SELECT task_id, attempt, seq, stream, text, at, level
FROM chongming_output WHERE task_id = %(task_id)s AND seq > %(after)s ORDER BY seq DESC LIMIT %(limit)s

-- name: count_ended
SELECT count(*) FROM chongming_tasks WHERE status = ANY(%(status)s)

-- name: oldest_ended
SELECT task_id FROM chongming_tasks WHERE status = ANY(%(status)s) ORDER BY seq LIMIT %(excess)s

-- name: drop_tasks
DELETE FROM chongming_tasks WHERE task_id = ANY(%(ids)s)

-- name: drop_tags
DELETE FROM chongming_task_tags WHERE task_id = ANY(%(ids)s)

-- name: drop_transitions
DELETE FROM chongming_transitions WHERE task_id = ANY(%(ids)s)

-- name: drop_attempts
DELETE FROM chongming_attempts WHERE task_id = ANY(%(ids)s)

-- name: drop_output
DELETE FROM chongming_output WHERE task_id = ANY(%(ids)s)

-- name: drop_output_sizes
DELETE FROM chongming_output_sizes WHERE task_id = ANY(%(ids)s)

-- name: drop_commands_of_nothing
DELETE FROM chongming_commands c WHERE NOT EXISTS (SELECT 1 FROM chongming_tasks t WHERE t.task_id = c.task_id)

-- name: add_command
INSERT INTO chongming_commands (
    id, task_id, verb, args, actor, created_at, lease_owner, lease_until, completed_at, outcome
) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s) ON CONFLICT (id) DO NOTHING

-- name: claimable
SELECT id, task_id, verb, args, actor, created_at, lease_owner, lease_until, completed_at, outcome
FROM chongming_commands WHERE completed_at IS NULL AND (lease_until IS NULL OR lease_until <= %(now)s)

-- name: for_records_of
AND EXISTS (
    SELECT 1 FROM chongming_tasks
    WHERE chongming_tasks.task_id = chongming_commands.task_id AND chongming_tasks.owner = ANY(%(owners)s)
)

-- name: first_claimable
ORDER BY seq LIMIT %(limit)s

-- name: lock_claimable
ORDER BY seq LIMIT %(limit)s FOR UPDATE SKIP LOCKED

-- name: lease_commands
UPDATE chongming_commands SET lease_owner = %(owner)s, lease_until = %(until)s WHERE id = ANY(%(ids)s)

-- name: complete_command
UPDATE chongming_commands SET completed_at = %(now)s, outcome = %(outcome)s, lease_until = NULL
WHERE id = %(id)s AND lease_owner = %(owner)s AND completed_at IS NULL

-- name: release_commands
UPDATE chongming_commands SET lease_owner = NULL, lease_until = NULL
WHERE lease_owner = %(owner)s AND completed_at IS NULL

-- name: of_these_commands
AND id = ANY(%(ids)s)

-- name: command
SELECT id, task_id, verb, args, actor, created_at, lease_owner, lease_until, completed_at, outcome
FROM chongming_commands WHERE id = %(id)s

-- name: commands
SELECT id, task_id, verb, args, actor, created_at, lease_owner, lease_until, completed_at, outcome
FROM chongming_commands WHERE task_id = %(task_id)s ORDER BY seq

-- name: put_owner
INSERT INTO chongming_owners (owner, process, lease_until, buckets) VALUES (%s, %s, %s, %s)
ON CONFLICT (owner) DO UPDATE SET
    process = excluded.process, lease_until = excluded.lease_until, buckets = excluded.buckets

-- name: drop_owner
DELETE FROM chongming_owners WHERE owner = %(owner)s

-- name: owners
SELECT owner, process, lease_until, buckets FROM chongming_owners ORDER BY owner

-- name: claim_bucket
INSERT INTO chongming_bucket_leases (bucket, owner, lease_until) VALUES (%(bucket)s, %(owner)s, %(until)s)
ON CONFLICT (bucket) DO UPDATE SET owner = excluded.owner, lease_until = excluded.lease_until
WHERE chongming_bucket_leases.owner = excluded.owner OR chongming_bucket_leases.lease_until <= %(now)s

-- name: renew_buckets
UPDATE chongming_bucket_leases SET lease_until = %(until)s WHERE owner = %(owner)s

-- name: release_buckets
DELETE FROM chongming_bucket_leases WHERE owner = %(owner)s

-- name: of_these_buckets
AND bucket = ANY(%(buckets)s)

-- name: buckets_of
SELECT bucket FROM chongming_bucket_leases WHERE owner = %(owner)s

-- name: bucket_leases
SELECT bucket, owner, lease_until FROM chongming_bucket_leases ORDER BY bucket

-- name: begin
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE

-- name: begin_reading
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY

-- name: plan_for_large_tables
-- A plan is kept. One made while a table is small reads all of it, and would go on to do so as the table grows.
SELECT set_config(name, 'off', false) FROM unnest(ARRAY['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin']) AS name

-- name: serialize
SELECT pg_advisory_xact_lock(hashtextextended('chongming_task ' || coalesce(current_schema(), ''), 0))

-- name: notify
SELECT pg_notify(%(channel)s, %(ids)s)

-- name: schema_exists
SELECT 1 FROM pg_namespace WHERE nspname = %(schema)s

-- name: current_schema
SELECT current_schema()

-- name: set_search_path
SELECT set_config('search_path', quote_ident(%(schema)s), false)
