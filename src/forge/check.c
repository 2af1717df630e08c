// SPDX-License-Identifier: Apache-2.0
#include "forge/check.h"

#include "base/ascii.h"
#include "base/limits.h"
#include "base/text/plain.h"

#include <stdlib.h>
#include <string.h>

void check_add(struct check_listing *listing, const char *name, const char *state)
{
    static const struct {
        const char *word;
        enum forge_checks result;
    } rows[] = {
        {"success", FORGE_CHECKS_PASSED},         {"neutral", FORGE_CHECKS_PASSED},
        {"skipped", FORGE_CHECKS_PASSED},         {"manual", FORGE_CHECKS_PASSED},
        {"warning", FORGE_CHECKS_PASSED},         {"failure", FORGE_CHECKS_FAILED},
        {"failed", FORGE_CHECKS_FAILED},          {"error", FORGE_CHECKS_FAILED},
        {"timed_out", FORGE_CHECKS_FAILED},       {"cancelled", FORGE_CHECKS_FAILED},
        {"canceled", FORGE_CHECKS_FAILED},        {"action_required", FORGE_CHECKS_FAILED},
        {"startup_failure", FORGE_CHECKS_FAILED}, {"stale", FORGE_CHECKS_FAILED},
    };
    enum forge_checks result = FORGE_CHECKS_PENDING;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        result = strcmp(rows[i].word, state) == 0 ? rows[i].result : result;
    }
    listing->passed += result == FORGE_CHECKS_PASSED;
    listing->pending += result == FORGE_CHECKS_PENDING;
    listing->failed += result == FORGE_CHECKS_FAILED;
    if (result == FORGE_CHECKS_FAILED && listing->failed_names.len < LIMIT_FORGE_TITLE_BYTES) {
        buf_append_string(&listing->failed_names, listing->failed_names.len > 0 ? ", " : "");
        text_clean(name, strnlen(name, LIMIT_FORGE_NAME_BYTES), &listing->failed_names);
    }
}

/** Whether a text is the id of a commit, so that it can be part of an address. */
static bool is_commit(const char *text)
{
    size_t len = strlen(text);
    for (size_t i = 0; i < len; i++) {
        if (ascii_hex_value(text[i]) < 0) {
            return false;
        }
    }
    return len == 40 || len == 64;
}

enum forge_end forge_read_checks(struct forge *forge, const char *commit,
                                 enum forge_checks *ret_checks, char **ret_failed_names)
{
    struct check_listing listing = {.forge = forge};
    if (!is_commit(commit)) {
        return forge_end_with(forge, FORGE_CONFLICT, "`%.70s` is not a commit", commit);
    }
    enum forge_end end = forge->ops->read_checks(&listing, commit);
    if (end == FORGE_OK) {
        *ret_checks = listing.failed > 0    ? FORGE_CHECKS_FAILED
                      : listing.pending > 0 ? FORGE_CHECKS_PENDING
                      : listing.passed > 0  ? FORGE_CHECKS_PASSED
                                            : FORGE_CHECKS_NONE;
        *ret_failed_names = listing.failed > 0 ? buf_steal(&listing.failed_names) : NULL;
    }
    buf_fini(&listing.failed_names);
    return end;
}
