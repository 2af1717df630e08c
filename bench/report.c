// SPDX-License-Identifier: Apache-2.0
/* The report: a table for people, or JSON. Says nothing about where the machine is. One thread. */
#include "measure.h"

#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

double row_score(const struct report_row *row)
{
    switch (row->goal_kind) {
    case GOAL_NONE:
    case GOAL_RATIO_MAX:
    case GOAL_RATIO_MIN:
        return row->floor.median > 0 ? row->figure.median / row->floor.median : 0;
    case GOAL_EXCESS_MAX:
        return row->figure.median - row->floor.median;
    case GOAL_FIGURE_MAX:
    case GOAL_FIGURE_MIN:
        return row->figure.median;
    }
    return 0;
}

bool row_is_met(const struct report_row *row)
{
    switch (row->goal_kind) {
    case GOAL_NONE:
        return true;
    case GOAL_RATIO_MIN:
    case GOAL_FIGURE_MIN:
        return row_score(row) >= row->goal;
    case GOAL_RATIO_MAX:
    case GOAL_EXCESS_MAX:
    case GOAL_FIGURE_MAX:
        return row_score(row) <= row->goal;
    }
    return false;
}

/** Model of the processor, "unknown" where /proc does not say. */
static void read_processor(char *ret_model, size_t size)
{
    snprintf(ret_model, size, "unknown processor");
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
            colon[strcspn(colon, "\n")] = '\0';
            snprintf(ret_model, size, "%s", colon + 2);
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
}

static void describe_machine(char *ret_text, size_t size)
{
    struct utsname system;
    uname(&system);
    int major = 0;
    int minor = 0;
    sscanf(system.release, "%d.%d", &major, &minor);
    char model[128];
    read_processor(model, sizeof(model));
    double gib = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / (1 << 30);
    snprintf(ret_text, size, "%s, %ld processors, %.0f GiB, %s %d.%d", model,
             sysconf(_SC_NPROCESSORS_ONLN), gib, system.sysname, major, minor);
}

static const char *score_text(const struct report_row *row, char *text, size_t size)
{
    if (row->goal_kind == GOAL_EXCESS_MAX || row->goal_kind == GOAL_FIGURE_MAX ||
        row->goal_kind == GOAL_FIGURE_MIN) {
        snprintf(text, size, "%s%.2f %s", row->goal_kind == GOAL_EXCESS_MAX ? "+" : "",
                 row_score(row), row->unit);
    } else {
        snprintf(text, size, "%.2fx", row_score(row));
    }
    return text;
}

static const char *goal_text(const struct report_row *row, char *text, size_t size)
{
    static const char *const forms[] = {
        [GOAL_NONE] = "-",
        [GOAL_RATIO_MAX] = "<= %gx",
        [GOAL_RATIO_MIN] = ">= %gx",
        [GOAL_EXCESS_MAX] = "<= +%g %s",
        [GOAL_FIGURE_MAX] = "<= %g %s",
        [GOAL_FIGURE_MIN] = ">= %g %s",
    };
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
    snprintf(text, size, forms[row->goal_kind], row->goal, row->unit);
#pragma GCC diagnostic pop
    return text;
}

static const char *verdict(const struct report_row *row)
{
    return row->goal_kind == GOAL_NONE ? "" : row_is_met(row) ? "ok" : "over";
}

void report_text(const struct bench *bench, FILE *out)
{
    char machine[320];
    describe_machine(machine, sizeof(machine));
    fprintf(out,
            "Machine: %s\nEach figure and its floor were measured in turns in this run: "
            "median (lowest-highest).\n\n",
            machine);
    for (size_t i = 0; i < bench->row_count; i++) {
        const struct report_row *row = &bench->rows[i];
        char score[48];
        char goal[48];
        fprintf(out, "%-52s %10s   goal %-11s %s\n", row->name,
                score_text(row, score, sizeof(score)), goal_text(row, goal, sizeof(goal)),
                verdict(row));
        fprintf(out, "    %.2f (%.2f-%.2f) %s", row->figure.median, row->figure.low,
                row->figure.high, row->unit);
        fprintf(out, "; %s: %.2f (%.2f-%.2f) %s\n", row->floor_name, row->floor.median,
                row->floor.low, row->floor.high, row->unit);
    }
}

static void json_spread(FILE *out, const char *key, const struct spread *spread)
{
    fprintf(out, "\"%s\":{\"median\":%.4f,\"low\":%.4f,\"high\":%.4f}", key, spread->median,
            spread->low, spread->high);
}

void report_json(const struct bench *bench, FILE *out)
{
    char machine[320];
    describe_machine(machine, sizeof(machine));
    fprintf(out, "{\"machine\":\"%s\",\"rows\":[", machine);
    for (size_t i = 0; i < bench->row_count; i++) {
        const struct report_row *row = &bench->rows[i];
        char goal[48];
        fprintf(out, "%s{\"name\":\"%s\",\"floor_name\":\"%s\",\"unit\":\"%s\",", i == 0 ? "" : ",",
                row->name, row->floor_name, row->unit);
        json_spread(out, "figure", &row->figure);
        fputc(',', out);
        json_spread(out, "floor", &row->floor);
        fprintf(out, ",\"score\":%.4f,\"goal\":\"%s\",\"is_met\":%s}", row_score(row),
                goal_text(row, goal, sizeof(goal)), row_is_met(row) ? "true" : "false");
    }
    fprintf(out, "]}\n");
}
