// SPDX-License-Identifier: Apache-2.0
/* The policies of the store: in force, to be checked, former ones, and why they decide something.
 */
#include "base/auto.h"
#include "base/memory.h"
#include "base/parse.h"
#include "loop/policy_request.h"
#include "os/file.h"
#include "os/file_untrusted.h"
#include "policy/change.h"
#include "policy/explanation.h"
#include "policy/lint/lint.h"
#include "policy/replica.h"
#include "server/api/handlers.h"
#include "store/find.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PAGE 50
#define MAX_PAGE     500

/** Read one of the files at the policies' place. NULL when there is none. */
static char *read_part(const struct call *call, const char *path, size_t part)
{
    const char *const agent_folders[] = {call->server->workspace, NULL};
    struct buf text = {0};
    auto_free char *name = watch_part_path(path, part);
    if (file_read_named(agent_folders, name, LIMIT_POLICY_BYTES, &text, NULL) < 0) {
        buf_fini(&text);
        return NULL;
    }
    return buf_steal(&text);
}

/** Iterations, tokens, dollars, nanoseconds; null = none. */
static void write_limits(struct ruleset *ruleset, struct json_writer *writer)
{
    if (ruleset == NULL) {
        json_write_null(writer, "limits");
        return;
    }
    json_begin_object(writer, "limits");
    struct policy_limit limits[RUN_LIMIT_COUNT];
    policy_default_limits(ruleset, limits);
    for (enum run_limit i = 0; i < RUN_LIMIT_COUNT; i++) {
        const char *name = run_limit_name(i);
        if (!limits[i].is_known) {
            json_write_null(writer, name);
        } else if (i == RUN_LIMIT_COST) {
            call_write_money(writer, name, limits[i].limit);
        } else {
            json_write_int(writer, name, limits[i].limit);
        }
    }
    json_end_object(writer);
}

static void write_findings(const struct policy_findings *findings, struct json_writer *writer)
{
    json_begin_array(writer, "findings");
    for (size_t i = 0; i < findings->count; i++) {
        const struct policy_finding *finding = &findings->items[i];
        const char *hint = strstr(finding->message, "; did you mean ");
        size_t len = hint == NULL ? strlen(finding->message) : (size_t)(hint - finding->message);
        json_begin_object(writer, NULL);
        json_write_string(writer, "severity", finding->is_error ? "error" : "warning");
        json_write_int(writer, "line", finding->line);
        json_write_int(writer, "column", finding->column);
        json_write_null(writer, "policy");
        json_write_string_len(writer, "message", finding->message, len);
        json_write_string(writer, "hint", hint == NULL ? NULL : hint + 2);
        json_end_object(writer);
    }
    json_end_array(writer);
}

struct since {
    const char *digest;
    int64_t time_ns;
    char *by;
};

/** Only the newest entry of a source describes what is in force. */
static bool take_newest(const struct store_policy_change *change, void *context)
{
    struct since *since = context;
    if (strcmp(change->digest, since->digest) == 0) {
        since->time_ns = change->time_ns;
        since->by = memory_dup_string(change->by);
    }
    return false;
}

static void write_since(struct call *call, const struct ruleset *ruleset,
                        struct json_writer *writer)
{
    struct since since = {.digest = ruleset == NULL ? "" : ruleset->digest};
    struct store *store = call_store(call);
    if (ruleset != NULL) {
        store->ops->read_policies(store, policy_history_source(ruleset->source), 0, take_newest,
                                  &since, NULL);
    }
    call_write_time(writer, "changed", since.time_ns);
    json_write_string(writer, "by", since.by);
    free(since.by);
}

/** What is in force as the answer. */
static void answer_policies(struct call *call)
{
    struct rondo_error err = {0};
    struct policy_findings findings = {0};
    struct ruleset *ruleset = NULL;
    const char *path = call->server->policy_path;
    policy_replica_pull(call_store(call), path, NULL, NULL); /* Else the copy is shown as it is. */
    /* opens: only whether there are policies */
    bool is_built_in = !file_exists(path);
    if (policy_load(path, true, &findings, &ruleset, &err) < 0) {
        policy_findings_add_failure(&findings, WATCH_DEFAULT_NAME, &err);
    }
    auto_free char *text = is_built_in ? NULL : read_part(call, path, RULESET_POLICIES);
    auto_free char *entities = is_built_in ? NULL : read_part(call, path, RULESET_ENTITIES);
    auto_free char *links = is_built_in ? NULL : read_part(call, path, RULESET_LINKS);
    struct json_writer writer = call_json(call, 200);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "source", ruleset == NULL ? path : ruleset->source);
    json_write_string(&writer, "sha256", ruleset == NULL ? NULL : ruleset->digest);
    json_write_string(&writer, "text",
                      text != NULL                     ? text
                      : is_built_in || ruleset == NULL ? ""
                                                       : ruleset->text);
    json_write_bool(&writer, "is_builtin", is_built_in);
    write_limits(ruleset, &writer);
    json_write_string(&writer, "entities", entities);
    json_write_string(&writer, "links", links);
    write_since(call, ruleset, &writer);
    write_findings(&findings, &writer);
    json_end_object(&writer);
    if (ruleset != NULL) {
        snprintf(call->etag, sizeof(call->etag), "\"%s\"", ruleset->digest);
    }
    policy_findings_fini(&findings);
    ruleset_unref(ruleset);
}

static bool has_path(struct call *call)
{
    if (call->server->policy_path == NULL) {
        call_problem(call, PROBLEM_NOT_FOUND, "this server has no policy file");
        return false;
    }
    return true;
}

void handle_get_policies(struct call *call)
{
    if (has_path(call)) {
        answer_policies(call);
    }
}

/* ---- Checking ------------------------------------------------------------------------------- */

static bool read_text(struct call *call, const char *members, const char **ret_text)
{
    return has_path(call) && call_check_members(call, call->body, "", members) &&
           call_member_text(call, "text", true, ret_text);
}

/** A set of forbids alone looks as if it allowed the rest; it allows nothing. */
static void check_reach(const struct ruleset *ruleset, struct policy_findings *findings)
{
    if (!lint_has_permit_for(ruleset->policies, ACTION_ITERATE)) {
        struct lint_finding finding = {
            .file = WATCH_DEFAULT_NAME,
            .policy = LINT_NO_POLICY,
            .message = "no permit can match `iterate`, so every iteration is denied",
        };
        policy_findings_add(&finding, findings);
    }
}

void handle_check_policies(struct call *call)
{
    struct rondo_error err = {0};
    struct policy_findings findings = {0};
    struct policy_change change = {.path = call->server->policy_path};
    struct ruleset *ruleset = NULL;
    if (!read_text(call, "text", &change.text)) {
        return;
    }
    change.len = strlen(change.text);
    if (policy_change_check(&change, &findings, &ruleset, &err) < 0) {
        policy_findings_add_failure(&findings, WATCH_DEFAULT_NAME, &err);
    } else {
        check_reach(ruleset, &findings);
    }
    struct json_writer writer = call_json(call, 200);
    json_begin_object(&writer, NULL);
    json_write_bool(&writer, "is_valid", ruleset != NULL);
    write_findings(&findings, &writer);
    write_limits(ruleset, &writer);
    json_end_object(&writer);
    policy_findings_fini(&findings);
    ruleset_unref(ruleset);
}

/* ---- Changing ------------------------------------------------------------------------------- */

/** The digest of the policies to replace: If-Match or if_sha256. @return false: a problem */
static bool read_condition(struct call *call, char *ret_digest, size_t size, bool *ret_has)
{
    const char *header = http_exchange_header(call->exchange, "If-Match");
    const char *member = NULL;
    if (!call_member_text(call, "if_sha256", false, &member)) {
        return false;
    }
    *ret_has = member != NULL || (header != NULL && strcmp(header, "*") != 0);
    if (member != NULL) {
        snprintf(ret_digest, size, "%s", member);
    } else if (*ret_has) {
        snprintf(ret_digest, size, "%s", header[0] == '"' ? header + 1 : header);
        ret_digest[strcspn(ret_digest, "\"")] = '\0';
    }
    return true;
}

static void refuse_text(struct call *call, struct policy_findings *findings,
                        const struct rondo_error *err)
{
    auto_buf struct buf errors = {0};
    struct json_writer writer = json_writer(&errors);
    policy_findings_add_failure(findings, WATCH_DEFAULT_NAME, err);
    json_begin_array(&writer, NULL);
    for (size_t i = 0; i < findings->count; i++) {
        const struct policy_finding *finding = &findings->items[i];
        auto_buf struct buf place = {0};
        buf_printf(&place, "text:%u:%u", finding->line, finding->column);
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "path", buf_string(&place));
        json_write_string(&writer, "message", finding->message);
        json_write_string(&writer, "severity", finding->is_error ? "error" : "warning");
        json_write_int(&writer, "line", finding->line);
        json_write_int(&writer, "column", finding->column);
        json_end_object(&writer);
    }
    json_end_array(&writer);
    call_problem_with(call, PROBLEM_INVALID, buf_string(&errors), "nothing was changed: %s",
                      err->message);
}

static void apply(struct call *call, const struct policy_change *change)
{
    struct rondo_error err = {0};
    struct policy_findings findings = {0};
    struct policy_changed changed = {0};
    struct ruleset *next = NULL;
    int r = policy_change_check(change, &findings, &next, &err);
    if (r < 0 && r != RONDO_ERR_STATE) {
        refuse_text(call, &findings, &err);
    } else if (r < 0 || policy_change_apply(call_store(call), change, next, &changed, &err) < 0) {
        call_error(call, &err);
    } else if (changed.is_conflict) {
        call_problem(call, PROBLEM_CONFLICT, "other policies are in force by now: %s",
                     changed.before == NULL ? "they are invalid" : changed.before->digest);
    } else {
        answer_policies(call);
    }
    policy_changed_fini(&changed);
    policy_findings_fini(&findings);
    ruleset_unref(next);
}

void handle_put_policies(struct call *call)
{
    char digest[DIGEST_HEX_SIZE + 8] = "";
    bool has_condition = false;
    struct policy_change change = {.path = call->server->policy_path, .by = call->by};
    if (!read_text(call, "text,if_sha256", &change.text) ||
        !read_condition(call, digest, sizeof(digest), &has_condition)) {
        return;
    }
    change.len = strlen(change.text);
    change.if_digest = has_condition ? digest : NULL;
    pthread_mutex_lock(&call->server->policy_lock);
    apply(call, &change);
    pthread_mutex_unlock(&call->server->policy_lock);
}

/* ---- History -------------------------------------------------------------------------------- */

struct policy_change_page {
    struct json_writer *writer;
    bool has_text;
    int64_t limit;
    int64_t shown;
    uint64_t last;
    bool is_more;
};

static bool take_change(const struct store_policy_change *change, void *context)
{
    struct policy_change_page *changes = context;
    struct json_writer *writer = changes->writer;
    changes->is_more = changes->shown == changes->limit;
    if (changes->is_more) {
        return false;
    }
    json_begin_object(writer, NULL);
    json_write_int(writer, "number", (int64_t)change->number);
    call_write_time(writer, "time", change->time_ns);
    json_write_string(writer, "source", change->source);
    json_write_string(writer, "sha256", change->digest);
    json_write_string(writer, "how", change->how);
    json_write_string(writer, "by", change->by);
    if (changes->has_text) {
        json_write_string_len(writer, "text", change->text, change->text_len);
    }
    json_end_object(writer);
    changes->shown++;
    changes->last = change->number;
    return true;
}

void handle_policy_history(struct call *call)
{
    struct rondo_error err = {0};
    struct policy_change_page changes = {0};
    int64_t before = 0;
    if (!call_query_int(call, "before", 1, INT64_MAX, 0, &before) ||
        !call_query_int(call, "limit", 1, MAX_PAGE, DEFAULT_PAGE, &changes.limit)) {
        return;
    }
    struct store *store = call_store(call);
    struct json_writer writer = call_json(call, 200);
    changes.writer = &writer;
    json_begin_object(&writer, NULL);
    json_begin_array(&writer, "changes");
    int r = store->ops->read_policies(store, NULL, (uint64_t)before, take_change, &changes, &err);
    json_end_array(&writer);
    if (changes.is_more) {
        json_write_int(&writer, "next", (int64_t)changes.last);
    } else {
        json_write_null(&writer, "next");
    }
    json_end_object(&writer);
    if (r < 0) {
        call_error(call, &err);
    }
}

void handle_policy_change(struct call *call)
{
    struct rondo_error err = {0};
    struct policy_change_page changes = {.has_text = true, .limit = 1};
    int64_t number = 0;
    struct store *store = call_store(call);
    if (parse_int(call_value(call, "number"), 1, INT64_MAX - 1, &number, NULL) < 0) {
        call_problem(call, PROBLEM_NOT_FOUND, "a change of the policies is a number");
        return;
    }
    struct json_writer writer = call_json(call, 200);
    changes.writer = &writer;
    int r =
        store->ops->read_policies(store, NULL, (uint64_t)number + 1, take_change, &changes, &err);
    if (r < 0) {
        call_error(call, &err);
    } else if (changes.last != (uint64_t)number) {
        call_problem(call, PROBLEM_NOT_FOUND, "there is no change %lld", (long long)number);
    }
}

/* ---- Explaining ----------------------------------------------------------------------------- */

static int take_run(struct call *call, const char *run_id, struct written_request *written,
                    char **ret_policy, struct rondo_error *err)
{
    struct store_run run;
    struct summary summary;
    int r = store_find_run(call_store(call), run_id, NULL, &run, err);
    r = r < 0 ? r : summary_load(call_store(call), run.id, &summary, err);
    if (r == 0) {
        loop_write_request(&summary, written);
        *ret_policy = memory_dup_string(summary.spec.policy);
        summary_fini(&summary);
    }
    return r;
}

static int read_request(struct call *call, struct written_request *written, char **ret_policy,
                        struct rondo_error *err)
{
    const char *run_id = json_get_string(call->body, "run_id", NULL);
    int r = run_id == NULL ? 0 : take_run(call, run_id, written, ret_policy, err);
    struct json_object_iterator at = json_object_iter_begin(call->body);
    struct json_object_iterator end = json_object_iter_end(call->body);
    for (; r == 0 && !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        const char *name = json_object_iter_peek_name(&at);
        const char *key = strcmp(name, "agent_id") == 0 ? "agent" : name;
        if (strcmp(name, "run_id") != 0) {
            int known =
                written_request_read_member(written, key, json_object_iter_peek_value(&at), err);
            r = known < 0 ? known : 0;
        }
    }
    return r < 0 ? r : written_request_finish(written, err);
}

static void answer_request(struct call *call, const struct written_request *written,
                           const char *path)
{
    struct rondo_error err = {0};
    struct policy_findings findings = {0};
    struct policy_explanation explanation;
    struct ruleset *ruleset = NULL;
    bool is_own = path != NULL;
    if (policy_load(is_own ? path : call->server->policy_path, !is_own, &findings, &ruleset, &err) <
        0) {
        call_problem(call, PROBLEM_CONFLICT, "the policies cannot be evaluated: %s", err.message);
    } else {
        policy_explanation_make(written, ruleset, &explanation);
        call_json(call, 200);
        policy_explanation_json(&explanation, &call->answer);
        policy_explanation_fini(&explanation);
    }
    policy_findings_fini(&findings);
    ruleset_unref(ruleset);
}

void handle_explain(struct call *call)
{
    struct rondo_error err = {0};
    struct written_request written;
    auto_free char *path = NULL;
    if (!has_path(call) ||
        !call_check_members(call, call->body, "",
                            "run_id,agent_id,action,tool,model,condition,options,context")) {
        return;
    }
    written_request_init(&written, clock_now(clock_system()));
    if (read_request(call, &written, &path, &err) < 0) {
        call_error(call, &err);
    } else {
        answer_request(call, &written, path);
    }
    written_request_fini(&written);
}
