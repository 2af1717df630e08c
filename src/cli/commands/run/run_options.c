// SPDX-License-Identifier: Apache-2.0
/* From options to the spec of a run. */
#include "cli/commands/run/run_options.h"

#include "agent/spec/options.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/memory.h"
#include "cli/framework/config.h"
#include "cli/framework/report.h"
#include "cli/framework/session.h"
#include "loop/detect.h"
#include "os/file_untrusted.h"
#include "os/sandbox/named.h"
#include "worker/coding_spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void run_values_init(struct run_values *values, const struct option_row *rows,
                     struct option_set *ret_set)
{
    *values = (struct run_values){.spec = loop_spec_default()};
    *ret_set = (struct option_set){.rows = rows, .values = values};
}

void run_values_fini(struct run_values *values, struct option_set *set)
{
    option_set_fini(set);
    loop_spec_fini(&values->spec);
}

static int read_prompt(struct run_values *values, struct rondo_error *err)
{
    if (values->prompt_file == NULL) {
        return 0;
    }
    if (values->spec.prompt != NULL) {
        return error_set(err, RONDO_ERR_INVALID, "give either --prompt or --prompt-file");
    }
    size_t count = 1;
    while (values->spec.write_paths != NULL && values->spec.write_paths[count - 1] != NULL) {
        count++;
    }
    auto_free const char **agent_folders = memory_new_zero(count + 1, sizeof(*agent_folders));
    agent_folders[0] = values->spec.workspace;
    for (size_t i = 1; i < count; i++) {
        agent_folders[i] = values->spec.write_paths[i - 1];
    }
    auto_buf struct buf text = {0};
    int r = file_read_named(agent_folders, values->prompt_file, LIMIT_PROMPT_BYTES, &text, err);
    if (r == 0 && strlen(buf_string(&text)) != text.len) {
        r = error_set(err, RONDO_ERR_INVALID, "%s contains a NUL byte", values->prompt_file);
    }
    if (r < 0) {
        error_prefix(err, "--prompt-file");
        return r;
    }
    values->spec.prompt = buf_steal(&text);
    return 0;
}

static int find_workspace(struct run_values *values, struct rondo_error *err)
{
    const char *given = values->workspace == NULL ? "." : values->workspace;
    char reason[256];
    if (!named_path_is_straight(given, reason)) {
        return error_set(err, RONDO_ERR_INVALID, "--workspace %s", reason);
    }
    /* opens: the workspace itself, as the user named it */
    char *path = realpath(given, NULL);
    struct stat status;
    if (path == NULL) {
        return error_set_errno(err, RONDO_ERR_INVALID, errno, "--workspace %s", given);
    }
    /* opens: the workspace itself, by its real path */
    if (stat(path, &status) < 0 || !S_ISDIR(status.st_mode)) {
        free(path);
        return error_set(err, RONDO_ERR_INVALID, "--workspace %s: not a folder", given);
    }
    values->spec.workspace = path;
    report_shown_home(path);
    return 0;
}

static int resolve_paths(const char *workspace, char **paths, const char *option,
                         struct rondo_error *err)
{
    for (size_t i = 0; paths != NULL && paths[i] != NULL; i++) {
        char *path;
        char reason[256];
        if (!named_path_resolve(workspace, paths[i], &path, reason)) {
            return error_set(err, RONDO_ERR_INVALID, "--%s %s", option, reason);
        }
        free(paths[i]);
        paths[i] = path;
    }
    return 0;
}

int run_values_find_policy(struct run_values *values, struct rondo_error *err)
{
    if (values->policy == NULL) {
        return 0;
    }
    /* opens: only a name; policy/watch reads and guards it */
    values->spec.policy = realpath(values->policy, NULL);
    return values->spec.policy != NULL
               ? 0
               : error_set_errno(err, RONDO_ERR_NOT_FOUND, errno, "--policy %s", values->policy);
}

static int take_command(struct run_values *values, int argc, char **command,
                        struct rondo_error *err)
{
    if (argc > LIMIT_ARGUMENTS) {
        return error_set(err, RONDO_ERR_LIMIT, "the command has %d words; the limit is %d", argc,
                         LIMIT_ARGUMENTS);
    }
    values->spec.command = memory_new_zero((size_t)argc + 1, sizeof(char *));
    for (int i = 0; i < argc; i++) {
        values->spec.command[i] = memory_dup_string(command[i]);
    }
    values->spec.kind = memory_dup_string("command");
    if (values->spec.agent_id == NULL) {
        values->spec.agent_id = loop_spec_agent_of(command[0]);
    }
    return 0;
}

static int add_detected(const struct run_values *values, struct loop_spec *spec, const char *name,
                        struct rondo_error *err)
{
    if (!detect_is_standard(name)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "--until %s: a custom condition needs a command: --until %s=COMMAND (the "
                         "standard names are all_tests_pass, build_succeeds, "
                         "linting_clean and security_scan_clean)",
                         name, name);
    }
    struct detect_result found;
    int r = detect_command(spec->workspace, name, &found, err);
    return r < 0 ? r
                 : loop_spec_add_condition(spec, name, found.command, found.origin,
                                           values->verify_timeout_ns, err);
}

int run_values_add_conditions(const struct run_values *values, struct loop_spec *spec,
                              struct rondo_error *err)
{
    int r = 0;
    for (size_t i = 0; values->until != NULL && values->until[i] != NULL && r == 0; i++) {
        const char *text = values->until[i];
        const char *equals = strchr(text, '=');
        if (equals == NULL) {
            r = add_detected(values, spec, text, err);
            continue;
        }
        auto_free char *name = memory_dup_bytes(text, (size_t)(equals - text));
        r = loop_spec_add_condition(spec, name, equals + 1, "given", values->verify_timeout_ns,
                                    err);
    }
    return r;
}

int run_values_prepare(struct run_values *values, struct option_set *set, struct rondo_error *err)
{
    int r = values->config == NULL ? 0 : config_read(values->config, set, err);
    if (r == 0) {
        r = find_workspace(values, err);
    }
    if (r == 0) {
        r = read_prompt(values, err);
    }
    return r < 0 ? r : run_values_find_policy(values, err);
}

int run_values_complete_paths(struct run_values *values, struct option_set *set,
                              struct rondo_error *err)
{
    int r = run_values_prepare(values, set, err);
    if (r == 0) {
        r = resolve_paths(values->spec.workspace, values->spec.read_paths, "sandbox-read", err);
    }
    if (r == 0) {
        r = resolve_paths(values->spec.workspace, values->spec.write_paths, "sandbox-write", err);
    }
    if (r == 0 && option_is_given(set, "sandbox")) {
        values->spec.verifier_tier = values->sandbox;
        values->spec.worker_tier = values->sandbox;
    }
    return r;
}

int run_values_complete(struct run_values *values, struct option_set *set, int argc, char **command,
                        struct rondo_error *err)
{
    int r = run_values_complete_paths(values, set, err);
    if (r == 0) {
        r = take_command(values, argc, command, err);
    }
    if (r == 0) {
        r = run_values_add_conditions(values, &values->spec, err);
    }
    return r < 0 ? r : loop_spec_check(&values->spec, err);
}

int run_values_complete_coding(struct run_values *values, struct option_set *set, const char *name,
                               const char *model, bool is_single, struct rondo_error *err)
{
    int r = run_values_complete_paths(values, set, err);
    if (r == 0) {
        r = run_values_add_conditions(values, &values->spec, err);
    }
    auto_free char *config_folder = session_config_folder();
    struct coding_options options = {
        .name = name == NULL ? values->spec.agent_id : name,
        .config_folder = config_folder,
        .model = model == NULL ? values->coding_model : model,
        .agent_home = values->agent_home,
        .prices_file = values->coding_prices,
        .keeps_session = values->keeps_session != 0,
        .is_single = is_single,
    };
    if (r == 0 && options.prices_file != NULL && options.model == NULL) {
        r = error_set(err, RONDO_ERR_INVALID,
                      "--prices requires --model for a coding agent: the price is that of a model");
    }
    if (r == 0) {
        r = coding_spec_set(&options, &values->spec, err);
    }
    return r < 0 ? r : loop_spec_check(&values->spec, err);
}

bool run_values_names_coding(const char *name)
{
    auto_free char *config_folder = session_config_folder();
    return name != NULL && coding_is_known(name, config_folder);
}

void run_values_change(struct loop_spec *spec, const struct option_set *set)
{
    const struct run_values *accepted = set->values;
    if (accepted->accepts_unprotected != 0) {
        agent_accept_unprotected(spec);
    }
    const struct run_values *values = set->values;
    if (values->spec.policy != NULL) {
        free(spec->policy);
        spec->policy = memory_dup_string(values->spec.policy);
    }
    size_t spec_at = offsetof(struct run_values, spec);
    for (size_t i = 0; i < option_count(set->rows); i++) {
        size_t offset = set->rows[i].offset;
        bool is_number = set->rows[i].kind != OPTION_TEXT && set->rows[i].kind != OPTION_LIST;
        bool is_in_spec = offset >= spec_at && offset < spec_at + sizeof(*spec);
        if (set->is_given[i] && is_number && is_in_spec) {
            memcpy((char *)spec + (offset - spec_at), (const char *)set->values + offset,
                   sizeof(int64_t));
        }
    }
}
