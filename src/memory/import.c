// SPDX-License-Identifier: Apache-2.0
/*
 * Taking memories in. What an owner has already (same kind, same content) is left out, so that an
 * import that was interrupted can simply be repeated.
 */
#include "memory/import.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/time/calendar.h"
#include "os/file.h"
#include "tool/datetime/calendar.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <uthash.h>

/** Memories that are stored in one transaction. */
#define IMPORT_STEP 128

/** What the store has, by owner, kind and content. */
struct known_memory {
    unsigned char digest[DIGEST_SIZE];
    UT_hash_handle hh;
};

/** Who got memories. */
struct import_owner {
    char name[LIMIT_MEMORY_OWNER_LEN + 1];
    UT_hash_handle hh;
};

struct import {
    struct store *store;
    const struct redact *redact;
    const char *owner; /* or NULL: as the file says */
    struct known_memory *known;
    struct import_owner *owners;
    struct memories_item items[IMPORT_STEP];
    size_t count;
    int64_t next_id; /* for items of last_owner */
    uint32_t ids_left;
    char last_owner[LIMIT_MEMORY_OWNER_LEN + 1];
    struct memories_imported done;
};

int64_t import_time(const char *text)
{
    struct calendar_time time;
    if (strnlen(text, CALENDAR_ISO_SIZE) >= CALENDAR_ISO_SIZE || !calendar_parse_iso(text, &time) ||
        time.year < 1970 || time.year > 2200) {
        return 0;
    }
    int64_t seconds = calendar_days(time.year, time.month, time.day) * 86400 + time.hour * 3600 +
                      time.minute * 60 + time.second;
    seconds -= time.has_offset ? time.offset_seconds : 0;
    return seconds <= 0 ? 0 : seconds * NS_PER_S + time.microsecond * INT64_C(1000);
}

static void digest_of(const struct store_memory *memory, unsigned char *ret_digest)
{
    auto_buf struct buf text = {0};
    buf_printf(&text, "%s\n%d\n%s", memory->owner, memory->kind, memory->content);
    struct digest digest = digest_begin();
    digest_add(&digest, buf_string(&text), text.len);
    digest_finish(&digest, ret_digest);
}

/** @return whether it was not known before */
static bool note_known(struct import *import, const struct store_memory *memory)
{
    struct known_memory *known = memory_new_zero(1, sizeof(*known));
    struct known_memory *found = NULL;
    digest_of(memory, known->digest);
    HASH_FIND(hh, import->known, known->digest, DIGEST_SIZE, found);
    if (found != NULL) {
        free(known);
        return false;
    }
    HASH_ADD(hh, import->known, digest, DIGEST_SIZE, known);
    return true;
}

static bool read_known(const struct store_memory *memory, void *context)
{
    note_known(context, memory);
    return true;
}

/** Store what was gathered. */
static int flush(struct import *import, struct rondo_error *err)
{
    struct store_memory_change changes[IMPORT_STEP];
    uint64_t changed = 0;
    for (size_t i = 0; i < import->count; i++) {
        changes[i] = (struct store_memory_change){.kind = STORE_MEMORY_ADD,
                                                  .memory = import->items[i].memory};
    }
    int r = import->count == 0 ? 0
                               : import->store->ops->change_memories(import->store, changes,
                                                                     import->count, &changed, err);
    import->done.added += r == 0 ? import->count : 0;
    for (size_t i = 0; i < import->count; i++) {
        memories_item_fini(&import->items[i]);
    }
    import->count = 0;
    return r;
}

static void note_owner(struct import *import, const char *name)
{
    struct import_owner *owner = NULL;
    HASH_FIND_STR(import->owners, name, owner);
    if (owner == NULL) {
        owner = memory_new_zero(1, sizeof(*owner));
        snprintf(owner->name, sizeof(owner->name), "%s", name);
        HASH_ADD_STR(import->owners, name, owner);
    }
}

/** Keep the number of memories in bounds. Once, at the end: it counts those that stay. */
static int prune(struct import *import, struct rondo_error *err)
{
    int r = 0;
    uint64_t changed = 0;
    struct import_owner *owner, *next;
    HASH_ITER(hh, import->owners, owner, next)
    {
        struct store_memory_change changes[STORE_MEMORY_KIND_COUNT];
        for (int i = 0; i < STORE_MEMORY_KIND_COUNT; i++) {
            changes[i] = (struct store_memory_change){
                .kind = STORE_MEMORY_PRUNE,
                .memory = {.owner = owner->name, .kind = (enum store_memory_kind)i},
                .keep = MEMORIES_KEPT};
        }
        if (r == 0) {
            r = import->store->ops->change_memories(import->store, changes, STORE_MEMORY_KIND_COUNT,
                                                    &changed, err);
        }
    }
    return r;
}

/** The next id for an owner; ids are reserved many at a time. */
static int next_id(struct import *import, const char *owner, int64_t *ret_id,
                   struct rondo_error *err)
{
    if (import->ids_left == 0 || strcmp(import->last_owner, owner) != 0) {
        int r = import->store->ops->reserve_memories(import->store, owner, IMPORT_STEP,
                                                     &import->next_id, err);
        if (r < 0) {
            return r;
        }
        import->ids_left = IMPORT_STEP;
        note_owner(import, owner);
        snprintf(import->last_owner, sizeof(import->last_owner), "%s", owner);
    }
    import->ids_left--;
    *ret_id = import->next_id++;
    return 0;
}

static bool is_acceptable(const struct store_memory *memory)
{
    return memory->owner != NULL && memory->owner[0] != '\0' &&
           strnlen(memory->owner, LIMIT_MEMORY_OWNER_LEN + 1) <= LIMIT_MEMORY_OWNER_LEN &&
           memory->content[strspn(memory->content, " \t\r\n")] != '\0' &&
           strnlen(memory->content, LIMIT_MEMORY_BYTES + 1) <= LIMIT_MEMORY_BYTES;
}

/** Take one memory of the file. */
static int take(const struct store_memory *given, void *context, struct rondo_error *err)
{
    struct import *import = context;
    struct store_memory memory = *given;
    memory.owner = import->owner != NULL ? import->owner : given->owner;
    if (!is_acceptable(&memory)) {
        import->done.refused++;
        return 0;
    }
    struct memories_item *item = &import->items[import->count];
    int64_t id = 0;
    int r = next_id(import, memory.owner, &id, err);
    if (r < 0) {
        return r;
    }
    if (memories_prepare_as(id, import->redact, &memory, item, NULL) < 0) {
        import->done.refused++;
        return 0;
    }
    if (!note_known(import, &item->memory)) { /* compared as it would be stored */
        memories_item_fini(item);
        import->done.known++;
        return 0;
    }
    return ++import->count == IMPORT_STEP ? flush(import, err) : 0;
}

/** Take a line that export wrote. */
static int take_line(struct import *import, const char *line, size_t len, struct rondo_error *err)
{
    auto_json struct json_object *object = NULL;
    struct store_memory memory = {.kind = STORE_SEMANTIC};
    if (json_parse(line, len, &object, NULL) < 0 ||
        !json_object_is_type(object, json_type_object) ||
        !memories_kind_from_name(json_get_string(object, "kind", ""), &memory.kind)) {
        import->done.refused++;
        return 0;
    }
    struct json_object *metadata = json_member(object, "metadata");
    memory.owner = json_get_string(object, "agent", NULL);
    memory.content = json_get_string(object, "content", "");
    memory.category = json_get_string(object, "category", NULL);
    memory.metadata = metadata != NULL
                          ? json_object_to_json_string_ext(
                                metadata, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE)
                          : NULL;
    memory.run_id = json_get_string(object, "run_id", NULL);
    int64_t iteration = json_get_int(object, "iteration", 0);
    memory.iteration = iteration > 0 && iteration < INT64_MAX ? (uint64_t)iteration : 0;
    memory.source = json_get_string(object, "source", "import");
    memory.source = memory.source[0] != '\0' ? memory.source : "import";
    memory.created_ns = import_time(json_get_string(object, "created", ""));
    memory.consolidated_ns = import_time(json_get_string(object, "consolidated", ""));
    return take(&memory, import, err);
}

static int take_lines(struct import *import, const struct buf *text, struct rondo_error *err)
{
    const char *line = buf_string(text);
    const char *end = line + text->len;
    int64_t rows = 0;
    int r = 0;
    if (line == end || line[strspn(line, " \t\r\n")] != '{') {
        return error_set(err, RONDO_ERR_INVALID,
                         "it is neither an export of `rondo memory export` (a JSON object on each "
                         "line) nor an SQLite store of InitRunner 1.0 to 1.2 (.db)");
    }
    while (r == 0 && line < end) {
        const char *next = memchr(line, '\n', (size_t)(end - line));
        size_t len = (size_t)((next != NULL ? next : end) - line);
        if (len > 0 && ++rows > LIMIT_MEMORY_IMPORT_ROWS) {
            return error_set(err, RONDO_ERR_LIMIT, "the file has more than %ld memories",
                             LIMIT_MEMORY_IMPORT_ROWS);
        }
        r = len > 0 ? take_line(import, line, len, err) : 0;
        line += len + 1;
    }
    return r;
}

/** A log with content means that InitRunner has the store open, and that rows are missing in it. */
static int check_log(const char *path, struct rondo_error *err)
{
    auto_buf struct buf log = {0};
    struct stat status;
    buf_printf(&log, "%s-wal", path);
    /* opens: only a size, of a file beside the one that the user named */
    return stat(buf_string(&log), &status) == 0 && status.st_size > 0
               ? error_set(err, RONDO_ERR_STATE,
                           "%s has changes that are not in the store yet; end InitRunner first",
                           buf_string(&log))
               : 0;
}

/** Later versions of InitRunner have stores of other kinds: a file or a folder. */
static int check_kind(const char *path, struct rondo_error *err)
{
    static const char *const endings[] = {".zvec", ".lance"};
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/') {
        len--;
    }
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        size_t ending = strlen(endings[i]);
        if (len > ending && strncmp(path + len - ending, endings[i], ending) == 0) {
            return error_set(err, RONDO_ERR_UNSUPPORTED,
                             "stores of InitRunner 1.3 and later (%s) cannot be read. What can be "
                             "imported: exports of `rondo memory export`, and SQLite stores of "
                             "InitRunner 1.0 to 1.2 (.db)",
                             endings[i]);
        }
    }
    return 0;
}

static int take_file(struct import *import, const char *path, struct rondo_error *err)
{
    auto_buf struct buf bytes = {0};
    int r = check_kind(path, err);
    if (r == 0) {
        /* opens: the file that the user named; it is only read */
        r = file_read(path, LIMIT_MEMORY_IMPORT_BYTES, &bytes, err);
    }
    if (r < 0) {
        return r;
    }
    if (!import_is_sqlite(buf_string(&bytes), bytes.len)) {
        return take_lines(import, &bytes, err);
    }
    if (import->owner == NULL) {
        return error_set(err, RONDO_ERR_INVALID,
                         "a store of InitRunner does not say whose memories it has; name the "
                         "agent");
    }
    r = check_log(path, err);
    return r < 0 ? r : import_read_initrunner(&bytes, take, import, &import->done.refused, err);
}

static void free_notes(struct import *import)
{
    struct known_memory *known = import->known;
    struct import_owner *owner = import->owners;
    HASH_CLEAR(hh, import->known); /* The elements stay, and their links. */
    HASH_CLEAR(hh, import->owners);
    while (known != NULL) {
        struct known_memory *next = known->hh.next;
        free(known);
        known = next;
    }
    while (owner != NULL) {
        struct import_owner *next = owner->hh.next;
        free(owner);
        owner = next;
    }
}

int memories_import(struct store *store, const struct redact *redact, const char *path,
                    const char *owner, struct memories_imported *ret_imported,
                    struct rondo_error *err)
{
    struct import *import = memory_new_zero(1, sizeof(*import));
    const struct store_memory_query query = {.owner = owner};
    import->store = store;
    import->redact = redact;
    import->owner = owner;
    int r = store->ops->read_memories(store, &query, read_known, import, err);
    if (r == 0) {
        r = take_file(import, path, err);
    }
    if (r == 0) {
        r = flush(import, err);
    }
    if (r == 0) {
        r = prune(import, err);
    }
    if (r < 0) {
        error_prefix(err, "cannot import %s", path);
    }
    *ret_imported = import->done;
    for (size_t i = 0; i < import->count; i++) {
        memories_item_fini(&import->items[i]);
    }
    free_notes(import);
    free(import);
    return r;
}
