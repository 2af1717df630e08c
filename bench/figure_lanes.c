// SPDX-License-Identifier: Apache-2.0
/*
 * The promise of lanes: events of which some wait for people, while the others do not notice. The
 * same load is run with and without confirmation of what these call; what is compared are the
 * others. Operators take a random time.
 */
#include "measure.h"
#include "serve_client.h"

#include "base/clock.h"
#include "base/random.h"
#include "handoff/inbox/inbox.h"
#include "store/locate/locate.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define EVENTS       1000
#define QUICK_EVENTS 200
/** Of so many events one waits for a person: 5 per cent. */
#define FLAGGED_EACH 20
#define PACE_US      25000
/** An operator thinks at most so long. */
#define THINK_MS     1200
#define ANSWER_BYTES (256 * 1024)

struct lane_event {
    char run_id[64];
    double sent_ms;
};

struct lane_operator {
    const char *store;
    atomic_bool is_over;
    atomic_size_t most_waiting;
    atomic_size_t decided;
};

static double wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) {
        bench_die("%s cannot be written", path);
    }
}

/** @param is_asking whether calls of the role `flagged` need a person */
static void write_roles(const char *folder, bool is_asking)
{
    static const char role[] =
        "apiVersion: initrunner/v1\nkind: Agent\nmetadata:\n  name: %s\nspec:\n"
        "  role: You think.\n  model: {provider: scripted, name: %s.jsonl}\n"
        "  execution: {sandbox: none}\n"
        "  tools: [{type: shell, require_confirmation: %s}, {type: datetime}]\n"
        "  triggers:\n    - {type: webhook, name: %s, unsigned: true, rate_limit_rpm: 1000000}\n";
    static const struct {
        const char *name;
        const char *call;
    } kinds[] = {{"plain", "\"parse_date\",\"arguments\":{\"text\":\"2026-01-01\"}"},
                 {"flagged", "\"run_shell\",\"arguments\":{\"command\":\"true\"}"}};
    for (size_t i = 0; i < 2; i++) {
        char path[4096];
        char text[1024];
        const char *name = kinds[i].name;
        snprintf(path, sizeof(path), "%s/%s.yaml", folder, name);
        snprintf(text, sizeof(text), role, name, name, is_asking ? "true" : "false", name);
        write_text(path, text);
        snprintf(path, sizeof(path), "%s/%s.jsonl", folder, name);
        snprintf(text, sizeof(text), "{\"tool_calls\":[{\"name\":%s}]}\n{\"text\":\"Done.\"}\n",
                 kinds[i].call);
        write_text(path, text);
    }
}

/* ---- The operators -------------------------------------------------------------------------- */

struct waiting_ones {
    char request_id[ID_SIZE];
    size_t count;
};

static bool take_waiting(const struct handoff_summary *summary, void *context)
{
    struct waiting_ones *waiting = context;
    if (summary->state < HANDOFF_APPROVED && waiting->count++ == 0) {
        memcpy(waiting->request_id, summary->request_id, ID_SIZE);
    }
    return true;
}

static void approve(const struct handoff_store *handoffs, const char *request_id)
{
    struct handoff handoff;
    struct inbox_result result;
    if (handoff_read(handoffs, request_id, &handoff, NULL) < 0) {
        return;
    }
    struct inbox_decision decision = {.kind = HANDOFF_APPROVE,
                                      .by = "user:bench",
                                      .revision = handoff.revision,
                                      .action_digest = handoff.action_digest};
    (void)inbox_decide(handoffs, request_id, &decision, clock_now(clock_system()), &result, NULL);
}

static void *operate(void *context)
{
    struct lane_operator *person = context;
    struct rondo_error err = {0};
    struct store *store = NULL;
    if (store_open_default(person->store, STORE_CREATING, &store, NULL, &err) < 0) {
        bench_die("%s", err.message);
    }
    struct handoff_store handoffs = {.store = store, .rules = &handoff_default_rules};
    struct waiting_ones waiting = {0};
    while (!atomic_load(&person->is_over) || waiting.count > 0) {
        waiting = (struct waiting_ones){0};
        (void)handoff_read_summaries(&handoffs, take_waiting, &waiting, NULL);
        if (waiting.count > atomic_load(&person->most_waiting)) {
            atomic_store(&person->most_waiting, waiting.count);
        }
        usleep((useconds_t)random_below(random_system(), THINK_MS) * 1000);
        if (waiting.count > 0) {
            approve(&handoffs, waiting.request_id);
            atomic_fetch_add(&person->decided, 1);
        }
    }
    store_close(store);
    return NULL;
}

/* ---- The load ------------------------------------------------------------------------------- */

static void find_text(const char *json, const char *member, char *ret_text, size_t size)
{
    char mark[64];
    snprintf(mark, sizeof(mark), "\"%s\":\"", member);
    const char *found = strstr(json, mark);
    found = found == NULL ? "" : found + strlen(mark);
    snprintf(ret_text, size, "%.*s", (int)strcspn(found, "\""), found);
}

/** Milliseconds from the event to the end of its run. Waits for it. */
static double latency_ms(int fd, const struct lane_event *event)
{
    static char answer[ANSWER_BYTES];
    char path[128];
    char time[64] = "";
    snprintf(path, sizeof(path), "/v1/runs/%.60s/events?types=run.finished&limit=1", event->run_id);
    while (time[0] == '\0') { /* The event may still wait for its run. */
        if (serve_ask_on(fd, "GET", path, NULL, answer, sizeof(answer)) == 200) {
            find_text(answer, "time", time, sizeof(time));
        }
        usleep(time[0] == '\0' ? 5000 : 0);
    }
    return bench_time_ms(time) - event->sent_ms;
}

static bool is_flagged(size_t event)
{
    return event % FLAGGED_EACH == FLAGGED_EACH / 2;
}

static void send(int fd, const char *path, struct lane_event *event)
{
    char answer[4096];
    event->sent_ms = wall_ms();
    int status = serve_ask_on(fd, "POST", path, "{}", answer, sizeof(answer));
    find_text(answer, "run_id", event->run_id, sizeof(event->run_id));
    if (status != 202) {
        bench_die("an event is not accepted: %d %.200s", status, answer);
    }
}

/** Run the load. @param ret_latency of the events that no person has to decide about */
static void run_load(const struct bench *bench, const char *roles, bool is_asking,
                     struct samples *ret_latency, double *ret_most_waiting)
{
    static struct lane_event events[EVENTS];
    const char *store = bench_path(bench, "lanes.db");
    const char *work = bench_path(bench, "work");
    const char *const command[] = {"daemon", roles, "--workspace", work, NULL};
    const char *const more[] = {"--max-waiting", "10000", NULL};
    size_t count = bench->is_quick ? QUICK_EVENTS : EVENTS;
    pthread_t thread;
    (void)mkdir(work, 0700);
    write_roles(roles, is_asking);
    bench_remove_store(store);
    struct serve_process server = serve_start_as(bench->cli, command, store, more);
    struct lane_operator person = {.store = store};
    if (pthread_create(&thread, NULL, operate, &person) != 0) {
        bench_die("no thread");
    }
    int fd = serve_connect(server.port);
    for (size_t i = 0; i < count; i++) {
        send(fd, is_flagged(i) ? "/hooks/flagged" : "/hooks/plain", &events[i]);
        usleep(PACE_US);
    }
    for (size_t i = 0; i < count; i++) {
        if (!is_flagged(i)) {
            samples_add(ret_latency, latency_ms(fd, &events[i]));
        }
    }
    atomic_store(&person.is_over, true);
    pthread_join(thread, NULL);
    close(fd);
    serve_end(&server, SIGTERM);
    *ret_most_waiting = (double)atomic_load(&person.most_waiting);
    if (is_asking && atomic_load(&person.decided) == 0) {
        bench_die("nothing has waited for people");
    }
}

void figure_lanes(struct bench *bench)
{
    struct samples ours[2] = {0};
    struct samples bare[2] = {0};
    struct samples waiting = {0};
    struct samples events = {0};
    if (bench->cli == NULL) {
        return;
    }
    char *roles = strdup(bench_path(bench, "lanes"));
    if (roles == NULL || mkdir(roles, 0700) != 0) {
        bench_die("no folder of roles");
    }
    for (size_t round = 0; round < bench_rounds(bench, 5); round++) {
        struct samples with = {0};
        struct samples without = {0};
        double most = 0;
        double none = 0;
        run_load(bench, roles, true, &with, &most);
        run_load(bench, roles, false, &without, &none);
        samples_add(&waiting, most);
        samples_add(&events, bench->is_quick ? QUICK_EVENTS : EVENTS);
        samples_add(&ours[0], samples_percentile(&with, 0.5));
        samples_add(&bare[0], samples_percentile(&without, 0.5));
        samples_add(&ours[1], samples_percentile(&with, 0.95));
        samples_add(&bare[1], samples_percentile(&without, 0.95));
        samples_fini(&with);
        samples_fini(&without);
    }
    bench_row(bench,
              &(struct report_row){.name = "5 % of events wait for people: the others, median",
                                   .floor_name = "the same load, nobody is asked",
                                   .unit = "ms",
                                   .goal_kind = GOAL_RATIO_MAX,
                                   .goal = 1.1},
              &ours[0], &bare[0]);
    bench_row(bench,
              &(struct report_row){.name = "5 % of events wait for people: the others, p95",
                                   .floor_name = "the same load, nobody is asked",
                                   .unit = "ms",
                                   .goal_kind = GOAL_RATIO_MAX,
                                   .goal = 1.25},
              &ours[1], &bare[1]);
    bench_row(bench,
              &(struct report_row){.name = "most that waited for people at once",
                                   .floor_name = "events",
                                   .unit = "",
                                   .goal_kind = GOAL_FIGURE_MAX,
                                   .goal = LIMIT_HANDOFFS_OF_AGENT},
              &waiting, &events);
    free(roles);
    bench_remove_store(bench_path(bench, "lanes.db"));
}
