// SPDX-License-Identifier: Apache-2.0
/* The plan's inside, for the files that fill it: one a tier. */
#pragma once

#include "base/buf.h"
#include "os/sandbox/git.h"
#include "os/sandbox/limits.h"
#include "os/sandbox/paths.h"
#include "os/sandbox/plan.h"
#include "os/sandbox/record.h"

#include <limits.h>

#define PLAN_CARRIED_MAX 6

struct sandbox_plan {
    const struct spawn_request *request;
    struct path_list paths;
    struct sandbox_limits limits;
    struct sandbox_group group;
    char program[PATH_MAX];
    char command[PATH_MAX];        /* path of the command where a tier looks it up */
    const char **argv;             /* owned array of borrowed strings */
    char *path_variable;           /* "PATH=..." for the program that sets the sandbox up */
    const char *envp[2];           /* that alone: the command's environment travels separately */
    int carried[PLAN_CARRIED_MAX]; /* owned until the child has started */
    size_t carried_count;
    int status_fd;  /* what the program that sets up says; -1 = none */
    int release_fd; /* the command waits for a byte from here; -1 = none or done */
    int ready_fd;   /* its other side closes when the mounts are made; -1 = none or done */
    struct buf status;
    bool supervisor_helps; /* see sandbox_plan_supervisor_helps */
    char failure[256];     /* why the command was not let go; "" */
    pid_t inner;           /* first process inside the pid namespace; 0 = not known */
    int inner_pidfd;
    struct git_watch *git;        /* git folders before the command; owned; NULL = not listed yet */
    struct sandbox_record record; /* that, in a file that outlives this process */
    struct buf former_notes;      /* what was disarmed for former commands */
    char *private_folder; /* temporary folder of the command; owned; removed at the end; or NULL */
};

/** What a tier does. */
struct tier_ops {
    /** Fill program, argv, carried, status_fd. Like sandbox_plan_make; false sets the reason. */
    bool (*fill)(struct sandbox_plan *plan, char ret_reason[256]);
    /** New text is in `status`; NULL = nothing to do. */
    void (*advance)(struct sandbox_plan *plan);
    /** The other side of `ready_fd` has closed; NULL = there is none. */
    void (*ready)(struct sandbox_plan *plan);
    /** Whether the command ran, from `status` and the program's output. */
    bool (*has_run)(struct sandbox_plan *plan, const char *output, char ret_reason[256]);
};

extern const struct tier_ops sandbox_namespace_ops;
extern const struct tier_ops sandbox_landlock_ops;

/** Give the child a descriptor. Takes it over. @return false when it is -1 or cannot be moved. */
bool sandbox_plan_carry(struct sandbox_plan *plan, int fd);

/** Give the child a file in memory with this content. */
bool sandbox_plan_carry_bytes(struct sandbox_plan *plan, const char *name, const void *bytes,
                              size_t len);

/** Make a pipe whose write end the child gets; status_fd becomes the read end. */
bool sandbox_plan_carry_status(struct sandbox_plan *plan);

/** List the git folders. @return whether the command may run; false sets the reason */
bool sandbox_plan_watch_git(struct sandbox_plan *plan, char ret_reason[256]);

/** Append a string with its NUL: the form in which arguments travel in a file. */
void sandbox_plan_put(struct buf *buf, const char *text);

/** Set `argv` to `head` (NULL-terminated), then the command's arguments. */
void sandbox_plan_set_argv(struct sandbox_plan *plan, const char *const *head);
