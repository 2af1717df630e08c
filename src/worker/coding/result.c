// SPDX-License-Identifier: Apache-2.0
/* The rules, from the strongest fact to the weakest. */
#include "worker/coding/result.h"

#include "base/ascii.h"
#include "base/clock.h"
#include "base/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name;
    const char *help;
} classes[] = {
    [CODING_OK] =
        {"ok",
         "the session ended without an error; the exit conditions decide whether the work is done"},
    [CODING_NO_WORK] = {"no_work", "the session ended without an error, but nothing changed or "
                                   "calls were denied: a failed iteration"},
    [CODING_API_TRANSIENT] = {"api_transient", "HTTP 429, 5xx, overload: a failed iteration; the "
                                               "next one waits, twice as long each time"},
    [CODING_API_QUOTA] = {"api_quota", "a quota is used up: the loop waits until it resets, then "
                                       "repeats the iteration, which does not count"},
    [CODING_AUTH] = {"auth", "no key, or the key was refused: the run ends with `error`"},
    [CODING_DENIED] =
        {"denied",
         "the agent refused to start (folder not trusted, not permitted): a failed iteration"},
    [CODING_LIMIT] = {"limit",
                      "the agent's own limit of turns or money was reached: a failed iteration"},
    [CODING_FAILED] = {"failed", "the agent reported another failure: a failed iteration"},
    [CODING_CRASH] =
        {"crash", "the agent was ended by a signal, or ended without a result: a failed iteration"},
    [CODING_TIMEOUT] =
        {"timeout",
         "the agent was killed at a deadline (first output, silence, total): a failed iteration"},
    [CODING_KILLED] =
        {"killed",
         "the agent was killed because the run was stopped or parked: the iteration runs again"},
};

const char *coding_class_name(enum coding_class outcome)
{
    return classes[outcome].name;
}

const char *coding_class_help(enum coding_class outcome)
{
    return classes[outcome].help;
}

bool coding_class_from_name(const char *name, enum coding_class *ret_class)
{
    for (int i = 0; i < CODING_CLASS_COUNT; i++) {
        if (strcmp(classes[i].name, name) == 0) {
            *ret_class = (enum coding_class)i;
            return true;
        }
    }
    return false;
}

/* ---- Errors that the agent reports ------------------------------------------------------------
 */

static bool is_one_of(const char *kind, const char *const *kinds)
{
    for (size_t i = 0; kinds[i] != NULL; i++) {
        if (strcasecmp(kinds[i], kind) == 0) {
            return true;
        }
    }
    return false;
}

/** What a message of a known agent begins with: for those whose errors have no other field. */
static bool says(const char *message, const char *const *beginnings)
{
    for (size_t i = 0; beginnings[i] != NULL; i++) {
        if (strncasecmp(beginnings[i], message, strlen(beginnings[i])) == 0) {
            return true;
        }
    }
    return false;
}

static const char *const auth_kinds[] = {"authentication_error",  "permission_error",
                                         "ProviderAuthError",     "invalid_api_key",
                                         "authentication_failed", NULL};
static const char *const quota_kinds[] = {"insufficient_quota",  "billing_error",
                                          "usage_limit_reached", "quota_exceeded",
                                          "TerminalQuotaError",  NULL};
static const char *const transient_kinds[] = {
    "overloaded_error", "rate_limit_error",    "api_error", "server_error",
    "timeout_error",    "RetryableQuotaError", NULL};
static const char *const quota_messages[] = {
    "You've hit your usage limit", "Claude AI usage limit reached", "Quota exceeded.", NULL};
static const char *const transient_messages[] = {"stream disconnected before completion",
                                                 "We\u2019re currently experiencing high demand",
                                                 "Connection error.", NULL};
static const char *const auth_messages[] = {"Not logged in", "Invalid API key", "No API key found",
                                            NULL};
static const char *const denied_messages[] = {"Not inside a trusted directory", NULL};

static enum coding_class class_of_status(int status)
{
    return status == 401 || status == 403                    ? CODING_AUTH
           : status == 402                                   ? CODING_API_QUOTA
           : status == 408 || status == 429 || status >= 500 ? CODING_API_TRANSIENT
                                                             : CODING_FAILED;
}

/** What an error is, whatever its status: a quota has the status of any other 429. */
static enum coding_class class_of_error(const struct coding_error *error)
{
    if (is_one_of(error->kind, quota_kinds) || says(error->message, quota_messages)) {
        return CODING_API_QUOTA;
    }
    if (is_one_of(error->kind, auth_kinds) || says(error->message, auth_messages)) {
        return CODING_AUTH;
    }
    if (says(error->message, denied_messages)) {
        return CODING_DENIED;
    }
    if (error->status != 0) {
        return class_of_status(error->status);
    }
    bool is_transient = error->is_retryable || is_one_of(error->kind, transient_kinds) ||
                        says(error->message, transient_messages);
    return is_transient ? CODING_API_TRANSIENT : CODING_FAILED;
}

/** "... try again in 3 days 4 hours 5 minutes". @return nanoseconds, 0 = it does not say */
static int64_t wait_in(const char *message)
{
    static const struct {
        const char *unit;
        int64_t seconds;
    } units[] = {{"day", 86400}, {"hour", 3600}, {"minute", 60}, {"second", 1}};
    const char *at = strstr(message, "try again in ");
    int64_t seconds = 0;
    at = at == NULL ? "" : at + strlen("try again in ");
    while (ascii_is_digit(*at)) {
        char *end;
        int64_t number = strtoll(at, &end, 10);
        end += strspn(end, " ");
        for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
            bool is_unit = strncmp(end, units[i].unit, strlen(units[i].unit)) == 0;
            seconds += is_unit && number <= 1000 ? number * units[i].seconds : 0;
        }
        at = end + strcspn(end, " ");
        at += strspn(at, " ");
    }
    return seconds * NS_PER_S;
}

/** When the quota is there again: a field of the agent's, or its message ("...|1700000000"). */
static int64_t reset_of(const struct coding_facts *facts)
{
    const struct coding_said *said = facts->said;
    const char *bar = strrchr(said->error.message, '|');
    int64_t wait_ns = wait_in(said->error.message);
    int64_t resets_ns = said->resets_ns;
    if (resets_ns == 0 && bar != NULL && ascii_is_digit(bar[1])) {
        int64_t seconds = strtoll(bar + 1, NULL, 10);
        resets_ns = seconds < INT64_MAX / NS_PER_S ? seconds * NS_PER_S : 0;
    }
    if (resets_ns == 0 && wait_ns > 0) {
        resets_ns = facts->now_ns + wait_ns;
    }
    return resets_ns;
}

/* ---- The verdict ------------------------------------------------------------------------------
 */

static struct coding_verdict verdict(enum coding_class outcome, const char *message)
{
    struct coding_verdict verdict = {.outcome = outcome};
    snprintf(verdict.message, sizeof(verdict.message), "%s", message);
    return verdict;
}

/** What the record says of its exit code; `otherwise` for codes that are not listed. */
static enum coding_class class_of_exit(const struct coding_facts *facts,
                                       enum coding_class otherwise)
{
    bool has_exited = facts->spawned->end == SPAWN_EXITED;
    for (size_t i = 0; has_exited && i < facts->exit_count; i++) {
        if (facts->exits[i].code == facts->spawned->exit_code) {
            return facts->exits[i].outcome;
        }
    }
    return otherwise;
}

static struct coding_verdict of_error(const struct coding_facts *facts)
{
    const struct coding_error *error = &facts->said->error;
    enum coding_class outcome = class_of_error(error);
    if (outcome == CODING_FAILED && error->status == 0) {
        outcome = class_of_exit(facts, outcome); /* Some have the status there only. */
    }
    bool is_rejected = facts->said->resets_ns > facts->now_ns && outcome == CODING_API_TRANSIENT;
    struct coding_verdict verdict = {.outcome = is_rejected ? CODING_API_QUOTA : outcome};
    const char *words = error->message[0] != '\0' ? error->message
                        : error->kind[0] != '\0'  ? error->kind
                                                  : "the agent reports a failure";
    if (error->status != 0) {
        snprintf(verdict.message, sizeof(verdict.message), "HTTP %d: %s", error->status, words);
    } else {
        snprintf(verdict.message, sizeof(verdict.message), "%s", words);
    }
    verdict.resets_ns = verdict.outcome == CODING_API_QUOTA ? reset_of(facts) : 0;
    return verdict;
}

/** It ended by itself with an exit code that is not 0, and its stream reports no error. */
static struct coding_verdict of_exit(const struct coding_facts *facts)
{
    int code = facts->spawned->exit_code;
    bool has_result = facts->said->has_result || facts->is_text;
    struct coding_verdict verdict = {
        .outcome = class_of_exit(facts, has_result ? CODING_FAILED : CODING_CRASH)};
    snprintf(verdict.message, sizeof(verdict.message), "exit code %d%s", code,
             facts->said->has_result || facts->is_text ? "" : " without a result");
    return verdict;
}

/** It ended well by its own account. */
static struct coding_verdict of_success(const struct coding_facts *facts)
{
    const struct coding_said *said = facts->said;
    struct coding_verdict verdict = {.outcome = CODING_OK};
    bool was_denied =
        said->denials > 0 && facts->change != CODING_CHANGE_SOME && !facts->is_answer_enough;
    if (was_denied) {
        verdict.outcome = CODING_NO_WORK;
        snprintf(verdict.message, sizeof(verdict.message),
                 "the agent had no permission for %llu call%s (the first: %s)",
                 (unsigned long long)said->denials, said->denials == 1 ? "" : "s", said->denied);
    } else if (facts->change == CODING_CHANGE_NONE) {
        verdict.outcome = CODING_NO_WORK;
        snprintf(verdict.message, sizeof(verdict.message), "nothing was changed");
    }
    return verdict;
}

static struct coding_verdict of_stream(const struct coding_facts *facts)
{
    const struct coding_said *said = facts->said;
    if (said->error.is_set) {
        return of_error(facts);
    }
    if (said->limit[0] != '\0') {
        struct coding_verdict verdict = {.outcome = CODING_LIMIT};
        snprintf(verdict.message, sizeof(verdict.message), "the agent's own limit was reached: %s",
                 said->limit);
        return verdict;
    }
    if (facts->spawned->end == SPAWN_EXITED && facts->spawned->exit_code != 0) {
        return of_exit(facts);
    }
    if (!said->has_result && !facts->is_text) {
        return verdict(CODING_CRASH, "it ended without a result");
    }
    return of_success(facts);
}

struct coding_verdict coding_classify(const struct coding_facts *facts)
{
    const struct spawn_result *spawned = facts->spawned;
    switch (spawned->end) {
    case SPAWN_EXITED:
        return of_stream(facts);
    case SPAWN_SIGNALLED: {
        struct coding_verdict verdict = {.outcome = CODING_CRASH};
        snprintf(verdict.message, sizeof(verdict.message), "ended by signal %d", spawned->signal);
        return verdict;
    }
    case SPAWN_TIMED_OUT:
        /* Some hang after their result, because of what they started: the result is there. */
        return facts->said->has_result || facts->said->is_hopeless
                   ? of_stream(facts)
                   : verdict(CODING_TIMEOUT, spawned->reason);
    case SPAWN_CANCELLED:
        return verdict(CODING_KILLED, spawned->reason);
    case SPAWN_NOT_STARTED:
        return verdict(CODING_CRASH, spawned->reason);
    }
    return verdict(CODING_CRASH, "it ended in an unknown way");
}
