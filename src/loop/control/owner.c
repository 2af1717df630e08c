// SPDX-License-Identifier: Apache-2.0
/* Owner names: written and read here only. No state; any thread. */
#include "loop/control/owner.h"

#include "base/clock.h"
#include "os/host.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void owner_new(struct random *random, char *ret_owner)
{
    struct host_process self;
    host_describe_self(&self);
    snprintf(ret_owner, STORE_OWNER_SIZE,
             "pid=%" PRId64 " started=%" PRIu64 " space=%" PRIu64 " boot=%s id=%016" PRIx64
             " host=%s",
             self.pid, self.started, self.pid_space, self.boot_id[0] == '\0' ? "-" : self.boot_id,
             random_u64(random), self.host);
}

static bool parse(const char *owner, struct host_process *ret_process)
{
    *ret_process = (struct host_process){0};
    int read = sscanf(
        owner, "pid=%" SCNd64 " started=%" SCNu64 " space=%" SCNu64 " boot=%36s id=%*16s host=%64s",
        &ret_process->pid, &ret_process->started, &ret_process->pid_space, ret_process->boot_id,
        ret_process->host);
    return read == 5;
}

bool owner_is_dead(const char *owner)
{
    struct host_process process;
    return parse(owner, &process) && host_is_dead(&process);
}

void owner_name(const char *owner, char *ret_text)
{
    struct host_process process;
    if (parse(owner, &process)) {
        snprintf(ret_text, OWNER_DESCRIPTION_SIZE, "process %" PRId64 " on %s", process.pid,
                 process.host);
    } else {
        snprintf(ret_text, OWNER_DESCRIPTION_SIZE, "another process");
    }
}

void owner_describe(const struct store_run *holder, char *ret_text)
{
    char until[CLOCK_UTC_SIZE];
    clock_format_utc(holder->lease_until_ns, until);
    owner_name(holder->owner, ret_text);
    size_t len = strlen(ret_text);
    snprintf(ret_text + len, OWNER_DESCRIPTION_SIZE - len, ", lease until %s", until);
}
