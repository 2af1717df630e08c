// SPDX-License-Identifier: Apache-2.0
/* The table of SQL statements. Read-only data; any thread. */
#include "store/sqlite/statements.h"

/* Order of the columns that sqlite_read_run() expects. */
#define RUN_COLUMNS                                                                    \
    "id, agent_id, is_exclusive, owner, epoch, lease_until_ns, alive_ns, created_ns, " \
    "updated_ns, ended_ns, status, iteration, iteration_limit, conditions_met, "       \
    "conditions_total, tokens, cost_micro, warnings, is_paused, last_seq, key, boot, " \
    "alive_monotonic_ns, parent "

/* Order of the columns that the checkpoint reader expects; fold and state follow. */
#define CHECKPOINT_COLUMNS                                                           \
    "c.number, c.seq, c.iteration, c.time_ns, c.format, c.state_size, c.is_packed, " \
    "c.sha256, c.conditions, c.custom_data"

/*
 * The chain of a run's checkpoints, newest first: each row names the one before it. A pruned key
 * may be given again to another run, so a link counts only when run and number fit.
 */
#define CHECKPOINT_CHAIN(start)                                                        \
    "WITH RECURSIVE chain (key, run, number, previous) AS ("                           \
    " SELECT c.key, c.run, c.number, c.previous FROM runs r CROSS JOIN checkpoints c"  \
    "  WHERE " start " AND c.key = r.last_checkpoint_key AND c.run = r.key"            \
    " UNION ALL"                                                                       \
    " SELECT c.key, c.run, c.number, c.previous FROM chain h CROSS JOIN checkpoints c" \
    "  WHERE c.key = h.previous AND c.run = h.run AND c.number = h.number - 1) "

#define LETTER_COLUMNS "r.id, l.id, l.time_ns, l.kind, l.data"

/* A text that is missing gives NULL: damage, which the reader reports. */
#define POLICY_CHANGES                                                        \
    "SELECT c.number, c.time_ns, c.source, c.digest, c.how, c.\"by\", t.text" \
    " FROM policy_changes c LEFT JOIN policy_texts t ON t.digest = c.digest WHERE "

#define DOCUMENT_COLUMNS "collection, key, version, updated_ns, data"
#define DOCUMENT_RANGE \
    "SELECT " DOCUMENT_COLUMNS " FROM documents WHERE collection = ?1 AND key >= ?2 AND key < ?3 "

#define MEMORY_COLUMNS                                                                        \
    "m.id, o.name, m.kind, m.created_ns, m.consolidated_ns, m.category, m.run, m.iteration, " \
    "m.source, m.metadata, m.content"
#define MEMORY_LIST                                                                               \
    "SELECT " MEMORY_COLUMNS ", 0.0 FROM (SELECT id AS i, created_ns AS t FROM memories WHERE "   \
    "(?1 IS NULL OR owner = (SELECT key FROM memory_owners WHERE name = ?1)) AND (?2 >> kind) & " \
    "1 AND (?3 IS NULL OR category = ?3) AND (NOT ?4 OR consolidated_ns = 0) "
/* Of one owner and kind: their index has them in this order, so that a page costs the same however
 * many there are. */
#define MEMORY_LIST_KIND                                                                        \
    "SELECT " MEMORY_COLUMNS ", 0.0 FROM (SELECT id AS i, created_ns AS t FROM memories WHERE " \
    "owner = (SELECT key FROM memory_owners WHERE name = ?1) AND kind = ?2 AND (?3 IS NULL OR " \
    "category = ?3) AND (NOT ?4 OR consolidated_ns = 0) "
/* Of one owner and several kinds: the first of each, by the same index, of which the first stay. ?2
 * is bits of kinds. */
#define MEMORY_FIRST(kind, order)                                                               \
    "SELECT * FROM (SELECT id AS i, created_ns AS t FROM memories WHERE (?2 >> " #kind ") & 1"  \
    " AND owner = (SELECT key FROM memory_owners WHERE name = ?1) AND kind = " #kind " AND (?3" \
    " IS NULL OR category = ?3) AND (NOT ?4 OR consolidated_ns = 0) ORDER BY " order " LIMIT ?5)"
#define MEMORY_LIST_OWNER(order)                                                               \
    "SELECT " MEMORY_COLUMNS ", 0.0 FROM (" MEMORY_FIRST(0, order) " UNION ALL " MEMORY_FIRST( \
        1, order) " UNION ALL " MEMORY_FIRST(2, order) " "
#define MEMORY_LISTED                                                       \
    ") CROSS JOIN memories m CROSS JOIN memory_owners o WHERE m.id = i AND" \
    " o.key = m.owner ORDER BY t"
/* The weights of the columns: content, category, further words. */
#define MEMORY_SCORE "-bm25(memory_words, 1.0, 0.5, 0.7)"

#define OTHER_OWNED "agent_id = ?1 AND owner <> '' AND key <> ?2 AND (is_exclusive OR ?3)"
#define GARBAGE     "ended_ns > 0 AND ended_ns < ?1 AND (owner = '' OR lease_until_ns <= ?2)"

/*
 * Which runs a list selects; NULL and 0 leave a parameter out. ids from ?3 on up to but without ?4;
 * the agents ?6 are a JSON array; ?5 is in lower case, ?14 whether it is looked for in ids, too;
 * ?12 is a parent, ?13 whether it must be none. No index serves all of this, and those that would
 * must be changed by each commit: ten thousand short rows are scanned within milliseconds.
 */
#define RUN_FILTER                                                       \
    "(?1 IS NULL OR agent_id = ?1) AND (?2 = 0 OR (?2 >> status) & 1)"   \
    " AND (?3 IS NULL OR +id >= ?3 AND +id < ?4)"                        \
    " AND (?5 IS NULL OR instr(lower(agent_id), ?5) > 0"                 \
    " OR (?14 AND substr(id, 1, length(?5)) = ?5))"                      \
    " AND (?6 IS NULL OR agent_id IN (SELECT value FROM json_each(?6)))" \
    " AND (?12 IS NULL OR parent = ?12) AND (NOT ?13 OR parent = '')"

#define RUN_LIST "SELECT " RUN_COLUMNS "FROM runs WHERE " RUN_FILTER

/* What a list is ordered by when ?7 is not the default (enum store_run_order). */
#define RUN_NUMBER                                                            \
    "CASE ?7 WHEN 1 THEN updated_ns WHEN 3 THEN status WHEN 4 THEN iteration" \
    " WHEN 5 THEN tokens WHEN 6 THEN cost_micro WHEN 7 THEN warnings ELSE 0 END"

/* After the place ?8 (number), ?9 (text), ?10 (id). */
#define RUN_PLACED(what, is_behind, place) \
    " AND (?10 IS NULL OR (" what ", id) " is_behind " (" place ", ?10))"

/*
 * A page that is sorted by a number. Only what is sorted by goes through the sorter. The rows come
 * to it in the order in which they were created, because most orders are similar to that one;
 * otherwise each row would push out one that came before. The LIMIT that limits nothing keeps
 * SQLite from dropping that order.
 */
#define RUN_SORTED(is_behind, direction)                                                     \
    "SELECT " RUN_COLUMNS "FROM (SELECT k, w, i FROM (SELECT key AS k, " RUN_NUMBER " AS w," \
    " id AS i FROM runs WHERE " RUN_FILTER                                                   \
    RUN_PLACED(RUN_NUMBER, is_behind, "?8") " ORDER BY key" direction " LIMIT -1)"           \
                                            " ORDER BY w" direction ", i" direction          \
                                            " LIMIT ?11) CROSS JOIN runs WHERE key = k"      \
                                            " ORDER BY w" direction ", i" direction

/* Keys have the order in which runs were created. The run at the place may be gone by now. */
#define RUN_BEFORE                                                             \
    " AND key < CASE WHEN ?10 IS NULL THEN 9223372036854775807 ELSE coalesce(" \
    "(SELECT key FROM runs WHERE id = ?10),"                                   \
    " (SELECT max(key) + 1 FROM runs WHERE (created_ns, id) < (?8, ?10)), 0) END"
#define RUN_BEHIND                                                         \
    " AND key > CASE WHEN ?10 IS NULL THEN 0 ELSE coalesce("               \
    "(SELECT key FROM runs WHERE id = ?10),"                               \
    " (SELECT min(key) - 1 FROM runs WHERE (created_ns, id) > (?8, ?10))," \
    " 9223372036854775807) END"
#define RUN_NEWEST_FIRST " ORDER BY key DESC LIMIT ?11"

/* CROSS JOIN fixes the order of the loops, so that reading never sorts. */
const char *const sqlite_statements[SQL_COUNT] = {
    [SQL_BEGIN] = "BEGIN IMMEDIATE",
    [SQL_COMMIT] = "COMMIT",
    [SQL_ROLLBACK] = "ROLLBACK",

    [SQL_RUN_BY_ID] = "SELECT " RUN_COLUMNS "FROM runs WHERE id = ?1",
    [SQL_RUN_FOR_COMMIT] =
        "SELECT key, epoch, last_seq, last_checkpoint, owner <> '', ended_ns, last_position,"
        " last_checkpoint_key,"
        " EXISTS (SELECT 1 FROM letters WHERE run = key AND id > ?2) FROM runs WHERE id = ?1",
    [SQL_RUN_OTHER_OWNED] = "SELECT " RUN_COLUMNS "FROM runs WHERE " OTHER_OWNED,
    [SQL_RUN_EVICT] =
        "UPDATE runs SET owner = '', lease_until_ns = 0, epoch = epoch + 1 WHERE " OTHER_OWNED,
    [SQL_RUN_INSERT] =
        "INSERT INTO runs (id, agent_id, is_exclusive, owner, epoch, lease_until_ns, alive_ns,"
        " created_ns, updated_ns, ended_ns, status, iteration, iteration_limit, conditions_met,"
        " conditions_total, tokens, cost_micro, last_seq, last_position, last_checkpoint,"
        " last_checkpoint_key, warnings, is_paused, boot, alive_monotonic_ns, parent) "
        "VALUES (?1, ?2, ?3, ?4, 1, ?5, ?6, ?6, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, 0, "
        "0, 0, ?16, ?17, ?18, ?19, ?20)",
    [SQL_RUN_CLAIM] = "UPDATE runs SET owner = ?2, lease_until_ns = ?3, alive_ns = ?4,"
                      " epoch = epoch + 1, boot = ?5, alive_monotonic_ns = ?6 WHERE key = ?1",
    [SQL_RUN_EXPIRE] =
        "UPDATE runs SET owner = '', lease_until_ns = 0 WHERE id = ?1 AND epoch = ?2",
    [SQL_RUN_RENEW] = "UPDATE runs SET lease_until_ns = ?2, alive_ns = ?3,"
                      " alive_monotonic_ns = ?4 WHERE owner = ?1 AND owner <> ''",
    [SQL_RUN_UPDATE] =
        "UPDATE runs SET lease_until_ns = ?2, alive_ns = iif(owner = '', alive_ns, ?3),"
        " updated_ns = ?3, ended_ns = ?4,"
        " status = ?5, iteration = ?6, iteration_limit = ?7, conditions_met = ?8,"
        " conditions_total = ?9, tokens = ?10, cost_micro = ?11, last_seq = ?12,"
        " last_position = ?13, last_checkpoint = ?14, last_checkpoint_key = ?15,"
        " warnings = ?16, is_paused = ?17,"
        " alive_monotonic_ns = iif(owner = '', alive_monotonic_ns, ?18) WHERE key = ?1",
    [SQL_RUN_SET_LAST] = "UPDATE runs SET last_position = ?2 WHERE key = ?1",
    [SQL_RUN_RELEASE] = "UPDATE runs SET owner = '' WHERE key = ?1",
    [SQL_RUN_LIST] = RUN_LIST RUN_BEFORE RUN_NEWEST_FIRST,
    [SQL_RUN_LIST_OLDEST] = RUN_LIST RUN_BEHIND " ORDER BY key LIMIT ?11",
    [SQL_RUN_LIST_PREFIX] = RUN_LIST RUN_BEFORE " AND id >= ?3 AND id < ?4" RUN_NEWEST_FIRST,
    [SQL_RUN_LIST_AGENT] = RUN_LIST RUN_BEFORE " AND agent_id = ?1" RUN_NEWEST_FIRST,
    [SQL_RUN_LIST_NUMBER] = RUN_SORTED(">", ""),
    [SQL_RUN_LIST_NUMBER_BACK] = RUN_SORTED("<", " DESC"),
    [SQL_RUN_LIST_BY_AGENT] =
        RUN_LIST RUN_PLACED("agent_id", ">", "?9") " ORDER BY agent_id, id LIMIT ?11",
    [SQL_RUN_LIST_BY_AGENT_BACK] =
        RUN_LIST RUN_PLACED("agent_id", "<", "?9") " ORDER BY agent_id DESC, id DESC LIMIT ?11",
    [SQL_RUN_COUNT] = "SELECT status, is_paused FROM runs WHERE " RUN_FILTER,

    [SQL_EVENT_INSERT] = "INSERT INTO events (run, previous, seq, time_ns, type, data)"
                         " VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    [SQL_EVENT_LAST_POSITION] = "SELECT max(position) FROM events",
    [SQL_EVENT_READ_RUN] =
        "WITH RECURSIVE chain (position, previous, seq) AS ("
        " SELECT position, previous, seq FROM events WHERE position = ("
        "  SELECT coalesce((SELECT m.position FROM marks m WHERE m.run = r.key AND m.seq > ?2"
        "                   ORDER BY m.seq LIMIT 1), r.last_position)"
        "  FROM runs r WHERE r.id = ?1 AND r.last_seq > ?2)"
        " UNION ALL"
        " SELECT e.position, e.previous, e.seq FROM chain c CROSS JOIN events e"
        "  WHERE c.seq > ?2 + 1 AND e.position = c.previous AND e.position < c.position) "
        "SELECT e.position, ?1, e.seq, e.time_ns, e.type, e.data FROM chain c CROSS JOIN events e"
        " WHERE e.position = c.position ORDER BY c.seq LIMIT ?3",
    [SQL_EVENT_READ_ALL] = "SELECT e.position, r.id, e.seq, e.time_ns, e.type, e.data"
                           " FROM events e CROSS JOIN runs r"
                           " WHERE e.position > ?1 AND r.key = e.run"
                           " ORDER BY e.position LIMIT ?2",
    [SQL_MARK_INSERT] = "INSERT INTO marks (run, seq, position) VALUES (?1, ?2, ?3)",

    [SQL_CHECKPOINT_INSERT] =
        "INSERT INTO checkpoints (run, number, previous, seq, iteration, time_ns, format,"
        " state_size, is_packed, sha256, conditions, custom_data, fold, state)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    [SQL_CHECKPOINT_PRUNE] = "DELETE FROM checkpoints WHERE key IN (" CHECKPOINT_CHAIN(
        "r.key = ?1") "SELECT key FROM chain WHERE number <= ?2)",
    [SQL_CHECKPOINT_LIST] =
        CHECKPOINT_CHAIN("r.id = ?1") "SELECT " CHECKPOINT_COLUMNS
                                      " FROM chain h CROSS JOIN checkpoints c WHERE c.key = h.key",
    [SQL_CHECKPOINT_GET] =
        CHECKPOINT_CHAIN("r.id = ?1") "SELECT " CHECKPOINT_COLUMNS ", c.fold, c.state"
                                      " FROM chain h CROSS JOIN checkpoints c"
                                      " WHERE h.number = ?2 AND c.key = h.key LIMIT 1",
    [SQL_CHECKPOINT_NEWEST] =
        "SELECT " CHECKPOINT_COLUMNS ", c.fold, c.state FROM runs r CROSS JOIN checkpoints c"
        " WHERE r.id = ?1 AND c.key = r.last_checkpoint_key AND c.run = r.key",

    [SQL_INTERIM_PUT] =
        "INSERT OR REPLACE INTO interims (run, seq, iteration, time_ns, format, state_size,"
        " is_packed, sha256, conditions, custom_data, fold, state)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    [SQL_INTERIM_DELETE] = "DELETE FROM interims WHERE run = ?1",
    [SQL_INTERIM_GET] =
        "SELECT 0, c.seq, c.iteration, c.time_ns, c.format, c.state_size, c.is_packed, c.sha256,"
        " c.conditions, c.custom_data, c.fold, c.state FROM runs r CROSS JOIN interims c"
        " WHERE r.id = ?1 AND c.run = r.key",

    [SQL_LETTER_INSERT] = "INSERT INTO letters (run, time_ns, kind, data)"
                          " SELECT key, ?2, ?3, ?4 FROM runs WHERE id = ?1",
    [SQL_LETTER_DELETE] = "DELETE FROM letters WHERE run = ?1 AND id <= ?2",
    [SQL_LETTER_READ_RUN] = "SELECT " LETTER_COLUMNS " FROM runs r CROSS JOIN letters l"
                            " WHERE r.id = ?1 AND l.run = r.key ORDER BY l.id",
    [SQL_LETTER_READ_OWNER] = "SELECT " LETTER_COLUMNS " FROM letters l CROSS JOIN runs r"
                              " WHERE r.key = l.run AND r.owner = ?1 AND ?1 <> '' ORDER BY l.id",

    [SQL_POLICY_NEWEST] = "SELECT number, digest FROM policy_changes WHERE source = ?1"
                          " ORDER BY number DESC LIMIT 1",
    [SQL_POLICY_KEEP_TEXT] = "INSERT OR IGNORE INTO policy_texts (digest, text) VALUES (?1, ?2)",
    [SQL_POLICY_INSERT] = "INSERT INTO policy_changes (time_ns, source, digest, how, \"by\")"
                          " VALUES (?1, ?2, ?3, ?4, ?5)",
    [SQL_POLICY_READ_ALL] = POLICY_CHANGES "c.number < ?1 ORDER BY c.number DESC",
    [SQL_POLICY_READ_SOURCE] =
        POLICY_CHANGES "c.source = ?2 AND c.number < ?1 ORDER BY c.number DESC",

    [SQL_DOCUMENT_VERSION] = "SELECT version FROM documents WHERE collection = ?1 AND key = ?2",
    [SQL_DOCUMENT_PUT] =
        "INSERT INTO documents (collection, key, version, updated_ns, data)"
        " VALUES (?1, ?2, 1, ?4, ?3) ON CONFLICT (collection, key) DO UPDATE SET"
        " version = version + 1, updated_ns = excluded.updated_ns, data = excluded.data",
    [SQL_DOCUMENT_DELETE] = "DELETE FROM documents WHERE collection = ?1 AND key = ?2",
    [SQL_DOCUMENT_DELETE_UP_TO] = "DELETE FROM documents WHERE collection = ?1 AND key <= ?2",
    [SQL_DOCUMENT_COLLECTION] = "SELECT min(collection) FROM documents WHERE collection > ?1",
    [SQL_DOCUMENT_GET] =
        "SELECT " DOCUMENT_COLUMNS " FROM documents WHERE collection = ?1 AND key = ?2",
    [SQL_DOCUMENT_LIST] = DOCUMENT_RANGE "ORDER BY key LIMIT ?4",
    [SQL_DOCUMENT_LIST_BACK] = DOCUMENT_RANGE "ORDER BY key DESC LIMIT ?4",

    [SQL_MEMORY_TABLES] = "SELECT 1 FROM sqlite_schema WHERE name = 'memory_vectors'",
    [SQL_MEMORY_OWNER] = "SELECT key FROM memory_owners WHERE name = ?1",
    [SQL_MEMORY_RESERVE] = "INSERT INTO memory_owners (name, last) VALUES (?1, ?2)"
                           " ON CONFLICT (name) DO UPDATE SET last = last + ?2 RETURNING key, last",
    [SQL_MEMORY_INSERT] =
        "INSERT OR IGNORE INTO memories (id, owner, kind, created_ns, consolidated_ns, category,"
        " run, iteration, source, metadata, content, grams) SELECT ?1, key, ?3, ?4, ?5, ?6, ?7,"
        " ?8, ?9, ?10, ?11, ?12 FROM memory_owners WHERE name = ?2",
    [SQL_MEMORY_INDEX] = "INSERT INTO memory_words (rowid, content, category, grams)"
                         " SELECT id, content, category, grams FROM memories WHERE id = ?1",
    [SQL_MEMORY_UNINDEX] =
        "INSERT INTO memory_words (memory_words, rowid, content, category, grams)"
        " SELECT 'delete', id, content, category, grams FROM memories WHERE id = ?1",
    [SQL_MEMORY_DELETE] = "DELETE FROM memories WHERE id = ?1",
    [SQL_MEMORY_CONSOLIDATE] = "UPDATE memories SET consolidated_ns = ?2 WHERE id = ?1",
    [SQL_MEMORY_OLDEST] =
        "SELECT id FROM memories WHERE owner = (SELECT key FROM memory_owners WHERE name = ?1)"
        " AND kind = ?2 ORDER BY created_ns DESC, id DESC LIMIT ?4 OFFSET ?3",
    [SQL_MEMORY_GET] = "SELECT " MEMORY_COLUMNS ", 0.0 FROM memories m CROSS JOIN memory_owners o"
                       " WHERE m.id = ?1 AND o.key = m.owner",
    [SQL_MEMORY_LIST] =
        MEMORY_LIST "ORDER BY created_ns DESC, id DESC LIMIT ?5" MEMORY_LISTED " DESC, i DESC",
    [SQL_MEMORY_LIST_OLDEST] = MEMORY_LIST "ORDER BY created_ns, id LIMIT ?5" MEMORY_LISTED ", i",
    [SQL_MEMORY_LIST_KIND] =
        MEMORY_LIST_KIND "ORDER BY created_ns DESC, id DESC LIMIT ?5" MEMORY_LISTED " DESC, i DESC",
    [SQL_MEMORY_LIST_KIND_OLDEST] =
        MEMORY_LIST_KIND "ORDER BY created_ns, id LIMIT ?5" MEMORY_LISTED ", i",
    [SQL_MEMORY_LIST_OWNER] = MEMORY_LIST_OWNER(
        "created_ns DESC, id DESC") "ORDER BY t DESC, i DESC LIMIT ?5" MEMORY_LISTED
                                    " DESC, i DESC",
    [SQL_MEMORY_LIST_OWNER_OLDEST] =
        MEMORY_LIST_OWNER("created_ns, id") "ORDER BY t, i LIMIT ?5" MEMORY_LISTED ", i",
    [SQL_MEMORY_COUNT] = "SELECT count(*) FROM (SELECT 1 FROM memory_words WHERE memory_words MATCH"
                         " ?1 AND rowid BETWEEN ?2 AND ?3 LIMIT ?4)",
    [SQL_MEMORY_SEARCH] =
        "SELECT " MEMORY_COLUMNS ", s FROM (SELECT rowid AS i, " MEMORY_SCORE " AS s"
        " FROM memory_words WHERE memory_words MATCH ?1 AND rowid BETWEEN ?2 AND ?3"
        " ORDER BY rowid DESC LIMIT ?4) CROSS JOIN memories m CROSS JOIN memory_owners o"
        " WHERE m.id = i AND o.key = m.owner AND (?5 >> m.kind) & 1"
        " AND (?6 IS NULL OR m.category = ?6) ORDER BY s DESC, m.created_ns DESC, i DESC LIMIT ?7",
    [SQL_VECTOR_PUT] =
        "INSERT OR REPLACE INTO memory_vectors (id, kind, created_ns, category, model, vector)"
        " SELECT id, kind, created_ns, category, ?2, ?3 FROM memories WHERE id = ?1",
    [SQL_VECTOR_DELETE] = "DELETE FROM memory_vectors WHERE id = ?1",
    [SQL_VECTOR_LIST] =
        "SELECT id, kind, created_ns, vector, model FROM memory_vectors WHERE id BETWEEN ?1 AND ?2"
        " AND (?3 >> kind) & 1 AND (?4 IS NULL OR category = ?4) AND (?5 IS NULL OR model = ?5)"
        " ORDER BY id LIMIT ?6",
    [SQL_VECTOR_MISSING] =
        "SELECT " MEMORY_COLUMNS ", 0.0 FROM memories m CROSS JOIN memory_owners o"
        " WHERE m.id BETWEEN ?1 AND ?2 AND o.key = m.owner AND (?3 >> m.kind) & 1"
        " AND (?4 IS NULL OR m.category = ?4) AND NOT EXISTS (SELECT 1 FROM memory_vectors v"
        " WHERE v.id = m.id AND v.model = ?5) ORDER BY m.id LIMIT ?6",

    [SQL_MEMORY_OWNER_LIST] = "SELECT key, name, last FROM memory_owners WHERE key > ?1"
                              " ORDER BY key",

    [SQL_IMPORT_RUN] =
        "INSERT INTO runs (id, agent_id, is_exclusive, owner, epoch, lease_until_ns, alive_ns,"
        " created_ns, updated_ns, ended_ns, status, iteration, iteration_limit, conditions_met,"
        " conditions_total, tokens, cost_micro, last_seq, last_position, last_checkpoint,"
        " last_checkpoint_key, warnings, is_paused, boot, alive_monotonic_ns, parent) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, 0, 0,"
        " 0, 0, ?18, ?19, '', 0, ?20)",
    [SQL_IMPORT_FIND] = "SELECT key, last_seq, last_position, last_checkpoint, last_checkpoint_key"
                        " FROM runs WHERE id = ?1",
    [SQL_IMPORT_EVENT] = "INSERT INTO events (position, run, previous, seq, time_ns, type, data)"
                         " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [SQL_IMPORT_SET_LAST] = "UPDATE runs SET last_seq = ?2, last_position = ?3,"
                            " last_checkpoint = ?4, last_checkpoint_key = ?5 WHERE key = ?1",
    [SQL_IMPORT_DOCUMENT] = "INSERT INTO documents (collection, key, version, updated_ns, data)"
                            " VALUES (?1, ?2, ?3, ?4, ?5)",
    [SQL_IMPORT_POLICY] =
        "INSERT INTO policy_changes (number, time_ns, source, digest, how, \"by\")"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    [SQL_IMPORT_OWNER] = "INSERT INTO memory_owners (key, name, last) VALUES (?1, ?2, ?3)",

    [SQL_GC_COUNT] = "SELECT count(*), total(last_seq), (SELECT count(*) FROM checkpoints"
                     " WHERE run IN (SELECT key FROM runs WHERE " GARBAGE "))"
                     " FROM runs WHERE " GARBAGE,
    [SQL_GC_NEXT] =
        "SELECT key, last_position, last_checkpoint_key FROM runs WHERE key > ?3 AND " GARBAGE
        " ORDER BY key LIMIT 1",
    [SQL_GC_EVENT] = "DELETE FROM events WHERE position = ?1 AND run = ?2 RETURNING previous",
    [SQL_GC_CHECKPOINT] = "DELETE FROM checkpoints WHERE key = ?1 AND run = ?2 RETURNING previous",
    [SQL_GC_CUT] = "UPDATE runs SET last_seq = 0, last_position = ?2, last_checkpoint = 0,"
                   " last_checkpoint_key = ?3 WHERE key = ?1",
    [SQL_GC_MARKS] = "DELETE FROM marks WHERE run = ?1",
    [SQL_GC_LETTERS] = "DELETE FROM letters WHERE run = ?1",
    [SQL_GC_RUN] = "DELETE FROM runs WHERE key = ?1",
    [SQL_GC_KEEP_POSITION] =
        "INSERT OR IGNORE INTO events (position, run, previous, seq, time_ns, type, data)"
        " VALUES (?1, 0, 0, 0, 0, '', '')",
    [SQL_GC_OWNED] = "SELECT count(*) FROM runs WHERE owner <> '' AND lease_until_ns > ?1",

    [SQL_HEALTH_COUNTS] = "SELECT count(*), total(last_seq) FROM runs",
    [SQL_HEALTH_CHECK] = "PRAGMA integrity_check(1)",
    [SQL_HEALTH_SCHEMA] = "PRAGMA user_version",
};
