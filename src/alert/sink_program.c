// SPDX-License-Identifier: Apache-2.0
/*
 * Pinning and checking.
 *
 * all opens: files are opened without following a last link, must be regular, and count by the
 * digest of what was read from the descriptor.
 */
#include "alert/sink_program.h"

#include "base/auto.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "os/file.h"
#include "os/process/program.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/** Longest first line of a script that is looked at. */
#define SCRIPT_LINE_BYTES 256

/** Whether a file belongs to the system: root's, in a folder of the system. */
static bool is_of_system(const char *path)
{
    static const char *const folders[] = {"/usr/", "/bin/", "/sbin/", "/lib/"};
    auto_free char *real = realpath(path, NULL);
    struct stat status;
    if (real == NULL || stat(real, &status) != 0 || status.st_uid != 0 ||
        (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        if (strncmp(real, folders[i], strlen(folders[i])) == 0) {
            return true;
        }
    }
    return false;
}

/** Whether a file can be executed, or says that it is a script. */
static bool is_program(const char *path, const struct stat *status)
{
    char mark[2] = "";
    auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return (status->st_mode & 0111) != 0 ||
           (fd >= 0 && read(fd, mark, sizeof(mark)) == 2 && memcmp(mark, "#!", sizeof(mark)) == 0);
}

/**
 * Whether a word names a program that an agent might write: the first word, the second one of an
 * interpreter, and any other that can be executed. Files of data are not pinned.
 */
static bool must_be_pinned(char *const *command, size_t index)
{
    struct stat status;
    size_t first_argument = 1;
    while (command[first_argument] != NULL && command[first_argument][0] == '-') {
        first_argument++;
    }
    const char *word = command[index];
    return word[0] == '/' && stat(word, &status) == 0 && S_ISREG(status.st_mode) &&
           !is_of_system(word) &&
           (index == 0 || index == first_argument || is_program(word, &status));
}

static int read_file(const char *path, struct buf *ret_bytes, struct rondo_error *err)
{
    struct stat status;
    auto_close int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        return error_set(err, RONDO_ERR_INVALID, "%s is a symbolic link or not a regular file",
                         path);
    }
    return file_read_all(fd, path, LIMIT_SINK_PROGRAM_BYTES, ret_bytes, err);
}

static void digest_of(const struct buf *bytes, char ret_hex[DIGEST_HEX_SIZE])
{
    unsigned char raw[DIGEST_SIZE];
    struct digest digest = digest_begin();
    digest_add(&digest, bytes->data, bytes->len);
    digest_finish(&digest, raw);
    digest_hex(raw, ret_hex);
}

/* ---- Adding --------------------------------------------------------------------------------- */

/** A script runs by a program of the system, which the kernel takes by its path. */
static int check_interpreter(const char *path, const struct buf *bytes, struct rondo_error *err)
{
    char line[SCRIPT_LINE_BYTES] = "";
    const char *text = buf_string(bytes);
    if (bytes->len < 2 || memcmp(text, "#!", 2) != 0) {
        return 0;
    }
    size_t len = strcspn(text + 2, "\n");
    snprintf(line, sizeof(line), "%.*s", len < sizeof(line) ? (int)len : (int)sizeof(line) - 1,
             text + 2);
    char *interpreter = line + strspn(line, " \t");
    interpreter[strcspn(interpreter, " \t\r")] = '\0';
    return is_of_system(interpreter)
               ? 0
               : error_set(err, RONDO_ERR_INVALID,
                           "command: %s is a script for %s, which is not a program of the system",
                           path, interpreter);
}

/** Takes nothing over. */
static void add_pin(struct sink *sink, const char *path, const char *hex)
{
    size_t count = 0;
    while (sink->pins != NULL && sink->pins[count].path != NULL) {
        count++;
    }
    sink->pins = memory_resize(sink->pins, count + 2, sizeof(*sink->pins));
    sink->pins[count] = (struct sink_pin){.path = memory_dup_string(path)};
    snprintf(sink->pins[count].sha256, sizeof(sink->pins[count].sha256), "%s", hex);
    sink->pins[count + 1] = (struct sink_pin){0};
}

static int pin(struct sink *sink, const char *path, struct rondo_error *err)
{
    auto_buf struct buf bytes = {0};
    char hex[DIGEST_HEX_SIZE];
    int r = read_file(path, &bytes, err);
    r = r < 0 ? r : check_interpreter(path, &bytes, err);
    if (r < 0) {
        error_prefix(err, "command");
        return r;
    }
    digest_of(&bytes, hex);
    add_pin(sink, path, hex);
    return 0;
}

int sink_program_pin(struct sink *sink, struct rondo_error *err)
{
    static const char *const envp[] = {"PATH=" SINK_PATH, NULL};
    char program[PATH_MAX];
    char reason[256];
    const char *name = sink->command[0];
    if (name[0] != '/' && strchr(name, '/') != NULL) {
        return error_set(err, RONDO_ERR_INVALID,
                         "command: expected an absolute path or a program of " SINK_PATH);
    }
    if (!program_find(name, envp, "/", program, reason)) {
        return error_set(err, RONDO_ERR_INVALID, "command: %s", reason);
    }
    free(sink->command[0]);
    sink->command[0] = memory_dup_string(program);
    add_pin(sink, "", ""); /* Even a sink with nothing to pin was looked at. */
    for (size_t i = 0; sink->command[i] != NULL; i++) {
        int r = must_be_pinned(sink->command, i) ? pin(sink, sink->command[i], err) : 0;
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

/* ---- Running -------------------------------------------------------------------------------- */

static const struct sink_pin *find_pin(const struct sink *sink, const char *path)
{
    for (size_t i = 0; sink->pins != NULL && sink->pins[i].path != NULL; i++) {
        if (path[0] != '\0' && strcmp(sink->pins[i].path, path) == 0) {
            return &sink->pins[i];
        }
    }
    return NULL;
}

/** A copy that nobody can change. @return descriptor or a negative code */
static int copy_of(const struct buf *bytes, struct rondo_error *err)
{
    const int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    auto_close int fd = memfd_create("sink", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0 || file_write_all(fd, bytes->data, bytes->len) != 0 || fchmod(fd, 0500) != 0 ||
        fcntl(fd, F_ADD_SEALS, seals) != 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, errno, "cannot copy a program");
    }
    return steal_fd(&fd);
}

/** @param ret_word what goes into the command line instead of the path; owned */
static int open_pinned(const struct sink_pin *pinned, int *ret_fd, char **ret_word,
                       struct rondo_error *err)
{
    auto_buf struct buf bytes = {0};
    struct buf word = {0};
    char hex[DIGEST_HEX_SIZE] = "";
    int r = read_file(pinned->path, &bytes, NULL);
    if (r == 0) {
        digest_of(&bytes, hex);
    }
    if (strcmp(hex, pinned->sha256) != 0) {
        return error_set(err, RONDO_ERR_DENIED,
                         "%s has changed since the sink was added; check it, then add the sink "
                         "again with `rondo sinks add`",
                         pinned->path);
    }
    int fd = copy_of(&bytes, err);
    if (fd < 0) {
        return fd;
    }
    buf_printf(&word, "/proc/%d/fd/%d", (int)getpid(), fd);
    *ret_fd = fd;
    *ret_word = buf_steal(&word);
    return 0;
}

static int check_program(const struct sink *sink, struct rondo_error *err)
{
    const char *program = sink->command[0];
    if (find_pin(sink, program) != NULL || is_of_system(program) ||
        (sink->pins == NULL && strchr(program, '/') == NULL)) {
        return 0; /* The last: one that Rondo 0.1 added, found in folders of the system only. */
    }
    return error_set(err, RONDO_ERR_DENIED,
                     "%s is gone or was never checked; add the sink again with `rondo sinks add`",
                     program);
}

int sink_program_open(const struct sink *sink, struct sink_program *ret_program,
                      struct rondo_error *err)
{
    size_t count = memory_count_list((const char *const *)sink->command);
    struct sink_program program = {
        .argv = memory_new_zero(count + 1, sizeof(*program.argv)),
        .fds = memory_new_zero(count + 1, sizeof(*program.fds)),
    };
    size_t fds = 0;
    program.fds[0] = -1;
    int r = check_program(sink, err);
    for (size_t i = 0; r == 0 && i < count; i++) {
        const struct sink_pin *pinned = find_pin(sink, sink->command[i]);
        if (pinned == NULL) {
            program.argv[i] = memory_dup_string(sink->command[i]);
            continue;
        }
        r = open_pinned(pinned, &program.fds[fds], &program.argv[i], err);
        fds += r == 0 ? 1 : 0;
        program.fds[fds] = -1;
    }
    if (r < 0) {
        sink_program_close(&program);
        return r;
    }
    *ret_program = program;
    return 0;
}

void sink_program_close(struct sink_program *program)
{
    for (size_t i = 0; program->fds != NULL && program->fds[i] >= 0; i++) {
        close(program->fds[i]);
    }
    free(program->fds);
    memory_free_list(program->argv);
    *program = (struct sink_program){0};
}
