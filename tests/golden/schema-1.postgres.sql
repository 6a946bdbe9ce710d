CREATE TABLE IF NOT EXISTS chongming_meta (name text PRIMARY KEY, value text NOT NULL);
CREATE TABLE IF NOT EXISTS chongming_migrations (version bigint PRIMARY KEY, at bigint NOT NULL);

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

INSERT INTO chongming_meta (name, value) OVERRIDING SYSTEM VALUE VALUES ('num_buckets', '64');
INSERT INTO chongming_meta (name, value) OVERRIDING SYSTEM VALUE VALUES ('schema_version', '1');
INSERT INTO chongming_migrations (version, at) OVERRIDING SYSTEM VALUE VALUES (1, 1796069216061885);
INSERT INTO chongming_tasks (seq, task_id, name, created_at, spec_name, pipeline_run_id, node, depends_on, tags, priority, bucket, bucket_key, executor, inputs, status, status_version, requested_action, overridden, attempt, max_attempts, live, abandoned, queued_at, started_at, ended_at, retry_at, grace_until, last_heartbeat_at, progress, failure, outcome, owner, lease_until, pid) OVERRIDING SYSTEM VALUE VALUES (1, 'golden-pending', 'pending', 1770091506789012, 'golden.spec', 'run-1', 'node 1', '["golden-queued","golden-running"]',  E'["gpu","nightly","\\u91cd\\u660e\\u9e1f \\u00b7 \\u05e9\\u05dc\\u05d5\\u05dd \\u00b7 \\ud83d\\udc26\\u200d\\ud83d\\udd25 \\u00b7 ''quoted'' \\"twice\\" %s :x ? \\\\"]',  -7, 0,  E'重明鸟 · שלום · 🐦‍🔥 · ''quoted'' "twice" %s :x ? \\', 'process',  E'{"args":[1,1.0,null,true,{"\\u6df1":["\\u91cd\\u660e\\u9e1f \\u00b7 \\u05e9\\u05dc\\u05d5\\u05dd \\u00b7 \\ud83d\\udc26\\u200d\\ud83d\\udd25 \\u00b7 ''quoted'' \\"twice\\" %s :x ? \\\\"]}],"kwargs":{}}', 'pending', 0, NULL, 0, 0, 3, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO chongming_tasks (seq, task_id, name, created_at, spec_name, pipeline_run_id, node, depends_on, tags, priority, bucket, bucket_key, executor, inputs, status, status_version, requested_action, overridden, attempt, max_attempts, live, abandoned, queued_at, started_at, ended_at, retry_at, grace_until, last_heartbeat_at, progress, failure, outcome, owner, lease_until, pid) OVERRIDING SYSTEM VALUE VALUES (2, 'golden-blocked', 'blocked', 1770091506789012, NULL, 'run-1', NULL, '["golden-pending"]', NULL, 0, NULL, NULL, NULL, NULL, 'blocked', 1, NULL, 0, 0, 3, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '{}', 'host-a:4711:123456', NULL, NULL);
INSERT INTO chongming_tasks (seq, task_id, name, created_at, spec_name, pipeline_run_id, node, depends_on, tags, priority, bucket, bucket_key, executor, inputs, status, status_version, requested_action, overridden, attempt, max_attempts, live, abandoned, queued_at, started_at, ended_at, retry_at, grace_until, last_heartbeat_at, progress, failure, outcome, owner, lease_until, pid) OVERRIDING SYSTEM VALUE VALUES (3, 'golden-queued', 'queued', 1770091506789012, NULL, NULL, NULL, NULL, '["gpu"]', 2147483647, 63, NULL, NULL, NULL, 'queued', 1, NULL, 0, 0, 3, 0, 0, 1770091507789012, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '0', 'host-a:4711:123456', 1770091566789012, NULL);
INSERT INTO chongming_tasks (seq, task_id, name, created_at, spec_name, pipeline_run_id, node, depends_on, tags, priority, bucket, bucket_key, executor, inputs, status, status_version, requested_action, overridden, attempt, max_attempts, live, abandoned, queued_at, started_at, ended_at, retry_at, grace_until, last_heartbeat_at, progress, failure, outcome, owner, lease_until, pid) OVERRIDING SYSTEM VALUE VALUES (4, 'golden-starting', 'starting', 1770091506789012, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'starting', 2, NULL, 0, 1, 3, 1, 0, 1770091507789012, 1770091508789012, NULL, NULL, NULL, NULL, NULL, NULL, '""', 'host-a:4711:123456', 1770091566789012, NULL);
INSERT INTO chongming_tasks (seq, task_id, name, created_at, spec_name, pipeline_run_id, node, depends_on, tags, priority, bucket, bucket_key, executor, inputs, status, status_version, requested_action, overridden, attempt, max_attempts, live, abandoned, queued_at, started_at, ended_at, retry_at, grace_until, last_heartbeat_at, progress, failure, outcome, owner, lease_until, pid) OVERRIDING SYSTEM VALUE VALUES (5, 'golden-running', 'running', 1770091506789012, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, 'process', NULL, 'running', 3, NULL, 0, 1, 3, 1, 0, 1770091507789012, 1770091508789012, NULL, NULL, NULL, 1770091515789013,  E'[3,7.5,"files","\\u91cd\\u660e\\u9e1f \\u00b7 \\u05e9\\u05dc\\u05d5\\u05dd \\u00b7 \\ud83d\\udc26\\u200d\\ud83d\\udd25 \\u00b7 ''quoted'' \\"twice\\" %s :x ? \\\\",1770091516289012]', NULL, NULL, 'host-a:4711:123456', 1770091566789012, 4711);
INSERT INTO chongming_tasks (seq, task_id, name, created_at, spec_name, pipeline_run_id, node, depends_on, tags, priority, bucket, bucket_key, executor, inputs, status, status_version, requested_action, overridden, attempt, max_attempts, live, abandoned, queued_at, started_at, ended_at, retry_at, grace_until, last_heartbeat_at, progress, failure, outcome, owner, lease_until, pid) OVERRIDING SYSTEM VALUE VALUES (6, 'golden-pausing', 'pausing', 1770091506789012, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'pausing', 4, 'pause', 0, 1, 3, 1, 0, 1770091507789012, 1770091508789012, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'host-a:4711:123456', 1770091566789012, NULL);
INSERT INTO chongming_tasks (seq, task_id, name, created_at, spec_name, pipeline_run_id, node, depends_on, tags, priority, bucket, bucket_key, executor, inputs, status, status_version, requested_action, overridden, attempt, max_attempts, live, abandoned, queued_at, started_at, ended_at, retry_at, grace_until, last_heartbeat_at, progress, failure, outcome, owner, lease_until, pid) OVERRIDING SYSTEM VALUE VALUES (7, 'golden-paused', 'paused', 1770091506789012, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'paused', 5, NULL, 0, 1, 3, 1, 0, 1770091507789012, 1770091508789012, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'host-a:4711:123456', 1770091566789012, NULL);
INSERT INTO chongming_tasks (seq, task_id, name, created_at, spec_name, pipeline_run_id, node, depends_on, tags, priority, bucket, bucket_key, executor, inputs, status, status_version, requested_action, overridden, attempt, max_attempts, live, abandoned, queued_at, started_at, ended_at, retry_at, grace_until, last_heartbeat_at, progress, failure, outcome, owner, lease_until, pid) OVERRIDING SYSTEM VALUE VALUES (8, 'golden-retry_wait', 'retry_wait', 1770091506789012, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'retry_wait', 4, NULL, 0, 1, 3, 0, 0, 1770091507789012, 1770091508789012, NULL, 253402214400000000, NULL, NULL, NULL,  E'{"kind":"exception","message":"no such bird: \\u91cd\\u660e\\u9e1f \\u00b7 \\u05e9\\u05dc\\u05d5\\u05dd \\u00b7 \\ud83d\\udc26\\u200d\\ud83d\\udd25 \\u00b7 ''quoted'' \\"twice\\" %s :x ? \\\\","traceback":"Traceback:\\n  line 1\\n\\tValueError","exception_type":"builtins.ValueError","retryable":true,"exit_code":null}', NULL, 'host-a:4711:123456', NULL, NULL);
INSERT INTO chongming_tasks (seq, task_id, name, created_at, spec_name, pipeline_run_id, node, depends_on, tags, priority, bucket, bucket_key, executor, inputs, status, status_version, requested_action, overridden, attempt, max_attempts, live, abandoned, queued_at, started_at, ended_at, retry_at, grace_until, last_heartbeat_at, progress, failure, outcome, owner, lease_until, pid) OVERRIDING SYSTEM VALUE VALUES (9, 'golden-stopping', 'stopping', 1770091506789012, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'stopping', 4, 'stop', 0, 1, 3, 1, 0, 1770091507789012, 1770091508789012, NULL, NULL, 1770091536789012, NULL, NULL, NULL, NULL, 'host-b:815:99', 1770091566789012, NULL);
INSERT INTO chongming_tasks (seq, task_id, name, created_at, spec_name, pipeline_run_id, node, depends_on, tags, priority, bucket, bucket_key, executor, inputs, status, status_version, requested_action, overridden, attempt, max_attempts, live, abandoned, queued_at, started_at, ended_at, retry_at, grace_until, last_heartbeat_at, progress, failure, outcome, owner, lease_until, pid) OVERRIDING SYSTEM VALUE VALUES (10, 'golden-succeeded', 'succeeded', 1770091506789012, NULL, NULL, NULL, NULL, NULL, 0, 5, NULL, NULL, NULL, 'succeeded', 7, NULL, 0, 2, 3, 0, 0, 1770091507789012, 1770091511789012, 1770091513789012, NULL, NULL, NULL, NULL, NULL,  E'["\\u91cd\\u660e\\u9e1f \\u00b7 \\u05e9\\u05dc\\u05d5\\u05dd \\u00b7 \\ud83d\\udc26\\u200d\\ud83d\\udd25 \\u00b7 ''quoted'' \\"twice\\" %s :x ? \\\\",0,-1,1.5,1e+300,9007199254740992,false,null,{"\\u6df1":{"er":[]}}]', 'host-a:4711:123456', NULL, NULL);
INSERT INTO chongming_tasks (seq, task_id, name, created_at, spec_name, pipeline_run_id, node, depends_on, tags, priority, bucket, bucket_key, executor, inputs, status, status_version, requested_action, overridden, attempt, max_attempts, live, abandoned, queued_at, started_at, ended_at, retry_at, grace_until, last_heartbeat_at, progress, failure, outcome, owner, lease_until, pid) OVERRIDING SYSTEM VALUE VALUES (11, 'golden-failed', 'failed', 1770091506789012, NULL, 'run-1', NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'failed', 4, NULL, 0, 1, 1, 0, 0, 1770091507789012, 1770091508789012, 1770091510789012, NULL, NULL, NULL, NULL,  E'{"kind":"exception","message":"no such bird: \\u91cd\\u660e\\u9e1f \\u00b7 \\u05e9\\u05dc\\u05d5\\u05dd \\u00b7 \\ud83d\\udc26\\u200d\\ud83d\\udd25 \\u00b7 ''quoted'' \\"twice\\" %s :x ? \\\\","traceback":"Traceback:\\n  line 1\\n\\tValueError","exception_type":"builtins.ValueError","retryable":true,"exit_code":null}', NULL, 'host-a:4711:123456', NULL, NULL);
INSERT INTO chongming_tasks (seq, task_id, name, created_at, spec_name, pipeline_run_id, node, depends_on, tags, priority, bucket, bucket_key, executor, inputs, status, status_version, requested_action, overridden, attempt, max_attempts, live, abandoned, queued_at, started_at, ended_at, retry_at, grace_until, last_heartbeat_at, progress, failure, outcome, owner, lease_until, pid) OVERRIDING SYSTEM VALUE VALUES (12, 'golden-stopped', 'stopped', 1770091506789012, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'stopped', 5, NULL, 0, 1, 3, 0, 0, 1770091507789012, 1770091508789012, 1770091511789012, NULL, NULL, NULL, NULL, '{"kind":"cancelled","message":"","traceback":null,"exception_type":null,"retryable":false,"exit_code":null}', NULL, 'host-a:4711:123456', NULL, NULL);
INSERT INTO chongming_tasks (seq, task_id, name, created_at, spec_name, pipeline_run_id, node, depends_on, tags, priority, bucket, bucket_key, executor, inputs, status, status_version, requested_action, overridden, attempt, max_attempts, live, abandoned, queued_at, started_at, ended_at, retry_at, grace_until, last_heartbeat_at, progress, failure, outcome, owner, lease_until, pid) OVERRIDING SYSTEM VALUE VALUES (13, 'golden-cancelled', 'cancelled', 1770091506789012, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'cancelled', 2, NULL, 0, 0, 3, 0, 0, 1770091507789012, NULL, 1770091508789012, NULL, NULL, NULL, NULL, '{"kind":"dependency_failed","message":"","traceback":null,"exception_type":null,"retryable":false,"exit_code":null}', NULL, 'host-a:4711:123456', NULL, NULL);
INSERT INTO chongming_tasks (seq, task_id, name, created_at, spec_name, pipeline_run_id, node, depends_on, tags, priority, bucket, bucket_key, executor, inputs, status, status_version, requested_action, overridden, attempt, max_attempts, live, abandoned, queued_at, started_at, ended_at, retry_at, grace_until, last_heartbeat_at, progress, failure, outcome, owner, lease_until, pid) OVERRIDING SYSTEM VALUE VALUES (14, 'golden-skipped', 'skipped', 1770091506789012, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'skipped', 2, NULL, 0, 0, 3, 0, 0, 1770091507789012, NULL, 1770091508789012, NULL, NULL, NULL, NULL, '{"kind":"condition_false","message":"when=","traceback":null,"exception_type":null,"retryable":false,"exit_code":null}', NULL, 'host-a:4711:123456', NULL, NULL);
INSERT INTO chongming_tasks (seq, task_id, name, created_at, spec_name, pipeline_run_id, node, depends_on, tags, priority, bucket, bucket_key, executor, inputs, status, status_version, requested_action, overridden, attempt, max_attempts, live, abandoned, queued_at, started_at, ended_at, retry_at, grace_until, last_heartbeat_at, progress, failure, outcome, owner, lease_until, pid) OVERRIDING SYSTEM VALUE VALUES (15, 'golden-lost', 'lost', 1770091506789012, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'lost', 4, NULL, 0, 1, 3, 0, 1, 1770091507789012, 1770091508789012, 1770091510789012, NULL, NULL, NULL, NULL, '{"kind":"nonzero_exit","message":"killed","traceback":null,"exception_type":null,"retryable":false,"exit_code":-9}', NULL, 'host-a:4711:123456', NULL, NULL);
INSERT INTO chongming_tasks (seq, task_id, name, created_at, spec_name, pipeline_run_id, node, depends_on, tags, priority, bucket, bucket_key, executor, inputs, status, status_version, requested_action, overridden, attempt, max_attempts, live, abandoned, queued_at, started_at, ended_at, retry_at, grace_until, last_heartbeat_at, progress, failure, outcome, owner, lease_until, pid) OVERRIDING SYSTEM VALUE VALUES (16, 'golden-overridden', 'overridden', 1770091506789012, NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL, 'succeeded', 2, NULL, 1, 0, 3, 0, 0, 1770091507789012, NULL, 1770091508789012, NULL, NULL, NULL, NULL, NULL, NULL, 'host-a:4711:123456', NULL, NULL);
SELECT setval(pg_get_serial_sequence('chongming_tasks', 'seq'), (SELECT max(seq) FROM chongming_tasks));
INSERT INTO chongming_task_tags (tag, task_id) OVERRIDING SYSTEM VALUE VALUES ('gpu', 'golden-pending');
INSERT INTO chongming_task_tags (tag, task_id) OVERRIDING SYSTEM VALUE VALUES ('gpu', 'golden-queued');
INSERT INTO chongming_task_tags (tag, task_id) OVERRIDING SYSTEM VALUE VALUES ('nightly', 'golden-pending');
INSERT INTO chongming_task_tags (tag, task_id) OVERRIDING SYSTEM VALUE VALUES ( E'重明鸟 · שלום · 🐦‍🔥 · ''quoted'' "twice" %s :x ? \\', 'golden-pending');
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (1, 'golden-blocked', 1, 'pending', 'blocked', 'user:start', 'user:panel', NULL, 1770091507789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (2, 'golden-queued', 1, 'pending', 'queued', 'user:start', 'user:panel', NULL, 1770091507789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (3, 'golden-starting', 1, 'pending', 'queued', 'user:start', 'user:panel', NULL, 1770091507789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (4, 'golden-starting', 2, 'queued', 'starting', 'scheduler:dispatch', 'engine', NULL, 1770091508789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (5, 'golden-running', 1, 'pending', 'queued', 'user:start', 'user:panel', NULL, 1770091507789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (6, 'golden-running', 2, 'queued', 'starting', 'scheduler:dispatch', 'engine', NULL, 1770091508789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (7, 'golden-running', 3, 'starting', 'running', 'worker:started', 'engine', NULL, 1770091509789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (8, 'golden-pausing', 1, 'pending', 'queued', 'user:start', 'user:panel', NULL, 1770091507789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (9, 'golden-pausing', 2, 'queued', 'starting', 'scheduler:dispatch', 'engine', NULL, 1770091508789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (10, 'golden-pausing', 3, 'starting', 'running', 'worker:started', 'engine', NULL, 1770091509789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (11, 'golden-pausing', 4, 'running', 'pausing', 'user:pause', 'user:panel', NULL, 1770091510789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (12, 'golden-paused', 1, 'pending', 'queued', 'user:start', 'user:panel', NULL, 1770091507789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (13, 'golden-paused', 2, 'queued', 'starting', 'scheduler:dispatch', 'engine', NULL, 1770091508789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (14, 'golden-paused', 3, 'starting', 'running', 'worker:started', 'engine', NULL, 1770091509789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (15, 'golden-paused', 4, 'running', 'pausing', 'user:pause', 'user:panel', NULL, 1770091510789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (16, 'golden-paused', 5, 'pausing', 'paused', 'worker:held', 'engine', 'lunch', 1770091511789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (17, 'golden-retry_wait', 1, 'pending', 'queued', 'user:start', 'user:panel', NULL, 1770091507789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (18, 'golden-retry_wait', 2, 'queued', 'starting', 'scheduler:dispatch', 'engine', NULL, 1770091508789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (19, 'golden-retry_wait', 3, 'starting', 'running', 'worker:started', 'engine', NULL, 1770091509789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (20, 'golden-retry_wait', 4, 'running', 'retry_wait', 'worker:raised', 'engine', NULL, 1770091510789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (21, 'golden-stopping', 1, 'pending', 'queued', 'user:start', 'user:panel', NULL, 1770091507789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (22, 'golden-stopping', 2, 'queued', 'starting', 'scheduler:dispatch', 'engine', NULL, 1770091508789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (23, 'golden-stopping', 3, 'starting', 'running', 'worker:started', 'engine', NULL, 1770091509789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (24, 'golden-stopping', 4, 'running', 'stopping', 'user:stop', 'user:panel',  E'重明鸟 · שלום · 🐦‍🔥 · ''quoted'' "twice" %s :x ? \\', 1770091510789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (25, 'golden-succeeded', 1, 'pending', 'queued', 'user:start', 'user:panel', NULL, 1770091507789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (26, 'golden-succeeded', 2, 'queued', 'starting', 'scheduler:dispatch', 'engine', NULL, 1770091508789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (27, 'golden-succeeded', 3, 'starting', 'running', 'worker:started', 'engine', NULL, 1770091509789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (28, 'golden-succeeded', 4, 'running', 'retry_wait', 'worker:raised', 'engine', NULL, 1770091510789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (29, 'golden-succeeded', 5, 'retry_wait', 'starting', 'scheduler:dispatch', 'engine', NULL, 1770091511789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (30, 'golden-succeeded', 6, 'starting', 'running', 'worker:started', 'engine', NULL, 1770091512789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (31, 'golden-succeeded', 7, 'running', 'succeeded', 'worker:returned', 'engine', NULL, 1770091513789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (32, 'golden-failed', 1, 'pending', 'queued', 'user:start', 'user:panel', NULL, 1770091507789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (33, 'golden-failed', 2, 'queued', 'starting', 'scheduler:dispatch', 'engine', NULL, 1770091508789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (34, 'golden-failed', 3, 'starting', 'running', 'worker:started', 'engine', NULL, 1770091509789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (35, 'golden-failed', 4, 'running', 'failed', 'retry:exhausted', 'engine', NULL, 1770091510789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (36, 'golden-stopped', 1, 'pending', 'queued', 'user:start', 'user:panel', NULL, 1770091507789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (37, 'golden-stopped', 2, 'queued', 'starting', 'scheduler:dispatch', 'engine', NULL, 1770091508789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (38, 'golden-stopped', 3, 'starting', 'running', 'worker:started', 'engine', NULL, 1770091509789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (39, 'golden-stopped', 4, 'running', 'stopping', 'user:stop', 'user:panel', NULL, 1770091510789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (40, 'golden-stopped', 5, 'stopping', 'stopped', 'worker:obeyed', 'engine', NULL, 1770091511789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (41, 'golden-cancelled', 1, 'pending', 'queued', 'user:start', 'user:panel', NULL, 1770091507789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (42, 'golden-cancelled', 2, 'queued', 'cancelled', 'upstream:failed', 'engine', NULL, 1770091508789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (43, 'golden-skipped', 1, 'pending', 'queued', 'user:start', 'user:panel', NULL, 1770091507789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (44, 'golden-skipped', 2, 'queued', 'skipped', 'user:skip', 'user:panel', NULL, 1770091508789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (45, 'golden-lost', 1, 'pending', 'queued', 'user:start', 'user:panel', NULL, 1770091507789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (46, 'golden-lost', 2, 'queued', 'starting', 'scheduler:dispatch', 'engine', NULL, 1770091508789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (47, 'golden-lost', 3, 'starting', 'running', 'worker:started', 'engine', NULL, 1770091509789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (48, 'golden-lost', 4, 'running', 'lost', 'reconcile:orphan', 'engine', NULL, 1770091510789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (49, 'golden-overridden', 1, 'pending', 'queued', 'user:start', 'user:panel', NULL, 1770091507789012);
INSERT INTO chongming_transitions (seq, task_id, version, from_status, to_status, trigger, actor, reason, at) OVERRIDING SYSTEM VALUE VALUES (50, 'golden-overridden', 2, 'queued', 'succeeded', 'force:override', 'engine', 'by hand', 1770091508789012);
SELECT setval(pg_get_serial_sequence('chongming_transitions', 'seq'), (SELECT max(seq) FROM chongming_transitions));
INSERT INTO chongming_attempts (task_id, attempt, status, started_at, ended_at, seconds, paused_seconds, failure, executor, pid, owner, note) OVERRIDING SYSTEM VALUE VALUES ('golden-failed', 1, 'failed', 1770091508789012, 1770091510789012, 0.5, 0.125,  E'{"kind":"exception","message":"no such bird: \\u91cd\\u660e\\u9e1f \\u00b7 \\u05e9\\u05dc\\u05d5\\u05dd \\u00b7 \\ud83d\\udc26\\u200d\\ud83d\\udd25 \\u00b7 ''quoted'' \\"twice\\" %s :x ? \\\\","traceback":"Traceback:\\n  line 1\\n\\tValueError","exception_type":"builtins.ValueError","retryable":true,"exit_code":null}', 'process', 4704, 'host-a:4711:123456', NULL);
INSERT INTO chongming_attempts (task_id, attempt, status, started_at, ended_at, seconds, paused_seconds, failure, executor, pid, owner, note) OVERRIDING SYSTEM VALUE VALUES ('golden-lost', 1, 'lost', 1770091508789012, 1770091510789012, 0.5, 0.125,  E'{"kind":"exception","message":"no such bird: \\u91cd\\u660e\\u9e1f \\u00b7 \\u05e9\\u05dc\\u05d5\\u05dd \\u00b7 \\ud83d\\udc26\\u200d\\ud83d\\udd25 \\u00b7 ''quoted'' \\"twice\\" %s :x ? \\\\","traceback":"Traceback:\\n  line 1\\n\\tValueError","exception_type":"builtins.ValueError","retryable":true,"exit_code":null}', 'process', 4704, 'host-a:4711:123456',  E'重明鸟 · שלום · 🐦‍🔥 · ''quoted'' "twice" %s :x ? \\');
INSERT INTO chongming_attempts (task_id, attempt, status, started_at, ended_at, seconds, paused_seconds, failure, executor, pid, owner, note) OVERRIDING SYSTEM VALUE VALUES ('golden-paused', 1, 'running', 1770091508789012, NULL, NULL, 0.0, NULL, NULL, NULL, 'host-a:4711:123456', NULL);
INSERT INTO chongming_attempts (task_id, attempt, status, started_at, ended_at, seconds, paused_seconds, failure, executor, pid, owner, note) OVERRIDING SYSTEM VALUE VALUES ('golden-pausing', 1, 'running', 1770091508789012, NULL, NULL, 0.0, NULL, NULL, NULL, 'host-a:4711:123456', NULL);
INSERT INTO chongming_attempts (task_id, attempt, status, started_at, ended_at, seconds, paused_seconds, failure, executor, pid, owner, note) OVERRIDING SYSTEM VALUE VALUES ('golden-retry_wait', 1, 'failed', 1770091508789012, 1770091510789012, 0.5, 0.125,  E'{"kind":"exception","message":"no such bird: \\u91cd\\u660e\\u9e1f \\u00b7 \\u05e9\\u05dc\\u05d5\\u05dd \\u00b7 \\ud83d\\udc26\\u200d\\ud83d\\udd25 \\u00b7 ''quoted'' \\"twice\\" %s :x ? \\\\","traceback":"Traceback:\\n  line 1\\n\\tValueError","exception_type":"builtins.ValueError","retryable":true,"exit_code":null}', 'process', 4704, 'host-a:4711:123456', NULL);
INSERT INTO chongming_attempts (task_id, attempt, status, started_at, ended_at, seconds, paused_seconds, failure, executor, pid, owner, note) OVERRIDING SYSTEM VALUE VALUES ('golden-running', 1, 'running', 1770091508789012, NULL, NULL, 0.0, NULL, NULL, NULL, 'host-a:4711:123456', NULL);
INSERT INTO chongming_attempts (task_id, attempt, status, started_at, ended_at, seconds, paused_seconds, failure, executor, pid, owner, note) OVERRIDING SYSTEM VALUE VALUES ('golden-starting', 1, 'running', 1770091508789012, NULL, NULL, 0.0, NULL, NULL, NULL, 'host-a:4711:123456', NULL);
INSERT INTO chongming_attempts (task_id, attempt, status, started_at, ended_at, seconds, paused_seconds, failure, executor, pid, owner, note) OVERRIDING SYSTEM VALUE VALUES ('golden-stopped', 1, 'stopped', 1770091508789012, 1770091511789012, 0.625, 0.125,  E'{"kind":"exception","message":"no such bird: \\u91cd\\u660e\\u9e1f \\u00b7 \\u05e9\\u05dc\\u05d5\\u05dd \\u00b7 \\ud83d\\udc26\\u200d\\ud83d\\udd25 \\u00b7 ''quoted'' \\"twice\\" %s :x ? \\\\","traceback":"Traceback:\\n  line 1\\n\\tValueError","exception_type":"builtins.ValueError","retryable":true,"exit_code":null}', 'process', 4705, 'host-a:4711:123456', NULL);
INSERT INTO chongming_attempts (task_id, attempt, status, started_at, ended_at, seconds, paused_seconds, failure, executor, pid, owner, note) OVERRIDING SYSTEM VALUE VALUES ('golden-stopping', 1, 'running', 1770091508789012, NULL, NULL, 0.0, NULL, NULL, NULL, 'host-a:4711:123456', NULL);
INSERT INTO chongming_attempts (task_id, attempt, status, started_at, ended_at, seconds, paused_seconds, failure, executor, pid, owner, note) OVERRIDING SYSTEM VALUE VALUES ('golden-succeeded', 1, 'failed', 1770091508789012, 1770091510789012, 0.5, 0.125,  E'{"kind":"exception","message":"no such bird: \\u91cd\\u660e\\u9e1f \\u00b7 \\u05e9\\u05dc\\u05d5\\u05dd \\u00b7 \\ud83d\\udc26\\u200d\\ud83d\\udd25 \\u00b7 ''quoted'' \\"twice\\" %s :x ? \\\\","traceback":"Traceback:\\n  line 1\\n\\tValueError","exception_type":"builtins.ValueError","retryable":true,"exit_code":null}', 'process', 4704, 'host-a:4711:123456', NULL);
INSERT INTO chongming_attempts (task_id, attempt, status, started_at, ended_at, seconds, paused_seconds, failure, executor, pid, owner, note) OVERRIDING SYSTEM VALUE VALUES ('golden-succeeded', 2, 'succeeded', 1770091511789012, 1770091513789012, 0.875, 0.125, NULL, 'process', 4707, 'host-a:4711:123456', NULL);
INSERT INTO chongming_output (task_id, attempt, seq, stream, text, at, level) OVERRIDING SYSTEM VALUE VALUES ('golden-running', 1, 1, 'stdout', '', 1770091507789012, NULL);
INSERT INTO chongming_output (task_id, attempt, seq, stream, text, at, level) OVERRIDING SYSTEM VALUE VALUES ('golden-running', 1, 2, 'stderr',  E'重明鸟 · שלום · 🐦‍🔥 · ''quoted'' "twice" %s :x ? \\', 1770091508789012, NULL);
INSERT INTO chongming_output (task_id, attempt, seq, stream, text, at, level) OVERRIDING SYSTEM VALUE VALUES ('golden-running', 1, 5, 'log', 'a gap before me', 1770091511789012, 30);
INSERT INTO chongming_output (task_id, attempt, seq, stream, text, at, level) OVERRIDING SYSTEM VALUE VALUES ('golden-running', 1, 6, 'stdout', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', 1770091512789012, NULL);
INSERT INTO chongming_output_sizes (task_id, newest, lines, characters) OVERRIDING SYSTEM VALUE VALUES ('golden-running', 6, 4, 560);
INSERT INTO chongming_commands (seq, id, task_id, verb, args, actor, created_at, lease_owner, lease_until, completed_at, outcome) OVERRIDING SYSTEM VALUE VALUES (1, 'c-done', 'golden-running', 'pause', '{"a":[null]}',  E'重明鸟 · שלום · 🐦‍🔥 · ''quoted'' "twice" %s :x ? \\', 1770091506789012, 'host-a:4711:123456', NULL, 1770091510789012, '{"did":[1]}');
INSERT INTO chongming_commands (seq, id, task_id, verb, args, actor, created_at, lease_owner, lease_until, completed_at, outcome) OVERRIDING SYSTEM VALUE VALUES (2, 'c-taken', 'golden-stopping', 'stop', '{}', 'operator', 1770091507789012, 'host-b:815:99', 1770091518789012, NULL, NULL);
INSERT INTO chongming_commands (seq, id, task_id, verb, args, actor, created_at, lease_owner, lease_until, completed_at, outcome) OVERRIDING SYSTEM VALUE VALUES (3, 'c-open', 'golden-running', 'stop',  E'{"graceful":true,"reason":"\\u91cd\\u660e\\u9e1f \\u00b7 \\u05e9\\u05dc\\u05d5\\u05dd \\u00b7 \\ud83d\\udc26\\u200d\\ud83d\\udd25 \\u00b7 ''quoted'' \\"twice\\" %s :x ? \\\\"}', 'user', 1770091508789012, NULL, NULL, NULL, NULL);
SELECT setval(pg_get_serial_sequence('chongming_commands', 'seq'), (SELECT max(seq) FROM chongming_commands));
INSERT INTO chongming_bucket_leases (bucket, owner, lease_until) OVERRIDING SYSTEM VALUE VALUES (0, 'host-a:4711:123456', 1770091536789012);
INSERT INTO chongming_bucket_leases (bucket, owner, lease_until) OVERRIDING SYSTEM VALUE VALUES (63, 'host-b:815:99', 1770091546789012);
