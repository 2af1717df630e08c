// SPDX-License-Identifier: Apache-2.0
/* The table of statements. Read-only data; any thread. */
#include "store/postgres/statements.h"

#include <stddef.h>

/** Order of the columns that postgres_row_run() expects; `r` is what is before each name. */
#define RUN_COLUMNS(r)                                                                             \
    r "id, " r "agent_id, " r "is_exclusive, " r "owner, " r "epoch, " r "lease_until_ns, " r      \
      "alive_ns, " r "created_ns, " r "updated_ns, " r "ended_ns, " r "status, " r "iteration, " r \
      "iteration_limit, " r "conditions_met, " r "conditions_total, " r "tokens, " r               \
      "cost_micro, " r "warnings, " r "pause, " r "last_seq, " r "key, " r "boot, " r              \
      "alive_monotonic_ns, " r "parent, {s}.moment(NULL)"

/** Order of the columns that row_checkpoint() expects; fold and state follow. */
#define CHECKPOINT_COLUMNS                                                           \
    "c.seq, c.iteration, c.time_ns, c.format, c.state_size, c.is_packed, c.sha256, " \
    "c.conditions, c.custom_data"

#define LETTER_COLUMNS "r.id, l.id, l.time_ns, l.kind, l.data"

#define DOCUMENT_COLUMNS "collection, key, version, updated_ns, data"
#define DOCUMENTS_READ   "SELECT " DOCUMENT_COLUMNS " FROM {s}.read_documents"

#define MEMORY_COLUMNS                                                                        \
    "m.id, o.name, m.kind, m.created_ns, m.consolidated_ns, m.category, m.run, m.iteration, " \
    "m.source, m.metadata, m.content"
#define MEMORY_SELECT(score)                                                          \
    "SELECT " MEMORY_COLUMNS ", " score "::double precision FROM {s}.memories m JOIN" \
    " {s}.memory_owners o ON o.key = m.owner "
/* Every kind has its own range of the index, which gives the first ones; so a page costs the same
 * however many memories there are. */
#define MEMORY_LIST(order)                                                                        \
    "SELECT " MEMORY_COLUMNS ", 0::double precision FROM (SELECT x.id FROM"                       \
    " pg_catalog.unnest(ARRAY[0, 1, 2]::bigint[]) k (kind) CROSS JOIN LATERAL (SELECT id, "       \
    "created_ns"                                                                                  \
    " FROM {s}.memories WHERE ($1::text IS NULL OR owner = (SELECT key FROM {s}.memory_owners"    \
    " WHERE name = $1)) AND kind = k.kind AND ($3::text IS NULL OR category = $3)"                \
    " AND (NOT $4 OR consolidated_ns = 0) ORDER BY created_ns " order ", id " order               \
    " LIMIT $5) x WHERE ($2 >> k.kind::int) & 1::bigint = 1 ORDER BY x.created_ns " order         \
    ", x.id " order                                                                               \
    " LIMIT $5) y JOIN {s}.memories m ON m.id = y.id JOIN {s}.memory_owners o ON o.key = m.owner" \
    " ORDER BY m.created_ns " order ", m.id " order

#define GARBAGE \
    "ended_ns > 0 AND ended_ns < $1 AND (owner = '' OR lease_until_ns <= {s}.moment($2))"

/* Names that are not qualified are those of functions and operators of pg_catalog for exactly these
 * types. Where an argument would be converted, a function of another user might fit better. */
const char *const postgres_statements[PG_COUNT] = {
    /* Whatever the database's defaults are: the functions rely on seeing what was committed while
     * they waited for a lock, and on writing what others must not lose. */
    [PG_BEGIN] = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    [PG_COMMIT] = "COMMIT",
    [PG_ROLLBACK] = "ROLLBACK",

    [PG_FIND_STORE] =
        "SELECT (SELECT count(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n"
        " ON n.oid = c.relnamespace WHERE n.nspname = $1),"
        " (SELECT count(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n"
        " ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname IN"
        " ('meta', 'memory_owners'))",
    /* By the settings the server, too, notices within half a minute that this machine has gone, and
     * gives free what its transaction has locked; by default that takes two hours. */
    [PG_IDENTITY] = "SELECT m.version, s.now <> '' AND s.now <> m.system, s.now,"
                    /* Of all versions: before 11 there was no such column. */
                    " coalesce(pg_catalog.jsonb_object_field_text(pg_catalog.to_jsonb(m),"
                    " 'oldest'::text)::bigint, m.version),"
                    " pg_catalog.pg_backend_pid()::bigint,"
                    " pg_catalog.set_config('tcp_keepalives_idle', '10', false),"
                    " pg_catalog.set_config('tcp_keepalives_interval', '5', false),"
                    " pg_catalog.set_config('tcp_keepalives_count', '3', false),"
                    " pg_catalog.set_config('tcp_user_timeout', '30000', false)"
                    " FROM {s}.meta m CROSS JOIN (SELECT {s}.this_system() AS now OFFSET 0) s",
    [PG_NOTE_SYSTEM] = "SELECT {s}.note_system($1)",

    [PG_RUN_CREATE] = "SELECT f.outcome, f.epoch, " RUN_COLUMNS(
        "(f.run).") " FROM {s}.create_run($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,"
                    " $14, $15, $16, $17, $18, $19, $20, $21, $22) f",
    [PG_RUN_CLAIM] = "SELECT f.outcome, f.epoch, " RUN_COLUMNS(
        "(f.run).") " FROM {s}.claim_run($1, $2, $3, $4, $5, $6, $7) f",
    [PG_RUN_CLAIMED] = "SELECT {s}.was_claimed($1, $2, $3, $4)",
    [PG_RUN_EXPIRE] = "SELECT {s}.end_lease($1, $2)",
    [PG_RUN_RENEW] = "SELECT {s}.renew_leases($1, $2, $3, $4)",
    [PG_RUN_GET] = "SELECT " RUN_COLUMNS("") " FROM {s}.runs WHERE id = $1",
    [PG_RUN_LIST] = "SELECT " RUN_COLUMNS("") " FROM {s}.runs",
    [PG_RUN_ENDED] = "SELECT run FROM {s}.ended_runs",
    [PG_RUN_COUNT] = "SELECT status, pause > 0, count(*) FROM {s}.runs",
    [PG_RUN_COUNTS] = "FROM (SELECT * FROM {s}.run_counts UNION ALL"
                      " SELECT * FROM {s}.run_count_changes) c",

    [PG_BATCH] = "SELECT outcome, pos, has_mail FROM {s}.commit_batch($1, $2, $3, $4, $5, $6, $7,"
                 " $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23,"
                 " $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39,"
                 " $40, $41, $42, $43, $44, $45, $46, $47, $48)",
    [PG_EVENT_LOCK] = "SELECT {s}.lock_events()",
    [PG_DOCUMENT_LOCK] = "SELECT " DOCUMENT_COLUMNS " FROM {s}.lock_documents($1, $2)",

    [PG_EVENT_READ_RUN] = "SELECT e.position, r.id, e.seq, e.time_ns, e.type, e.data"
                          " FROM {s}.runs r JOIN {s}.events e ON e.run = r.key"
                          " WHERE r.id = $1 AND e.seq > $2 ORDER BY e.seq LIMIT $3",
    [PG_EVENT_READ_ALL] = "SELECT e.position, r.id, e.seq, e.time_ns, e.type, e.data"
                          " FROM (SELECT * FROM {s}.events WHERE position > $1"
                          " AND position < coalesce($3, (SELECT {s}.position_end()))"
                          " ORDER BY position LIMIT $2) e JOIN {s}.runs r ON r.key = e.run"
                          " ORDER BY e.position",
    [PG_NOW] = "SELECT {s}.moment($1)",
    [PG_EVENT_LAST_POSITION] =
        "SELECT greatest(m.collected, coalesce((SELECT max(position) FROM {s}.events WHERE"
        " position < coalesce($1, (SELECT {s}.position_end()))), 0)),"
        " pg_catalog.pg_snapshot_xmin(s)::text::bigint,"
        " pg_catalog.pg_snapshot_xmax(s)::text::bigint"
        " FROM {s}.meta m CROSS JOIN pg_catalog.pg_current_snapshot() s",
    [PG_EVENT_END] = "SELECT {s}.position_end_of_ours()",

    [PG_CHECKPOINT_LIST] = "SELECT c.number, " CHECKPOINT_COLUMNS " FROM {s}.runs r"
                           " JOIN {s}.checkpoints c ON c.run = r.key WHERE r.id = $1"
                           " ORDER BY c.number DESC",
    [PG_CHECKPOINT_GET] = "SELECT c.number, " CHECKPOINT_COLUMNS ", c.fold, c.state FROM {s}.runs r"
                          " JOIN {s}.checkpoints c ON c.run = r.key WHERE r.id = $1"
                          " AND c.number = $2",
    [PG_CHECKPOINT_NEWEST] = "SELECT c.number, " CHECKPOINT_COLUMNS ", c.fold, c.state"
                             " FROM {s}.runs r JOIN {s}.checkpoints c ON c.run = r.key"
                             " AND c.number = r.last_checkpoint WHERE r.id = $1",
    [PG_INTERIM_GET] = "SELECT 0::bigint, " CHECKPOINT_COLUMNS ", c.fold, c.state FROM {s}.runs r"
                       " JOIN {s}.interims c ON c.run = r.key WHERE r.id = $1",

    [PG_LETTER_POST] = "SELECT {s}.post_letter($1, $2, $3, $4)",
    [PG_LETTER_READ_RUN] = "SELECT " LETTER_COLUMNS " FROM {s}.runs r JOIN {s}.letters l"
                           " ON l.run = r.key WHERE r.id = $1 ORDER BY l.id",
    [PG_LETTER_READ_OWNER] = "SELECT " LETTER_COLUMNS " FROM {s}.runs r JOIN {s}.letters l"
                             " ON l.run = r.key WHERE r.owner = $1 AND r.owner <> '' ORDER BY l.id",

    [PG_POLICY_RECORD] = "SELECT number, is_new FROM {s}.record_policy($1, $2, $3, $4, $5, $6)",
    [PG_POLICY_READ] = "SELECT c.number, c.time_ns, c.source, c.digest, c.how, c.author, t.text"
                       " FROM {s}.policy_changes c LEFT JOIN {s}.policy_texts t"
                       " ON t.digest = c.digest WHERE c.number < $1"
                       " AND ($2::bytea IS NULL OR c.source = $2) ORDER BY c.number DESC LIMIT 100",

    [PG_DOCUMENT_CHANGE] = "SELECT {s}.change_documents($1, $2, $3, $4, $5, $6)",
    [PG_DOCUMENT_COLLECTION] = "SELECT {s}.next_collection($1)",
    [PG_DOCUMENT_GET] = DOCUMENTS_READ "($1, $2, $2 || '\\x00'::bytea, false, 1::bigint)",
    [PG_DOCUMENT_LIST] = DOCUMENTS_READ "($1, $2, $3, false, $4)",
    [PG_DOCUMENT_LIST_BACK] = DOCUMENTS_READ "($1, $2, $3, true, $4)",

    [PG_MEMORY_RESERVE] = "SELECT owner_key, last_number FROM {s}.reserve_memories($1, $2)",
    [PG_MEMORY_ADD] = "SELECT {s}.add_memory($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,"
                      " $13, $14)",
    [PG_MEMORY_FORGET] = "SELECT {s}.forget_memories($1)",
    [PG_MEMORY_CONSOLIDATE] = "SELECT {s}.consolidate_memory($1, $2)",
    [PG_MEMORY_EMBED] = "SELECT {s}.embed_memory($1, $2, $3)",
    [PG_MEMORY_PRUNE] = "SELECT {s}.prune_memories($1, $2, $3)",
    [PG_MEMORY_GET] = MEMORY_SELECT("0") "WHERE m.id = $1",
    [PG_MEMORY_LIST] = MEMORY_LIST("DESC"),
    [PG_MEMORY_LIST_OLDEST] = MEMORY_LIST("ASC"),
    [PG_MEMORY_SEARCH] =
        MEMORY_SELECT("f.score") "JOIN {s}.search_memories($1, $2, $3, $4, $5) f ON f.memory = m.id"
                                 " ORDER BY f.score DESC, m.created_ns DESC, m.id DESC",
    [PG_VECTOR_LIST] =
        "SELECT v.id, v.kind, v.created_ns, v.vector, v.model FROM {s}.memory_vectors v"
        " WHERE ($1::text IS NULL OR v.owner = (SELECT key FROM {s}.memory_owners WHERE name = $1))"
        " AND ($2 >> v.kind::int) & 1::bigint = 1 AND ($3::text IS NULL OR v.category = $3)"
        " AND ($4::text IS NULL OR v.model = $4) AND v.id > $6 ORDER BY v.id LIMIT $5",
    [PG_VECTOR_MISSING] = MEMORY_SELECT(
        "0") "WHERE m.id > $6"
             " AND ($1::text IS NULL OR o.name = $1) AND ($2 >> m.kind::int) & 1::bigint = 1"
             " AND ($3::text IS NULL OR m.category = $3) AND NOT EXISTS (SELECT FROM"
             " {s}.memory_vectors v WHERE v.id = m.id AND v.model = $4) ORDER BY m.id LIMIT $5",

    [PG_MEMORY_OWNER_LIST] =
        "SELECT key, name, last FROM {s}.memory_owners WHERE key > $1 ORDER BY key",

    /* What imports writes to the tables themselves: it is for their owner. */
    [PG_IMPORT_LOCK] = "LOCK TABLE {s}.events IN SHARE ROW EXCLUSIVE MODE",
    [PG_IMPORT_LAST] = "UPDATE {s}.meta SET base = greatest(base, $1),"
                       " collected = greatest(collected, $1)",
    [PG_IMPORT_RUN] =
        "INSERT INTO {s}.runs (id, agent_id, parent, is_exclusive, owner, epoch, claim,"
        " lease_until_ns, alive_ns, boot, alive_monotonic_ns, created_ns, updated_ns, ended_ns,"
        " status, iteration, iteration_limit, conditions_met, conditions_total, tokens, cost_micro,"
        " warnings, pause, last_seq, last_position, last_checkpoint) VALUES ($1, $2, $3, $4, $5,"
        " $6, 0, $7, $8, '', 0, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, 0, 0,"
        " 0)",
    /* A run whose events do not follow what it has is left out, so that there are too few. */
    [PG_IMPORT_EVENTS] =
        "WITH e AS (SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[],"
        " $5::text[], $6::bytea[]) u (id, seq, position, t, y, d)),"
        " x AS (SELECT id, min(seq) AS first, max(seq) AS last, min(position) AS low,"
        " max(position) AS high, count(*) AS n FROM e GROUP BY id),"
        " r AS (UPDATE {s}.runs r SET last_seq = x.last, last_position = x.high FROM x"
        " WHERE r.id = x.id AND x.first = r.last_seq + 1 AND x.n = x.last - r.last_seq"
        " AND x.low > r.last_position RETURNING r.key, r.id),"
        " i AS (INSERT INTO {s}.events (run, seq, position, time_ns, type, data)"
        " SELECT r.key, e.seq, e.position, e.t, e.y, e.d FROM e JOIN r ON r.id = e.id RETURNING 1)"
        " SELECT count(*) FROM i",
    [PG_IMPORT_CHECKPOINT] =
        "WITH r AS (UPDATE {s}.runs SET last_checkpoint = $2 WHERE id = $1 AND last_checkpoint < $2"
        " RETURNING key), i AS (INSERT INTO {s}.checkpoints SELECT r.key, $2, $3, $4, $5, $6, $7,"
        " $8, $9, $10, $11, $12, $13 FROM r RETURNING 1) SELECT count(*) FROM i",
    [PG_IMPORT_INTERIM] =
        "WITH i AS (INSERT INTO {s}.interims SELECT r.key, $2, $3, $4, $5, $6, $7, $8, $9, $10,"
        " $11, $12 FROM {s}.runs r WHERE r.id = $1 RETURNING 1) SELECT count(*) FROM i",
    [PG_IMPORT_LETTER] =
        "WITH i AS (INSERT INTO {s}.letters (run, time_ns, kind, data) SELECT r.key, $2, $3, $4"
        " FROM {s}.runs r WHERE r.id = $1 RETURNING 1) SELECT count(*) FROM i",
    [PG_IMPORT_DOCUMENTS] =
        "WITH i AS (INSERT INTO {s}.documents (collection, key, version, updated_ns, data)"
        " SELECT * FROM unnest($1::text[], $2::bytea[], $3::bigint[], $4::bigint[], $5::bytea[])"
        " RETURNING 1) SELECT count(*) FROM i",
    [PG_IMPORT_TEXT] =
        "INSERT INTO {s}.policy_texts (digest, text) VALUES ($1, $2) ON CONFLICT DO NOTHING",
    [PG_IMPORT_POLICY] = "INSERT INTO {s}.policy_changes (number, time_ns, source, digest, how,"
                         " author) VALUES ($1, $2, $3, $4, $5, $6)",
    [PG_IMPORT_OWNER] = "INSERT INTO {s}.memory_owners (key, name, last) OVERRIDING SYSTEM VALUE"
                        " VALUES ($1, $2, $3)",
    /* The next owner gets a higher key. */
    [PG_IMPORT_OWNER_KEY] =
        "SELECT pg_catalog.setval(pg_catalog.pg_get_serial_sequence('{s}.memory_owners', 'key'),"
        " (SELECT max(key) FROM {s}.memory_owners))",

    [PG_GC_COUNT] =
        "SELECT count(*), coalesce(sum(last_seq), 0)::bigint, (SELECT count(*) FROM {s}.checkpoints"
        " WHERE run IN (SELECT key FROM {s}.runs WHERE " GARBAGE ")) FROM {s}.runs WHERE " GARBAGE,
    [PG_GC] = "SELECT runs, events, checkpoints FROM {s}.collect($1, $2, $3)",

    [PG_HEALTH] =
        "SELECT m.version, (SELECT count(*) FROM {s}.runs), (SELECT coalesce(sum(last_seq),"
        " 0)::bigint FROM {s}.runs), (SELECT "
        "coalesce(sum(pg_catalog.pg_total_relation_size(c.oid)),"
        " 0)::bigint FROM pg_catalog.pg_class c WHERE c.relkind = 'r' AND c.relnamespace ="
        " '{s}'::regnamespace), pg_catalog.current_setting('fsync') = 'on'"
        " AND pg_catalog.current_setting('full_page_writes') = 'on' FROM {s}.meta m",
    /* Runs whose events are not as many as their rows say. Every page of both tables is read. */
    [PG_HEALTH_CHECK] =
        "SELECT r.id, r.last_seq, coalesce(e.n, 0) FROM {s}.runs r LEFT JOIN (SELECT run, count(*)"
        " AS n, max(seq) AS last, bool_and(data IS NOT NULL) FROM {s}.events GROUP BY run) e"
        " ON e.run = r.key WHERE coalesce(e.n, 0) <> r.last_seq OR coalesce(e.last, 0) <>"
        " r.last_seq LIMIT 1",
    [PG_SERVER] =
        "SELECT pg_catalog.pg_is_in_recovery(), pg_catalog.current_setting('fsync') = 'on',"
        " pg_catalog.current_setting('full_page_writes') = 'on',"
        " pg_catalog.current_setting('synchronous_commit'),"
        " pg_catalog.current_setting('synchronous_standby_names') <> '',"
        " (SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend'),"
        " pg_catalog.current_setting('max_connections')::bigint -"
        " pg_catalog.current_setting('superuser_reserved_connections')::bigint,"
        " (SELECT coalesce(bool_or(s.ssl), false) FROM pg_catalog.pg_stat_ssl s"
        " WHERE s.pid = pg_catalog.pg_backend_pid()),"
        " pg_catalog.inet_server_addr() IS NOT NULL,"
        " m.role, m.rank, m.agents, m.is_superuser, m.has_policies FROM {s}.my_rights() m",
    [PG_REPLICATION] =
        "SELECT count(*), coalesce(bool_and(r.state IS NOT NULL), true),"
        " coalesce(max(greatest(extract(epoch FROM r.replay_lag), 0)) * 1000000000, 0)::bigint,"
        " coalesce(max(greatest(pg_catalog.pg_wal_lsn_diff(w.lsn, r.replay_lsn), 0)), 0)::bigint"
        " FROM (SELECT CASE WHEN pg_catalog.pg_is_in_recovery()"
        " THEN pg_catalog.pg_last_wal_replay_lsn()"
        " ELSE pg_catalog.pg_current_wal_lsn() END AS lsn) w"
        " JOIN pg_catalog.pg_stat_replication r ON r.state IS DISTINCT FROM 'backup'",
    [PG_NOTIFY] = "SELECT pg_catalog.pg_notify('rondo', $1)",

    [PG_RIGHTS_GRANT] = "SELECT {s}.grant_rights($1, $2, $3)",
    [PG_RIGHTS_REVOKE] = "SELECT {s}.revoke_rights($1)",
    [PG_RIGHTS_LIST] = "SELECT r.role, r.rank, a.name FROM {s}.rights r CROSS JOIN"
                       " unnest(r.agents) WITH ORDINALITY AS a (name, n) ORDER BY r.role, a.n",
};
