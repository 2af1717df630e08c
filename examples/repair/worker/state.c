/*
 * What the search remembers between two iterations; see state.h. The format is one item a line,
 * its first word says which. The last line is "end": a file without it is not whole.
 */
#include "state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEVELS_PER_LINE = 32,
    COUNT_MAX = 1000000, /* a damaged file must not make us take more memory than this many items */
};

void state_add_tabu(struct state *state, uint64_t key)
{
    if (state->tabu_count >= COUNT_MAX)
        return;
    state->tabu = text_realloc(state->tabu, state->tabu_count + 1, sizeof(*state->tabu));
    state->tabu[state->tabu_count++] = key;
}

bool state_is_tabu(const struct state *state, uint64_t key)
{
    for (size_t i = 0; i < state->tabu_count; i++) {
        if (state->tabu[i] == key)
            return true;
    }
    return false;
}

void state_add_repair(struct state *state, const struct mutation_repair *repair)
{
    struct text path = {0};

    text_printf(&path, "%s", repair->path);
    state->repairs = text_realloc(state->repairs, state->repair_count + 1, sizeof(*state->repairs));
    state->repairs[state->repair_count] = *repair;
    state->repairs[state->repair_count++].path = path.data;
}

void state_drop_repair(struct state *state, size_t index)
{
    if (index >= state->repair_count)
        return;
    free(state->repairs[index].path);
    state->repair_count--;
    memmove(&state->repairs[index], &state->repairs[index + 1],
            (state->repair_count - index) * sizeof(*state->repairs));
}

void state_fini(struct state *state)
{
    while (state->repair_count > 0)
        state_drop_repair(state, state->repair_count - 1);
    free(state->repairs);
    free(state->tabu);
    free(state->levels);
    *state = (struct state){0};
}

static void read_levels(struct state *state, const char *values)
{
    int level = 0;
    int used = 0;

    while (sscanf(values, "%d%n", &level, &used) == 1 && state->level_count < COUNT_MAX) {
        state->levels = text_realloc(state->levels, state->level_count + 1, sizeof(*state->levels));
        state->levels[state->level_count++] = level;
        values += used;
    }
}

/* An exchange by nothing has no last word. */
static void read_repair(struct state *state, const char *text)
{
    char path[256] = "";
    struct mutation_repair repair = {.path = path};

    if (sscanf(text, "%255s %d %d %23s %23s", path, &repair.line, &repair.column, repair.before,
               repair.after) >= 4 &&
        state->repair_count < COUNT_MAX)
        state_add_repair(state, &repair);
}

static void read_item(struct state *state, const char *word, const char *rest)
{
    struct check_score *score = &state->score;

    if (strcmp(word, "seed") == 0)
        state->seed = strtoull(rest, NULL, 10);
    else if (strcmp(word, "fingerprint") == 0)
        state->fingerprint = strtoull(rest, NULL, 16);
    else if (strcmp(word, "previous") == 0)
        state->previous = strtoull(rest, NULL, 16);
    else if (strcmp(word, "score") == 0)
        sscanf(rest, "%d %d %d %d", &score->errors, &score->failing, &score->total,
               &score->warnings);
    else if (strcmp(word, "position") == 0)
        state->position = strtoull(rest, NULL, 10);
    else if (strcmp(word, "tried") == 0)
        state->tried = strtol(rest, NULL, 10);
    else if (strcmp(word, "disputes") == 0)
        state->disputes = (int)strtol(rest, NULL, 10);
    else if (strcmp(word, "accepted") == 0)
        read_repair(state, rest);
    else if (strcmp(word, "tabu") == 0)
        state_add_tabu(state, strtoull(rest, NULL, 16));
    else if (strcmp(word, "levels") == 0)
        read_levels(state, rest);
}

static void read_items(struct state *state, char *content)
{
    char *rest_of_file = NULL;

    for (char *line = strtok_r(content, "\n", &rest_of_file); line != NULL;
         line = strtok_r(NULL, "\n", &rest_of_file)) {
        char *space = strchr(line, ' ');

        if (space == NULL)
            continue;
        *space = '\0';
        read_item(state, line, space + 1);
    }
}

enum state_outcome state_load(struct state *state, const char *path)
{
    static const char end[] = "\nend\n";
    struct text content = {0};
    enum state_outcome outcome = STATE_FRESH;
    int version = 0;
    bool is_whole = text_read_file(&content, path) && content.len > strlen(end) &&
                    strcmp(content.data + content.len - strlen(end), end) == 0;

    if (is_whole && sscanf(content.data, "repair-state %d", &version) == 1) {
        if (version == STATE_VERSION) {
            read_items(state, content.data);
            outcome = STATE_LOADED;
        } else {
            fprintf(stderr, "repair-worker: %s: version %d of the state is not known\n", path,
                    version);
            outcome = STATE_REFUSED;
        }
    }
    text_fini(&content);
    return outcome;
}

bool state_save(const struct state *state, const char *path)
{
    const struct check_score *score = &state->score;
    struct text out = {0};

    text_printf(&out, "repair-state %d\nseed %" PRIu64 "\nfingerprint %016" PRIx64, STATE_VERSION,
                state->seed, state->fingerprint);
    text_printf(&out, "\nprevious %016" PRIx64 "\nscore %d %d %d %d\n", state->previous,
                score->errors, score->failing, score->total, score->warnings);
    text_printf(&out, "position %zu\ntried %ld\ndisputes %d", state->position, state->tried,
                state->disputes);
    for (size_t i = 0; i < state->level_count; i++)
        text_printf(&out, "%s %d", i % LEVELS_PER_LINE == 0 ? "\nlevels" : "", state->levels[i]);
    text_printf(&out, "\n");
    for (size_t i = 0; i < state->repair_count; i++)
        text_printf(&out, "accepted %s %d %d %s %s\n", state->repairs[i].path,
                    state->repairs[i].line, state->repairs[i].column, state->repairs[i].before,
                    state->repairs[i].after);
    for (size_t i = 0; i < state->tabu_count; i++)
        text_printf(&out, "tabu %016" PRIx64 "\n", state->tabu[i]);
    text_printf(&out, "end\n");
    bool is_saved = text_replace_file(path, out.data, out.len, 0600);

    if (!is_saved)
        fprintf(stderr, "repair-worker: %s: %s\n", path, strerror(errno));
    text_fini(&out);
    return is_saved;
}
