// SPDX-License-Identifier: Apache-2.0
/*
 * The ledger of one agent: what all its runs have used, by day and in its life, and what requests
 * under way may still use. A request is entered before it is made, with an upper estimate
 * (reserve), and replaced by what it used when its reply is recorded (settle). Both happen in the
 * transaction that stores the run's own events, so that a request is counted once, whatever is
 * killed when.
 *
 * A request may begin while something is left that nobody has reserved. So all runs together go
 * over a limit by less than one request, as far as the estimates are right.
 *
 * The document is JSON with a version. Pure; any thread.
 */
#pragma once

#include "base/buf.h"
#include "base/id.h"
#include "base/limits.h"
#include "rondo/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What is limited. Rows of budget_kinds. */
enum budget_kind {
    BUDGET_DAY_TOKENS = 0,
    BUDGET_LIFE_TOKENS,
    BUDGET_DAY_COST,
    BUDGET_WEEK_COST,
    BUDGET_LIFE_COST,
    BUDGET_KIND_COUNT
};

enum budget_period { BUDGET_DAY = 0, BUDGET_WEEK, BUDGET_LIFE };

struct budget_kind_row {
    const char *name; /**< the field of spec.guardrails */
    enum budget_period period;
    bool is_cost;
};

/** By enum budget_kind. */
extern const struct budget_kind_row budget_kinds[BUDGET_KIND_COUNT];

/** Whether a limit with that name is a budget of cost. */
bool budget_is_cost(const char *limit_name);

struct budget_amount {
    int64_t tokens;
    int64_t cost_micro; /**< millionths of a dollar */
};

/** Tokens or millionths of a dollar; 0 = no limit. */
struct budget_limits {
    int64_t limits[BUDGET_KIND_COUNT];
};

/** Bytes of the name of a zone, the NUL included. */
#define BUDGET_ZONE_SIZE 65

/** What a role says about budgets. */
struct budget_rules {
    struct budget_limits limits;
    char zone[BUDGET_ZONE_SIZE];
    bool is_refusing; /**< what comes when a budget is used up is refused, and does not wait */
};

/** Days that a ledger remembers; at least those of a week. */
#define LEDGER_DAYS 14

struct ledger_day {
    int64_t day; /**< from 1970-01-01, in the agent's zone */
    struct budget_amount used;
};

/** A request under way, of a run. */
struct ledger_request {
    char run_id[ID_SIZE];
    uint64_t epoch;                /**< of the run's owner that made it */
    uint64_t number;               /**< names the request within its run */
    int64_t day;                   /**< it counts for this one, whenever its reply comes */
    struct budget_amount reserved; /**< 0 once its process was found dead */
};

/** Value and period of a limit that was warned of. */
struct ledger_warned {
    int64_t limit; /**< 0 = none yet */
    int64_t begin; /**< first day of the period; 0 of a life */
};

struct budget_ledger {
    struct budget_amount life;
    struct ledger_day days[LEDGER_DAYS];
    size_t day_count;
    struct ledger_request requests[LIMIT_BUDGET_REQUESTS];
    size_t request_count;
    struct ledger_warned warned[BUDGET_KIND_COUNT];
    struct budget_rules rules; /**< what the role said when it was read last; for lists */
};

/** Read a document. @param data NULL = there is none yet: an empty ledger */
int ledger_read(const char *data, size_t len, struct budget_ledger *ret_ledger,
                struct rondo_error *err);
/** Append the document. */
void ledger_write(const struct budget_ledger *ledger, struct buf *ret_json);

enum budget_verdict {
    BUDGET_FREE = 0,  /**< a request may begin */
    BUDGET_RESERVED,  /**< what is left is reserved by requests under way */
    BUDGET_EXHAUSTED, /**< used up */
};

/** Whether a request may begin, and the limit that decided. */
struct budget_standing {
    enum budget_verdict verdict;
    enum budget_kind kind; /**< not BUDGET_FREE: of the limit */
    int64_t limit;
    int64_t used;
};

/** Used in the period that contains `day`. */
int64_t ledger_used(const struct budget_ledger *ledger, enum budget_kind kind, int64_t day);
/** Reserved in it. @param but_run_id but for this run; NULL = by all */
int64_t ledger_reserved(const struct budget_ledger *ledger, enum budget_kind kind, int64_t day,
                        const char *but_run_id);
/** @param run_id that asks: what it has reserved itself does not count; or NULL */
struct budget_standing ledger_standing(const struct budget_ledger *ledger,
                                       const struct budget_limits *limits, int64_t day,
                                       const char *run_id);

/** Enter a request in place of what its run has entered before, if there is room in the budgets. */
enum budget_verdict ledger_reserve(struct budget_ledger *ledger, const struct budget_limits *limits,
                                   const struct ledger_request *request);
/** Replace a request by what it used. One that is not there was settled before. */
void ledger_settle(struct budget_ledger *ledger, const char *run_id, uint64_t number,
                   struct budget_amount used);
/** Count what was used on a day. */
void ledger_add(struct budget_ledger *ledger, int64_t day, struct budget_amount used);

/** Whether a limit is used up to 80 %. */
bool ledger_is_nearly_used(const struct budget_ledger *ledger, const struct budget_limits *limits,
                           enum budget_kind kind, int64_t day);
/**
 * Whether a limit is used up to 80 %, or will be with `more`, and was not warned of in this period.
 */
bool ledger_is_near(const struct budget_ledger *ledger, const struct budget_limits *limits,
                    enum budget_kind kind, int64_t day, struct budget_amount more);
/** Note that it was. */
void ledger_note_warned(struct budget_ledger *ledger, const struct budget_limits *limits,
                        enum budget_kind kind, int64_t day);
