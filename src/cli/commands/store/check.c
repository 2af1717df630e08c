// SPDX-License-Identifier: Apache-2.0
/* rondo store check: read all of a store, and name what is damaged. */
#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "cli/commands/doctor_database.h"
#include "cli/commands/store/commands.h"
#include "cli/framework/common_options.h"
#include "cli/framework/examination.h"
#include "cli/framework/report.h"
#include "cli/terminal/text.h"
#include "journal/verify.h"
#include "store/locate/locate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/** Damages that are listed; the others are counted. */
#define SHOWN_DAMAGES 20
/** Time between two lines of progress. */
#define PROGRESS_NS (200 * NS_PER_MS)

struct store_check_values {
    char *store;
    int64_t wants_json;
    int64_t no_colour;
};

const struct option_row store_check_options[] = {
    OPTION_ROW_STORE(struct store_check_values),
    OPTION_ROW_JSON(struct store_check_values, "As one JSON object"),
    OPTION_ROW_NO_COLOUR(struct store_check_values),
    {0},
};

struct checking {
    struct examination *examination;
    uint64_t run_count;
    uint64_t damages;
    int64_t shown_ns; /**< when progress was shown last */
    bool is_watched;
};

static void add_damage(void *context, const char *run_id, const char *detail)
{
    struct checking *checking = context;
    if (checking->damages++ >= SHOWN_DAMAGES) {
        return;
    }
    struct buf text = {0};
    if (run_id[0] != '\0') {
        buf_append_string(&text, "run ");
        text_clean(run_id, strlen(run_id), &text);
        buf_append_string(&text, ": ");
    }
    text_clean(detail, strlen(detail), &text);
    examination_add(checking->examination, "damaged", HEALTH_BROKEN, buf_steal(&text));
}

static bool show_progress(void *context, const struct journal_verified *so_far)
{
    struct checking *checking = context;
    int64_t now_ns = clock_monotonic(clock_system());
    if (checking->is_watched && now_ns - checking->shown_ns >= PROGRESS_NS) {
        checking->shown_ns = now_ns;
        fprintf(stderr, "\r\033[K%" PRIu64 " of %" PRIu64 " runs, %" PRIu64 " events", so_far->runs,
                checking->run_count, so_far->events);
    }
    return true;
}

static void add_count(uint64_t count, const char *one, const char *many, struct buf *text)
{
    buf_append_string(text, text->len > 0 ? ", " : "");
    text_count((int64_t)count, text);
    buf_printf(text, " %s", count == 1 ? one : many);
}

static void add_content(struct checking *checking, const struct journal_verified *verified)
{
    struct buf text = {0};
    add_count(verified->runs, "run", "runs", &text);
    add_count(verified->events, "event", "events", &text);
    add_count(verified->checkpoints, "checkpoint", "checkpoints", &text);
    add_count(verified->letters, "command", "commands", &text);
    add_count(verified->policies, "change of policies", "changes of policies", &text);
    add_count(verified->documents, "document", "documents", &text);
    add_count(verified->memories, "memory", "memories", &text);
    buf_append_string(&text, " were read");
    if (checking->damages > SHOWN_DAMAGES) {
        buf_printf(&text, "; %" PRIu64 " more faults are not listed",
                   checking->damages - SHOWN_DAMAGES);
    }
    examination_add(checking->examination, "content",
                    verified->damages > 0 ? HEALTH_BROKEN : HEALTH_OK, buf_steal(&text));
}

static void add_health(struct checking *checking, const char *path,
                       const struct store_health *health)
{
    struct buf text = {0};
    auto_free char *name = store_name_of(path);
    text_clean(name, strlen(name), &text);
    buf_printf(&text, ", %s, schema %" PRIu32 ", ", health->version, health->schema);
    text_bytes(health->size_bytes, &text);
    if (!health->is_intact) {
        buf_append_string(&text, "; DAMAGED: ");
        text_clean(health->problem, strlen(health->problem), &text);
    }
    checking->run_count = health->run_count;
    examination_add(checking->examination, "store", health->is_intact ? HEALTH_OK : HEALTH_BROKEN,
                    buf_steal(&text));
}

/** @return 0 when it could be read, damaged or not */
static int check(struct store *store, const char *path, struct examination *examination,
                 struct rondo_error *err)
{
    struct checking checking = {.examination = examination, .is_watched = isatty(STDERR_FILENO)};
    const struct journal_verify_listener listener = {
        .damage = add_damage, .progress = show_progress, .context = &checking};
    struct store_health health = {0};
    struct journal_verified verified = {0};
    int r = store->ops->health(store, &health, err);
    if (r < 0) {
        return r;
    }
    add_health(&checking, path, &health);
    if (store_is_in_database(path)) {
        examine_database(examination, store);
    }
    r = journal_verify(store, &listener, &verified, err);
    if (checking.is_watched && checking.shown_ns > 0) {
        fputs("\r\033[K", stderr);
    }
    if (r == 0) {
        add_content(&checking, &verified);
    }
    return r;
}

int cmd_store_check(const struct invocation *invocation)
{
    struct store_check_values values = {0};
    struct option_set set = {.rows = store_check_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 1);
    if (!parsed.is_over) {
        struct examination examination = {0};
        struct rondo_error err = {0};
        struct store *store = NULL;
        auto_free char *path = NULL;
        const char *given = parsed.argc > 0 ? parsed.argv[0] : values.store;
        int r = store_open_default(given, STORE_READING, &store, &path, &err);
        if (r == 0) {
            r = check(store, path, &examination, &err);
        }
        store_close(store);
        if (r == 0) {
            parsed.exit_code =
                examination_print(&examination, &(struct examination_form){
                                                    .wants_json = values.wants_json != 0,
                                                    .no_colour = values.no_colour != 0,
                                                    .good = "the store is intact",
                                                    .bad = "the store is not intact",
                                                });
        } else {
            examination_fini(&examination);
            parsed.exit_code = report_error_as(&err, values.wants_json != 0);
        }
    }
    option_set_fini(&set);
    return parsed.exit_code;
}
