// SPDX-License-Identifier: Apache-2.0
#include "handoff/wire/what_if.h"

#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "handoff/handoff.h"
#include "handoff/wire/evaluation.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTCOMES (PROFILE_DENY + 1)
/** Stored evaluations that are read at a time. */
#define PAGE 256

/** A rule that decides, in either set of profiles. */
struct rule_row {
    char rule[72];
    uint64_t before;
    uint64_t after;
};

struct comparison {
    const struct what_if *question;
    struct profile_evaluator *current;
    struct profile_evaluator *candidate;
    uint64_t replayed;
    uint64_t skipped;
    int64_t first_ns;
    int64_t last_ns;
    uint64_t moves[OUTCOMES][OUTCOMES]; /**< from the current answer to that of the candidate */
    struct rule_row *rules;
    size_t rule_count;
    struct json_writer samples;
    size_t sample_count;
};

/* ---- One evaluation ------------------------------------------------------------------------- */

static void count_rule(struct comparison *comparison, const char *rule, bool is_candidate)
{
    size_t i = 0;
    char name[sizeof(comparison->rules[0].rule)];
    snprintf(name, sizeof(name), "%s", rule[0] == '\0' ? "none" : rule);
    while (i < comparison->rule_count && strcmp(comparison->rules[i].rule, name) != 0) {
        i++;
    }
    if (i == WHAT_IF_RULES) {
        return;
    }
    if (i == comparison->rule_count) {
        comparison->rule_count++;
        memcpy(comparison->rules[i].rule, name, sizeof(name));
    }
    *(is_candidate ? &comparison->rules[i].after : &comparison->rules[i].before) += 1;
}

static void write_sample(struct comparison *comparison, struct json_object *evaluation,
                         const struct profile_answer *before, const struct profile_answer *after)
{
    struct json_writer *writer = &comparison->samples;
    if (comparison->sample_count++ >= WHAT_IF_SAMPLES) {
        return;
    }
    json_begin_object(writer, NULL);
    json_write_time(writer, "at", json_get_int(evaluation, "time_ns", 0));
    json_write_string(writer, "agent_id", json_get_string(evaluation, "agent_id", ""));
    json_write_string(writer, "tool", json_get_string(evaluation, "tool", ""));
    json_write_string(writer, "action_digest", json_get_string(evaluation, "action_digest", ""));
    json_write_string(writer, "from", profile_outcome_name(before->outcome));
    json_write_string(writer, "to", profile_outcome_name(after->outcome));
    json_write_string(writer, "rule_before", before->rule[0] == '\0' ? NULL : before->rule);
    json_write_string(writer, "rule_after", after->rule[0] == '\0' ? NULL : after->rule);
    json_end_object(writer);
}

static void compare(struct comparison *comparison, struct json_object *evaluation)
{
    auto_buf struct buf ignored = {0};
    struct profile_answer before;
    struct profile_answer after;
    struct profile_request request = {
        .agent_id = json_get_string(evaluation, "agent_id", ""),
        .tool = json_get_string(evaluation, "tool", ""),
        .profile = json_get_string(evaluation, "profile", NULL),
        .is_evidence = json_get_bool(evaluation, "is_evidence", false),
        .context = json_member(evaluation, "context"),
        .rework_count = (uint32_t)json_get_int(evaluation, "rework_count", 0),
    };
    profiles_decide(comparison->question->current, comparison->current, &request, &before,
                    &ignored);
    profiles_decide(comparison->question->candidate, comparison->candidate, &request, &after,
                    &ignored);
    comparison->moves[before.outcome][after.outcome]++;
    count_rule(comparison, before.rule, false);
    count_rule(comparison, after.rule, true);
    if (before.outcome != after.outcome) {
        write_sample(comparison, evaluation, &before, &after);
    }
}

static void look_at(struct comparison *comparison, const char *json, size_t len)
{
    auto_json struct json_object *evaluation = NULL;
    const char *agent_id = comparison->question->agent_id;
    if (json_parse(json, len, &evaluation, NULL) < 0 ||
        json_get_int(evaluation, "format", 0) != 1 ||
        (agent_id != NULL && strcmp(json_get_string(evaluation, "agent_id", ""), agent_id) != 0)) {
        return;
    }
    if (json_get_bool(evaluation, "has_approval", false)) {
        comparison->skipped++;
        return;
    }
    int64_t time_ns = json_get_int(evaluation, "time_ns", 0);
    comparison->last_ns = comparison->replayed == 0 ? time_ns : comparison->last_ns;
    comparison->first_ns = time_ns;
    comparison->replayed++;
    compare(comparison, evaluation);
}

/* ---- All of them ---------------------------------------------------------------------------- */

struct evaluation_page {
    struct buf texts[PAGE];
    size_t count;
    char key[STORE_KEY_LEN + 1];
};

static bool keep(const struct store_document *document, void *context)
{
    struct evaluation_page *page = context;
    buf_append(&page->texts[page->count++], document->data, document->data_len);
    snprintf(page->key, sizeof(page->key), "%s", document->key);
    return page->count < PAGE;
}

/** Policies are evaluated while the store is free for others. */
static int replay(struct store *store, struct comparison *comparison, struct rondo_error *err)
{
    struct evaluation_page *page = memory_new_zero(1, sizeof(*page));
    uint32_t limit = comparison->question->limit;
    uint64_t left = limit == 0 ? LIMIT_EVALUATIONS : limit;
    int r = 0;
    do {
        char after[STORE_KEY_LEN + 1];
        snprintf(after, sizeof(after), "%s", page->key);
        struct store_document_query query = {.collection = EVALUATION_COLLECTION,
                                             .after = after[0] == '\0' ? NULL : after,
                                             .is_descending = true,
                                             .limit = left < PAGE ? (uint32_t)left : PAGE};
        page->count = 0;
        r = store->ops->read_documents(store, &query, keep, page, err);
        for (size_t i = 0; i < page->count; i++) {
            if (r == 0) {
                look_at(comparison, page->texts[i].data, page->texts[i].len);
            }
            buf_fini(&page->texts[i]);
        }
        left -= page->count;
    } while (r == 0 && page->count > 0 && left > 0);
    free(page);
    return r;
}

/* ---- The answer ----------------------------------------------------------------------------- */

static uint64_t sum_changes(const struct comparison *comparison)
{
    uint64_t sum = 0;
    for (int from = 0; from < OUTCOMES; from++) {
        for (int to = 0; to < OUTCOMES; to++) {
            sum += from == to ? 0 : comparison->moves[from][to];
        }
    }
    return sum;
}

static void write_moves(const struct comparison *comparison, struct json_writer *writer)
{
    json_begin_array(writer, "changes");
    for (int from = 0; from < OUTCOMES; from++) {
        for (int to = 0; to < OUTCOMES; to++) {
            if (from != to && comparison->moves[from][to] > 0) {
                json_begin_object(writer, NULL);
                json_write_string(writer, "from", profile_outcome_name((enum profile_outcome)from));
                json_write_string(writer, "to", profile_outcome_name((enum profile_outcome)to));
                json_write_int(writer, "count", (int64_t)comparison->moves[from][to]);
                json_end_object(writer);
            }
        }
    }
    json_end_array(writer);
}

/** The one with the largest difference first. */
static int compare_rows(const void *a, const void *b)
{
    const struct rule_row *left = a;
    const struct rule_row *right = b;
    uint64_t one =
        left->before > left->after ? left->before - left->after : left->after - left->before;
    uint64_t other =
        right->before > right->after ? right->before - right->after : right->after - right->before;
    return one != other ? (one < other ? 1 : -1) : strcmp(left->rule, right->rule);
}

static void write_rules(const struct comparison *comparison, struct json_writer *writer)
{
    qsort(comparison->rules, comparison->rule_count, sizeof(*comparison->rules), compare_rows);
    json_begin_array(writer, "rules");
    for (size_t i = 0; i < comparison->rule_count; i++) {
        json_begin_object(writer, NULL);
        json_write_string(writer, "policy_rule_id", comparison->rules[i].rule);
        json_write_int(writer, "before", (int64_t)comparison->rules[i].before);
        json_write_int(writer, "after", (int64_t)comparison->rules[i].after);
        json_end_object(writer);
    }
    json_end_array(writer);
}

static void write_time(struct json_writer *writer, const char *key, int64_t time_ns)
{
    if (time_ns == 0) {
        json_write_null(writer, key);
    } else {
        json_write_time(writer, key, time_ns);
    }
}

static void write_answer(const struct comparison *comparison, const char *samples,
                         struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "evaluations", (int64_t)comparison->replayed);
    json_write_int(&writer, "with_approval", (int64_t)comparison->skipped);
    write_time(&writer, "from", comparison->first_ns);
    write_time(&writer, "to", comparison->last_ns);
    json_write_string(&writer, "policy_hash", profiles_hash(comparison->question->current));
    json_write_string(&writer, "candidate_hash", profiles_hash(comparison->question->candidate));
    json_write_int(&writer, "changed", (int64_t)sum_changes(comparison));
    write_moves(comparison, &writer);
    write_rules(comparison, &writer);
    json_write_raw(&writer, "samples", samples);
    json_end_object(&writer);
}

int what_if_write(struct store *store, const struct what_if *question, struct buf *ret_json,
                  struct rondo_error *err)
{
    auto_buf struct buf samples = {0};
    struct comparison comparison = {
        .question = question,
        .current = profile_evaluator_new(),
        .candidate = profile_evaluator_new(),
        .rules = memory_new_zero(WHAT_IF_RULES, sizeof(*comparison.rules)),
        .samples = json_writer(&samples),
    };
    json_begin_array(&comparison.samples, NULL);
    int r = replay(store, &comparison, err);
    json_end_array(&comparison.samples);
    if (r == 0) {
        write_answer(&comparison, buf_string(&samples), ret_json);
    }
    profile_evaluator_free(comparison.current);
    profile_evaluator_free(comparison.candidate);
    free(comparison.rules);
    return r;
}
