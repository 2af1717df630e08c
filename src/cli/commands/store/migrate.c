// SPDX-License-Identifier: Apache-2.0
/* rondo store migrate: bring the schema up to date, and say so. Opening the store for it does it.
 */
#include "base/auto.h"
#include "base/json/json.h"
#include "cli/commands/store/commands.h"
#include "cli/framework/common_options.h"
#include "cli/framework/report.h"
#include "cli/terminal/text.h"
#include "store/locate/locate.h"
#include "store/store.h"

#include <inttypes.h>
#include <string.h>

struct migrate_values {
    char *store;
    int64_t wants_json;
};

const struct option_row store_migrate_options[] = {
    OPTION_ROW_STORE(struct migrate_values),
    OPTION_ROW_JSON(struct migrate_values, "As one JSON object"),
    {0},
};

static void print_schema(const char *name, const struct store_schema *schema, bool wants_json)
{
    auto_buf struct buf out = {0};
    if (wants_json) {
        struct json_writer writer = json_writer(&out);
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "store", name);
        json_write_int(&writer, "from", schema->found);
        json_write_int(&writer, "to", schema->present);
        json_end_object(&writer);
        buf_append_string(&out, "\n");
    } else {
        text_clean(name, strlen(name), &out);
        if (schema->found == schema->present) {
            buf_printf(&out, " has schema %" PRIu32 " already\n", schema->present);
        } else {
            buf_printf(&out, " was migrated from schema %" PRIu32 " to %" PRIu32 "\n",
                       schema->found, schema->present);
        }
    }
    report_output(&out);
}

int cmd_store_migrate(const struct invocation *invocation)
{
    struct migrate_values values = {0};
    struct option_set set = {.rows = store_migrate_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 1);
    if (!parsed.is_over) {
        struct rondo_error err = {0};
        struct store *store = NULL;
        auto_free char *path = NULL;
        const char *given = parsed.argc > 0 ? parsed.argv[0] : values.store;
        int r = store_open_default(given, STORE_MIGRATING, &store, &path, &err);
        if (r == 0) {
            auto_free char *name = store_name_of(path);
            struct store_schema schema = store->ops->schema(store);
            print_schema(name, &schema, values.wants_json != 0);
        }
        store_close(store);
        parsed.exit_code = r < 0 ? report_error_as(&err, values.wants_json != 0) : 0;
    }
    option_set_fini(&set);
    return parsed.exit_code;
}
