// SPDX-License-Identifier: Apache-2.0
/* soak [--seed N] [--count N] [--roles N] [--days N] [--verbose]: years on duty, and what was seen
 * in them. */
#include "soak.h"

#include "../support/store/memory_store.h"
#include "agent/follow_up.h"
#include "base/memory.h"
#include "base/parse.h"
#include "loop/owner.h"
#include "os/file_folder.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** A seed that runs for so long does not end. A year of fifty roles takes 30 s of computing time.
 */
#define SEED_SECONDS 900
/** After the year, so long for all that waits. */
#define CALM_NS (60 * SOAK_DAY_NS)

/* ---- Helpers -------------------------------------------------------------------------------- */

int64_t soak_wall(const struct soak *soak)
{
    return soak->mono_ns + soak->offset_ns;
}

static int64_t read_wall(const struct clock *clock)
{
    return soak_wall(clock->context);
}

static int64_t read_monotonic(const struct clock *clock)
{
    return ((const struct soak *)clock->context)->mono_ns;
}

uint64_t soak_below(struct soak *soak, uint64_t n)
{
    return random_below(&soak->random, n);
}

bool soak_chance(struct soak *soak, uint64_t percent)
{
    return soak_below(soak, 100) < percent;
}

void soak_say(const struct soak *soak, const char *format, ...)
{
    if (soak->is_verbose) {
        char time[CLOCK_UTC_SIZE];
        va_list arguments;
        clock_format_utc(soak->mono_ns, time);
        printf("%s ", time);
        va_start(arguments, format);
        vprintf(format, arguments);
        va_end(arguments);
        printf("\n");
    }
}

void soak_violation(const struct soak *soak, const char *format, ...)
{
    va_list arguments;
    fflush(stdout);
    fputs("violation: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr,
            "\nto replay: soak --seed %" PRIu64 " --roles %zu --days %" PRId64 " --verbose\n",
            soak->seed, soak->role_count, (int64_t)((soak->end_ns - soak->begin_ns) / SOAK_DAY_NS));
    exit(1);
}

/* ---- One seed ------------------------------------------------------------------------------- */

static void begin(struct soak *soak, const struct soak_options *options)
{
    int64_t free_days = 365 - options->days;
    soak->random = random_seeded(soak->seed);
    soak->ids = random_seeded(soak->seed + 1000003);
    soak->clock =
        (struct clock){.now_ns = read_wall, .monotonic_ns = read_monotonic, .context = soak};
    soak->mono_ns =
        SOAK_BEGIN_S * NS_PER_S +
        (free_days > 0 ? (int64_t)soak_below(soak, (uint64_t)free_days) * SOAK_DAY_NS : 0);
    soak->begin_ns = soak->mono_ns;
    soak->next_outside_ns = soak->mono_ns + SOAK_HOUR_NS;
    soak->end_ns = soak->mono_ns + options->days * SOAK_DAY_NS;
    soak->has_jumps = soak_chance(soak, 30);
    soak->max_running = 1 + soak_below(soak, 2 * options->roles);
    soak->memory = store_memory_new(&soak->clock);
    soak->folder_fd = file_folder_make_temporary(&soak->folder, NULL);
    if (soak->folder_fd < 0) {
        abort();
    }
    owner_new(&soak->ids, soak->owner);
    soak_roles_make(soak, options->roles);
    soak->spec = soak_spec_new(soak);
}

static void finish(struct soak *soak)
{
    soak_daemon_kill(soak);
    soak_roles_free(soak);
    store_close(soak->memory);
    close(soak->folder_fd);
    file_folder_remove(AT_FDCWD, soak->folder, NULL);
    free(soak->folder);
    for (size_t i = 0; i < soak->run_count; i++) {
        free(soak->runs[i].prompt);
        free(soak->runs[i].context);
    }
    free(soak->runs);
    free(soak->spec);
    soak_model_fini(soak);
    free(soak->events);
    free(soak);
}

/** One moment: the world, then the process. */
static void turn(struct soak *soak)
{
    if (soak->intake == NULL && soak->restart_ns <= soak->mono_ns) {
        soak_daemon_start(soak);
        soak->restart_ns = soak->intake == NULL ? soak->mono_ns + NS_PER_S : 0;
    }
    soak_outside_turn(soak);
    soak_daemon_turn(soak);
}

static void calm_down(struct soak *soak)
{
    soak->is_calm = true;
    soak->dies_at = 0;
    soak->fails_until = 0;
    for (size_t i = 0; i < soak->role_count; i++) {
        soak->roles[i].is_present = true;
    }
    soak->is_consolidation_due = true;
}

static bool note_pending(const struct follow_up *follow_up, void *context)
{
    *(bool *)context = *(bool *)context || follow_up->state == FOLLOW_UP_PENDING;
    return true;
}

static bool has_follow_ups(const struct soak *soak)
{
    bool has_some = false;
    follow_ups_read(soak->memory, NULL, note_pending, &has_some, NULL);
    return has_some;
}

/** No source is due, or waits for a place in a queue to try again. */
static bool are_sources_quiet(const struct soak *soak)
{
    for (size_t i = 0; i < soak->role_count; i++) {
        const struct soak_role *role = &soak->roles[i];
        for (size_t at = 0; at < role->source_count; at++) {
            if (role->is_touched || role->sources[at] == NULL || role->retry_ns[at] != 0 ||
                role->next_ns[at] <= soak->mono_ns) {
                return false;
            }
        }
    }
    return true;
}

static bool is_done(const struct soak *soak)
{
    for (size_t i = 0; i < soak->event_count; i++) {
        if (soak_event_is_sent(&soak->events[i]) && !soak->events[i].is_told) {
            return false;
        }
    }
    return soak->intake != NULL && soak->mono_ns > soak->end_ns + 5 * SOAK_DAY_NS &&
           intake_state(soak->intake).waiting == 0 && soak->first_open_run == soak->run_count &&
           !soak->is_consolidation_due && soak->consolidate_ns == 0 && are_sources_quiet(soak) &&
           !has_follow_ups(soak);
}

static void pass(struct soak *soak)
{
    int64_t next_ns = soak_daemon_next(soak);
    int64_t outside_ns = soak_outside_next(soak);
    next_ns = next_ns < outside_ns ? next_ns : outside_ns;
    if (soak->mono_ns < soak->end_ns && next_ns > soak->end_ns) {
        next_ns = soak->end_ns;
    }
    soak->mono_ns = next_ns > soak->mono_ns ? next_ns : soak->mono_ns + NS_PER_MS;
}

static void add_counters(struct soak_counters *sum, const struct soak_counters *counters)
{
    uint64_t *to = (uint64_t *)(void *)sum;
    const uint64_t *from = (const uint64_t *)(const void *)counters;
    for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++) {
        to[i] += from[i];
    }
}

void soak_run_seed(const struct soak_options *options, struct soak_counters *counters)
{
    struct soak_counters own = {.seeds = 1};
    struct soak *soak = memory_new_zero(1, sizeof(*soak));
    soak->seed = options->seed;
    soak->is_verbose = options->is_verbose;
    soak->counters = &own;
    begin(soak, options);
    while (!soak->is_calm || !is_done(soak)) {
        turn(soak);
        if (!soak->is_calm && soak->mono_ns >= soak->end_ns) {
            calm_down(soak);
        }
        pass(soak);
        if (soak->mono_ns > soak->end_ns + CALM_NS) {
            struct intake_state state =
                soak->intake == NULL ? (struct intake_state){0} : intake_state(soak->intake);
            soak_violation(soak, "%llu events wait and %zu runs execute long after the year",
                           (unsigned long long)state.waiting,
                           soak->run_count - soak->first_open_run);
        }
    }
    soak_model_check(soak);
    add_counters(counters, &own);
    finish(soak);
}

/* ---- The program ---------------------------------------------------------------------------- */

static volatile uint64_t present_seed;

static void on_alarm(int number)
{
    (void)number;
    char text[96];
    int len =
        snprintf(text, sizeof(text), "violation: it hangs\nto replay: soak --seed %llu --verbose\n",
                 (unsigned long long)present_seed);
    ssize_t written = write(STDERR_FILENO, text, (size_t)len);
    _exit(written > 0 ? 1 : 2);
}

static void print_counters(const struct soak_counters *counters)
{
    const struct {
        const char *name;
        uint64_t number;
    } rows[] = {
        {"seeds hold", counters->seeds},
        {"events from outside", counters->events},
        {"runs", counters->runs},
        {"kills", counters->kills},
        {"failed calls of stores", counters->failures},
        {"lost answers", counters->lost_answers},
        {"changes of roles", counters->reloads},
        {"clocks set", counters->clocks_set},
        {"refused", counters->refused},
        {"dropped", counters->dropped},
        {"coalesced", counters->coalesced},
        {"full queues", counters->full},
        {"late", counters->late},
        {"heartbeats", counters->beats},
        {"turns of conversations", counters->turns},
        {"episodes", counters->episodes},
        {"facts", counters->facts},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        printf("%10" PRIu64 " %s\n", rows[i].number, rows[i].name);
    }
}

int main(int argc, char **argv)
{
    int64_t seed = 1;
    int64_t count = 1;
    int64_t roles = 4;
    int64_t days = 365;
    bool is_verbose = false;
    for (int i = 1; i < argc; i++) {
        int64_t *number = strcmp(argv[i], "--seed") == 0    ? &seed
                          : strcmp(argv[i], "--count") == 0 ? &count
                          : strcmp(argv[i], "--roles") == 0 ? &roles
                          : strcmp(argv[i], "--days") == 0  ? &days
                                                            : NULL;
        if (strcmp(argv[i], "--verbose") == 0) {
            is_verbose = true;
        } else if (number == NULL || i + 1 == argc ||
                   parse_int(argv[++i], 1,
                             number == &roles  ? SOAK_ROLES
                             : number == &days ? 3650
                                               : INT64_MAX / 2,
                             number, NULL) < 0) {
            fputs("usage: soak [--seed N] [--count N] [--roles N] [--days N] [--verbose]\n",
                  stderr);
            return 2;
        }
    }
    struct soak_counters counters = {0};
    signal(SIGALRM, on_alarm);
    for (int64_t i = 0; i < count; i++) {
        present_seed = (uint64_t)(seed + i);
        alarm(SEED_SECONDS);
        struct soak_options options = {
            .seed = (uint64_t)(seed + i),
            .roles = (size_t)roles,
            .days = days,
            .is_verbose = is_verbose,
        };
        soak_run_seed(&options, &counters);
    }
    print_counters(&counters);
    return 0;
}
