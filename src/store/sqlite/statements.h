// SPDX-License-Identifier: Apache-2.0
/* Every SQL statement that the SQLite back end runs on its tables, in one table (style rule 17). */
#pragma once

enum sqlite_sql {
    SQL_BEGIN,
    SQL_COMMIT,
    SQL_ROLLBACK,

    SQL_RUN_BY_ID,       /**< ?1 id */
    SQL_RUN_FOR_COMMIT,  /**< ?1 id, ?2 mail that is taken: see struct run_state */
    SQL_RUN_OTHER_OWNED, /**< ?1 agent, ?2 own key, ?3 is exclusive: the one held longest */
    SQL_RUN_EVICT,       /**< parameters as above */
    SQL_RUN_INSERT,      /**< ?1 id ... ?17, see insert_run */
    SQL_RUN_CLAIM,       /**< ?1 key, ?2 owner, ?3 lease end, ?4 now */
    SQL_RUN_EXPIRE,      /**< ?1 id, ?2 epoch */
    SQL_RUN_RENEW,       /**< ?1 owner, ?2 lease end, ?3 now */
    SQL_RUN_UPDATE,      /**< ?1 key, ?2 ... ?17, see update_run */
    SQL_RUN_SET_LAST,    /**< ?1 key, ?2 last position */
    SQL_RUN_RELEASE,     /**< ?1 key */

    /* ?1 agent, ?2 bits of statuses, ?3 lowest id, ?4 end of the ids, ?5 search, ?6 agents, ?7
     * order, ?8 number, ?9 text and ?10 id of the place before, ?11 limit: see RUN_FILTER */
    SQL_RUN_LIST,               /**< newest first */
    SQL_RUN_LIST_OLDEST,        /**< oldest first */
    SQL_RUN_LIST_PREFIX,        /**< newest first, found by the index of ids */
    SQL_RUN_LIST_AGENT,         /**< newest first, found by the index of agents */
    SQL_RUN_LIST_NUMBER,        /**< by a number */
    SQL_RUN_LIST_NUMBER_BACK,   /**< by a number, highest first */
    SQL_RUN_LIST_BY_AGENT,      /**< by agent */
    SQL_RUN_LIST_BY_AGENT_BACK, /**< by agent, last first */
    SQL_RUN_COUNT,              /**< ?1 to ?6 */

    SQL_EVENT_INSERT,        /**< ?1 run, ?2 previous, ?3 seq, ?4 time, ?5 type, ?6 data */
    SQL_EVENT_LAST_POSITION, /**< no parameters */
    SQL_EVENT_READ_RUN,      /**< ?1 id, ?2 after, ?3 limit: events up to the next mark */
    SQL_EVENT_READ_ALL,      /**< ?1 after, ?2 limit */
    SQL_MARK_INSERT,         /**< ?1 run, ?2 seq, ?3 position */

    SQL_CHECKPOINT_INSERT, /**< ?1 run, ?2 number, ?3 previous, ... ?14 state */
    SQL_CHECKPOINT_PRUNE,  /**< ?1 run, ?2 highest number to delete */
    SQL_CHECKPOINT_LIST,   /**< ?1 id */
    SQL_CHECKPOINT_GET,    /**< ?1 id, ?2 number */
    SQL_CHECKPOINT_NEWEST, /**< ?1 id */

    SQL_INTERIM_PUT,    /**< ?1 run, ?2 seq, ... ?12 state */
    SQL_INTERIM_DELETE, /**< ?1 run */
    SQL_INTERIM_GET,    /**< ?1 id */

    SQL_LETTER_INSERT,     /**< ?1 id of the run, ?2 time, ?3 kind, ?4 data */
    SQL_LETTER_DELETE,     /**< ?1 run, ?2 highest id */
    SQL_LETTER_READ_RUN,   /**< ?1 id of the run */
    SQL_LETTER_READ_OWNER, /**< ?1 owner */

    SQL_POLICY_NEWEST,      /**< ?1 source */
    SQL_POLICY_KEEP_TEXT,   /**< ?1 digest, ?2 text */
    SQL_POLICY_INSERT,      /**< ?1 time, ?2 source, ?3 digest, ?4 how, ?5 by */
    SQL_POLICY_READ_ALL,    /**< ?1 before */
    SQL_POLICY_READ_SOURCE, /**< ?1 before, ?2 source */

    SQL_DOCUMENT_VERSION,      /**< ?1 collection, ?2 key */
    SQL_DOCUMENT_PUT,          /**< ?1 collection, ?2 key, ?3 data, ?4 time */
    SQL_DOCUMENT_DELETE,       /**< ?1 collection, ?2 key */
    SQL_DOCUMENT_DELETE_UP_TO, /**< ?1 collection, ?2 key */
    SQL_DOCUMENT_COLLECTION,   /**< ?1 the one before it */
    SQL_DOCUMENT_GET,          /**< ?1 collection, ?2 key */
    SQL_DOCUMENT_LIST,         /**< ?1 collection, ?2 lowest key, ?3 end of the keys, ?4 limit */
    SQL_DOCUMENT_LIST_BACK,    /**< as above, from the end */

    SQL_MEMORY_TABLES,      /**< a row when they are there */
    SQL_MEMORY_OWNER,       /**< ?1 name */
    SQL_MEMORY_RESERVE,     /**< ?1 name, ?2 how many: gives the owner's key and the last number */
    SQL_MEMORY_INSERT,      /**< ?1 id, ?2 owner, ... ?12 grams */
    SQL_MEMORY_INDEX,       /**< ?1 id: its words, from the table */
    SQL_MEMORY_UNINDEX,     /**< ?1 id, the same */
    SQL_MEMORY_DELETE,      /**< ?1 id */
    SQL_MEMORY_CONSOLIDATE, /**< ?1 id, ?2 time */
    SQL_MEMORY_OLDEST,      /**< ?1 owner, ?2 kind, ?3 keep, ?4 limit: ids after the newest */
    SQL_MEMORY_GET,         /**< ?1 id */
    SQL_MEMORY_LIST,        /**< ?1 owner, ?2 bits of kinds, ?3 category, ?4 only unconsolidated,
                                 ?5 limit: newest first */
    SQL_MEMORY_LIST_OLDEST, /**< as above, oldest first */
    SQL_MEMORY_LIST_KIND,   /**< the same of one owner, ?2 kind */
    SQL_MEMORY_LIST_KIND_OLDEST,  /**< as above, oldest first */
    SQL_MEMORY_LIST_OWNER,        /**< as SQL_MEMORY_LIST, of one owner */
    SQL_MEMORY_LIST_OWNER_OLDEST, /**< as above, oldest first */
    SQL_MEMORY_COUNT,             /**< ?1 expression, ?2 lowest and ?3 highest id, ?4 at most */
    SQL_MEMORY_SEARCH,            /**< as above, ?5 bits of kinds, ?6 category, ?7 limit */
    SQL_VECTOR_PUT,               /**< ?1 id, ?2 model, ?3 vector */
    SQL_VECTOR_DELETE,            /**< ?1 id */
    SQL_VECTOR_LIST,    /**< ?1 lowest and ?2 highest id, ?3 bits of kinds, ?4 category, ?5 model,
                             ?6 limit */
    SQL_VECTOR_MISSING, /**< the same: memories */

    SQL_MEMORY_OWNER_LIST,
    SQL_IMPORT_RUN,
    SQL_IMPORT_FIND,
    SQL_IMPORT_EVENT,
    SQL_IMPORT_SET_LAST,
    SQL_IMPORT_DOCUMENT,
    SQL_IMPORT_POLICY,
    SQL_IMPORT_OWNER,
    SQL_GC_COUNT,         /**< ?1 ended before, ?2 now */
    SQL_GC_NEXT,          /**< ?1 ended before, ?2 now, ?3 key to start after */
    SQL_GC_EVENT,         /**< ?1 position, ?2 run: gives the position of the event before it */
    SQL_GC_CHECKPOINT,    /**< ?1 key, ?2 run: gives the key of the checkpoint before it */
    SQL_GC_CUT,           /**< ?1 run, ?2 last position, ?3 last checkpoint: what is left of it */
    SQL_GC_MARKS,         /**< ?1 run */
    SQL_GC_LETTERS,       /**< ?1 run */
    SQL_GC_RUN,           /**< ?1 run */
    SQL_GC_KEEP_POSITION, /**< ?1 position that must not be used again */
    SQL_GC_OWNED,         /**< ?1 now */

    SQL_HEALTH_COUNTS, /**< no parameters */
    SQL_HEALTH_CHECK,  /**< no parameters */
    SQL_HEALTH_SCHEMA, /**< no parameters */

    SQL_COUNT
};

extern const char *const sqlite_statements[SQL_COUNT];
