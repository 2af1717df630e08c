// SPDX-License-Identifier: Apache-2.0
/*
 * Opening a repository. all opens: the git folder and the hooks are a person's, and read-only in
 * the sandboxes of agents; what has changed in them nevertheless is noticed by the digest.
 */
#include "git/repository.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/process/program.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* --- where it is --- */

static int find_program(struct git_repository *repository, struct rondo_error *err)
{
    char reason[256];
    char **environment = environment_reduced(NULL, NULL);
    bool is_found =
        program_find_system("git", (const char *const *)environment, repository->program, reason);
    environment_free(environment);
    return is_found ? 0
                    : error_set(err, RONDO_ERR_NOT_FOUND,
                                "git cannot be run (%s); install git 2.39 or newer", reason);
}

/** Cut the next line off a text. @return NULL at its end */
static char *next_line(char **text)
{
    char *line = *text;
    char *end = line == NULL ? NULL : strchr(line, '\n');
    if (end == NULL) {
        return NULL;
    }
    *end = '\0';
    *text = end + 1;
    return line;
}

static int refuse_folder(const struct git_reply *reply, const char *path, struct rondo_error *err)
{
    struct rondo_error said;
    if (strstr(buf_string(&reply->errors), "not a git repository") != NULL) {
        return error_set(err, RONDO_ERR_NOT_FOUND,
                         "%s is not in a git repository; create one there with: git init && git "
                         "add -A && git commit -m \"Initial commit\"",
                         path);
    }
    git_fail(reply, "git refuses the repository", &said);
    return error_set(err, RONDO_ERR_INVALID, "%s", said.message);
}

static int take_places(struct git_repository *repository, struct git_reply *reply, const char *path,
                       struct rondo_error *err)
{
    char *text = reply->output.data;
    const char *is_bare = next_line(&text);
    const char *git_folder = next_line(&text);
    const char *common_folder = next_line(&text);
    const char *format = next_line(&text);
    const char *top_folder = next_line(&text);
    bool has_top = is_bare != NULL && strcmp(is_bare, "false") == 0;
    if (format == NULL || (has_top && top_folder == NULL)) {
        return refuse_folder(reply, path, err);
    }
    if (text != NULL && *text != '\0') {
        return error_set(
            err, RONDO_ERR_INVALID,
            "%s: the path of the repository contains a line break; move the repository", path);
    }
    repository->git_folder = memory_dup_string(git_folder);
    repository->common_folder = memory_dup_string(common_folder);
    repository->top_folder = has_top ? memory_dup_string(top_folder) : NULL;
    repository->id_len = strcmp(format, "sha256") == 0 ? 64 : 40;
    return 0;
}

static int find_places(struct git *git, struct git_repository *repository, const char *path,
                       struct rondo_error *err)
{
    /* Without a working tree the last question fails, after the others were answered. */
    static const char *const arguments[] = {
        "rev-parse",        "--path-format=absolute", "--is-bare-repository", "--git-dir",
        "--git-common-dir", "--show-object-format",   "--show-toplevel",      NULL};
    auto_git_reply struct git_reply reply = {0};
    const struct git_call call = {.arguments = arguments, .directory = path, .finds_git_dir = true};
    int r = git_call_run(git, &call, &reply, err);
    return r != 0 ? r : take_places(repository, &reply, path, err);
}

/* --- settings --- */

static void set_text(char **slot, const char *value)
{
    free(*slot);
    *slot = *value == '\0' ? NULL : memory_dup_string(value);
}

static void set_hooks(struct git_repository *repository, const char *value)
{
    struct buf path = {0};
    const char *home = getenv("HOME");
    if (strncmp(value, "~/", 2) == 0 && home != NULL) {
        buf_printf(&path, "%s/%s", home, value + 2);
    } else if (*value == '/' || repository->top_folder == NULL) {
        buf_append_string(&path, value);
    } else {
        /* In a linked working tree git would take an agent's own; these are the person's. */
        buf_printf(&path, "%s/%s", repository->top_folder, value);
    }
    free(repository->hooks_folder);
    repository->hooks_folder = buf_steal(&path);
}

static void take_identity(struct git_repository *repository, const char *key, const char *value)
{
    const struct {
        const char *key;
        char **slot;
    } rows[] = {
        {"author.name", &repository->author_name},
        {"author.email", &repository->author_email},
        {"committer.name", &repository->committer_name},
        {"committer.email", &repository->committer_email},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(key, rows[i].key) == 0) {
            set_text(rows[i].slot, value);
        }
    }
}

/* What is set to nothing for a driver, by the end of its key. Without a merge driver both sides of
 * a file conflict; an empty one would take ours. */
static const struct {
    const char *section;
    const char *name;
    const char *value;
} driver_keys[] = {
    {"filter.", ".clean", ""},         {"filter.", ".smudge", ""}, {"filter.", ".process", ""},
    {"filter.", ".required", "false"}, {"diff.", ".command", ""},  {"diff.", ".textconv", ""},
    {"merge.", ".driver", "false"},
};

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text);
    size_t end_len = strlen(end);
    return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

static int take_driver(struct git_repository *repository, const char *key, struct rondo_error *err)
{
    for (size_t i = 0; i < sizeof(driver_keys) / sizeof(driver_keys[0]); i++) {
        size_t section_len = strlen(driver_keys[i].section);
        if (strncmp(key, driver_keys[i].section, section_len) != 0 ||
            !ends_with(key + section_len, driver_keys[i].name)) {
            continue;
        }
        size_t count = memory_count_list((const char *const *)repository->driver_settings);
        if (strchr(key, '=') != NULL) {
            return error_set(err, RONDO_ERR_INVALID,
                             "the settings of git define a filter with '=' in its name: %s; "
                             "rename it",
                             key);
        }
        if (count >= LIMIT_GIT_DRIVERS) {
            return error_set(err, RONDO_ERR_INVALID,
                             "there are more than %d settings of filters and diff drivers in the "
                             "settings of git; remove some (git config --list --show-origin)",
                             LIMIT_GIT_DRIVERS);
        }
        struct buf setting = {0};
        buf_printf(&setting, "%s=%s", key, driver_keys[i].value);
        repository->driver_settings =
            memory_resize(repository->driver_settings, count + 2, sizeof(char *));
        repository->driver_settings[count] = buf_steal(&setting);
        repository->driver_settings[count + 1] = NULL;
        repository->has_filters = repository->has_filters || *key == 'f';
    }
    return 0;
}

/** Authors that are not set on their own are the user. */
static void complete_identity(struct git_repository *repository, const char *name,
                              const char *email)
{
    char **names[] = {&repository->author_name, &repository->committer_name};
    char **emails[] = {&repository->author_email, &repository->committer_email};
    for (size_t i = 0; i < 2; i++) {
        if (*names[i] == NULL && name != NULL) {
            *names[i] = memory_dup_string(name);
        }
        if (*emails[i] == NULL && email != NULL) {
            *emails[i] = memory_dup_string(email);
        }
    }
}

/** Calls back for each setting that a file has. @param output of config --list -z --show-origin */
static int walk_settings(const struct buf *output,
                         int (*take)(void *context, const char *key, const char *value,
                                     struct rondo_error *err),
                         void *context, struct rondo_error *err)
{
    const char *at = buf_string(output);
    const char *end = at + output->len;
    while (at < end) {
        const char *origin = at;
        const char *entry = origin + strlen(origin) + 1;
        if (entry >= end) {
            break;
        }
        at = entry + strlen(entry) + 1;
        if (strcmp(origin, "command line:") == 0) {
            continue;
        }
        const char *line_end = strchr(entry, '\n');
        size_t key_len = line_end == NULL ? strlen(entry) : (size_t)(line_end - entry);
        auto_free char *key = memory_dup_bytes(entry, key_len);
        int r = take(context, key, line_end == NULL ? "" : line_end + 1, err);
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

struct settings_reading {
    struct git_repository *repository;
    char *name;
    char *email;
};

static int take_setting(void *context, const char *key, const char *value, struct rondo_error *err)
{
    struct settings_reading *reading = context;
    if (strcmp(key, "user.name") == 0) {
        set_text(&reading->name, value);
    } else if (strcmp(key, "user.email") == 0) {
        set_text(&reading->email, value);
    } else if (strcmp(key, "core.hookspath") == 0) {
        set_hooks(reading->repository, value);
    }
    take_identity(reading->repository, key, value);
    return take_driver(reading->repository, key, err);
}

static int digest_setting(void *context, const char *key, const char *value,
                          struct rondo_error *err)
{
    struct digest *digest = context;
    (void)err;
    digest_add_u64(digest, strlen(key));
    digest_add(digest, key, strlen(key));
    digest_add_u64(digest, strlen(value));
    digest_add(digest, value, strlen(value));
    return 0;
}

static int ask_settings(struct git *git, struct git_reply *ret_reply, struct rondo_error *err)
{
    static const char *const arguments[] = {"config", "--list", "-z", "--show-origin", NULL};
    const struct git_call call = {.arguments = arguments, .git_dir = git->repository->git_folder};
    return git_call_run_well(git, &call, ret_reply, err);
}

/* --- digest --- */

static void digest_file(struct digest *digest, const char *folder, const char *name)
{
    auto_buf struct buf path = {0};
    auto_buf struct buf content = {0};
    struct stat status;
    buf_printf(&path, "%s/%s", folder, name);
    if (stat(buf_string(&path), &status) != 0 || !S_ISREG(status.st_mode)) {
        return;
    }
    /* A file that cannot be read, or is too large, counts by what the system says of it. */
    if (file_read(buf_string(&path), LIMIT_GIT_HOOK_BYTES, &content, NULL) != 0) {
        digest_add_u64(digest, (uint64_t)status.st_size);
        digest_add_u64(digest, (uint64_t)status.st_mtim.tv_sec);
        digest_add_u64(digest, (uint64_t)status.st_mtim.tv_nsec);
    }
    digest_add_u64(digest, status.st_mode & 0777);
    digest_add_u64(digest, strlen(name));
    digest_add(digest, name, strlen(name));
    digest_add_u64(digest, content.len);
    digest_add(digest, content.data, content.len);
}

static int is_hook(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && !ends_with(entry->d_name, ".sample");
}

static void digest_hooks(struct digest *digest, const char *folder)
{
    struct dirent **names = NULL;
    int count = scandir(folder, &names, is_hook, alphasort);
    for (int i = 0; i < count; i++) {
        digest_file(digest, folder, names[i]->d_name);
        free(names[i]);
    }
    free(names);
}

static void make_digest(const struct git_repository *repository, const struct buf *settings,
                        char ret_hex[DIGEST_HEX_SIZE])
{
    unsigned char bytes[DIGEST_SIZE];
    struct digest digest = digest_begin();
    walk_settings(settings, digest_setting, &digest, NULL);
    digest_hooks(&digest, repository->hooks_folder);
    digest_file(&digest, repository->common_folder, "info/attributes");
    digest_file(&digest, repository->common_folder, "info/exclude");
    digest_finish(&digest, bytes);
    digest_hex(bytes, ret_hex);
}

int git_repository_check(struct git *git, const char *digest, struct rondo_error *err)
{
    char now[DIGEST_HEX_SIZE];
    auto_git_reply struct git_reply reply = {0};
    int r = ask_settings(git, &reply, err);
    if (r != 0) {
        return r;
    }
    make_digest(git->repository, &reply.output, now);
    if (strcmp(now, digest != NULL ? digest : git->repository->settings_digest) == 0) {
        return 0;
    }
    return error_set(err, RONDO_ERR_DENIED,
                     "settings or hooks of git changed while Rondo worked in %s; look at them (git "
                     "config --list --show-origin, %s), then start again",
                     git->repository->common_folder, git->repository->hooks_folder);
}

/* --- opening --- */

static int read_settings(struct git *git, struct git_repository *repository,
                         struct rondo_error *err)
{
    struct settings_reading reading = {.repository = repository};
    struct buf hooks = {0};
    auto_git_reply struct git_reply reply = {0};
    buf_printf(&hooks, "%s/hooks", repository->common_folder);
    repository->hooks_folder = buf_steal(&hooks);
    int r = ask_settings(git, &reply, err);
    if (r == 0) {
        r = walk_settings(&reply.output, take_setting, &reading, err);
    }
    if (r == 0) {
        complete_identity(repository, reading.name, reading.email);
        make_digest(repository, &reply.output, repository->settings_digest);
    }
    free(reading.name);
    free(reading.email);
    return r;
}

int git_repository_open(const char *path, struct cancel *cancel,
                        struct git_repository **ret_repository, struct rondo_error *err)
{
    struct git_repository *repository = memory_new_zero(1, sizeof(*repository));
    struct git git = {.repository = repository, .cancel = cancel};
    int r = find_program(repository, err);
    if (r == 0) {
        r = find_places(&git, repository, path, err);
    }
    if (r == 0) {
        r = read_settings(&git, repository, err);
    }
    if (r != 0) {
        git_repository_free(repository);
        return r;
    }
    *ret_repository = repository;
    return 0;
}

void git_repository_free(struct git_repository *repository)
{
    if (repository == NULL) {
        return;
    }
    free(repository->top_folder);
    free(repository->git_folder);
    free(repository->common_folder);
    free(repository->hooks_folder);
    free(repository->author_name);
    free(repository->author_email);
    free(repository->committer_name);
    free(repository->committer_email);
    memory_free_list(repository->driver_settings);
    free(repository);
}

int git_repository_check_author(const struct git_repository *repository, struct rondo_error *err)
{
    bool has_name = repository->author_name != NULL && repository->committer_name != NULL;
    bool has_email = repository->author_email != NULL && repository->committer_email != NULL;
    if (has_name && has_email) {
        return 0;
    }
    return error_set(err, RONDO_ERR_STATE,
                     "git has no author for commits; set one with: git config --global "
                     "user.name \"Your Name\" && git config --global user.email you@example.com");
}

bool git_id_is_valid(const struct git_repository *repository, const char *text)
{
    return strlen(text) == repository->id_len &&
           strspn(text, "0123456789abcdef") == repository->id_len;
}

static int resolve(struct git *git, const char *name, const char *kind, char ret_id[GIT_ID_SIZE],
                   struct rondo_error *err)
{
    auto_buf struct buf revision = {0};
    auto_git_reply struct git_reply reply = {0};
    buf_printf(&revision, "%s^{%s}", name, kind);
    const char *const arguments[] = {
        "rev-parse", "--verify", "--quiet", "--end-of-options", buf_string(&revision), NULL};
    /* "HEAD" is that of the working tree in which the repository was opened. */
    const struct git_call call = {.arguments = arguments, .git_dir = git->repository->git_folder};
    int r = git_call_run(git, &call, &reply, err);
    if (r != 0) {
        return r;
    }
    const char *id = git_reply_line(&reply);
    if (reply.exit_code != 0 || !git_id_is_valid(git->repository, id)) {
        return error_set(err, RONDO_ERR_NOT_FOUND, "there is no %s '%s' in %s", kind, name,
                         git->repository->common_folder);
    }
    snprintf(ret_id, GIT_ID_SIZE, "%s", id);
    return 0;
}

int git_resolve_commit(struct git *git, const char *name, char ret_id[GIT_ID_SIZE],
                       struct rondo_error *err)
{
    return resolve(git, name, "commit", ret_id, err);
}

int git_commit_has(struct git *git, const char *commit, const char *path, bool *ret_has,
                   struct rondo_error *err)
{
    auto_buf struct buf object = {0};
    auto_git_reply struct git_reply reply = {0};
    buf_printf(&object, "%s:%s", commit, path);
    const char *const arguments[] = {"rev-parse",        "--verify",          "--quiet",
                                     "--end-of-options", buf_string(&object), NULL};
    const struct git_call call = {.arguments = arguments};
    int r = git_call_run(git, &call, &reply, err);
    if (r == 0) {
        *ret_has = reply.exit_code == 0;
    }
    return r;
}

int git_resolve_tree(struct git *git, const char *name, char ret_id[GIT_ID_SIZE],
                     struct rondo_error *err)
{
    return resolve(git, name, "tree", ret_id, err);
}
