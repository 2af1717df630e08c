// SPDX-License-Identifier: Apache-2.0
/* Command line, environment and sandbox of a server. Never starts anything. */
#include "mcp/place.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/memory.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/host.h"
#include "os/process/program.h"
#include "os/trust.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/** Digits of the digest in the name of a private folder. */
#define HOME_DIGITS 12
/** What a name keeps of itself in that of its folder. */
#define HOME_NAME_LEN 40

/* Interpreters must not import what lies in the folder of a script or in the working folder. */
#define SAFE_IMPORTS "PYTHONSAFEPATH=1"

static char *join(const char *folder, const char *name)
{
    struct buf joined = {0};
    if (name[0] != '/') {
        buf_printf(&joined, "%s/", folder);
    }
    buf_append_string(&joined, name);
    return buf_steal(&joined);
}

/** Takes `text` over. */
static void add(char ***list, char *text)
{
    size_t count = memory_count_list((const char *const *)*list);
    *list = memory_resize(*list, count + 2, sizeof(**list));
    (*list)[count] = text;
    (*list)[count + 1] = NULL;
}

static bool is_file(const char *path)
{
    struct stat status;
    /* opens: only finds whether a word names a file */
    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* --- the command line --- */

/**
 * A word as the server gets it. One that names a file or folder is relative to where the server was
 * registered; the server itself starts elsewhere.
 */
static char *resolve_word(const char *word, const char *folder)
{
    auto_free char *path = join(folder, word);
    bool may_be_file = word[0] != '-' && word[0] != '/' && strpbrk(word, "./") != NULL;
    /* opens: only finds whether a word names a file */
    return may_be_file && file_exists(path) ? steal_pointer(&path) : memory_dup_string(word);
}

static char **make_argv(const struct mcp_options *options, const char *folder)
{
    char **argv = NULL;
    bool has_slash = strchr(options->command, '/') != NULL;
    add(&argv, has_slash ? join(folder, options->command) : memory_dup_string(options->command));
    for (size_t i = 0; options->args != NULL && options->args[i] != NULL; i++) {
        add(&argv, resolve_word(options->args[i], folder));
    }
    return argv;
}

/* --- the environment --- */

static char **make_environment(const struct mcp_options *options)
{
    size_t own = memory_count_list(options->env);
    auto_free const char **extra = memory_new_zero(own + 3, sizeof(*extra));
    auto_buf struct buf workspace = {0};
    buf_printf(&workspace, "RONDO_WORKSPACE=%s", options->surroundings->workspace);
    extra[0] = SAFE_IMPORTS;
    extra[1] = buf_string(&workspace);
    for (size_t i = 0; i < own; i++) {
        extra[i + 2] = options->env[i];
    }
    return environment_reduced(options->pass, extra);
}

/**
 * Take folders that agents can write out of PATH: a server without a sandbox, and whatever it
 * starts by its name, would run what they have put there.
 */
static void trim_path(const struct mcp_options *options, char **environment)
{
    const char *const reach[] = {options->surroundings->workspace, NULL};
    const char *list = program_environment_get((const char *const *)environment, "PATH");
    struct buf kept = {0};
    if (list == NULL || program_environment_get(options->env, "PATH") != NULL) {
        return; /* What the entry itself sets was confirmed. */
    }
    buf_append_string(&kept, "PATH=");
    size_t start = kept.len;
    while (*list != '\0') {
        size_t len = strcspn(list, ":");
        auto_free char *folder = memory_dup_bytes(list, len);
        if (folder[0] == '/' && !trust_is_in_reach(folder, reach)) {
            buf_printf(&kept, "%s%s", kept.len > start ? ":" : "", folder);
        }
        list += len + (list[len] == ':' ? 1 : 0);
    }
    for (size_t i = 0; environment[i] != NULL; i++) {
        if (strncmp(environment[i], "PATH=", strlen("PATH=")) == 0) {
            free(environment[i]);
            environment[i] = buf_steal(&kept);
        }
    }
}

/** The names in it: the sandbox passes on what is on its list only. */
static char **names_of(char *const *environment)
{
    char **names = NULL;
    for (size_t i = 0; environment[i] != NULL; i++) {
        add(&names, memory_dup_bytes(environment[i], strcspn(environment[i], "=")));
    }
    return names;
}

/* --- the private folder --- */

/** What distinguishes one server from another: what it is called, where it was registered, its
 * program. */
static void write_identity(const struct mcp_options *options, const char *folder,
                           char ret_digits[DIGEST_HEX_SIZE])
{
    const char *const parts[] = {options->name, folder, options->command};
    unsigned char bytes[DIGEST_SIZE];
    struct digest digest = digest_begin();
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        digest_add_u64(&digest, strlen(parts[i]));
        digest_add(&digest, parts[i], strlen(parts[i]));
    }
    digest_finish(&digest, bytes);
    digest_hex(bytes, ret_digits);
}

/** Make the server's private folder, CACHE/rondo/mcp/NAME-DIGITS. @param ret_path owned */
static int make_home(const struct mcp_options *options, const char *folder, char **ret_path,
                     struct rondo_error *err)
{
    char digits[DIGEST_HEX_SIZE];
    auto_buf struct buf path = {0};
    auto_free char *given = host_cache();
    if (given == NULL) {
        return error_set(err, RONDO_ERR_NOT_FOUND,
                         "there is no folder for its files: set HOME or XDG_CACHE_HOME");
    }
    /* opens: only a name; below it the sandbox refuses links */
    int r = file_make_folder(given, err);
    /* opens: only a name; below it the sandbox refuses links */
    auto_free char *cache = r != 0 ? NULL : realpath(given, NULL);
    if (cache == NULL) {
        return r != 0 ? r : error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot find %s", given);
    }
    buf_printf(&path, "%s/rondo/mcp/", cache);
    const char *slash = strrchr(options->name, '/');
    const char *name = slash == NULL ? options->name : slash + 1;
    for (size_t i = 0; i < HOME_NAME_LEN && name[i] != '\0'; i++) {
        buf_append(&path, ascii_is_letter_or_digit(name[i]) ? &name[i] : "-", 1);
    }
    write_identity(options, folder, digits);
    buf_printf(&path, "-%.*s", HOME_DIGITS, digits);
    /* opens: makes empty folders only; the sandbox refuses links on the way */
    r = file_make_folder(buf_string(&path), err);
    if (r == 0) {
        *ret_path = buf_steal(&path);
    }
    return r;
}

/* --- what it may see --- */

static void add_relative(char ***list, const char *const *paths, const char *folder)
{
    for (size_t i = 0; paths != NULL && paths[i] != NULL; i++) {
        add(list, join(folder, paths[i]));
    }
}

/** The same without links, where there is something. */
static void add_canonical(char ***list, const char *const *paths, const char *folder)
{
    for (size_t i = 0; paths != NULL && paths[i] != NULL; i++) {
        char *path = join(folder, paths[i]);
        /* opens: only a name; the sandbox holds it by a descriptor */
        char *real = realpath(path, NULL);
        add(list, real == NULL ? path : real);
        free(real == NULL ? NULL : path);
    }
}

/** Add what is there, by its canonical path; the system's programs are visible anyway. */
static void add_real(char ***list, const char *path)
{
    /* opens: only a name; the sandbox holds it by a descriptor */
    char *real = realpath(path, NULL);
    if (real == NULL || strncmp(real, "/usr/", strlen("/usr/")) == 0) {
        free(real);
        return;
    }
    add(list, real);
}

/* Beside a folder with programs of this name is what the programs need. */
static const struct {
    const char *folder;
    const char *part;
} program_parts[] = {
    {"/bin", "lib"},
    {"/bin", "lib64"},
    {"/bin", "pyvenv.cfg"},
    {"/shims", "."},
};

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text);
    size_t end_len = strlen(end);
    return len > end_len && strcmp(text + len - end_len, end) == 0;
}

/**
 * The folder of a program that is not the system's (~/.local/bin, a virtual environment, a version
 * of node, pyenv) and what belongs to it.
 */
static void add_program(char ***list, const char *program)
{
    /* opens: only a name; the sandbox holds it by a descriptor */
    auto_free char *real = realpath(program, NULL);
    const char *const ways[] = {program, real};
    for (size_t i = 0; i < 2; i++) {
        const char *slash = ways[i] == NULL ? NULL : strrchr(ways[i], '/');
        if (slash == NULL || slash == ways[i]) {
            continue;
        }
        auto_free char *folder = memory_dup_bytes(ways[i], (size_t)(slash - ways[i]));
        for (size_t n = 0; n < sizeof(program_parts) / sizeof(program_parts[0]); n++) {
            auto_buf struct buf part = {0};
            buf_printf(&part, "%s/../%s", folder, program_parts[n].part);
            if (ends_with(folder, program_parts[n].folder)) {
                add_real(list, buf_string(&part));
            }
        }
        add_real(list, folder);
    }
}

/** A home folder holds too much to be shown because a file is in it. */
static bool is_whole_home(const char *folder)
{
    const char *home = getenv("HOME");
    /* opens: only compares names */
    auto_free char *real_home = home == NULL ? NULL : realpath(home, NULL);
    /* opens: only compares names */
    auto_free char *real = realpath(folder, NULL);
    return real == NULL || strcmp(real, "/") == 0 ||
           (real_home != NULL && strcmp(real, real_home) == 0);
}

/** The folder of registration, for what the server's files need beside them; else the files. */
static void add_own_files(const char *folder, struct mcp_place *place)
{
    if (!is_whole_home(folder)) {
        add_real(&place->read_paths, folder);
        return;
    }
    for (size_t i = 0; place->argv[i] != NULL; i++) {
        if (place->argv[i][0] == '/' && is_file(place->argv[i])) {
            add_real(&place->read_paths, place->argv[i]);
        }
    }
}

/** A program that is found, not named by its path, must not be one that an agent has put there. */
static int check_program(const struct mcp_options *options, const struct mcp_place *place,
                         char ret_program[PATH_MAX], struct rondo_error *err)
{
    const char *const workspace[] = {options->surroundings->workspace, NULL};
    char reason[256];
    ret_program[0] = '\0';
    if (!program_find(place->argv[0], (const char *const *)place->envp, place->directory,
                      ret_program, reason)) {
        ret_program[0] = '\0';
        return 0; /* The start says so, when it comes to it. */
    }
    bool is_found = strchr(options->command, '/') == NULL;
    if (is_found && trust_is_in_reach(ret_program, workspace)) {
        return error_set(err, RONDO_ERR_DENIED,
                         "the program %s is in the workspace, where agents can write; name it by "
                         "its path, or take that folder out of PATH",
                         ret_program);
    }
    return 0;
}

static void collect_paths(const struct mcp_options *options, const char *folder,
                          const char *program, struct mcp_place *place)
{
    const struct tool_surroundings *around = options->surroundings;
    const char *const folders[] = {folder, around->role_folder, around->workspace};
    add(&place->write_paths, memory_dup_string(place->home));
    add_canonical(&place->write_paths, options->write_paths, folder);
    add_canonical(&place->read_paths, options->read_paths, folder);
    add_own_files(folder, place);
    if (options->cwd != NULL) {
        add_real(&place->read_paths, place->directory);
    }
    if (program[0] != '\0') {
        add_program(&place->read_paths, program);
    }
    add_relative(&place->hide_paths, around->hide_paths, "");
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        if (folders[i] != NULL) {
            add(&place->hide_paths, join(folders[i], ".env"));
        }
    }
}

/* --- all of it --- */

static int sandbox_place(const struct mcp_options *options, const char *folder,
                         struct mcp_place *place, struct rondo_error *err)
{
    char program[PATH_MAX];
    int r = make_home(options, folder, &place->home, err);
    if (r == 0 && place->directory == NULL) {
        place->directory = memory_dup_string(place->home);
    }
    r = r != 0 ? r : check_program(options, place, program, err);
    if (r != 0) {
        return r;
    }
    collect_paths(options, folder, program, place);
    place->env_names = names_of(place->envp);
    place->policy = (struct sandbox_policy){
        .tier = options->tier,
        .workspace = options->surroundings->workspace,
        .is_canonical = true,
        .allow_network = options->allow_network,
        .read_paths = (const char *const *)place->read_paths,
        .write_paths = (const char *const *)place->write_paths,
        .hide_paths = (const char *const *)place->hide_paths,
        .protect_paths = options->surroundings->protect_paths,
        .env_names = (const char *const *)place->env_names,
        .home = place->home,
    };
    return 0;
}

int mcp_place_make(const struct mcp_options *options, struct mcp_place *ret_place,
                   struct rondo_error *err)
{
    const char *workspace = options->surroundings->workspace;
    const char *folder = options->folder == NULL ? workspace : options->folder;
    struct mcp_place place = {.envp = make_environment(options)};
    if (options->cwd != NULL) {
        place.directory = join(folder, options->cwd);
    }
    place.argv = make_argv(options, place.directory == NULL ? folder : place.directory);
    int r = 0;
    if (options->tier != SANDBOX_NONE) {
        r = sandbox_place(options, folder, &place, err);
    } else {
        trim_path(options, place.envp);
        place.directory = place.directory == NULL ? memory_dup_string("/") : place.directory;
    }
    if (r != 0) {
        error_prefix(err, "MCP server \"%s\"", options->name);
        mcp_place_fini(&place);
        return r;
    }
    *ret_place = place;
    return 0;
}

void mcp_place_fini(struct mcp_place *place)
{
    memory_free_list(place->argv);
    environment_free(place->envp);
    memory_free_list(place->env_names);
    memory_free_list(place->read_paths);
    memory_free_list(place->write_paths);
    memory_free_list(place->hide_paths);
    free(place->directory);
    free(place->home);
    *place = (struct mcp_place){0};
}
