// SPDX-License-Identifier: Apache-2.0
/*
 * Changes of handoffs, for streams of the table: who asked, claimed or decided. The audit chain of
 * the store has them all, whichever process made them. It is read while there is such a stream.
 */
#include "base/error.h"
#include "base/json/json.h"
#include "handoff/storage/store.h"
#include "server/stream/hub_internal.h"

/** Changes that are told one by one; of more, streams are told to look at the inbox again. */
#define MOST_CHANGES 64

struct change_reader {
    struct hub *hub;
    struct handoff_store handoffs;
    size_t count;
    uint64_t last;
};

static void tell_all(struct hub *hub)
{
    hub_tell(hub, "inbox", NULL, "{\"kind\":\"reset\"}");
}

static void tell(struct hub *hub, const struct handoff *handoff, const char *kind)
{
    auto_buf struct buf json = {0};
    struct json_writer writer = json_writer(&json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "kind", kind);
    json_write_string(&writer, "request_id", handoff->request_id);
    json_write_string(&writer, "agent_id", handoff->agent_id);
    json_write_string(&writer, "run_id", handoff->lane_id);
    json_write_string(&writer, "state", handoff_state_name(handoff->state));
    json_write_int(&writer, "version", (int64_t)handoff->version);
    json_write_string(&writer, "claimed_by",
                      handoff->claimed_by[0] == '\0' ? NULL : handoff->claimed_by);
    json_write_string(&writer, "decided_by",
                      handoff->decided_by[0] == '\0' ? NULL : handoff->decided_by);
    json_end_object(&writer);
    hub_tell(hub, "inbox", handoff->agent_id, buf_string(&json));
}

static bool take_change(uint64_t number, const char *kind, const char *request_id, void *context)
{
    struct change_reader *reader = context;
    struct handoff handoff;
    if (handoff_read(&reader->handoffs, request_id, &handoff, NULL) == 0) {
        tell(reader->hub, &handoff, kind);
    }
    reader->last = number;
    return ++reader->count < MOST_CHANGES;
}

void hub_inbox_look(struct hub *hub)
{
    uint64_t now = 0;
    struct change_reader reader = {
        .hub = hub,
        .handoffs = {.store = writer_store(hub->options.writer), .rules = &handoff_default_rules},
    };
    pthread_mutex_lock(&hub->lock);
    bool has_streams = hub->table.streams > 0;
    pthread_mutex_unlock(&hub->lock);
    if (!has_streams) {
        hub->is_inbox_known = false;
        return;
    }
    if (handoff_read_position(&reader.handoffs, &now, NULL) < 0) {
        return;
    }
    bool has_any = now > 0;
    if (has_any && (!hub->is_inbox_known || now > hub->inbox_position + MOST_CHANGES)) {
        tell_all(hub); /* What changed before the first look is not known. */
    } else if (now > hub->inbox_position &&
               handoff_read_changes(&reader.handoffs, hub->inbox_position, take_change, &reader,
                                    NULL) < 0) {
        tell_all(hub);
    }
    hub->is_inbox_known = true;
    hub->inbox_position = reader.last > now ? reader.last : now;
}
