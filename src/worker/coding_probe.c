// SPDX-License-Identifier: Apache-2.0
/* Asking programs for their version. What they write is cleaned and cut: anybody could have put
 * them there. */
#include "worker/coding_probe.h"

#include "base/limits.h"
#include "base/text/plain.h"
#include "os/environment.h"
#include "os/process/program.h"
#include "os/spawn/spawn.h"
#include "worker/coding/record.h"

#include <string.h>
#include <unistd.h>

/** Bytes of a version that are shown. */
#define VERSION_BYTES 80

/** Append the first line of what it printed. */
static void add_version(const char *path, struct buf *ret_text)
{
    const char *const argv[] = {path, "--version", NULL};
    char **envp = environment_reduced(NULL, NULL);
    struct spawn_result result = {0};
    struct spawn_request request = {
        .argv = argv,
        .envp = (const char *const *)envp,
        .directory = "/",
        .total_ns = LIMIT_CODING_VERSION_NS,
        .grace_ns = LIMIT_CODING_VERSION_NS / 10,
        .output_keep = 4096,
    };
    bool is_said = spawn_run(&request, &result, NULL) == 0 && result.end == SPAWN_EXITED &&
                   result.exit_code == 0 && result.output_len > 0;
    if (is_said) {
        size_t len = strcspn(result.output, "\n");
        buf_append_string(ret_text, ", ");
        text_clean(result.output, len < VERSION_BYTES ? len : VERSION_BYTES, ret_text);
    } else {
        buf_append_string(ret_text, ", version unknown");
    }
    spawn_result_fini(&result);
    environment_free(envp);
}

bool coding_probe(size_t i, struct buf *ret_text)
{
    struct coding_record record;
    char path[PATH_MAX];
    char reason[256];
    bool is_there = coding_record_find(coding_record_name(i), &record) &&
                    program_find(record.program, (const char *const *)environ, "/", path, reason);
    if (is_there) {
        text_clean(path, strlen(path), ret_text);
        add_version(path, ret_text);
    }
    coding_record_fini(&record);
    return is_there;
}
