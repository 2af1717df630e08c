// SPDX-License-Identifier: Apache-2.0
/*
 * Saves, loses and finds states: "save N" saves on demand in iteration N, "die N" is killed in
 * iteration N, "resume N" resumes the run until iteration N, "time BYTES" measures a save.
 */
#include "program.h"

#include <time.h>

static void set_state(struct rondo_loop *loop)
{
    struct rondo_error error = {0};
    char state[64];
    snprintf(state, sizeof(state), "state of iteration %llu",
             (unsigned long long)rondo_loop_iteration(loop));
    need_ok(rondo_loop_set_state(loop, state, strlen(state), &error), &error);
}

static void save(struct rondo_loop *loop)
{
    struct rondo_error error = {0};
    need_ok(rondo_loop_save_checkpoint(loop, NULL, &error), &error);
    printf("saved in iteration %llu\n", (unsigned long long)rondo_loop_iteration(loop));
}

static void measure(struct rondo_loop *loop, size_t size)
{
    struct rondo_error error = {0};
    struct timespec begin, end;
    char *bytes = calloc(size, 1);
    for (size_t i = 0; bytes != NULL && i < size; i++) {
        bytes[i] = (char)(rand() & 0xff);
    }
    clock_gettime(CLOCK_MONOTONIC, &begin);
    need_ok(rondo_loop_set_state(loop, bytes, size, &error), &error);
    need_ok(rondo_loop_save_checkpoint(loop, "{\"progress\":\"50%\"}", &error), &error);
    clock_gettime(CLOCK_MONOTONIC, &end);
    struct rondo_checkpoint *checkpoint = need(rondo_loop_load_checkpoint(loop, 0, &error), &error);
    if (checkpoint->state_len == size && memcmp(checkpoint->state, bytes, size) == 0) {
        printf("milliseconds %lld\n", (long long)(end.tv_sec - begin.tv_sec) * 1000 +
                                          (end.tv_nsec - begin.tv_nsec) / 1000000);
    }
    rondo_checkpoint_free(checkpoint);
    free(bytes);
}

static void work(struct rondo_loop *loop, const char *mode, unsigned long long number)
{
    unsigned long long iteration = rondo_loop_iteration(loop);
    if (strcmp(mode, "die") == 0 && iteration == number) {
        kill(getpid(), SIGKILL);
    }
    if (strcmp(mode, "time") == 0) {
        measure(loop, (size_t)number);
        rondo_loop_finish(loop, RONDO_COMPLETED, NULL, NULL);
        return;
    }
    set_state(loop);
    if (strcmp(mode, "save") == 0 && iteration == number) {
        save(loop);
    }
    if (iteration >= number) {
        rondo_loop_finish(loop, RONDO_COMPLETED, NULL, NULL);
    }
}

static struct rondo_loop *begin(struct rondo *rondo, const char *mode)
{
    struct rondo_error error = {0};
    struct rondo_loop_options options = {.agent_id = "checkpoint", .max_iterations = 100};
    if (strcmp(mode, "resume") != 0) {
        return need(rondo_loop_start(rondo, &options, &error), &error);
    }
    struct rondo_loop *loop = need(rondo_loop_resume(rondo, "last", NULL, &error), &error);
    size_t len = 0;
    const char *state = rondo_loop_state(loop, &len);
    printf("resumed state %.*s\n", (int)len, state);
    return loop;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        return 2;
    }
    struct rondo *rondo = open_store();
    struct rondo_loop *loop = begin(rondo, argv[1]);
    bool is_first = true;
    while (rondo_loop_next(loop) == RONDO_CONTINUE) {
        if (is_first) {
            printf("first iteration %llu\n", (unsigned long long)rondo_loop_iteration(loop));
        }
        is_first = false;
        work(loop, argv[1], strtoull(argv[2], NULL, 10));
    }
    print_end(loop);
    rondo_loop_free(loop);
    rondo_close(rondo);
    return 0;
}
