// SPDX-License-Identifier: Apache-2.0
/* One table of options, `--name VALUE` or `--name`. */
#include "victim_options.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum victim_option_kind { TEXT, NUMBER, FLAG };

#define ROW(name, member, kind)                             \
    {                                                       \
        name, kind, offsetof(struct victim_options, member) \
    }

static const struct {
    const char *name;
    enum victim_option_kind kind;
    size_t offset;
} rows[] = {
    ROW("--store", store, TEXT),
    ROW("--effects", effects, TEXT),
    ROW("--agent", agent, TEXT),
    ROW("--resume", resume, TEXT),
    ROW("--policy", policy, TEXT),
    ROW("--threads", threads, NUMBER),
    ROW("--runs", runs, NUMBER),
    ROW("--iterations", iterations, NUMBER),
    ROW("--interval", interval, NUMBER),
    ROW("--demand", demand, NUMBER),
    ROW("--state-bytes", state_bytes, NUMBER),
    ROW("--lease-ms", lease_ms, NUMBER),
    ROW("--patience-ms", patience_ms, NUMBER),
    ROW("--busy-ms", busy_ms, NUMBER),
    ROW("--body-us", body_us, NUMBER),
    ROW("--verify-us", verify_us, NUMBER),
    ROW("--hurry", hurry, NUMBER),
    ROW("--best-effort", best_effort, FLAG),
    ROW("--exclusive", exclusive, FLAG),
    ROW("--hold", hold, FLAG),
    ROW("--keep", keep, FLAG),
    ROW("--barrier", barrier, FLAG),
    ROW("--again", again, FLAG),
    ROW("--others", others, FLAG),
    ROW("--no-sync", no_sync, FLAG),
};

static int find_row(const char *name)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return (int)i;
        }
    }
    fprintf(stderr, "victim: unknown option %s\n", name);
    exit(2);
}

struct victim_options victim_options_parse(int argc, char **argv)
{
    struct victim_options options = {
        .agent = "victim",
        .threads = 1,
        .runs = 1,
        .iterations = 5,
        .interval = 1,
        .hurry = 1,
    };
    for (int i = 1; i < argc; i++) {
        int row = find_row(argv[i]);
        char *slot = (char *)&options + rows[row].offset;
        if (rows[row].kind == FLAG) {
            *(bool *)slot = true;
            continue;
        }
        if (++i == argc) {
            fprintf(stderr, "victim: %s needs a value\n", argv[i - 1]);
            exit(2);
        }
        if (rows[row].kind == TEXT) {
            *(const char **)slot = argv[i];
        } else {
            *(int64_t *)slot = strtoll(argv[i], NULL, 10);
        }
    }
    if (options.store == NULL) {
        fprintf(stderr, "victim: --store is missing\n");
        exit(2);
    }
    return options;
}
