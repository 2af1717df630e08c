// SPDX-License-Identifier: Apache-2.0
/*
 * An edit is a list of splices: replace the bytes from here to there. New members are put after the
 * last one of their object, with the white space between the last two of them.
 */
#include "prd/edit.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "prd/document.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct splice {
    size_t at;
    size_t end;
    size_t order; /* of those at the same place */
    char *text;   /* owned */
};

struct edit {
    struct prd_document document;
    struct splice *splices;
    size_t count;
    size_t size;
    int64_t time_ns;
};

/* ---- Splices -------------------------------------------------------------------------------- */

static void splice(struct edit *edit, size_t at, size_t end, struct buf *text)
{
    if (edit->count == edit->size) {
        edit->size = edit->size == 0 ? 16 : edit->size * 2;
        edit->splices = memory_resize(edit->splices, edit->size, sizeof(*edit->splices));
    }
    edit->splices[edit->count] =
        (struct splice){.at = at, .end = end, .order = edit->count, .text = buf_steal(text)};
    edit->count++;
}

static int compare_splices(const void *left, const void *right)
{
    const struct splice *a = left;
    const struct splice *b = right;
    if (a->at != b->at) {
        return a->at < b->at ? -1 : 1;
    }
    return (a->order > b->order) - (a->order < b->order);
}

static void apply(struct edit *edit, const char *mark, struct buf *ret_text)
{
    const struct prd_document *document = &edit->document;
    size_t at = 0;
    if (edit->count > 0) {
        qsort(edit->splices, edit->count, sizeof(*edit->splices), compare_splices);
    }
    buf_append(ret_text, mark, document->mark_len);
    for (size_t i = 0; i < edit->count; i++) {
        const struct splice *next = &edit->splices[i];
        buf_append(ret_text, document->text + at, next->at - at);
        buf_append_string(ret_text, next->text);
        at = next->end;
    }
    buf_append(ret_text, document->text + at, document->len - at);
}

static void edit_fini(struct edit *edit)
{
    for (size_t i = 0; i < edit->count; i++) {
        free(edit->splices[i].text);
    }
    free(edit->splices);
    prd_document_close(&edit->document);
}

/* ---- Members -------------------------------------------------------------------------------- */

/** What is between members of an object, and between a name and its value, in this file. */
static void add_member(struct edit *edit, const struct json_node *object, const char *name,
                       const struct buf *value)
{
    const char *text = edit->document.text;
    auto_buf struct buf added = {0};
    if (object->count == 0) {
        buf_printf(&added, "\"%s\": %s", name, buf_string(value));
        splice(edit, object->at + 1, object->at + 1, &added);
        return;
    }
    const struct json_node *last = &object->as.children[2 * ((size_t)object->count - 1)];
    size_t key_end = prd_document_end(&edit->document, last);
    size_t end = prd_document_end(&edit->document, last + 1);
    size_t before =
        object->count == 1 ? object->at + 1 : prd_document_end(&edit->document, last - 1);
    buf_append_string(&added, object->count == 1 ? "," : "");
    buf_append(&added, text + before, last->at - before);
    buf_printf(&added, "\"%s\"", name);
    buf_append(&added, text + key_end, last[1].at - key_end);
    buf_append(&added, buf_string(value), value->len);
    splice(edit, end, end, &added);
}

/** Write a member unless it has this value. @return whether something is written */
static bool set_member(struct edit *edit, const struct json_node *object, const char *name,
                       struct buf *value, bool is_same)
{
    const struct json_node *node = json_node_member(object, name);
    if (node == NULL) {
        add_member(edit, object, name, value);
        return true;
    }
    if (is_same) {
        return false;
    }
    splice(edit, node->at, prd_document_end(&edit->document, node), value);
    return true;
}

static bool set_bool(struct edit *edit, const struct json_node *object, const char *name,
                     bool truth)
{
    const struct json_node *node = json_node_member(object, name);
    auto_buf struct buf value = {0};
    buf_append_string(&value, truth ? "true" : "false");
    return set_member(edit, object, name, &value,
                      node != NULL && node->kind == JSON_NODE_BOOL && node->as.truth == truth);
}

static bool set_number(struct edit *edit, const struct json_node *object, const char *name,
                       int64_t number)
{
    const struct json_node *node = json_node_member(object, name);
    auto_buf struct buf value = {0};
    buf_printf(&value, "%" PRId64, number);
    return set_member(edit, object, name, &value,
                      node != NULL && node->kind == JSON_NODE_INTEGER && node->as.number == number);
}

static bool set_text(struct edit *edit, const struct json_node *object, const char *name,
                     const char *text)
{
    auto_buf struct buf value = {0};
    struct json_writer writer = json_writer(&value);
    json_write_string(&writer, NULL, text);
    return set_member(edit, object, name, &value,
                      prd_node_is(json_node_member(object, name), text));
}

/** Write a time where there is none yet; with `is_none`, take one away. */
static void set_time(struct edit *edit, const struct json_node *object, const char *name,
                     bool is_none)
{
    const struct json_node *node = json_node_member(object, name);
    bool has_time = node != NULL && node->kind != JSON_NODE_NULL && !prd_node_is(node, "");
    auto_buf struct buf value = {0};
    if (has_time != is_none) {
        return;
    }
    if (is_none) {
        buf_append_string(&value, "null");
        set_member(edit, object, name, &value, false);
        return;
    }
    char text[CLOCK_UTC_SIZE];
    clock_format_utc(edit->time_ns, text);
    set_text(edit, object, name, text);
}

/* ---- Words ---------------------------------------------------------------------------------- */

/** What a dialect calls a status by itself. */
static const char *default_word(enum prd_dialect dialect, enum prd_status status)
{
    bool is_master = dialect == PRD_TASK_MASTER;
    switch (status) {
    case PRD_PENDING:
        return dialect == PRD_STORIES ? "open" : "pending";
    case PRD_IN_PROGRESS:
        return is_master ? "in-progress" : "in_progress";
    case PRD_DONE:
        return dialect == PRD_ARETE ? "complete" : "done";
    case PRD_FAILED:
        return dialect == PRD_STORIES ? "open" : is_master ? "pending" : "failed";
    case PRD_SET_ASIDE:
        return dialect == PRD_STORIES ? "open" : "deferred";
    }
    return "pending";
}

/** The word of a status: the one that the file uses already, else the dialect's. */
static const char *word_of(const struct edit *edit, enum prd_status status, struct buf *scratch)
{
    const struct json_node *list = edit->document.list;
    const char *otherwise = default_word(edit->document.dialect, status);
    enum prd_status meant = PRD_PENDING;
    prd_status_of(otherwise, &meant);
    for (uint32_t i = 0; i < list->count && meant == status; i++) {
        const struct json_node *node = json_node_member(&list->as.children[i], "status");
        enum prd_status found;
        if (node == NULL || node->kind != JSON_NODE_STRING || node->count > 32) {
            continue;
        }
        buf_clear(scratch);
        buf_append(scratch, node->as.bytes, node->count);
        if (prd_status_of(buf_string(scratch), &found) && found == status &&
            strcmp(buf_string(scratch), "review") != 0) {
            return buf_string(scratch);
        }
    }
    return otherwise;
}

/* ---- Changes -------------------------------------------------------------------------------- */

/** Steps of a task of task-master that is done are done as well. */
static void finish_steps(struct edit *edit, const struct json_node *task, const char *word)
{
    const struct json_node *steps = json_node_member(task, "subtasks");
    for (uint32_t i = 0; steps != NULL && steps->kind == JSON_NODE_ARRAY && i < steps->count; i++) {
        const struct json_node *step = &steps->as.children[i];
        if (step->kind == JSON_NODE_OBJECT && prd_state_of(step).status != PRD_DONE) {
            set_text(edit, step, "status", word);
        }
    }
}

static bool writes_status(const struct prd_document *document)
{
    switch (document->dialect) {
    case PRD_ARETE:
    case PRD_STORIES:
    case PRD_TASK_MASTER:
        return true;
    case PRD_LIST:
        return document->members.has_status;
    case PRD_RALPH:
    case PRD_RALPH_TUI:
    case PRD_MARKDOWN:
    case PRD_SPEC_KIT:
    case PRD_GHERKIN:
        break;
    }
    return false;
}

static bool writes_passes(const struct prd_document *document)
{
    enum prd_dialect dialect = document->dialect;
    return dialect == PRD_ARETE || dialect == PRD_RALPH || dialect == PRD_RALPH_TUI ||
           (dialect == PRD_LIST && (document->members.has_passes || !document->members.has_status));
}

static bool set_status(struct edit *edit, const struct json_node *task, enum prd_status status)
{
    const struct prd_document *document = &edit->document;
    const struct json_node *node = json_node_member(task, "status");
    bool is_written = false;
    if (writes_passes(document)) {
        is_written = set_bool(edit, task, "passes", status == PRD_DONE);
    }
    if (writes_status(document)) {
        auto_buf struct buf scratch = {0};
        const char *word = word_of(edit, status, &scratch);
        auto_buf struct buf found = {0};
        enum prd_status said;
        enum prd_status meant = PRD_PENDING;
        if (node != NULL && node->kind == JSON_NODE_STRING) {
            buf_append(&found, node->as.bytes, node->count);
        }
        bool says_it = prd_status_of(buf_string(&found), &said) && prd_status_of(word, &meant) &&
                       said == meant;
        is_written = (!says_it && set_text(edit, task, "status", word)) || is_written;
        if (document->dialect == PRD_TASK_MASTER && status == PRD_DONE) {
            finish_steps(edit, task, word);
        }
    }
    if (document->dialect == PRD_STORIES) {
        set_time(edit, task, "startedAt", status != PRD_IN_PROGRESS && status != PRD_DONE);
        set_time(edit, task, "completedAt", status != PRD_DONE);
    }
    return is_written;
}

static enum prd_change_outcome change_task(struct edit *edit, const struct prd_change *change)
{
    const struct prd_document *document = &edit->document;
    const struct json_node *task = prd_document_task(document, change->id);
    if (task == NULL) {
        return PRD_CHANGE_GONE;
    }
    bool is_arete = document->dialect == PRD_ARETE;
    bool is_list = document->dialect == PRD_LIST;
    bool is_ralph = document->dialect == PRD_RALPH || document->dialect == PRD_RALPH_TUI;
    bool has_notes = is_arete || is_ralph || (is_list && document->members.has_notes);
    enum prd_status now = prd_state_of(task).status;
    bool is_kept =
        change->has_status && change->has_was && now != change->was && now != change->status;
    bool is_written = false;
    if (change->has_status && !is_kept) {
        is_written = set_status(edit, task, change->status);
    }
    if (change->attempts >= 0 && (is_arete || (is_list && document->members.has_attempts))) {
        is_written = set_number(edit, task, "attemptCount", change->attempts) || is_written;
    }
    if (change->notes != NULL && has_notes) {
        is_written = set_text(edit, task, "notes", change->notes) || is_written;
    }
    if (change->commit != NULL && (is_arete || (is_list && document->members.has_commit))) {
        is_written = set_text(edit, task, "commitSha", change->commit) || is_written;
    }
    return is_kept ? PRD_CHANGE_KEPT : is_written ? PRD_CHANGE_WRITTEN : PRD_CHANGE_SAME;
}

/* ---- Metadata ------------------------------------------------------------------------------- */

/** The status of each task of the list after the changes, counted. */
static void count_states(const struct edit *edit, const struct prd_change *changes, size_t count,
                         const enum prd_change_outcome *outcomes, size_t counts[static 5])
{
    const struct json_node *list = edit->document.list;
    for (uint32_t i = 0; i < list->count; i++) {
        counts[prd_state_of(&list->as.children[i]).status]++;
    }
    for (size_t i = 0; i < count; i++) {
        bool is_set = changes[i].has_status && outcomes[i] != PRD_CHANGE_KEPT &&
                      outcomes[i] != PRD_CHANGE_GONE;
        if (is_set) {
            const struct json_node *task = prd_document_task(&edit->document, changes[i].id);
            counts[prd_state_of(task).status]--;
            counts[changes[i].status]++;
        }
    }
}

static void set_count(struct edit *edit, const struct json_node *metadata, const char *name,
                      size_t count)
{
    if (json_node_member(metadata, name) != NULL) {
        set_number(edit, metadata, name, (int64_t)count);
    }
}

/** Counts and times that follow from the tasks, where the file has a place for them. */
static void set_metadata(struct edit *edit, const size_t counts[static 5])
{
    const struct json_node *metadata = json_node_member(edit->document.holder, "metadata");
    size_t total = edit->document.list->count;
    if (edit->document.dialect != PRD_ARETE || metadata == NULL ||
        metadata->kind != JSON_NODE_OBJECT || metadata->count == 0) {
        return;
    }
    set_count(edit, metadata, "totalTasks", total);
    set_count(edit, metadata, "completedTasks", counts[PRD_DONE]);
    set_count(edit, metadata, "failedTasks", counts[PRD_FAILED]);
    if (counts[PRD_PENDING] < total) {
        set_time(edit, metadata, "startedAt", false);
    }
    if (counts[PRD_DONE] == total) {
        set_time(edit, metadata, "completedAt", false);
    } else if (json_node_member(metadata, "completedAt") != NULL) {
        set_time(edit, metadata, "completedAt", true);
    }
}

static int compare_texts(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/** Two changes of one task would be two splices of one place. */
static int check_changes(const struct prd_change *changes, size_t count, struct rondo_error *err)
{
    auto_free const char **ids = memory_new_zero(count + 1, sizeof(*ids));
    for (size_t i = 0; i < count; i++) {
        ids[i] = changes[i].id;
    }
    qsort(ids, count, sizeof(*ids), compare_texts);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(ids[i - 1], ids[i]) == 0) {
            return error_set(err, RONDO_ERR_INVALID, "two changes of task \"%s\"", ids[i]);
        }
    }
    return 0;
}

int prd_edit(const char *text, size_t len, const char *tag, const struct prd_change *changes,
             size_t count, int64_t time_ns, struct buf *ret_text,
             enum prd_change_outcome *ret_outcomes, struct rondo_error *err)
{
    struct edit edit = {.time_ns = time_ns};
    int r = check_changes(changes, count, err);
    r = r != 0 ? r : prd_document_open(text, len, tag, &edit.document, NULL, err);
    if (r != 0) {
        return r;
    }
    size_t counts[5] = {0};
    auto_free enum prd_change_outcome *outcomes = memory_new_zero(count + 1, sizeof(*outcomes));
    bool is_written = false;
    for (size_t i = 0; i < count; i++) {
        outcomes[i] = change_task(&edit, &changes[i]);
        is_written = is_written || outcomes[i] == PRD_CHANGE_WRITTEN;
    }
    if (is_written) {
        count_states(&edit, changes, count, outcomes, counts);
        set_metadata(&edit, counts);
    }
    apply(&edit, text, ret_text);
    edit_fini(&edit);
    if (ret_outcomes != NULL && count > 0) {
        memcpy(ret_outcomes, outcomes, count * sizeof(*outcomes));
    }
    return 0;
}
