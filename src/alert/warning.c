// SPDX-License-Identifier: Apache-2.0
/* What a warning says, and in which words. */
#include "alert/warning.h"

#include "agent/budget/ledger.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "base/text/plain.h"
#include "base/text/utf8.h"
#include "journal/describe.h"
#include "journal/state.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

/** Characters of a run's id in a line for people. */
#define SHOWN_ID_LEN 13

static const char *const kinds[WARNING_KIND_COUNT] = {
    [WARNING_LIMIT] = "limit",       [WARNING_POLICY] = "policy",
    [WARNING_ENDED_BADLY] = "ended", [WARNING_STALLED] = "stalled",
    [WARNING_STORAGE] = "storage",   [WARNING_POLICY_REFUSED] = "policy_refused",
    [WARNING_HANDOFF] = "handoff",   [WARNING_EVENT] = "event",
    [WARNING_TASK] = "task",         [WARNING_TEST] = "test",
};

/** Events that people are warned of. */
static const struct {
    enum journal_type type;
    enum warning_kind kind;
} wanted[] = {
    {JOURNAL_LIMIT_WARNING, WARNING_LIMIT},
    {JOURNAL_GATE_DENIED, WARNING_POLICY},
    {JOURNAL_STEP_DENIED, WARNING_POLICY},
    {JOURNAL_RUN_FINISHED, WARNING_ENDED_BADLY},
    {JOURNAL_STORAGE_DEGRADED, WARNING_STORAGE},
    {JOURNAL_CHECKPOINT_CORRUPT, WARNING_STORAGE},
    {JOURNAL_POLICY_REFUSED, WARNING_POLICY_REFUSED},
    {JOURNAL_HANDOFF_REQUESTED, WARNING_HANDOFF},
    {JOURNAL_TASK_FAILED, WARNING_TASK},
    {JOURNAL_TASKS_READ, WARNING_TASK},
};

const char *warning_kind_name(enum warning_kind kind)
{
    return kinds[kind];
}

bool warning_kind_from_name(const char *name, enum warning_kind *ret_kind)
{
    for (unsigned i = 0; i < WARNING_KIND_COUNT; i++) {
        if (strcmp(kinds[i], name) == 0) {
            *ret_kind = (enum warning_kind)i;
            return true;
        }
    }
    return false;
}

void warning_set_text(char *slot, size_t size, const char *text)
{
    size_t len = text == NULL ? 0 : strlen(text);
    size_t kept = 0;
    while (kept < len) {
        size_t step = utf8_sequence_len(text + kept, len - kept);
        step = step == 0 ? 1 : step;
        if (kept + step > size - 1) {
            break;
        }
        kept += step;
    }
    memcpy(slot, kept == 0 ? "" : text, kept);
    slot[kept] = '\0';
}

bool warning_is_wanted(const char *type_name, enum journal_type *ret_type,
                       enum warning_kind *ret_kind)
{
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        if (strcmp(journal_type_name(wanted[i].type), type_name) == 0) {
            *ret_type = wanted[i].type;
            *ret_kind = wanted[i].kind;
            return true;
        }
    }
    return false;
}

/* ---- From events ---------------------------------------------------------------------------- */

static void set_limit(struct warning *warning, const char *name, int64_t limit, int64_t value)
{
    warning_set_text(warning->limit_name, sizeof(warning->limit_name), name);
    warning->limit = limit;
    warning->value = value;
}

static void set_status(struct warning *warning, const char *status)
{
    warning_set_text(warning->status, sizeof(warning->status), status);
}

void warning_from_event(const struct journal_event *event, enum warning_kind kind,
                        struct warning *ret_warning)
{
    *ret_warning = (struct warning){
        .kind = kind,
        .time_ns = event->time_ns,
        .iteration = journal_event_iteration(event),
        .seq = event->seq,
    };
    if (event->type == JOURNAL_LIMIT_WARNING) {
        set_limit(ret_warning, event->limit_warning.limit_name, event->limit_warning.limit,
                  event->limit_warning.value);
    } else if (event->type == JOURNAL_GATE_DENIED) {
        set_limit(ret_warning, event->gate_denied.limit_name, event->gate_denied.limit,
                  event->gate_denied.value);
        set_status(ret_warning, event->gate_denied.status);
    } else if (event->type == JOURNAL_RUN_FINISHED) {
        set_status(ret_warning, event->run_finished.status);
    } else if (event->type == JOURNAL_HANDOFF_REQUESTED) {
        warning_set_text(ret_warning->request_id, sizeof(ret_warning->request_id),
                         event->handoff_requested.request);
    }
    auto_buf struct buf text = {0};
    event_sentence(event, &text);
    warning_set_text(ret_warning->message, sizeof(ret_warning->message), buf_string(&text));
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/** An amount in the unit that people read: dollars for money. */
static void write_amount(struct json_writer *writer, const char *key, const struct warning *warning,
                         int64_t amount)
{
    if (strcmp(warning->limit_name, run_limit_name(RUN_LIMIT_COST)) == 0 ||
        budget_is_cost(warning->limit_name)) {
        auto_buf struct buf money = {0};
        text_money(amount, &money);
        json_write_raw(writer, key, buf_string(&money));
    } else {
        json_write_int(writer, key, amount);
    }
}

static int64_t percent_of(const struct warning *warning)
{
    __extension__ typedef __int128 wide;
    wide percent = warning->limit <= 0 ? 0 : (wide)warning->value * 100 / warning->limit;
    return percent > INT64_MAX ? INT64_MAX : (int64_t)percent;
}

static void write_limit(struct json_writer *writer, const struct warning *warning)
{
    if (warning->limit_name[0] == '\0') {
        return;
    }
    int64_t remaining = warning->limit > warning->value ? warning->limit - warning->value : 0;
    json_write_string(writer, "limit_name", warning->limit_name);
    write_amount(writer, "limit", warning, warning->limit);
    write_amount(writer, "value", warning, warning->value);
    write_amount(writer, "remaining", warning, remaining);
    json_write_int(writer, "percent", percent_of(warning));
}

void warning_write(const struct warning *warning, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    char time[CLOCK_UTC_SIZE];
    clock_format_utc(warning->time_ns, time);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "id", warning->id);
    json_write_string(&writer, "time", time);
    json_write_string(&writer, "kind", warning_kind_name(warning->kind));
    json_write_string(&writer, "run_id", warning->run_id[0] == '\0' ? NULL : warning->run_id);
    json_write_string(&writer, "agent_id", warning->agent_id[0] == '\0' ? NULL : warning->agent_id);
    json_write_int(&writer, "iteration", warning->iteration);
    write_limit(&writer, warning);
    if (warning->status[0] != '\0') {
        json_write_string(&writer, "status", warning->status);
    }
    if (warning->request_id[0] != '\0') {
        json_write_string(&writer, "request_id", warning->request_id);
    }
    json_write_string(&writer, "message", warning->message);
    json_write_int(&writer, "seq", (int64_t)warning->seq);
    json_write_int(&writer, "position", (int64_t)warning->position);
    json_end_object(&writer);
}

/* ---- Words ---------------------------------------------------------------------------------- */

static void append_escaped(const char *text, struct buf *ret_text)
{
    auto_buf struct buf clean = {0};
    text_clean(text, strlen(text), &clean);
    for (const char *at = buf_string(&clean); *at != '\0'; at++) {
        if (*at == '&') {
            buf_append_string(ret_text, "&amp;");
        } else if (*at == '<') {
            buf_append_string(ret_text, "&lt;");
        } else if (*at == '>') {
            buf_append_string(ret_text, "&gt;");
        } else {
            buf_append(ret_text, at, 1);
        }
    }
}

static void append_run(const char *run_id, const char *run_url, struct buf *ret_text)
{
    if (run_id[0] == '\0') {
        return;
    }
    if (run_url != NULL) {
        buf_printf(ret_text, " (<%s|run %.*s>)", run_url, SHOWN_ID_LEN, run_id);
    } else {
        buf_printf(ret_text, " (run %.*s)", SHOWN_ID_LEN, run_id);
    }
}

void warning_tell(const char *json, size_t len, const char *run_url, struct buf *ret_text)
{
    auto_json struct json_object *root = NULL;
    if (json_parse(json, len, &root, NULL) < 0) {
        return;
    }
    const char *agent = json_get_string(root, "agent_id", "");
    buf_append_string(ret_text, "*");
    append_escaped(agent[0] == '\0' ? "Rondo" : agent, ret_text);
    buf_append_string(ret_text, "*: ");
    append_escaped(json_get_string(root, "message", ""), ret_text);
    append_run(json_get_string(root, "run_id", ""), run_url, ret_text);
}
