// SPDX-License-Identifier: Apache-2.0
/* Windows of a journal, newest first. */
#include "journal/backward.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

struct event_row {
    struct store_event event;
    char *type;
    char *data;
};

struct window {
    const struct backward *wanted;
    uint64_t before;
    struct event_row *rows;
    size_t count;
};

static bool is_wanted(const char *const *types, const char *type)
{
    for (size_t i = 0; types != NULL && types[i] != NULL; i++) {
        if (strcmp(types[i], type) == 0) {
            return true;
        }
    }
    return types == NULL;
}

static bool keep(const struct store_event *event, void *context)
{
    struct window *window = context;
    if (event->seq >= window->before) {
        return false;
    }
    if (is_wanted(window->wanted->types, event->type)) {
        struct event_row *row = &window->rows[window->count++];
        row->event = *event;
        row->type = memory_dup_string(event->type);
        row->data = memory_dup_bytes(event->data, event->data_len);
        row->event.run_id = window->wanted->run_id;
        row->event.type = row->type;
        row->event.data = row->data;
    }
    return true;
}

/** Hand out and release. @return whether to continue */
static bool hand_out(struct window *window, store_event_fn *fn, void *context,
                     uint64_t *ret_reached)
{
    bool continues = true;
    for (size_t i = window->count; i-- > 0;) {
        struct event_row *row = &window->rows[i];
        if (continues) {
            continues = fn(&row->event, context);
            *ret_reached = row->event.seq;
        }
        free(row->type);
        free(row->data);
    }
    window->count = 0;
    return continues;
}

int backward_visit(struct store *store, const struct backward *backward, store_event_fn *fn,
                   void *context, uint64_t *ret_reached, struct rondo_error *err)
{
    struct window window = {.wanted = backward, .before = backward->before};
    uint64_t lowest = backward->after;
    bool continues = true;
    int r = 0;
    window.rows = memory_new_zero((size_t)backward->window, sizeof(*window.rows));
    *ret_reached = backward->before;
    if (backward->most > 0 && backward->before > backward->most) {
        uint64_t floor = backward->before - backward->most - 1;
        lowest = floor > lowest ? floor : lowest;
    }
    while (r == 0 && continues && window.before > lowest + 1) {
        uint64_t size = window.before - 1 - lowest;
        size = size < backward->window ? size : backward->window;
        uint64_t from = window.before - 1 - size;
        r = store->ops->read_events(store, backward->run_id, from, (uint32_t)size, keep, &window,
                                    err);
        continues = hand_out(&window, fn, context, ret_reached);
        *ret_reached = continues ? from + 1 : *ret_reached;
        window.before = from + 1;
    }
    free(window.rows);
    return r;
}
