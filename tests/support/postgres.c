// SPDX-License-Identifier: Apache-2.0
#include "support/postgres.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* For tools that compile this file without the arguments of the build. */
#ifndef SOURCE_ROOT
#define SOURCE_ROOT "."
#define BUILD_ROOT  "build"
#endif

struct postgres {
    pid_t pid;
    FILE *commands;
    FILE *answers;
    char *line;
    size_t line_size;
    char *address;
};

static void fail(const char *what, const char *detail)
{
    fprintf(stderr, "postgres: %s: %s\n", what, detail);
    abort();
}

/** The script with its standard input and output on pipes, which no other child inherits. */
static void start(struct postgres *postgres, const char *const *words)
{
    int in[2];
    int out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) {
        fail("pipe", "cannot be made");
    }
    postgres->pid = fork();
    if (postgres->pid == 0) {
        dup2(in[0], STDIN_FILENO);
        dup2(out[1], STDOUT_FILENO);
        execvp(words[0], (char *const *)words);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    postgres->commands = fdopen(in[1], "w");
    postgres->answers = fdopen(out[0], "r");
    if (postgres->pid < 0 || postgres->commands == NULL || postgres->answers == NULL) {
        fail(words[1], "cannot be started");
    }
}

/** Read an answer. @return what follows "ok"; NULL when there is no PostgreSQL */
static const char *read_answer(struct postgres *postgres, const char *what)
{
    ssize_t len = getline(&postgres->line, &postgres->line_size, postgres->answers);
    if (len <= 0) {
        fail(what, "the script has ended");
    }
    postgres->line[strcspn(postgres->line, "\n")] = '\0';
    if (strncmp(postgres->line, "skip", 4) == 0) {
        return NULL;
    }
    if (strncmp(postgres->line, "ok", 2) != 0) {
        fail(what, postgres->line);
    }
    return postgres->line[2] == ' ' ? postgres->line + 3 : postgres->line + 2;
}

struct postgres *postgres_new(const struct postgres_options *options)
{
    const struct postgres_options none = {0};
    options = options == NULL ? &none : options;
    const char *words[16] = {"python3", SOURCE_ROOT "/tests/support/postgres.py", "--build",
                             BUILD_ROOT};
    size_t count = 4;
    if (options->has_tcp) {
        words[count++] = "--tcp";
    }
    if (options->is_on_disk) {
        words[count++] = "--disk";
    }
    for (size_t i = 0; i < 3 && options->settings[i] != NULL; i++) {
        words[count++] = "--set";
        words[count++] = options->settings[i];
    }
    struct postgres *postgres = calloc(1, sizeof(*postgres));
    if (postgres == NULL) {
        abort();
    }
    start(postgres, words);
    const char *address = read_answer(postgres, "start");
    if (address == NULL) {
        fprintf(stderr, "%s\n", postgres->line);
        postgres_free(postgres);
        return NULL;
    }
    postgres->address = strdup(address);
    return postgres;
}

const char *postgres_address(const struct postgres *postgres)
{
    return postgres->address;
}

const char *postgres_command(struct postgres *postgres, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(postgres->commands, format, arguments);
    va_end(arguments);
    fputc('\n', postgres->commands);
    fflush(postgres->commands);
    return read_answer(postgres, format);
}

void postgres_free(struct postgres *postgres)
{
    if (postgres == NULL) {
        return;
    }
    fclose(postgres->commands);
    waitpid(postgres->pid, NULL, 0);
    fclose(postgres->answers);
    free(postgres->line);
    free(postgres->address);
    free(postgres);
}
