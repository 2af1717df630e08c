// SPDX-License-Identifier: Apache-2.0
/* Growing arrays of parts; their texts are in the arena. */
#include "store/transfer/gather.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void gathered_fini(struct gathered *gathered)
{
    arena_fini(&gathered->arena);
    free(gathered->runs);
    free(gathered->events);
    free(gathered->checkpoints);
    free(gathered->letters);
    free(gathered->documents);
    free(gathered->policies);
    free(gathered->owners);
    free(gathered->memories);
    *gathered = (struct gathered){0};
}

void gathered_clear(struct gathered *gathered)
{
    arena_clear(&gathered->arena);
    gathered->bytes = 0;
    gathered->parts = 0;
    gathered->run_count = 0;
    gathered->event_count = 0;
    gathered->checkpoint_count = 0;
    gathered->letter_count = 0;
    gathered->document_count = 0;
    gathered->policy_count = 0;
    gathered->owner_count = 0;
    gathered->memory_count = 0;
}

bool gathered_is_full(const struct gathered *gathered)
{
    return gathered->bytes >= LIMIT_STORE_PIECE_BYTES || gathered->parts >= LIMIT_STORE_PIECE_PARTS;
}

struct store_piece gathered_piece(const struct gathered *gathered)
{
    return (struct store_piece){
        .runs = gathered->runs,
        .run_count = gathered->run_count,
        .events = gathered->events,
        .event_count = gathered->event_count,
        .checkpoints = gathered->checkpoints,
        .checkpoint_count = gathered->checkpoint_count,
        .letters = gathered->letters,
        .letter_count = gathered->letter_count,
        .documents = gathered->documents,
        .document_count = gathered->document_count,
        .policies = gathered->policies,
        .policy_count = gathered->policy_count,
        .owners = gathered->owners,
        .owner_count = gathered->owner_count,
        .memories = gathered->memories,
        .memory_count = gathered->memory_count,
    };
}

/** A copy of bytes with a NUL after them; NULL of NULL. */
static void *keep(struct gathered *gathered, const void *bytes, size_t len)
{
    if (bytes == NULL) {
        return NULL;
    }
    char *copy = arena_new(&gathered->arena, len + 1);
    memcpy(copy, bytes, len);
    copy[len] = '\0';
    gathered->bytes += len;
    return copy;
}

static char *keep_text(struct gathered *gathered, const char *text)
{
    return keep(gathered, text, text == NULL ? 0 : strlen(text));
}

/** Room for one more element. */
#define GROW(gathered, array, count) \
    ((gathered)->array = memory_resize((gathered)->array, (count) + 1, sizeof(*(gathered)->array)))

void gather_run(struct gathered *gathered, const struct store_run *run)
{
    GROW(gathered, runs, gathered->run_count)[gathered->run_count] = *run;
    gathered->run_count++;
    gathered->parts++;
    gathered->bytes += sizeof(*run);
}

void gather_event(struct gathered *gathered, const struct store_event *event)
{
    struct store_event copy = *event;
    copy.run_id = keep_text(gathered, event->run_id);
    copy.type = keep_text(gathered, event->type);
    copy.data = keep(gathered, event->data, event->data_len);
    GROW(gathered, events, gathered->event_count)[gathered->event_count] = copy;
    gathered->event_count++;
    gathered->parts++;
}

void gather_checkpoint(struct gathered *gathered, const char *run_id, bool is_interim,
                       const struct store_checkpoint *checkpoint)
{
    struct store_run_checkpoint copy = {
        .run_id = keep_text(gathered, run_id), .is_interim = is_interim, .checkpoint = *checkpoint};
    copy.checkpoint.state = keep(gathered, checkpoint->state, checkpoint->state_len);
    copy.checkpoint.fold = keep_text(gathered, checkpoint->fold);
    copy.checkpoint.custom_data = keep_text(gathered, checkpoint->custom_data);
    copy.checkpoint.conditions = keep_text(gathered, checkpoint->conditions);
    GROW(gathered, checkpoints, gathered->checkpoint_count)[gathered->checkpoint_count] = copy;
    gathered->checkpoint_count++;
    gathered->parts++;
}

void gather_letter(struct gathered *gathered, const struct store_letter *letter)
{
    struct store_letter copy = *letter;
    copy.run_id = keep_text(gathered, letter->run_id);
    copy.kind = keep_text(gathered, letter->kind);
    copy.data = keep_text(gathered, letter->data);
    GROW(gathered, letters, gathered->letter_count)[gathered->letter_count] = copy;
    gathered->letter_count++;
    gathered->parts++;
}

void gather_document(struct gathered *gathered, const struct store_document *document)
{
    struct store_document copy = *document;
    copy.collection = keep_text(gathered, document->collection);
    copy.key = keep_text(gathered, document->key);
    copy.data = keep(gathered, document->data, document->data_len);
    GROW(gathered, documents, gathered->document_count)[gathered->document_count] = copy;
    gathered->document_count++;
    gathered->parts++;
}

void gather_policy(struct gathered *gathered, const struct store_policy_change *change)
{
    struct store_policy_change copy = *change;
    copy.source = keep_text(gathered, change->source);
    copy.digest = keep_text(gathered, change->digest);
    copy.how = keep_text(gathered, change->how);
    copy.by = keep_text(gathered, change->by);
    copy.text = keep(gathered, change->text, change->text_len);
    GROW(gathered, policies, gathered->policy_count)[gathered->policy_count] = copy;
    gathered->policy_count++;
    gathered->parts++;
}

void gather_owner(struct gathered *gathered, const struct store_memory_owner *owner)
{
    struct store_memory_owner copy = *owner;
    copy.name = keep_text(gathered, owner->name);
    GROW(gathered, owners, gathered->owner_count)[gathered->owner_count] = copy;
    gathered->owner_count++;
    gathered->parts++;
}

void gather_memory(struct gathered *gathered, enum store_memory_change_kind kind,
                   const struct store_memory *memory, const char *grams)
{
    struct store_memory_change change = {.kind = kind, .memory = *memory};
    struct store_memory *copy = &change.memory;
    copy->owner = keep_text(gathered, memory->owner);
    copy->category = keep_text(gathered, memory->category);
    copy->run_id = keep_text(gathered, memory->run_id);
    copy->source = keep_text(gathered, memory->source);
    copy->metadata = keep_text(gathered, memory->metadata);
    copy->content = keep_text(gathered, memory->content);
    copy->grams = keep_text(gathered, grams);
    copy->vector = keep(gathered, memory->vector, memory->vector_len);
    copy->vector_model = keep_text(gathered, memory->vector_model);
    GROW(gathered, memories, gathered->memory_count)[gathered->memory_count] = change;
    gathered->memory_count++;
    gathered->parts++;
}
