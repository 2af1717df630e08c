// SPDX-License-Identifier: Apache-2.0
/* rondo version. */
#include "base/version.h"
#include "base/json/json.h"
#include "cli/framework/command.h"
#include "cli/framework/common_options.h"
#include "cli/framework/report.h"

struct version_values {
    int64_t wants_json;
};

const struct option_row version_options[] = {
    OPTION_ROW_JSON(struct version_values, "As a JSON object"),
    {0},
};

int cmd_version(const struct invocation *invocation)
{
    struct version_values values = {0};
    struct option_set set = {.rows = version_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 0);
    if (parsed.is_over) {
        return parsed.exit_code;
    }
    auto_buf struct buf text = {0};
    if (values.wants_json) {
        struct json_writer writer = json_writer(&text);
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "version", RONDO_VERSION);
        json_end_object(&writer);
        buf_append_string(&text, "\n");
    } else {
        buf_append_string(&text, "rondo " RONDO_VERSION "\n");
    }
    report_output(&text);
    return 0;
}
