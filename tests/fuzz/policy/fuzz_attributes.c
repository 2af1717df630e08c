// SPDX-License-Identifier: Apache-2.0
/*
 * JSON that a library caller hands in: attributes of a note and custom data of a checkpoint. What
 * the loop accepts, its journal holds as valid events, and its checkpoint gives back.
 */
#include "../fuzz.h"

#include "../../support/store/memory_store.h"
#include "journal/reader.h"
#include "loop/driver/driver.h"

#include <string.h>

static bool check_entry(const struct journal_entry *entry, void *context)
{
    (void)context;
    FUZZ_CHECK(entry->is_known);
    FUZZ_CHECK(fuzz_is_json(entry->data, strlen(entry->data)));
    return true;
}

static struct loop *start(struct runtime *runtime)
{
    struct loop_spec spec = loop_spec_default();
    spec.agent_id = "fuzz";
    spec.kind = "library";
    spec.workspace = "/";
    struct loop_parts parts = {.runtime = runtime};
    struct loop_opening opening;
    struct loop *loop = NULL;
    FUZZ_CHECK(loop_start(&parts, &spec, &loop, &opening, NULL) == 0 && !opening.is_held);
    FUZZ_CHECK(loop_next(loop, NULL) == LOOP_BODY);
    return loop;
}

static void check_custom_data(struct loop *loop, struct store *store, const char *json)
{
    struct rondo_error err = {0};
    if (loop_save_checkpoint(loop, json, &err) < 0) {
        FUZZ_CHECK(err.message[0] != '\0');
        return;
    }
    struct checkpoint checkpoint;
    FUZZ_CHECK(checkpoint_load(store, loop_run_id(loop), 0, &checkpoint, &err) == 0);
    FUZZ_CHECK(strcmp(checkpoint.custom_data, json) == 0);
    checkpoint_fini(&checkpoint);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *json = fuzz_text(data, size);
    struct store *store = store_memory_new(NULL);
    struct runtime_options options = {.store = store, .has_no_keeper = true};
    struct runtime *runtime = NULL;
    struct rondo_error err = {0};
    FUZZ_CHECK(runtime_new(&options, &runtime, &err) == 0);
    struct loop *loop = start(runtime);
    if (loop_note(loop, "fuzz", json, &err) < 0) {
        FUZZ_CHECK(err.message[0] != '\0');
    }
    check_custom_data(loop, store, json);
    loop_stop(loop, CANCEL_GRACEFUL);
    FUZZ_CHECK(loop_next(loop, &err) == LOOP_ENDED);
    FUZZ_CHECK(journal_visit(store, loop_run_id(loop), 0, 0, check_entry, NULL, &err) == 0);
    loop_free(loop);
    runtime_free(runtime);
    store_close(store);
    free(json);
    return 0;
}
