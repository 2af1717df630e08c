// SPDX-License-Identifier: Apache-2.0
/* Events as programs get them, and words for what they say of conditions. */
#include "journal/entry_json.h"

#include "base/clock.h"
#include "base/json/json.h"
#include "base/plain.h"
#include "base/status.h"

#include <inttypes.h>
#include <string.h>

void event_json_object(const struct store_event *event, struct buf *ret_buf)
{
    char time[CLOCK_UTC_SIZE];
    clock_format_utc(event->time_ns, time);
    struct json_writer writer = json_writer(ret_buf);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "run_id", event->run_id);
    json_write_int(&writer, "seq", (int64_t)event->seq);
    json_write_int(&writer, "position", (int64_t)event->position);
    json_write_string(&writer, "time", time);
    json_write_string(&writer, "type", event->type);
    json_write_raw(&writer, "data", event->data);
    json_end_object(&writer);
}

void event_json(const struct journal_entry *entry, struct buf *ret_buf)
{
    struct store_event event = {
        .run_id = entry->run_id,
        .position = entry->position,
        .seq = entry->event.seq,
        .time_ns = entry->event.time_ns,
        .type = entry->type_name,
        .data = entry->data,
    };
    event_json_object(&event, ret_buf);
    buf_append(ret_buf, "\n", 1);
}

void event_reason(const struct journal_event *event, struct buf *ret_buf)
{
    enum rondo_condition_reason reason = RONDO_REASON_NOT_EVALUATED;
    condition_reason_from_name(event->reason == NULL ? "" : event->reason, &reason);
    switch (reason) {
    case RONDO_REASON_FAILED:
        buf_printf(ret_buf, "exit code %" PRId64, event->exit_code);
        break;
    case RONDO_REASON_CRASHED:
        buf_printf(ret_buf, "crashed, signal %" PRId64, event->signal);
        break;
    case RONDO_REASON_TIMED_OUT:
        buf_append_string(ret_buf, "timed out");
        break;
    case RONDO_REASON_NOT_RUN:
        buf_append_string(ret_buf, "not run");
        break;
    case RONDO_REASON_CANCELLED:
        buf_append_string(ret_buf, "cancelled");
        break;
    case RONDO_REASON_DENIED:
        buf_append_string(ret_buf, "denied");
        break;
    case RONDO_REASON_NOT_EVALUATED:
        buf_append_string(ret_buf, "not evaluated");
        break;
    case RONDO_REASON_PASSED:
    case RONDO_REASON_COUNT:
        break;
    }
    bool is_told = reason == RONDO_REASON_CANCELLED;
    if (!is_told && event->message != NULL && event->message[0] != '\0') {
        buf_append_string(ret_buf, ", ");
        text_clean(event->message, strlen(event->message), ret_buf);
    }
}
