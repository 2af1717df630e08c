// SPDX-License-Identifier: Apache-2.0
/* From a prd.json's places to the normal form. What is missing is filled in; what contradicts
 * itself is said. */
#include "prd/json.h"

#include "base/ascii.h"
#include "base/limits.h"
#include "prd/command.h"
#include "prd/document.h"
#include "prd/graph.h"
#include "prd/json_values.h"

#include <inttypes.h>
#include <string.h>

static const char *const name_names[] = {"name",     "project", "projectName",
                                         "planSlug", "title",   NULL};
static const char *const text_names[] = {"goal", "description", "overview", NULL};
static const char *const branch_names[] = {"branchName", "branch", NULL};
static const char *const title_names[] = {"title", "name", NULL};
static const char *const description_names[] = {"description", "story", NULL};
static const char *const criteria_names[] = {"acceptanceCriteria", "acceptance_criteria",
                                             "criteria", "acceptance", NULL};
static const char *const dependency_names[] = {"dependsOn", "dependencies", "depends_on", NULL};
static const char *const gate_names[] = {"qualityGates", "quality_gates", NULL};

/* ---- Criteria ------------------------------------------------------------------------------- */

/** The text of a criterion: a string, or the text of an object. */
static const char *criterion_text(const struct prd_reading *reading, const struct json_node *node)
{
    static const char *const names[] = {"description", "text", "criterion", "title", NULL};
    return prd_text_of(reading, node->kind == JSON_NODE_OBJECT ? prd_member_of(node, names) : node);
}

static bool is_among(const char *text, const struct json_node *list)
{
    for (uint32_t i = 0; list != NULL && list->kind == JSON_NODE_ARRAY && i < list->count; i++) {
        if (prd_node_is(&list->as.children[i], text)) {
            return true;
        }
    }
    return false;
}

static void read_criteria(const struct prd_reading *reading, const struct json_node *node,
                          struct prd_task *task)
{
    const struct json_node *list = prd_member_of(node, criteria_names);
    const struct json_node *derived = json_node_member(node, "derivedCriteria");
    const char *strategy = prd_text_of(reading, json_node_member(node, "testStrategy"));
    bool is_array = list != NULL && list->kind == JSON_NODE_ARRAY;
    size_t given = list == NULL ? 0 : is_array ? list->count : 1;
    const struct json_node *items = is_array ? list->as.children : list;
    if (given > LIMIT_PRD_CRITERIA) {
        prd_complain(reading, true, "too-many-criteria", list,
                     "task \"%s\" has more than %d criteria; split it", task->id,
                     LIMIT_PRD_CRITERIA);
        given = LIMIT_PRD_CRITERIA;
    }
    struct prd_criterion *criteria = arena_new_array(reading->arena, given + 1, sizeof(*criteria));
    size_t count = 0;
    for (size_t i = 0; i < given; i++) {
        const char *text = criterion_text(reading, &items[i]);
        if (text == NULL || *text == '\0') {
            continue;
        }
        const char *command = items[i].kind == JSON_NODE_OBJECT
                                  ? prd_text_of(reading, json_node_member(&items[i], "command"))
                                  : NULL;
        criteria[count++] = (struct prd_criterion){
            .text = text,
            .command = command != NULL ? command : prd_command_of(reading->arena, text),
            .is_derived = is_among(text, derived),
        };
    }
    if (strategy != NULL && *strategy != '\0') {
        criteria[count++] = (struct prd_criterion){.text = strategy, .is_derived = true};
    }
    task->criteria = criteria;
    task->criteria_count = count;
}

/* ---- One task ------------------------------------------------------------------------------- */

static bool has_control(const char *text)
{
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20 || *text == 0x7f) {
            return true;
        }
    }
    return false;
}

static bool read_id(const struct prd_reading *reading, const struct json_node *node,
                    struct prd_task *task)
{
    const struct json_node *id = json_node_member(node, "id");
    task->id = prd_id_of(reading, id);
    if (task->id == NULL) {
        prd_complain(reading, true, "missing-id", id == NULL ? node : id,
                     "the task has no \"id\"; give each task a unique string or number");
        return false;
    }
    if (strlen(task->id) > LIMIT_PRD_ID_BYTES || has_control(task->id)) {
        prd_complain(reading, true, "bad-id", id,
                     "an id has at most %d bytes and no control characters", LIMIT_PRD_ID_BYTES);
        return false;
    }
    return true;
}

/** The first line of a text. */
static const char *first_line(const struct prd_reading *reading, const char *text)
{
    return prd_keep(reading->arena, text, strcspn(text, "\r\n"));
}

static void read_title(const struct prd_reading *reading, const struct json_node *node,
                       struct prd_task *task)
{
    const char *title = prd_text_of(reading, prd_member_of(node, title_names));
    if ((title == NULL || *title == '\0') && *task->description != '\0') {
        title = first_line(reading, task->description);
        prd_complain(reading, false, "missing-title", node,
                     "task \"%s\" has no \"title\"; the first line of its description is used",
                     task->id);
    }
    if (title == NULL || *title == '\0') {
        title = "";
        prd_complain(reading, true, "missing-title", node,
                     "task \"%s\" has no \"title\"; add one line that says what to do", task->id);
    }
    title = first_line(reading, title);
    size_t len = strlen(title);
    if (len > LIMIT_PRD_TITLE_BYTES) {
        prd_complain(
            reading, true, "long-title", node,
            "the title of task \"%s\" has %zu bytes, and the limit is %ld; say the rest in "
            "its description",
            task->id, len, LIMIT_PRD_TITLE_BYTES);
    }
    task->title = title;
}

/** Steps of a task of task-master. They are part of its work, not tasks of their own. */
static void append_subtasks(const struct prd_reading *reading, const struct json_node *list,
                            struct buf *text)
{
    for (uint32_t i = 0; list != NULL && list->kind == JSON_NODE_ARRAY && i < list->count; i++) {
        const struct json_node *step = &list->as.children[i];
        const char *id = prd_id_of(reading, json_node_member(step, "id"));
        const char *title = prd_text_of(reading, prd_member_of(step, title_names));
        const char *what = prd_text_of(reading, prd_member_of(step, description_names));
        const char *details = prd_text_of(reading, json_node_member(step, "details"));
        buf_printf(text, "%s%s. %s%s%s%s%s\n", i == 0 ? "\n\nSteps:\n" : "", id == NULL ? "-" : id,
                   title == NULL ? "" : title, what == NULL ? "" : ": ", what == NULL ? "" : what,
                   details == NULL ? "" : " - ", details == NULL ? "" : details);
    }
}

static const char *read_description(const struct prd_reading *reading, const struct json_node *node)
{
    auto_buf struct buf text = {0};
    const char *given = prd_text_of(reading, prd_member_of(node, description_names));
    const char *details = prd_text_of(reading, json_node_member(node, "details"));
    buf_append_string(&text, given == NULL ? "" : given);
    if (details != NULL && *details != '\0') {
        buf_printf(&text, "%s%s", text.len == 0 ? "" : "\n\n", details);
    }
    append_subtasks(reading, json_node_member(node, "subtasks"), &text);
    return prd_keep(reading->arena, buf_string(&text), text.len);
}

static void read_state(const struct prd_reading *reading, const struct json_node *node,
                       struct prd_task *task)
{
    struct prd_state state = prd_state_of(node);
    const struct json_node *passes = json_node_member(node, "passes");
    const struct json_node *status = json_node_member(node, "status");
    task->status = state.status;
    task->passes = state.status == PRD_DONE;
    task->is_disputed = state.is_disputed && !task->passes;
    if (state.is_word_unknown) {
        prd_complain(reading, false, "unknown-status", status,
                     "the status of task \"%s\" is not known; it counts as pending", task->id);
    }
    if (passes != NULL && passes->kind != JSON_NODE_BOOL && passes->kind != JSON_NODE_NULL) {
        prd_complain(reading, false, "bad-passes", passes,
                     "\"passes\" of task \"%s\" is neither true nor false; it counts as false",
                     task->id);
    }
    if (task->is_disputed) {
        prd_complain(reading, false, "disputed", status,
                     "task \"%s\" has a status that says done and \"passes\": false; it counts as "
                     "not done and is verified again",
                     task->id);
    } else if (state.is_disputed) {
        prd_complain(
            reading, false, "disputed", status,
            "task \"%s\" has a status that says failed and \"passes\": true; it counts as done",
            task->id);
    }
}

static void read_rest(const struct prd_reading *reading, const struct json_node *node,
                      struct prd_task *task)
{
    const struct json_node *attempts = json_node_member(node, "attemptCount");
    const struct json_node *depends = prd_member_of(node, dependency_names);
    const char *notes = prd_text_of(reading, json_node_member(node, "notes"));
    bool is_number = attempts != NULL && attempts->kind == JSON_NODE_INTEGER;
    task->attempts = is_number && attempts->as.number > 0 && attempts->as.number <= INT32_MAX
                         ? (uint32_t)attempts->as.number
                         : 0;
    task->notes = notes == NULL ? "" : notes;
    task->commit = prd_text_of(reading, json_node_member(node, "commitSha"));
    task->commit = task->commit != NULL && *task->commit == '\0' ? NULL : task->commit;
    task->priority = prd_priority_of(reading, json_node_member(node, "priority"));
    task->dependency_count = prd_ids_of(reading, depends, &task->dependencies);
    if (task->dependency_count > LIMIT_PRD_DEPENDENCIES) {
        prd_complain(
            reading, true, "too-many-dependencies", depends,
            "task \"%s\" depends on more than %d tasks; let it depend on the last ones only, "
            "or on one that collects them",
            task->id, LIMIT_PRD_DEPENDENCIES);
        task->dependency_count = LIMIT_PRD_DEPENDENCIES;
    }
}

/** @return whether the node is a task with an id */
static bool read_task(const struct prd_reading *reading, const struct json_node *node,
                      struct prd_task *ret_task)
{
    struct prd_task task = {0};
    if (node->kind != JSON_NODE_OBJECT) {
        prd_complain(reading, true, "not-a-task", node, "expected a task: an object with an id");
        return false;
    }
    prd_document_place(reading->document, node->at, &task.line, &task.column);
    if (!read_id(reading, node, &task)) {
        return false;
    }
    task.description = read_description(reading, node);
    read_title(reading, node, &task);
    read_criteria(reading, node, &task);
    read_state(reading, node, &task);
    read_rest(reading, node, &task);
    if (task.criteria_count == 0 && task.status != PRD_DONE) {
        prd_complain(reading, false, "no-criteria", node,
                     "task \"%s\" has no acceptance criteria; only the project's checks decide "
                     "whether it is done",
                     task.id);
    }
    *ret_task = task;
    return true;
}

/* ---- The whole ------------------------------------------------------------------------------ */

/** "1.2" of task-master is step 2 of task 1: the task is what is waited for. */
static void resolve_steps(struct prd *prd, struct prd_task *tasks)
{
    for (size_t i = 0; i < prd->task_count; i++) {
        const char **ids = arena_new_array(&prd->arena, tasks[i].dependency_count, sizeof(*ids));
        for (size_t k = 0; k < tasks[i].dependency_count; k++) {
            const char *id = tasks[i].dependencies[k];
            const char *point = strchr(id, '.');
            ids[k] = id;
            if (point != NULL && prd_find(prd, id) == NULL) {
                const char *whole = prd_keep(&prd->arena, id, (size_t)(point - id));
                ids[k] = prd_find(prd, whole) == NULL ? id : whole;
            }
        }
        tasks[i].dependencies = ids;
    }
}

static void read_tasks(const struct prd_reading *reading, struct prd *prd)
{
    const struct json_node *list = reading->document->list;
    struct prd_task *tasks = arena_new_array(&prd->arena, list->count, sizeof(*tasks));
    for (uint32_t i = 0; i < list->count; i++) {
        struct prd_task *task = &tasks[prd->task_count];
        if (read_task(reading, &list->as.children[i], task)) {
            task->order = (uint32_t)prd->task_count++;
        }
    }
    prd->tasks = tasks;
    if (prd->dialect == PRD_TASK_MASTER) {
        resolve_steps(prd, tasks);
    }
    if (list->count == 0) {
        prd_complain(reading, true, "no-tasks", list, "the list of tasks is empty");
    }
}

static void check_count(const struct prd_reading *reading, const char *name, size_t is)
{
    const struct json_node *metadata = json_node_member(reading->document->holder, "metadata");
    const struct json_node *node = json_node_member(metadata, name);
    if (node != NULL && node->kind == JSON_NODE_INTEGER && node->as.number != (int64_t)is) {
        prd_complain(reading, false, "wrong-count", node,
                     "\"%s\" is %" PRId64
                     ", but the tasks amount to %zu; Rondo corrects it with the "
                     "next change",
                     name, node->as.number, is);
    }
}

static void read_head(const struct prd_reading *reading, struct prd *prd)
{
    const struct json_node *holder = reading->document->holder;
    const char *name = prd_text_of(reading, prd_member_of(holder, name_names));
    const char *text = prd_text_of(reading, prd_member_of(holder, text_names));
    prd->dialect = reading->document->dialect;
    if (reading->document->tag != NULL) {
        prd->tag = prd_keep(&prd->arena, reading->document->tag, strlen(reading->document->tag));
    }
    prd->name = name != NULL ? name : prd->tag != NULL ? prd->tag : "";
    prd->text = text == NULL ? "" : text;
    prd->branch = prd_text_of(reading, prd_member_of(holder, branch_names));
    prd->branch = prd->branch != NULL && *prd->branch == '\0' ? NULL : prd->branch;
    prd->gate_count = prd_texts_of(reading, prd_member_of(holder, gate_names), &prd->gates);
}

int prd_json_read(const char *text, size_t len, const char *tag, struct prd *ret_prd,
                  struct prd_findings *findings, struct rondo_error *err)
{
    struct prd_document document;
    struct prd prd = {0};
    int r = prd_document_open(text, len, tag, &document, findings, err);
    if (r != 0) {
        return r;
    }
    struct prd_reading reading = {.document = &document, .arena = &prd.arena, .findings = findings};
    read_head(&reading, &prd);
    read_tasks(&reading, &prd);
    check_count(&reading, "totalTasks", prd.task_count);
    check_count(&reading, "completedTasks", prd_count(&prd, PRD_DONE));
    check_count(&reading, "failedTasks", prd_count(&prd, PRD_FAILED));
    prd_graph_check(&prd, findings);
    prd_document_close(&document);
    *ret_prd = prd;
    return 0;
}
