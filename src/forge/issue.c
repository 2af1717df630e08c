// SPDX-License-Identifier: Apache-2.0
/*
 * Issues. The list is conditional: what is remembered of it is the tag of an answer that changes
 * whenever the list does. A list of one page that is not full is such an answer itself. Of a longer
 * one no page is: an issue that is closed or relabelled changes the page where it was, and a new
 * one the last page. Then it is the first page of all issues in any state, last changed first:
 * every change of an issue moves it there. It is read before the list, so that a change in between
 * is in the list already, and makes the next call read once too often rather than not at all. What
 * leaves no trace there (an issue that is deleted) is seen by reading the list once an hour.
 */
#include "base/auto.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/memory.h"
#include "forge/parts.h"
#include "forge/people.h"
#include "forge/shape.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

/** How long a probe that has not changed stands for the list. */
#define PROBED_NS (3600 * NS_PER_S)

void forge_issues_fini(struct forge_issues *issues)
{
    for (size_t i = 0; i < issues->count; i++) {
        forge_issue_fini(&issues->items[i]);
    }
    free(issues->items);
    *issues = (struct forge_issues){0};
}

/* ---- What is remembered of a list ------------------------------------------------------------ */

static struct forge_memory *find_memory(struct forge *forge, const char *list)
{
    for (size_t i = 0; i < FORGE_MEMORIES; i++) {
        struct forge_memory *memory = &forge->memories[i];
        if (memory->list != NULL && strcmp(memory->list, list) == 0) {
            return memory;
        }
    }
    return NULL;
}

static void forget(struct forge *forge, const char *list)
{
    struct forge_memory *memory = find_memory(forge, list);
    if (memory != NULL) {
        free(memory->list);
        free(memory->path);
        *memory = (struct forge_memory){0};
    }
}

static void remember(struct forge *forge, const char *list, const char *path, const char *etag)
{
    forget(forge, list);
    if (etag[0] == '\0') {
        return;
    }
    struct forge_memory *memory = &forge->memories[forge->next_memory];
    forge->next_memory = (forge->next_memory + 1) % FORGE_MEMORIES;
    free(memory->list);
    free(memory->path);
    memory->list = memory_dup_string(list);
    memory->path = memory_dup_string(path);
    memory->read_ns = clock_monotonic(forge->clock);
    memcpy(memory->etag, etag, FORGE_ETAG_SIZE);
}

/** What is remembered, unless it is of a probe and old. */
static struct forge_memory *find_fresh(struct forge *forge, const char *list)
{
    struct forge_memory *memory = find_memory(forge, list);
    bool is_probed = memory != NULL && strcmp(memory->path, list) != 0;
    if (is_probed && clock_monotonic(forge->clock) - memory->read_ns >= PROBED_NS) {
        forget(forge, list);
        return NULL;
    }
    return memory;
}

/* ---- Reading a list -------------------------------------------------------------------------- */

/** A list while it is read. */
struct issue_listing {
    struct forge *forge;
    const char *const *labels; /**< all of them are needed */
    struct forge_issues issues;
    size_t size;
    size_t text_bytes;
    size_t entries; /**< of the first page */
    bool has_page;
};

static bool is_wanted(const struct issue_listing *listing, const struct forge_issue *issue)
{
    bool is_wanted = !issue->is_pull;
    for (size_t i = 0; listing->labels[i] != NULL; i++) {
        is_wanted = is_wanted && shape_has_label(issue, listing->labels[i]);
    }
    return is_wanted;
}

/** @return whether there is room for another one */
static bool add_issue(struct issue_listing *listing, struct forge_issue *issue)
{
    struct forge_issues *issues = &listing->issues;
    listing->text_bytes += strlen(issue->body);
    if (issues->count == LIMIT_FORGE_ISSUES || listing->text_bytes > LIMIT_FORGE_LIST_BYTES) {
        forge_issue_fini(issue);
        return false;
    }
    if (issues->count == listing->size) {
        listing->size = listing->size == 0 ? 64 : listing->size * 2;
        issues->items = memory_resize(issues->items, listing->size, sizeof(*issues->items));
    }
    issues->items[issues->count++] = *issue;
    return true;
}

/** An issue, but with more labels or assignees than are read. It must not hide all others. */
static bool is_too_large(const struct forge *forge, struct json_object *entry)
{
    bool is_large = json_length(json_member(entry, "labels")) > LIMIT_FORGE_NAMES ||
                    json_length(json_member(entry, "assignees")) > LIMIT_FORGE_NAMES;
    return is_large && json_get_int(entry, forge->ops->names.number, 0) > 0;
}

static bool take_page(void *context, struct json_object *entries)
{
    struct issue_listing *listing = context;
    listing->entries = listing->has_page ? listing->entries : json_length(entries);
    listing->has_page = true;
    for (size_t i = 0; i < json_length(entries); i++) {
        struct json_object *entry = json_object_array_get_idx(entries, i);
        struct forge_issue issue;
        if (!shape_issue(&listing->forge->ops->names, entry, &issue)) {
            if (is_too_large(listing->forge, entry)) {
                continue;
            }
            forge_bad_answer(listing->forge, false, "a list of issues");
            return false;
        }
        if (!is_wanted(listing, &issue)) {
            forge_issue_fini(&issue);
        } else if (!add_issue(listing, &issue)) {
            return false;
        }
    }
    return true;
}

static int compare_age(const void *a, const void *b)
{
    const struct forge_issue *left = a;
    const struct forge_issue *right = b;
    if (left->created_ns != right->created_ns) {
        return left->created_ns < right->created_ns ? -1 : 1;
    }
    return left->number < right->number ? -1 : left->number > right->number;
}

/** An issue that moved to the next page while pages were read is there twice. */
static void drop_doubles(struct forge_issues *issues)
{
    size_t kept = 0;
    for (size_t i = 0; i < issues->count; i++) {
        if (kept > 0 && issues->items[kept - 1].number == issues->items[i].number) {
            forge_issue_fini(&issues->items[i]);
        } else {
            issues->items[kept++] = issues->items[i];
        }
    }
    issues->count = kept;
}

static void finish(struct issue_listing *listing, struct forge_issues *ret_issues)
{
    struct forge_issues *issues = &listing->issues;
    if (issues->count > 0) {
        qsort(issues->items, issues->count, sizeof(*issues->items), compare_age);
    }
    drop_doubles(issues);
    *ret_issues = *issues;
    *issues = (struct forge_issues){0};
}

/** Read the tag of the answer in which every change of an issue shows. @return FORGE_NOT_MODIFIED
 *  when it is the one that is known */
static enum forge_end probe(struct forge *forge, const char *path, const char *etag, char *ret_etag)
{
    auto_reply struct forge_reply reply = {0};
    const struct forge_request request = {.path = path, .etag = etag};
    enum forge_end end = forge_send(forge, &request, &reply);
    if (end == FORGE_OK) {
        memcpy(ret_etag, reply.etag, FORGE_ETAG_SIZE);
    }
    return end;
}

/** No forge has smaller pages: a list with fewer entries is on one page, and its next entry will be
 *  there, too. */
#define SHORT_PAGE 30

/** @param ret_is_short whether its first page changes whenever the list does */
static enum forge_end read_list(struct issue_listing *listing, const char *path, const char *etag,
                                char *ret_etag, bool *ret_is_short)
{
    struct forge_list list = {
        .path = path, .etag = etag, .take_page = take_page, .context = listing};
    enum forge_end end = forge_read_list(listing->forge, &list);
    memcpy(ret_etag, list.first_etag, FORGE_ETAG_SIZE);
    *ret_is_short = !list.has_more && listing->entries < SHORT_PAGE;
    return end == FORGE_OK ? people_fill_issues(listing->forge, &listing->issues) : end;
}

/** Read a list of which nothing is known, or whose tag was of the probe. */
static enum forge_end read_probed(struct issue_listing *listing, const char *list,
                                  const char *probe_path)
{
    struct forge *forge = listing->forge;
    char etag[FORGE_ETAG_SIZE] = "";
    char probe_etag[FORGE_ETAG_SIZE] = "";
    bool is_short = false;
    enum forge_end end = FORGE_OK;
    struct forge_memory *memory = find_memory(forge, list);
    if (probe_path != NULL) {
        end = probe(forge, probe_path, memory != NULL ? memory->etag : NULL, probe_etag);
    }
    if (end == FORGE_OK) {
        end = read_list(listing, list, NULL, etag, &is_short);
    }
    if (end == FORGE_OK && is_short) {
        remember(forge, list, list, etag);
    } else if (end == FORGE_OK && probe_path != NULL) {
        remember(forge, list, probe_path, probe_etag);
    }
    return end;
}

/** Read a list whose first page was all there is. */
static enum forge_end read_short(struct issue_listing *listing, const char *list, const char *known)
{
    char etag[FORGE_ETAG_SIZE] = "";
    bool is_short = false;
    enum forge_end end = read_list(listing, list, known, etag, &is_short);
    if (end == FORGE_OK && is_short) {
        remember(listing->forge, list, list, etag);
    } else if (end == FORGE_OK) {
        forget(listing->forge, list);
    }
    return end;
}

enum forge_end forge_list_issues(struct forge *forge, const char *const *labels,
                                 struct forge_issues *ret_issues)
{
    static const char *const none[] = {NULL};
    auto_buf struct buf list = {0};
    auto_buf struct buf probe_path = {0};
    struct issue_listing listing = {.forge = forge, .labels = labels != NULL ? labels : none};
    buf_printf(&list, "%s/issues?", forge->root);
    forge->ops->write_list_query(listing.labels, &list);
    if (forge->ops->probe_query != NULL) {
        buf_printf(&probe_path, "%s/issues?%s", forge->root, forge->ops->probe_query);
    }
    const struct forge_memory *memory = find_fresh(forge, buf_string(&list));
    bool is_short = memory != NULL && strcmp(memory->path, buf_string(&list)) == 0;
    enum forge_end end = is_short ? read_short(&listing, buf_string(&list), memory->etag)
                                  : read_probed(&listing, buf_string(&list), probe_path.data);
    if (end == FORGE_OK) {
        finish(&listing, ret_issues);
    }
    forge_issues_fini(&listing.issues);
    return end;
}

/* ---- One issue ------------------------------------------------------------------------------- */

enum forge_end forge_read_issue(struct forge *forge, int64_t number, struct forge_issue *ret_issue)
{
    auto_buf struct buf path = {0};
    auto_reply struct forge_reply reply = {0};
    buf_printf(&path, "%s/issues/%" PRId64, forge->root, number);
    enum forge_end end = forge_get(forge, buf_string(&path), &reply);
    if (end != FORGE_OK) {
        return end;
    }
    /* GitLab leaves a closed issue where it was. */
    if (json_member(reply.json, "moved_to_id") != NULL) {
        return forge_end_with(forge, FORGE_MOVED, "%s: the issue %" PRId64 " is now another one",
                              forge->place.host, number);
    }
    if (!shape_issue(&forge->ops->names, reply.json, ret_issue)) {
        return forge_bad_answer(forge, false, "an issue");
    }
    if (ret_issue->number != number) {
        forge_issue_fini(ret_issue);
        return forge_bad_answer(forge, false, "the issue that was asked for");
    }
    struct forge_issues one = {.items = ret_issue, .count = 1};
    end = people_fill_issues(forge, &one);
    if (end != FORGE_OK) {
        forge_issue_fini(ret_issue);
    }
    return end;
}
