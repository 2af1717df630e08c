// SPDX-License-Identifier: Apache-2.0
/* rondo memory add and rondo memory forget. */
#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/parse.h"
#include "base/text/redact.h"
#include "cli/commands/memory/commands.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "memory/memory.h"
#include "os/file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/** Ids on the command line. */
#define IDS_MAX 1000

struct memory_edit_values {
    char *agent;
    int64_t kind;
    char *category;
    int64_t is_all;
    char *store;
    int64_t wants_json;
};

const struct option_row memory_add_options[] = {
    {.name = "agent",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct memory_edit_values, agent),
     .argument = "NAME",
     .help = "The agent, or a shared store (shared:NAME); required",
     .group = "Memory"},
    {.name = "kind",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct memory_edit_values, kind),
     .by_default = "semantic",
     .choices = memory_kind_choices,
     .help = "What happened, a fact, or how something is done"},
    {.name = "category",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct memory_edit_values, category),
     .argument = "NAME",
     .by_default = "general",
     .help = "Category of the memory"},
    OPTION_ROW_STORE(struct memory_edit_values),
    OPTION_ROW_JSON(struct memory_edit_values, "The id as a JSON object"),
    {0},
};

const struct option_row memory_forget_options[] = {
    {.name = "all",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct memory_edit_values, is_all),
     .help = "All memories of the agent",
     .group = "Selection"},
    {.name = "agent",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct memory_edit_values, agent),
     .argument = "NAME",
     .help = "With --all: the agent"},
    {.name = "kind",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct memory_edit_values, kind),
     .choices = memory_kind_choices,
     .help = "With --all: only of this kind"},
    OPTION_ROW_STORE(struct memory_edit_values),
    OPTION_ROW_JSON(struct memory_edit_values, "The number of deleted memories as a JSON object"),
    {0},
};

/** The text as given, or the standard input. */
static int read_text(const char *given, struct buf *ret_text, struct rondo_error *err)
{
    if (strcmp(given, "-") != 0) {
        buf_append_string(ret_text, given);
        return 0;
    }
    return file_read_all(STDIN_FILENO, "the standard input", LIMIT_MEMORY_BYTES, ret_text, err);
}

static int add(const struct memory_edit_values *values, const char *given, int64_t *ret_id,
               struct rondo_error *err)
{
    struct session session;
    struct session_options options = {.store = values->store, .access = STORE_CREATING};
    auto_buf struct buf text = {0};
    int r = read_text(given, &text, err);
    if (r == 0) {
        r = session_open(&options, &session, err);
    }
    if (r < 0) {
        return r;
    }
    int64_t now_ns = clock_now(clock_system());
    struct redact *redact = redact_new((const char *const *)environ);
    const struct store_memory memory = {
        .owner = values->agent,
        .kind = (enum store_memory_kind)(values->kind - 1),
        .category = values->category,
        .content = buf_string(&text),
        .source = "rondo memory add",
        .created_ns = now_ns,
    };
    r = memories_add(session.store, redact, &memory, MEMORIES_KEPT, ret_id, err);
    redact_free(redact);
    session_close(&session);
    return r;
}

static int run_add(const struct memory_edit_values *values, const char *text)
{
    struct rondo_error err = {0};
    int64_t id = 0;
    if (add(values, text, &id, &err) < 0) {
        return report_error_as(&err, values->wants_json != 0);
    }
    auto_buf struct buf out = {0};
    buf_printf(&out, values->wants_json ? "{\"id\":%" PRId64 "}\n" : "%" PRId64 "\n", id);
    report_output(&out);
    return 0;
}

int cmd_memory_add(const struct invocation *invocation)
{
    struct memory_edit_values values = {.kind = STORE_SEMANTIC + 1};
    struct option_set set = {.rows = memory_add_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 1, 1);
    int exit_code = parsed.exit_code;
    if (!parsed.is_over) {
        exit_code = values.agent == NULL
                        ? command_misuse(invocation->command, "--agent is required")
                        : run_add(&values, parsed.argv[0]);
    }
    option_set_fini(&set);
    return exit_code;
}

/** Ids that are gathered. */
struct id_list {
    int64_t *ids;
    size_t count;
    size_t size;
};

static void append_id(struct id_list *list, int64_t id)
{
    if (list->count == list->size) {
        list->size = list->size == 0 ? 64 : list->size * 2;
        list->ids = memory_resize(list->ids, list->size, sizeof(*list->ids));
    }
    list->ids[list->count++] = id;
}

static bool gather_id(const struct store_memory *memory, void *context)
{
    append_id(context, memory->id);
    return true;
}

static int gather(struct store *store, const struct memory_edit_values *values, int argc,
                  char **argv, struct id_list *ids, struct rondo_error *err)
{
    const struct store_memory_query query = {
        .owner = values->agent,
        .kinds = memory_kind_bits(values->kind),
    };
    if (values->is_all) {
        return store->ops->read_memories(store, &query, gather_id, ids, err);
    }
    int r = 0;
    for (int i = 0; r == 0 && i < argc; i++) {
        int64_t id = 0;
        r = parse_int(argv[i], 1, INT64_MAX - 1, &id, err);
        append_id(ids, id);
    }
    return r;
}

static int run_forget(const struct memory_edit_values *values, int argc, char **argv)
{
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = values->store};
    struct id_list ids = {0};
    uint64_t count = 0;
    int r = session_open(&options, &session, &err);
    if (r == 0) {
        r = gather(session.store, values, argc, argv, &ids, &err);
        if (r == 0) {
            r = memories_forget(session.store, ids.ids, ids.count, &count, &err);
        }
        session_close(&session);
    }
    if (r == 0 && count == 0 && !values->is_all) {
        r = error_set(&err, RONDO_ERR_NOT_FOUND, "there is no memory %s", argv[0]);
    }
    free(ids.ids);
    if (r < 0) {
        return report_error_as(&err, values->wants_json != 0);
    }
    if (values->wants_json) {
        auto_buf struct buf out = {0};
        buf_printf(&out, "{\"forgotten\":%" PRIu64 "}\n", count);
        report_output(&out);
    } else {
        fprintf(stderr, "forgot %" PRIu64 " %s\n", count, count == 1 ? "memory" : "memories");
    }
    return 0;
}

int cmd_memory_forget(const struct invocation *invocation)
{
    struct memory_edit_values values = {0};
    struct option_set set = {.rows = memory_forget_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, IDS_MAX);
    int exit_code = parsed.exit_code;
    if (!parsed.is_over && (parsed.argc > 0) == (values.is_all != 0)) {
        exit_code = command_misuse(invocation->command, "expected ids, or --all");
    } else if (!parsed.is_over && values.is_all && values.agent == NULL) {
        exit_code = command_misuse(invocation->command, "--all requires --agent");
    } else if (!parsed.is_over && !values.is_all && (values.agent != NULL || values.kind != 0)) {
        exit_code = command_misuse(invocation->command, "--agent and --kind require --all");
    } else if (!parsed.is_over) {
        exit_code = run_forget(&values, parsed.argc, parsed.argv);
    }
    option_set_fini(&set);
    return exit_code;
}
