// SPDX-License-Identifier: Apache-2.0
/*
 * The probe for expressions that run away: they are searched, by plain backtracking, in 100 times
 * 'a' and one '!', with a number of steps after which no search of a sane expression still goes on.
 * What the probe cannot judge counts as sane.
 */
#include "role/pattern.h"

#define TEXT_LEN 101
/** About what Python does in a second or two. */
#define MAX_STEPS 20000000
/** Nesting of calls; only long expressions come near it. */
#define MAX_DEPTH 3000

/** What comes when a sequence has matched. */
struct rest {
    const struct pattern_node *node; /**< to go on with; of a repetition, itself */
    const struct rest *outer;
    bool is_repeat;
    uint32_t count; /**< repetitions so far */
    int from;       /**< where the last one began */
};

struct probe {
    uint32_t steps;
    uint32_t most; /**< steps after which the probe gives up */
    unsigned depth;
    bool is_over;    /**< too many steps */
    bool is_unknown; /**< cannot be judged */
    int end;         /**< where the last match of a whole ended */
};

static bool match(struct probe *probe, const struct pattern_node *node, int at,
                  const struct rest *rest);

static bool takes(const struct pattern_node *node, int at)
{
    return at < TEXT_LEN && (at == TEXT_LEN - 1 ? node->takes_mark : node->takes_a);
}

/** A boundary of words is before the first character and before the '!'. */
static bool holds(const struct pattern_node *node, int at)
{
    if (node->kind == PATTERN_START) {
        return at == 0;
    }
    if (node->kind == PATTERN_END) {
        return at == TEXT_LEN;
    }
    bool is_boundary = at == 0 || at == TEXT_LEN - 1;
    return is_boundary != node->is_negative;
}

/** Match a sequence by itself. @return whether it does; probe->end says up to where */
static bool match_alone(struct probe *probe, const struct pattern_node *node, int at)
{
    return match(probe, node, at, NULL);
}

static bool match_look(struct probe *probe, const struct pattern_node *node, int at)
{
    int from = node->is_behind ? at - (int)node->low : at;
    bool is_met = from >= 0 && match_alone(probe, node->child, from);
    return is_met != node->is_negative;
}

static bool match_repeat(struct probe *probe, const struct pattern_node *node, int at,
                         const struct rest *state)
{
    struct rest once_more = {
        .node = node,
        .outer = state->outer,
        .is_repeat = true,
        .count = state->count + 1,
        .from = at,
    };
    bool is_enough = state->count >= node->low;
    bool may_repeat = state->count < node->high && !(is_enough && state->from == at);
    if (is_enough && node->is_lazy && match(probe, node->next, at, state->outer)) {
        return true;
    }
    if (may_repeat && match(probe, node->child, at, &once_more)) {
        return true;
    }
    return is_enough && !node->is_lazy && match(probe, node->next, at, state->outer);
}

/** Whether what follows can begin at a place, as far as one look tells. */
static bool may_follow(const struct pattern_node *next, int at)
{
    return next == NULL || next->kind != PATTERN_ONE || takes(next, at);
}

/** Repetitions of one character, which need no calls of their own; Python has them fast, too. */
static bool match_run(struct probe *probe, const struct pattern_node *node, int at,
                      const struct rest *rest)
{
    int most = 0;
    while ((uint32_t)most < node->high && takes(node->child, at + most)) {
        most++;
    }
    int low = node->low > TEXT_LEN ? TEXT_LEN + 1 : (int)node->low;
    for (int i = low; i <= most; i++) {
        int count = node->is_lazy ? i : most - (i - low);
        if (may_follow(node->next, at + count) && match(probe, node->next, at + count, rest)) {
            return true;
        }
    }
    return false;
}

static bool match_branches(struct probe *probe, const struct pattern_node *node, int at,
                           const struct rest *rest)
{
    struct rest behind = {.node = node->next, .outer = rest};
    for (const struct pattern_node *branch = node->child; branch != NULL; branch = branch->next) {
        if (match(probe, branch->child, at, &behind)) {
            return true;
        }
    }
    return false;
}

/** What follows a sequence that has matched. */
static bool match_rest(struct probe *probe, int at, const struct rest *rest)
{
    if (rest == NULL) {
        probe->end = at;
        return true;
    }
    if (rest->is_repeat) {
        return match_repeat(probe, rest->node, at, rest);
    }
    return match(probe, rest->node, at, rest->outer);
}

/** Nodes that hold others. */
static bool match_inner(struct probe *probe, const struct pattern_node *node, int at,
                        const struct rest *rest)
{
    struct rest behind = {.node = node->next, .outer = rest};
    switch (node->kind) {
    case PATTERN_GROUP:
        return match(probe, node->child, at, &behind);
    case PATTERN_BRANCH:
        return match_branches(probe, node, at, rest);
    case PATTERN_REPEAT: {
        if (node->child->kind == PATTERN_ONE) {
            return match_run(probe, node, at, rest);
        }
        struct rest state = {.outer = rest, .from = -1};
        return match_repeat(probe, node, at, &state);
    }
    case PATTERN_ATOMIC:
        return match_alone(probe, node->child, at) && match(probe, node->next, probe->end, rest);
    case PATTERN_LOOK:
        return match_look(probe, node, at) && match(probe, node->next, at, rest);
    case PATTERN_UNKNOWN:
        probe->is_unknown = true;
        return true;
    case PATTERN_ONE:
    case PATTERN_START:
    case PATTERN_END:
    case PATTERN_BOUNDARY:
        break;
    }
    return false;
}

/** Whatever ends the probe looks like a match, so that nothing else is tried. */
static bool match(struct probe *probe, const struct pattern_node *node, int at,
                  const struct rest *rest)
{
    probe->steps++;
    probe->is_over = probe->is_over || probe->steps > probe->most;
    probe->is_unknown = probe->is_unknown || probe->depth > MAX_DEPTH;
    if (probe->is_over || probe->is_unknown) {
        return true;
    }
    for (; node != NULL && node->kind <= PATTERN_BOUNDARY; node = node->next) {
        bool is_one = node->kind == PATTERN_ONE;
        if (is_one ? !takes(node, at) : !holds(node, at)) {
            return false;
        }
        at += is_one ? 1 : 0;
    }
    probe->depth++;
    bool is_match = node == NULL ? match_rest(probe, at, rest) : match_inner(probe, node, at, rest);
    probe->depth--;
    return is_match;
}

bool pattern_runs_away(const struct pattern_node *root, uint32_t *steps_left)
{
    struct probe probe = {.most = *steps_left < MAX_STEPS ? *steps_left : MAX_STEPS};
    for (int at = 0; at <= TEXT_LEN; at++) {
        if (match_alone(&probe, root, at)) {
            break;
        }
    }
    *steps_left -= probe.steps < probe.most ? probe.steps : probe.most;
    return probe.is_over && !probe.is_unknown && probe.most == MAX_STEPS;
}
