// SPDX-License-Identifier: Apache-2.0
/* Which issue is next, and when. */
#include "issues/filter.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/limits.h"
#include "base/memory.h"
#include "issues/item.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const default_excluded[] = {"blocked", "wontfix", "hitl", NULL};
static const char *const default_priorities[] = {"P0", "P1", "P2", "P3", "P4", "P5",
                                                 "P6", "P7", "P8", "P9", NULL};

const char *issue_verdict_text(enum issue_verdict verdict)
{
    static const char *const texts[ISSUE_VERDICT_COUNT] = {
        [ISSUE_ELIGIBLE] = "can be worked on",
        [ISSUE_CLOSED] = "closed",
        [ISSUE_IS_PULL] = "a pull request",
        [ISSUE_LOCKED] = "locked",
        [ISSUE_LABELS_MISSING] = "does not have the labels",
        [ISSUE_EXCLUDED] = "has a label that excludes it",
        [ISSUE_HAS_STATE] = "has a label that shows a state of the work",
        [ISSUE_ASSIGNED] = "assigned to somebody else",
        [ISSUE_UNTRUSTED] =
            "its author, or the person who put the label on it, is not trusted (--trust)",
        [ISSUE_TOO_OLD] = "too old",
        [ISSUE_BLOCKED_BY] = "blocked by another open issue",
        [ISSUE_COOLING] = "could not be claimed a short time ago",
        [ISSUE_CLAIMED] = "claimed by somebody else",
        [ISSUE_RELEASED] = "released by a person",
        [ISSUE_CROWDED] = "has too many comments to determine who has claimed it",
        [ISSUE_UNREADABLE] = "its work item in the store cannot be read",
    };
    return texts[verdict];
}

/* ---- Judging -------------------------------------------------------------------------------- */

/** ASCII letters without case, whatever the locale. */
static bool is_same_label(const char *a, const char *b)
{
    while (*a != '\0' && ascii_lower(*a) == ascii_lower(*b)) {
        a++;
        b++;
    }
    return *a == *b;
}

static bool has_label(char *const *labels, const char *label)
{
    for (size_t i = 0; labels != NULL && labels[i] != NULL; i++) {
        if (is_same_label(labels[i], label)) {
            return true;
        }
    }
    return false;
}

bool issue_has_label(const struct forge_issue *issue, const char *label)
{
    return has_label(issue->labels, label);
}

/** The state whose label this is: as item_state_from_name(), but in whatever case. */
static bool is_state_label(const char *label, const char *prefix, enum item_state *ret_state)
{
    size_t len = strlen(prefix);
    auto_free char *front = memory_dup_bytes(label, strnlen(label, len));
    for (enum item_state i = ITEM_ASSIGNED; is_same_label(front, prefix) && i < ITEM_STATE_COUNT;
         i++) {
        if (is_same_label(label + len, item_state_name(i))) {
            *ret_state = i;
            return true;
        }
    }
    return false;
}

bool issue_state_of(const struct forge_issue *issue, const char *prefix, size_t *place,
                    enum item_state *ret_state)
{
    while (issue->labels != NULL && issue->labels[*place] != NULL) {
        if (is_state_label(issue->labels[(*place)++], prefix, ret_state)) {
            return true;
        }
    }
    return false;
}

bool issue_has_labels(const struct issue_filter *filter, const struct forge_issue *issue)
{
    for (size_t i = 0; filter->labels[i] != NULL; i++) {
        if (!issue_has_label(issue, filter->labels[i])) {
            return false;
        }
    }
    return filter->labels[0] != NULL; /* Without a label nobody has asked for anything. */
}

static bool has_any(char *const *labels, const char *const *unwanted)
{
    for (size_t i = 0; unwanted[i] != NULL; i++) {
        if (has_label(labels, unwanted[i])) {
            return true;
        }
    }
    return false;
}

static bool has_state(const struct forge_issue *issue, const char *prefix)
{
    enum item_state state;
    size_t place = 0;
    return issue_state_of(issue, prefix, &place, &state);
}

/** Logins are compared without case, as forges do. */
bool issue_is_others(const struct issue_filter *filter, const struct forge_issue *issue)
{
    char *const *assignees = issue->assignees;
    for (size_t i = 0; !filter->takes_assigned && assignees != NULL && assignees[i] != NULL; i++) {
        if (filter->login == NULL || !is_same_label(assignees[i], filter->login)) {
            return true;
        }
    }
    return false;
}

static bool is_too_old(const struct issue_filter *filter, const struct forge_issue *issue,
                       int64_t now_ns)
{
    return filter->most_age_ns > 0 && issue->created_ns < now_ns - filter->most_age_ns;
}

enum issue_verdict issue_judge(const struct issue_filter *filter, const struct forge_issue *issue,
                               int64_t now_ns)
{
    const char *const *excluded = filter->excluded != NULL ? filter->excluded : default_excluded;
    const struct {
        bool is_so;
        enum issue_verdict verdict;
    } rows[] = {
        {!issue->is_open, ISSUE_CLOSED},
        {issue->is_pull, ISSUE_IS_PULL},
        {issue->is_locked, ISSUE_LOCKED},
        {!issue_has_labels(filter, issue), ISSUE_LABELS_MISSING},
        {has_any(issue->labels, excluded), ISSUE_EXCLUDED},
        /* Before the state, which may be that of a worker that is gone: whatever labels it has, a
         * stranger's issue starts no work. */
        {issue->author_trust < filter->least_trust, ISSUE_UNTRUSTED},
        {has_state(issue, filter->prefix), ISSUE_HAS_STATE},
        {issue_is_others(filter, issue), ISSUE_ASSIGNED},
        {is_too_old(filter, issue, now_ns), ISSUE_TOO_OLD},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].is_so) {
            return rows[i].verdict;
        }
    }
    return ISSUE_ELIGIBLE;
}

/* ---- Order ---------------------------------------------------------------------------------- */

struct ranked {
    struct forge_issue issue;
    size_t rank; /* the most urgent label that it has; without one it is the last */
};

static size_t find_rank(const char *const *priorities, char *const *labels)
{
    size_t rank = 0;
    while (priorities[rank] != NULL && !has_label(labels, priorities[rank])) {
        rank++;
    }
    return rank;
}

static int compare_ranked(const void *left, const void *right)
{
    const struct ranked *a = left;
    const struct ranked *b = right;
    if (a->rank != b->rank) {
        return a->rank < b->rank ? -1 : 1;
    }
    return (a->issue.number > b->issue.number) - (a->issue.number < b->issue.number);
}

void issue_sort(const struct issue_filter *filter, struct forge_issues *issues)
{
    const char *const *priorities =
        filter->priorities != NULL ? filter->priorities : default_priorities;
    if (issues->count == 0) {
        return;
    }
    struct ranked *ranked = memory_new_zero(issues->count, sizeof(*ranked));
    for (size_t i = 0; i < issues->count; i++) {
        ranked[i] = (struct ranked){.issue = issues->items[i],
                                    .rank = find_rank(priorities, issues->items[i].labels)};
    }
    qsort(ranked, issues->count, sizeof(*ranked), compare_ranked);
    for (size_t i = 0; i < issues->count; i++) {
        issues->items[i] = ranked[i].issue;
    }
    free(ranked);
}

/* ---- Cool-down ------------------------------------------------------------------------------ */

struct cooling_issue {
    int64_t number;
    int64_t until_ns;
};

/** Ordered by the time at which they are free: those that come first are dropped first. */
struct issue_cooling {
    struct cooling_issue *items;
    size_t count;
};

static void remove_at(struct issue_cooling *cooling, size_t at)
{
    cooling->count--;
    memmove(cooling->items + at, cooling->items + at + 1,
            (cooling->count - at) * sizeof(*cooling->items));
}

static void remove_number(struct issue_cooling *cooling, int64_t number)
{
    for (size_t i = 0; i < cooling->count; i++) {
        if (cooling->items[i].number == number) {
            remove_at(cooling, i);
            return;
        }
    }
}

void issue_cooling_add(struct issue_cooling **slot, int64_t number, int64_t until_ns)
{
    if (*slot == NULL) {
        *slot = memory_new_zero(1, sizeof(**slot));
        (*slot)->items = memory_new_zero(LIMIT_ISSUES_COOLING, sizeof(*(*slot)->items));
    }
    struct issue_cooling *cooling = *slot;
    remove_number(cooling, number);
    if (cooling->count == LIMIT_ISSUES_COOLING) {
        remove_at(cooling, 0);
    }
    size_t at = cooling->count;
    while (at > 0 && cooling->items[at - 1].until_ns > until_ns) {
        cooling->items[at] = cooling->items[at - 1];
        at--;
    }
    cooling->items[at] = (struct cooling_issue){.number = number, .until_ns = until_ns};
    cooling->count++;
}

bool issue_cooling_has(const struct issue_cooling *cooling, int64_t number, int64_t now_ns)
{
    for (size_t i = cooling == NULL ? 0 : cooling->count; i-- > 0;) {
        if (cooling->items[i].until_ns <= now_ns) {
            return false;
        }
        if (cooling->items[i].number == number) {
            return true;
        }
    }
    return false;
}

void issue_cooling_free(struct issue_cooling *cooling)
{
    if (cooling != NULL) {
        free(cooling->items);
        free(cooling);
    }
}

/* ---- Rates ---------------------------------------------------------------------------------- */

static int64_t largest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/** `base_ns` doubled `times` times, at most `most_ns`. */
static int64_t doubled(int64_t base_ns, uint64_t times, int64_t most_ns)
{
    int64_t ns = base_ns;
    for (uint64_t i = 0; i < times && ns < most_ns; i++) {
        ns = ns > most_ns / 2 ? most_ns : ns * 2;
    }
    return ns < most_ns ? ns : most_ns;
}

int64_t issue_poll_ns(uint64_t idle, int64_t base_ns, int64_t most_ns, int64_t least_ns,
                      struct random *random)
{
    int64_t ns = doubled(base_ns, idle == 0 ? 0 : idle - 1, most_ns);
    int64_t jitter = ns / 10 > 0 ? (int64_t)random_below(random, (uint64_t)(ns / 10)) : 0;
    return largest(ns - jitter, least_ns);
}

int64_t issue_window_next(const struct issue_window *window, size_t most, int64_t span_ns,
                          int64_t now_ns)
{
    assert(most <= ISSUE_WINDOW_MOST);
    if (most == 0 || window->count < most) {
        return now_ns;
    }
    /* The start that has to leave the window: `most` before the next one. */
    size_t at = (window->next + ISSUE_WINDOW_MOST - most) % ISSUE_WINDOW_MOST;
    int64_t start_ns = window->times[at];
    /* A clock that was set back must not block for longer than the window is wide. */
    return (start_ns < now_ns ? start_ns : now_ns) + span_ns;
}

void issue_window_fini(struct issue_window *window)
{
    free(window->times);
    *window = (struct issue_window){0};
}

void issue_window_add(struct issue_window *window, int64_t now_ns)
{
    if (window->times == NULL) {
        window->times = memory_new_zero(ISSUE_WINDOW_MOST, sizeof(*window->times));
    }
    window->times[window->next] = now_ns;
    window->next = (window->next + 1) % ISSUE_WINDOW_MOST;
    window->count += window->count < ISSUE_WINDOW_MOST ? 1 : 0;
}

bool issue_circuit_lets(const struct issue_circuit *circuit, int64_t now_ns)
{
    return now_ns >= circuit->open_until_ns;
}

void issue_circuit_failed(struct issue_circuit *circuit, uint64_t most, int64_t base_ns,
                          int64_t now_ns)
{
    if (!issue_circuit_lets(circuit, now_ns)) {
        return; /* It began before the circuit opened. */
    }
    circuit->failures++;
    if (circuit->failures >= most) {
        circuit->open_until_ns = now_ns + doubled(base_ns, circuit->failures - most, 64 * base_ns);
    }
}

void issue_circuit_worked(struct issue_circuit *circuit)
{
    *circuit = (struct issue_circuit){0};
}
