// SPDX-License-Identifier: Apache-2.0
/*
 * Questions as a run asks them: the vocabulary's actions, a context with all twelve attributes, an
 * agent that belongs to a group. One thread for each struct.
 */
#include "decisions.h"

#include "base/memory.h"
#include "measure.h"
#include "policy/cedar/entities.h"
#include "policy/cedar/value/value_json.h"
#include "policy/vocabulary/vocabulary.h"

#include <stdlib.h>
#include <string.h>

/** All but the condition, which only `verify` has. */
#define ATTRIBUTES CONTEXT_CONDITION

static const char iterate_policies[] =
    "@id(\"base\") permit (principal, action, resource);\n"
    "@id(\"limit.iterations\") @reason(\"iteration budget used up\")\n"
    "forbid (principal, action == Action::\"iterate\", resource)\n"
    "unless { context has iteration && context.iteration < 100 };\n"
    "@id(\"limit.per-agent\")\n"
    "forbid (principal, action == Action::\"iterate\", resource)\n"
    "unless { context.iteration < principal.max_iterations };\n"
    "@id(\"limit.cost\") forbid (principal, action, resource)\n"
    "unless { context.cost_usd.lessThan(decimal(\"5.00\")) };\n"
    "@id(\"shell\") @on_deny(\"ask\") @reason(\"the shell needs approval\")\n"
    "forbid (principal, action == Action::\"call_tool\", resource == Tool::\"shell\")\n"
    "unless { context.approved || principal.trust >= 3 };\n";

static const char tool_policies[] =
    "@id(\"base\") permit (principal, action, resource);\n"
    "@id(\"limit.cost\") forbid (principal, action, resource)\n"
    "unless { context.cost_usd.lessThan(decimal(\"5.00\")) };\n"
    "@id(\"paths\") forbid (principal, action == Action::\"call_tool\", resource)\n"
    "when { context.input has path && !(context.input.path like \"/srv/*/src/*\") };\n"
    "@id(\"modes\") forbid (principal in Group::\"interns\", action == Action::\"call_tool\",\n"
    "resource == Tool::\"write_file\") when { context.input.mode == \"truncate\" };\n"
    "@id(\"shell\") @on_deny(\"ask\") @reason(\"the shell needs approval\")\n"
    "forbid (principal, action == Action::\"call_tool\", resource == Tool::\"shell\")\n"
    "unless { context.approved || principal.trust >= 3 };\n";

static const char entities[] =
    "[{\"uid\":{\"type\":\"Agent\",\"id\":\"fixer\"},"
    "\"attrs\":{\"max_iterations\":250,\"trust\":1,\"environment\":\"staging\"},"
    "\"parents\":[{\"type\":\"Group\",\"id\":\"interns\"}]},"
    "{\"uid\":{\"type\":\"Group\",\"id\":\"interns\"},\"attrs\":{},\"parents\":[]},"
    "{\"uid\":{\"type\":\"Tool\",\"id\":\"write_file\"},"
    "\"attrs\":{\"server\":\"\",\"read_only\":false},\"parents\":[]},"
    "{\"uid\":{\"type\":\"Run\",\"id\":\"r-1\"},\"attrs\":{"
    "\"agent\":{\"__entity\":{\"type\":\"Agent\",\"id\":\"fixer\"}},"
    "\"kind\":\"command\",\"workspace\":\"/srv\"},\"parents\":[]}]";

static const char tool_input[] =
    "{\"path\":\"/srv/project/src/base/arena.c\",\"mode\":\"append\",\"bytes\":512}";

struct cedar_policies *decisions_parse(const char *text)
{
    struct rondo_error err = {0};
    struct cedar_builder *builder = cedar_builder_new(CEDAR_ANNOTATION_IDS);
    if (cedar_builder_add(builder, "bench", text, strlen(text), NULL, &err) < 0) {
        bench_die("%s", err.message);
    }
    return cedar_builder_finish(builder);
}

static struct cedar_uid *uid(const char *type, const char *id)
{
    struct rondo_error err = {0};
    struct cedar_uid *made = cedar_uid_new(type, id, &err);
    if (made == NULL) {
        bench_die("%s", err.message);
    }
    return made;
}

static void set_json(struct cedar_context *context, enum vocabulary_context attribute,
                     const char *json)
{
    struct rondo_error err = {0};
    if (cedar_context_set_json(context, attribute, json, strlen(json), &err) < 0) {
        bench_die("%s", err.message);
    }
}

static struct cedar_context *new_context(const char *input)
{
    const char *names[VOCABULARY_CONTEXT_COUNT];
    for (size_t i = 0; i < ATTRIBUTES; i++) {
        names[i] = vocabulary_context_name((enum vocabulary_context)i);
    }
    struct cedar_context *context = cedar_context_new(names, ATTRIBUTES);
    for (size_t i = CONTEXT_ITERATION; i <= CONTEXT_CONDITIONS_TOTAL; i++) {
        cedar_context_set(context, i, cedar_long(7));
    }
    cedar_context_set(context, CONTEXT_COST_USD, cedar_decimal(12500));
    cedar_context_set(context, CONTEXT_APPROVED, cedar_bool(false));
    cedar_context_set(context, CONTEXT_NOW, cedar_datetime(INT64_C(1767225600000)));
    cedar_context_set(context, CONTEXT_WEEKDAY, cedar_long(4));
    set_json(context, CONTEXT_SYSTEM,
             "{\"now\":{\"__extn\":{\"fn\":\"datetime\",\"arg\":\"2026-01-01\"}}}");
    set_json(context, CONTEXT_INPUT, input);
    return context;
}

static void begin(struct decisions *decisions, enum vocabulary_action action, const char *resource,
                  const char *input)
{
    struct rondo_error err = {0};
    decisions->entities = cedar_entities_parse(entities, sizeof(entities) - 1, NULL, &err);
    if (decisions->entities == NULL) {
        bench_die("%s", err.message);
    }
    decisions->context = new_context(input);
    decisions->principal = uid("Agent", "fixer");
    decisions->action = uid("Action", vocabulary_action_name(action));
    decisions->resource = uid(vocabulary_action_resource(action), resource);
    decisions->evaluator = cedar_evaluator_new();
}

static void take_text(struct decisions *decisions, char *text)
{
    decisions->text = text;
    decisions->policies = decisions_parse(text);
}

void decisions_iterate(struct decisions *ret_decisions)
{
    begin(ret_decisions, ACTION_ITERATE, "r-1", "{\"iteration\":7}");
    take_text(ret_decisions, memory_dup_string(iterate_policies));
}

void decisions_call_tool(struct decisions *ret_decisions)
{
    begin(ret_decisions, ACTION_CALL_TOOL, "write_file", tool_input);
    take_text(ret_decisions, memory_dup_string(tool_policies));
}

/** One policy among many, of a kind that its number chooses. */
static int write_policy(char *text, size_t size, size_t number)
{
    static const char *const forms[] = {
        "@id(\"n%zu\") forbid (principal == Agent::\"n%zu\", action == Action::\"iterate\", "
        "resource) unless { context.iteration < 100 };\n",
        "@id(\"n%zu\") permit (principal, action == Action::\"call_tool\", "
        "resource == Tool::\"n%zu\") when { principal.trust > 1 };\n",
        "@id(\"n%zu\") forbid (principal in Group::\"n%zu\", action == Action::\"iterate\", "
        "resource) when { context.cost_usd.greaterThan(decimal(\"2.50\")) };\n",
    };
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    return snprintf(text, size, forms[number % 3], number, number);
#pragma GCC diagnostic pop
}

char *decisions_text(size_t count)
{
    size_t size = sizeof(iterate_policies) + count * 160;
    char *text = memory_new(size);
    memcpy(text, iterate_policies, sizeof(iterate_policies));
    size_t len = sizeof(iterate_policies) - 1;
    for (size_t i = 5; i < count; i++) {
        len += (size_t)write_policy(text + len, size - len, i);
    }
    return text;
}

void decisions_among(struct decisions *ret_decisions, size_t count)
{
    begin(ret_decisions, ACTION_ITERATE, "r-1", "{\"iteration\":7}");
    take_text(ret_decisions, decisions_text(count));
}

void decisions_fini(struct decisions *decisions)
{
    free(decisions->text);
    cedar_policies_unref(decisions->policies);
    cedar_entities_free(decisions->entities);
    cedar_context_free(decisions->context);
    cedar_uid_free(decisions->principal);
    cedar_uid_free(decisions->action);
    cedar_uid_free(decisions->resource);
    cedar_evaluator_free(decisions->evaluator);
    *decisions = (struct decisions){0};
}

static void write_uid(struct json_writer *writer, const char *key, const struct cedar_uid *uid)
{
    json_begin_object(writer, key);
    json_write_string(writer, "type", cedar_uid_type(uid));
    json_write_string(writer, "id", cedar_uid_id(uid, NULL));
    json_end_object(writer);
}

void decisions_write(const struct decisions *decisions, struct buf *ret_json)
{
    const struct cedar_record *record = &decisions->context->record;
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "policies", decisions->text);
    json_write_raw(&writer, "entities", entities);
    write_uid(&writer, "principal", decisions->principal);
    write_uid(&writer, "action", decisions->action);
    write_uid(&writer, "resource", decisions->resource);
    cedar_value_write_json(cedar_object(CEDAR_RECORD, record), "context", &writer);
    json_end_object(&writer);
}

double decisions_ns(struct decisions *decisions, size_t count)
{
    const struct cedar_request request = {
        .principal = decisions->principal,
        .action = decisions->action,
        .resource = decisions->resource,
        .context = decisions->context,
        .entities = decisions->entities,
    };
    size_t allowed = 0;
    double began = now_us();
    for (size_t i = 0; i < count; i++) {
        struct cedar_answer answer;
        cedar_context_set(decisions->context, CONTEXT_ITERATION, cedar_long((int64_t)(i % 100)));
        cedar_authorize(decisions->evaluator, decisions->policies, &request, &answer);
        allowed += answer.is_allowed;
    }
    double ns = (now_us() - began) * 1e3 / (double)count;
    if (allowed != count) {
        bench_die("%zu of %zu decisions were denials", count - allowed, count);
    }
    return ns;
}

static __attribute__((noinline)) void do_nothing(size_t number)
{
    __asm__ volatile("" : : "r"(number));
}

double decisions_empty_call_ns(size_t count)
{
    double began = now_us();
    for (size_t i = 0; i < count; i++) {
        do_nothing(i);
    }
    return (now_us() - began) * 1e3 / (double)count;
}
