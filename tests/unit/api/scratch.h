// SPDX-License-Identifier: Apache-2.0
/* A store of its own for each test, opened through the public API, and gone afterwards. */
#pragma once

#include "rondo/rondo.h"
#include "support/scratch.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct scratch {
    char folder[64];
    char workspace[96]; /* of its own: what agents can write needs a confirmation */
    char store[96];
    struct rondo *rondo;
};

static inline int scratch_up(void **state)
{
    struct scratch *scratch = calloc(1, sizeof(*scratch));
    assert_true(scratch_new(scratch->folder, sizeof(scratch->folder)));
    snprintf(scratch->workspace, sizeof(scratch->workspace), "%s/work", scratch->folder);
    assert_int_equal(mkdir(scratch->workspace, 0700), 0);
    snprintf(scratch->store, sizeof(scratch->store), "%s/rondo.db", scratch->folder);
    struct rondo_error err = {0};
    scratch->rondo = rondo_open(&(struct rondo_options){.store = scratch->store}, &err);
    if (scratch->rondo == NULL) {
        fail_msg("%s", err.message);
    }
    *state = scratch;
    return 0;
}

static inline int scratch_down(void **state)
{
    struct scratch *scratch = *state;
    rondo_close(scratch->rondo);
    static const char *const names[] = {"rondo.db", "rondo.db-wal", "rondo.db-shm", "work/done"};
    for (size_t i = 0; i < COUNT(names); i++) {
        char path[160];
        snprintf(path, sizeof(path), "%s/%s", scratch->folder, names[i]);
        unlink(path);
    }
    rmdir(scratch->workspace);
    rmdir(scratch->folder);
    free(scratch);
    return 0;
}

/** Options for a loop that needs no sandbox. */
static inline struct rondo_loop_options scratch_options(const struct scratch *scratch)
{
    return (struct rondo_loop_options){
        .agent_id = "tester",
        .workspace = scratch->workspace,
        .max_iterations = 3,
        .sandbox = RONDO_SANDBOX_NONE,
    };
}

static inline struct rondo_loop *scratch_start(struct scratch *scratch,
                                               const struct rondo_loop_options *options)
{
    struct rondo_error err = {0};
    struct rondo_loop *loop = rondo_loop_start(scratch->rondo, options, &err);
    if (loop == NULL) {
        fail_msg("%s", err.message);
    }
    return loop;
}

#define SCRATCH_TEST(function) TEST_WITH(function, scratch_up, scratch_down)
