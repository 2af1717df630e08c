// SPDX-License-Identifier: Apache-2.0
/*
 * Arguments of tool calls: the first line of the input is a tool's schema, the rest is what a model
 * wrote. A call is ready with an object that fits, or is refused with words.
 */
#include "../fuzz.h"

#include "base/json/json.h"
#include "tool/schema_check.h"
#include "tool/toolbox.h"

#include <json-c/json.h>
#include <string.h>

static void run_nothing(const struct tool *tool, const struct tool_call *call,
                        struct tool_result *ret_result)
{
    (void)tool;
    (void)call;
    (void)ret_result;
}

static void check_ready(const char *schema_text, struct json_object *arguments)
{
    struct json_object *schema = NULL;
    struct buf faults = {0};
    FUZZ_CHECK(json_object_is_type(arguments, json_type_object));
    FUZZ_CHECK(json_parse(schema_text, strlen(schema_text), &schema, NULL) == 0);
    FUZZ_CHECK(schema_check(schema, arguments, &faults));
    FUZZ_CHECK(faults.len == 0);
    json_object_put(schema);
    json_object_put(arguments);
}

static void prepare(const struct toolbox *toolbox, const char *schema, const char *arguments)
{
    struct json_object *object = NULL;
    struct tool_result result = {0};
    switch (toolbox_prepare(toolbox, "tool", arguments, &object, &result)) {
    case TOOL_READY:
        check_ready(schema, object);
        break;
    case TOOL_BAD_ARGUMENTS:
        FUZZ_CHECK(object == NULL && result.is_error && result.text.len > 0);
        break;
    case TOOL_UNKNOWN:
    case TOOL_NOT_PERMITTED:
        FUZZ_CHECK(false);
    }
    tool_result_fini(&result);
    FUZZ_CHECK(toolbox_prepare(toolbox, arguments, "", &object, &result) == TOOL_UNKNOWN ||
               strcmp(arguments, "tool") == 0);
    tool_result_fini(&result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *schema = fuzz_text(data, size);
    char *end = strchr(schema, '\n');
    char *arguments = end == NULL ? schema + strlen(schema) : end + 1;
    if (end != NULL) {
        *end = '\0';
    }
    const struct tool_surroundings around = {.workspace = "/"};
    const struct tool_function function = {
        .name = "tool", .description = "", .schema = schema, .run = run_nothing};
    struct toolbox *toolbox = toolbox_new(&around);
    if (schema[0] != '\0' && toolbox_add_function(toolbox, "test", &function, NULL, NULL) == 0 &&
        strcmp(arguments, "tool") != 0) {
        prepare(toolbox, schema, arguments);
    }
    toolbox_free(toolbox);
    free(schema);
    return 0;
}
