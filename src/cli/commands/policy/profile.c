// SPDX-License-Identifier: Apache-2.0
/* rondo policy profile: the built-in profiles, as Cedar text. */
#include "base/error.h"
#include "base/json/json.h"
#include "cli/commands/policy/commands.h"
#include "cli/framework/common_options.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "policy/profile/profile_text.h"

#include <string.h>

struct policy_profile_values {
    int64_t wants_json;
};

const struct option_row policy_profile_options[] = {
    OPTION_ROW_JSON(struct policy_profile_values, "As one JSON object"),
    {0},
};

static void write_json(const char *name, struct buf *out)
{
    struct json_writer writer = json_writer(out);
    json_begin_object(&writer, NULL);
    json_begin_array(&writer, "profiles");
    for (const struct profile_text *row = profile_texts; row->name != NULL; row++) {
        if (name == NULL || strcmp(name, row->name) == 0) {
            json_begin_object(&writer, NULL);
            json_write_string(&writer, "name", row->name);
            json_write_string(&writer, "text", row->text);
            json_end_object(&writer);
        }
    }
    json_end_array(&writer);
    json_end_object(&writer);
    buf_append_string(out, "\n");
}

static void write_text(const char *name, struct buf *out)
{
    for (const struct profile_text *row = profile_texts; row->name != NULL; row++) {
        if (name == NULL) {
            buf_printf(out, "%s\n", row->name);
        } else if (strcmp(name, row->name) == 0) {
            buf_append(out, row->text, row->len);
        }
    }
}

static bool is_profile(const char *name)
{
    for (const struct profile_text *row = profile_texts; row->name != NULL; row++) {
        if (strcmp(name, row->name) == 0) {
            return true;
        }
    }
    return false;
}

int cmd_policy_profile(const struct invocation *invocation)
{
    struct policy_profile_values values = {0};
    struct option_set set = {.rows = policy_profile_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 1);
    const char *name = parsed.argc > 0 ? parsed.argv[0] : NULL;
    int exit_code = parsed.is_over ? parsed.exit_code : EXIT_OK;
    auto_buf struct buf out = {0};
    if (!parsed.is_over && name != NULL && !is_profile(name)) {
        struct rondo_error err = {0};
        error_set(&err, RONDO_ERR_INVALID,
                  "there is no profile %.64s; `rondo policy profile` lists them", name);
        exit_code = report_error_as(&err, values.wants_json != 0);
    } else if (!parsed.is_over) {
        if (values.wants_json) {
            write_json(name, &out);
        } else {
            write_text(name, &out);
        }
        report_output(&out);
    }
    option_set_fini(&set);
    return exit_code;
}
