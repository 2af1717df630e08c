// SPDX-License-Identifier: Apache-2.0
/* The forge and the git server: what is true, whoever believes otherwise. */
#include "sim_issues.h"

#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

unsigned sim_label(enum item_state state)
{
    bool has_label = state != ITEM_CANCELLED && state != ITEM_FENCED;
    return has_label ? 1U << state : 0;
}

struct sim_pull *sim_find_pull(struct sim_issue *issue, int64_t number)
{
    for (size_t i = 0; i < issue->pull_count; i++) {
        if (issue->pulls[i].number == number) {
            return &issue->pulls[i];
        }
    }
    return NULL;
}

struct sim_pull *sim_open_pull(struct sim_issue *issue)
{
    for (size_t i = issue->pull_count; i-- > 0;) {
        enum pull_fact state = issue->pulls[i].state;
        if (state == PULL_OPEN || state == PULL_WANTS_CHANGES) {
            return &issue->pulls[i];
        }
    }
    return NULL;
}

enum claim_fact sim_judge_claim(const struct sim_issue *issue, const char *nonce)
{
    struct claim claim = {0};
    if (issue->claim == NULL) {
        return CLAIM_ABSENT;
    }
    bool is_ours = claim_decode(issue->number, issue->claim, &claim, NULL) == 0 &&
                   strcmp(claim.nonce, nonce) == 0;
    claim_fini(&claim);
    return is_ours ? CLAIM_OURS : CLAIM_FOREIGN;
}

void sim_check_owner(const struct sim *sim, const struct sim_issue *issue, const char *nonce)
{
    /* A person who deletes a claim lets two have it for the instant between a look and an effect.
     */
    bool is_excused = issue->deleted_ns != 0 && sim->now_ns - issue->deleted_ns < 2 * SIM_PROOF_NS;
    SIM_CHECK(sim, is_excused || sim_judge_claim(issue, nonce) != CLAIM_FOREIGN,
              "#%" PRId64 " is written to by one who was fenced", issue->number);
}

void sim_check_wanted(const struct sim *sim, const struct sim_issue *issue)
{
    SIM_CHECK(sim, issue->unwanted_ns == 0 || sim->now_ns - issue->unwanted_ns <= SIM_PROOF_NS,
              "#%" PRId64 " gets a pull request that nobody wants", issue->number);
}

/* ---- Claims --------------------------------------------------------------------------------- */

/** Whether a branch moves forward only. */
static bool is_forward(const struct sim *sim, int from, int to)
{
    while (to != 0 && to != from) {
        to = sim->parents[to];
    }
    return from == 0 || to == from;
}

/** Only a worker that a person asks takes an issue that a person has released. */
static void check_release(struct sim *sim, struct sim_issue *issue, const char *text)
{
    struct claim claim = {0};
    bool is_claim = text != NULL && claim_decode(issue->number, text, &claim, NULL) == 0;
    int64_t until_ns = claim.released_until_ns;
    claim_fini(&claim);
    /* Clocks do not differ here; an effect follows a look, though. */
    SIM_CHECK(sim, !is_claim || until_ns > 0 || sim->now_ns >= issue->released_until_ns,
              "#%" PRId64 " is taken though a person has released it", issue->number);
    if (until_ns > 0) {
        issue->released_until_ns = until_ns;
        sim->seen->released++;
    }
}

static bool apply(struct sim *sim, struct sim_issue *issue, const char *old_id, const char *text,
                  int commit)
{
    const char *id = issue->claim == NULL ? "" : issue->claim_id;
    if (strcmp(id, old_id) != 0 || (commit != 0 && !is_forward(sim, issue->branch, commit))) {
        return false;
    }
    check_release(sim, issue, text);
    free(issue->claim);
    issue->claim = memory_dup_string(text);
    snprintf(issue->claim_id, sizeof(issue->claim_id), "%" PRId64, ++sim->next_id);
    issue->branch = commit != 0 ? commit : issue->branch;
    return true;
}

static void delay(struct sim *sim, struct sim_issue *issue, const char *old_id, const char *text)
{
    for (size_t i = 0; i < SIM_LATE; i++) {
        struct sim_late *late = &sim->late[i];
        if (late->due_ns == 0) {
            *late = (struct sim_late){.issue = issue, .claim = memory_dup_string(text)};
            snprintf(late->old_id, sizeof(late->old_id), "%s", old_id);
            late->due_ns = sim->now_ns + (int64_t)random_below(&sim->random, 20 * SIM_MINUTE);
            sim->seen->late++;
            return;
        }
    }
}

void sim_deliver_late(struct sim *sim)
{
    for (size_t i = 0; i < SIM_LATE; i++) {
        struct sim_late *late = &sim->late[i];
        if (late->due_ns != 0 && late->due_ns <= sim->now_ns) {
            if (apply(sim, late->issue, late->old_id, late->claim, 0)) {
                sim_say(sim, "#%" PRId64 " a late claim arrives", late->issue->number);
            }
            free(late->claim);
            *late = (struct sim_late){0};
        }
    }
}

enum sim_answer sim_change_claim(struct sim *sim, struct sim_issue *issue, const char *old_id,
                                 const char *text, int commit)
{
    bool happens = true;
    if (commit == 0 && sim_strikes(sim, 30)) {
        delay(sim, issue, old_id, text);
        return SIM_NETWORK;
    }
    enum sim_answer answer = sim_send(sim, &happens);
    bool is_applied = happens && apply(sim, issue, old_id, text, commit);
    return answer == SIM_NETWORK ? SIM_NETWORK : is_applied ? SIM_DONE : SIM_REFUSED;
}

enum sim_answer sim_send(struct sim *sim, bool *ret_happens)
{
    *ret_happens = true;
    if (sim_strikes(sim, 30)) {
        *ret_happens = false; /* It did not arrive. */
        return SIM_NETWORK;
    }
    sim->seen->effects++;
    if (sim_strikes(sim, 30)) {
        sim->seen->lost++; /* Its answer did not. */
        return SIM_NETWORK;
    }
    return SIM_DONE;
}
