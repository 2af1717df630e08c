// SPDX-License-Identifier: Apache-2.0
/* The public API's opaque handles; shared by the files of this layer only. */
#pragma once

#include "loop/driver/driver.h"
#include "rondo/rondo.h"

struct rondo {
    struct store *store;
    struct runtime *runtime;
    char *path;
    char *name; /**< for people */
};

struct rondo_loop {
    struct rondo *rondo;
    struct loop *loop;
    struct loop_body_result body; /* what the body has said so far */
    char *message;
    char *summary;
    bool is_in_body;
    enum rondo_turn turn; /* last answer of rondo_loop_next */
    struct rondo_error error;
};

/** A condition with the command that was given or found for it. Owned texts. */
struct condition_choice {
    char *name;
    char *command;
    char *origin;
    int64_t timeout_ns;
};

/**
 * Settle the command of a condition: as given, else found from the project's files.
 * @param ret_choice condition_choice_fini()
 */
int api_choose_command(const char *workspace, const struct rondo_condition *condition,
                       struct condition_choice *ret_choice, struct rondo_error *err);
void condition_choice_fini(struct condition_choice *choice);

/** Make the spec of a new run. @param ret_spec loop_spec_fini() */
int api_make_spec(const struct rondo_loop_options *options, struct loop_spec *ret_spec,
                  struct rondo_error *err);

/** What a resume changes, prepared before the run is claimed. */
struct api_changes {
    const struct rondo_loop_options *options;
    struct condition_choice *choices; /* NULL = the conditions stay */
    size_t choice_count;
};

/** Prepare changes. @param recorded the run's own options; api_changes_fini() */
int api_prepare_changes(const struct rondo_loop_options *options, const struct loop_spec *recorded,
                        struct api_changes *ret_changes, struct rondo_error *err);
void api_changes_fini(struct api_changes *changes);

/** Apply them: a loop_change_fn whose context is a struct api_changes. */
void api_change_spec(struct loop_spec *spec, void *context);

/** End a loop that its caller frees: final checkpoint, status cancelled. */
void api_end_loop(struct rondo_loop *loop);
