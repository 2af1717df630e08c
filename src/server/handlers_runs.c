// SPDX-License-Identifier: Apache-2.0
/* The list of runs, starting one, and steering those that there are. */
#include "base/auto.h"
#include "base/memory.h"
#include "base/status.h"
#include "loop/standing.h"
#include "loop/summary.h"
#include "orchestrator/start_request.h"
#include "server/handlers.h"
#include "server/limits_body.h"
#include "server/run_cursor.h"
#include "server/run_json.h"
#include "server/start_rights.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_PAGE 50
#define MAX_PAGE     500
/** Runs of a narrower status are picked out of so many at most; then the page is short. */
#define MAX_LOOKED_AT 5000
/** Bytes of a search. */
#define LIMIT_SEARCH_BYTES 256

static struct orchestrator *orchestrator_of(const struct call *call)
{
    return call->server->options.orchestrator;
}

/* ---- The list ------------------------------------------------------------------------------- */

/** Kinds of running that only a look at each run tells apart. */
static const char *const standings[] = {"queued", "paused", "parked", "interrupted"};
#define STANDINGS (sizeof(standings) / sizeof(standings[0]))

struct page {
    struct store_run_query query;
    struct store_run_place after;
    bool wants_standing[STANDINGS];
    bool is_narrow; /* running ones are wanted only by their standing */
    char **agents;  /* or NULL */
    struct store_run *runs;
    size_t count;
    size_t room;
};

static bool take_run(const struct store_run *run, void *context)
{
    struct page *page = context;
    page->runs[page->count++] = *run;
    return page->count < page->room;
}

static bool read_status(struct page *page, const char *word)
{
    enum rondo_status status;
    for (size_t i = 0; i < STANDINGS; i++) {
        if (strcmp(word, standings[i]) == 0) {
            page->wants_standing[i] = true;
            return true;
        }
    }
    if (!status_from_name(word, &status)) {
        return false;
    }
    page->query.statuses |= 1U << status;
    return true;
}

static bool read_statuses(struct call *call, struct page *page)
{
    const char *text = call_query(call, "status");
    if (text == NULL) {
        return true;
    }
    char **words = call_list_new(text);
    bool is_good = true;
    for (size_t i = 0; words[i] != NULL && is_good; i++) {
        is_good = read_status(page, words[i]);
        if (!is_good) {
            call_problem(call, PROBLEM_MALFORMED, "there is no status %.64s", words[i]);
        }
    }
    call_list_free(words);
    bool has_standing = false;
    for (size_t i = 0; i < STANDINGS; i++) {
        has_standing = has_standing || page->wants_standing[i];
    }
    page->is_narrow = has_standing && (page->query.statuses & 1U << RONDO_RUNNING) == 0;
    page->query.statuses |= has_standing ? 1U << RONDO_RUNNING : 0;
    return is_good;
}

static bool read_order(struct call *call, struct page *page)
{
    static const char *const orders[] = {"created", "updated", "agent",    "status", "iteration",
                                         "tokens",  "cost",    "warnings", NULL};
    static const char *const directions[] = {"desc", "asc", NULL};
    int order = -1;
    int direction = -1;
    if (!call_query_word(call, "sort", orders, &order) ||
        !call_query_word(call, "order", directions, &direction)) {
        return false;
    }
    page->query.order = order < 0 ? STORE_BY_CREATED : (enum store_run_order)order;
    page->query.is_ascending = direction == 1;
    const char *cursor = call_query(call, "cursor");
    if (cursor == NULL) {
        return true;
    }
    page->query.after = &page->after;
    if (run_cursor_read(cursor, page->query.order, page->query.is_ascending, &page->after)) {
        return true;
    }
    call_problem(call, PROBLEM_MALFORMED, "the cursor is none of a list with this order");
    return false;
}

static bool read_page(struct call *call, struct page *page)
{
    int64_t limit = 0;
    const char *search = call_query(call, "q");
    page->query.agent_id = call_query(call, "agent");
    page->query.search = search == NULL || search[0] == '\0' ? NULL : search;
    page->query.agents = (const char *const *)call->grant.agents;
    if (search != NULL && strlen(search) > LIMIT_SEARCH_BYTES) {
        call_problem(call, PROBLEM_MALFORMED, "q takes %d bytes at most", LIMIT_SEARCH_BYTES);
        return false;
    }
    bool is_good = read_statuses(call, page) && read_order(call, page) &&
                   call_query_int(call, "limit", 1, MAX_PAGE, DEFAULT_PAGE, &limit);
    page->room = (size_t)limit + 1; /* One more tells whether there is a next page. */
    return is_good;
}

static bool is_wanted(const struct call *call, const struct page *page, const struct store_run *run)
{
    if (!page->is_narrow || run->summary.status != RONDO_RUNNING) {
        return true;
    }
    const char *status = run_json_status(run, orchestrator_of(call));
    for (size_t i = 0; i < STANDINGS; i++) {
        if (page->wants_standing[i] && strcmp(status, standings[i]) == 0) {
            return true;
        }
    }
    return false;
}

/** Read until the page is full or nothing follows. What is picked out is done outside of the
 *  store's call, because it asks the orchestrator. */
static int fill(struct call *call, struct page *page, bool *ret_is_more, struct rondo_error *err)
{
    struct store *store = call_store(call);
    size_t kept = 0;
    size_t looked_at = 0;
    *ret_is_more = true;
    page->runs = memory_new_zero(page->room, sizeof(*page->runs));
    while (kept < page->room && looked_at < MAX_LOOKED_AT) {
        size_t asked = page->room - kept;
        page->query.limit = (uint32_t)asked;
        page->count = kept;
        int r = store->ops->list_runs(store, &page->query, take_run, page, err);
        if (r < 0) {
            return r;
        }
        size_t got = page->count - kept;
        looked_at += got;
        if (got > 0) {
            run_cursor_place(&page->runs[page->count - 1], page->query.order, &page->after);
            page->query.after = &page->after;
        }
        for (size_t i = kept; i < page->count; i++) {
            if (is_wanted(call, page, &page->runs[i])) {
                page->runs[kept++] = page->runs[i];
            }
        }
        if (got < asked) {
            *ret_is_more = false;
            break;
        }
    }
    page->count = kept;
    return 0;
}

static int count(struct call *call, const struct page *page, struct buf *ret_json,
                 struct rondo_error *err)
{
    struct store *store = call_store(call);
    struct store_run_counts counts = {0};
    struct store_run_query query = page->query;
    query.statuses = 0;
    query.after = NULL;
    query.limit = 0;
    int r = store->ops->count_runs(store, &query, &counts, err);
    if (r == 0) {
        run_counts_write(&counts, ret_json);
    }
    return r;
}

static void write_page(struct call *call, struct page *page, bool is_more, const char *counts)
{
    auto_buf struct buf cursor = {0};
    struct json_writer writer = call_json(call, 200);
    size_t shown = page->count < page->room ? page->count : page->room - 1;
    json_begin_object(&writer, NULL);
    json_begin_array(&writer, "runs");
    for (size_t i = 0; i < shown; i++) {
        json_begin_object(&writer, NULL);
        run_json_members(&page->runs[i], NULL, orchestrator_of(call), &writer);
        json_end_object(&writer);
    }
    json_end_array(&writer);
    if (page->count == page->room) {
        run_cursor_place(&page->runs[shown - 1], page->query.order, &page->after);
    }
    if (is_more) {
        run_cursor_write(&page->after, page->query.order, page->query.is_ascending, &cursor);
    }
    json_write_string(&writer, "next_cursor", is_more ? buf_string(&cursor) : NULL);
    json_write_raw(&writer, "counts", counts);
    json_end_object(&writer);
}

void handle_list_runs(struct call *call)
{
    struct page page = {0};
    struct rondo_error err = {0};
    bool is_more = false;
    auto_buf struct buf counts = {0};
    if (!read_page(call, &page)) {
        return;
    }
    if (fill(call, &page, &is_more, &err) < 0 || count(call, &page, &counts, &err) < 0) {
        call_error(call, &err);
    } else {
        write_page(call, &page, is_more, buf_string(&counts));
    }
    free(page.runs);
}

/* ---- Starting ------------------------------------------------------------------------------- */

static void answer_run(struct call *call, unsigned status, const char *run_id)
{
    struct rondo_error err = {0};
    struct store_run run;
    struct store *store = call_store(call);
    if (store->ops->get_run(store, run_id, &run, &err) < 0) {
        call_error(call, &err);
        return;
    }
    struct json_writer writer = call_json(call, status);
    json_begin_object(&writer, NULL);
    run_json_members(&run, NULL, orchestrator_of(call), &writer);
    json_end_object(&writer);
    snprintf(call->location, sizeof(call->location), "/v1/runs/%s", run_id);
}

/** What was not begun. @return whether it was */
static bool is_taken(struct call *call, enum orchestrator_answer answer)
{
    switch (answer) {
    case ORCHESTRATOR_STARTED:
    case ORCHESTRATOR_QUEUED:
        return true;
    case ORCHESTRATOR_FULL:
        call->retry_after_s = 5;
        call_problem(call, PROBLEM_ADMISSION_FULL,
                     "as many runs as this server takes are running and queued; try again later");
        break;
    case ORCHESTRATOR_DRAINING:
        call->retry_after_s = 5;
        call_problem(call, PROBLEM_DRAINING, "this server is about to end");
        break;
    case ORCHESTRATOR_HELD:
        call_problem(call, PROBLEM_CONFLICT,
                     "a living process executes the run, or another run of an exclusive agent");
        break;
    }
    return false;
}

/** Lines of findings as a list of errors. */
static void refuse_start(struct call *call, const struct buf *findings,
                         const struct rondo_error *err)
{
    auto_buf struct buf errors = {0};
    struct json_writer writer = json_writer(&errors);
    json_begin_array(&writer, NULL);
    for (const char *at = buf_string(findings); *at != '\0';) {
        size_t len = strcspn(at, "\n");
        json_begin_object(&writer, NULL);
        json_write_string(&writer, "path", "role");
        json_write_string_len(&writer, "message", at, len);
        json_end_object(&writer);
        at += len + (at[len] == '\n');
    }
    json_end_array(&writer);
    /* A file that is named in the body and missing is no missing page. */
    enum problem_code code = problem_of_error(err);
    call_problem_with(call, code == PROBLEM_NOT_FOUND ? PROBLEM_INVALID : code,
                      findings->len > 0 ? buf_string(&errors) : NULL, "%s", err->message);
}

/** Answer with the run that the same request made before. @return false: there is none */
static bool answer_made(struct call *call)
{
    struct store_run run;
    struct store *store = call_store(call);
    if (call->run_id[0] == '\0' || store->ops->get_run(store, call->run_id, &run, NULL) < 0) {
        return false;
    }
    bool is_queued = orchestrator_is_queued(orchestrator_of(call), call->run_id);
    call->is_replayed = true;
    answer_run(call, is_queued ? 202 : 201, call->run_id);
    return true;
}

static void start(struct call *call, struct loop_spec *spec)
{
    struct rondo_error err = {0};
    enum orchestrator_answer answer = ORCHESTRATOR_FULL;
    char run_id[ID_SIZE] = "";
    memcpy(spec->run_id, call->run_id, sizeof(spec->run_id));
    if (!token_grant_covers(&call->grant, spec->agent_id)) {
        call_problem(call, PROBLEM_FORBIDDEN, "the token is limited to other agents than %s",
                     spec->agent_id);
    } else if (call->is_again && answer_made(call)) {
        return;
    } else if (orchestrator_run(orchestrator_of(call), spec, call->by, &answer, run_id, &err) < 0) {
        /* Another server may have been at it that was slow, not dead. */
        if (err.code != RONDO_ERR_INVALID || !answer_made(call)) {
            call_error(call, &err);
        }
    } else if (is_taken(call, answer)) {
        answer_run(call, answer == ORCHESTRATOR_STARTED ? 201 : 202, run_id);
    }
}

/** Hold a request against what the scope is worth. @return false: a problem */
static bool may_start(struct call *call, const struct loop_spec *spec)
{
    struct rondo_error err = {0};
    struct start_rights rights = {call->server->workspace, call->server->store_path};
    if (call->grant.scope >= TOKEN_ADMINISTER) {
        return true;
    }
    int r = spec == NULL ? start_rights_check_body(&rights, call->body, &err)
                         : start_rights_check_spec(&rights, spec, &err);
    if (r < 0) {
        call_problem(call, PROBLEM_FORBIDDEN, "%s", err.message);
    }
    return r == 0;
}

void handle_start_run(struct call *call)
{
    struct rondo_error err = {0};
    struct loop_spec spec = loop_spec_default();
    auto_buf struct buf findings = {0};
    struct start_options options = {.workspace = call->server->workspace};
    if (!may_start(call, NULL)) {
        return;
    }
    if (start_request_read(call->body, &options, &spec, &findings, &err) < 0) {
        refuse_start(call, &findings, &err);
        return;
    }
    if (may_start(call, &spec)) {
        start(call, &spec);
    }
    loop_spec_fini(&spec);
}

/* ---- Steering ------------------------------------------------------------------------------- */

static void answer_outcome(struct call *call, unsigned status, const char *run_id,
                           const char *outcome)
{
    struct json_writer writer = call_json(call, status);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "run_id", run_id);
    json_write_string(&writer, "outcome", outcome);
    json_end_object(&writer);
}

/** Answer with what a function of loop/control said. */
static void answer_control(struct call *call, const char *run_id, int r,
                           const struct rondo_error *err)
{
    static const char *const names[] = {
        [LOOP_CONTROL_DONE] = "done",
        [LOOP_CONTROL_POSTED] = "posted",
        [LOOP_CONTROL_NOTHING] = "nothing",
    };
    if (r < 0) {
        call_error(call, err);
    } else {
        answer_outcome(call, 202, run_id, names[r]);
    }
}

/** Read the reason that a request may give. @return false: a problem */
static bool read_reason(struct call *call, struct buf *ret_by)
{
    const char *reason = NULL;
    if (call->body != NULL && (!call_check_members(call, call->body, "", "reason") ||
                               !call_member_text(call, "reason", false, &reason))) {
        return false;
    }
    buf_append_string(ret_by, call->by);
    if (reason != NULL && reason[0] != '\0') {
        buf_printf(ret_by, ": %.200s", reason);
    }
    return true;
}

/** A body that may only be {}. */
static bool has_no_members(struct call *call)
{
    return call->body == NULL || call_check_members(call, call->body, "", NULL);
}

void handle_stop_run(struct call *call)
{
    struct store_run run;
    struct rondo_error err = {0};
    auto_buf struct buf by = {0};
    if (!read_reason(call, &by) || !call_find_run(call, &run)) {
        return;
    }
    int r = orchestrator_stop_run(orchestrator_of(call), run.id, buf_string(&by), &err);
    answer_control(call, run.id, r, &err);
}

void handle_pause_run(struct call *call)
{
    struct store_run run;
    struct rondo_error err = {0};
    auto_buf struct buf by = {0};
    if (!read_reason(call, &by) || !call_find_run(call, &run)) {
        return;
    }
    int r = orchestrator_pause_run(orchestrator_of(call), run.id, buf_string(&by), &err);
    answer_control(call, run.id, r, &err);
}

/** Hold a run against what the scope is worth before it is executed again. @return false: a problem
 */
static bool may_execute_again(struct call *call, const char *run_id)
{
    struct rondo_error err = {0};
    struct summary summary;
    struct start_rights rights = {call->server->workspace, call->server->store_path};
    if (call->grant.scope >= TOKEN_ADMINISTER) {
        return true;
    }
    if (summary_load(call_store(call), run_id, &summary, &err) < 0) {
        call_error(call, &err);
        return false;
    }
    int r = start_rights_check_again(&rights, &summary.spec, &err);
    summary_fini(&summary);
    if (r < 0) {
        call_problem(call, PROBLEM_FORBIDDEN, "%s", err.message);
    }
    return r == 0;
}

/** Execute a run here: the end of resume, continue and fork. */
static void execute(struct call *call, const char *run_id, const struct loop_limits *limits,
                    enum orchestrator_answer *ret_answer)
{
    struct rondo_error err = {0};
    *ret_answer = ORCHESTRATOR_FULL;
    if (orchestrator_resume(orchestrator_of(call), run_id, limits, call->by, ret_answer, &err) <
        0) {
        call_error(call, &err);
        *ret_answer = ORCHESTRATOR_HELD;
    } else if (is_taken(call, *ret_answer)) {
        answer_outcome(call, 200, run_id,
                       *ret_answer == ORCHESTRATOR_STARTED ? "started" : "queued");
    }
}

/**
 * Tell who executes a run to go on, also where its row does not say that it is paused: a pause may
 * have been asked for just before.
 */
static void continue_executed(struct call *call, const char *run_id)
{
    struct rondo_error err = {0};
    enum orchestrator_answer answer;
    int r = loop_continue_run(orchestrator_parts(orchestrator_of(call)), run_id, call->by, &err);
    if (r == LOOP_CONTROL_DONE) { /* nobody executes it any more */
        execute(call, run_id, NULL, &answer);
    } else {
        answer_control(call, run_id, r, &err);
    }
}

void handle_continue_run(struct call *call)
{
    struct store_run run;
    enum orchestrator_answer answer;
    if (!has_no_members(call) || !call_find_run(call, &run) || !may_execute_again(call, run.id)) {
        return;
    }
    if (run.summary.status != RONDO_RUNNING) {
        call_problem(call, PROBLEM_CONFLICT, "run %s has ended: %s", run.id,
                     rondo_status_name(run.summary.status));
    } else if (standing_is_executed(&run)) {
        continue_executed(call, run.id);
    } else if (!run.summary.is_paused) {
        answer_outcome(call, 200, run.id, "nothing");
    } else {
        execute(call, run.id, NULL, &answer);
    }
}

void handle_resume_run(struct call *call)
{
    struct store_run run;
    struct loop_limits limits;
    enum orchestrator_answer answer;
    bool is_any = false;
    if (limits_body_read(call, call->body, "", &limits, &is_any) && call_find_run(call, &run) &&
        may_execute_again(call, run.id)) {
        execute(call, run.id, is_any ? &limits : NULL, &answer);
    }
}

void handle_change_limits(struct call *call)
{
    struct store_run run;
    struct loop_limits limits;
    struct rondo_error err = {0};
    bool is_any = false;
    if (!limits_body_read(call, call->body, "", &limits, &is_any) || !call_find_run(call, &run)) {
        return;
    }
    if (!is_any) {
        call_problem(call, PROBLEM_INVALID, "name at least one limit");
        return;
    }
    int r = orchestrator_change_limits(orchestrator_of(call), run.id, &limits, call->by, &err);
    answer_control(call, run.id, r, &err);
}

/* ---- Forking -------------------------------------------------------------------------------- */

static bool read_fork(struct call *call, struct loop_limits *limits, bool *ret_has_limits,
                      bool *ret_starts)
{
    struct json_object *object = NULL;
    *ret_starts = true;
    *ret_has_limits = false;
    if (call->body == NULL) {
        return true;
    }
    json_object_object_get_ex(call->body, "limits", &object);
    return call_check_members(call, call->body, "", "limits,start") &&
           call_member_bool(call, "start", true, ret_starts) &&
           limits_body_read(call, object, "limits.", limits, ret_has_limits);
}

void handle_fork(struct call *call)
{
    struct store_run run;
    struct loop_limits limits;
    struct rondo_error err = {0};
    char run_id[ID_SIZE] = "";
    bool has_limits = false;
    bool starts = true;
    int64_t number = 0;
    if (!read_fork(call, &limits, &has_limits, &starts) || !call_find_run(call, &run) ||
        !handler_checkpoint_number(call, &number) || !may_execute_again(call, run.id)) {
        return;
    }
    if (loop_fork(orchestrator_parts(orchestrator_of(call)), run.id, (uint64_t)number,
                  has_limits ? &limits : NULL, call->by, run_id, &err) < 0) {
        call_error(call, &err);
        return;
    }
    /* The new run is there, whether there is room to execute it now or not. */
    enum orchestrator_answer answer = ORCHESTRATOR_STARTED;
    if (starts) {
        execute(call, run_id, NULL, &answer);
    }
    call->retry_after_s = 0;
    answer_run(call, answer == ORCHESTRATOR_QUEUED ? 202 : 201, run_id);
}
