// SPDX-License-Identifier: Apache-2.0
/*
 * Hand-over folders. Paths are only passed to the command and to its sandbox; what is done here
 * goes by descriptors. What a worker writes is foreign input: all of its result file is checked.
 */
#include "worker/files.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/parse.h"
#include "os/file.h"
#include "os/file_folder.h"
#include "os/file_untrusted.h"

#include <fcntl.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[WORKER_FILE_COUNT] = {
    [WORKER_FILE_PROMPT] = "prompt",
    [WORKER_FILE_STATE] = "state",
    [WORKER_FILE_FEEDBACK] = "feedback.json",
    [WORKER_FILE_RESULT] = "result.json",
};

/** One folder that files are handed over in. */
struct exchange_folder {
    int fd;       /* -1 = none */
    int above_fd; /* the folder that it is in; -1 for one of temporary files */
    char *path;
};

struct worker_files {
    char *work_folder;
    char *run_id;
    char epoch[24];
    char *lock;
    struct exchange_folder first;     /* in the run's folder */
    struct exchange_folder temporary; /* after worker_files_move */
    char *paths[WORKER_FILE_COUNT];
};

static char *join(const char *folder, const char *name)
{
    struct buf path = {0};
    buf_printf(&path, "%s/%s", folder, name);
    return buf_steal(&path);
}

static struct exchange_folder *place_of(struct worker_files *files)
{
    return files->temporary.fd >= 0 ? &files->temporary : &files->first;
}

static void close_slot(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

static void set_paths(struct worker_files *files)
{
    for (size_t i = 0; i < WORKER_FILE_COUNT; i++) {
        free(files->paths[i]);
        files->paths[i] = join(worker_files_folder(files), names[i]);
    }
}

/** Whether the path that the command gets leads to the folder that is held. */
static bool is_in_place(const struct exchange_folder *place)
{
    return place->fd >= 0 && file_folder_is_at(place->fd, AT_FDCWD, place->path);
}

static int open_work_folder(const struct worker_files *files, struct rondo_error *err)
{
    /* opens: the folder for all runs is out of agents' reach */
    int r = file_make_folder(files->work_folder, err);
    /* opens: the folder for all runs is out of agents' reach */
    return r < 0 ? r : file_open_folder(files->work_folder, err);
}

/** Make the folder, again if it was put elsewhere; what is in its place now is removed. */
static int make_first(struct worker_files *files, struct rondo_error *err)
{
    auto_close int work_fd = open_work_folder(files, err);
    auto_close int run_fd = work_fd < 0 ? work_fd : file_folder_make(work_fd, files->run_id, err);
    if (run_fd == RONDO_ERR_INVALID) { /* Something else has its name. */
        int r = file_folder_remove(work_fd, files->run_id, err);
        run_fd = r < 0 ? r : file_folder_make(work_fd, files->run_id, err);
    }
    if (run_fd < 0) {
        return run_fd;
    }
    int r = file_folder_remove(run_fd, files->epoch, err);
    int fd = r < 0 ? r : file_folder_make(run_fd, files->epoch, err);
    if (fd < 0) {
        return fd;
    }
    close_slot(&files->first.fd);
    close_slot(&files->first.above_fd);
    files->first.fd = fd;
    files->first.above_fd = steal_fd(&run_fd);
    return 0;
}

int worker_files_new(const char *work_folder, const char *run_id, uint64_t epoch,
                     struct worker_files **ret_files, struct rondo_error *err)
{
    struct worker_files *files = memory_new_zero(1, sizeof(*files));
    auto_free char *run_folder = join(work_folder, run_id);
    snprintf(files->epoch, sizeof(files->epoch), "%" PRIu64, epoch);
    files->work_folder = memory_dup_string(work_folder);
    files->run_id = memory_dup_string(run_id);
    files->lock = join(run_folder, "lock");
    files->first = (struct exchange_folder){-1, -1, join(run_folder, files->epoch)};
    files->temporary = (struct exchange_folder){-1, -1, NULL};
    int r = make_first(files, err);
    if (r < 0) {
        worker_files_free(files);
        return r;
    }
    set_paths(files);
    *ret_files = files;
    return 0;
}

/** Empty the folder that is held, wherever it is, and remove what has its name. */
static void remove_place(struct exchange_folder *place, const char *name)
{
    if (place->fd >= 0) {
        bool is_ours = is_in_place(place);
        file_folder_clear(place->fd, NULL);
        if (place->above_fd >= 0) {
            file_folder_remove(place->above_fd, name, NULL);
        } else if (is_ours) {
            /* opens: removes an empty folder only */
            (void)!rmdir(place->path);
        }
    }
    close_slot(&place->fd);
    close_slot(&place->above_fd);
    free(place->path);
}

void worker_files_free(struct worker_files *files)
{
    if (files == NULL) {
        return;
    }
    remove_place(&files->temporary, NULL);
    remove_place(&files->first, files->epoch);
    for (size_t i = 0; i < WORKER_FILE_COUNT; i++) {
        free(files->paths[i]);
    }
    free(files->work_folder);
    free(files->run_id);
    free(files->lock);
    free(files);
}

void worker_files_remove_run(struct worker_files *files)
{
    /* opens: the folder for all runs is out of agents' reach */
    auto_close int work_fd = file_open_folder(files->work_folder, NULL);
    if (work_fd >= 0) {
        file_folder_remove(work_fd, files->run_id, NULL);
    }
}

int worker_files_begin(struct worker_files *files, struct rondo_error *err)
{
    struct exchange_folder *place = place_of(files);
    if (!is_in_place(place)) {
        if (place->above_fd < 0) {
            return worker_files_move(files, err);
        }
        file_folder_clear(place->fd, NULL);
        return make_first(files, err);
    }
    /* Somebody may have made it read-only; a failure shows with the first file. */
    (void)!fchmod(place->fd, 0700);
    return file_folder_remove(place->fd, names[WORKER_FILE_RESULT], err);
}

int worker_files_move(struct worker_files *files, struct rondo_error *err)
{
    char *path = NULL;
    int fd = file_folder_make_temporary(&path, err);
    if (fd < 0) {
        return fd;
    }
    remove_place(&files->temporary, NULL);
    files->temporary = (struct exchange_folder){fd, -1, path};
    set_paths(files);
    return 0;
}

int worker_files_write(struct worker_files *files, enum worker_file file, const void *bytes,
                       size_t len, struct rondo_error *err)
{
    return file_folder_write(place_of(files)->fd, names[file], bytes, len, err);
}

int worker_files_read(struct worker_files *files, enum worker_file file, size_t limit,
                      struct buf *ret_buf, struct rondo_error *err)
{
    const struct exchange_folder *place = place_of(files);
    if (!is_in_place(place)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "the hand-over folder was moved or replaced; leave %s where it is",
                         place->path);
    }
    (void)!fchmod(place->fd, 0700);
    return file_read_untrusted(place->fd, names[file], limit, ret_buf, err);
}

const char *worker_files_folder(const struct worker_files *files)
{
    return files->temporary.fd >= 0 ? files->temporary.path : files->first.path;
}

const char *worker_files_path(const struct worker_files *files, enum worker_file file)
{
    return files->paths[file];
}

const char *worker_files_lock(const struct worker_files *files)
{
    return files->lock;
}

/* ---- The result file ------------------------------------------------------------------------- */

void worker_result_fini(struct worker_result *result)
{
    free(result->summary);
    free(result->custom_data);
    *result = (struct worker_result){0};
}

static int wrong_type(const char *key, const char *wanted, struct rondo_error *err)
{
    return error_set(err, RONDO_ERR_INVALID, "'%s' must be %s", key, wanted);
}

static int parse_finish(struct json_object *finish, struct worker_result *result,
                        struct rondo_error *err)
{
    if (!json_object_is_type(finish, json_type_object)) {
        return wrong_type("finish", "an object", err);
    }
    const char *status = json_get_string(finish, "status", "");
    if (!run_finish_from_name(status, &result->finish)) {
        return wrong_type("finish.status", "completed, blocked or failed", err);
    }
    struct json_object *summary = json_member(finish, "summary");
    if (summary == NULL) {
        return 0;
    }
    if (!json_object_is_type(summary, json_type_string)) {
        return wrong_type("finish.summary", "a string", err);
    }
    if (json_object_get_string_len(summary) > LIMIT_SUMMARY_BYTES) {
        return error_set(err, RONDO_ERR_LIMIT, "'finish.summary' is longer than %ld bytes",
                         LIMIT_SUMMARY_BYTES);
    }
    result->summary = memory_dup_string(json_object_get_string(summary));
    return 0;
}

/** Cost may be a number or, to keep every digit, a text such as "0.0125". */
static int parse_cost(struct json_object *cost, int64_t *ret_micro, struct rondo_error *err)
{
    if (json_object_is_type(cost, json_type_double)) {
        double value = json_object_get_double(cost);
        if (!(value >= 0 && value <= 1e12)) {
            return wrong_type("usage.cost", "an amount from 0 to 1e12", err);
        }
        *ret_micro = (int64_t)(value * 1e6 + 0.5);
        return 0;
    }
    if (!json_object_is_type(cost, json_type_string) && !json_object_is_type(cost, json_type_int)) {
        return wrong_type("usage.cost", "an amount such as \"0.25\"", err);
    }
    int r = parse_money(json_object_get_string(cost), ret_micro, err);
    if (r < 0) {
        error_prefix(err, "'usage.cost'");
    }
    return r;
}

static int parse_usage(struct json_object *usage, struct worker_result *result,
                       struct rondo_error *err)
{
    if (!json_object_is_type(usage, json_type_object)) {
        return wrong_type("usage", "an object", err);
    }
    struct json_object *tokens = json_member(usage, "tokens");
    if (tokens != NULL) {
        result->tokens = json_object_get_int64(tokens);
        if (!json_object_is_type(tokens, json_type_int) || result->tokens < 0 ||
            result->tokens > INT64_MAX / 4) {
            return wrong_type("usage.tokens", "a whole number that is not negative", err);
        }
    }
    struct json_object *cost = json_member(usage, "cost");
    return cost == NULL ? 0 : parse_cost(cost, &result->cost_micro, err);
}

static int parse_custom_data(struct json_object *custom_data, struct worker_result *result,
                             struct rondo_error *err)
{
    if (!json_object_is_type(custom_data, json_type_object)) {
        return wrong_type("custom_data", "an object", err);
    }
    const char *text = json_object_to_json_string_ext(custom_data, JSON_C_TO_STRING_PLAIN);
    if (strlen(text) > LIMIT_CUSTOM_DATA_BYTES) {
        return error_set(err, RONDO_ERR_LIMIT, "'custom_data' is longer than %ld bytes",
                         LIMIT_CUSTOM_DATA_BYTES);
    }
    result->custom_data = memory_dup_string(text);
    return 0;
}

static const struct {
    const char *key;
    int (*parse)(struct json_object *value, struct worker_result *result, struct rondo_error *err);
} keys[] = {
    {"finish", parse_finish},
    {"usage", parse_usage},
    {"custom_data", parse_custom_data},
};

int worker_result_parse(const char *json, size_t len, struct worker_result *ret_result,
                        struct rondo_error *err)
{
    auto_json struct json_object *root = NULL;
    int r = json_parse(json, len, &root, err);
    if (r < 0) {
        return r;
    }
    if (!json_object_is_type(root, json_type_object)) {
        return error_set(err, RONDO_ERR_INVALID, "it is not a JSON object");
    }
    struct worker_result result = {0};
    for (size_t i = 0; r == 0 && i < sizeof(keys) / sizeof(keys[0]); i++) {
        struct json_object *value = json_member(root, keys[i].key);
        if (value != NULL) {
            r = keys[i].parse(value, &result, err);
        }
    }
    if (r < 0) {
        worker_result_fini(&result);
        return r;
    }
    *ret_result = result;
    return 0;
}
