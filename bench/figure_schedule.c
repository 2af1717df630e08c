// SPDX-License-Identifier: Apache-2.0
/* Cron schedules: the next time of each of many, as a start of a daemon with many triggers needs.
 */
#include "measure.h"

#include "base/time/schedule.h"
#include "os/zone.h"

#include <stdio.h>
#include <time.h>

#define SCHEDULES 10000
#define NOW       1771592585

static const char *const forms[] = {
    "*/%d * * * *", "%d 9 * * mon-fri", "%d */6 * * *",  "%d 2 1 * *",   "%d 0 l * *",
    "%d 0 29 2 *",  "%d 12 13 * 5",     "%d 22-2 * * *", "%d 3 * jan 1", "%d,30 8-17/3 * * *",
};

static void make_schedules(struct schedule *ret_schedules)
{
    for (size_t i = 0; i < SCHEDULES; i++) {
        char text[64];
        const char *form = forms[i % (sizeof(forms) / sizeof(forms[0]))];
        snprintf(text, sizeof(text), form, (int)(i % 59) + 1);
        if (schedule_parse(text, &ret_schedules[i]) != NULL) {
            bench_die("%s is not a schedule", text);
        }
    }
}

static double next_ms(const struct schedule *schedules, const struct zone *zone)
{
    double began = now_us();
    for (size_t i = 0; i < SCHEDULES; i++) {
        int64_t due;
        if (!schedule_next(&schedules[i], zone, NOW + (int64_t)i, &due)) {
            bench_die("a schedule is never due");
        }
    }
    return (now_us() - began) / 1000;
}

static double local_ms(void)
{
    double began = now_us();
    for (size_t i = 0; i < SCHEDULES; i++) {
        time_t now = (time_t)(NOW + i);
        struct tm local;
        if (localtime_r(&now, &local) == NULL) {
            bench_die("no local time");
        }
    }
    return (now_us() - began) / 1000;
}

void figure_schedule(struct bench *bench)
{
    static struct schedule schedules[SCHEDULES];
    struct zone *zone = NULL;
    struct samples next = {0};
    struct samples local = {0};
    zone_load("Europe/Berlin", &zone); /* else UTC */
    make_schedules(schedules);
    for (size_t round = 0; round < bench_rounds(bench, 50); round++) {
        samples_add(&next, next_ms(schedules, zone));
        samples_add(&local, local_ms());
    }
    bench_row(bench,
              &(struct report_row){.name = "next times of 10,000 cron schedules",
                                   .floor_name = "as many localtime_r()",
                                   .unit = "ms",
                                   .goal_kind = GOAL_FIGURE_MAX,
                                   .goal = 20},
              &next, &local);
    zone_free(zone);
}
