/* How likely each line is to hold a defect; see suspect.h. */
#include "suspect.h"

#include <stdlib.h>
#include <string.h>

enum {
    RARE_LINES_MAX = 6, /* a name on more lines than that connects nothing */
    SPREAD_PERMILLE = 700,
    UNRELATED = 50, /* a line of which nothing is known and that nothing points at */
};

/* One name on one line. */
struct mention {
    uint64_t name;
    int *level;
};

struct mention_list {
    struct mention *items;
    size_t count;
};

void suspect_init(struct suspect_map *map, const struct source_set *set)
{
    map->offsets = text_realloc(NULL, set->count, sizeof(*map->offsets));
    map->count = 0;
    for (size_t i = 0; i < set->count; i++) {
        map->offsets[i] = map->count;
        map->count += (size_t)set->files[i].line_count;
    }
    map->levels = text_realloc(NULL, map->count, sizeof(*map->levels));
    for (size_t i = 0; i < map->count; i++)
        map->levels[i] = SUSPECT_UNKNOWN;
}

void suspect_fini(struct suspect_map *map)
{
    free(map->levels);
    free(map->offsets);
    *map = (struct suspect_map){0};
}

int *suspect_at(const struct suspect_map *map, const struct source_set *set, size_t file, int line)
{
    if (file >= set->count || line < 1 || line > set->files[file].line_count)
        return NULL;
    return &map->levels[map->offsets[file] + (size_t)line - 1];
}

size_t suspect_find_file(const struct source_set *set, const char *path, size_t len)
{
    size_t i = 0;

    while (i < set->count &&
           (strlen(set->files[i].path) != len || memcmp(set->files[i].path, path, len) != 0))
        i++;
    return i;
}

static void add_diagnostic(struct suspect_map *map, const struct source_set *set, const char *line,
                           size_t len)
{
    const char *colon = memchr(line, ':', len);
    const char *end = memmem(line, len, " error: ", 8);

    if (end == NULL)
        end = memmem(line, len, " warning: ", 10);
    if (colon == NULL || end == NULL || colon > end)
        return;
    int *level = suspect_at(map, set, suspect_find_file(set, line, (size_t)(colon - line)),
                            (int)strtol(colon + 1, NULL, 10));

    if (level != NULL)
        *level = SUSPECT_CERTAIN;
}

void suspect_add_diagnostics(struct suspect_map *map, const struct source_set *set,
                             const char *output)
{
    while (*output != '\0') {
        const size_t len = strcspn(output, "\n");

        add_diagnostic(map, set, output, len);
        output += len + (output[len] != '\0' ? 1 : 0);
    }
}

static void collect_mentions(const struct suspect_map *map, const struct source_set *set,
                             size_t file_index, struct mention_list *list)
{
    const struct source_file *file = &set->files[file_index];
    struct source_tokens tokens = {0};

    source_tokenise(file, &tokens);
    list->items = text_realloc(list->items, list->count + tokens.count + 1, sizeof(*list->items));
    for (size_t i = 0; i < tokens.count; i++) {
        const struct source_token *token = &tokens.items[i];

        if (token->kind == SOURCE_NAME)
            list->items[list->count++] = (struct mention){
                .name = text_hash(TEXT_HASH_START, file->content.data + token->start, token->len),
                .level = suspect_at(map, set, file_index, token->line)};
    }
    source_tokens_fini(&tokens);
}

static int compare_mentions(const void *a, const void *b)
{
    const struct mention *left = a;
    const struct mention *right = b;

    if (left->name != right->name)
        return left->name < right->name ? -1 : 1;
    return (left->level > right->level) - (left->level < right->level);
}

/* What a diagnosed line says holds for lines that tests know too: the cause of a warning about
 * the use of a variable may be its declaration. */
static void spread_group(const struct suspect_map *map, int *spread, const struct mention *group,
                         size_t count)
{
    int highest = 0;
    size_t lines = 0;

    for (size_t i = 0; i < count; i++) {
        lines += i == 0 || group[i].level != group[i - 1].level ? 1 : 0;
        if (*group[i].level > highest)
            highest = *group[i].level;
    }
    if (lines > RARE_LINES_MAX)
        return;
    for (size_t i = 0; i < count; i++) {
        int *target = &spread[group[i].level - map->levels];
        const int level = highest * SPREAD_PERMILLE / 1000;

        if ((*group[i].level == SUSPECT_UNKNOWN || highest == SUSPECT_CERTAIN) && level > *target)
            *target = level;
    }
}

void suspect_spread(struct suspect_map *map, const struct source_set *set)
{
    struct mention_list list = {0};
    int *spread = text_realloc(NULL, map->count, sizeof(*spread));
    size_t end = 0;

    for (size_t i = 0; i < map->count; i++)
        spread[i] = map->levels[i] == SUSPECT_UNKNOWN ? UNRELATED : SUSPECT_LEAST;
    for (size_t i = 0; i < set->count; i++)
        collect_mentions(map, set, i, &list);
    if (list.count > 0)
        qsort(list.items, list.count, sizeof(*list.items), compare_mentions);
    for (size_t start = 0; start < list.count; start = end) {
        end = start;
        while (end < list.count && list.items[end].name == list.items[start].name)
            end++;
        spread_group(map, spread, &list.items[start], end - start);
    }
    for (size_t i = 0; i < map->count; i++)
        map->levels[i] = spread[i] > map->levels[i] ? spread[i] : map->levels[i];
    free(list.items);
    free(spread);
}
