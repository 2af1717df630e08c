// SPDX-License-Identifier: Apache-2.0
/*
 * Whether the tiers work here, found out by using them. Nothing in the
 * environment can make a missing tier look available. No state; any thread.
 */
#include "os/spawn/sandbox_trial.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "os/sandbox/filter.h"
#include "os/sandbox/landlock.h"
#include "os/spawn/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

#define TRIAL_NS (10 * NS_PER_S)

static bool try_namespace(char ret_reason[256])
{
    static const char *const argv[] = {"sh", "-c", ":", NULL};
    const struct sandbox_policy policy = {.tier = SANDBOX_NAMESPACE};
    const struct spawn_request request = {
        .argv = argv,
        .envp = (const char *const *)environ,
        .directory = "/",
        .total_ns = TRIAL_NS,
        .output_keep = 4096,
        .sandbox = &policy,
    };
    struct spawn_result result;
    struct rondo_error error;
    if (spawn_run(&request, &result, &error) != 0) {
        snprintf(ret_reason, 256, "%.255s", error.message);
        return false;
    }
    bool works = result.end == SPAWN_EXITED && result.exit_code == 0;
    if (!works && result.reason[0] != '\0') {
        snprintf(ret_reason, 256, "%s", result.reason);
    } else if (!works) {
        snprintf(ret_reason, 256, "a trial command failed in it (exit code %d)", result.exit_code);
    }
    spawn_result_fini(&result);
    return works;
}

struct tier_trial {
    bool works;
    struct rondo_error error;
};

static int restrict_this_thread(struct rondo_error *err)
{
    const struct sandbox_policy policy = {.tier = SANDBOX_LANDLOCK};
    auto_close int ruleset_fd = -1;
    int r = landlock_begin(true, &ruleset_fd, err);
    if (r == 0) {
        r = landlock_enforce(ruleset_fd, err);
    }
    return r == 0 ? sandbox_filter_load(&policy, NULL, err) : r;
}

static void *run_trial(void *context)
{
    struct tier_trial *trial = context;
    if (restrict_this_thread(&trial->error) != 0) {
        return NULL;
    }
    auto_close int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    trial->works = fd < 0 && errno == EACCES;
    if (!trial->works) {
        error_set(&trial->error, RONDO_ERR_UNSUPPORTED, "Landlock rules have no effect here");
    }
    return NULL;
}

/** Rules bind a thread for good, so the trial takes a thread that ends with it. */
static bool try_landlock(char ret_reason[256])
{
    struct tier_trial trial = {0};
    pthread_t thread;
    int os_errno = pthread_create(&thread, NULL, run_trial, &trial);
    if (os_errno != 0) {
        snprintf(ret_reason, 256, "cannot start a thread: %s", strerrordesc_np(os_errno));
        return false;
    }
    pthread_join(thread, NULL);
    if (!trial.works) {
        snprintf(ret_reason, 256, "%.255s", trial.error.message);
    }
    return trial.works;
}

bool sandbox_is_available(enum sandbox_tier tier, char ret_reason[256])
{
    ret_reason[0] = '\0';
    switch (tier) {
    case SANDBOX_NONE:
        return true;
    case SANDBOX_LANDLOCK:
        return try_landlock(ret_reason);
    case SANDBOX_NAMESPACE:
        return try_namespace(ret_reason);
    case SANDBOX_TIER_COUNT:
        break;
    }
    snprintf(ret_reason, 256, "there is no such sandbox tier");
    return false;
}
