// SPDX-License-Identifier: Apache-2.0
/* Events as programs get them. */
#include "journal/entry_json.h"

#include "base/clock.h"
#include "base/json/json.h"
#include "journal/describe.h"

void event_json_object(const struct journal_entry *entry, struct buf *ret_buf)
{
    char time[CLOCK_UTC_SIZE];
    struct event_description description;
    clock_format_utc(entry->event.time_ns, time);
    event_describe(entry, &description);
    struct json_writer writer = json_writer(ret_buf);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "run_id", entry->run_id);
    json_write_int(&writer, "seq", (int64_t)entry->event.seq);
    json_write_int(&writer, "position", (int64_t)entry->position);
    json_write_string(&writer, "time", time);
    json_write_string(&writer, "type", entry->type_name);
    json_write_string(&writer, "category", event_category_name(description.category));
    json_write_string(&writer, "level", event_level_name(description.level));
    json_write_string(&writer, "text", buf_string(&description.text));
    json_write_raw(&writer, "data", entry->data);
    json_end_object(&writer);
    buf_fini(&description.text);
}

void event_json_stored(const struct store_event *event, struct buf *ret_buf)
{
    struct journal_entry entry;
    auto_json struct json_object *root = NULL;
    /* A damaged event is served with its type and data, like one of a newer version. */
    (void)journal_entry_decode(event, &entry, &root, NULL);
    event_json_object(&entry, ret_buf);
}

void event_json(const struct journal_entry *entry, struct buf *ret_buf)
{
    event_json_object(entry, ret_buf);
    buf_append(ret_buf, "\n", 1);
}
