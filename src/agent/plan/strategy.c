// SPDX-License-Identifier: Apache-2.0
/* Reasoning strategies: from a role to the words of prompts. */
#include "agent/plan/strategy.h"

#include "agent/plan/plan.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "role/role.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#define REFLECTION  "REFLECTION ("
#define USUAL_ITEMS 30

static const struct {
    const char *name;
    const char *prompt;
} usual_dimensions[] = {
    {"correctness", "Is everything that you did and claim right? Check it again, do not assume."},
    {"completeness", "Is anything of the task missing, or done only in part?"},
    {"clarity", "Is the result clear to somebody who has not seen how it was made?"},
};
#define USUAL_COUNT (sizeof(usual_dimensions) / sizeof(usual_dimensions[0]))

/* ---- From the role --------------------------------------------------------------------------- */

static void read_todo(const struct role *role, struct strategy *strategy)
{
    strategy->max_items = USUAL_ITEMS;
    for (size_t i = 0; i < json_length(role->tools); i++) {
        struct json_object *tool = json_object_array_get_idx(role->tools, i);
        if (strcmp(json_get_string(tool, "type", ""), "todo") == 0) {
            int64_t most = json_get_int(tool, "max_items", USUAL_ITEMS);
            strategy->has_todo = true;
            strategy->max_items = most < 1 || most > 100 ? USUAL_ITEMS : (size_t)most;
        }
    }
}

static const char *usual_prompt(const char *name)
{
    for (size_t i = 0; i < USUAL_COUNT; i++) {
        if (strcmp(usual_dimensions[i].name, name) == 0) {
            return usual_dimensions[i].prompt;
        }
    }
    return "Review the result with regard to this.";
}

static void add_dimension(struct strategy *strategy, const char *name, const char *prompt)
{
    strategy->dimensions = memory_resize(strategy->dimensions, strategy->dimension_count + 1,
                                         sizeof(*strategy->dimensions));
    strategy->dimensions[strategy->dimension_count++] = (struct strategy_dimension){
        .name = memory_dup_string(name),
        .prompt = memory_dup_string(prompt[0] != '\0' ? prompt : usual_prompt(name)),
    };
}

static void read_reflection(struct json_object *reasoning, struct strategy *strategy)
{
    struct json_object *list = json_member(reasoning, "reflection_dimensions");
    int64_t rounds = json_get_int(reasoning, "reflection_rounds", 0);
    for (size_t i = 0; i < json_length(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        add_dimension(strategy, json_get_string(item, "name", ""),
                      json_get_string(item, "prompt", ""));
    }
    strategy->rounds = rounds > 0 ? (size_t)rounds : strategy->dimension_count;
    for (size_t i = 0; i < USUAL_COUNT && json_length(list) == 0; i++) {
        add_dimension(strategy, usual_dimensions[i].name, "");
    }
}

static void read_criteria(struct json_object *reasoning, struct strategy *strategy)
{
    struct buf text = {0};
    struct json_object *list = json_member(reasoning, "success_criteria");
    for (size_t i = 0; i < json_length(list); i++) {
        buf_printf(&text, "\n- %s", json_object_get_string(json_object_array_get_idx(list, i)));
    }
    strategy->criteria = memory_dup_string(buf_string(&text));
    buf_fini(&text);
}

static enum strategy_pattern pattern_of(struct json_object *reasoning)
{
    static const char *const names[] = {"react", "todo_driven", "plan_execute", "reflexion"};
    const char *name = json_get_string(reasoning, "pattern", "react");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i], name) == 0) {
            return (enum strategy_pattern)i;
        }
    }
    return STRATEGY_REACT;
}

void strategy_read(const struct role *role, struct strategy *ret_strategy)
{
    struct json_object *reasoning = json_member(json_member(role->normal, "spec"), "reasoning");
    struct strategy strategy = {0};
    struct json_object *empty = json_object_new_object();
    struct json_object *from = reasoning == NULL ? empty : reasoning;
    strategy.pattern = pattern_of(from);
    strategy.plans_first = json_get_bool(from, "auto_plan", false);
    read_todo(role, &strategy);
    read_reflection(from, &strategy);
    read_criteria(from, &strategy);
    if (strategy.pattern == STRATEGY_REACT && json_get_bool(from, "auto_detect", true)) {
        bool is_list = strategy.has_todo && role->autonomy.is_given;
        strategy.pattern = strategy.rounds > 0 ? STRATEGY_REFLEXION
                           : is_list           ? STRATEGY_TODO_DRIVEN
                                               : STRATEGY_REACT;
    }
    if (strategy.pattern != STRATEGY_REFLEXION) {
        strategy.rounds = 0;
    }
    json_object_put(empty);
    *ret_strategy = strategy;
}

void strategy_fini(struct strategy *strategy)
{
    for (size_t i = 0; i < strategy->dimension_count; i++) {
        free(strategy->dimensions[i].name);
        free(strategy->dimensions[i].prompt);
    }
    free(strategy->dimensions);
    free(strategy->criteria);
    *strategy = (struct strategy){0};
}

/* ---- Words ----------------------------------------------------------------------------------- */

/** Whether the agent makes its list and has not called finalize_plan. */
static bool strategy_is_planning(const struct strategy *strategy, const struct plan *plan)
{
    return strategy->pattern == STRATEGY_PLAN_EXECUTE &&
           (plan->count == 0 || !plan->steps[0].is_final);
}

static const char planning[] =
    "PHASE 1 - PLANNING\n"
    "Do not begin with the work yet. Make the list of what has to be done: use batch_add_todos, "
    "with priorities and with what each item waits for. Then call finalize_plan.";

void strategy_write_first(const struct strategy *strategy, const struct plan *plan,
                          struct buf *ret_text)
{
    if (strategy_is_planning(strategy, plan)) {
        buf_printf(ret_text, "%s\n\n", planning);
    } else if (strategy->pattern == STRATEGY_TODO_DRIVEN && strategy->plans_first) {
        buf_append_string(ret_text,
                          "First make a list of what has to be done: use batch_add_todos, with "
                          "priorities and with what each item waits for. Then work on it.\n\n");
    }
}

void strategy_write_next(const struct strategy *strategy, const struct plan *plan,
                         const char *usual, struct buf *ret_text)
{
    static const char work[] =
        "Continue with the list: call get_next_todo, work on the item, and record the result with "
        "update_todo. When everything is done, call finish_task with a summary.";
    if (strategy_is_planning(strategy, plan)) {
        buf_append_string(ret_text, planning);
    } else if (strategy->pattern == STRATEGY_PLAN_EXECUTE) {
        buf_printf(ret_text, "PHASE 2 - EXECUTION\n%s", work);
    } else {
        buf_append_string(ret_text, strategy->pattern == STRATEGY_TODO_DRIVEN ? work : usual);
    }
}

void strategy_write_reflection(const struct strategy *strategy, size_t round, const char *summary,
                               const char *status, struct buf *ret_text)
{
    const struct strategy_dimension *dimension =
        &strategy->dimensions[round % strategy->dimension_count];
    buf_printf(ret_text, REFLECTION "%zu/%zu) -- ", round + 1, strategy->rounds);
    for (const char *at = dimension->name; *at != '\0'; at++) {
        char upper = *at >= 'a' && *at <= 'z' ? (char)(*at - 'a' + 'A') : *at;
        buf_append(ret_text, &upper, 1);
    }
    buf_printf(ret_text, "\nThe task is not handed in yet. You reported (%s): ", status);
    buf_append_string(ret_text, summary);
    buf_append_string(ret_text, "\n");
    buf_append_string(ret_text, dimension->prompt);
    if (strategy->criteria[0] != '\0') {
        buf_append_string(ret_text, "\nThe task is done well if:");
        buf_append_string(ret_text, strategy->criteria);
    }
    buf_append_string(ret_text, "\nImprove what you find, then call finish_task again.");
}

bool strategy_is_reflection(const char *answer)
{
    return strncmp(answer, REFLECTION, strlen(REFLECTION)) == 0;
}
