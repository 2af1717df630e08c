// SPDX-License-Identifier: Apache-2.0
/*
 * sim [--seed N] [--count N] [--verbose] [--postgres]: simulate seeds N, N+1, ... and say what was
 * seen. With --postgres the store is in a server of PostgreSQL, to which the same must happen.
 */
#include "sim.h"

#include "base/parse.h"
#include "store/postgres/postgres.h"
#include "support/postgres.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_counters(uint64_t first, uint64_t count, const struct sim_counters *counters)
{
    const struct {
        const char *name;
        uint64_t number;
    } rows[] = {
        {"events committed", counters->events},
        {"bodies run", counters->bodies},
        {"bodies run again", counters->bodies_again},
        {"crashes", counters->crashes},
        {"store faults", counters->store_faults},
        {"broken loops", counters->broken},
        {"fenced owners", counters->fenced},
        {"take-overs", counters->takeovers},
        {"reopened runs", counters->reopens},
        {"storage.degraded", counters->degraded},
        {"damaged checkpoints", counters->damaged},
        {"states from interims", counters->interims},
        {"refused as corrupt", counters->refused_corrupt},
        {"rejected finishes", counters->rejected_finishes},
        {"pauses", counters->pauses},
        {"changes of limits", counters->limits_changed},
        {"clocks set", counters->clocks_set},
        {"time.skipped", counters->times_skipped},
        {"frozen owners", counters->freezes},
        {"steered without an owner", counters->controlled},
    };
    printf("seeds %llu to %llu hold\n", (unsigned long long)first,
           (unsigned long long)(first + count - 1));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        printf("%12llu %s\n", (unsigned long long)rows[i].number, rows[i].name);
    }
    for (int i = RONDO_COMPLETED; i < RONDO_STATUS_COUNT; i++) {
        printf("%12llu ended %s\n", (unsigned long long)counters->statuses[i],
               rondo_status_name((enum rondo_status)i));
    }
}

/** A seed that runs for so long does not end; in a server each call waits for other processes. */
#define SEED_SECONDS        30
#define SERVER_SEED_SECONDS 600

static volatile uint64_t present_seed;

static void on_alarm(int number)
{
    (void)number;
    char text[96];
    int len =
        snprintf(text, sizeof(text), "violation: it hangs\nto replay: sim --seed %llu --verbose\n",
                 (unsigned long long)present_seed);
    ssize_t written = write(STDERR_FILENO, text, (size_t)len);
    _exit(written > 0 ? 1 : 2);
}

static struct postgres *server;

/** The store of the server, emptied: to make a schema takes longer than most seeds. */
static struct store *open_in_server(const struct clock *clock)
{
    static bool is_made;
    const struct store_postgres_options options = {
        .address = postgres_address(server), .may_create = true, .clock = clock};
    struct store *store = NULL;
    struct rondo_error err = {0};
    if (is_made) {
        postgres_command(server, "sql a TRUNCATE rondo.runs, rondo.events, rondo.checkpoints,"
                                 " rondo.interims, rondo.letters, rondo.policy_texts,"
                                 " rondo.policy_changes, rondo.documents");
    }
    is_made = true;
    if (store_postgres_open(&options, &store, &err) < 0) {
        fprintf(stderr, "%s\n", err.message);
        exit(1);
    }
    return store;
}

static int usage(void)
{
    fputs("usage: sim [--seed N] [--count N] [--verbose] [--postgres]\n", stderr);
    return 2;
}

int main(int argc, char **argv)
{
    int64_t seed = 1;
    int64_t count = 1;
    bool is_verbose = false;
    bool is_in_server = false;
    for (int i = 1; i < argc; i++) {
        struct rondo_error err;
        int64_t *number = strcmp(argv[i], "--seed") == 0    ? &seed
                          : strcmp(argv[i], "--count") == 0 ? &count
                                                            : NULL;
        if (strcmp(argv[i], "--verbose") == 0) {
            is_verbose = true;
        } else if (strcmp(argv[i], "--postgres") == 0) {
            is_in_server = true;
        } else if (number == NULL || i + 1 == argc ||
                   parse_int(argv[++i], 0, INT64_MAX / 2, number, &err) < 0) {
            return usage();
        }
    }
    if (is_in_server && (server = postgres_new(NULL)) == NULL) {
        return 77; /* Skipped; the reason was printed. */
    }
    static struct sim_counters counters;
    signal(SIGALRM, on_alarm);
    for (int64_t i = 0; i < count; i++) {
        present_seed = (uint64_t)(seed + i);
        alarm(is_in_server ? SERVER_SEED_SECONDS : SEED_SECONDS);
        sim_run_seed((uint64_t)(seed + i), is_verbose, is_in_server ? open_in_server : NULL,
                     &counters);
    }
    alarm(0);
    postgres_free(server);
    print_counters((uint64_t)seed, (uint64_t)count, &counters);
    return 0;
}
