// SPDX-License-Identifier: Apache-2.0
/* Specs of runs: defaults, checks, copies. Plain values; no threads. */
#include "loop/spec.h"

#include "base/ascii.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text/labels.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct loop_spec loop_spec_default(void)
{
    return (struct loop_spec){
        .checkpoint_interval = 1,
        .max_failures = LOOP_DEFAULT_MAX_FAILURES,
        .verifier_tier = SANDBOX_NAMESPACE,
        .worker_tier = SANDBOX_NONE,
    };
}

char *loop_spec_agent_of(const char *command)
{
    const char *slash = strrchr(command, '/');
    char *id = memory_dup_string(slash == NULL || slash[1] == '\0' ? command : slash + 1);
    size_t len = strlen(id);
    for (size_t i = 0; i < len; i++) {
        bool is_plain = ascii_is_letter_or_digit(id[i]) || strchr("-_.", id[i]) != NULL;
        bool is_first = i == 0 && (id[i] == '.' || id[i] == '-');
        id[i] = is_plain && !is_first ? id[i] : '_';
    }
    if (len > LIMIT_AGENT_ID_LEN) {
        id[LIMIT_AGENT_ID_LEN] = '\0';
    }
    return id;
}

void loop_spec_drop_conditions(struct loop_spec *spec)
{
    for (size_t i = 0; i < spec->condition_count; i++) {
        free(spec->conditions[i].name);
        free(spec->conditions[i].command);
        free(spec->conditions[i].origin);
        free(spec->conditions[i].tool);
        free(spec->conditions[i].server);
        free(spec->conditions[i].arguments);
    }
    free(spec->conditions);
    spec->conditions = NULL;
    spec->condition_count = 0;
}

void loop_spec_fini(struct loop_spec *spec)
{
    free(spec->agent_id);
    free(spec->kind);
    free(spec->workspace);
    free(spec->policy);
    free(spec->pool);
    free(spec->prompt);
    free(spec->agent);
    free(spec->coding);
    free(spec->work);
    free(spec->origin);
    memory_free_list(spec->command);
    loop_spec_drop_conditions(spec);
    memory_free_list(spec->read_paths);
    memory_free_list(spec->write_paths);
    memory_free_list(spec->env_names);
    memory_free_list(spec->denied_env);
    *spec = (struct loop_spec){0};
}

/** Append a copy of a condition. */
static void append_condition(struct loop_spec *spec, const struct loop_condition *condition)
{
    spec->conditions =
        memory_resize(spec->conditions, spec->condition_count + 1, sizeof(*spec->conditions));
    spec->conditions[spec->condition_count++] = (struct loop_condition){
        .name = memory_dup_string(condition->name),
        .command = memory_dup_string(condition->command),
        .origin = memory_dup_string(condition->origin),
        .tool = memory_dup_string(condition->tool),
        .server = memory_dup_string(condition->server),
        .arguments = memory_dup_string(condition->arguments),
        .timeout_ns =
            condition->timeout_ns > 0 ? condition->timeout_ns : LOOP_DEFAULT_VERIFY_TIMEOUT_NS,
    };
}

struct loop_spec loop_spec_dup(const struct loop_spec *spec)
{
    struct loop_spec copy = *spec;
    copy.agent_id = memory_dup_string(spec->agent_id);
    copy.kind = memory_dup_string(spec->kind);
    copy.workspace = memory_dup_string(spec->workspace);
    copy.policy = memory_dup_string(spec->policy);
    copy.pool = memory_dup_string(spec->pool);
    copy.prompt = memory_dup_string(spec->prompt);
    copy.agent = memory_dup_string(spec->agent);
    copy.coding = memory_dup_string(spec->coding);
    copy.work = memory_dup_string(spec->work);
    copy.origin = memory_dup_string(spec->origin);
    copy.command = memory_dup_list((const char *const *)spec->command);
    copy.read_paths = memory_dup_list((const char *const *)spec->read_paths);
    copy.write_paths = memory_dup_list((const char *const *)spec->write_paths);
    copy.env_names = memory_dup_list((const char *const *)spec->env_names);
    copy.denied_env = memory_dup_list((const char *const *)spec->denied_env);
    copy.conditions = NULL;
    copy.condition_count = 0;
    for (size_t i = 0; i < spec->condition_count; i++) {
        append_condition(&copy, &spec->conditions[i]);
    }
    return copy;
}

/** Names are used in JSON keys, options and file names: letters, digits and - _ . only. */
static bool is_plain_name(const char *name, size_t limit)
{
    size_t len = strlen(name);
    if (len == 0 || len > limit || name[0] == '.' || name[0] == '-') {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        if (!ascii_is_letter_or_digit(name[i]) && strchr("-_.", name[i]) == NULL) {
            return false;
        }
    }
    return true;
}

/** Whether another condition of that name can be added. */
static int check_new_condition(const struct loop_spec *spec, const char *name,
                               struct rondo_error *err)
{
    if (!is_plain_name(name, LIMIT_CONDITION_NAME_LEN)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "'%s' is not a name for an exit condition; use up to %d letters, digits, "
                         "'-', '_' and '.'",
                         name, LIMIT_CONDITION_NAME_LEN);
    }
    for (size_t i = 0; i < spec->condition_count; i++) {
        if (strcmp(spec->conditions[i].name, name) == 0) {
            return error_set(err, RONDO_ERR_INVALID, "exit condition %s is given twice", name);
        }
    }
    if (spec->condition_count == LIMIT_CONDITIONS) {
        return error_set(err, RONDO_ERR_LIMIT, "a run takes at most %d exit conditions",
                         LIMIT_CONDITIONS);
    }
    return 0;
}

int loop_spec_add_condition(struct loop_spec *spec, const char *name, const char *command,
                            const char *origin, int64_t timeout_ns, struct rondo_error *err)
{
    int r = check_new_condition(spec, name, err);
    if (r < 0) {
        return r;
    }
    if (command == NULL || command[0] == '\0' || strlen(command) > LIMIT_COMMAND_BYTES) {
        return error_set(err, RONDO_ERR_INVALID,
                         "exit condition %s needs a command of 1 to %ld bytes", name,
                         LIMIT_COMMAND_BYTES);
    }
    append_condition(spec, &(struct loop_condition){.name = (char *)name,
                                                    .command = (char *)command,
                                                    .origin = (char *)origin,
                                                    .timeout_ns = timeout_ns});
    return 0;
}

int loop_spec_add_tool_condition(struct loop_spec *spec, const char *name, const char *tool,
                                 const char *server, const char *arguments, int64_t timeout_ns,
                                 struct rondo_error *err)
{
    int r = check_new_condition(spec, name, err);
    if (r < 0) {
        return r;
    }
    const char *given = arguments == NULL ? "{}" : arguments;
    if (strlen(tool) + strlen(given) > LIMIT_COMMAND_BYTES) {
        return error_set(err, RONDO_ERR_LIMIT,
                         "exit condition %s: the call takes more than %ld bytes", name,
                         LIMIT_COMMAND_BYTES);
    }
    auto_buf struct buf call = {0};
    buf_printf(&call, "%s%s%s %s", server == NULL ? "" : server, server == NULL ? "" : "/", tool,
               given);
    append_condition(spec, &(struct loop_condition){.name = (char *)name,
                                                    .command = call.data,
                                                    .origin = (char *)"tool",
                                                    .tool = (char *)tool,
                                                    .server = (char *)server,
                                                    .arguments = (char *)given,
                                                    .timeout_ns = timeout_ns});
    return 0;
}

static const struct {
    const char *option;
    size_t offset;
    int64_t low, high;
} ranges[] = {
    {"max-iterations", offsetof(struct loop_spec, max_iterations), 0, LIMIT_MAX_ITERATIONS},
    {"max-tokens", offsetof(struct loop_spec, max_tokens), 0, INT64_MAX / 2},
    {"max-cost", offsetof(struct loop_spec, max_cost_micro), 0, INT64_MAX / 2},
    {"time-limit", offsetof(struct loop_spec, time_limit_ns), 0, LIMIT_DURATION_NS},
    {"iteration-timeout", offsetof(struct loop_spec, iteration_timeout_ns), 0, LIMIT_DURATION_NS},
    {"first-output-timeout", offsetof(struct loop_spec, first_output_ns), 0, LIMIT_DURATION_NS},
    {"silence-timeout", offsetof(struct loop_spec, silence_ns), 0, LIMIT_DURATION_NS},
    {"delay", offsetof(struct loop_spec, delay_ns), 0, LIMIT_DURATION_NS},
    {"checkpoint-interval", offsetof(struct loop_spec, checkpoint_interval), 1,
     LIMIT_MAX_ITERATIONS},
    {"max-failures", offsetof(struct loop_spec, max_failures), 1, LIMIT_MAX_ITERATIONS},
    {"durability", offsetof(struct loop_spec, durability), 0, DURABILITY_BEST_EFFORT},
    {"on-corrupt", offsetof(struct loop_spec, on_corrupt), 0, ON_CORRUPT_FAIL},
    {"exclusive", offsetof(struct loop_spec, is_exclusive), 0, 1},
    {"sandbox", offsetof(struct loop_spec, verifier_tier), 0, SANDBOX_TIER_COUNT - 1},
    {"sandbox", offsetof(struct loop_spec, worker_tier), 0, SANDBOX_TIER_COUNT - 1},
    {"sandbox-network", offsetof(struct loop_spec, allow_network), 0, 1},
};

/** Whether an entry of env_names, which may end with *, passes a variable. */
static bool passes(const char *entry, const char *name)
{
    size_t len = strlen(entry);
    return len > 0 && entry[len - 1] == '*' ? strncmp(entry, name, len - 1) == 0
                                            : strcmp(entry, name) == 0;
}

static int check_environment(const struct loop_spec *spec, struct rondo_error *err)
{
    for (char **entry = spec->env_names; entry != NULL && *entry != NULL; entry++) {
        for (char **name = spec->denied_env; name != NULL && *name != NULL; name++) {
            if (passes(*entry, *name)) {
                return error_set(err, RONDO_ERR_INVALID,
                                 "--sandbox-env %.64s passes %.64s, which this run's processes "
                                 "must not have",
                                 *entry, *name);
            }
        }
    }
    return 0;
}

int loop_spec_check(const struct loop_spec *spec, struct rondo_error *err)
{
    if (spec->agent_id == NULL || !is_plain_name(spec->agent_id, LIMIT_AGENT_ID_LEN)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "'%s' is not an agent id; use up to %d letters, digits, '-', '_' and '.'",
                         spec->agent_id == NULL ? "" : spec->agent_id, LIMIT_AGENT_ID_LEN);
    }
    if (spec->kind == NULL || spec->workspace == NULL || spec->workspace[0] != '/') {
        return error_set(err, RONDO_ERR_INVALID, "the workspace must be an absolute path");
    }
    if (spec->prompt != NULL && strlen(spec->prompt) > LIMIT_PROMPT_BYTES) {
        return error_set(err, RONDO_ERR_LIMIT, "the prompt is longer than %ld bytes",
                         LIMIT_PROMPT_BYTES);
    }
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        int64_t number;
        memcpy(&number, (const char *)spec + ranges[i].offset, sizeof(number));
        if (number < ranges[i].low || number > ranges[i].high) {
            return error_set(err, RONDO_ERR_INVALID,
                             "%s is %" PRId64 ", which is not between %" PRId64 " and %" PRId64,
                             ranges[i].option, number, ranges[i].low, ranges[i].high);
        }
    }
    int r = labels_check(spec->pool, "pool", err);
    return r < 0 ? r : check_environment(spec, err);
}
