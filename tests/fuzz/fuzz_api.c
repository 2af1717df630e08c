// SPDX-License-Identifier: Apache-2.0
/*
 * Requests to the API as far as they need no socket: routes, cursors, hosts, origins, bodies. A
 * value that was decoded never climbs, and a body that is read has each member once.
 */
#include "fuzz.h"

#include "base/json/json.h"
#include "server/answer/idempotency.h"
#include "server/answer/problem.h"
#include "server/api/run_cursor.h"
#include "server/auth/access.h"
#include "server/router.h"

#include <json-c/json.h>
#include <string.h>
#include <strings.h>

static void try_path(const char *path)
{
    struct route_match match;
    if (router_match(routes, "GET", path, &match) != ROUTE_FOUND) {
        return;
    }
    for (size_t i = 0; i < match.count; i++) {
        const char *value = match.values[i].value;
        FUZZ_CHECK(value[0] != '\0' && strpbrk(value, "/\\\n\r") == NULL);
        FUZZ_CHECK(strcmp(value, "..") != 0 && strcmp(value, ".") != 0);
    }
}

static void try_cursor(const char *text)
{
    struct store_run_place place;
    for (int order = 0; order < STORE_ORDER_COUNT; order++) {
        if (run_cursor_read(text, (enum store_run_order)order, true, &place)) {
            auto_buf struct buf again = {0};
            struct store_run_place other;
            run_cursor_write(&place, (enum store_run_order)order, true, &again);
            FUZZ_CHECK(
                run_cursor_read(buf_string(&again), (enum store_run_order)order, true, &other));
            FUZZ_CHECK(other.number == place.number && strcmp(other.id, place.id) == 0);
        }
    }
}

static void try_names(const char *text)
{
    static const char *const hosts[] = {"rondo.example", NULL};
    struct access_names names = {NULL, hosts, "box7"};
    if (access_is_our_host(&names, text)) {
        FUZZ_CHECK(strpbrk(text, "@/ ") == NULL);
    }
    if (access_is_same_origin(text, "localhost:7466")) {
        FUZZ_CHECK(strncasecmp(text, "http", 4) == 0 && strstr(text, "7466") != NULL);
    }
    if (idempotency_key_is_valid(text)) {
        FUZZ_CHECK(strlen(text) <= LIMIT_IDEMPOTENCY_KEY);
    }
}

static void try_body(const char *bytes, size_t size)
{
    struct json_object *value = NULL;
    if (json_parse_strict(bytes, size, &value, NULL) == 0) {
        FUZZ_CHECK(fuzz_is_json(bytes, size));
        json_object_put(value);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    char *bytes = fuzz_bytes(data, size);
    auto_buf struct buf problem = {0};
    try_path(text);
    try_cursor(text);
    try_names(text);
    try_body(bytes, size);
    problem_write(PROBLEM_MALFORMED, text, text, NULL, &problem);
    FUZZ_CHECK(fuzz_is_json(buf_string(&problem), problem.len));
    free(bytes);
    free(text);
    return 0;
}
