// SPDX-License-Identifier: Apache-2.0
/* The files of a ruleset. */
#include "policy/watch_files.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "os/file.h"
#include "os/file_untrusted.h"
#include "os/host.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define POLICY_SUFFIX   ".cedar"
#define ENTITIES_SUFFIX ".entities.json"
#define LINKS_SUFFIX    ".links.json"

void watch_files_fini(struct watch_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->files[i].path);
    }
    free(files->files);
    *files = (struct watch_files){0};
}

static bool has_suffix(const char *name, const char *suffix)
{
    size_t len = strlen(name);
    size_t suffix_len = strlen(suffix);
    return len > suffix_len && strcmp(name + len - suffix_len, suffix) == 0;
}

/** What cannot be looked at is a problem of the whole: left out, it would not forbid any more. */
static void note_problem(struct watch_files *files, int failure, const char *path)
{
    error_set_errno(&files->problem, RONDO_ERR_IO, failure, "cannot look at %s", path);
}

/** Takes `path` over. */
static void add_file(struct watch_files *files, char *path, enum ruleset_part part,
                     const struct file_state *state)
{
    files->files = memory_resize(files->files, files->count + 1, sizeof(*files->files));
    files->files[files->count++] = (struct watch_file){.path = path, .part = part, .state = *state};
}

/**
 * Take a file that may be there. Takes `path` over.
 * @param must_exist a name that leads to no file is a problem as well
 */
static void take_file(struct watch_files *files, char *path, enum ruleset_part part,
                      bool must_exist)
{
    struct file_state state;
    bool is_missing = false;
    /* opens: looks only; read_text decides how it is read */
    int failure = file_state_look(path, &state, &is_missing);
    if (failure == 0) {
        add_file(files, path, part, &state);
        return;
    }
    if (must_exist || !is_missing) {
        note_problem(files, failure, path);
    }
    free(path);
}

static char *join(const char *first, size_t first_len, const char *second)
{
    struct buf path = {0};
    buf_append(&path, first, first_len);
    buf_append_string(&path, second);
    return buf_steal(&path);
}

char *watch_part_path(const char *path, size_t part)
{
    size_t stem = strlen(path) - (has_suffix(path, POLICY_SUFFIX) ? strlen(POLICY_SUFFIX) : 0);
    return part == RULESET_POLICIES
               ? memory_dup_string(path)
               : join(path, stem, part == RULESET_ENTITIES ? ENTITIES_SUFFIX : LINKS_SUFFIX);
}

/** The other parts of a policy file. */
static void find_beside(struct watch_files *files, const char *path)
{
    for (enum ruleset_part part = RULESET_POLICIES + 1; part < WATCH_PARTS; part++) {
        take_file(files, watch_part_path(path, part), part, false);
    }
}

static bool is_hidden_or_other(const struct dirent *entry)
{
    return entry->d_name[0] == '.' || (!has_suffix(entry->d_name, POLICY_SUFFIX) &&
                                       strcmp(entry->d_name, "entities.json") != 0 &&
                                       strcmp(entry->d_name, "links.json") != 0);
}

static int select_entry(const struct dirent *entry)
{
    return !is_hidden_or_other(entry);
}

static void find_in_folder(struct watch_files *files, const char *path)
{
    struct dirent **entries = NULL;
    /* opens: looks only; read_text decides how it is read */
    int count = scandir(path, &entries, select_entry, alphasort);
    if (count < 0) {
        error_set_errno(&files->problem, RONDO_ERR_IO, errno, "cannot list %s", path);
        return;
    }
    for (int i = 0; i < count; i++) {
        auto_free char *name = join("/", 1, entries[i]->d_name);
        enum ruleset_part part = has_suffix(name, POLICY_SUFFIX)    ? RULESET_POLICIES
                                 : strcmp(name, "/links.json") == 0 ? RULESET_LINKS
                                                                    : RULESET_ENTITIES;
        if (i < WATCH_FILES) {
            take_file(files, join(path, strlen(path), name), part, true);
        }
        free(entries[i]);
    }
    free(entries);
    if (count > WATCH_FILES) {
        error_set(&files->problem, RONDO_ERR_LIMIT, "%s has %d policy files; the limit is %d", path,
                  count, WATCH_FILES);
    }
}

static uint64_t add_number(uint64_t hash, uint64_t number)
{
    hash = (hash ^ number) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 31;
}

static uint64_t sign(const struct watch_files *files)
{
    uint64_t hash = add_number(files->count, files->is_missing ? 1 : 0);
    hash = add_number(hash, (uint64_t)(int64_t)files->problem.code);
    hash = add_number(hash, (uint64_t)files->problem.os_errno);
    for (size_t i = 0; i < files->count; i++) {
        const struct watch_file *file = &files->files[i];
        for (const char *at = file->path; *at != '\0'; at++) {
            hash = add_number(hash, (unsigned char)*at);
        }
        hash = add_number(hash, file->state.device);
        hash = add_number(hash, file->state.inode);
        hash = add_number(hash, (uint64_t)file->state.born_ns);
        hash = add_number(hash, file->state.size);
        hash = add_number(hash, (uint64_t)file->state.modified_ns);
        hash = add_number(hash, (uint64_t)file->state.changed_ns);
    }
    return hash | 1;
}

void watch_files_find(const char *path, struct watch_files *ret_files)
{
    struct file_state state;
    *ret_files = (struct watch_files){0};
    /* A symbolic link that leads nowhere is not the same as no policies. */
    /* opens: looks only; read_text decides how it is read */
    int failure = file_state_look(path, &state, &ret_files->is_missing);
    if (failure != 0 && !ret_files->is_missing) {
        note_problem(ret_files, failure, path);
    } else if (failure == 0 && S_ISDIR(state.mode)) {
        find_in_folder(ret_files, path);
    } else if (failure == 0) {
        add_file(ret_files, memory_dup_string(path), RULESET_POLICIES, &state);
        find_beside(ret_files, path);
    }
    ret_files->signature = sign(ret_files);
}

void watch_files_find_as(const char *path, const char *text, size_t len,
                         struct watch_files *ret_files)
{
    *ret_files = (struct watch_files){.files = memory_new_zero(1, sizeof(*ret_files->files))};
    ret_files->files[ret_files->count++] = (struct watch_file){
        .path = memory_dup_string(path),
        .part = RULESET_POLICIES,
        .text = text,
        .text_len = len,
    };
    find_beside(ret_files, path);
    ret_files->signature = sign(ret_files);
}

static const struct watch_file *find_path(const struct watch_files *files, const char *path)
{
    for (size_t i = 0; i < files->count; i++) {
        if (strcmp(files->files[i].path, path) == 0) {
            return &files->files[i];
        }
    }
    return NULL;
}

bool watch_files_are_being_written(const struct watch_files *now, const struct watch_files *before,
                                   int64_t now_ns)
{
    for (size_t i = 0; i < now->count; i++) {
        const struct file_state *state = &now->files[i].state;
        const struct watch_file *old = find_path(before, now->files[i].path);
        /* One that is as it was may be young, but nobody has written into it since. */
        bool is_rewritten = old != NULL && file_state_is_same_file(&old->state, state) &&
                            !file_state_is_untouched(&old->state, state);
        int64_t age = now_ns - state->modified_ns;
        if (is_rewritten && age >= 0 && age < WATCH_REST_NS) {
            return true;
        }
    }
    return false;
}

/** @param path canonical since the run started, so that a link in it is somebody's doing */
static int read_guarded(const char *path, struct buf *ret_text, struct rondo_error *err)
{
    auto_close int root_fd = file_open_folder("/", err); /* opens: the root itself */
    int r = root_fd < 0 ? root_fd
                        : file_read_untrusted(root_fd, path + 1, LIMIT_POLICY_BYTES, ret_text, err);
    if (r < 0) {
        error_prefix(err, "policies that agents can write");
    }
    return r;
}

static int read_text(const struct watch_file *file, bool is_guarded, struct buf *ret_text,
                     struct rondo_error *err)
{
    if (file->text != NULL) {
        buf_append(ret_text, file->text, file->text_len);
        return 0;
    }
    /* opens: what agents can write is guarded and takes the other way */
    return is_guarded && file->path[0] == '/'
               ? read_guarded(file->path, ret_text, err)
               : file_read(file->path, LIMIT_POLICY_BYTES, ret_text, err);
}

static int load_texts(const char *path, const struct watch_files *files, struct buf *bufs,
                      struct ruleset_text *texts, lint_fn *finding, void *context,
                      struct ruleset **ret_ruleset, struct rondo_error *err)
{
    size_t total = 0;
    for (size_t i = 0; i < files->count && total <= LIMIT_POLICY_BYTES; i++) {
        const struct watch_file *file = &files->files[i];
        int r = read_text(file, files->is_guarded, &bufs[i], err);
        if (r < 0) {
            return r;
        }
        total += bufs[i].len;
        const char *name = strrchr(file->path, '/');
        texts[i] = (struct ruleset_text){.part = file->part,
                                         .name = name == NULL ? file->path : name + 1,
                                         .text = buf_string(&bufs[i]),
                                         .len = bufs[i].len};
    }
    if (total > LIMIT_POLICY_BYTES) {
        return error_set(err, RONDO_ERR_LIMIT, "%s contains more than %ld bytes of policies", path,
                         (long)LIMIT_POLICY_BYTES);
    }
    return ruleset_make(path, texts, files->count, finding, context, ret_ruleset, err);
}

/** Entities alone permit nothing; somebody has taken the policies away. */
static bool has_policies(const struct watch_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        if (files->files[i].part == RULESET_POLICIES) {
            return true;
        }
    }
    return false;
}

int watch_files_load(const char *path, const struct watch_files *files, lint_fn *finding,
                     void *context, struct ruleset **ret_ruleset, struct rondo_error *err)
{
    if (files->problem.code < 0) {
        return error_set(err, files->problem.code, "%s", files->problem.message);
    }
    if (!has_policies(files)) {
        return error_set(err, RONDO_ERR_INVALID, "%s contains no file *%s", path, POLICY_SUFFIX);
    }
    struct buf *bufs = memory_new_zero(files->count + 1, sizeof(*bufs));
    auto_free struct ruleset_text *texts = memory_new_zero(files->count + 1, sizeof(*texts));
    int r = load_texts(path, files, bufs, texts, finding, context, ret_ruleset, err);
    for (size_t i = 0; i < files->count; i++) {
        buf_fini(&bufs[i]);
    }
    free(bufs);
    return r;
}

void watch_files_owner(const struct watch_files *files, char *ret_by, size_t size)
{
    const struct file_state *latest = NULL;
    for (size_t i = 0; i < files->count; i++) {
        const struct file_state *state = &files->files[i].state;
        if (latest == NULL || state->modified_ns > latest->modified_ns) {
            latest = state;
        }
    }
    if (latest == NULL) {
        snprintf(ret_by, size, "nobody");
        return;
    }
    char name[HOST_USER_SIZE];
    bool is_name = host_user_name(latest->owner, name, sizeof(name));
    snprintf(ret_by, size, "the file's owner, %s%s", is_name ? "" : "user ", name);
}
