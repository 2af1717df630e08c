// SPDX-License-Identifier: Apache-2.0
/* Writing a new prd.json, and merging it with one that is there. */
#include "prd/write.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "prd/document.h"
#include "prd/draft.h"
#include "prd/json.h"

#include <inttypes.h>
#include <string.h>

/* Members that are written anew; all others of an existing file are copied. */
static const char *const head_members[] = {"name",       "project",  "goal",         "description",
                                           "branchName", "metadata", "qualityGates", "userStories",
                                           "tasks",      NULL};
static const char *const task_members[] = {"id",
                                           "title",
                                           "description",
                                           "acceptanceCriteria",
                                           "derivedCriteria",
                                           "dependsOn",
                                           "dependencies",
                                           "priority",
                                           "status",
                                           "passes",
                                           "attemptCount",
                                           "notes",
                                           "commitSha",
                                           NULL};

/** What is written, and what it replaces. */
struct prd_writing {
    const struct prd *prd;
    const struct prd *was;               /* NULL = nothing there */
    const struct prd_document *document; /* of that */
    enum prd_dialect dialect;
    int64_t time_ns;
    struct buf *out;
    struct prd_merge *merge;
};

bool prd_can_write(enum prd_dialect dialect)
{
    return dialect == PRD_ARETE || dialect == PRD_RALPH || dialect == PRD_RALPH_TUI;
}

void prd_merge_fini(struct prd_merge *merge)
{
    buf_fini(&merge->report);
}

/* ---- Values --------------------------------------------------------------------------------- */

static void put_string(struct buf *out, const char *text)
{
    struct json_writer writer = json_writer(out);
    json_write_string(&writer, NULL, text);
}

static void put_name(const struct prd_writing *writing, int indent, const char *name)
{
    buf_printf(writing->out, ",\n%*s\"%s\": ", indent, "", name);
}

static void put_member(const struct prd_writing *writing, int indent, const char *name,
                       const char *text)
{
    put_name(writing, indent, name);
    put_string(writing->out, text);
}

static void put_list(const struct prd_writing *writing, int indent, const char *name,
                     const char *const *texts, size_t count)
{
    put_name(writing, indent, name);
    buf_append_string(writing->out, "[");
    for (size_t i = 0; i < count; i++) {
        buf_printf(writing->out, "%s\n%*s", i == 0 ? "" : ",", indent + 2, "");
        put_string(writing->out, texts[i]);
    }
    if (count > 0) {
        buf_printf(writing->out, "\n%*s", indent, "");
    }
    buf_append_string(writing->out, "]");
}

static bool is_among(const struct json_node *key, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (prd_node_is(key, *names)) {
            return true;
        }
    }
    return false;
}

/** Copy the members of an existing object that nobody here writes. */
static void put_unknown(const struct prd_writing *writing, int indent,
                        const struct json_node *object, const char *const *known)
{
    const struct prd_document *document = writing->document;
    for (uint32_t i = 0; object != NULL && i < object->count; i++) {
        const struct json_node *key = &object->as.children[2 * (size_t)i];
        if (!is_among(key, known)) {
            size_t end = prd_document_end(document, key + 1);
            buf_printf(writing->out, ",\n%*s", indent, "");
            buf_append(writing->out, document->text + key->at, end - key->at);
        }
    }
}

/* ---- Tasks ---------------------------------------------------------------------------------- */

static void put_criteria(const struct prd_writing *writing, const struct prd_task *task)
{
    size_t derived = 0;
    put_name(writing, 6, "acceptanceCriteria");
    buf_append_string(writing->out, "[");
    for (size_t i = 0; i < task->criteria_count; i++) {
        buf_printf(writing->out, "%s\n        ", i == 0 ? "" : ",");
        put_string(writing->out, task->criteria[i].text);
        derived += task->criteria[i].is_derived;
    }
    buf_append_string(writing->out, task->criteria_count > 0 ? "\n      ]" : "]");
    if (derived == 0) {
        return;
    }
    put_name(writing, 6, "derivedCriteria");
    buf_append_string(writing->out, "[");
    bool is_first = true;
    for (size_t i = 0; i < task->criteria_count; i++) {
        if (task->criteria[i].is_derived) {
            buf_printf(writing->out, "%s\n        ", is_first ? "" : ",");
            put_string(writing->out, task->criteria[i].text);
            is_first = false;
        }
    }
    buf_append_string(writing->out, "\n      ]");
}

/** What the dialect says of the state: that of the existing task, if there is one. */
static void put_state(const struct prd_writing *writing, const struct prd_task *state)
{
    static const char *const words[] = {
        [PRD_PENDING] = "pending", [PRD_IN_PROGRESS] = "in_progress", [PRD_DONE] = "complete",
        [PRD_FAILED] = "failed",   [PRD_SET_ASIDE] = "deferred",
    };
    if (writing->dialect == PRD_ARETE) {
        put_member(writing, 6, "status", words[state->status]);
    }
    put_name(writing, 6, "passes");
    buf_append_string(writing->out, state->passes ? "true" : "false");
    if (writing->dialect == PRD_ARETE) {
        put_name(writing, 6, "attemptCount");
        buf_printf(writing->out, "%u", state->attempts);
    }
    put_member(writing, 6, "notes", state->notes);
    if (writing->dialect == PRD_ARETE && state->commit != NULL) {
        put_member(writing, 6, "commitSha", state->commit);
    }
}

static void put_task(const struct prd_writing *writing, const struct prd_task *task)
{
    const struct prd_task *was = writing->was == NULL ? NULL : prd_find(writing->was, task->id);
    bool has_priority = task->priority != PRD_NO_PRIORITY;
    buf_append_string(writing->out, "    {\n      \"id\": ");
    put_string(writing->out, task->id);
    put_member(writing, 6, "title", task->title);
    put_member(writing, 6, "description", task->description);
    put_criteria(writing, task);
    if (task->dependency_count > 0 || writing->dialect == PRD_RALPH_TUI) {
        put_list(writing, 6, "dependsOn", task->dependencies, task->dependency_count);
    }
    if (has_priority || writing->dialect != PRD_ARETE) {
        put_name(writing, 6, "priority");
        buf_printf(writing->out, "%" PRId32,
                   has_priority ? task->priority : (int32_t)task->order + 1);
    }
    put_state(writing, was == NULL ? task : was);
    if (was != NULL) {
        put_unknown(writing, 6, prd_document_task(writing->document, task->id), task_members);
    }
    buf_append_string(writing->out, "\n    }");
}

/* ---- The whole ------------------------------------------------------------------------------ */

static void put_metadata(const struct prd_writing *writing)
{
    const struct prd *prd = writing->prd;
    char time[CLOCK_UTC_SIZE];
    size_t done = 0;
    size_t failed = 0;
    for (size_t i = 0; i < prd->task_count; i++) {
        const struct prd_task *was =
            writing->was == NULL ? NULL : prd_find(writing->was, prd->tasks[i].id);
        enum prd_status status = was == NULL ? prd->tasks[i].status : was->status;
        done += status == PRD_DONE;
        failed += status == PRD_FAILED;
    }
    const struct json_node *old =
        writing->document == NULL ? NULL : json_node_member(writing->document->holder, "metadata");
    static const char *const known[] = {"totalTasks", "completedTasks", "failedTasks", NULL};
    put_name(writing, 2, "metadata");
    buf_printf(
        writing->out,
        "{\n    \"totalTasks\": %zu,\n    \"completedTasks\": %zu,\n    \"failedTasks\": %zu",
        prd->task_count, done, failed);
    if (old != NULL && old->kind == JSON_NODE_OBJECT) {
        put_unknown(writing, 4, old, known);
    } else {
        clock_format_utc(writing->time_ns, time);
        put_member(writing, 4, "createdAt", time);
    }
    buf_append_string(writing->out, "\n  }");
}

static void put_whole(const struct prd_writing *writing)
{
    const struct prd *prd = writing->prd;
    enum prd_dialect dialect = writing->dialect;
    const char *branch =
        prd->branch == NULL && writing->was != NULL ? writing->was->branch : prd->branch;
    const char *list = writing->document != NULL && writing->document->list_name != NULL
                           ? writing->document->list_name
                           : "userStories";
    buf_printf(writing->out, "{\n  \"%s\": ", dialect == PRD_RALPH ? "project" : "name");
    put_string(writing->out, prd->name);
    if (branch != NULL || dialect != PRD_RALPH_TUI) {
        struct arena arena = {0};
        struct buf name = {0};
        buf_printf(&name, "%s/%s", dialect == PRD_RALPH ? "ralph" : "prd",
                   prd_id_of_title(&arena, prd->name, strlen(prd->name)));
        put_member(writing, 2, "branchName", branch != NULL ? branch : name.data);
        buf_fini(&name);
        arena_fini(&arena);
    }
    put_member(writing, 2, dialect == PRD_ARETE ? "goal" : "description", prd->text);
    if (prd->gate_count > 0) {
        put_list(writing, 2, "qualityGates", prd->gates, prd->gate_count);
    }
    if (writing->document != NULL) {
        put_unknown(writing, 2, writing->document->holder, head_members);
    }
    put_name(writing, 2, list);
    buf_append_string(writing->out, "[\n");
    for (size_t i = 0; i < prd->task_count; i++) {
        buf_append_string(writing->out, i == 0 ? "" : ",\n");
        put_task(writing, &prd->tasks[i]);
    }
    buf_append_string(writing->out, "\n  ]");
    if (dialect == PRD_ARETE) {
        put_metadata(writing);
    }
    buf_append_string(writing->out, "\n}\n");
}

/* ---- Merging -------------------------------------------------------------------------------- */

static bool are_same_criteria(const struct prd_task *a, const struct prd_task *b)
{
    bool is_same = a->criteria_count == b->criteria_count;
    for (size_t i = 0; is_same && i < a->criteria_count; i++) {
        is_same = strcmp(a->criteria[i].text, b->criteria[i].text) == 0;
    }
    return is_same;
}

static bool are_same_dependencies(const struct prd_task *a, const struct prd_task *b)
{
    bool is_same = a->dependency_count == b->dependency_count;
    for (size_t i = 0; is_same && i < a->dependency_count; i++) {
        is_same = strcmp(a->dependencies[i], b->dependencies[i]) == 0;
    }
    return is_same;
}

static void report(struct prd_merge *merge, size_t *count, const char *what,
                   const struct prd_task *task, const char *more)
{
    (*count)++;
    buf_printf(&merge->report, "%s %s: %s%s\n", what, task->id, task->title, more);
}

static void compare(const struct prd *prd, const struct prd *was, struct prd_merge *merge)
{
    for (size_t i = 0; i < prd->task_count; i++) {
        const struct prd_task *task = &prd->tasks[i];
        const struct prd_task *old = prd_find(was, task->id);
        if (old == NULL) {
            report(merge, &merge->added, "added", task, "");
        } else if (strcmp(old->title, task->title) != 0 ||
                   strcmp(old->description, task->description) != 0 ||
                   !are_same_criteria(old, task) || !are_same_dependencies(old, task)) {
            report(merge, &merge->changed, "changed", task,
                   old->passes ? " (done before the change; it stays done)" : "");
        } else {
            merge->kept++;
        }
    }
    for (size_t i = 0; i < was->task_count; i++) {
        if (prd_find(prd, was->tasks[i].id) == NULL) {
            report(merge, &merge->removed, "removed", &was->tasks[i],
                   was->tasks[i].passes ? " (it was done)" : "");
        }
    }
}

static int merge_into(struct prd_writing *writing, const struct buf *existing,
                      struct rondo_error *err)
{
    struct prd was = {0};
    struct prd_document document;
    struct prd_findings findings = {0};
    int r = prd_json_read(buf_string(existing), existing->len, NULL, &was, &findings, err);
    prd_findings_fini(&findings);
    if (r < 0) {
        return r;
    }
    if (!prd_can_write(was.dialect)) {
        r = error_set(err, RONDO_ERR_UNSUPPORTED,
                      "files of the dialect %s cannot be updated; convert to a new file",
                      prd_dialect_name(was.dialect));
    }
    r = r < 0 ? r
              : prd_document_open(buf_string(existing), existing->len, NULL, &document, NULL, err);
    if (r == 0) {
        writing->was = &was;
        writing->document = &document;
        writing->dialect = was.dialect;
        put_whole(writing);
        if (writing->merge != NULL) {
            compare(writing->prd, &was, writing->merge);
        }
        prd_document_close(&document);
    }
    prd_fini(&was);
    return r;
}

int prd_write(const struct prd *prd, enum prd_dialect dialect, const struct buf *existing,
              int64_t time_ns, struct buf *ret_text, struct prd_merge *ret_merge,
              struct rondo_error *err)
{
    struct prd_writing writing = {
        .prd = prd, .dialect = dialect, .time_ns = time_ns, .out = ret_text, .merge = ret_merge};
    if (existing != NULL) {
        return merge_into(&writing, existing, err);
    }
    if (!prd_can_write(dialect)) {
        return error_set(err, RONDO_ERR_UNSUPPORTED,
                         "a PRD is written as arete, ralph or ralph-tui, not as %s",
                         prd_dialect_name(dialect));
    }
    put_whole(&writing);
    return 0;
}
