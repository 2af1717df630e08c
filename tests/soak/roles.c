// SPDX-License-Identifier: Apache-2.0
/* What the roles of a seed are like, and their sources as a daemon opens them. */
#include "soak.h"

#include "base/json/json.h"
#include "base/memory.h"
#include "source/intake/mark.h"

#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const zones[] = {"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"};

const char *soak_zone_name(int zone)
{
    return zones[zone];
}

static void add_source(struct soak_role *role, const char *json)
{
    size_t i = role->source_count++;
    if (json_parse(json, strlen(json), &role->configs[i], NULL) < 0) {
        abort();
    }
    const char *type = json_get_string(role->configs[i], "type", "");
    source_id(source_type_find(type), role->name, role->configs[i], role->ids[i]);
}

static void add_cron(struct soak *soak, struct soak_role *role)
{
    static const char *const catch_ups[] = {"one", "one", "all", "none"};
    static const uint32_t hours[] = {1U << 2, 1U << 9, 1U | 1U << 12, 1U << 1 | 1U << 3};
    static const char *const texts[] = {"2", "9", "0,12", "1,3"};
    char json[256];
    size_t which = soak_below(soak, 4);
    role->has_cron = true;
    role->may_overlap = soak_chance(soak, 30);
    role->times.hours = hours[which];
    role->times.minute = (int)soak_below(soak, 60);
    role->times.zone = (int)soak_below(soak, 4);
    snprintf(role->catch_up, sizeof(role->catch_up), "%s", catch_ups[soak_below(soak, 4)]);
    snprintf(json, sizeof(json),
             "{\"type\":\"cron\",\"schedule\":\"%d %s * * *\",\"prompt\":\"cron\",\"timezone\":"
             "\"%s\",\"catch_up\":\"%s\",\"overlap\":%s,\"jitter_seconds\":%d}",
             role->times.minute, texts[which], zones[role->times.zone], role->catch_up,
             role->may_overlap ? "true" : "false", soak_chance(soak, 20) ? 600 : 0);
    add_source(role, json);
}

static void add_talk(struct soak_role *role)
{
    char json[256];
    role->has_talk = true;
    snprintf(json, sizeof(json),
             "{\"type\":\"webhook\",\"name\":\"%s-talk\",\"port\":0,\"unsigned\":true,"
             "\"conversation\":\"{header.x-talk}\",\"conversation_idle_seconds\":%d}",
             role->name, SOAK_IDLE_S);
    add_source(role, json);
}

void soak_list_write(struct soak *soak, struct soak_role *role, bool is_open)
{
    struct soak_beat *beat = &role->beat;
    char path[32];
    char text[48];
    beat->lists = memory_resize(beat->lists, beat->list_count + 1, sizeof(*beat->lists));
    struct soak_list *list = &beat->lists[beat->list_count];
    *list = (struct soak_list){
        .from_ns = soak->mono_ns, .number = (int)beat->list_count, .is_open = is_open};
    beat->list_count++;
    snprintf(path, sizeof(path), "%s.md", role->name);
    snprintf(text, sizeof(text), "- [%s] list-%d.\n", is_open ? " " : "x", list->number);
    int fd = openat(soak->folder_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) {
        abort();
    }
    close(fd);
}

static void add_beat(struct soak *soak, struct soak_role *role)
{
    static const int intervals[] = {8 * 3600, 12 * 3600, 24 * 3600, 100000};
    static const int hours[][2] = {{8, 18}, {22, 6}, {0, 12}, {20, 21}};
    struct soak_beat *beat = &role->beat;
    char json[256];
    char active[32] = "null";
    size_t which = soak_below(soak, 4);
    role->has_beat = true;
    *beat = (struct soak_beat){.interval_s = intervals[soak_below(soak, 4)],
                               .zone = (int)soak_below(soak, 4),
                               .has_hours = soak_chance(soak, 60),
                               .from_hour = hours[which][0],
                               .until_hour = hours[which][1],
                               .seen = -1};
    if (beat->has_hours) {
        snprintf(active, sizeof(active), "[%d,%d]", beat->from_hour, beat->until_hour);
    }
    snprintf(json, sizeof(json),
             "{\"type\":\"heartbeat\",\"file\":\"%s.md\",\"interval_seconds\":%d,"
             "\"prompt_prefix\":\"beat\",\"active_hours\":%s,\"timezone\":\"%s\"}",
             role->name, (int)beat->interval_s, active, zones[beat->zone]);
    add_source(role, json);
    soak_list_write(soak, role, true);
}

static void make_role(struct soak *soak, size_t number)
{
    struct soak_role *role = &soak->roles[number];
    char json[256];
    snprintf(role->name, sizeof(role->name), "role%zu", number);
    role->is_present = true;
    role->queue = (struct queue_options){
        .max_waiting = soak_below(soak, 4),
        .max_running = 1 + soak_below(soak, 2),
        .rule = soak_chance(soak, 40) ? QUEUE_WAIT
                                      : (enum queue_rule)soak_below(soak, QUEUE_RULE_COUNT),
    };
    soak_say(soak, "%s: queue of %d, %d runs, %s", role->name, (int)role->queue.max_waiting,
             (int)role->queue.max_running, queue_rule_name(role->queue.rule));
    add_source(role, "{\"type\":\"scheduled\",\"autonomous\":true}");
    if (soak_chance(soak, 70)) {
        add_cron(soak, role);
    }
    role->has_hook = soak_chance(soak, 70);
    if (role->has_hook) {
        snprintf(json, sizeof(json),
                 "{\"type\":\"webhook\",\"name\":\"%s\",\"port\":0,\"unsigned\":true,"
                 "\"rate_limit_rpm\":600}",
                 role->name);
        add_source(role, json);
    }
    role->has_watch = soak_chance(soak, 15);
    if (role->has_watch) {
        snprintf(json, sizeof(json),
                 "{\"type\":\"file_watch\",\"paths\":[\"%s\"],\"prompt_template\":\"{path}\"}",
                 role->name);
        if (mkdirat(soak->folder_fd, role->name, 0700) < 0) {
            abort();
        }
        add_source(role, json);
    }
    role->has_memory = soak_chance(soak, 40);
    if (soak_chance(soak, 50)) {
        add_talk(role);
    }
    if (soak_chance(soak, 40)) {
        add_beat(soak, role);
    }
}

void soak_roles_make(struct soak *soak, size_t count)
{
    soak->role_count = count;
    for (size_t i = 0; i < count; i++) {
        make_role(soak, i);
    }
}

void soak_roles_free(struct soak *soak)
{
    for (size_t i = 0; i < soak->role_count; i++) {
        for (size_t at = 0; at < soak->roles[i].source_count; at++) {
            json_object_put(soak->roles[i].configs[at]);
        }
        free(soak->roles[i].beat.lists);
        free(soak->roles[i].beat.due);
    }
}

static void open_source(struct soak *soak, struct soak_role *role, size_t at)
{
    char *mark = NULL;
    const struct source_type *type =
        source_type_find(json_get_string(role->configs[at], "type", ""));
    role->hosts[at] = (struct source_host){
        .intake = soak->intake,
        .clock = &soak->clock,
        .random = &soak->ids,
        .store = soak->store,
        .id = role->ids[at],
        .role = role->name,
        .folder = soak->folder,
        .conversation = json_get_string(role->configs[at], "conversation", NULL),
        .idle_s = SOAK_IDLE_S,
    };
    int r = source_mark_read(soak->store, role->ids[at], &mark, NULL, NULL);
    if (r == 0 && mark == NULL && strcmp(type->name, "heartbeat") == 0) {
        role->beat.from_s = soak_wall(soak) / NS_PER_S;
    }
    if (r == 0) {
        r = type->open(role->configs[at], &role->hosts[at], mark, &role->sources[at], NULL);
    }
    free(mark);
    role->is_touched = true;
    role->retry_ns[at] = r < 0 ? soak->mono_ns + SOAK_MINUTE_NS : 0;
    if (r == 0 && strcmp(type->name, "cron") == 0 && role->cron_from_s == 0) {
        role->cron_from_s = soak_wall(soak) / NS_PER_S;
    }
}

void soak_role_open(struct soak *soak, struct soak_role *role)
{
    role->is_loaded = true;
    for (size_t at = 0; at < role->source_count; at++) {
        if (role->sources[at] == NULL && role->retry_ns[at] <= soak->mono_ns) {
            open_source(soak, role, at);
        }
    }
}

void soak_role_close(struct soak_role *role)
{
    role->is_loaded = false;
    for (size_t at = 0; at < role->source_count; at++) {
        if (role->sources[at] != NULL) {
            role->sources[at]->type->close(role->sources[at]);
        }
        role->sources[at] = NULL;
        role->retry_ns[at] = 0;
    }
}
