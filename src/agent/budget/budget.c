// SPDX-License-Identifier: Apache-2.0
/* Ledgers in the store, and what follows from them. */
#include "agent/budget/budget.h"

#include "agent/budget/period.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "os/host.h"
#include "store/rules.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Attempts to change a ledger that others change at the same time. */
#define SAVE_TRIES 100

/* ---- Rules ---------------------------------------------------------------------------------- */

/** Tokens, or dollars in millionths; 0 = no limit. */
static int64_t read_limit(struct json_object *guardrails, const struct budget_kind_row *kind)
{
    struct json_object *value = json_member(guardrails, kind->name);
    if (value == NULL) {
        return 0;
    }
    if (!kind->is_cost) {
        int64_t tokens = json_object_get_int64(value);
        return tokens > 0 ? tokens : 0;
    }
    double micro = json_object_get_double(value) * 1e6 + 0.5;
    return micro >= 9e18 ? INT64_MAX : micro > 0 ? (int64_t)micro : 0;
}

void budget_rules_read(struct json_object *normal, struct budget_rules *ret_rules)
{
    struct json_object *guardrails = json_member(json_member(normal, "spec"), "guardrails");
    memset(ret_rules, 0, sizeof(*ret_rules));
    for (enum budget_kind i = 0; i < BUDGET_KIND_COUNT; i++) {
        ret_rules->limits.limits[i] = read_limit(guardrails, &budget_kinds[i]);
    }
    snprintf(ret_rules->zone, sizeof(ret_rules->zone), "%s",
             json_get_string(guardrails, "budget_timezone", "UTC"));
    ret_rules->is_refusing =
        strcmp(json_get_string(guardrails, "when_budget_exhausted", "wait"), "refuse") == 0;
}

bool budget_rules_are_set(const struct budget_rules *rules)
{
    for (enum budget_kind i = 0; i < BUDGET_KIND_COUNT; i++) {
        if (rules->limits.limits[i] > 0) {
            return true;
        }
    }
    return false;
}

bool budget_rules_limit_cost(const struct budget_rules *rules)
{
    for (enum budget_kind i = 0; i < BUDGET_KIND_COUNT; i++) {
        if (budget_kinds[i].is_cost && rules->limits.limits[i] > 0) {
            return true;
        }
    }
    return false;
}

/* ---- Ledgers in the store ------------------------------------------------------------------- */

struct loading {
    struct budget_ledger *ledger;
    uint64_t version;
    int code;
    struct rondo_error *err;
};

static bool load_document(const struct store_document *document, void *context)
{
    struct loading *loading = context;
    loading->version = document->version;
    loading->code = ledger_read(document->data, document->data_len, loading->ledger, loading->err);
    return false;
}

int budget_load(struct store *store, const char *agent_id, struct budget_ledger *ret_ledger,
                uint64_t *ret_version, struct rondo_error *err)
{
    struct store_document_query query = {.collection = BUDGET_COLLECTION, .key = agent_id};
    struct loading loading = {.ledger = ret_ledger, .err = err};
    ledger_read(NULL, 0, ret_ledger, NULL);
    int r = store->ops->read_documents(store, &query, load_document, &loading, err);
    r = r < 0 ? r : loading.code;
    if (r < 0) {
        error_prefix(err, "the budgets of %s", agent_id);
        return r;
    }
    if (ret_version != NULL) {
        *ret_version = loading.version;
    }
    return 0;
}

int budget_save(struct store *store, const char *agent_id, const struct budget_ledger *ledger,
                uint64_t version, struct rondo_error *err)
{
    auto_buf struct buf data = {0};
    ledger_write(ledger, &data);
    struct store_change change = {
        .kind = STORE_PUT,
        .collection = BUDGET_COLLECTION,
        .key = agent_id,
        .data = data.data,
        .data_len = data.len,
        .if_version = (int64_t)version,
    };
    bool is_applied = false;
    int r = store->ops->change_documents(store, &change, 1, &is_applied, err);
    return r < 0 ? r : is_applied ? 1 : 0;
}

/** Changes a ledger in memory. @return whether it is to be saved, or a negative code */
typedef int change_ledger_fn(struct budget_ledger *ledger, void *context, struct rondo_error *err);

/** Change a ledger, again when others were first. @return what the function returned */
static int change_ledger(struct store *store, const char *agent_id, change_ledger_fn *fn,
                         void *context, struct rondo_error *err)
{
    struct budget_ledger *ledger = memory_new(sizeof(*ledger));
    int r = 0;
    for (int i = 0; i < SAVE_TRIES; i++) {
        uint64_t version;
        r = budget_load(store, agent_id, ledger, &version, err);
        int changed = r < 0 ? r : fn(ledger, context, err);
        r = changed <= 0 ? changed : budget_save(store, agent_id, ledger, version, err);
        if (changed <= 0 || r != 0) {
            free(ledger);
            return r < 0 ? r : changed;
        }
    }
    free(ledger);
    return error_set(err, RONDO_ERR_BUSY, "the budgets of %s change all the time", agent_id);
}

static int replace_rules(struct budget_ledger *ledger, void *context, struct rondo_error *err)
{
    const struct budget_rules *rules = context;
    struct budget_rules *own = &ledger->rules;
    (void)err;
    bool is_same = own->is_refusing == rules->is_refusing && strcmp(own->zone, rules->zone) == 0 &&
                   memcmp(&own->limits, &rules->limits, sizeof(own->limits)) == 0;
    if (is_same || (!budget_rules_are_set(own) && !budget_rules_are_set(rules))) {
        return 0;
    }
    *own = *rules;
    return 1;
}

int budget_note_rules(struct store *store, const char *agent_id, const struct budget_rules *rules,
                      struct rondo_error *err)
{
    struct budget_rules copy = *rules;
    int r = change_ledger(store, agent_id, replace_rules, &copy, err);
    return r < 0 ? r : 0;
}

/* ---- Whether a run may start ---------------------------------------------------------------- */

int64_t budget_period_end_ns(const struct budget_rules *rules, enum budget_kind kind, int64_t day)
{
    switch (budget_kinds[kind].period) {
    case BUDGET_DAY:
        return period_begin_ns(rules->zone, day + 1);
    case BUDGET_WEEK:
        return period_begin_ns(rules->zone, period_week_begin(day) + 7);
    case BUDGET_LIFE:
        return 0;
    }
    return 0;
}

void budget_describe(const struct budget_standing *standing, char *ret_text, size_t size)
{
    const struct budget_kind_row *kind = &budget_kinds[standing->kind];
    if (kind->is_cost) {
        snprintf(ret_text, size, "%s of the role is used up: $%.15g of $%.15g", kind->name,
                 (double)standing->used / 1e6, (double)standing->limit / 1e6);
    } else {
        snprintf(ret_text, size, "%s of the role is used up: %" PRId64 " of %" PRId64 " tokens",
                 kind->name, standing->used, standing->limit);
    }
}

int budget_allows(struct store *store, const char *agent_id, const struct budget_rules *rules,
                  int64_t now_ns, struct budget_reply *ret_reply, struct rondo_error *err)
{
    int64_t day;
    memset(ret_reply, 0, sizeof(*ret_reply));
    if (!budget_rules_are_set(rules)) {
        return 0;
    }
    if (!period_day(rules->zone, now_ns, &day)) {
        return error_set(err, RONDO_ERR_INVALID, "budget_timezone: this machine has no zone %s",
                         rules->zone);
    }
    struct budget_ledger *ledger = memory_new(sizeof(*ledger));
    int r = budget_load(store, agent_id, ledger, NULL, err);
    if (r == 0) {
        struct budget_standing standing = ledger_standing(ledger, &rules->limits, day, NULL);
        if (standing.verdict == BUDGET_EXHAUSTED) {
            ret_reply->at_ns = budget_period_end_ns(rules, standing.kind, day);
            ret_reply->answer =
                ret_reply->at_ns == 0 || rules->is_refusing ? BUDGET_NEVER : BUDGET_NOT_BEFORE;
            budget_describe(&standing, ret_reply->reason, sizeof(ret_reply->reason));
        }
    }
    free(ledger);
    return r;
}

/* ---- Upkeep --------------------------------------------------------------------------------- */

/** What is to be done about a request. */
enum liveness { REQUEST_ALIVE, REQUEST_ORPHANED, REQUEST_OVER };

struct releasing {
    struct store *store;
    struct rules_moment now;
    char boot[HOST_BOOT_SIZE];
};

/**
 * A run that nobody holds may still be continued by the process that had it, when no other was
 * faster: then its reply is settled, so the request stays and reserves nothing.
 */
static enum liveness liveness_of(const struct releasing *releasing,
                                 const struct ledger_request *request)
{
    struct store_run run;
    int r = releasing->store->ops->get_run(releasing->store, request->run_id, &run, NULL);
    if (r < 0) {
        return r == RONDO_ERR_NOT_FOUND ? REQUEST_OVER : REQUEST_ALIVE;
    }
    if (run.epoch != request->epoch || run.summary.status != RONDO_RUNNING) {
        return REQUEST_OVER;
    }
    const char *boot = releasing->boot[0] == '\0' ? NULL : releasing->boot;
    return rules_is_held(&run, boot, releasing->now) ? REQUEST_ALIVE : REQUEST_ORPHANED;
}

static int release_dead(struct budget_ledger *ledger, void *context, struct rondo_error *err)
{
    const struct releasing *releasing = context;
    int is_changed = 0;
    size_t kept = 0;
    (void)err;
    for (size_t i = 0; i < ledger->request_count; i++) {
        struct ledger_request request = ledger->requests[i];
        enum liveness liveness = liveness_of(releasing, &request);
        bool has_reserved = request.reserved.tokens > 0 || request.reserved.cost_micro > 0;
        if (liveness == REQUEST_ORPHANED && has_reserved) {
            request.reserved = (struct budget_amount){0};
            is_changed = 1;
        }
        if (liveness == REQUEST_OVER) {
            is_changed = 1;
        } else {
            ledger->requests[kept++] = request;
        }
    }
    ledger->request_count = kept;
    return is_changed;
}

int budget_release_dead(struct store *store, const char *agent_id, const struct clock *clock,
                        struct rondo_error *err)
{
    struct releasing releasing = {.store = store, .now = rules_now(clock)};
    host_boot(releasing.boot);
    return change_ledger(store, agent_id, release_dead, &releasing, err);
}

static int forget_used(struct budget_ledger *ledger, void *context, struct rondo_error *err)
{
    (void)context;
    (void)err;
    ledger->life = (struct budget_amount){0};
    ledger->day_count = 0;
    memset(ledger->warned, 0, sizeof(ledger->warned));
    return 1;
}

int budget_reset(struct store *store, const char *agent_id, struct rondo_error *err)
{
    uint64_t version = 0;
    struct budget_ledger *ledger = memory_new(sizeof(*ledger));
    int r = budget_load(store, agent_id, ledger, &version, err);
    free(ledger);
    if (r == 0 && version == 0) {
        r = error_set(err, RONDO_ERR_NOT_FOUND, "no role %s has used a budget", agent_id);
    }
    r = r < 0 ? r : change_ledger(store, agent_id, forget_used, NULL, err);
    return r < 0 ? r : 0;
}

struct listing {
    struct budget_ledger *ledger;
    budget_list_fn *fn;
    void *context;
    int code;
    struct rondo_error *err;
};

static bool list_document(const struct store_document *document, void *context)
{
    struct listing *listing = context;
    listing->code = ledger_read(document->data, document->data_len, listing->ledger, listing->err);
    if (listing->code < 0) {
        error_prefix(listing->err, "the budgets of %s", document->key);
        return false;
    }
    return listing->fn(document->key, listing->ledger, listing->context);
}

int budget_list(struct store *store, budget_list_fn *fn, void *context, struct rondo_error *err)
{
    struct store_document_query query = {.collection = BUDGET_COLLECTION};
    struct listing listing = {.ledger = memory_new(sizeof(struct budget_ledger)),
                              .fn = fn,
                              .context = context,
                              .err = err};
    int r = store->ops->read_documents(store, &query, list_document, &listing, err);
    free(listing.ledger);
    return r < 0 ? r : listing.code;
}
