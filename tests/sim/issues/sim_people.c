// SPDX-License-Identifier: Apache-2.0
/* What people do at any time. */
#include "sim_issues.h"

#include <inttypes.h>
#include <stdlib.h>

/** People gave a reason to begin anew: counters of promises do so, too. */
static void ask_anew(struct sim_issue *issue)
{
    issue->asked++;
    issue->runs = 0;
}

static void comment(struct sim *sim, struct sim_issue *issue, enum item_command command)
{
    issue->command = command;
    issue->command_id = ++sim->next_id;
    if (command == ITEM_COMMAND_RETRY) {
        issue->released_until_ns = 0;
    }
}

static void decide_pull(struct sim *sim, struct sim_issue *issue)
{
    struct sim_pull *pull = sim_open_pull(issue);
    if (pull == NULL) {
        return;
    }
    switch (sim_below(sim, 4)) {
    case 0:
        pull->state = PULL_CLOSED;
        issue->closed++;
        break;
    case 1:
        pull->state = PULL_WANTS_CHANGES;
        break;
    default:
        pull->state = PULL_MERGED;
        issue->is_open = false; /* "Closes #N" */
        sim->seen->merged++;
        break;
    }
}

static void meddle_labels(struct sim *sim, struct sim_issue *issue)
{
    unsigned label = sim_label((enum item_state)sim_below(sim, ITEM_STATE_COUNT));
    if (sim_below(sim, 3) == 0) {
        issue->labels |= label;
    } else {
        issue->labels &= ~(sim_label(ITEM_BLOCKED) | sim_label(ITEM_NEEDS_HUMAN) | label);
    }
}

static void delete_claim(struct sim *sim, struct sim_issue *issue)
{
    free(issue->claim);
    issue->claim = NULL;
    issue->released_until_ns = 0;
    issue->deleted_ns = sim->now_ns;
}

/* long: one case a deed */
void sim_people_act(struct sim *sim)
{
    struct sim_issue *issue = &sim->issues[sim_below(sim, SIM_ISSUES)];
    unsigned deed = sim_below(sim, 24);
    sim->seen->people++;
    sim_say(sim, "#%" PRId64 " a person does %u", issue->number, deed);
    switch (deed) {
    case 0:
        issue->is_open = false;
        break;
    case 1:
    case 2:
        issue->is_open = true;
        break;
    case 3:
        issue->is_labelled = false;
        break;
    case 4:
    case 5:
        issue->is_labelled = true;
        break;
    case 6:
        issue->is_away = true;
        break;
    case 7:
    case 8:
        issue->is_away = false;
        break;
    case 9:
        issue->content++;
        break;
    case 10:
    case 11:
        meddle_labels(sim, issue);
        break;
    case 12:
    case 13:
        comment(sim, issue, ITEM_COMMAND_RETRY);
        break;
    case 14:
        comment(sim, issue, ITEM_COMMAND_RELEASE);
        break;
    case 15:
        delete_claim(sim, issue);
        break;
    case 16:
        issue->is_gone = issue->is_gone || sim_below(sim, 4) == 0;
        break;
    default:
        decide_pull(sim, issue);
        return;
    }
    ask_anew(issue);
    bool is_wanted = issue->is_open && issue->is_labelled && !issue->is_away && !issue->is_gone;
    int64_t since_ns = issue->unwanted_ns == 0 ? sim->now_ns : issue->unwanted_ns;
    issue->unwanted_ns = is_wanted ? 0 : since_ns;
}
