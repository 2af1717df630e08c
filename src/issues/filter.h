// SPDX-License-Identifier: Apache-2.0
/* Which issues may be worked on, and in which order. Pure; any thread. */
#pragma once

#include "forge/forge.h"
#include "issues/item.h"

struct issue_filter {
    const char *const *labels;     /**< an issue needs all of them; at least one */
    const char *const *excluded;   /**< none of them; NULL = blocked, wontfix, hitl */
    const char *prefix;            /**< of the labels of states: "rondo:" */
    const char *login;             /**< ours: an issue assigned to us is free; NULL = none is */
    bool takes_assigned;           /**< also issues that are assigned to others */
    enum forge_trust least_trust;  /**< of the author, and of who set the label; FORGE_MEMBER */
    const char *const *priorities; /**< labels from the most urgent on; NULL = P0 to P9 */
    int64_t most_age_ns;           /**< since it was created; 0 = any */
};

/** Why an issue is not for us: for `--dry-run`. */
enum issue_verdict {
    ISSUE_ELIGIBLE = 0,
    ISSUE_CLOSED,
    ISSUE_IS_PULL,
    ISSUE_LOCKED,
    ISSUE_LABELS_MISSING,
    ISSUE_EXCLUDED,
    ISSUE_HAS_STATE,
    ISSUE_ASSIGNED,
    ISSUE_UNTRUSTED,
    ISSUE_TOO_OLD,
    ISSUE_BLOCKED_BY,
    ISSUE_COOLING,
    ISSUE_CLAIMED,
    ISSUE_RELEASED, /**< by a person, a short time ago */
    ISSUE_CROWDED,
    ISSUE_UNREADABLE,
    ISSUE_VERDICT_COUNT
};
/** "assigned to somebody else", for people. Static. */
const char *issue_verdict_text(enum issue_verdict verdict);

/** Whether it has a label, in whatever case. */
bool issue_has_label(const struct forge_issue *issue, const char *label);
/** Whether it has all labels of the filter; false when the filter has none. */
bool issue_has_labels(const struct issue_filter *filter, const struct forge_issue *issue);

/**
 * The next state that a label of it shows.
 * @param place 0 at first; the search continues from there
 */
bool issue_state_of(const struct forge_issue *issue, const char *prefix, size_t *place,
                    enum item_state *ret_state);

/** Whether somebody else is to do it, be it beside us. */
bool issue_is_others(const struct issue_filter *filter, const struct forge_issue *issue);

/** Judge by what the issue itself says: not blockers, claims, cool-downs. Labels are compared
 *  without case. */
enum issue_verdict issue_judge(const struct issue_filter *filter, const struct forge_issue *issue,
                               int64_t now_ns);

/** Sort: priority, then age (number). */
void issue_sort(const struct issue_filter *filter, struct forge_issues *issues);

/** Issues that could not be claimed or were skipped: they go to the back for a while. At most
 *  LIMIT_ISSUES_COOLING; of more, those that are free first are forgotten. NULL = none. */
struct issue_cooling;
void issue_cooling_add(struct issue_cooling **cooling, int64_t number, int64_t until_ns);
bool issue_cooling_has(const struct issue_cooling *cooling, int64_t number, int64_t now_ns);
void issue_cooling_free(struct issue_cooling *cooling);

/* ---- Rates ---- */

/**
 * How long to wait before the next poll: `base_ns`, doubled with each further poll that finds no
 * work, up to `most_ns`; up to 10 percent less by chance, but never less than the forge requires.
 * @param idle     polls without work in a row; the first one waits for `base_ns`
 * @param least_ns of the forge (x-poll-interval); 0 = none
 */
int64_t issue_poll_ns(uint64_t idle, int64_t base_ns, int64_t most_ns, int64_t least_ns,
                      struct random *random);

/** A sliding window: the last starts, in a ring. */
#define ISSUE_WINDOW_MOST 1000
struct issue_window {
    int64_t *times; /**< ISSUE_WINDOW_MOST; NULL before the first one. Owned */
    size_t count, next;
};
void issue_window_fini(struct issue_window *window);
/** When the next start is allowed, if at most `most` (1 to ISSUE_WINDOW_MOST; 0 = any number) are
 * in `span_ns`. `now_ns` or less = now. */
int64_t issue_window_next(const struct issue_window *window, size_t most, int64_t span_ns,
                          int64_t now_ns);
void issue_window_add(struct issue_window *window, int64_t now_ns);

/** A circuit: after `most` failures in a row it is open for a while (base doubled each time, up to
 *  64 times); then tries are let through, and the first that fails opens it again. */
struct issue_circuit {
    uint64_t failures;
    int64_t open_until_ns;
};
bool issue_circuit_lets(const struct issue_circuit *circuit, int64_t now_ns);
void issue_circuit_failed(struct issue_circuit *circuit, uint64_t most, int64_t base_ns,
                          int64_t now_ns);
void issue_circuit_worked(struct issue_circuit *circuit);
