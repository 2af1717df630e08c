// SPDX-License-Identifier: Apache-2.0
/*
 * The benchmark: runs the figures (all, or the ones named) and prints each beside its floor.
 *
 *   rondo_bench --folder EMPTY --programs FOLDER [--cli RONDO] [--reference SCRIPT]
 *               [--forge SCRIPT] [--quick] [--json] [FIGURE...]
 *
 * bench/run gives the folders. A goal that is missed is said in the report and is no failure: the
 * exit code tells whether the figures could be measured.
 */
#include "measure.h"

#include <getopt.h>
#include <string.h>

static const struct {
    const char *name;
    void (*measure)(struct bench *bench);
    const char *group; /**< another name for several of them; or NULL */
} figures[] = {
    {"iteration", figure_iteration, NULL},
    {"group", figure_group_commit, NULL},
    {"start", figure_start, NULL},
    {"memory", figure_memory, NULL},
    {"history", figure_history, NULL},
    {"checkpoint", figure_checkpoint, NULL},
    {"spawn", figure_spawn, NULL},
    {"decision", figure_decision, NULL},
    {"policies", figure_policies, NULL},
    {"schedule", figure_schedule, NULL},
    {"recall", figure_recall, NULL},
    {"threads", figure_threads, NULL},
    {"gate", figure_gate, NULL},
    {"agent", figure_agent, NULL},
    {"agents", figure_agents, NULL},
    {"past", figure_past, "serve"},
    {"readers", figure_readers, "serve"},
    {"idle", figure_idle, "daemon"},
    {"hooks", figure_hooks, "daemon"},
    {"telemetry", figure_telemetry, NULL},
    {"inbox", figure_inbox, NULL},
    {"foreign", figure_foreign, NULL},
    {"profile", figure_profile, NULL},
    {"lanes", figure_lanes, "daemon"},
    {"prd", figure_prd, NULL},
    {"polls", figure_polls, "work"},
    {"repositories", figure_repositories, "work"},
    {"claim", figure_claim, "work"},
    {"postgres-commit", figure_postgres_commit, "postgres"},
    {"postgres-100", figure_postgres_100, "postgres"},
    {"postgres-loops", figure_postgres_loops, "postgres"},
    {"postgres-dbos", figure_postgres_dbos, "postgres"},
    {"postgres-claim", figure_postgres_claim, "postgres"},
    {"postgres-fanout", figure_postgres_fanout, "postgres"},
    {"postgres-million", figure_postgres_million, "postgres"},
    {"postgres-idle", figure_postgres_idle, "postgres"},
};
#define FIGURE_COUNT (sizeof(figures) / sizeof(figures[0]))

static bool is_wanted(size_t figure, char *const *wanted)
{
    const char *name = figures[figure].name;
    const char *group = figures[figure].group;
    if (wanted[0] == NULL) {
        return true;
    }
    for (size_t i = 0; wanted[i] != NULL; i++) {
        if (strcmp(wanted[i], name) == 0 || (group != NULL && strcmp(wanted[i], group) == 0)) {
            return true;
        }
    }
    return false;
}

static void usage(void)
{
    fputs("usage: bench/run [--quick] [--json] [FIGURE...]\nfigures:", stderr);
    for (size_t i = 0; i < FIGURE_COUNT; i++) {
        fprintf(stderr, " %s", figures[i].name);
    }
    fputc('\n', stderr);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"folder", required_argument, NULL, 'f'}, {"programs", required_argument, NULL, 'p'},
        {"cli", required_argument, NULL, 'c'},    {"quick", no_argument, NULL, 'q'},
        {"json", no_argument, NULL, 'j'},         {"reference", required_argument, NULL, 'r'},
        {"forge", required_argument, NULL, 'w'},  {NULL, 0, NULL, 0},
    };
    static struct bench bench;
    bool is_json = false;
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 'f') {
            bench.folder = optarg;
        } else if (option == 'p') {
            bench.programs = optarg;
        } else if (option == 'c') {
            bench.cli = optarg;
        } else if (option == 'r') {
            bench.reference = optarg;
        } else if (option == 'w') {
            bench.forge = optarg;
        } else if (option == 'q') {
            bench.is_quick = true;
        } else if (option == 'j') {
            is_json = true;
        } else {
            usage();
            return 2;
        }
    }
    if (bench.folder == NULL || bench.programs == NULL) {
        usage();
        return 2;
    }
    for (size_t i = 0; i < FIGURE_COUNT; i++) {
        if (is_wanted(i, argv + optind)) {
            fprintf(stderr, "measuring: %s\n", figures[i].name);
            figures[i].measure(&bench);
        }
    }
    (is_json ? report_json : report_text)(&bench, stdout);
    return 0;
}
