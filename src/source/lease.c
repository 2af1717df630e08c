// SPDX-License-Identifier: Apache-2.0
/* Leases of sources: each change is made on condition of the version that was seen. */
#include "source/lease.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "loop/owner.h"

#include <stdio.h>
#include <string.h>

/** What the document says. */
struct lease_reading {
    uint64_t version;
    char owner[STORE_OWNER_SIZE];
};

static bool read_lease(const struct store_document *document, void *context)
{
    struct lease_reading *reading = context;
    auto_json struct json_object *root = NULL;
    json_parse(document->data, document->data_len, &root, NULL);
    reading->version = document->version;
    snprintf(reading->owner, sizeof(reading->owner), "%s", json_get_string(root, "owner", ""));
    return false;
}

/** @return 1 written, 0 another process was faster, or a code */
static int write_lease(struct source_lease *lease, struct rondo_error *err)
{
    auto_buf struct buf data = {0};
    bool is_applied = false;
    struct json_writer writer = json_writer(&data);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "owner", lease->owner);
    json_end_object(&writer);
    struct store_change change = {
        .kind = STORE_PUT,
        .collection = SOURCE_LEASE_COLLECTION,
        .key = lease->source,
        .data = buf_string(&data),
        .data_len = data.len,
        .if_version = (int64_t)lease->version,
    };
    int64_t now_ns = clock_monotonic(lease->clock);
    int r = lease->store->ops->change_documents(lease->store, &change, 1, &is_applied, err);
    lease->is_held = r == 0 && is_applied;
    if (lease->is_held) {
        lease->version++;
        lease->seen_ns = now_ns; /* Before the change: others have seen it later. */
        snprintf(lease->holder, sizeof(lease->holder), "%s", lease->owner);
    }
    return r < 0 ? r : lease->is_held;
}

/** Whether the holder, as it was seen, has it no more. */
static bool is_free(const struct source_lease *lease)
{
    return lease->version == 0 || strcmp(lease->holder, lease->owner) == 0 ||
           owner_is_dead(lease->holder) ||
           clock_monotonic(lease->clock) - lease->seen_ns >= SOURCE_LEASE_NS;
}

int source_lease_hold(struct source_lease *lease, struct rondo_error *err)
{
    struct lease_reading reading = {0};
    struct store_document_query query = {.collection = SOURCE_LEASE_COLLECTION,
                                         .key = lease->source};
    int64_t now_ns = clock_monotonic(lease->clock);
    if (lease->is_held && now_ns - lease->seen_ns < SOURCE_LEASE_RENEW_NS) {
        return 1;
    }
    lease->is_held = false;
    int r = lease->store->ops->read_documents(lease->store, &query, read_lease, &reading, err);
    if (r < 0) {
        return r;
    }
    if (reading.version != lease->version || strcmp(reading.owner, lease->holder) != 0) {
        lease->version = reading.version;
        lease->seen_ns = now_ns;
        memcpy(lease->holder, reading.owner, sizeof(lease->holder));
    }
    return is_free(lease) ? write_lease(lease, err) : 0;
}

void source_lease_release(struct source_lease *lease)
{
    bool is_applied = false;
    struct store_change change = {
        .kind = STORE_DELETE,
        .collection = SOURCE_LEASE_COLLECTION,
        .key = lease->source,
        .if_version = (int64_t)lease->version,
    };
    if (lease->is_held) { /* What cannot be released ends by itself. */
        (void)lease->store->ops->change_documents(lease->store, &change, 1, &is_applied, NULL);
        lease->is_held = false;
    }
}
