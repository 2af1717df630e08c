// SPDX-License-Identifier: Apache-2.0
/* rondo gc: delete old runs, old requests to people, old work items, and documents of agents
 * without runs. */
#include "issues/gc.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "cli/framework/command.h"
#include "cli/framework/common_options.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "cli/terminal/text.h"
#include "handoff/storage/sweep.h"
#include "tool/data/document_sweep.h"
#include "work/patches.h"

/** Age of the runs that go when none is given. */
#define DEFAULT_AGE_NS (30LL * 24 * 3600 * NS_PER_S)

struct gc_values {
    int64_t older_than_ns;
    int64_t is_dry_run;
    char *store;
    int64_t wants_json;
};

const struct option_row gc_options[] = {
    {.name = "older-than",
     .kind = OPTION_DURATION,
     .offset = offsetof(struct gc_values, older_than_ns),
     .argument = "DURATION",
     .by_default = "30d",
     .help = "Delete runs that ended, requests to people that were decided, and work items that "
             "were finished, longer ago than this",
     .group = "Selection"},
    {.name = "dry-run",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct gc_values, is_dry_run),
     .help = "Show what would be deleted, and delete nothing"},
    OPTION_ROW_STORE(struct gc_values),
    OPTION_ROW_JSON(struct gc_values, "As a JSON object"),
    {0},
};

/** Unused space that is reported, in bytes. */
#define SHOWN_UNUSED_BYTES (1024 * 1024)

static void print_space(const struct store_gc_result *result, struct buf *out)
{
    if (result->freed_bytes > 0) {
        buf_append_string(out, "the store shrank by ");
        text_bytes(result->freed_bytes, out);
        buf_append_string(out, "\n");
    }
    if (result->unused_bytes >= SHOWN_UNUSED_BYTES) {
        text_bytes(result->unused_bytes, out);
        buf_append_string(out, " of the store are unused; later runs reuse the space. To shrink "
                               "the file, run `rondo gc` while no run is active\n");
    }
}

/** What goes beside runs. */
struct swept {
    uint64_t documents; /**< pages and vectors */
    uint64_t handoffs;
    uint64_t patches; /**< of failed attempts at tasks */
    uint64_t items;   /**< of the work queue */
};

static void print_swept(uint64_t count, const char *what, bool is_dry_run, struct buf *out)
{
    if (count > 0) {
        buf_append_string(out, is_dry_run ? "would delete " : "deleted ");
        text_count((int64_t)count, out);
        buf_append_string(out, what);
    }
}

static void print_result(const struct store_gc_result *result, const struct swept *swept,
                         const struct gc_values *values)
{
    auto_buf struct buf out = {0};
    if (values->wants_json) {
        struct json_writer writer = json_writer(&out);
        json_begin_object(&writer, NULL);
        json_write_bool(&writer, "is_dry_run", values->is_dry_run != 0);
        json_write_int(&writer, "runs", (int64_t)result->runs);
        json_write_int(&writer, "events", (int64_t)result->events);
        json_write_int(&writer, "checkpoints", (int64_t)result->checkpoints);
        json_write_int(&writer, "documents", (int64_t)swept->documents);
        json_write_int(&writer, "handoffs", (int64_t)swept->handoffs);
        json_write_int(&writer, "patches", (int64_t)swept->patches);
        json_write_int(&writer, "work_items", (int64_t)swept->items);
        json_write_int(&writer, "freed_bytes", (int64_t)result->freed_bytes);
        json_write_int(&writer, "unused_bytes", (int64_t)result->unused_bytes);
        json_end_object(&writer);
        buf_append_string(&out, "\n");
    } else {
        buf_append_string(&out, values->is_dry_run ? "would delete " : "deleted ");
        text_count((int64_t)result->runs, &out);
        buf_append_string(&out, result->runs == 1 ? " run with " : " runs with ");
        text_count((int64_t)result->events, &out);
        buf_append_string(&out, " events and ");
        text_count((int64_t)result->checkpoints, &out);
        buf_append_string(&out, " checkpoints\n");
        bool is_dry_run = values->is_dry_run != 0;
        print_swept(swept->handoffs,
                    swept->handoffs == 1 ? " request to people\n" : " requests to people\n",
                    is_dry_run, &out);
        print_swept(swept->documents, " stored pages and vectors of agents without runs\n",
                    is_dry_run, &out);
        print_swept(swept->patches,
                    swept->patches == 1 ? " patch of a failed attempt\n"
                                        : " patches of failed attempts\n",
                    is_dry_run, &out);
        print_swept(swept->items, swept->items == 1 ? " work item\n" : " work items\n", is_dry_run,
                    &out);
        print_space(result, &out);
    }
    report_output(&out);
}

static int run_gc(const struct gc_values *values)
{
    struct session session;
    struct rondo_error err = {0};
    struct session_options options = {.store = values->store};
    if (session_open(&options, &session, &err) < 0) {
        return report_error(&err);
    }
    struct store_gc_request request = {
        .ended_before_ns = clock_now(clock_system()) - values->older_than_ns,
        .is_dry_run = values->is_dry_run != 0,
    };
    struct store_gc_result result = {0};
    struct swept swept = {0};
    int r = document_sweep(session.store, request.ended_before_ns, request.is_dry_run,
                           &swept.documents, &err);
    if (r == 0 || r == RONDO_ERR_CORRUPT) {
        r = handoff_sweep(session.store, request.ended_before_ns, request.is_dry_run,
                          &swept.handoffs, &err);
    }
    if (r == 0 || r == RONDO_ERR_CORRUPT) {
        r = work_patches_sweep(session.store, request.ended_before_ns, request.is_dry_run,
                               &swept.patches, &err);
    }
    if (r == 0 || r == RONDO_ERR_CORRUPT) {
        r = items_gc(session.store, request.ended_before_ns, request.is_dry_run, &swept.items,
                     &err);
        r = r == RONDO_ERR_VERSION ? 0 : r; /* That of a newer Rondo stays. */
    }
    if (r == 0 || r == RONDO_ERR_CORRUPT) { /* Damaged: it is not known which are needed. */
        r = session.store->ops->gc(session.store, &request, &result, &err);
    }
    if (r == 0) {
        print_result(&result, &swept, values);
    }
    session_close(&session);
    return r < 0 ? report_error(&err) : 0;
}

int cmd_gc(const struct invocation *invocation)
{
    struct gc_values values = {.older_than_ns = DEFAULT_AGE_NS};
    struct option_set set = {.rows = gc_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 0);
    int exit_code = parsed.is_over ? parsed.exit_code : run_gc(&values);
    option_set_fini(&set);
    return exit_code;
}
