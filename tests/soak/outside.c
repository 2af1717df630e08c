// SPDX-License-Identifier: Apache-2.0
/*
 * The world around the process: senders of webhooks, who send again until they are answered and
 * sometimes twice; files that are written; people who move role files and set the clock; trouble.
 */
#include "soak.h"

#include "base/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Mean time between two things that happen, for each role. */
#define MEAN_NS (40 * SOAK_HOUR_NS)
/** A sender that was told to come again, or was not answered, does so within. */
#define SENDER_NS (6 * SOAK_HOUR_NS)
/** It sends nothing again after so long: keys count for seven days, by a clock that people set. */
#define GIVE_UP_NS    (4 * SOAK_DAY_NS)
#define CLOCK_BOUND_S (24 * 3600)

struct soak_event *soak_event_add(struct soak *soak, enum soak_event_kind kind, size_t role)
{
    soak->events = memory_resize(soak->events, soak->event_count + 1, sizeof(*soak->events));
    struct soak_event *event = &soak->events[soak->event_count++];
    *event = (struct soak_event){.kind = kind, .role = role, .due_ns = soak->mono_ns};
    soak->counters->events++;
    return event;
}

/* ---- Senders of webhooks -------------------------------------------------------------------- */

static const char *find_header(const struct source_delivery *delivery, const char *name)
{
    static const char *const talks[SOAK_TALKS] = {"one", "two", "three"};
    const struct soak_event *event = delivery->context;
    if (event->kind == SOAK_TURN && strcmp(name, "x-talk") == 0) {
        return talks[event->talk];
    }
    return strcmp(name, "idempotency-key") == 0 ? event->prompt : NULL;
}

/** The webhook for single events, or that for turns. */
static struct source *find_hook(const struct soak_role *role, enum soak_event_kind kind)
{
    for (size_t at = 0; at < role->source_count; at++) {
        struct source *source = role->sources[at];
        if (source != NULL && source->type->receive != NULL &&
            (role->hosts[at].conversation != NULL) == (kind == SOAK_TURN)) {
            return source;
        }
    }
    return NULL;
}

/** @return false: nobody answered */
static bool deliver(struct soak *soak, struct soak_event *event, struct source_answer *ret_answer)
{
    struct source *source = find_hook(&soak->roles[event->role], event->kind);
    if (soak->intake == NULL || source == NULL) {
        return false;
    }
    struct source_delivery delivery = {
        .method = "POST",
        .header = find_header,
        .body = event->prompt,
        .body_len = strlen(event->prompt),
        .context = event,
    };
    event->first_ns = event->first_ns == 0 ? soak->mono_ns : event->first_ns;
    source->type->receive(source, &delivery, ret_answer);
    bool is_lost = soak->is_dead || (!soak->is_calm && soak_chance(soak, 3));
    soak->counters->lost_answers += is_lost ? 1 : 0;
    return !is_lost;
}

static void take_answer(struct soak *soak, struct soak_event *event,
                        const struct source_answer *answer)
{
    bool is_accepted = answer->status >= 200 && answer->status < 300;
    if (is_accepted && event->is_told && strcmp(answer->run_id, event->run_id) != 0) {
        soak_violation(soak, "%s was answered with the run %s, and then with %s", event->prompt,
                       event->run_id, answer->run_id);
    }
    if (is_accepted) {
        memcpy(event->run_id, answer->run_id, sizeof(event->run_id));
        event->is_told_twice = event->is_told || soak->is_calm || !soak_chance(soak, 10);
        event->is_told = true;
    } else if (answer->status == 409) {
        event->is_refused = true;
        event->is_told = true;
        event->is_told_twice = true;
    } else if (answer->status != 503 && answer->status != 429) {
        soak_violation(soak, "%s was answered with %d: %s", event->prompt, answer->status,
                       answer->message);
    }
}

static void send(struct soak *soak, struct soak_event *event)
{
    struct source_answer answer = {0};
    if (event->first_ns != 0 && soak->mono_ns - event->first_ns > GIVE_UP_NS) {
        event->is_given_up = !event->is_told;
        event->is_told = true;
        event->is_told_twice = true;
        return;
    }
    event->due_ns = soak->mono_ns + SOAK_MINUTE_NS + (int64_t)soak_below(soak, SENDER_NS);
    if (deliver(soak, event, &answer)) {
        soak_say(soak, "%s: %d %s %s", event->prompt, answer.status, answer.run_id, answer.message);
        take_answer(soak, event, &answer);
    }
}

bool soak_event_is_sent(const struct soak_event *event)
{
    return event->kind == SOAK_HOOK || event->kind == SOAK_TURN;
}

static bool is_open(const struct soak_event *event)
{
    return soak_event_is_sent(event) && !(event->is_told && event->is_told_twice);
}

static void send_all(struct soak *soak)
{
    while (soak->first_open_event < soak->event_count &&
           !is_open(&soak->events[soak->first_open_event])) {
        soak->first_open_event++;
    }
    for (size_t i = soak->first_open_event; i < soak->event_count; i++) {
        if (is_open(&soak->events[i]) && soak->events[i].due_ns <= soak->mono_ns) {
            send(soak, &soak->events[i]);
        }
    }
}

/* ---- What happens --------------------------------------------------------------------------- */

static void call_hook(struct soak *soak, size_t role)
{
    size_t count = soak_chance(soak, 15) ? 2 + soak_below(soak, 8) : 1; /* all at once, or one */
    for (size_t i = 0; soak->roles[role].has_hook && i < count; i++) {
        struct soak_event *event = soak_event_add(soak, SOAK_HOOK, role);
        snprintf(event->prompt, sizeof(event->prompt), "hook-%zu.", soak->event_count);
    }
}

static void say_something(struct soak *soak, size_t role)
{
    size_t count = soak_chance(soak, 30) ? 1 + soak_below(soak, 4) : 1;
    for (size_t i = 0; soak->roles[role].has_talk && i < count; i++) {
        struct soak_event *event = soak_event_add(soak, SOAK_TURN, role);
        event->talk = (int)soak_below(soak, SOAK_TALKS);
        snprintf(event->prompt, sizeof(event->prompt), "turn-%zu.", soak->event_count);
    }
}

static void write_list(struct soak *soak, size_t role)
{
    if (soak->roles[role].has_beat) {
        soak_list_write(soak, &soak->roles[role], soak_chance(soak, 60));
    }
}

static void write_file(struct soak *soak, size_t role)
{
    if (!soak->roles[role].has_watch) {
        return;
    }
    char path[80];
    struct soak_event *event = soak_event_add(soak, SOAK_FILE, role);
    snprintf(event->prompt, sizeof(event->prompt), "file-%zu.txt", soak->event_count);
    snprintf(path, sizeof(path), "%s/%s", soak->roles[role].name, event->prompt);
    int fd = openat(soak->folder_fd, path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, "x", 1) != 1) {
        abort();
    }
    close(fd);
}

static void set_clock(struct soak *soak)
{
    int64_t range_s = soak_chance(soak, 50) ? 120 : CLOCK_BOUND_S;
    soak->offset_ns = ((int64_t)soak_below(soak, (uint64_t)(2 * range_s)) - range_s) * NS_PER_S;
    soak->counters->clocks_set++;
    for (size_t i = 0; i < soak->role_count; i++) {
        soak->roles[i].is_touched = true;
    }
    soak_say(soak, "the clock is set: %+lld s", (long long)(soak->offset_ns / NS_PER_S));
}

static void happen(struct soak *soak)
{
    size_t role = soak_below(soak, soak->role_count);
    uint64_t what = soak_below(soak, 100);
    if (what < 25) {
        call_hook(soak, role);
    } else if (what < 45) {
        say_something(soak, role);
    } else if (what < 55) {
        write_file(soak, role);
    } else if (what < 60) {
        write_list(soak, role);
    } else if (what < 80) {
        soak_plan_fault(soak);
    } else if (what < 90) {
        soak->roles[role].is_present = !soak->roles[role].is_present;
        soak->counters->reloads++;
    } else if (what < 93 && soak->has_jumps) {
        set_clock(soak);
    } else if (what < 96 && soak->roles[role].is_present && soak->intake != NULL) {
        soak->roles[role].queue.max_waiting = soak_below(soak, 4); /* a changed role */
        soak->roles[role].is_loaded = false;
        soak->counters->reloads++;
    }
}

void soak_outside_turn(struct soak *soak)
{
    if (!soak->is_calm && soak->next_outside_ns <= soak->mono_ns) {
        happen(soak);
        soak->next_outside_ns =
            soak->mono_ns + 1 +
            (int64_t)soak_below(soak, (uint64_t)(2 * MEAN_NS / (int64_t)soak->role_count));
    }
    send_all(soak);
}

int64_t soak_outside_next(const struct soak *soak)
{
    int64_t next_ns = soak->is_calm ? INT64_MAX : soak->next_outside_ns;
    for (size_t i = soak->first_open_event; i < soak->event_count; i++) {
        const struct soak_event *event = &soak->events[i];
        if (is_open(event) && event->due_ns < next_ns) {
            next_ns = event->due_ns;
        }
    }
    return next_ns;
}
