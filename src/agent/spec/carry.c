// SPDX-License-Identifier: Apache-2.0
/* The member "conversation" of a run's agent: source, key, and messages by turns. */
#include "agent/spec/carry.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text/utf8.h"
#include "loop/spec.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define MEMBER "conversation"
/** Where the rest of a message is left out. */
#define CUT_MARK "\n[...]"
/** Messages of a turn. */
#define TURN 2
/** Messages of a request where the role does not say; as autonomy.max_history_messages. */
#define CARRY_MESSAGES 40

struct json_object *carry_messages(struct json_object *agent)
{
    struct json_object *messages = json_member(json_member(agent, MEMBER), "messages");
    return json_object_is_type(messages, json_type_array) ? messages : NULL;
}

const char *carry_summary(struct json_object *agent)
{
    return json_get_string(json_member(agent, MEMBER), "summary", NULL);
}

/** The beginning of a text: whole characters. */
static struct json_object *cut_text(const char *text)
{
    size_t len = strlen(text);
    size_t kept = 0;
    if (len <= (size_t)LIMIT_CONVERSATION_TEXT_BYTES) {
        return json_object_new_string_len(text, (int)len);
    }
    while (kept < (size_t)LIMIT_CONVERSATION_TEXT_BYTES) {
        size_t step = utf8_sequence_len(text + kept, len - kept);
        step = step == 0 ? 1 : step;
        if (kept + step > (size_t)LIMIT_CONVERSATION_TEXT_BYTES) {
            break;
        }
        kept += step;
    }
    auto_buf struct buf cut = {0};
    buf_append(&cut, text, kept);
    buf_append_string(&cut, CUT_MARK);
    return json_object_new_string_len(cut.data, (int)cut.len);
}

/** What the turn before knew of those before it. @param agent its options */
static void gather_earlier(const struct carry_turn *turn, struct json_object *agent,
                           struct json_object *all)
{
    struct json_object *earlier = carry_messages(agent);
    size_t count = json_length(earlier);
    size_t first = turn->summary != NULL && turn->kept < count ? count - turn->kept : 0;
    for (size_t i = first; i < count; i++) {
        json_object_array_add(all, json_object_get(json_object_array_get_idx(earlier, i)));
    }
}

/**
 * What the run before took over, its prompt and its answer. Owned
 * @param ret_summary owned; NULL = there is none
 */
static struct json_object *gather(const struct carry_turn *turn, char **ret_summary)
{
    struct json_object *all = json_object_new_array();
    const struct loop_spec *before = turn->before;
    auto_json struct json_object *agent = NULL;
    if (before == NULL || before->agent == NULL || before->prompt == NULL ||
        json_parse(before->agent, strlen(before->agent), &agent, NULL) < 0) {
        return all;
    }
    const char *summary = turn->summary != NULL ? turn->summary : carry_summary(agent);
    *ret_summary = summary == NULL ? NULL : memory_dup_string(summary);
    gather_earlier(turn, agent, all);
    json_object_array_add(all, cut_text(before->prompt));
    json_object_array_add(all, cut_text(turn->answer));
    return all;
}

/** A setting of the role that is a number of messages. @return `most` where it does not say */
static int64_t setting(struct json_object *section, const char *name, int64_t most)
{
    int64_t value = json_get_int(section, name, 0);
    return value > 0 && value < most ? value : most;
}

/** Messages of a request, its prompt included. */
static int64_t window_of(struct json_object *agent)
{
    struct json_object *spec = json_member(json_member(agent, "role"), "spec");
    struct json_object *autonomy = json_member(spec, "autonomy");
    int64_t most = autonomy == NULL ? CARRY_MESSAGES : LIMIT_CONVERSATION_MESSAGES;
    most = setting(autonomy, "max_history_messages", most);
    return setting(json_member(spec, "memory"), "max_resume_messages", most);
}

static size_t bytes_of(struct json_object *messages, size_t index)
{
    return (size_t)json_object_get_string_len(json_object_array_get_idx(messages, index));
}

/** How many of the oldest messages are left out: whole turns. */
static size_t count_dropped(struct json_object *messages, int64_t window)
{
    size_t first = json_object_array_length(messages);
    size_t room = window > 1 ? (size_t)window - 1 : 0;
    size_t bytes = 0;
    size_t kept = 0;
    while (first >= TURN && kept + TURN <= room) {
        bytes += bytes_of(messages, first - 1) + bytes_of(messages, first - TURN);
        if (bytes > (size_t)LIMIT_CONVERSATION_BYTES) {
            break;
        }
        first -= TURN;
        kept += TURN;
    }
    return first;
}

int carry_over(struct loop_spec *spec, const struct carry_turn *turn, struct rondo_error *err)
{
    auto_json struct json_object *agent = NULL;
    int r = json_parse(spec->agent, strlen(spec->agent), &agent, err);
    if (r < 0) {
        return r;
    }
    struct json_object *member = json_object_new_object();
    auto_free char *summary = NULL;
    struct json_object *messages = gather(turn, &summary);
    size_t dropped = count_dropped(messages, window_of(agent));
    if (dropped > 0) {
        json_object_array_del_idx(messages, 0, dropped);
    }
    json_object_object_add(member, "source", json_object_new_string(turn->source));
    json_object_object_add(member, "key", json_object_new_string(turn->key));
    json_object_object_add(member, "messages", messages);
    if (summary != NULL) {
        json_object_object_add(member, "summary", json_object_new_string(summary));
    }
    json_object_object_add(agent, MEMBER, member);
    free(spec->agent);
    spec->agent = memory_dup_string(json_object_to_json_string_ext(agent, JSON_C_TO_STRING_PLAIN));
    return 0;
}

bool carry_find(const struct loop_spec *spec, char **ret_source, char **ret_key)
{
    auto_json struct json_object *agent = NULL;
    if (spec->agent == NULL || json_parse(spec->agent, strlen(spec->agent), &agent, NULL) < 0) {
        return false;
    }
    struct json_object *member = json_member(agent, MEMBER);
    if (member == NULL) {
        return false;
    }
    *ret_source = memory_dup_string(json_get_string(member, "source", ""));
    *ret_key = memory_dup_string(json_get_string(member, "key", ""));
    return true;
}
