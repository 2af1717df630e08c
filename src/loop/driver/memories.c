// SPDX-License-Identifier: Apache-2.0
/*
 * Memories that a body stores. They wait beside the recorded events and go with the commit of the
 * events that were recorded until then: a memory and the result that reports it are stored together
 * or not at all.
 */
#include "loop/driver/internal.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/** Keep a text of a change. The changes share no texts, so each is owned by its change. */
static void own(const char **text)
{
    *text = memory_dup_string(*text);
}

void loop_record_memory(struct loop *loop, const struct store_memory_change *change)
{
    loop->memories = memory_resize(loop->memories, loop->memory_count + 1, sizeof(*loop->memories));
    struct store_memory_change *copy = &loop->memories[loop->memory_count++];
    *copy = *change;
    own(&copy->memory.owner);
    own(&copy->memory.category);
    own(&copy->memory.run_id);
    own(&copy->memory.source);
    own(&copy->memory.metadata);
    own(&copy->memory.content);
    own(&copy->memory.grams);
}

void loop_drop_memories(struct loop *loop, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct store_memory *memory = &loop->memories[i].memory;
        const char *const texts[] = {memory->owner,  memory->category, memory->run_id,
                                     memory->source, memory->metadata, memory->content,
                                     memory->grams};
        for (size_t k = 0; k < sizeof(texts) / sizeof(texts[0]); k++) {
            free((void *)(uintptr_t)texts[k]);
        }
    }
    loop->memory_count -= count;
    if (loop->memory_count > 0) {
        memmove(loop->memories, loop->memories + count,
                loop->memory_count * sizeof(*loop->memories));
    }
}

bool loop_has_memories(const struct loop *loop)
{
    return loop->memory_count > 0;
}
