/*
 * Pairs of an exchange and a repair that is taken back.
 *
 * A repair can be wrong: it made more tests pass, by luck, and now stands in the way of the right
 * one, as either change alone makes things worse. The right one is close by in nearly all cases,
 * so that there are few such pairs.
 */
#include "mutate.h"

#include <stdlib.h>
#include <string.h>

enum {
    NEAR_LINES = 8,
    WEIGHT_PERMILLE = 500, /* of the exchange alone: pairs come when the simple ideas are used up */
};

/* Where the repair stands now. Not set when something else stands there. */
static struct mutation_undo locate(const struct source_file *file,
                                   const struct mutation_repair *repair)
{
    struct mutation_undo undo = {.is_set = false};
    struct source_tokens tokens = {0};

    source_tokenise(file, &tokens);
    for (size_t i = 0; i < tokens.count; i++) {
        const struct source_token *token = &tokens.items[i];

        if (token->line == repair->line && token->column == repair->column &&
            source_token_is(file, token, repair->after))
            undo = (struct mutation_undo){
                .is_set = true, .start = token->start, .len = token->len, .line = token->line};
    }
    source_tokens_fini(&tokens);
    memcpy(undo.before, repair->after, sizeof(undo.before));
    memcpy(undo.after, repair->before, sizeof(undo.after));
    return undo;
}

static void combine_one(struct mutation_list *list, size_t count, size_t file,
                        const struct mutation_undo *undo)
{
    for (size_t i = 0; i < count; i++) {
        struct mutation pair = list->items[i];

        if (pair.file != file || pair.start == undo->start ||
            abs(pair.line - undo->line) > NEAR_LINES)
            continue;
        pair.undo = *undo;
        pair.weight = pair.weight * WEIGHT_PERMILLE / 1000;
        pair.key = text_hash(pair.key, &undo->start, sizeof(undo->start));
        pair.key = text_hash(pair.key, undo->after, strlen(undo->after) + 1);
        mutate_append(list, &pair);
    }
}

void mutate_combine(const struct source_set *set, const struct mutation_repair *repairs,
                    size_t repair_count, struct mutation_list *list)
{
    const size_t count = list->count;

    for (size_t i = 0; i < repair_count; i++) {
        for (size_t file = 0; file < set->count; file++) {
            if (strcmp(set->files[file].path, repairs[i].path) != 0)
                continue;
            struct mutation_undo undo = locate(&set->files[file], &repairs[i]);

            undo.repair = i;
            if (undo.is_set)
                combine_one(list, count, file, &undo);
        }
    }
}
