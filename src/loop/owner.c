// SPDX-License-Identifier: Apache-2.0
/* Names of owners are written and read here only. */
#include "loop/owner.h"

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

bool owner_is_alive(const char *owner)
{
    struct host_process process;
    return parse(owner, &process) && host_is_alive(&process);
}

void owner_host(const char *owner, char ret_host[OWNER_HOST_SIZE])
{
    struct host_process process;
    ret_host[0] = '\0';
    if (parse(owner, &process)) {
        snprintf(ret_host, OWNER_HOST_SIZE, "%s", process.host);
    }
}

bool owner_is_here(const char *owner)
{
    struct host_process self;
    char host[OWNER_HOST_SIZE];
    host_describe_self(&self);
    owner_host(owner, host);
    return strcmp(host, self.host) == 0;
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

/* ---- Rows ----------------------------------------------------------------------------------- */

bool run_is_executed(const struct store_run *run, int64_t now_ns)
{
    return run->owner[0] != '\0' && run->lease_until_ns > now_ns && !owner_is_dead(run->owner);
}

bool run_is_interrupted(const struct store_run *run)
{
    return run->summary.status == RONDO_RUNNING && !run_is_executed(run, clock_now(clock_system()));
}

const char *run_display_status(const struct store_run *run)
{
    if (run->summary.status == RONDO_RUNNING && run->summary.is_paused) {
        return run->summary.is_waiting ? "waiting" : "paused";
    }
    if (!run_is_interrupted(run)) {
        return rondo_status_name(run->summary.status);
    }
    return run->owner[0] == '\0' ? "parked" : "interrupted";
}

/* ---- Marks of orphans ----------------------------------------------------------------------- */

static int change_mark(struct store *store, enum store_change_kind kind, const char *run_id,
                       struct rondo_error *err)
{
    struct store_change change = {
        .kind = kind,
        .collection = ORPHAN_COLLECTION,
        .key = run_id,
        .data = kind == STORE_PUT ? "{}" : NULL,
        .data_len = kind == STORE_PUT ? 2 : 0,
        .if_version = STORE_ANY_VERSION,
    };
    bool is_applied = false;
    return store->ops->change_documents(store, &change, 1, &is_applied, err);
}

int orphan_mark(struct store *store, const char *run_id, struct rondo_error *err)
{
    return change_mark(store, STORE_PUT, run_id, err);
}

static bool see(const struct store_document *document, void *context)
{
    (void)document;
    *(bool *)context = true;
    return false;
}

bool orphan_is_marked(struct store *store, const char *run_id)
{
    bool is_marked = false;
    struct store_document_query query = {.collection = ORPHAN_COLLECTION, .key = run_id};
    return store->ops->read_documents(store, &query, see, &is_marked, NULL) == 0 && is_marked;
}

void orphan_clear(struct store *store, const char *run_id)
{
    (void)change_mark(store, STORE_DELETE, run_id, NULL);
}
