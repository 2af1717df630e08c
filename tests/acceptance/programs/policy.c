// SPDX-License-Identifier: Apache-2.0
/*
 * An agent that does nothing under policies, and tells what they did. Options: -a AGENT,
 * -p POLICIES of the loop, -s POLICIES of the store's loops, -u COMMAND as its exit condition
 * "done", -e evaluates it within each iteration, -c saves a checkpoint in each iteration,
 * -f N asks to finish in iteration N, -w N waits in iteration N for the file "go".
 */
#include "program.h"

struct wishes {
    const char *store_policy;
    struct rondo_loop_options options;
    struct rondo_condition conditions[2];
    bool evaluates;
    bool saves;
    unsigned long long finish_in;
    unsigned long long wait_in;
};

static struct wishes parse(int argc, char **argv)
{
    struct wishes wishes = {.options = {.agent_id = "policy"}};
    int option;
    while ((option = getopt(argc, argv, "a:p:s:u:ecf:w:")) >= 0) {
        switch (option) {
        case 'a':
            wishes.options.agent_id = optarg;
            break;
        case 'p':
            wishes.options.policy = optarg;
            break;
        case 's':
            wishes.store_policy = optarg;
            break;
        case 'u':
            wishes.conditions[0] = (struct rondo_condition){.name = "done", .command = optarg};
            break;
        case 'e':
            wishes.evaluates = true;
            break;
        case 'c':
            wishes.saves = true;
            break;
        case 'f':
            wishes.finish_in = strtoull(optarg, NULL, 10);
            break;
        case 'w':
            wishes.wait_in = strtoull(optarg, NULL, 10);
            break;
        default:
            exit(2);
        }
    }
    return wishes;
}

static void wait_for_go(unsigned long long iteration)
{
    char name[32];
    snprintf(name, sizeof(name), "at-%llu", iteration);
    FILE *file = fopen(name, "w");
    if (file != NULL) {
        fclose(file);
    }
    while (access("go", F_OK) != 0) {
        usleep(10000);
    }
}

static void work(struct rondo_loop *loop, const struct wishes *wishes)
{
    struct rondo_error error = {0};
    unsigned long long iteration = rondo_loop_iteration(loop);
    if (iteration == wishes->wait_in) {
        wait_for_go(iteration);
    }
    if (wishes->evaluates) {
        struct rondo_condition_state state;
        need_ok(rondo_loop_evaluate(loop, "done", &state, &error), &error);
        printf("evaluated %s %s\n", rondo_condition_status_name(state.status),
               rondo_condition_reason_name(state.reason));
    }
    if (wishes->saves) {
        int code = rondo_loop_save_checkpoint(loop, NULL, &error);
        printf("checkpoint %s\n", code == 0 ? "saved" : rondo_code_name(code));
        printf("checkpoint message: %s\n", code == 0 ? "" : error.message);
    }
    if (iteration == wishes->finish_in) {
        need_ok(rondo_loop_finish(loop, RONDO_COMPLETED, "I say so", &error), &error);
    }
}

static void print_turn(const struct rondo_loop *loop, enum rondo_turn turn)
{
    struct rondo_violation violation;
    printf("turn %s\n", turn == RONDO_POLICY_VIOLATED ? "RONDO_POLICY_VIOLATED"
                        : turn == RONDO_DONE          ? "RONDO_DONE"
                                                      : rondo_loop_error(loop)->message);
    print_end(loop);
    if (rondo_loop_violation(loop, &violation)) {
        printf("violation code=%s needs_approval=%s\n", violation.code,
               violation.needs_approval ? "yes" : "no");
        printf("violation reason: %s\n", violation.reason);
        printf("violation message: %s\n", violation.message);
        printf("violation sha256 %s\n", violation.policy_sha256);
    }
}

int main(int argc, char **argv)
{
    struct wishes wishes = parse(argc, argv);
    struct rondo_error error = {0};
    struct rondo_options options = {.policy = wishes.store_policy};
    struct rondo *rondo = need(rondo_open(&options, &error), &error);
    if (wishes.conditions[0].name != NULL) {
        wishes.options.exit_conditions = wishes.conditions;
    }
    struct rondo_loop *loop = need(rondo_loop_start(rondo, &wishes.options, &error), &error);
    int bodies = 0;
    enum rondo_turn turn;
    while ((turn = rondo_loop_next(loop)) == RONDO_CONTINUE) {
        bodies++;
        work(loop, &wishes);
    }
    printf("bodies %d\n", bodies);
    print_turn(loop, turn);
    rondo_loop_free(loop);
    rondo_close(rondo);
    return 0;
}
