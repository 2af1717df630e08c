// SPDX-License-Identifier: Apache-2.0
/* From a run to the process of its body. */
#include "worker/process.h"

#include "base/memory.h"
#include "loop/hidden_paths.h"
#include "loop/step.h"

#include <stdio.h>
#include <stdlib.h>

/** The shorter of a limit (0 = none) and the run's time left. */
static int64_t total_deadline(const struct loop *loop)
{
    const struct loop_spec *spec = loop_spec(loop);
    int64_t left_ns = loop_step_time_left_ns(loop_state(loop), spec, loop_now(loop));
    int64_t limit_ns = spec->iteration_timeout_ns;
    if (left_ns != INT64_MAX && (limit_ns == 0 || left_ns < limit_ns)) {
        limit_ns = left_ns > 0 ? left_ns : 1;
    }
    return limit_ns;
}

/** A list with one more entry; the texts stay where they are. */
static const char **list_with(char *const *list, const char *last)
{
    size_t count = memory_count_list((const char *const *)list);
    const char **longer = memory_new_zero(count + 2, sizeof(*longer));
    for (size_t i = 0; i < count; i++) {
        longer[i] = list[i];
    }
    longer[count] = last;
    return longer;
}

static void set_policy(struct loop *loop, const char *folder, const char *const *env_names,
                       struct worker_process *process)
{
    const struct loop_spec *spec = loop_spec(loop);
    process->write_paths = list_with(spec->write_paths, folder);
    process->hidden = hidden_paths_of_run(runtime_hide_paths(loop_runtime(loop)), spec->policy);
    process->protected = protected_paths_of_run(spec->workspace, NULL);
    process->policy = (struct sandbox_policy){
        .tier = (enum sandbox_tier)spec->worker_tier,
        .workspace = spec->workspace,
        .is_canonical = true,
        .allow_network = spec->allow_network != 0,
        .read_paths = (const char *const *)spec->read_paths,
        .write_paths = process->write_paths,
        .hide_paths = (const char *const *)process->hidden,
        .protect_paths = (const char *const *)process->protected,
        .env_names = env_names,
    };
}

void worker_process_init(struct loop *loop, const struct worker_files *files,
                         const char *const *env_names, bool takes_over,
                         struct worker_process *ret_process)
{
    const struct loop_spec *spec = loop_spec(loop);
    set_policy(loop, worker_files_folder(files), env_names, ret_process);
    snprintf(ret_process->mark, sizeof(ret_process->mark), "RONDO_RUN_ID=%s", loop_run_id(loop));
    ret_process->request = (struct spawn_request){
        .directory = spec->workspace,
        .first_output_ns = spec->first_output_ns,
        .silence_ns = spec->silence_ns,
        .total_ns = total_deadline(loop),
        .cancel = loop_cancel(loop),
        .sandbox = ret_process->policy.tier == SANDBOX_NONE ? NULL : &ret_process->policy,
        .supervisor = runtime_supervisor(loop_runtime(loop)),
        .lock_path = worker_files_lock(files),
        .lock_mark = ret_process->mark,
        .takes_lock_over = takes_over,
    };
}

void worker_process_fini(struct worker_process *process)
{
    free(process->write_paths);
    hidden_paths_free(process->hidden);
    hidden_paths_free(process->protected);
}
