/* Finds and reads the C files that may be changed; see source.h. */
#include "source.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_source(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');

    return dot != NULL && entry->d_name[0] != '.' &&
           (strcmp(dot, ".c") == 0 || strcmp(dot, ".h") == 0);
}

/* Unlike alphasort() this does not depend on the locale, on which runs must not differ. */
static int compare_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int count_lines(const struct text *content)
{
    int lines = 1;

    for (size_t i = 0; i < content->len; i++)
        lines += content->data[i] == '\n' ? 1 : 0;
    return lines;
}

static bool load_file(struct source_set *set, const char *root, const char *name)
{
    struct source_file file = {0};
    struct text path = {0};
    struct text full_path = {0};

    text_printf(&path, "src/%s", name);
    text_printf(&full_path, "%s/%s", root, path.data);
    bool is_read = text_read_file(&file.content, full_path.data);

    if (!is_read)
        fprintf(stderr, "repair-worker: %s: %s\n", full_path.data, strerror(errno));
    text_fini(&full_path);
    file.path = path.data;
    file.line_count = count_lines(&file.content);
    set->files = text_realloc(set->files, set->count + 1, sizeof(*set->files));
    set->files[set->count++] = file;
    return is_read;
}

bool source_load(struct source_set *set, const char *root)
{
    struct dirent **entries = NULL;
    struct text directory = {0};
    bool is_loaded = true;

    text_printf(&directory, "%s/src", root);
    int count = scandir(directory.data, &entries, is_source, compare_names);

    if (count <= 0 || count > SOURCE_FILES_MAX) {
        fprintf(stderr, "repair-worker: %s: needs 1 to %d C files\n", directory.data,
                (int)SOURCE_FILES_MAX);
        is_loaded = false;
    }
    for (int i = 0; i < count; i++) {
        is_loaded = is_loaded && load_file(set, root, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    text_fini(&directory);
    return is_loaded;
}

void source_fini(struct source_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        free(set->files[i].path);
        text_fini(&set->files[i].content);
    }
    free(set->files);
    *set = (struct source_set){0};
}

uint64_t source_fingerprint(const struct source_set *set)
{
    uint64_t hash = TEXT_HASH_START;

    for (size_t i = 0; i < set->count; i++) {
        const struct source_file *file = &set->files[i];

        hash = text_hash(hash, file->path, strlen(file->path) + 1);
        hash = text_hash(hash, &file->content.len, sizeof(file->content.len));
        hash = text_hash(hash, text_string(&file->content), file->content.len);
    }
    return hash;
}
