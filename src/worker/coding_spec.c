// SPDX-License-Identifier: Apache-2.0
/*
 * Pinning coding agents. all opens: paths of the user's own settings, of programs in PATH, and of
 * the user's home, which no agent of Rondo's names; what is found is made canonical before it is
 * used.
 */
#include "worker/coding_spec.h"

#include "base/arena.h"
#include "base/ascii.h"
#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "os/file.h"
#include "os/process/program.h"
#include "role/yaml.h"

#include <json-c/json.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- The user's own records -------------------------------------------------------------------
 */

/** Names become files: letters, digits, - and _ only. */
static bool is_plain_name(const char *name)
{
    size_t len = strlen(name);
    bool is_plain = len > 0 && len <= 64;
    for (size_t i = 0; i < len; i++) {
        is_plain =
            is_plain && (ascii_is_letter_or_digit(name[i]) || name[i] == '-' || name[i] == '_');
    }
    return is_plain;
}

static bool path_of(const char *name, const char *config_folder, struct buf *ret_path)
{
    if (config_folder == NULL || !is_plain_name(name)) {
        return false;
    }
    buf_printf(ret_path, "%s/" CODING_FOLDER "/%s.yaml", config_folder, name);
    return true;
}

/** A member that is wrong has a place in the file. */
static void add_position(const struct yaml_node *root, const char *member, const char *path,
                         struct rondo_error *err)
{
    const struct yaml_node *node = root;
    for (size_t i = 0; root->kind == YAML_MAP && member != NULL && i < root->count; i++) {
        if (strcmp(root->pairs[i].key->text == NULL ? "" : root->pairs[i].key->text, member) == 0) {
            node = root->pairs[i].value;
        }
    }
    error_prefix(err, "%s:%zu:%zu", path, node->line, node->column);
}

static int decode_yaml(const struct yaml_node *root, const char *name, const char *path,
                       struct coding_record *ret_record, struct rondo_error *err)
{
    const char *member = NULL;
    auto_json struct json_object *json = yaml_to_json(root);
    if (json_object_is_type(json, json_type_object)) {
        json_object_object_add(json, "name", json_object_new_string(name));
    }
    int r = coding_record_decode(json, ret_record, &member, err);
    if (r < 0) {
        add_position(root, member, path, err);
    }
    return r;
}

static int read_own(const char *name, const char *path, struct coding_record *ret_record,
                    struct rondo_error *err)
{
    auto_buf struct buf text = {0};
    struct arena arena = {0};
    struct yaml_node *root = NULL;
    struct yaml_problem problem;
    int r = file_read(path, LIMIT_CODING_FILE_BYTES, &text, err);
    if (r < 0) {
        return r;
    }
    r = yaml_read(buf_string(&text), text.len, 1, &arena, &root, &problem);
    if (r < 0) {
        r = error_set(err, RONDO_ERR_INVALID, "%s:%zu:%zu: %s", path, problem.line, problem.column,
                      problem.message);
    } else if (root == NULL) {
        r = error_set(err, RONDO_ERR_INVALID, "%s: the file is empty", path);
    } else {
        r = decode_yaml(root, name, path, ret_record, err);
    }
    arena_fini(&arena);
    return r;
}

bool coding_is_known(const char *name, const char *config_folder)
{
    auto_buf struct buf path = {0};
    for (size_t i = 0; coding_record_name(i) != NULL; i++) {
        if (strcmp(coding_record_name(i), name) == 0) {
            return true;
        }
    }
    return path_of(name, config_folder, &path) && access(buf_string(&path), F_OK) == 0;
}

int coding_find(const char *name, const char *config_folder, struct coding_record *ret_record,
                struct rondo_error *err)
{
    auto_buf struct buf path = {0};
    auto_buf struct buf names = {0};
    if (path_of(name, config_folder, &path) && access(buf_string(&path), F_OK) == 0) {
        return read_own(name, buf_string(&path), ret_record, err); /* It replaces a row. */
    }
    if (coding_record_find(name, ret_record)) {
        return 0;
    }
    for (size_t i = 0; coding_record_name(i) != NULL; i++) {
        buf_printf(&names, "%s%s", i > 0 ? ", " : "", coding_record_name(i));
    }
    return error_set(err, RONDO_ERR_NOT_FOUND,
                     "unknown coding agent %.64s; known are %s, and those in %s/" CODING_FOLDER,
                     name, buf_string(&names),
                     config_folder == NULL ? "~/.config/rondo" : config_folder);
}

/* ---- Programs and folders ---------------------------------------------------------------------
 */

static void add_text(char ***list, const char *text)
{
    size_t count = memory_count_list((const char *const *)*list);
    for (size_t i = 0; i < count; i++) {
        if (strcmp((*list)[i], text) == 0) {
            return;
        }
    }
    *list = memory_resize(*list, count + 2, sizeof(**list));
    (*list)[count] = memory_dup_string(text);
    (*list)[count + 1] = NULL;
}

/** The folder that a path is in, unless it is one of the system, which every sandbox shows. */
static void add_folder(char ***list, const char *path, size_t len)
{
    static const char *const system[] = {"/usr", "/bin", "/sbin", "/lib"};
    auto_free char *folder = memory_dup_bytes(path, len);
    for (size_t i = 0; i < sizeof(system) / sizeof(system[0]); i++) {
        size_t n = strlen(system[i]);
        if (strncmp(folder, system[i], n) == 0 && (folder[n] == '/' || folder[n] == '\0')) {
            return;
        }
    }
    auto_free char *real = realpath(folder, NULL);
    if (real != NULL && strcmp(real, "/") != 0) {
        add_text(list, real);
    }
}

/** What a program needs to be read: its folder, and the packages it comes with. */
static void add_program_paths(char ***list, const char *path)
{
    static const char packages[] = "/node_modules/";
    auto_free char *real = realpath(path, NULL);
    add_folder(list, path, (size_t)(strrchr(path, '/') - path));
    if (real != NULL) {
        const char *inside = strstr(real, packages);
        size_t len = inside != NULL ? (size_t)(inside - real) + strlen(packages) - 1
                                    : (size_t)(strrchr(real, '/') - real);
        add_folder(list, real, len);
    }
}

static int locate_program(struct coding_record *record, struct loop_spec *spec,
                          struct rondo_error *err)
{
    char path[PATH_MAX];
    char reason[256];
    const char *const *envp = (const char *const *)environ;
    if (!program_find(record->program, envp, "/", path, reason)) {
        return error_set(
            err, RONDO_ERR_NOT_FOUND,
            "the coding agent %s is not installed: %s; `rondo doctor` lists those that are",
            record->name, reason);
    }
    free(record->program_path);
    record->program_path = memory_dup_string(path);
    if (spec->worker_tier != SANDBOX_NONE) {
        add_program_paths(&spec->read_paths, path);
        if (program_find("node", envp, "/", path, reason)) {
            add_program_paths(&spec->read_paths, path);
        }
    }
    return 0;
}

/** "~/x" in the user's home. */
static void expand(const char *path, size_t len, struct buf *ret_path)
{
    const char *home = getenv("HOME");
    if (len > 0 && path[0] == '~' && home != NULL) {
        buf_append_string(ret_path, home);
        path++;
        len--;
    }
    buf_append(ret_path, path, len);
}

/** In a sandbox HOME is another: the login is found by a variable, and its folder is writable. */
static void open_home(struct coding_record *record, struct loop_spec *spec)
{
    for (size_t i = 0; record->home != NULL && record->home[i] != NULL; i++) {
        const char *entry = record->home[i];
        const char *value = entry + strcspn(entry, "=");
        value += *value == '=';
        size_t len = strcspn(value, " ");
        const char *folder = value[len] == ' ' ? value + len + 1 : value;
        auto_buf struct buf path = {0};
        auto_buf struct buf variable = {0};
        expand(folder, strcspn(folder, " "), &path);
        auto_free char *real = realpath(buf_string(&path), NULL);
        if (real != NULL) {
            buf_append(&variable, entry, (size_t)(value - entry));
            expand(value, len, &variable);
            add_text(&record->env, buf_string(&variable));
            add_text(&spec->write_paths, real);
        }
    }
}

static int set_home(const struct coding_options *options, struct coding_record *record,
                    struct loop_spec *spec, struct rondo_error *err)
{
    if (options->agent_home == NULL) {
        if (spec->worker_tier != SANDBOX_NONE) {
            open_home(record, spec);
        }
        return 0;
    }
    record->agent_home = realpath(options->agent_home, NULL);
    if (record->agent_home == NULL) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "--agent-home %s: no such folder",
                         options->agent_home);
    }
    add_text(&spec->write_paths, record->agent_home);
    return 0;
}

/* ---- The spec --------------------------------------------------------------------------------
 */

static void set_default(int64_t *time_ns, int64_t otherwise_ns)
{
    *time_ns = *time_ns == 0 ? otherwise_ns : *time_ns;
}

static int complete(const struct coding_options *options, struct coding_record *record,
                    struct loop_spec *spec, struct rondo_error *err)
{
    if (options->model != NULL && record->model_words == NULL) {
        return error_set(err, RONDO_ERR_INVALID, "--model: %s has no such option", record->name);
    }
    if (options->keeps_session && record->resume_words == NULL) {
        return error_set(err, RONDO_ERR_INVALID, "--resume-session: %s cannot resume a session",
                         record->name);
    }
    record->model = memory_dup_string(options->model);
    record->keeps_session = options->keeps_session;
    record->is_single = options->is_single;
    record->permissions = spec->worker_tier == SANDBOX_NONE ? CODING_GUARDED : CODING_UNATTENDED;
    int r = 0;
    if (options->prices_file != NULL && record->provider != NULL && record->model != NULL) {
        record->prices = prices_find(record->provider, record->model);
        r = prices_read_file(options->prices_file, record->provider, record->model, &record->prices,
                             err);
    }
    r = r < 0 ? r : locate_program(record, spec, err);
    return r < 0 ? r : set_home(options, record, spec, err);
}

static void put(const struct coding_record *record, struct loop_spec *spec)
{
    struct buf json = {0};
    coding_record_encode(record, &json);
    free(spec->coding);
    spec->coding = buf_steal(&json);
    free(spec->kind);
    spec->kind = memory_dup_string("coding");
    if (spec->agent_id == NULL) {
        spec->agent_id = memory_dup_string(record->name);
    }
    if (record->is_single) {
        spec->max_iterations = 1;
    }
    set_default(&spec->first_output_ns, CODING_START_NS);
    set_default(&spec->silence_ns, CODING_SILENCE_NS);
    set_default(&spec->iteration_timeout_ns, CODING_TOTAL_NS);
}

int coding_spec_set(const struct coding_options *options, struct loop_spec *spec,
                    struct rondo_error *err)
{
    struct coding_record record;
    if (spec->prompt == NULL || spec->prompt[0] == '\0') {
        return error_set(err, RONDO_ERR_INVALID, "a coding agent needs a task: --prompt (-p)");
    }
    int r = coding_find(options->name, options->config_folder, &record, err);
    if (r < 0) {
        return r;
    }
    r = complete(options, &record, spec, err);
    if (r == 0) {
        put(&record, spec);
    }
    coding_record_fini(&record);
    return r;
}
