// SPDX-License-Identifier: Apache-2.0
/* Evaluates the exit conditions NAME[=COMMAND] of its arguments, one by one and together. */
#include "program.h"

static void evaluate_each(struct rondo_loop *loop)
{
    struct rondo_error error = {0};
    for (size_t i = 0; i < rondo_loop_condition_count(loop); i++) {
        struct rondo_condition_state state;
        need_ok(rondo_loop_condition(loop, i, &state), &error);
        printf("condition %s command=%s\n", state.name, state.command);
        need_ok(rondo_loop_evaluate(loop, state.name, &state, &error), &error);
        printf("evaluated %s %s %s\n", state.name, rondo_condition_status_name(state.status),
               rondo_condition_reason_name(state.reason));
    }
    bool is_met = false;
    need_ok(rondo_loop_evaluate_all(loop, &is_met, &error), &error);
    printf("all met %s\n", is_met && rondo_loop_all_met(loop) ? "yes" : "no");
}

int main(int argc, char **argv)
{
    struct rondo_error error = {0};
    struct rondo_condition conditions[8] = {0};
    for (int i = 1; i < argc && i < 8; i++) {
        char *command = strchr(argv[i], '=');
        if (command != NULL) {
            *command++ = '\0';
        }
        conditions[i - 1] = (struct rondo_condition){.name = argv[i], .command = command};
    }
    struct rondo *rondo = open_store();
    struct rondo_loop_options options = {
        .agent_id = "conditions", .exit_conditions = conditions, .max_iterations = 1};
    struct rondo_loop *loop = need(rondo_loop_start(rondo, &options, &error), &error);
    while (rondo_loop_next(loop) == RONDO_CONTINUE) {
        evaluate_each(loop);
    }
    print_end(loop);
    rondo_loop_free(loop);
    rondo_close(rondo);
    return 0;
}
