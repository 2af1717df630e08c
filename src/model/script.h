// SPDX-License-Identifier: Apache-2.0
/*
 * Scripts: files of turns that a model of provider `scripted` says (format: docs/models.md). Which
 * turn is said follows from the number of the request alone, so that a run which is resumed, or
 * whose history was trimmed, gets the same again. Immutable after reading; any thread.
 */
#pragma once

#include "model/model.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A call in a turn. */
struct script_call {
    char *id; /**< NULL = made from the numbers of turn and call */
    char *name;
    char *arguments;
};

/** What a turn demands of the request it answers. Texts NULL = nothing. */
struct script_expect {
    char *last_contains; /**< in the texts of the newest message */
    char *last_lacks;
    char *any_contains; /**< in the texts of any message */
    char *system_contains;
    char *has_tool;
    int64_t messages; /**< their number; -1 = any */
};

struct script_turn {
    uint64_t first; /**< number of the first request that it answers, from 1 */
    uint64_t last;  /**< of the last one; UINT64_MAX = for ever */
    char *text;
    char *thinking;
    struct script_call *calls;
    size_t call_count;
    struct model_usage usage;
    enum model_stop stop;
    enum model_failure error; /**< MODEL_OK = it is a reply */
    char *message;            /**< of the error; or NULL */
    int64_t delay_ns;
    struct script_expect expect;
};

struct model_script {
    struct script_turn *turns;
    size_t count;
};

/**
 * Read a script: a JSON array of turns, or one turn a line.
 * @param path for messages
 * @param ret_script script_free()
 * @return 0, or RONDO_ERR_INVALID with the number of the turn
 */
int script_parse(const char *path, const char *text, size_t len, struct model_script **ret_script,
                 struct rondo_error *err);
/** The same from a file. */
int script_read(const char *path, struct model_script **ret_script, struct rondo_error *err);
/** NULL is allowed. */
void script_free(struct model_script *script);

/** The turn that answers request number `turn`: the last one in the file that does; or NULL. */
const struct script_turn *script_find(const struct model_script *script, uint64_t turn);

/** A script, bytes. */
#define SCRIPT_MAX_BYTES ((size_t)64 * 1024 * 1024)
/** Longest delay_ms of a turn. */
#define SCRIPT_MAX_DELAY_MS INT64_C(86400000)
/** The name that needs no file: one turn for ever. */
#define SCRIPT_DRY_RUN "dry-run"
/** What it says. */
#define SCRIPT_DRY_RUN_TEXT "[dry-run] Simulated response."
