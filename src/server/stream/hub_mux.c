// SPDX-License-Identifier: Apache-2.0
/*
 * A stream over the hubs of several stores. Each part is a stream of its hub, from which whole
 * frames are taken in turn; only their ids are written anew. One thread at a time reads; the hubs'
 * threads wake the one HTTP stream of all parts.
 */
#include "base/memory.h"
#include "server/stream/hub_internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mux_part {
    char name[40];
    struct hub_stream *stream; /* NULL: it does not answer */
    int64_t place;             /* -1 = unknown */
};

struct hub_mux {
    _Atomic unsigned references; /* the HTTP server's and the creator's */
    pthread_mutex_t lock;        /* guards is_closed, with linking */
    bool is_closed;
    struct http_stream *http;
    uint64_t (*version)(const void *context);
    const void *version_context;
    uint64_t first_version;
    size_t count;
    struct mux_part parts[HUB_MUX_MAX];
    /* Of the thread that reads: */
    bool is_greeted;
    bool is_over;
    size_t turn;
    struct buf frame; /* being written */
    size_t offset;
};

static void write_id(struct hub_mux *mux)
{
    size_t begin = mux->frame.len;
    for (size_t i = 0; i < mux->count; i++) {
        const struct mux_part *part = &mux->parts[i];
        if (part->place >= 0) {
            buf_printf(&mux->frame, "%s%s:%" PRId64, mux->frame.len == begin ? "id: " : ",",
                       part->name, part->place);
        }
    }
    buf_append_string(&mux->frame, mux->frame.len == begin ? "" : "\n");
}

/** Write the frame that a part has begun. */
static void take_frame(struct hub_mux *mux, struct mux_part *part)
{
    struct hub_text *text = part->stream->text;
    if (part->stream->id != 0) {
        part->place = (int64_t)part->stream->id;
        write_id(mux);
    }
    buf_append(&mux->frame, text->text, text->len);
    hub_text_unref(text);
    part->stream->text = NULL;
}

/** The parts' own greetings are dropped: their ids have one place. */
static void greet(struct hub_mux *mux)
{
    mux->is_greeted = true;
    write_id(mux);
    buf_append_string(&mux->frame, "retry: 1000\n\n");
}

/** @return 1 = a frame, 0 = nothing now, -1 = the end */
static int next_frame(struct hub_mux *mux)
{
    buf_clear(&mux->frame);
    mux->offset = 0;
    if (!mux->is_greeted) {
        greet(mux);
        return 1;
    }
    if (mux->version(mux->version_context) != mux->first_version) {
        return -1;
    }
    for (size_t i = 0; i < mux->count; i++) {
        struct mux_part *part = &mux->parts[mux->turn++ % mux->count];
        int r = part->stream == NULL ? 0 : hub_stream_next(part->stream);
        if (r < 0) {
            return -1; /* The client comes back and learns why. */
        }
        if (r > 0) {
            take_frame(mux, part);
            return 1;
        }
    }
    return 0;
}

static ssize_t read_frames(void *context, char *bytes, size_t size)
{
    struct hub_mux *mux = context;
    size_t used = 0;
    int r = mux->is_over ? -1 : 1;
    while (used < size && r > 0) {
        if (mux->offset == mux->frame.len) {
            r = next_frame(mux);
        }
        size_t rest = mux->frame.len - mux->offset;
        size_t n = rest < size - used ? rest : size - used;
        if (n > 0) {
            memcpy(bytes + used, mux->frame.data + mux->offset, n);
        }
        mux->offset += n;
        used += n;
    }
    mux->is_over = r < 0;
    return used == 0 && r < 0 ? -1 : (ssize_t)used;
}

static void unref(struct hub_mux *mux)
{
    if (atomic_fetch_sub(&mux->references, 1) > 1) {
        return;
    }
    for (size_t i = 0; i < mux->count; i++) {
        hub_stream_free(mux->parts[i].stream);
    }
    http_stream_unref(mux->http);
    pthread_mutex_destroy(&mux->lock);
    buf_fini(&mux->frame);
    free(mux);
}

static void close_mux(void *context)
{
    struct hub_mux *mux = context;
    pthread_mutex_lock(&mux->lock);
    mux->is_closed = true;
    for (size_t i = 0; i < mux->count; i++) {
        if (mux->parts[i].stream != NULL) {
            hub_stream_unlink(mux->parts[i].stream);
        }
    }
    pthread_mutex_unlock(&mux->lock);
    unref(mux);
}

static void link_parts(struct hub_mux *mux)
{
    pthread_mutex_lock(&mux->lock);
    for (size_t i = 0; i < mux->count && !mux->is_closed; i++) {
        if (mux->parts[i].stream != NULL) {
            hub_stream_link(mux->parts[i].stream, mux->http);
        }
    }
    pthread_mutex_unlock(&mux->lock);
}

static void open_part(struct mux_part *part, const struct hub_part *from, bool is_table)
{
    snprintf(part->name, sizeof(part->name), "%s", from->name);
    part->place = from->filter.after;
    if (from->hub != NULL) {
        part->stream = hub_stream_new(from->hub, &from->filter, is_table);
        part->stream->is_greeted = true;
        part->place = (int64_t)part->stream->after;
    }
}

void hub_mux_open(struct http_exchange *exchange, const struct hub_mux_options *options)
{
    assert(options->count <= HUB_MUX_MAX);
    struct hub_mux *mux = memory_new_zero(1, sizeof(*mux));
    mux->references = 2;
    mux->version = options->version;
    mux->version_context = options->version_context;
    mux->first_version = options->version(options->version_context);
    mux->count = options->count;
    pthread_mutex_init(&mux->lock, NULL);
    for (size_t i = 0; i < options->count; i++) {
        open_part(&mux->parts[i], &options->parts[i], options->is_table);
    }
    struct http_stream_source source = {.read = read_frames, .close = close_mux, .context = mux};
    http_exchange_add_header(exchange, "Content-Type", "text/event-stream");
    http_exchange_add_header(exchange, "X-Accel-Buffering", "no");
    http_exchange_stream(exchange, &source, &mux->http);
    link_parts(mux);
    http_stream_wake(mux->http); /* What was published before it was linked did not wake it. */
    unref(mux);
}
