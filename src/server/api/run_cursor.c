// SPDX-License-Identifier: Apache-2.0
/* A cursor of one store is "ORDER.DIRECTION.NUMBER.ID.AGENT" in hexadecimal, so that nobody takes
 * it apart. */
#include "server/api/run_cursor.h"

#include "base/ascii.h"
#include "base/id.h"
#include "base/parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/** Bytes of its text. */
#define CURSOR_SIZE ((RUN_CURSOR_SIZE - 1) / 2)

void run_cursor_place(const struct store_run *run, enum store_run_order order,
                      struct store_run_place *ret_place)
{
    *ret_place = (struct store_run_place){0};
    memcpy(ret_place->id, run->id, sizeof(ret_place->id));
    switch (order) {
    case STORE_BY_CREATED:
        ret_place->number = run->created_ns;
        break;
    case STORE_BY_UPDATED:
        ret_place->number = run->updated_ns;
        break;
    case STORE_BY_AGENT:
        memcpy(ret_place->text, run->agent_id, sizeof(ret_place->text));
        break;
    case STORE_BY_STATUS:
        ret_place->number = run->summary.status;
        break;
    case STORE_BY_ITERATION:
        ret_place->number = (int64_t)run->summary.iteration;
        break;
    case STORE_BY_TOKENS:
        ret_place->number = run->summary.tokens;
        break;
    case STORE_BY_COST:
        ret_place->number = run->summary.cost_micro;
        break;
    case STORE_BY_WARNINGS:
        ret_place->number = run->summary.warnings;
        break;
    case STORE_ORDER_COUNT:
        break;
    }
}

void run_cursor_write(const struct store_run_place *place, enum store_run_order order,
                      bool is_ascending, struct buf *ret_text)
{
    auto_buf struct buf plain = {0};
    buf_printf(&plain, "%d.%d.%" PRId64 ".%s.%s", (int)order, is_ascending ? 1 : 0, place->number,
               place->id, place->text);
    buf_append_hex(ret_text, plain.data, plain.len);
}

static bool from_hex(const char *text, char *ret_plain)
{
    size_t len = strlen(text);
    if (len % 2 != 0 || len / 2 >= CURSOR_SIZE) {
        return false;
    }
    for (size_t i = 0; i < len; i += 2) {
        int byte = ascii_hex_byte(text + i);
        if (byte < 0x20) {
            return false;
        }
        ret_plain[i / 2] = (char)byte;
    }
    ret_plain[len / 2] = '\0';
    return true;
}

bool run_cursor_read(const char *text, enum store_run_order order, bool is_ascending,
                     struct store_run_place *ret_place)
{
    char plain[CURSOR_SIZE];
    char head[8];
    struct store_run_place place = {0};
    snprintf(head, sizeof(head), "%d.%d.", (int)order, is_ascending ? 1 : 0);
    if (!from_hex(text, plain) || strncmp(plain, head, strlen(head)) != 0) {
        return false;
    }
    char *number = plain + strlen(head);
    char *id = strchr(number, '.');
    char *agent = id == NULL ? NULL : strchr(id + 1, '.');
    if (agent == NULL) {
        return false;
    }
    *id++ = '\0';
    *agent++ = '\0';
    bool is_good = parse_int(number, INT64_MIN, INT64_MAX, &place.number, NULL) == 0 &&
                   id_is_valid(id) && strlen(agent) < sizeof(place.text);
    if (is_good) {
        memcpy(place.id, id, sizeof(place.id));
        memcpy(place.text, agent, strlen(agent) + 1);
        *ret_place = place;
    }
    return is_good;
}

int run_cursor_compare(const struct store_run_place *a, const struct store_run_place *b)
{
    int order = a->number < b->number ? -1 : a->number > b->number;
    order = order == 0 ? strcmp(a->text, b->text) : order;
    return order == 0 ? strcmp(a->id, b->id) : order;
}

void run_cursor_begin_part(struct buf *cursor, const char *store)
{
    buf_printf(cursor, "%s%s=", cursor->len > 0 ? "," : "", store);
}

bool run_cursor_part(const char *cursor, const char *store, char ret_part[RUN_CURSOR_SIZE])
{
    size_t name_len = strlen(store);
    while (*cursor != '\0') {
        size_t len = strcspn(cursor, ",");
        if (len > name_len && cursor[name_len] == '=' && strncmp(cursor, store, name_len) == 0 &&
            len - name_len - 1 < RUN_CURSOR_SIZE) {
            memcpy(ret_part, cursor + name_len + 1, len - name_len - 1);
            ret_part[len - name_len - 1] = '\0';
            return true;
        }
        cursor += len + (cursor[len] == ',');
    }
    return false;
}
