// SPDX-License-Identifier: Apache-2.0
/* The table of the commands of `rondo sinks`, and the short ones among them. */
#include "alert/sink.h"
#include "base/json/json.h"
#include "cli/commands/sinks/commands.h"
#include "cli/framework/common_options.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"

#include <stdio.h>

const struct command sinks_commands[] = {
    {
        .name = "sinks add",
        .synopsis = "[OPTION...] NAME [-- COMMAND [ARG...]]",
        .help = "Add or replace a destination for warnings",
        .description =
            "Adds a sink, or replaces the one with that name. A webhook gets signed JSON (Standard "
            "Webhooks); its secret is generated and shown only once, on the standard output. A "
            "Slack-compatible address gets a line of text. A command gets the JSON on its standard "
            "input and RONDO_WARNING_KIND, _RUN, _AGENT, _MESSAGE, _CURRENT, _LIMIT and _REMAINING "
            "in its environment.\n\n"
            "With - as URL, the address is read from the standard input and so does not appear in "
            "process lists. `rondo serve` and `rondo daemon` deliver the warnings.",
        .examples =
            "rondo sinks add ops --webhook https://ops.example.org/rondo\tall warnings\n"
            "rondo sinks add chat --slack - --kinds ended,stalled <address\tsome kinds\n"
            "rondo sinks add page --command --agents fixer -- notify-send Rondo\tof one agent",
        .options = sinks_add_options,
        .run = cmd_sinks_add,
    },
    {
        .name = "sinks list",
        .synopsis = "[OPTION...]",
        .help = "List sinks",
        .description =
            "Lists the destinations of warnings. Only scheme and host of addresses are shown.",
        .options = sinks_list_options,
        .run = cmd_sinks_list,
    },
    {
        .name = "sinks remove",
        .synopsis = "[OPTION...] NAME",
        .help = "Remove a sink",
        .description = "Removes a sink. Pending deliveries to it are dropped when they are due.",
        .options = sinks_change_options,
        .run = cmd_sinks_remove,
    },
    {
        .name = "sinks test",
        .synopsis = "[OPTION...] NAME",
        .help = "Send a warning of kind test to a sink",
        .description = "Queues a warning of kind `test` for one sink. `rondo serve` or `rondo "
                       "daemon` on this store delivers it, at once or as soon as it runs.",
        .options = sinks_change_options,
        .run = cmd_sinks_test,
    },
    {
        .name = "sinks deliveries",
        .synopsis = "[OPTION...]",
        .help = "List pending deliveries or dead letters",
        .description =
            "Lists deliveries that wait for their first or next attempt, the next one first. With "
            "--dead, lists dead letters, deliveries that failed eight times, newest first.",
        .examples = "rondo sinks deliveries --dead\tlist dead letters",
        .options = sinks_deliveries_options,
        .run = cmd_sinks_deliveries,
    },
    {
        .name = "sinks retry",
        .synopsis = "[OPTION...] ID",
        .help = "Retry a dead letter",
        .description = "Puts a delivery listed by `rondo sinks deliveries --dead` back into the "
                       "queue, with the full number of attempts.",
        .options = sinks_change_options,
        .run = cmd_sinks_retry,
    },
    {0},
};

struct change_values {
    int64_t wants_json;
    char *store;
};

const struct option_row sinks_change_options[] = {
    OPTION_ROW_STORE(struct change_values),
    OPTION_ROW_JSON(struct change_values, "The outcome as JSON"),
    {0},
};

/** A command that does something with the store and its one word. */
struct sink_operation {
    int (*fn)(struct store *store, const char *word, struct rondo_error *err);
    const char *member; /* what the word is, in JSON */
    const char *outcome;
    const char *said; /* for people */
};

static void print_change(const struct sink_operation *change, const char *word)
{
    auto_buf struct buf out = {0};
    struct json_writer writer = json_writer(&out);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, change->member, word);
    json_write_string(&writer, "outcome", change->outcome);
    json_end_object(&writer);
    buf_append_string(&out, "\n");
    report_output(&out);
}

static int apply(const struct sink_operation *change, const struct change_values *values,
                 const char *word)
{
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = values->store};
    int r = session_open(&options, &session, &err);
    if (r == 0) {
        r = change->fn(session.store, word, &err);
        session_close(&session);
    }
    if (r < 0) {
        return report_error_as(&err, values->wants_json != 0);
    }
    if (values->wants_json) {
        print_change(change, word);
    } else {
        fprintf(stderr, "%s\n", change->said);
    }
    return 0;
}

static int run(const struct invocation *invocation, const struct sink_operation *change)
{
    struct change_values values = {0};
    struct option_set set = {.rows = sinks_change_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    if (!parsed.is_over) {
        parsed.exit_code = apply(change, &values, parsed.argv[0]);
    }
    option_set_fini(&set);
    return parsed.exit_code;
}

int cmd_sinks_remove(const struct invocation *invocation)
{
    static const struct sink_operation change = {sink_remove, "name", "removed", "removed"};
    return run(invocation, &change);
}

int cmd_sinks_test(const struct invocation *invocation)
{
    static const struct sink_operation change = {
        sink_test, "name", "queued",
        "queued: the server on this store delivers it, at once or when it is started"};
    return run(invocation, &change);
}

int cmd_sinks_retry(const struct invocation *invocation)
{
    static const struct sink_operation change = {
        sink_redeliver, "id", "queued",
        "queued: the server on this store attempts it, at once or when it is started"};
    return run(invocation, &change);
}
