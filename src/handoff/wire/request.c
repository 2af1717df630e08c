// SPDX-License-Identifier: Apache-2.0
/* Reading requests of foreign agents. */
#include "handoff/wire/request.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/time/calendar.h"
#include "handoff/identity.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#define EVENT_TYPE "handoff.requested"
/** Files that one action names. */
#define MOST_OPERANDS 64
/** Bytes of the name of a tool. */
#define MOST_TOOL 256
/** Revisions and attempts. */
#define MOST_COUNT 1000

/* ---- Small things --------------------------------------------------------------------------- */

bool wire_is_name(const char *text)
{
    size_t len = strlen(text);
    bool is_name = len > 0 && len < HANDOFF_NAME_SIZE;
    for (size_t i = 0; i < len && is_name; i++) {
        is_name = (unsigned char)text[i] >= 0x20 && text[i] != 0x7f && text[i] != '/';
    }
    return is_name;
}

bool wire_read_digest(const char *text, char *ret_digest)
{
    static const char prefix[] = "sha256:";
    size_t skipped = strncmp(text, prefix, sizeof(prefix) - 1) == 0 ? sizeof(prefix) - 1 : 0;
    const char *hex = text + skipped;
    if (strspn(hex, "0123456789abcdef") != 64 || hex[64] != '\0') {
        return false;
    }
    snprintf(ret_digest, HANDOFF_DIGEST_SIZE, "sha256:%s", hex);
    return true;
}

/** Two or four digits at a place. @return -1 = they are none */
static int digits(const char *text, int count)
{
    int number = 0;
    for (int i = 0; i < count; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return -1;
        }
        number = number * 10 + (text[i] - '0');
    }
    return number;
}

/** What follows the seconds: a fraction, and Z. @return whether it does */
static bool read_fraction(const char *text, int64_t *ret_ns)
{
    int64_t unit = NS_PER_S / 10;
    *ret_ns = 0;
    if (*text == '.') {
        for (text++; *text >= '0' && *text <= '9'; text++, unit /= 10) {
            *ret_ns += (*text - '0') * unit;
        }
        if (unit == NS_PER_S / 10) {
            return false;
        }
    }
    return (text[0] == 'Z' || text[0] == 'z') && text[1] == '\0';
}

bool wire_read_time(const char *text, int64_t *ret_ns)
{
    size_t len = strlen(text);
    int64_t fraction = 0;
    if (len < 20 || len > 35 || text[4] != '-' || text[7] != '-' ||
        (text[10] != 'T' && text[10] != 't') || text[13] != ':' || text[16] != ':') {
        return false;
    }
    int year = digits(text, 4);
    int month = digits(text + 5, 2);
    int day = digits(text + 8, 2);
    int hour = digits(text + 11, 2);
    int minute = digits(text + 14, 2);
    int second = digits(text + 17, 2);
    if (year < 1970 || year > 2261 || month < 1 || month > 12 || day < 1 ||
        day > calendar_month_days(year, month) || hour < 0 || hour > 23 || minute < 0 ||
        minute > 59 || second < 0 || second > 60 || !read_fraction(text + 19, &fraction)) {
        return false;
    }
    int64_t seconds = calendar_days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
    *ret_ns = seconds * NS_PER_S + fraction;
    return true;
}

static int wrong(const char *member, const char *what, struct rondo_error *err)
{
    return error_set(err, RONDO_ERR_INVALID, "%s %s", member, what);
}

/** A text without NUL bytes. @param ret_text left alone when there is none */
static int read_text(struct json_object *object, const char *key, const char *path,
                     const char **ret_text, struct rondo_error *err)
{
    struct json_object *value = json_member(object, key);
    if (value == NULL) {
        return 0;
    }
    if (!json_object_is_type(value, json_type_string) ||
        strlen(json_object_get_string(value)) != (size_t)json_object_get_string_len(value)) {
        return wrong(path, "must be a text", err);
    }
    *ret_text = json_object_get_string(value);
    return 0;
}

static int read_name(struct json_object *object, const char *key, const char *path, bool is_needed,
                     const char **ret_name, struct rondo_error *err)
{
    const char *text = NULL;
    int r = read_text(object, key, path, &text, err);
    bool is_absent = text == NULL || (text[0] == '\0' && !is_needed);
    if (r == 0 && (is_absent ? is_needed : !wire_is_name(text))) {
        return wrong(path, "must be a text of 1 to 95 bytes without slashes", err);
    }
    *ret_name = is_absent ? "" : text;
    return r;
}

static int read_count(struct json_object *object, const char *key, uint32_t *ret_count,
                      struct rondo_error *err)
{
    struct json_object *value = json_member(object, key);
    int64_t number = value == NULL ? 1 : json_object_get_int64(value);
    if (value != NULL &&
        (!json_object_is_type(value, json_type_int) || number < 1 || number > MOST_COUNT)) {
        return wrong(key, "must be an integer from 1 to 1000", err);
    }
    *ret_count = (uint32_t)number;
    return 0;
}

/** A level by its name, or by its number. */
static int read_level(struct json_object *object, const char *key, const char *path,
                      enum handoff_level *ret_level, struct rondo_error *err)
{
    struct json_object *value = json_member(object, key);
    if (value == NULL) {
        return 0;
    }
    int64_t number = json_object_is_type(value, json_type_int) ? json_object_get_int64(value) : -1;
    for (int i = 0; i < HANDOFF_LEVEL_COUNT; i++) {
        const char *name = handoff_level_name((enum handoff_level)i);
        bool is_it = json_object_is_type(value, json_type_string)
                         ? strcmp(json_object_get_string(value), name) == 0
                         : number == i;
        if (is_it) {
            *ret_level = (enum handoff_level)i;
            return 0;
        }
    }
    return wrong(path, "must be low, medium, high or critical", err);
}

/* ---- The action ----------------------------------------------------------------------------- */

static int read_operands(struct json_object *list, struct handoff_operand *ret_operands,
                         char (*digests)[HANDOFF_DIGEST_SIZE], size_t *ret_count,
                         struct rondo_error *err)
{
    size_t count = json_length(list);
    if (!json_object_is_type(list, json_type_array) || count > MOST_OPERANDS) {
        return wrong("action.operands", "must be a list of at most 64 files", err);
    }
    for (size_t i = 0; i < count; i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        const char *digest = json_get_string(item, "digest", "");
        ret_operands[i].path = json_get_string(item, "path", "");
        if (ret_operands[i].path[0] == '\0' || !wire_read_digest(digest, digests[i])) {
            return wrong("action.operands", "must have a path and a SHA-256 digest each", err);
        }
        ret_operands[i].digest = digests[i];
    }
    *ret_count = count;
    return 0;
}

static struct json_object *operands_of(struct json_object *action)
{
    struct json_object *list = json_member(action, "operands");
    return list != NULL ? list : json_member(action, "operand_digests");
}

int wire_action_digest(struct json_object *action, char *ret_digest, struct rondo_error *err)
{
    struct handoff_operand operands[MOST_OPERANDS];
    char digests[MOST_OPERANDS][HANDOFF_DIGEST_SIZE];
    char own[HANDOFF_DIGEST_SIZE];
    struct json_object *arguments = json_member(action, "args");
    struct handoff_action of = {.operands = operands};
    const char *tool = "";
    const char *given = NULL;
    int r = read_text(action, "tool", "action.tool", &tool, err);
    if (r == 0 && (tool[0] == '\0' || strlen(tool) > MOST_TOOL)) {
        r = wrong("action.tool", "must be a text of 1 to 256 bytes", err);
    }
    r = r < 0 ? r : read_text(action, "resource", "action.resource", &of.resource, err);
    r = r < 0 ? r : read_text(action, "action_digest", "action.action_digest", &given, err);
    if (r == 0 && !json_object_is_type(arguments, json_type_object)) {
        r = wrong("action.args", "must be an object", err);
    }
    if (r == 0 && operands_of(action) != NULL) {
        r = read_operands(operands_of(action), operands, digests, &of.operand_count, err);
    }
    if (r < 0) {
        return r;
    }
    of.tool = tool;
    of.arguments = json_object_to_json_string_ext(arguments, JSON_C_TO_STRING_PLAIN);
    r = handoff_action_digest(&of, ret_digest, err);
    if (r == 0 && given != NULL &&
        (!wire_read_digest(given, own) || strcmp(own, ret_digest) != 0)) {
        return wrong("action.action_digest", "is not the digest of the action", err);
    }
    return r;
}

/* ---- The checkpoint ------------------------------------------------------------------------- */

static int check_state(struct json_object *state, const char *state_hash, struct rondo_error *err)
{
    char digest[HANDOFF_DIGEST_SIZE];
    const char *text = json_object_to_json_string_ext(state, JSON_C_TO_STRING_PLAIN);
    if (strlen(text) > WIRE_MOST_STATE) {
        return error_set(err, RONDO_ERR_LIMIT,
                         "checkpoint.state has more than %d bytes; send a reference",
                         (int)WIRE_MOST_STATE);
    }
    int r = handoff_digest(text, strlen(text), digest, err);
    return r < 0 || strcmp(digest, state_hash) == 0
               ? r
               : wrong("checkpoint.state_hash", "is not the digest of the state", err);
}

static int read_checkpoint(struct json_object *checkpoint, struct wire_request *request,
                           struct rondo_error *err)
{
    const char *mode = "none";
    const char *hash = NULL;
    if (checkpoint == NULL) {
        return 0;
    }
    int r = read_text(checkpoint, "mode", "checkpoint.mode", &mode, err);
    r = r < 0 ? r : read_text(checkpoint, "state_hash", "checkpoint.state_hash", &hash, err);
    if (r < 0 || strcmp(mode, "none") == 0) {
        return r;
    }
    bool is_inline = strcmp(mode, "inline") == 0;
    if (!is_inline && strcmp(mode, "external_ref") != 0) {
        return wrong("checkpoint.mode", "must be external_ref, inline or none", err);
    }
    if (hash == NULL || !wire_read_digest(hash, request->state_hash)) {
        return wrong("checkpoint.state_hash", "must be a SHA-256 digest", err);
    }
    return is_inline ? check_state(json_member(checkpoint, "state"), request->state_hash, err) : 0;
}

/* ---- The request ---------------------------------------------------------------------------- */

static int read_kind(struct json_object *root, struct rondo_error *err)
{
    struct json_object *version = json_member(root, "contract_version");
    if (strcmp(json_get_string(root, "event_type", ""), EVENT_TYPE) != 0) {
        return wrong("event_type", "must be " EVENT_TYPE, err);
    }
    if (version != NULL && json_get_int(root, "contract_version", 0) != 1) {
        return wrong("contract_version", "must be 1", err);
    }
    return 0;
}

static int read_place(struct json_object *root, struct wire_request *request,
                      struct rondo_error *err)
{
    struct json_object *workflow = json_member(root, "workflow");
    int r = read_name(json_member(root, "agent"), "agent_id", "agent.agent_id", true,
                      &request->agent_id, err);
    r = r < 0 ? r
              : read_name(json_member(root, "agent"), "parent_agent_id", "agent.parent_agent_id",
                          false, &request->parent_id, err);
    r = r < 0 ? r : read_name(root, "lane_id", "lane_id", true, &request->lane_id, err);
    r = r < 0 ? r
              : read_name(workflow, "workflow_id", "workflow.workflow_id", false,
                          &request->workflow_id, err);
    r = r < 0 ? r : read_name(workflow, "run_id", "workflow.run_id", false, &request->run_id, err);
    r = r < 0 ? r
              : read_name(workflow, "step_id", "workflow.step_id", false, &request->step_id, err);
    r = r < 0 ? r : read_count(root, "attempt", &request->attempt, err);
    return r < 0 ? r : read_count(root, "revision", &request->revision, err);
}

static int read_levels(struct json_object *root, struct wire_request *request,
                       struct rondo_error *err)
{
    enum handoff_level trigger = HANDOFF_LOW;
    struct json_object *routing = json_member(root, "routing");
    request->risk = HANDOFF_MEDIUM;
    int r = read_level(json_member(root, "intent"), "risk_level", "intent.risk_level",
                       &request->risk, err);
    r = r < 0 ? r
              : read_level(json_member(root, "trigger"), "risk_level", "trigger.risk_level",
                           &trigger, err);
    /* People see it as Rondo's own sentence; an agent has its intent.summary. */
    if (r == 0 && json_member(json_member(root, "trigger"), "message") != NULL) {
        return wrong("trigger.message", "is not for agents; send intent.summary", err);
    }
    request->risk = trigger > request->risk ? trigger : request->risk;
    request->priority = request->risk;
    return r < 0 ? r : read_level(routing, "priority", "routing.priority", &request->priority, err);
}

static int read_due(struct json_object *root, struct wire_request *request, struct rondo_error *err)
{
    const char *text = NULL;
    int r = read_text(json_member(root, "context"), "required_by_ts", "context.required_by_ts",
                      &text, err);
    if (r == 0 && text != NULL && !wire_read_time(text, &request->required_by_ns)) {
        return wrong("context.required_by_ts", "must be a time in UTC, as 2026-11-28T12:00:00Z",
                     err);
    }
    return r;
}

static int read_ids(struct json_object *root, struct wire_request *request, struct rondo_error *err)
{
    const char *given = NULL;
    int r = read_text(root, "request_id", "request_id", &given, err);
    r = r < 0 ? r : read_text(root, "supersedes", "supersedes", &request->supersedes, err);
    if (r < 0) {
        return r;
    }
    if ((given != NULL && !id_is_valid(given)) ||
        (request->supersedes != NULL && !id_is_valid(request->supersedes))) {
        return wrong("request_id and supersedes", "must be UUIDs in lower case", err);
    }
    snprintf(request->given_id, sizeof(request->given_id), "%s", given == NULL ? "" : given);
    return wire_request_id_of(request, request->attempt, request->request_id, err);
}

int wire_request_id_of(const struct wire_request *request, uint32_t attempt, char *ret_id,
                       struct rondo_error *err)
{
    struct handoff_place place = {
        .agent_id = request->agent_id,
        .workflow_id = request->workflow_id,
        .run_id = request->run_id,
        .step_id = request->step_id,
        .lane_id = request->lane_id,
        .action_digest = request->action_digest,
        .attempt = attempt,
    };
    return handoff_request_id(&place, ret_id, err);
}

int wire_request_read(struct json_object *root, const char *body, size_t len,
                      struct wire_request *ret_request, struct rondo_error *err)
{
    struct json_object *action = json_member(root, "action");
    struct wire_request request = {0};
    int r = read_kind(root, err);
    r = r < 0 ? r : read_place(root, &request, err);
    r = r < 0 ? r : read_levels(root, &request, err);
    r = r < 0 ? r : read_due(root, &request, err);
    r = r < 0 ? r : wire_action_digest(action, request.action_digest, err);
    r = r < 0 ? r : read_checkpoint(json_member(root, "checkpoint"), &request, err);
    r = r < 0 ? r : read_ids(root, &request, err);
    r = r < 0 ? r : handoff_digest(body, len, request.body_digest, err);
    if (r == 0) {
        request.is_idempotent = json_get_bool(action, "idempotent", false);
        *ret_request = request;
    }
    return r;
}

struct handoff_request wire_request_of(const struct wire_request *request)
{
    return (struct handoff_request){
        .request_id = request->request_id,
        .agent_id = request->agent_id,
        .lane_id = request->lane_id,
        .parent_id = request->parent_id,
        .action_digest = request->action_digest,
        .state_hash = request->state_hash[0] == '\0' ? NULL : request->state_hash,
        .body_digest = request->body_digest,
        .risk = request->risk,
        .priority = request->priority,
        .required_by_ns = request->required_by_ns,
        .is_idempotent = request->is_idempotent,
        .is_foreign = true,
        .joins = true,
    };
}
