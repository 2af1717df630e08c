// SPDX-License-Identifier: Apache-2.0
/* The statements of the PostgreSQL back end. "{s}" stands for the schema. */
#pragma once

/** Types of arrays. */
enum postgres_array {
    POSTGRES_NUMBERS = 0,
    POSTGRES_TEXTS,
    POSTGRES_BYTES,
};

enum postgres_sql {
    PG_BEGIN = 0,
    PG_COMMIT,
    PG_ROLLBACK,
    PG_FIND_STORE,
    PG_IDENTITY,
    PG_NOTE_SYSTEM,
    PG_RUN_CREATE,
    PG_RUN_CLAIM,
    PG_RUN_CLAIMED,
    PG_RUN_EXPIRE,
    PG_RUN_RENEW,
    PG_RUN_GET,
    PG_RUN_LIST,
    PG_RUN_COUNT,
    PG_BATCH,
    PG_EVENT_LOCK,
    PG_DOCUMENT_LOCK,
    PG_EVENT_READ_RUN,
    PG_EVENT_READ_ALL,
    PG_EVENT_LAST_POSITION,
    PG_EVENT_END,
    PG_CHECKPOINT_LIST,
    PG_CHECKPOINT_GET,
    PG_CHECKPOINT_NEWEST,
    PG_INTERIM_GET,
    PG_LETTER_POST,
    PG_LETTER_READ_RUN,
    PG_LETTER_READ_OWNER,
    PG_POLICY_RECORD,
    PG_POLICY_READ,
    PG_DOCUMENT_CHANGE,
    PG_DOCUMENT_COLLECTION,
    PG_DOCUMENT_GET,
    PG_DOCUMENT_LIST,
    PG_DOCUMENT_LIST_BACK,
    PG_MEMORY_RESERVE,
    PG_MEMORY_ADD,
    PG_MEMORY_FORGET,
    PG_MEMORY_CONSOLIDATE,
    PG_MEMORY_EMBED,
    PG_MEMORY_PRUNE,
    PG_MEMORY_GET,
    PG_MEMORY_LIST,
    PG_MEMORY_LIST_OLDEST,
    PG_MEMORY_SEARCH,
    PG_VECTOR_LIST,
    PG_VECTOR_MISSING,
    PG_GC_COUNT,
    PG_GC,
    PG_HEALTH,
    PG_HEALTH_CHECK,
    PG_SERVER,
    PG_COUNT
};

/** The texts, by enum postgres_sql. */
extern const char *const postgres_statements[PG_COUNT];
