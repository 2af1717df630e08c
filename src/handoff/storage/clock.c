// SPDX-License-Identifier: Apache-2.0
#include "handoff/storage/clock.h"

#include "base/json/json.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define KEY "clock"

/** Never jumps. Of the machine's clock it is the one that counts suspended time, too. */
static int64_t steady(const struct clock *clock)
{
    struct timespec now;
    if (clock != clock_system() || clock_gettime(CLOCK_BOOTTIME, &now) != 0) {
        return clock_monotonic(clock);
    }
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

void handoff_clock_init(struct handoff_clock *clock, struct store *store,
                        const struct clock *machine)
{
    *clock = (struct handoff_clock){.store = store, .clock = machine};
    host_boot(clock->boot);
}

static void set(struct handoff_clock *clock, int64_t offset_ns)
{
    atomic_store(&clock->offset_ns, offset_ns);
    atomic_store(&clock->is_known, true);
}

int handoff_clock_begin(struct handoff_clock *clock, struct rondo_error *err)
{
    auto_buf struct buf json = {0};
    bool is_applied = false;
    set(clock, clock_now(clock->clock) - steady(clock->clock));
    struct json_writer writer = json_writer(&json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "boot", clock->boot);
    json_write_int(&writer, "offset_ns", atomic_load(&clock->offset_ns));
    json_end_object(&writer);
    struct store_change change = {.kind = STORE_PUT,
                                  .collection = HANDOFF_CLOCK_COLLECTION,
                                  .key = KEY,
                                  .data = buf_string(&json),
                                  .data_len = json.len,
                                  .if_version = STORE_ANY_VERSION};
    return clock->store->ops->change_documents(clock->store, &change, 1, &is_applied, err);
}

static bool take_offset(const struct store_document *document, void *context)
{
    struct handoff_clock *clock = context;
    auto_json struct json_object *root = NULL;
    if (json_parse(document->data, document->data_len, &root, NULL) == 0 &&
        strcmp(json_get_string(root, "boot", ""), clock->boot) == 0 && clock->boot[0] != '\0') {
        set(clock, json_get_int(root, "offset_ns", 0));
    }
    return false;
}

/** What a server of this boot has found; else the wall clock as it is now. */
static void find_offset(struct handoff_clock *clock)
{
    struct store_document_query query = {.collection = HANDOFF_CLOCK_COLLECTION, .key = KEY};
    (void)clock->store->ops->read_documents(clock->store, &query, take_offset, clock, NULL);
    if (!atomic_load(&clock->is_known)) {
        set(clock, clock_now(clock->clock) - steady(clock->clock));
    }
}

int64_t handoff_now(const struct handoff_store *handoffs)
{
    struct handoff_clock own;
    struct handoff_clock *clock = handoffs->clock;
    if (clock == NULL) {
        handoff_clock_init(&own, handoffs->store, clock_system());
        clock = &own;
    }
    if (!atomic_load(&clock->is_known)) {
        find_offset(clock);
    }
    return steady(clock->clock) + atomic_load(&clock->offset_ns);
}
