// SPDX-License-Identifier: Apache-2.0
/* The table of coding agents: add one by a row. Static; any thread. */
#pragma once

#include "worker/coding/result.h"
#include "worker/coding/said.h"

#include <stdbool.h>
#include <stddef.h>

/** How the prompt is handed over. Whatever the record says, a prompt that is too long for an
 * argument goes into a file. */
enum coding_prompt { CODING_PROMPT_STDIN = 0, CODING_PROMPT_ARGUMENT, CODING_PROMPT_FILE };

/** Exit codes of one record. */
#define CODING_EXITS 8

/** A row; struct coding_record says what the members are. */
struct coding_row {
    const char *name;
    const char *program;
    const char *help;
    enum coding_prompt prompt;
    enum coding_format format;
    const char *const *arguments, *const *unattended, *const *guarded, *const *model_words;
    const char *const *start_words, *const *resume_words, *const *version_words;
    const char *const *env, *const *unattended_env, *const *keys, *const *home;
    const char *provider;
    bool is_usage_total;
    struct coding_exit exits[CODING_EXITS];
    size_t exit_count;
};

/** Ends with a row without a name. */
extern const struct coding_row coding_rows[];
