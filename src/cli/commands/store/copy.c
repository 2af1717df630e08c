// SPDX-License-Identifier: Apache-2.0
/* rondo store copy: all of a store into another one, or only compare the two. */
#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "cli/commands/store/beside.h"
#include "cli/commands/store/commands.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "cli/terminal/text.h"
#include "loop/owner.h"
#include "memory/words.h"
#include "os/host.h"
#include "store/locate/locate.h"
#include "store/postgres/postgres.h"
#include "store/transfer/transfer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Differences that are listed; the others are counted. */
#define SHOWN_DIFFERENCES 20
/** Time between two lines of progress. */
#define PROGRESS_NS (200 * NS_PER_MS)

struct store_copy_values {
    int64_t only_compares;
    int64_t wants_json;
};

const struct option_row store_copy_options[] = {
    {.name = "verify",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct store_copy_values, only_compares),
     .help = "Only compare the two stores",
     .group = "General"},
    OPTION_ROW_JSON(struct store_copy_values, "As one JSON object"),
    {0},
};

/** One invocation. */
struct copy_command {
    const struct store_copy_values *values;
    struct store *from;
    struct store *to;
    char *from_path; /* owned, canonical */
    char *to_path;
    char *from_name; /* owned */
    char *to_name;
    struct transfer_totals totals;
    struct transfer_totals copied; /* before the comparison */
    struct buf differences;        /* each in a line */
    uint64_t difference_count;
    struct buf beside;
    int64_t begun_ns;
    int64_t copied_ns; /* when the comparison began; 0 = not yet */
    int64_t shown_ns;
    bool is_watched;
    char by[LIMIT_POLICY_BY_BYTES + 1];
};

static void clear_progress(const struct copy_command *command)
{
    if (command->is_watched && command->shown_ns > 0) {
        fputs("\r\033[K", stderr);
    }
}

static bool show_progress(void *context, enum transfer_part part,
                          const struct transfer_totals *so_far)
{
    static const char *const parts[TRANSFER_PART_COUNT] = {
        "runs",     "events",  "checkpoints", "documents",           "policies",         "memories",
        "memories", "vectors", "comparing",   "what is beside them", "the copy is whole"};
    struct copy_command *command = context;
    int64_t now_ns = clock_monotonic(clock_system());
    if (part < TRANSFER_COMPARING) {
        command->copied = *so_far;
        command->copied_ns = now_ns;
    }
    if (command->is_watched && now_ns - command->shown_ns >= PROGRESS_NS) {
        command->shown_ns = now_ns;
        fprintf(stderr, "\r\033[K%s: %" PRIu64 " runs, %" PRIu64 " events, %" PRIu64 " checkpoints",
                parts[part], so_far->runs, so_far->events, so_far->checkpoints);
    }
    return true;
}

static void note_difference(void *context, const char *what)
{
    struct copy_command *command = context;
    if (command->difference_count++ < SHOWN_DIFFERENCES) {
        text_clean(what, strlen(what), &command->differences);
        buf_append_string(&command->differences, "\n");
    }
}

static struct beside_stores stores_of(const struct copy_command *command)
{
    return (struct beside_stores){
        .from = command->from,
        .to = command->to,
        .from_path = command->from_path,
        .to_path = command->to_path,
        .by = command->by,
    };
}

static int settle(void *context, struct rondo_error *err)
{
    struct copy_command *command = context;
    const struct beside_stores stores = stores_of(command);
    return beside_copy(&stores, &command->beside, err);
}

/** What people change beside a store with commands is in its documents too. */
static const char *const left_out[] = {"policies", NULL};

static struct transfer transfer_of(struct copy_command *command)
{
    return (struct transfer){
        .from = command->from,
        .to = command->to,
        .from_name = command->from_name,
        .to_name = command->to_name,
        .left_out = left_out,
        .is_executed = run_is_executed,
        .write_grams = words_write_grams,
        .settle = settle,
        .progress = show_progress,
        .difference = note_difference,
        .context = command,
    };
}

/* ---- What is printed ------------------------------------------------------------------------ */

struct count_row {
    const char *name;
    const char *one;
    const char *many;
    size_t offset;
};

#define COUNT(member, one, many)                                     \
    {                                                                \
#member, one, many, offsetof(struct transfer_totals, member) \
    }

static const struct count_row counts[] = {
    COUNT(runs, "run", "runs"),
    COUNT(events, "event", "events"),
    COUNT(checkpoints, "checkpoint", "checkpoints"),
    COUNT(letters, "command", "commands"),
    COUNT(documents, "document", "documents"),
    COUNT(policies, "change of policies", "changes of policies"),
    COUNT(memories, "memory", "memories"),
    COUNT(vectors, "vector", "vectors"),
};

#define COUNTS (sizeof(counts) / sizeof(counts[0]))

static uint64_t count_of(const struct transfer_totals *totals, const struct count_row *row)
{
    return *(const uint64_t *)(const void *)((const char *)totals + row->offset);
}

static void write_totals(const struct transfer_totals *totals, struct buf *out)
{
    for (size_t i = 0; i < COUNTS; i++) {
        uint64_t count = count_of(totals, &counts[i]);
        buf_append_string(out, i > 0 ? ", " : "");
        text_count((int64_t)count, out);
        buf_printf(out, " %s", count == 1 ? counts[i].one : counts[i].many);
    }
}

/** Events that were copied in a second; 0 = none were by this command. */
static int64_t events_per_s(const struct copy_command *command)
{
    int64_t took_ns = command->copied_ns - command->begun_ns;
    return took_ns > 0
               ? (int64_t)((double)command->copied.events * (double)NS_PER_S / (double)took_ns)
               : 0;
}

static void write_lines(struct json_writer *writer, const char *name, const struct buf *lines)
{
    auto_free char *text = memory_dup_string(buf_string(lines));
    char *rest = text;
    json_begin_array(writer, name);
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        if (line[0] != '\0') {
            json_write_string(writer, NULL, line);
        }
    }
    json_end_array(writer);
}

static void print_json(const struct copy_command *command, const char *outcome)
{
    auto_buf struct buf out = {0};
    auto_buf struct buf left = {0};
    const struct beside_stores stores = stores_of(command);
    struct json_writer writer = json_writer(&out);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "from", command->from_name);
    json_write_string(&writer, "to", command->to_name);
    json_write_string(&writer, "outcome", outcome);
    for (size_t i = 0; i < COUNTS; i++) {
        json_write_int(&writer, counts[i].name, (int64_t)count_of(&command->totals, &counts[i]));
    }
    json_write_int(&writer, "bytes", (int64_t)command->totals.bytes);
    json_write_int(&writer, "copied_events_per_s", events_per_s(command));
    json_write_int(&writer, "difference_count", (int64_t)command->difference_count);
    write_lines(&writer, "differences", &command->differences);
    write_lines(&writer, "copied_beside", &command->beside);
    beside_write_left(&stores, &left);
    write_lines(&writer, "left", &left);
    json_end_object(&writer);
    buf_append_string(&out, "\n");
    report_output(&out);
}

/** What the user still has to do. */
static void write_beside(const struct copy_command *command, struct buf *out)
{
    const struct beside_stores stores = stores_of(command);
    auto_buf struct buf left = {0};
    if (command->beside.len > 0) {
        buf_append_string(out, "beside it are now:\n");
        text_clean(buf_string(&command->beside), command->beside.len, out);
        buf_append_string(out, "\n");
    }
    beside_write_left(&stores, &left);
    if (left.len > 0) {
        buf_append_string(out, "still to be copied by hand:\n");
        text_clean(buf_string(&left), left.len, out);
        buf_append_string(out, "\n");
    }
}

static void write_differences(const struct copy_command *command, struct buf *out)
{
    buf_append(out, command->differences.data, command->differences.len);
    if (command->difference_count > SHOWN_DIFFERENCES) {
        buf_printf(out, "%" PRIu64 " more differences are not listed\n",
                   command->difference_count - SHOWN_DIFFERENCES);
    }
}

static int print_result(const struct copy_command *command, bool was_copied)
{
    bool is_same = command->difference_count == 0;
    bool has_compared = command->values->only_compares != 0;
    auto_buf struct buf out = {0};
    if (command->values->wants_json) {
        print_json(command, !is_same       ? "different"
                            : was_copied   ? "copied_before"
                            : has_compared ? "same"
                                           : "copied");
        return is_same ? EXIT_OK : EXIT_OTHER;
    }
    text_clean(command->to_name, strlen(command->to_name), &out);
    if (was_copied) {
        buf_append_string(&out, " was copied before, and the source has no newer events; "
                                "`--verify` compares them\n");
    } else if (is_same) {
        buf_append_string(&out, has_compared ? " has the same content: " : " is a copy: ");
        write_totals(&command->totals, &out);
        buf_append_string(&out, "; compared by SHA-256\n");
    } else {
        buf_append_string(&out, " differs:\n");
        write_differences(command, &out);
    }
    if (is_same && !was_copied && !has_compared) {
        if (command->copied.events > 0) {
            text_count(events_per_s(command), &out);
            buf_append_string(&out, " events/s were copied\n");
        }
        write_beside(command, &out);
    }
    report_output(&out);
    return is_same ? EXIT_OK : EXIT_OTHER;
}

/* ---- The command ---------------------------------------------------------------------------- */

/** Open a store, and find its canonical path and its name. */
static int open_store(const char *given, enum store_access access, struct store **ret_store,
                      char **ret_path, char **ret_name, struct rondo_error *err)
{
    auto_free char *path = NULL;
    int r = store_open_default(given, access, ret_store, &path, err);
    if (r < 0) {
        return r;
    }
    /* opens: only a name; the store is open */
    char *real = realpath(path, NULL);
    *ret_path = real != NULL ? real : memory_dup_string(path);
    *ret_name = store_name_of(*ret_path);
    return 0;
}

/** Refuse a role of a database that does not see or may not write everything. */
static int check_rights(struct store *store, const char *path, const char *name,
                        struct rondo_error *err)
{
    struct store_postgres_server server;
    int r = store_is_in_database(path) ? store_postgres_look(store, &server, err) : 0;
    if (r == 0 && store_is_in_database(path) && server.rank != STORE_OWNER) {
        return error_set(err, RONDO_ERR_DENIED,
                         "only the owner of the schema can copy or compare the store %s, and the "
                         "role %s is not",
                         name, server.role);
    }
    return r;
}

static int open_both(struct copy_command *command, char *const *names, struct rondo_error *err)
{
    bool only_compares = command->values->only_compares != 0;
    int r = open_store(names[0], only_compares ? STORE_READING : STORE_WRITING, &command->from,
                       &command->from_path, &command->from_name, err);
    r = r < 0 ? r : check_rights(command->from, command->from_path, command->from_name, err);
    if (r == 0) { /* After a refusal there is no target. */
        r = open_store(names[1], only_compares ? STORE_READING : STORE_COPYING, &command->to,
                       &command->to_path, &command->to_name, err);
    }
    if (r == 0 && strcmp(command->from_path, command->to_path) == 0) {
        r = error_set(err, RONDO_ERR_STATE, "%s and %s are the same store", command->from_name,
                      command->to_name);
    }
    return r < 0 ? r : check_rights(command->to, command->to_path, command->to_name, err);
}

static void name_user(struct copy_command *command)
{
    char name[129];
    struct host_process self;
    host_describe_self(&self);
    bool is_name = host_user_name(geteuid(), name, sizeof(name));
    snprintf(command->by, sizeof(command->by), "rondo store copy, %s%s@%s", is_name ? "" : "user ",
             name, self.host);
}

/** Say how to go on after an error that leaves a part of a copy. */
static int report_interrupted(const struct copy_command *command, const struct rondo_error *err)
{
    bool can_continue =
        err->code == RONDO_ERR_IO || err->code == RONDO_ERR_FULL || err->code == RONDO_ERR_TIMEOUT;
    if (command->values->only_compares || command->copied_ns == 0 || !can_continue) {
        return report_error_as(err, command->values->wants_json != 0);
    }
    struct rondo_error whole = *err;
    error_set(&whole, err->code, "%.400s; run the same command again, which continues the copy",
              err->message);
    return report_error_as(&whole, command->values->wants_json != 0);
}

static int copy(struct copy_command *command, struct rondo_error *err)
{
    const struct transfer transfer = transfer_of(command);
    enum transfer_outcome outcome = TRANSFER_COPIED;
    uint64_t differences = 0;
    command->begun_ns = clock_monotonic(clock_system());
    command->is_watched = isatty(STDERR_FILENO);
    int r = command->values->only_compares
                ? transfer_compare(&transfer, &differences, &command->totals, err)
                : transfer_copy(&transfer, &outcome, &command->totals, err);
    clear_progress(command);
    if (r < 0) {
        return report_interrupted(command, err);
    }
    int exit_code = print_result(command, outcome == TRANSFER_WAS_COPIED);
    if (outcome == TRANSFER_DIFFERS) {
        exit_code = report_failure(EXIT_OTHER,
                                   "%s is no copy of %s, and stays unusable; stop what changes the "
                                   "source or see `rondo store check`, empty the target, and copy "
                                   "again",
                                   command->to_name, command->from_name);
    }
    return exit_code;
}

static void fini(struct copy_command *command)
{
    store_close(command->from);
    store_close(command->to);
    free(command->from_path);
    free(command->to_path);
    free(command->from_name);
    free(command->to_name);
    buf_fini(&command->differences);
    buf_fini(&command->beside);
}

int cmd_store_copy(const struct invocation *invocation)
{
    struct store_copy_values values = {0};
    struct option_set set = {.rows = store_copy_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 2, 2);
    if (!parsed.is_over) {
        struct copy_command command = {.values = &values};
        struct rondo_error err = {0};
        name_user(&command);
        parsed.exit_code = open_both(&command, parsed.argv, &err) < 0
                               ? report_error_as(&err, values.wants_json != 0)
                               : copy(&command, &err);
        fini(&command);
    }
    option_set_fini(&set);
    return parsed.exit_code;
}
