// SPDX-License-Identifier: Apache-2.0
/* Summaries of handoffs as documents: JSON of format 1. What is 0 or empty is left out. */
#include "handoff/summary.h"

#include "base/error.h"
#include "base/json/json.h"
#include "handoff/timer.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#define FORMAT 1

/** Copy as much as fits, and no half of a character. */
static void cut(char *ret_text, size_t size, const char *text)
{
    size_t len = strnlen(text, size);
    if (len == size) {
        len--;
        while (len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80) {
            len--;
        }
    }
    memcpy(ret_text, text, len);
    ret_text[len] = '\0';
}

void handoff_summarise(const struct handoff *handoff, const struct handoff_rules *rules,
                       const char *tool, const char *why, struct handoff_summary *ret_summary)
{
    bool is_asked = handoff->state == HANDOFF_NEEDS_INFO;
    *ret_summary = (struct handoff_summary){
        .state = handoff->state,
        .risk = handoff->risk,
        .priority = handoff->priority,
        .escalation_level = handoff->escalation_level,
        .hops = handoff->hops,
        .revision = handoff->revision,
        .version = handoff->version,
        .requested_ns = handoff->requested_ns,
        .due_ns = is_asked ? handoff->info_due_ns : handoff->sla_due_ns,
        .timer_ns = handoff_timer(handoff, rules).due_ns,
    };
    cut(ret_summary->request_id, sizeof(ret_summary->request_id), handoff->request_id);
    cut(ret_summary->agent_id, sizeof(ret_summary->agent_id), handoff->agent_id);
    cut(ret_summary->lane_id, sizeof(ret_summary->lane_id), handoff->lane_id);
    cut(ret_summary->claimed_by, sizeof(ret_summary->claimed_by), handoff->claimed_by);
    cut(ret_summary->tool, sizeof(ret_summary->tool), tool);
    cut(ret_summary->why, sizeof(ret_summary->why), why);
    if (handoff->desk_count > 0) {
        cut(ret_summary->desk, sizeof(ret_summary->desk), handoff->desks[handoff->desk_count - 1]);
    }
}

void handoff_summary_encode(const struct handoff_summary *summary, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "format", FORMAT);
    json_write_string(&writer, "agent_id", summary->agent_id);
    json_write_string(&writer, "lane_id", summary->lane_id);
    json_write_string(&writer, "desk", summary->desk);
    json_write_string(&writer, "tool", summary->tool);
    json_write_string(&writer, "why", summary->why);
    json_write_string(&writer, "claimed_by", summary->claimed_by);
    json_write_int(&writer, "state", summary->state);
    json_write_int(&writer, "risk", summary->risk);
    json_write_int(&writer, "priority", summary->priority);
    json_write_int(&writer, "escalation_level", summary->escalation_level);
    json_write_int(&writer, "hops", summary->hops);
    json_write_int(&writer, "revision", summary->revision);
    json_write_int(&writer, "version", (int64_t)summary->version);
    json_write_int(&writer, "requested_ns", summary->requested_ns);
    json_write_int(&writer, "due_ns", summary->due_ns);
    json_write_int(&writer, "timer_ns", summary->timer_ns);
    json_end_object(&writer);
}

/** @return the number, or -1 when it is none from 0 to `most` */
static int64_t number(struct json_object *root, const char *key, int64_t most)
{
    int64_t value = json_get_int(root, key, -1);
    return value < 0 || value > most ? -1 : value;
}

int handoff_summary_decode(const char *request_id, const char *data, size_t len,
                           struct handoff_summary *ret_summary, struct rondo_error *err)
{
    auto_json struct json_object *root = NULL;
    bool is_valid =
        json_parse(data, len, &root, NULL) == 0 && json_get_int(root, "format", 0) == FORMAT;
    int64_t state = number(root, "state", HANDOFF_STATE_COUNT - 1);
    int64_t risk = number(root, "risk", HANDOFF_LEVEL_COUNT - 1);
    int64_t priority = number(root, "priority", HANDOFF_LEVEL_COUNT - 1);
    if (!is_valid || !id_is_valid(request_id) || state < 0 || risk < 0 || priority < 0) {
        return error_set(err, RONDO_ERR_CORRUPT, "the summary of handoff %.60s cannot be read",
                         request_id);
    }
    struct handoff_summary summary = {
        .state = (enum handoff_state)state,
        .risk = (enum handoff_level)risk,
        .priority = (enum handoff_level)priority,
        .escalation_level = (uint32_t)json_get_int(root, "escalation_level", 0),
        .hops = (uint32_t)json_get_int(root, "hops", 0),
        .revision = (uint32_t)json_get_int(root, "revision", 0),
        .version = (uint64_t)json_get_int(root, "version", 0),
        .requested_ns = json_get_int(root, "requested_ns", 0),
        .due_ns = json_get_int(root, "due_ns", 0),
        .timer_ns = json_get_int(root, "timer_ns", 0),
    };
    cut(summary.request_id, sizeof(summary.request_id), request_id);
    cut(summary.agent_id, sizeof(summary.agent_id), json_get_string(root, "agent_id", ""));
    cut(summary.lane_id, sizeof(summary.lane_id), json_get_string(root, "lane_id", ""));
    cut(summary.desk, sizeof(summary.desk), json_get_string(root, "desk", ""));
    cut(summary.tool, sizeof(summary.tool), json_get_string(root, "tool", ""));
    cut(summary.why, sizeof(summary.why), json_get_string(root, "why", ""));
    cut(summary.claimed_by, sizeof(summary.claimed_by), json_get_string(root, "claimed_by", ""));
    *ret_summary = summary;
    return 0;
}
