// SPDX-License-Identifier: Apache-2.0
/*
 * From the public options to a run's spec, for new runs and as changes of recorded ones.
 *
 * all opens: paths that the program which uses the library names; only their names are resolved
 * here.
 */
#include "api/internal.h"

#include "base/error.h"
#include "base/memory.h"
#include "loop/detect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const enum sandbox_tier tiers[] = {
    [RONDO_SANDBOX_NAMESPACE] = SANDBOX_NAMESPACE,
    [RONDO_SANDBOX_LANDLOCK] = SANDBOX_LANDLOCK,
    [RONDO_SANDBOX_NONE] = SANDBOX_NONE,
};

void condition_choice_fini(struct condition_choice *choice)
{
    free(choice->name);
    free(choice->command);
    free(choice->origin);
    *choice = (struct condition_choice){0};
}

int api_choose_command(const char *workspace, const struct rondo_condition *condition,
                       struct condition_choice *ret_choice, struct rondo_error *err)
{
    struct detect_result found = {.command = condition->command, .origin = "given"};
    if (condition->name == NULL) {
        return error_set(err, RONDO_ERR_INVALID, "an exit condition needs a name");
    }
    if (condition->command == NULL) {
        int r = detect_command(workspace, condition->name, &found, err);
        if (r < 0) {
            return r;
        }
    }
    *ret_choice = (struct condition_choice){
        .name = memory_dup_string(condition->name),
        .command = memory_dup_string(found.command),
        .origin = memory_dup_string(found.origin),
        .timeout_ns = condition->timeout_ns,
    };
    return 0;
}

static int add_choice(struct loop_spec *spec, const struct condition_choice *choice,
                      struct rondo_error *err)
{
    return loop_spec_add_condition(spec, choice->name, choice->command, choice->origin,
                                   choice->timeout_ns, err);
}

static int add_conditions(struct loop_spec *spec, const struct rondo_condition *conditions,
                          struct rondo_error *err)
{
    int r = 0;
    for (size_t i = 0; r == 0 && conditions != NULL && conditions[i].name != NULL; i++) {
        struct condition_choice choice = {0};
        r = api_choose_command(spec->workspace, &conditions[i], &choice, err);
        if (r == 0) {
            r = add_choice(spec, &choice, err);
        }
        condition_choice_fini(&choice);
    }
    return r;
}

static int set_workspace(struct loop_spec *spec, const char *workspace, struct rondo_error *err)
{
    const char *given = workspace == NULL ? "." : workspace;
    spec->workspace = realpath(given, NULL);
    if (spec->workspace == NULL) {
        return error_set_errno(err, RONDO_ERR_INVALID, errno, "the workspace %s", given);
    }
    return 0;
}

static int set_policy(struct loop_spec *spec, const char *policy, struct rondo_error *err)
{
    if (policy == NULL) {
        return 0;
    }
    char *path = realpath(policy, NULL);
    if (path == NULL) {
        return error_set_errno(err, RONDO_ERR_NOT_FOUND, errno, "the policies %s", policy);
    }
    free(spec->policy);
    spec->policy = path;
    return 0;
}

/** Options that are not zero replace what the spec has. */
static int apply_options(struct loop_spec *spec, const struct rondo_loop_options *options,
                         struct rondo_error *err)
{
    const struct {
        uint64_t given;
        int64_t *member;
    } numbers[] = {
        {options->max_iterations, &spec->max_iterations},
        {(uint64_t)options->max_tokens, &spec->max_tokens},
        {(uint64_t)options->max_cost_micro, &spec->max_cost_micro},
        {(uint64_t)options->time_limit_ns, &spec->time_limit_ns},
        {(uint64_t)options->delay_ns, &spec->delay_ns},
        {options->checkpoint_interval, &spec->checkpoint_interval},
        {options->max_failures, &spec->max_failures},
        {options->durability, &spec->durability},
        {options->on_corrupt, &spec->on_corrupt},
        {options->is_exclusive, &spec->is_exclusive},
        {options->allow_network, &spec->allow_network},
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (numbers[i].given != 0) {
            *numbers[i].member = (int64_t)numbers[i].given;
        }
    }
    if ((unsigned)options->sandbox >= sizeof(tiers) / sizeof(tiers[0])) {
        return error_set(err, RONDO_ERR_INVALID, "%d is not a sandbox", (int)options->sandbox);
    }
    if (options->sandbox != RONDO_SANDBOX_NAMESPACE) {
        spec->verifier_tier = tiers[options->sandbox];
    }
    return set_policy(spec, options->policy, err);
}

int api_make_spec(const struct rondo_loop_options *options, struct loop_spec *ret_spec,
                  struct rondo_error *err)
{
    struct loop_spec spec = loop_spec_default();
    spec.agent_id = memory_dup_string(options->agent_id);
    spec.kind = memory_dup_string("library");
    int r = set_workspace(&spec, options->workspace, err);
    if (r == 0) {
        r = apply_options(&spec, options, err);
    }
    if (r == 0) {
        r = add_conditions(&spec, options->exit_conditions, err);
    }
    if (r < 0) {
        loop_spec_fini(&spec);
        return r;
    }
    *ret_spec = spec;
    return 0;
}

int api_prepare_changes(const struct rondo_loop_options *options, const struct loop_spec *recorded,
                        struct api_changes *ret_changes, struct rondo_error *err)
{
    struct loop_spec trial = loop_spec_dup(recorded);
    int r = apply_options(&trial, options, err);
    if (r == 0) {
        r = loop_spec_check(&trial, err);
    }
    loop_spec_fini(&trial);
    struct api_changes changes = {.options = options};
    const struct rondo_condition *conditions = options->exit_conditions;
    if (conditions != NULL) {
        changes.choices = memory_new_zero(LIMIT_CONDITIONS + 1, sizeof(*changes.choices));
    }
    for (size_t i = 0; r == 0 && conditions != NULL && conditions[i].name != NULL; i++) {
        if (i >= LIMIT_CONDITIONS) {
            r = error_set(err, RONDO_ERR_LIMIT, "a run takes at most %d exit conditions",
                          LIMIT_CONDITIONS);
            break;
        }
        r = api_choose_command(recorded->workspace, &conditions[i], &changes.choices[i], err);
        changes.choice_count += r == 0;
    }
    if (r < 0) {
        api_changes_fini(&changes);
        return r;
    }
    *ret_changes = changes;
    return 0;
}

void api_changes_fini(struct api_changes *changes)
{
    for (size_t i = 0; i < changes->choice_count; i++) {
        condition_choice_fini(&changes->choices[i]);
    }
    free(changes->choices);
    *changes = (struct api_changes){0};
}

void api_change_spec(struct loop_spec *spec, void *context)
{
    const struct api_changes *changes = context;
    apply_options(spec, changes->options, NULL);
    if (changes->choices == NULL) {
        return;
    }
    loop_spec_drop_conditions(spec);
    for (size_t i = 0; i < changes->choice_count; i++) {
        add_choice(spec, &changes->choices[i], NULL);
    }
}
