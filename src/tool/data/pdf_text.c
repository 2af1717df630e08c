// SPDX-License-Identifier: Apache-2.0
/* Running pdftotext. */
#include "tool/data/pdf_text.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "tool/builtin/shell_run.h"

#include <json-c/json.h>
#include <stdlib.h>

bool pdf_text(const struct tool_surroundings *around, const struct tool_call *call,
              const struct buf *document, size_t most, struct buf *ret_text)
{
    static const char *const argv[] = {"pdftotext", "-q", "-enc", "UTF-8", "-", "-", NULL};
    auto_json struct json_object *nothing = json_object_new_object();
    struct command_place place;
    struct command_result result = {0};
    if (command_place_read(around, nothing, &place, NULL) < 0) {
        return false;
    }
    free(place.directory);
    free(place.read_path);
    place.directory = memory_dup_string("/");
    place.read_path = NULL;
    place.workspace = NULL;
    place.allow_network = false;
    place.max_output_bytes = most;
    const struct shell_command command = {
        .argv = argv,
        .input = document->data,
        .input_len = document->len,
        .timeout_seconds = PDF_SECONDS,
    };
    command_run(&place, &command, call, &result);
    bool is_good = result.end == COMMAND_EXITED && result.exit_code == 0;
    for (size_t i = 0; is_good && i < result.output.len; i++) {
        /* A page ends with a form feed: as the end of a paragraph, pieces end there. */
        bool is_page = result.output.data[i] == '\f';
        buf_append(ret_text, is_page ? "\n" : result.output.data + i, 1);
    }
    command_result_fini(&result);
    command_place_fini(&place);
    return is_good;
}
