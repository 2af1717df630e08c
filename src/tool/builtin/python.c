// SPDX-License-Identifier: Apache-2.0
/*
 * Tool type "python": a program of the model's, in a sandbox that has a network only where the role
 * says so. It starts in an empty folder of its own that is gone afterwards, or in `working_dir`.
 */
#include "tool/toolbox.h"
#include "tool/types.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "os/file_folder.h"
#include "tool/builtin/shell_run.h"
#include "tool/canonical.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct python {
    struct command_place place;
    bool has_directory; /* working_dir is given */
    const char *workspace;
};

static void run_code(const struct python *python, const char *code, const char *folder,
                     const struct tool_call *call, struct tool_result *ret_result)
{
    /* -B: no __pycache__ is left. The code comes on stdin. */
    static const char *const argv[] = {"python3", "-B", "-", NULL};
    const struct shell_command command = {
        .argv = argv,
        .directory = folder,
        .write_path = folder,
        .input = code,
        .input_len = strlen(code),
    };
    struct command_result result;
    command_run(&python->place, &command, call, &result);
    command_tell(&python->place, "python3", &result, ret_result);
    command_result_fini(&result);
}

static void run_python(const struct tool *tool, const struct tool_call *call,
                       struct tool_result *ret_result)
{
    const struct python *python = tool->context;
    const char *code = json_get_string(call->arguments, "code", "");
    struct rondo_error err = {0};
    if (python->has_directory) {
        if (file_folder_make_path(python->workspace, python->place.directory, &err) < 0) {
            tool_fail(ret_result, "Error: %s", err.message);
            return;
        }
        run_code(python, code, NULL, call, ret_result);
        return;
    }
    auto_free char *folder = NULL;
    auto_close int fd = file_folder_make_temporary(&folder, &err);
    if (fd < 0) {
        tool_fail(ret_result, "Error: %s", err.message);
        return;
    }
    run_code(python, code, folder, call, ret_result);
    /* A left-over in the temporary folder harms nobody. */
    (void)file_folder_clear(fd, NULL);
    (void)file_folder_remove(AT_FDCWD, folder, NULL);
}

static const struct tool_argument arguments[] = {{"code", ARGUMENT_PROGRAM}, {0}};

static const struct tool_function function = {
    .name = "run_python",
    .description = "Run a Python 3 program and see what it prints.",
    .schema = "{\"type\":\"object\",\"properties\":{\"code\":{\"type\":\"string\",\"description\":"
              "\"The program\"}},\"required\":[\"code\"],\"additionalProperties\":false}",
    .run = run_python,
    .arguments = arguments,
};

static void free_python(void *owned)
{
    struct python *python = owned;
    command_place_fini(&python->place);
    free(python);
}

static int open_python(struct toolbox *toolbox, struct json_object *config, struct rondo_error *err)
{
    struct python *python = memory_new_zero(1, sizeof(*python));
    toolbox_own(toolbox, python, free_python);
    int r = command_place_read(toolbox_surroundings(toolbox), config, &python->place, err);
    if (r < 0) {
        return r;
    }
    python->workspace = toolbox_surroundings(toolbox)->workspace;
    python->has_directory = json_get_string(config, "working_dir", "")[0] != '\0';
    bool is_offline = json_get_bool(config, "network_disabled", true);
    if (is_offline && python->place.tier == SANDBOX_NONE) {
        return error_set(
            err, RONDO_ERR_INVALID,
            "without a sandbox there is no way to keep Python from the network; "
            "choose a sandbox (spec.execution.sandbox) or set network_disabled: false");
    }
    python->place.allow_network = python->place.allow_network && !is_offline;
    struct tool tool = toolbox_tool(python_tool_type.name, &function, python);
    tool.needs_confirmation = json_get_bool(config, "require_confirmation", true);
    return toolbox_add(toolbox, &tool, err);
}

const struct tool_type python_tool_type = {.name = "python", .open = open_python};
