// SPDX-License-Identifier: Apache-2.0
/* rondo policy explain: why the policies allow or deny something. */
#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "cli/commands/policy/commands.h"
#include "cli/commands/policy/explanation_text.h"
#include "cli/commands/policy/source.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "loop/policy_request.h"
#include "os/file_untrusted.h"
#include "store/find.h"

#include <stdlib.h>
#include <string.h>

struct explain_values {
    char *agent;
    int64_t action;
    char *tool;
    char *model;
    char *condition;
    char *context;
    char *run;
    int64_t shows_all;
    char *store;
    int64_t wants_json;
    int64_t no_colour;
    int64_t needs_confirmation;
};

static const struct option_choice actions[] = {
    {"iterate", ACTION_ITERATE},
    {"call_model", ACTION_CALL_MODEL},
    {"call_tool", ACTION_CALL_TOOL},
    {"remember", ACTION_REMEMBER},
    {"recall", ACTION_RECALL},
    {"verify", ACTION_VERIFY},
    {"checkpoint", ACTION_CHECKPOINT},
    {"finish", ACTION_FINISH},
    {0},
};

const struct option_row policy_explain_options[] = {
    {.name = "agent",
     .letter = 'a',
     .kind = OPTION_TEXT,
     .offset = offsetof(struct explain_values, agent),
     .argument = "ID",
     .by_default = REQUEST_AGENT ", or that of --run",
     .help = "The agent",
     .group = "The request"},
    {.name = "action",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct explain_values, action),
     .choices = actions,
     .argument = "ACTION",
     .by_default = "iterate, or the action of the options below",
     .help = "iterate, call_model, call_tool, remember, recall, verify, checkpoint or finish"},
    {.name = "tool",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct explain_values, tool),
     .argument = "NAME",
     .help = "The tool to call"},
    {.name = "needs-confirmation",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct explain_values, needs_confirmation),
     .help = "The role wants each call of the tool confirmed, as it does of shell and python"},
    {.name = "model",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct explain_values, model),
     .argument = "NAME",
     .help = "The model to call"},
    {.name = "condition",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct explain_values, condition),
     .argument = "NAME",
     .help = "The exit condition to verify",
     .completes = COMPLETE_CONDITION},
    {.name = "context",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct explain_values, context),
     .argument = "JSON|@FILE",
     .by_default = "a new run, now",
     .help = "The rest of the context, such as {\"iteration\":100, \"cost_usd\":\"4.50\"}; "
             "docs/policies.md lists the names",
     .completes = COMPLETE_FILE},
    {.name = "run",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct explain_values, run),
     .argument = "RUN",
     .help = "Use the agent, options, counters and policies of this run",
     .completes = COMPLETE_RUN},
    {.name = "all",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct explain_values, shows_all),
     .help = "Also show policies that do not apply",
     .group = "Output"},
    OPTION_ROW_STORE(struct explain_values),
    OPTION_ROW_JSON(struct explain_values, "As one JSON object"),
    OPTION_ROW_NO_COLOUR(struct explain_values),
    {0},
};

/** One invocation. */
struct explain_command {
    const struct explain_values *values;
    struct written_request written;
    struct policy_resource tool; /**< of --needs-confirmation */
    char *path;                  /**< of the policies; NULL = the store's */
};

static int take_run(struct explain_command *asking, struct rondo_error *err)
{
    struct session session;
    struct session_options options = {.store = asking->values->store, .access = STORE_READING};
    int r = session_open(&options, &session, err);
    if (r < 0) {
        return r;
    }
    struct store_run run;
    struct summary summary;
    r = store_find_run(session.store, asking->values->run, NULL, &run, err);
    if (r == 0) {
        r = summary_load(session.store, run.id, &summary, err);
    }
    if (r == 0) {
        loop_write_request(&summary, &asking->written);
        if (asking->path == NULL) {
            asking->path = memory_dup_string(summary.spec.policy);
        }
        summary_fini(&summary);
    }
    session_close(&session);
    return r;
}

static int take_context(struct explain_command *asking, struct rondo_error *err)
{
    const char *given = asking->values->context;
    auto_buf struct buf text = {0};
    auto_json struct json_object *context = NULL;
    int r = 0;
    if (given[0] == '@') {
        r = file_read_named(NULL, given + 1, LIMIT_MIB, &text, err);
    } else {
        buf_append_string(&text, given);
    }
    if (r == 0) {
        r = json_parse(buf_string(&text), text.len, &context, err);
    }
    if (r == 0) {
        return written_request_read_context(&asking->written, context, err);
    }
    auto_buf struct buf reason = {0};
    buf_append_string(&reason, err->message);
    return error_set(err, r, "--context: %s; give an object such as {\"iteration\":100}, or @FILE",
                     buf_string(&reason));
}

static void take_texts(struct explain_command *asking)
{
    const struct explain_values *values = asking->values;
    struct written_request *written = &asking->written;
    if (values->agent != NULL) {
        written_request_set_text(&written->run.agent_id, values->agent);
    }
    written_request_set_text(&written->tool, values->tool);
    written_request_set_text(&written->model, values->model);
    written_request_set_text(&written->request.condition, values->condition);
}

/** Attributes of tools are known in runs alone, but for this one. */
static int take_confirmation(struct explain_command *asking, struct rondo_error *err)
{
    if (asking->values->needs_confirmation == 0) {
        return 0;
    }
    if (asking->values->tool == NULL) {
        return error_set(err, RONDO_ERR_INVALID, "--needs-confirmation is about a --tool");
    }
    asking->tool = (struct policy_resource){.action = ACTION_CALL_TOOL,
                                            .id = asking->values->tool,
                                            .origin = "",
                                            .needs_confirmation = true};
    asking->written.run.resources = &asking->tool;
    asking->written.run.resource_count = 1;
    return 0;
}

static int make_request(struct explain_command *asking, bool has_action, struct rondo_error *err)
{
    const struct explain_values *values = asking->values;
    int r = values->run == NULL ? 0 : take_run(asking, err);
    if (r < 0) {
        return r;
    }
    take_texts(asking);
    asking->written.has_action = has_action;
    asking->written.request.action = (enum vocabulary_action)values->action;
    r = values->context == NULL ? 0 : take_context(asking, err);
    r = r < 0 ? r : written_request_finish(&asking->written, err);
    return r < 0 ? r : take_confirmation(asking, err);
}

static int explain_request(struct explain_command *asking)
{
    const struct explain_values *values = asking->values;
    struct ruleset *ruleset = NULL;
    struct policy_explanation explanation;
    int exit_code = policy_require(asking->path, values->store, &ruleset);
    if (exit_code != EXIT_OK) {
        return exit_code;
    }
    policy_explanation_make(&asking->written, ruleset, &explanation);
    auto_buf struct buf out = {0};
    if (values->wants_json) {
        policy_explanation_json(&explanation, &out);
    } else {
        struct style style = style_for(stdout, values->no_colour != 0);
        policy_explanation_text(&explanation, &style, values->shows_all != 0, &out);
    }
    report_output(&out);
    exit_code = policy_explanation_exit_code(&explanation);
    policy_explanation_fini(&explanation);
    ruleset_unref(ruleset);
    return exit_code;
}

int cmd_policy_explain(const struct invocation *invocation)
{
    struct explain_values values = {0};
    struct option_set set = {.rows = policy_explain_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 1);
    int exit_code = parsed.exit_code;
    if (!parsed.is_over) {
        struct rondo_error err = {0};
        struct explain_command asking = {.values = &values};
        asking.path = memory_dup_string(parsed.argc > 0 ? parsed.argv[0] : NULL);
        written_request_init(&asking.written, clock_now(clock_system()));
        int r = make_request(&asking, option_is_given(&set, "action"), &err);
        exit_code =
            r < 0 ? report_error_as(&err, values.wants_json != 0) : explain_request(&asking);
        written_request_fini(&asking.written);
        free(asking.path);
    }
    option_set_fini(&set);
    return exit_code;
}
