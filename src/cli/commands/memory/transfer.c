// SPDX-License-Identifier: Apache-2.0
/* rondo memory export and rondo memory import. */
#include "base/text/redact.h"
#include "cli/commands/memory/commands.h"
#include "cli/framework/common_options.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "memory/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/** Bytes that are written at a time. */
#define FLUSH_BYTES (1024 * 1024)

struct memory_transfer_values {
    char *agent;
    int64_t kind;
    char *store;
    int64_t wants_json;
};

const struct option_row memory_export_options[] = {
    {.name = "agent",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct memory_transfer_values, agent),
     .argument = "NAME",
     .help = "Only memories of this agent",
     .group = "Selection"},
    {.name = "kind",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct memory_transfer_values, kind),
     .choices = memory_kind_choices,
     .help = "Only memories of this kind"},
    OPTION_ROW_STORE(struct memory_transfer_values),
    {0},
};

const struct option_row memory_import_options[] = {
    {.name = "agent",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct memory_transfer_values, agent),
     .argument = "NAME",
     .by_default = "the agents in the file",
     .help = "Import the memories for this agent",
     .group = "Import"},
    OPTION_ROW_STORE(struct memory_transfer_values),
    OPTION_ROW_JSON(struct memory_transfer_values, "The counts as a JSON object"),
    {0},
};

static bool write_memory(const struct store_memory *memory, void *context)
{
    struct buf *out = context;
    memories_write_json(memory, -1, out);
    buf_append_string(out, "\n");
    if (out->len >= FLUSH_BYTES) {
        report_output(out);
        buf_clear(out);
    }
    return true;
}

static int run_export(const struct memory_transfer_values *values)
{
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = values->store, .access = STORE_READING};
    auto_buf struct buf out = {0};
    const struct store_memory_query query = {
        .owner = values->agent,
        .kinds = memory_kind_bits(values->kind),
        .is_oldest_first = true,
    };
    int r = session_open(&options, &session, &err);
    if (r == 0) {
        r = session.store->ops->read_memories(session.store, &query, write_memory, &out, &err);
        session_close(&session);
    }
    report_output(&out);
    return r < 0 ? report_error(&err) : 0;
}

int cmd_memory_export(const struct invocation *invocation)
{
    struct memory_transfer_values values = {0};
    struct option_set set = {.rows = memory_export_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 0);
    int exit_code = parsed.is_over ? parsed.exit_code : run_export(&values);
    option_set_fini(&set);
    return exit_code;
}

static void print_imported(const struct memories_imported *imported, bool wants_json)
{
    if (!wants_json) {
        fprintf(stderr,
                "imported %" PRIu64 ", skipped %" PRIu64 " already known and %" PRIu64
                " unusable\n",
                imported->added, imported->known, imported->refused);
        return;
    }
    auto_buf struct buf out = {0};
    buf_printf(&out, "{\"added\":%" PRIu64 ",\"known\":%" PRIu64 ",\"refused\":%" PRIu64 "}\n",
               imported->added, imported->known, imported->refused);
    report_output(&out);
}

static int run_import(const struct memory_transfer_values *values, const char *path)
{
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = values->store, .access = STORE_CREATING};
    struct memories_imported imported = {0};
    int r = session_open(&options, &session, &err);
    if (r == 0) {
        struct redact *redact = redact_new((const char *const *)environ);
        r = memories_import(session.store, redact, path, values->agent, &imported, &err);
        redact_free(redact);
        session_close(&session);
    }
    if (r < 0) {
        return report_error_as(&err, values->wants_json != 0);
    }
    print_imported(&imported, values->wants_json != 0);
    return 0;
}

int cmd_memory_import(const struct invocation *invocation)
{
    struct memory_transfer_values values = {0};
    struct option_set set = {.rows = memory_import_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    int exit_code = parsed.is_over ? parsed.exit_code : run_import(&values, parsed.argv[0]);
    option_set_fini(&set);
    return exit_code;
}
