// SPDX-License-Identifier: Apache-2.0
/* The servers of the store, and the stores of this server. */
#include "orchestrator/servers.h"
#include "base/clock.h"
#include "server/api/handlers.h"

#include <stdlib.h>

void handle_servers(struct call *call)
{
    struct rondo_error err = {0};
    struct server_info *list = NULL;
    size_t count = 0;
    int r = servers_read(call_store(call), clock_system(), &list, &count, &err);
    r = r < 0 ? r : servers_count_executing(call_store(call), list, count, &err);
    if (r < 0) {
        free(list);
        call_error(call, &err);
        return;
    }
    struct json_writer writer = call_json(call, 200);
    json_begin_object(&writer, NULL);
    json_begin_array(&writer, "servers");
    for (size_t i = 0; i < count; i++) {
        json_begin_object(&writer, NULL);
        server_write_members(&list[i], &writer);
        json_end_object(&writer);
    }
    json_end_array(&writer);
    json_end_object(&writer);
    free(list);
}

void handler_write_stores(const struct call *call, struct json_writer *writer)
{
    json_begin_array(writer, "stores");
    for (size_t i = 0; i < call->reached_count; i++) {
        json_begin_object(writer, NULL);
        json_write_string(writer, "name", call->reached[i].name);
        json_write_bool(writer, "is_away", call->reached[i].is_away);
        json_end_object(writer);
    }
    json_end_array(writer);
}

void handle_stores(struct call *call)
{
    struct json_writer writer = call_json(call, 200);
    json_begin_object(&writer, NULL);
    handler_write_stores(call, &writer);
    json_end_object(&writer);
}
