// SPDX-License-Identifier: Apache-2.0
/* Finding the list of tasks, the dialect and the places in a prd.json. */
#include "prd/document.h"

#include "base/ascii.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char byte_order_mark[] = "\xef\xbb\xbf";
static const char *const list_names[] = {"userStories", "tasks", "stories", NULL};

/* ---- Places --------------------------------------------------------------------------------- */

static void find_lines(struct prd_document *document)
{
    size_t size = 64;
    document->lines = memory_resize(NULL, size, sizeof(*document->lines));
    document->lines[0] = 0;
    document->line_count = 1;
    const char *end = document->text + document->len;
    const char *at = document->text;
    while ((at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        at++;
        if (document->line_count == size) {
            size *= 2;
            document->lines = memory_resize(document->lines, size, sizeof(*document->lines));
        }
        document->lines[document->line_count++] = (uint32_t)(at - document->text);
    }
}

static uint32_t count_characters(const char *text, size_t len)
{
    uint32_t count = 0;
    for (size_t i = 0; i < len; i++) {
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    return count;
}

static void count_blocks(struct prd_document *document)
{
    size_t blocks = document->len / PRD_PLACE_BYTES + 1;
    document->characters = memory_resize(NULL, blocks, sizeof(*document->characters));
    document->characters[0] = 0;
    for (size_t i = 1; i < blocks; i++) {
        document->characters[i] =
            document->characters[i - 1] +
            count_characters(document->text + (i - 1) * PRD_PLACE_BYTES, PRD_PLACE_BYTES);
    }
}

/** How many characters begin before an offset. */
static uint32_t characters_before(struct prd_document *document, size_t at)
{
    size_t block = at / PRD_PLACE_BYTES;
    size_t rest = at % PRD_PLACE_BYTES;
    document->counted += rest;
    return document->characters[block] +
           count_characters(document->text + block * PRD_PLACE_BYTES, rest);
}

void prd_document_place(struct prd_document *document, size_t at, uint32_t *ret_line,
                        uint32_t *ret_column)
{
    at = at < document->len ? at : document->len;
    size_t low = 0;
    size_t high = document->line_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (document->lines[middle] <= at) {
            low = middle;
        } else {
            high = middle;
        }
    }
    *ret_line = (uint32_t)low + 1;
    *ret_column =
        1 + characters_before(document, at) - characters_before(document, document->lines[low]);
}

/** After a string that begins at `at`; the text is known to be JSON. */
static size_t string_end(const char *text, size_t at)
{
    for (at++; text[at] != '"'; at++) {
        at += text[at] == '\\';
    }
    return at + 1;
}

size_t prd_document_end(const struct prd_document *document, const struct json_node *node)
{
    const char *text = document->text;
    size_t at = node->at;
    if (node->kind == JSON_NODE_STRING) {
        return string_end(text, at);
    }
    if (node->kind != JSON_NODE_ARRAY && node->kind != JSON_NODE_OBJECT) {
        return at + strspn(text + at, "+-.0123456789abcdefghijklmnopqrstuvwxyzE");
    }
    size_t depth = 0;
    do {
        char byte = text[at];
        if (byte == '"') {
            at = string_end(text, at);
            continue;
        }
        depth += byte == '[' || byte == '{';
        depth -= byte == ']' || byte == '}';
        at++;
    } while (depth > 0);
    return at;
}

/* ---- Members -------------------------------------------------------------------------------- */

const struct json_node *prd_member_of(const struct json_node *object, const char *const *names)
{
    for (; *names != NULL; names++) {
        const struct json_node *node = json_node_member(object, *names);
        if (node != NULL && node->kind != JSON_NODE_NULL) {
            return node;
        }
    }
    return NULL;
}

bool prd_node_is(const struct json_node *node, const char *text)
{
    return node != NULL && node->kind == JSON_NODE_STRING && node->count == strlen(text) &&
           memcmp(node->as.bytes, text, node->count) == 0;
}

size_t prd_node_id(const struct prd_document *document, const struct json_node *node,
                   const char **ret_id)
{
    if (node == NULL) {
        return 0;
    }
    if (node->kind == JSON_NODE_INTEGER || node->kind == JSON_NODE_NUMBER) {
        *ret_id = document->text + node->at;
        return node->count;
    }
    if (node->kind != JSON_NODE_STRING) {
        return 0;
    }
    const char *id = node->as.bytes;
    size_t len = node->count;
    while (len > 0 && ascii_is_space(*id)) {
        id++;
        len--;
    }
    while (len > 0 && ascii_is_space(id[len - 1])) {
        len--;
    }
    *ret_id = id;
    return len;
}

const struct json_node *prd_document_task(const struct prd_document *document, const char *id)
{
    size_t wanted = strlen(id);
    for (uint32_t i = 0; i < document->list->count; i++) {
        const struct json_node *task = &document->list->as.children[i];
        const char *found = NULL;
        size_t len = prd_node_id(document, json_node_member(task, "id"), &found);
        if (len > 0 && len == wanted && memcmp(found, id, len) == 0) {
            return task;
        }
    }
    return NULL;
}

struct prd_state prd_state_of(const struct json_node *task)
{
    struct prd_state state = {.status = PRD_PENDING};
    const struct json_node *passes = json_node_member(task, "passes");
    const struct json_node *status = json_node_member(task, "status");
    bool is_true = passes != NULL && passes->kind == JSON_NODE_BOOL && passes->as.truth;
    bool is_false = passes != NULL && passes->kind == JSON_NODE_BOOL && !passes->as.truth;
    char word[32] = "";
    if (status != NULL && status->kind == JSON_NODE_STRING && status->count < sizeof(word)) {
        memcpy(word, status->as.bytes, status->count);
    }
    bool has_word = status != NULL && status->kind != JSON_NODE_NULL;
    state.is_word_unknown = has_word && !prd_status_of(word, &state.status);
    if (is_true) {
        state.is_disputed = has_word && state.status == PRD_FAILED;
        state.status = PRD_DONE;
    } else if (state.status == PRD_DONE && is_false) {
        state.is_disputed = true;
        state.status = PRD_PENDING;
    }
    return state;
}

/* ---- The list and the dialect --------------------------------------------------------------- */

static bool has(const struct json_node *object, const char *name)
{
    return json_node_member(object, name) != NULL;
}

static void find_members(struct prd_document *document)
{
    struct prd_members *members = &document->members;
    for (uint32_t i = 0; i < document->list->count; i++) {
        const struct json_node *task = &document->list->as.children[i];
        members->has_status = members->has_status || has(task, "status");
        members->has_passes = members->has_passes || has(task, "passes");
        members->has_attempts = members->has_attempts || has(task, "attemptCount");
        members->has_notes = members->has_notes || has(task, "notes");
        members->has_commit = members->has_commit || has(task, "commitSha");
        members->has_criteria = members->has_criteria || has(task, "acceptanceCriteria");
        members->has_links = members->has_links || has(task, "dependsOn") || has(task, "labels");
    }
}

static enum prd_dialect dialect_of(const struct prd_document *document)
{
    const struct prd_members *members = &document->members;
    const struct json_node *holder = document->holder;
    const struct json_node *counts = json_node_member(holder, "metadata");
    if (document->list_name == NULL) {
        return PRD_LIST;
    }
    if (strcmp(document->list_name, "stories") == 0) {
        return PRD_STORIES;
    }
    if (strcmp(document->list_name, "tasks") == 0) {
        bool is_arete = members->has_passes || members->has_attempts || members->has_criteria ||
                        has(holder, "goal") || has(holder, "branchName");
        return is_arete && document->tag == NULL ? PRD_ARETE : PRD_TASK_MASTER;
    }
    if (members->has_status || members->has_attempts || has(counts, "totalTasks") ||
        has(counts, "completedTasks")) {
        return PRD_ARETE;
    }
    bool is_tui = members->has_links || (has(holder, "name") && !has(holder, "project"));
    return is_tui ? PRD_RALPH_TUI : PRD_RALPH;
}

/** Take the list of an object. @return whether it has one */
static bool take_list(struct prd_document *document, const struct json_node *object)
{
    for (size_t i = 0; list_names[i] != NULL; i++) {
        const struct json_node *list = json_node_member(object, list_names[i]);
        if (list != NULL && list->kind == JSON_NODE_ARRAY) {
            document->holder = object;
            document->list = list;
            document->list_name = list_names[i];
            return true;
        }
    }
    return false;
}

/** The tags of a file: members of the root that are objects with a list of tasks. */
static int take_tag(struct prd_document *document, const char *wanted)
{
    const struct json_node *root = document->root;
    const struct json_node *chosen = NULL;
    struct buf names = {0};
    size_t count = 0;
    for (uint32_t i = 0; i < root->count; i++) {
        const struct json_node *key = &root->as.children[2 * (size_t)i];
        const struct json_node *tasks = json_node_member(key + 1, "tasks");
        if (tasks == NULL || tasks->kind != JSON_NODE_ARRAY) {
            continue;
        }
        char shown[JSON_SHOWN_SIZE];
        buf_printf(&names, "%s%s", count++ == 0 ? "" : ", ", json_node_show(key, shown));
        bool is_chosen = wanted != NULL ? prd_node_is(key, wanted)
                                        : chosen == NULL || prd_node_is(key, "master");
        chosen = is_chosen ? key : chosen;
    }
    int r = 0;
    if (chosen == NULL && count > 0) {
        r = json_reader_fail_at(&document->reader, root, "there is no tag \"%s\"; there are: %s",
                                wanted, buf_string(&names));
    } else if (chosen == NULL) {
        r = json_reader_fail_at(&document->reader, root,
                                "no list of tasks; it is expected in \"userStories\", \"tasks\" or "
                                "\"stories\"");
    } else if (wanted == NULL && count > 1 && !prd_node_is(chosen, "master")) {
        r = json_reader_fail_at(&document->reader, root, "several lists of tasks; choose a tag: %s",
                                buf_string(&names));
    }
    if (r == 0) {
        take_list(document, chosen + 1);
        document->list_name = "tasks";
        document->list = json_node_member(chosen + 1, "tasks");
        document->tag = prd_keep(&document->reader.scratch, chosen->as.bytes, chosen->count);
    }
    buf_fini(&names);
    return r;
}

static int find_list(struct prd_document *document, const char *tag)
{
    const struct json_node *root = document->root;
    if (root->kind == JSON_NODE_ARRAY) {
        document->list = root;
        return 0;
    }
    if (root->kind != JSON_NODE_OBJECT) {
        return json_reader_fail_at(&document->reader, root,
                                   "expected an object with a list of tasks");
    }
    if (tag == NULL &&
        (take_list(document, root) || take_list(document, json_node_member(root, "prd")))) {
        return 0;
    }
    return take_tag(document, tag);
}

static int check_list(struct prd_document *document, struct prd_findings *findings)
{
    if (document->list->count > LIMIT_PRD_TASKS) {
        return error_set(document->reader.err, RONDO_ERR_LIMIT, "more than %d tasks",
                         LIMIT_PRD_TASKS);
    }
    for (size_t i = 0; list_names[i] != NULL; i++) {
        const struct json_node *other = json_node_member(document->holder, list_names[i]);
        if (other != NULL && other != document->list && other->kind == JSON_NODE_ARRAY) {
            uint32_t line;
            uint32_t column;
            prd_document_place(document, other->at, &line, &column);
            prd_finding_add(findings, false, "two-lists", line, column,
                            "\"%s\" is ignored, because the tasks of \"%s\" are read; keep one",
                            list_names[i], document->list_name);
        }
    }
    return 0;
}

static int parse(struct prd_document *document, const char *tag, struct prd_findings *findings)
{
    int r = json_reader_begin(&document->reader);
    r = r != 0 ? r : json_reader_read(&document->reader, &document->root);
    r = r != 0 ? r : json_reader_end(&document->reader);
    r = r != 0 ? r : find_list(document, tag);
    return r != 0 ? r : check_list(document, findings);
}

int prd_document_open(const char *text, size_t len, const char *tag,
                      struct prd_document *ret_document, struct prd_findings *findings,
                      struct rondo_error *err)
{
    struct rondo_error fault = {0};
    bool has_mark = len >= 3 && memcmp(text, byte_order_mark, 3) == 0;
    struct prd_document document = {
        .text = text + (has_mark ? 3 : 0),
        .len = len - (has_mark ? 3 : 0),
        .mark_len = has_mark ? 3 : 0,
    };
    document.reader = (struct json_reader){
        .text = document.text,
        .len = document.len,
        .max_bytes = LIMIT_PRD_FILE_BYTES,
        .max_depth = LIMIT_JSON_DEPTH,
        .err = &fault,
    };
    find_lines(&document);
    count_blocks(&document);
    int r = parse(&document, tag, findings);
    if (r != 0) {
        size_t at = document.reader.at + document.mark_len;
        prd_document_close(&document);
        return r == RONDO_ERR_INVALID ? error_set(err, r, "%s (byte %zu)", fault.message, at)
                                      : error_set(err, r, "%s", fault.message);
    }
    document.reader.err = NULL;
    find_members(&document);
    document.dialect = dialect_of(&document);
    *ret_document = document;
    return 0;
}

void prd_document_close(struct prd_document *document)
{
    json_reader_fini(&document->reader);
    free(document->lines);
    free(document->characters);
    document->lines = NULL;
    document->characters = NULL;
}
