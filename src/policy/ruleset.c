// SPDX-License-Identifier: Apache-2.0
/* Making rulesets. Nothing here touches files: see watch_files.c. */
#include "policy/ruleset.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "policy/cedar/policies.h"
#include "policy/limit.h"
#include "policy/links.h"
#include "policy/lint/lint_internal.h"
#include "policy/vocabulary/vocabulary.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Rondo's own policies. They read the entity of the run: its options. */
static const struct {
    const char *id;
    bool is_default_only; /* only where there is no file */
    const char *text;
} own_policies[] = {
    {"base", true,
     "@id(\"base\")\n"
     "permit (principal, action, resource);\n"},
    {"limit.iterations", false,
     "@id(\"limit.iterations\") @reason(\"the iteration limit of the run is used up\")\n"
     "forbid (principal, action == Action::\"iterate\", resource is Run)\n"
     "when { resource has max_iterations && context.iteration >= resource.max_iterations };\n"},
    {"limit.tokens", false,
     "@id(\"limit.tokens\") @reason(\"the token limit of the run is used up\")\n"
     "forbid (principal, action == Action::\"iterate\", resource is Run)\n"
     "when { resource has max_tokens && context.tokens >= resource.max_tokens };\n"},
    {"limit.cost", false,
     "@id(\"limit.cost\") @reason(\"the cost limit of the run is used up\")\n"
     "forbid (principal, action == Action::\"iterate\", resource is Run)\n"
     "when { resource has max_cost_usd && "
     "context.cost_usd.greaterThanOrEqual(resource.max_cost_usd) };\n"},
    {"limit.time", false,
     "@id(\"limit.time\") @reason(\"the time limit of the run is used up\")\n"
     "forbid (principal, action == Action::\"iterate\", resource is Run)\n"
     "when { resource has max_elapsed_s && context.elapsed_s >= resource.max_elapsed_s };\n"},
    {RULESET_CONFIRM, false,
     "@id(\"" RULESET_CONFIRM "\") @on_deny(\"ask\") @handoff(\"explicit_agent_rule\") "
     "@severity(\"medium\")\n@reason(\"this role requires confirmation\")\n"
     "forbid (principal, action == Action::\"call_tool\", resource is Tool)\n"
     "when { resource has needs_confirmation && resource.needs_confirmation }\n"
     "unless { context.approved };\n"},
};

#define OWN_FILE "rondo"

/**
 * The shorthand of role files is not Cedar. A policy file that has it is refused with the
 * equivalent text.
 */
static void explain_shorthand(const struct ruleset_text *text, struct cedar_problem *problem)
{
    static const char word[] = "max_iterations";
    const char *at = text->text + problem->offset;
    const char *end = text->text + text->len;
    if ((size_t)(end - at) < sizeof(word) || strncmp(at, word, sizeof(word) - 1) != 0) {
        return;
    }
    at += sizeof(word) - 1;
    while (at < end && (*at == ' ' || *at == ':' || *at == '"' || *at == '=')) {
        at++;
    }
    size_t digits = 0;
    while (at + digits < end && ascii_is_digit(at[digits])) {
        digits++;
    }
    bool is_number = digits > 0 && digits < 19;
    const char *number = is_number ? at : "100";
    int shown = is_number ? (int)digits : 3;
    snprintf(problem->message, sizeof(problem->message),
             "`max_iterations: %.*s` is the shorthand of role files and options; in a policy file "
             "write: @id(\"iterations\") forbid (principal, action == Action::\"iterate\", "
             "resource) unless { context.iteration < %.*s };",
             shown, number, shown, number);
}

/** Where findings go: to the caller, and the first error into `err`. */
struct report {
    lint_fn *finding;
    void *context;
    size_t error_count;
    struct rondo_error *err;
};

static void take_finding(const struct lint_finding *finding, void *context)
{
    struct report *report = context;
    if (report->finding != NULL) {
        report->finding(finding, report->context);
    }
    if (finding->is_error && report->error_count++ == 0) {
        error_set(report->err, RONDO_ERR_INVALID, "%s:%u:%u: %s", finding->file, finding->line,
                  finding->column, finding->message);
    }
}

static int add_policies(struct cedar_builder *builder, const struct ruleset_text *text,
                        struct report *report)
{
    struct cedar_problem problem = {0};
    int r = cedar_builder_add_templates(builder, text->name, text->text, text->len, &problem,
                                        report->err);
    if (r == RONDO_ERR_INVALID) {
        explain_shorthand(text, &problem);
        take_finding(
            &(struct lint_finding){
                .is_error = true,
                .policy = LINT_NO_POLICY,
                .file = text->name,
                .line = problem.line,
                .column = problem.column,
                .message = problem.message,
            },
            report);
    }
    return r;
}

static int add_given(struct cedar_builder *builder, const struct ruleset_text *texts, size_t count,
                     struct report *report)
{
    for (size_t i = 0; i < count; i++) {
        int r = texts[i].part == RULESET_POLICIES ? add_policies(builder, &texts[i], report) : 0;
        if (r < 0) {
            return r;
        }
    }
    for (size_t i = 0; i < count; i++) {
        int r = texts[i].part == RULESET_LINKS
                    ? links_add(builder, texts[i].name, texts[i].text, texts[i].len, report->err)
                    : 0;
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

/** Own policies follow the given ones, which may replace them. @return how many */
static size_t add_own(struct cedar_builder *builder, bool has_files)
{
    size_t added = 0;
    for (size_t i = 0; i < sizeof(own_policies) / sizeof(own_policies[0]); i++) {
        bool is_wanted = !(own_policies[i].is_default_only && has_files) &&
                         !cedar_builder_has(builder, own_policies[i].id);
        if (is_wanted) {
            int r = cedar_builder_add(builder, OWN_FILE, own_policies[i].text,
                                      strlen(own_policies[i].text), NULL, NULL);
            assert(r == 0); /* An option without its policy would limit nothing. */
            (void)r;
            added++;
        }
    }
    return added;
}

/** Put the file's name in front of "1:28: ...", or of what has no place. */
static void name_file(struct rondo_error *err, const char *name)
{
    char message[RONDO_ERROR_MESSAGE_SIZE];
    bool has_place = ascii_is_digit(err->message[0]);
    snprintf(message, sizeof(message), "%s", err->message);
    error_set(err, err->code, "%s:%s%s", name, has_place ? "" : " ", message);
}

static int read_entities(struct ruleset *ruleset, const struct ruleset_text *texts, size_t count,
                         struct rondo_error *err)
{
    auto_buf struct buf actions = {0};
    vocabulary_write_actions(&actions);
    ruleset->actions = cedar_entities_parse(actions.data, actions.len, NULL, err);
    ruleset->entities = ruleset->actions;
    for (size_t i = 0; i < count && ruleset->entities != NULL; i++) {
        if (texts[i].part != RULESET_ENTITIES) {
            continue;
        }
        if (ruleset->entities != ruleset->actions) {
            return error_set(err, RONDO_ERR_INVALID, "%s: a second file of entities",
                             texts[i].name);
        }
        ruleset->entities =
            cedar_entities_parse(texts[i].text, texts[i].len, ruleset->actions, err);
        if (ruleset->entities == NULL) {
            name_file(err, texts[i].name);
        }
    }
    return ruleset->entities == NULL ? err->code : 0;
}

static void digest_texts(struct ruleset *ruleset, const struct ruleset_text *texts, size_t count)
{
    unsigned char bytes[DIGEST_SIZE];
    struct digest digest = digest_begin();
    for (size_t i = 0; i < count; i++) {
        digest_add_u64(&digest, (uint64_t)texts[i].part);
        digest_add_u64(&digest, texts[i].len);
        digest_add(&digest, texts[i].text, texts[i].len);
    }
    digest_finish(&digest, bytes);
    digest_hex(bytes, ruleset->digest);
}

/** Entities and links are part of what is shown and kept, but are not Cedar: each line is a
 * comment. */
static void append_commented(struct buf *all, const char *text, size_t len)
{
    bool is_line_start = true;
    for (size_t i = 0; i < len; i++) {
        if (is_line_start) {
            buf_append_string(all, "// ");
        }
        buf_append(all, &text[i], 1);
        is_line_start = text[i] == '\n' || text[i] == '\r'; /* as the lexer has it */
    }
}

static void keep_texts(struct ruleset *ruleset, const struct ruleset_text *texts, size_t count)
{
    struct buf all = {0};
    for (size_t i = 0; i < count; i++) {
        if (count > 1) {
            buf_printf(&all, "%s// %s\n", i > 0 ? "\n" : "", texts[i].name);
        }
        if (texts[i].part == RULESET_POLICIES) {
            buf_append(&all, texts[i].text, texts[i].len);
        } else {
            append_commented(&all, texts[i].text, texts[i].len);
        }
    }
    ruleset->text_len = all.len;
    ruleset->text = buf_steal(&all);
}

/** What is wrong with a scope is reported by the lint of the whole. */
static void ignore(const struct lint_finding *finding, void *context)
{
    (void)finding;
    (void)context;
}

static bool can_iterate(const struct ruleset *ruleset, uint32_t index)
{
    struct lint scope = {
        .fn = ignore, .index = index, .policy = ruleset->policies->policies[index]};
    return (lint_scope(&scope) & VOCABULARY_ACTION_BIT(ACTION_ITERATE)) != 0;
}

static void note_counters(struct ruleset *ruleset)
{
    ruleset->counters = memory_new_zero((size_t)ruleset->policies->count + 1, 1);
    for (size_t i = 0; i < ruleset->policies->count; i++) {
        ruleset->counters[i] = limit_counters(ruleset->policies, i);
    }
}

/** A policy that counts iterations before it lets a tool be called limits no run. */
static bool counts_iterations(const struct ruleset *ruleset)
{
    for (uint32_t i = 0; i < ruleset->given_count; i++) {
        if (can_iterate(ruleset, i) && (ruleset->counters[i] & 1U << RUN_LIMIT_ITERATIONS) != 0) {
            return true;
        }
    }
    return false;
}

static int check_size(const struct ruleset_text *texts, size_t count, struct rondo_error *err)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++) {
        total += texts[i].len;
    }
    return total <= LIMIT_POLICY_BYTES
               ? 0
               : error_set(err, RONDO_ERR_LIMIT, "policies of %zu bytes; the limit is %ld", total,
                           (long)LIMIT_POLICY_BYTES);
}

/** A template with the id of an own policy would take its place and limit nothing. */
static int check_own(const struct ruleset *ruleset, bool has_files, struct rondo_error *err)
{
    size_t count = cedar_policies_count(ruleset->policies);
    for (size_t i = 0; i < sizeof(own_policies) / sizeof(own_policies[0]); i++) {
        bool is_there = own_policies[i].is_default_only && has_files;
        for (size_t j = 0; j < count && !is_there; j++) {
            is_there = strcmp(cedar_policies_id(ruleset->policies, j), own_policies[i].id) == 0;
        }
        if (!is_there) {
            return error_set(err, RONDO_ERR_INVALID,
                             "`%s` is the id of one of Rondo's own policies, and a template cannot "
                             "take its place; give the template another @id",
                             own_policies[i].id);
        }
    }
    return 0;
}

static int fill(struct ruleset *ruleset, const struct ruleset_text *texts, size_t count,
                struct report *report)
{
    struct cedar_builder *builder = cedar_builder_new(CEDAR_ANNOTATION_IDS);
    int r = add_given(builder, texts, count, report);
    if (r < 0) {
        cedar_builder_free(builder);
        return r;
    }
    size_t own_count = add_own(builder, count > 0);
    ruleset->policies = cedar_builder_finish(builder);
    ruleset->given_count = cedar_policies_count(ruleset->policies) - own_count;
    r = check_own(ruleset, count > 0, report->err);
    if (r < 0) {
        return r;
    }
    note_counters(ruleset);
    ruleset->counts_iterations = counts_iterations(ruleset);
    digest_texts(ruleset, texts, count);
    keep_texts(ruleset, texts, count);
    lint_policies(ruleset->policies, take_finding, report);
    return report->error_count > 0 ? RONDO_ERR_INVALID
                                   : read_entities(ruleset, texts, count, report->err);
}

int ruleset_make(const char *source, const struct ruleset_text *texts, size_t count,
                 lint_fn *finding, void *context, struct ruleset **ret_ruleset,
                 struct rondo_error *err)
{
    struct rondo_error own_error = {0};
    err = err == NULL ? &own_error : err;
    int r = check_size(texts, count, err);
    if (r < 0) {
        return r;
    }
    struct ruleset *ruleset = memory_new_zero(1, sizeof(*ruleset));
    ruleset->references = 1;
    ruleset->source = memory_dup_string(source);
    struct report report = {.finding = finding, .context = context, .err = err};
    r = fill(ruleset, texts, count, &report);
    if (r < 0) {
        ruleset_unref(ruleset);
        return r;
    }
    *ret_ruleset = ruleset;
    return 0;
}

struct ruleset *ruleset_ref(struct ruleset *ruleset)
{
    atomic_fetch_add_explicit(&ruleset->references, 1, memory_order_relaxed);
    return ruleset;
}

void ruleset_unref(struct ruleset *ruleset)
{
    if (ruleset == NULL ||
        atomic_fetch_sub_explicit(&ruleset->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    if (ruleset->entities != ruleset->actions) {
        cedar_entities_free(ruleset->entities);
    }
    cedar_entities_free(ruleset->actions);
    cedar_policies_unref(ruleset->policies);
    free(ruleset->counters);
    free(ruleset->source);
    free(ruleset->text);
    free(ruleset);
}

bool ruleset_replaces(const struct ruleset *ruleset, const char *id)
{
    for (size_t i = 0; i < ruleset->given_count; i++) {
        if (strcmp(cedar_policies_id(ruleset->policies, i), id) == 0) {
            return true;
        }
    }
    return false;
}

void ruleset_write(const struct ruleset *ruleset, struct buf *ret_text)
{
    bool has_files = strcmp(ruleset->source, RULESET_BUILT_IN) != 0;
    if (has_files) {
        buf_append(ret_text, ruleset->text, ruleset->text_len);
        buf_append_string(ret_text, "\n");
    }
    buf_append_string(ret_text, has_files
                                    ? "// Rondo's own: the options of a run. A policy with the "
                                      "same @id takes the place of one.\n"
                                    : "// Built in: there is no policy file.\n");
    buf_printf(ret_text,
               "// max_iterations of a run is its option --max-iterations; without it, %s.\n",
               ruleset->counts_iterations ? "10 where no policy above counts the agent's iterations"
                                          : "10");
    size_t count = cedar_policies_count(ruleset->policies);
    for (size_t i = ruleset->given_count; i < count; i++) {
        size_t len = 0;
        const char *text = cedar_policies_text(ruleset->policies, i, &len);
        buf_append_string(ret_text, "\n");
        buf_append(ret_text, text, len);
        buf_append_string(ret_text, "\n");
    }
}
