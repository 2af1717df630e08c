// SPDX-License-Identifier: Apache-2.0
/*
 * `rondo hook`: asks the policies of a server, and people if they say so, before a coding agent
 * calls a tool. It reads the event of the agent's hook from stdin and answers in the agent's
 * format.
 *
 * It never permits silently. What the policies allow it leaves to the agent's own rules; it permits
 * only what a person has approved; everything that fails is denied, with exit code 2 where the
 * agent would take any other answer for a yes.
 */
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/text/plain.h"
#include "base/version.h"
#include "cli/commands/hook_facts.h"
#include "cli/framework/command.h"
#include "cli/framework/exit_codes.h"
#include "cli/framework/report.h"
#include "handoff/identity.h"
#include "net/client/http.h"
#include "os/file.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Exit code by which agents stop the call and read stderr. */
#define EXIT_BLOCKS 2
/** UUIDs among URLs. */
#define URL_SPACE "6ba7b811-9dad-11d1-80b4-00c04fd430c8"

enum hook_format { HOOK_CLAUDE = 0, HOOK_CODEX };

static const struct option_choice formats[] = {
    {"claude", HOOK_CLAUDE}, {"codex", HOOK_CODEX}, {NULL, 0}};

struct hook_values {
    char *server;
    char *agent;
    char *profile;
    int64_t format;
    int64_t wait_ns;
};

const struct option_row hook_options[] = {
    {.name = "format",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct hook_values, format),
     .choices = formats,
     .by_default = "claude",
     .help = "Whose hook it is",
     .group = "Agent"},
    {.name = "agent",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct hook_values, agent),
     .argument = "ID",
     .by_default = "claude-code or codex",
     .help = "The agent that policies and tokens name"},
    {.name = "profile",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct hook_values, profile),
     .argument = "NAME",
     .by_default = "default-security",
     .help = "Policy profile"},
    {.name = "wait",
     .kind = OPTION_DURATION,
     .offset = offsetof(struct hook_values, wait_ns),
     .argument = "TIME",
     .by_default = "50s",
     .help = "How long to wait for a person; then the call is denied, and can be made again later"},
    {.name = "server",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct hook_values, server),
     .argument = "ADDRESS",
     .by_default = "http://127.0.0.1:7466",
     .help = "The server; a token for it is taken from $RONDO_TOKEN",
     .group = "Server"},
    {0},
};

enum call_verdict {
    VERDICT_DENY = 0,
    VERDICT_NO_OPINION, /**< the agent's own rules decide */
    VERDICT_ALLOW,      /**< a person has approved it */
};

/** One call of a tool, and the way to the server. */
struct hook {
    const struct hook_values *values;
    struct http_client *http;
    const char *token;
    struct json_object *event;
    const char *tool;
    const char *args; /**< JSON */
    const char *session;
    const char *folder;
    char lane[HANDOFF_NAME_SIZE];
    char digest[HANDOFF_DIGEST_SIZE];
    char state_hash[HANDOFF_DIGEST_SIZE]; /**< of what names the session */
    char trace_id[ID_SIZE];
    char run_id[ID_SIZE]; /**< of Rondo, if the agent is a worker of one; else its session's */
    char request_id[ID_SIZE];
    char consumer[ID_SIZE]; /**< this process */
    int64_t deadline_ns;
    struct buf reason;
};

static const char *agent_of(const struct hook_values *values)
{
    if (values->agent != NULL) {
        return values->agent;
    }
    return values->format == HOOK_CODEX ? "codex" : "claude-code";
}

/* ---- The call ------------------------------------------------------------------------------- */

/** A text without NUL: what follows one would not be seen here. @return "" if there is none */
static const char *whole_text(struct json_object *event, const char *key)
{
    const char *text = json_get_string(event, key, "");
    return strlen(text) == (size_t)json_object_get_string_len(json_member(event, key)) ? text : "";
}

static int read_call(struct hook *hook, struct rondo_error *err)
{
    struct json_object *event = hook->event;
    struct json_object *input = json_member(event, "tool_input");
    if (!json_object_is_type(event, json_type_object) ||
        strcmp(json_get_string(event, "hook_event_name", ""), "PreToolUse") != 0) {
        return error_set(err, RONDO_ERR_INVALID, "the event is not PreToolUse");
    }
    hook->tool = whole_text(event, "tool_name");
    hook->session = whole_text(event, "session_id");
    hook->folder = whole_text(event, "cwd");
    if (hook->tool[0] == '\0' || hook->session[0] == '\0' || hook->folder[0] == '\0' ||
        !json_object_is_type(input, json_type_object)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "the event has no tool_name, tool_input, session_id or cwd");
    }
    hook->args = json_object_to_json_string_ext(input, JSON_C_TO_STRING_PLAIN |
                                                           JSON_C_TO_STRING_NOSLASHESCAPE);
    return 0;
}

/**
 * Name the call: the same call of a session has the same names, so an approval is found again. The
 * session of a worker is its run: a worker that was killed begins another one of its own.
 */
static int name_call(struct hook *hook, struct rondo_error *err)
{
    struct handoff_action action = {
        .tool = hook->tool, .arguments = hook->args, .resource = hook->folder};
    auto_buf struct buf text = {0};
    struct json_writer writer = json_writer(&text);
    const char *run = getenv("RONDO_RUN_ID");
    bool is_worker = run != NULL && id_is_valid(run);
    int r = handoff_action_digest(&action, hook->digest, err);
    if (r < 0) {
        return r;
    }
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "cwd", hook->folder);
    json_write_string(&writer, "session_id", is_worker ? run : hook->session);
    json_end_object(&writer);
    r = handoff_digest(text.data, text.len, hook->state_hash, err);
    id_from_name(URL_SPACE, text.data, text.len, hook->trace_id);
    snprintf(hook->run_id, sizeof(hook->run_id), "%s", is_worker ? run : hook->trace_id);
    /* Each call is a lane of its own: one that waits holds up no other. */
    buf_printf(&text, "\n%s", hook->digest);
    char id[ID_SIZE];
    id_from_name(URL_SPACE, text.data, text.len, id);
    snprintf(hook->lane, sizeof(hook->lane), "hook-%s", id);
    id_new(clock_now(clock_system()), random_system(), hook->consumer);
    return r;
}

static int name_request(struct hook *hook, uint32_t attempt, struct rondo_error *err)
{
    struct handoff_place place = {
        .agent_id = agent_of(hook->values),
        .workflow_id = "hook",
        .run_id = hook->run_id,
        .step_id = "call",
        .lane_id = hook->lane,
        .action_digest = hook->digest,
        .attempt = attempt,
    };
    return handoff_request_id(&place, hook->request_id, err);
}

/* ---- The server ----------------------------------------------------------------------------- */

static bool is_on_this_machine(const char *url)
{
    static const char *const beginnings[] = {"http://127.0.0.1", "http://localhost",
                                             "http://[::1]"};
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
        size_t len = strlen(beginnings[i]);
        if (strncmp(url, beginnings[i], len) == 0 && strchr(":/", url[len]) != NULL &&
            strchr(url, '@') == NULL) { /* before one comes a user, not the host */
            return true;
        }
    }
    return false;
}

static int check_server(const struct hook *hook, struct rondo_error *err)
{
    const char *url = hook->values->server;
    if (hook->token != NULL && strncmp(url, "https://", 8) != 0 && !is_on_this_machine(url)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "a token is sent to another machine over https only");
    }
    return 0;
}

/** What the server has said of a failure, for people. */
static int refuse(const struct http_response *response, struct json_object *answer,
                  struct rondo_error *err)
{
    struct json_object *error = json_member(answer, "error");
    const char *detail = json_get_string(answer, "detail", json_get_string(answer, "title", ""));
    const char *message = json_get_string(error, "message", detail);
    return error_set(err, RONDO_ERR_DENIED, "the server refused it (status %ld): %.200s",
                     response->status, message);
}

/**
 * Call the API.
 * @param body NULL = none
 * @param ret_answer an object; NULL when it is not there (status 404)
 */
static int call_api(struct hook *hook, const char *method, const char *path, const struct buf *body,
                    int64_t total_ns, struct json_object **ret_answer, struct rondo_error *err)
{
    auto_buf struct buf url = {0};
    auto_buf struct buf authorization = {0};
    auto_json struct json_object *answer = NULL;
    struct http_header headers[2] = {{"Content-Type", "application/json"}};
    struct http_part part = {.bytes = body == NULL ? "" : body->data,
                             .len = body == NULL ? 0 : body->len};
    buf_printf(&url, "%s%s", hook->values->server, path);
    buf_printf(&authorization, "Bearer %s", hook->token == NULL ? "" : hook->token);
    headers[1] = (struct http_header){"Authorization", buf_string(&authorization)};
    struct http_request request = {
        .method = method,
        .url = buf_string(&url),
        .headers = headers,
        .header_count = hook->token == NULL ? 1 : 2,
        .parts = &part,
        .part_count = body == NULL ? 0 : 1,
        .total_ns = total_ns,
        .max_body_bytes = LIMIT_DOCUMENT_BYTES,
        .may_resend = true,
    };
    struct http_response response = {0};
    int r = http_call(hook->http, &request, &response, err);
    if (r == 0 && response.failure != HTTP_OK) {
        r = error_set(err, RONDO_ERR_DENIED, "the server cannot be asked: %s",
                      response.failure == HTTP_NO_CONNECTION ? "no connection"
                                                             : http_failure_name(response.failure));
    }
    r = r < 0 ? r : json_parse_strict(response.body.data, response.body.len, &answer, err);
    if (r == 0 && !json_object_is_type(answer, json_type_object)) {
        r = error_set(err, RONDO_ERR_DENIED, "the server's answer is not an object");
    } else if (r == 0 && (response.status < 200 || response.status > 299)) {
        r = response.status == 404 ? 0 : refuse(&response, answer, err);
    } else if (r == 0) {
        *ret_answer = json_object_get(answer);
    }
    http_response_fini(&response);
    return r;
}

#define SHORT_CALL_NS INT64_C(10000000000)

static int post(struct hook *hook, const char *path, const struct buf *body,
                struct json_object **ret_answer, struct rondo_error *err)
{
    int r = call_api(hook, "POST", path, body, SHORT_CALL_NS, ret_answer, err);
    if (r == 0 && *ret_answer == NULL) {
        r = error_set(err, RONDO_ERR_DENIED, "the server does not know %s", path);
    }
    return r;
}

/* ---- Policies ------------------------------------------------------------------------------- */

static const struct hook_facts *facts_of(const struct hook *hook)
{
    return hook_facts_of(hook->tool, json_member(hook->event, "tool_input"), hook->args,
                         hook->folder);
}

static void write_action(const struct hook *hook, struct json_writer *writer)
{
    json_begin_object(writer, "action");
    json_write_string(writer, "tool", hook->tool);
    json_write_raw(writer, "args", hook->args);
    json_write_string(writer, "resource", hook->folder);
    json_write_string(writer, "action_digest", hook->digest);
    json_end_object(writer);
}

static void write_facts(const struct hook *hook, const char *key, struct json_writer *writer)
{
    const struct hook_facts *facts = facts_of(hook);
    json_begin_object(writer, key);
    json_write_int(writer, "risk_level", facts->risk_level);
    json_write_int(writer, "impact", facts->impact);
    json_write_bool(writer, "reversible", facts->is_reversible);
    json_write_int(writer, "evidence_count", 0);
    json_write_int(writer, "evidence_required", 0);
    json_begin_array(writer, "evidence_missing");
    json_end_array(writer);
    json_write_int(writer, "violation_score", 0);
    json_write_bool(writer, "human_required", false);
    json_write_int(writer, "rework_count", 0);
    json_end_object(writer);
}

/** @param approved id of the request that was approved; NULL = none */
static int evaluate(struct hook *hook, const char *approved, struct json_object **ret_answer,
                    struct rondo_error *err)
{
    auto_buf struct buf body = {0};
    struct json_writer writer = json_writer(&body);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "agent_id", agent_of(hook->values));
    json_write_string(&writer, "policy_profile", hook->values->profile);
    json_write_string(&writer, "lane_id", hook->lane);
    json_write_string(&writer, "run_id", hook->run_id);
    write_action(hook, &writer);
    write_facts(hook, "context", &writer);
    if (approved != NULL) {
        json_write_string(&writer, "request_id", approved);
    }
    json_end_object(&writer);
    int r = post(hook, "/v1/actions/evaluate", &body, ret_answer, err);
    if (r == 0 && strcmp(json_get_string(*ret_answer, "action_digest", ""), hook->digest) != 0) {
        r = error_set(err, RONDO_ERR_DENIED, "the server's answer is about another call");
    }
    return r;
}

static void explain_denial(struct hook *hook, struct json_object *answer)
{
    struct json_object *reasons = json_member(answer, "trigger_reasons");
    buf_append_string(&hook->reason, "the policies deny this call");
    const char *rule = json_get_string(answer, "policy_rule_id", "");
    if (rule[0] != '\0') {
        buf_printf(&hook->reason, " by %.100s", rule);
    }
    for (size_t i = 0; i < json_length(reasons) && i < 8; i++) {
        const char *reason = json_object_get_string(json_object_array_get_idx(reasons, i));
        buf_printf(&hook->reason, "%s%.60s", i == 0 ? ": " : ", ", reason == NULL ? "" : reason);
    }
    buf_append_string(&hook->reason, ". Do not try it in another form");
}

/* ---- Requests ------------------------------------------------------------------------------- */

static void write_parts(const struct hook *hook, struct json_object *verdict,
                        struct json_writer *writer)
{
    static const char *const levels[] = {"low", "medium", "high", "critical"};
    const char *risk = levels[facts_of(hook)->risk_level];
    struct json_object *reasons = json_member(verdict, "trigger_reasons");
    json_begin_object(writer, "routing");
    json_begin_array(writer, "supervisors");
    json_end_array(writer);
    json_write_string(writer, "priority", risk);
    json_end_object(writer);
    json_begin_object(writer, "intent");
    json_write_string(writer, "summary", "A coding agent is about to call a tool.");
    json_write_string(writer, "proposed_action", hook->tool);
    json_write_string(writer, "risk_level", risk);
    json_write_int(writer, "confidence", 0);
    json_end_object(writer);
    json_begin_object(writer, "trigger");
    json_write_string(writer, "trigger_reason", json_get_string(verdict, "trigger_reason", ""));
    json_write_raw(writer, "trigger_reasons",
                   reasons == NULL ? "[]" : json_object_to_json_string(reasons));
    json_write_string(writer, "policy_rule_id", json_get_string(verdict, "policy_rule_id", ""));
    json_write_int(writer, "confidence_score", 0);
    json_write_string(writer, "risk_level", risk);
    json_write_string(writer, "policy_hash", json_get_string(verdict, "policy_hash", ""));
    json_end_object(writer);
    json_begin_object(writer, "evidence");
    json_write_int(writer, "count", 0);
    json_write_int(writer, "required", 0);
    json_begin_array(writer, "missing");
    json_end_array(writer);
    json_end_object(writer);
}

static void write_names(const struct hook *hook, struct json_writer *writer)
{
    int64_t now_ns = clock_now(clock_system());
    char event_id[ID_SIZE];
    char now[CLOCK_UTC_SIZE];
    id_new(now_ns, random_system(), event_id);
    clock_format_utc(now_ns, now);
    json_write_int(writer, "contract_version", 1);
    json_write_string(writer, "event_type", "handoff.requested");
    json_write_string(writer, "event_id", event_id);
    json_write_string(writer, "occurred_at", now);
    json_write_string(writer, "request_id", hook->request_id);
    json_write_string(writer, "trace_id", hook->trace_id);
    json_write_string(writer, "lane_id", hook->lane);
    json_write_int(writer, "revision", 1);
    json_begin_object(writer, "agent");
    json_write_string(writer, "agent_id", agent_of(hook->values));
    json_write_string(writer, "sdk", "rondo-hook");
    json_write_string(writer, "version", RONDO_VERSION);
    json_end_object(writer);
    json_begin_object(writer, "workflow");
    json_write_string(writer, "workflow_id", "hook");
    json_write_string(writer, "run_id", hook->run_id);
    json_write_string(writer, "step_id", "call");
    json_end_object(writer);
}

static int submit(struct hook *hook, uint32_t attempt, struct json_object *verdict,
                  struct rondo_error *err)
{
    auto_buf struct buf body = {0};
    auto_json struct json_object *answer = NULL;
    struct json_writer writer = json_writer(&body);
    json_begin_object(&writer, NULL);
    write_names(hook, &writer);
    write_parts(hook, verdict, &writer);
    write_action(hook, &writer);
    write_facts(hook, "facts", &writer);
    json_begin_object(&writer, "checkpoint");
    json_write_string(&writer, "mode", "external_ref");
    json_write_string(&writer, "ref", "session");
    json_write_string(&writer, "state_hash", hook->state_hash);
    json_end_object(&writer);
    json_begin_object(&writer, "context");
    json_begin_array(&writer, "messages");
    json_end_array(&writer);
    json_end_object(&writer);
    json_write_bool(&writer, "reversible", facts_of(hook)->is_reversible);
    json_write_int(&writer, "attempt", attempt);
    json_end_object(&writer);
    return post(hook, "/v1/hitl/requests", &body, &answer, err);
}

static bool is_text(struct json_object *object, const char *key, const char *wanted)
{
    return strcmp(json_get_string(object, key, ""), wanted) == 0;
}

/** How the request is. @param wait_ms 0 = as it is now @param ret_status NULL = there is none */
static int look(struct hook *hook, int64_t wait_ms, struct json_object **ret_status,
                struct rondo_error *err)
{
    auto_buf struct buf path = {0};
    buf_printf(&path, "/v1/hitl/requests/%s", hook->request_id);
    if (wait_ms > 0) {
        buf_printf(&path, "?wait_ms=%" PRId64, wait_ms);
    }
    int64_t total_ns = SHORT_CALL_NS + wait_ms * 1000000;
    int r = call_api(hook, "GET", buf_string(&path), NULL, total_ns, ret_status, err);
    if (r == 0 && *ret_status != NULL &&
        (!is_text(*ret_status, "request_id", hook->request_id) ||
         !is_text(*ret_status, "action_digest", hook->digest))) {
        r = error_set(err, RONDO_ERR_DENIED, "the server's answer is about another request");
    }
    return r;
}

static bool is_waiting(struct json_object *status)
{
    static const char *const states[] = {"requested", "routed", "rerouted", "escalated",
                                         "needs_info"};
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        if (is_text(status, "state", states[i])) {
            return true;
        }
    }
    return false;
}

/** Whether the decision is one about this call. */
static bool is_ours(const struct hook *hook, struct json_object *status, struct json_object *event)
{
    return is_text(event, "event_type", "handoff.decided") &&
           is_text(event, "request_id", hook->request_id) &&
           is_text(event, "trace_id", hook->trace_id) &&
           is_text(event, "action_digest", hook->digest) &&
           json_get_int(event, "revision", -1) == json_get_int(status, "revision", -2) &&
           !is_text(event, "decision_id", "");
}

/* ---- What was approved ---------------------------------------------------------------------- */

static int apply_step(struct hook *hook, const char *verb, const char *decision_id,
                      const char *application, struct rondo_error *err)
{
    auto_buf struct buf path = {0};
    auto_buf struct buf body = {0};
    auto_json struct json_object *answer = NULL;
    struct json_writer writer = json_writer(&body);
    buf_printf(&path, "/v1/hitl/requests/%s/%s", hook->request_id, verb);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "consumer", hook->consumer);
    json_write_string(&writer, "decision_id", decision_id);
    if (strcmp(verb, "take") != 0) {
        json_write_string(&writer, "action_digest", hook->digest);
        json_write_string(&writer, "executed_digest", hook->digest);
    }
    if (strcmp(verb, "start") == 0) {
        json_write_string(&writer, "state_hash", hook->state_hash);
    }
    if (strcmp(verb, "finish") == 0) {
        /* What the call returns is the agent's affair; that it was handed over is recorded. */
        json_write_string(&writer, "result_digest", hook->state_hash);
        json_write_bool(&writer, "ok", true);
        json_write_int(&writer, "duration_ms", 0);
    }
    json_end_object(&writer);
    int r = post(hook, buf_string(&path), &body, &answer, err);
    if (r == 0 && (!is_text(answer, "request_id", hook->request_id) ||
                   !is_text(answer, "application", application))) {
        r = error_set(err, RONDO_ERR_DENIED, "what was approved cannot be taken");
    }
    return r;
}

/** Take the grant, of which there is one, and hand it to the agent. */
static int apply(struct hook *hook, struct json_object *event, enum call_verdict *ret_verdict,
                 struct rondo_error *err)
{
    auto_json struct json_object *again = NULL;
    const char *decision_id = json_get_string(event, "decision_id", "");
    struct json_object *decision = json_member(event, "decision");
    if (json_member(decision, "constraints") != NULL &&
        (!json_object_is_type(json_member(decision, "constraints"), json_type_array) ||
         json_length(json_member(decision, "constraints")) > 0)) {
        return error_set(err, RONDO_ERR_DENIED,
                         "it was approved with constraints, which a hook cannot apply");
    }
    int r = evaluate(hook, hook->request_id, &again, err);
    if (r == 0 && !is_text(again, "outcome", "allow")) {
        explain_denial(hook, again);
        return 0;
    }
    r = r < 0 ? r : apply_step(hook, "take", decision_id, "leased", err);
    r = r < 0 ? r : apply_step(hook, "start", decision_id, "started", err);
    r = r < 0 ? r : apply_step(hook, "finish", decision_id, "applied", err);
    if (r == 0) {
        buf_append_string(&hook->reason, "a person has approved this call");
        *ret_verdict = VERDICT_ALLOW;
    }
    return r;
}

static void explain_rejection(struct hook *hook, struct json_object *event)
{
    struct json_object *decision = json_member(event, "decision");
    const char *text = json_get_string(decision, "context", "");
    bool is_expired = is_text(event, "reason_code", "expired");
    buf_append_string(&hook->reason, is_expired ? "nobody has decided about this call in time"
                                                : "a person has rejected this call; do not try it "
                                                  "in another form");
    if (text[0] != '\0') {
        buf_append_string(&hook->reason, ". What the person wrote, as information: ");
        text_clean(text, strnlen(text, LIMIT_HANDOFF_COMMENT_BYTES), &hook->reason);
    }
}

/** What a decided request means for the call. */
static int conclude(struct hook *hook, struct json_object *status, enum call_verdict *ret_verdict,
                    struct rondo_error *err)
{
    struct json_object *event = json_member(status, "decision");
    struct json_object *decision = json_member(event, "decision");
    if (event == NULL) {
        buf_printf(&hook->reason, "the request was %.40s", json_get_string(status, "state", "?"));
        return 0;
    }
    if (!is_ours(hook, status, event)) {
        return error_set(err, RONDO_ERR_DENIED, "the decision is not about this call");
    }
    if (!is_text(decision, "status", "approved") || !is_text(status, "state", "approved")) {
        explain_rejection(hook, event);
        return 0;
    }
    return apply(hook, event, ret_verdict, err);
}

/** Whether an earlier request about this call is used up, so that people are asked anew. */
static bool is_used(struct json_object *status)
{
    static const char *const ends[] = {"applied", "lapsed", "failed", "started", "in_doubt"};
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        if (is_text(status, "application", ends[i])) {
            return true;
        }
    }
    return is_text(status, "state", "expired") || is_text(status, "state", "cancelled");
}

/** Find the request about this call, or make one. */
static int find_request(struct hook *hook, struct json_object *verdict,
                        struct json_object **ret_status, struct rondo_error *err)
{
    for (uint32_t attempt = 1; attempt <= LIMIT_HANDOFF_REPEATS; attempt++) {
        auto_json struct json_object *status = NULL;
        int r = name_request(hook, attempt, err);
        r = r < 0 ? r : look(hook, 0, &status, err);
        if (r < 0) {
            return r;
        }
        if (status == NULL) {
            r = submit(hook, attempt, verdict, err);
            return r < 0 ? r : look(hook, 0, ret_status, err);
        }
        if (!is_used(status)) {
            *ret_status = json_object_get(status);
            return 0;
        }
    }
    return error_set(err, RONDO_ERR_LIMIT, "people were asked about this call %d times",
                     LIMIT_HANDOFF_REPEATS);
}

static int ask(struct hook *hook, struct json_object *verdict, enum call_verdict *ret_verdict,
               struct rondo_error *err)
{
    auto_json struct json_object *status = NULL;
    int r = find_request(hook, verdict, &status, err);
    while (r == 0 && status != NULL && is_waiting(status)) {
        int64_t rest_ms = (hook->deadline_ns - clock_monotonic(clock_system())) / 1000000;
        if (rest_ms <= 0) {
            buf_printf(&hook->reason,
                       "it waits for the decision of a person (request %s). Do something else, and "
                       "make the same call again after it was decided",
                       hook->request_id);
            return 0;
        }
        json_object_put(status);
        status = NULL;
        clock_sleep(clock_system(), 50000000, NULL); /* if the server does not wait */
        r = look(hook, rest_ms < 20000 ? rest_ms : 20000, &status, err);
    }
    if (r == 0 && status == NULL) {
        r = error_set(err, RONDO_ERR_DENIED, "the server has lost the request");
    }
    return r < 0 ? r : conclude(hook, status, ret_verdict, err);
}

/* ---- The command ---------------------------------------------------------------------------- */

static int decide(struct hook *hook, enum call_verdict *ret_verdict, struct rondo_error *err)
{
    auto_json struct json_object *verdict = NULL;
    auto_buf struct buf text = {0};
    int r = file_read_all(STDIN_FILENO, "the standard input", LIMIT_HANDOFF_BODY_BYTES, &text, err);
    r = r < 0 ? r : json_parse_strict(text.data, text.len, &hook->event, err);
    r = r < 0 ? r : read_call(hook, err);
    r = r < 0 ? r : name_call(hook, err);
    r = r < 0 ? r : check_server(hook, err);
    r = r < 0 ? r : http_client_new(NULL, &hook->http, err);
    r = r < 0 ? r : evaluate(hook, NULL, &verdict, err);
    if (r < 0) {
        return r;
    }
    if (is_text(verdict, "outcome", "allow") && json_length(json_member(verdict, "errors")) == 0) {
        *ret_verdict = VERDICT_NO_OPINION;
        return 0;
    }
    if (is_text(verdict, "outcome", "handoff")) {
        return ask(hook, verdict, ret_verdict, err);
    }
    explain_denial(hook, verdict);
    return 0;
}

static void write_claude(enum call_verdict verdict, const char *reason)
{
    auto_buf struct buf out = {0};
    struct json_writer writer = json_writer(&out);
    json_begin_object(&writer, NULL);
    json_begin_object(&writer, "hookSpecificOutput");
    json_write_string(&writer, "hookEventName", "PreToolUse");
    json_write_string(&writer, "permissionDecision", verdict == VERDICT_ALLOW ? "allow" : "deny");
    json_write_string(&writer, "permissionDecisionReason", reason);
    json_end_object(&writer);
    json_end_object(&writer);
    buf_append_string(&out, "\n");
    report_output(&out);
}

/** Answer in the agent's format. Only EXIT_BLOCKS stops an agent that gets no answer. */
static int answer(const struct hook *hook, enum call_verdict verdict)
{
    auto_buf struct buf reason = {0};
    buf_append_string(&reason, "Rondo: ");
    text_clean(hook->reason.data, hook->reason.len, &reason);
    buf_append_string(&reason, ".");
    if (verdict == VERDICT_NO_OPINION ||
        (verdict == VERDICT_ALLOW && hook->values->format == HOOK_CODEX)) {
        auto_buf struct buf nothing = {0};
        buf_append_string(&nothing, "{}\n");
        report_output(&nothing);
        return EXIT_OK;
    }
    if (hook->values->format == HOOK_CLAUDE) {
        write_claude(verdict, buf_string(&reason));
        if (ferror(stdout) == 0 || verdict == VERDICT_ALLOW) {
            return EXIT_OK;
        }
    }
    fprintf(stderr, "%s\n", buf_string(&reason));
    return EXIT_BLOCKS;
}

static int run_hook(const struct hook_values *values)
{
    struct hook hook = {.values = values, .token = getenv("RONDO_TOKEN")};
    struct rondo_error err = {0};
    enum call_verdict verdict = VERDICT_DENY;
    if (is_on_this_machine(values->server)) {
        setenv("no_proxy", "*", 1); /* a proxy would get the token; there is one thread yet */
    }
    hook.deadline_ns = clock_monotonic(clock_system()) + values->wait_ns;
    if (hook.token != NULL && hook.token[0] == '\0') {
        hook.token = NULL;
    }
    int r = decide(&hook, &verdict, &err);
    if (r < 0) {
        verdict = VERDICT_DENY;
        buf_clear(&hook.reason);
        buf_append_string(&hook.reason, "this call cannot be checked, so it is denied: ");
        text_clean(err.message, strlen(err.message), &hook.reason);
    }
    int exit_code = answer(&hook, verdict);
    http_client_free(hook.http);
    json_object_put(hook.event);
    buf_fini(&hook.reason);
    return exit_code;
}

int cmd_hook(const struct invocation *invocation)
{
    struct hook_values values = {.wait_ns = INT64_C(50000000000)};
    struct option_set set = {.rows = hook_options, .values = &values};
    struct parsed parsed = command_parse(invocation, &set, 0, 0);
    if (parsed.is_over) {
        option_set_fini(&set);
        return parsed.exit_code == EXIT_OK ? EXIT_OK : EXIT_BLOCKS;
    }
    struct hook_values filled = values;
    static char server[] = "http://127.0.0.1:7466";
    static char profile[] = "default-security";
    filled.server = values.server == NULL ? server : values.server;
    filled.profile = values.profile == NULL ? profile : values.profile;
    int exit_code = run_hook(&filled);
    option_set_fini(&set);
    return exit_code;
}
