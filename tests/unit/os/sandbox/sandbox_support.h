// SPDX-License-Identifier: Apache-2.0
/* What the tests of sandboxes share: folders, short ways to run, the program that runs inside. */
#pragma once

#include "os/spawn/sandbox_trial.h"

#include "../helper.h"

#define SELF "/proc/self/exe"
/** Makes this program try something from inside a sandbox. */
#define INSIDE_ARGUMENT "inside"

/** A test in one tier, in folders of its own; its state is the tier. */
#define ALSO_IN_TIER(tier, test)                                       \
    TEST_ROW(tier##_##test, #tier ": " #test, test, set_up, tear_down, \
             (void *)(uintptr_t)&tier##_tier)
#define TIER(tier, test)      \
    TEST_FUNCTION(test);      \
    ALSO_IN_TIER(tier, test); \
    TEST_FUNCTION(test)
#define BOTH(test)                 \
    TEST_FUNCTION(test);           \
    ALSO_IN_TIER(namespace, test); \
    TIER(landlock, test)

extern const enum sandbox_tier namespace_tier;
extern const enum sandbox_tier landlock_tier;

extern char scratch[PATH_MAX]; /* holds everything of one test */
extern char workspace[PATH_MAX + 32];
extern char outside[PATH_MAX + 32];
extern char program[PATH_MAX]; /* this one */

/**
 * What main() does: play a supervisor or the program inside where the arguments say so, else run
 * the tests.
 */
int sandbox_test_main(int argc, char **argv);

/** Connect to a port of the machine. @return 0, or 1 if it cannot be reached */
int try_to_connect(const char *port);

/** Connect to a socket file, or with @NAME to an abstract socket. @return 0, or 1 on failure */
int try_unix(const char *path);

enum sandbox_tier tier_of(void **state);

int set_up(void **state);
int tear_down(void **state);

/** Skip the test where the machine lacks the tier. */
void need(enum sandbox_tier tier);

/** What most tests use: the workspace, and this program's own folder readable. */
struct sandbox_policy policy_for(enum sandbox_tier tier);

struct spawn_result run_policy(const struct sandbox_policy *policy, const char *const *argv);

/** Run a script; `$0` is the folder outside of the workspace. */
struct spawn_result run_script(const struct sandbox_policy *policy, const char *script);

/** Run a script in a plain sandbox and insist on what it prints. */
void expect(void **state, const char *script, const char *output);

bool exists(const char *folder, const char *name);

void make_folder(const char *folder, const char *name);
