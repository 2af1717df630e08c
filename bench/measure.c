// SPDX-License-Identifier: Apache-2.0
/* Samples, spreads and small services of the figures. One thread. */
#include "measure.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

void samples_add(struct samples *samples, double value)
{
    if (samples->count == samples->room) {
        samples->room = samples->room == 0 ? 64 : 2 * samples->room;
        samples->values = realloc(samples->values, samples->room * sizeof(double));
        if (samples->values == NULL) {
            bench_die("out of memory");
        }
    }
    samples->values[samples->count++] = value;
}

void samples_copy(struct samples *to, const struct samples *from)
{
    for (size_t i = 0; i < from->count; i++) {
        samples_add(to, from->values[i]);
    }
}

void samples_fini(struct samples *samples)
{
    free(samples->values);
    *samples = (struct samples){0};
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;
    return (a > b) - (a < b);
}

struct spread samples_spread(const struct samples *samples)
{
    if (samples->count == 0) {
        return (struct spread){0};
    }
    size_t count = samples->count;
    qsort(samples->values, count, sizeof(double), compare);
    return (struct spread){
        .median = (samples->values[(count - 1) / 2] + samples->values[count / 2]) / 2,
        .low = samples->values[0],
        .high = samples->values[count - 1],
    };
}

double samples_percentile(struct samples *samples, double share)
{
    if (samples->count == 0) {
        return 0;
    }
    qsort(samples->values, samples->count, sizeof(double), compare);
    return samples->values[(size_t)(share * (double)(samples->count - 1))];
}

double status_kib_of(const char *path, const char *key)
{
    FILE *file = fopen(path, "re");
    char line[256];
    double kib = 0;
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0) {
            kib = strtod(line + strlen(key), NULL);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return kib;
}

double status_kib(const char *key)
{
    return status_kib_of("/proc/self/status", key);
}

double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

size_t bench_rounds(const struct bench *bench, size_t full)
{
    size_t rounds = bench->is_quick ? full / 5 : full;
    return rounds < 3 ? 3 : rounds;
}

void bench_row(struct bench *bench, const struct report_row *head, struct samples *figure,
               struct samples *floor)
{
    if (bench->row_count == sizeof(bench->rows) / sizeof(bench->rows[0])) {
        bench_die("too many rows");
    }
    struct report_row *row = &bench->rows[bench->row_count++];
    *row = *head;
    row->figure = samples_spread(figure);
    row->floor = samples_spread(floor);
    samples_fini(figure);
    samples_fini(floor);
}

void bench_die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("bench: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(2);
}

const char *bench_path(const struct bench *bench, const char *name)
{
    static char paths[8][4096];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof(paths[0]), "%s/%s", bench->folder, name);
    return path;
}

void bench_remove_store(const char *path)
{
    static const char *const endings[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        char file[4096];
        snprintf(file, sizeof(file), "%s%s", path, endings[i]);
        unlink(file);
    }
}

/** Start a program; its stdout goes to `output_fd`, or all its output nowhere when negative. */
static pid_t start(const char *const *argv, int output_fd)
{
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (output_fd >= 0) {
        posix_spawn_file_actions_adddup2(&actions, output_fd, STDOUT_FILENO);
    } else {
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    }
    pid_t pid = 0;
    int failure = posix_spawn(&pid, argv[0], &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failure != 0) {
        bench_die("%s: %s", argv[0], strerror(failure));
    }
    return pid;
}

static void wait_for(pid_t pid, const char *name)
{
    int status = 0;
    if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        bench_die("%s ended with status %x", name, (unsigned)status);
    }
}

double bench_spawn_us(const char *const *argv)
{
    double began = now_us();
    wait_for(start(argv, -1), argv[0]);
    return now_us() - began;
}

void bench_spawn_text(const char *const *argv, char *ret_text, size_t size)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        bench_die("pipe: %s", strerror(errno));
    }
    pid_t pid = start(argv, ends[1]);
    close(ends[1]);
    size_t len = 0;
    for (ssize_t n; len < size - 1 && (n = read(ends[0], ret_text + len, size - 1 - len)) > 0;) {
        len += (size_t)n;
    }
    ret_text[len] = '\0';
    close(ends[0]);
    wait_for(pid, argv[0]);
}

void bench_spawn_numbers(const char *const *argv, double *ret_numbers, size_t count)
{
    char text[256];
    bench_spawn_text(argv, text, sizeof(text));
    char *at = text;
    for (size_t i = 0; i < count; i++) {
        ret_numbers[i] = strtod(at, &at);
    }
}

double bench_spawn_number(const char *const *argv)
{
    double number = 0;
    bench_spawn_numbers(argv, &number, 1);
    return number;
}

static double number(const char *digits, size_t count)
{
    double value = 0;
    for (size_t i = 0; i < count; i++) {
        value = value * 10 + (digits[i] - '0');
    }
    return value;
}

double bench_time_ms(const char *text)
{
    static char day[11];
    static double day_ms;
    if (strncmp(text, day, 10) != 0) {
        struct tm parts = {0};
        snprintf(day, sizeof(day), "%.10s", text);
        if (strptime(day, "%Y-%m-%d", &parts) == NULL) {
            bench_die("no time: %.30s", text);
        }
        day_ms = (double)timegm(&parts) * 1e3;
    }
    return day_ms + number(text + 11, 2) * 3600e3 + number(text + 14, 2) * 60e3 +
           number(text + 17, 2) * 1e3 + number(text + 20, 3);
}
