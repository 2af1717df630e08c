// SPDX-License-Identifier: Apache-2.0
/* Reading role files: from bytes to findings and a role. */
#include "role/role.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "os/file_untrusted.h"
#include "role/reader.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

static void check_scalar(struct role_reader *reader, const struct yaml_node *node)
{
    if (node->problem != NULL) {
        auto_buf struct buf hint = {0};
        buf_printf(&hint, "put it in quotes, if it is a string: \"%.60s\"", node->text);
        reader_error(reader, node, buf_string(&hint), "%s: %.60s", node->problem, node->text);
    } else if (node->is_merge) {
        reader_error(reader, node, "write \"<<\"", "`<<` is a key in YAML 1.1, not a value");
    } else if (memchr(node->text, '\0', node->len) != NULL) {
        reader_error(reader, node, NULL, "this string contains a NUL character");
    }
}

static void check_pair(struct role_reader *reader, const struct yaml_pair *pair)
{
    size_t mark = reader_enter(reader, pair->key->text, pair->key->len);
    check_scalar(reader, pair->key);
    if (pair->repeated != NULL) {
        reader_warning(reader, pair->key, "remove one of them",
                       "this key is already on line %zu; the last one is used",
                       pair->repeated->line);
    }
    reader_check_tree(reader, pair->value);
    reader_leave(reader, mark);
}

void reader_check_tree(struct role_reader *reader, const struct yaml_node *node)
{
    if (node->kind != YAML_MAP && node->kind != YAML_LIST) {
        check_scalar(reader, node);
        return;
    }
    for (size_t i = 0; i < node->count; i++) {
        if (node->kind == YAML_MAP) {
            check_pair(reader, &node->pairs[i]);
        } else {
            size_t mark = reader_enter_index(reader, i);
            reader_check_tree(reader, node->items[i]);
            reader_leave(reader, mark);
        }
    }
}

/** Documents of other kinds, which InitRunner knows. */
static bool is_other_kind(struct role_reader *reader, const struct yaml_node *root)
{
    static const char *const kinds[] = {"Team",      "Compose", "Flow", "Pipeline",
                                        "TestSuite", "Service", NULL};
    const struct yaml_node *kind = yaml_get(root, "kind");
    for (size_t i = 0; kind != NULL && kind->kind == YAML_TEXT && kinds[i] != NULL; i++) {
        if (strcmp(kinds[i], kind->text) == 0) {
            size_t mark = reader_enter(reader, "kind", strlen("kind"));
            reader_error(reader, kind, "use a file with `kind: Agent`",
                         "this is a %s document, which rondo does not run; it runs agents",
                         kinds[i]);
            reader_leave(reader, mark);
            return true;
        }
    }
    return false;
}

/** @param ret_envelope the tree that was read; for flat files, one that was made */
static struct json_object *read_document(struct role_reader *reader, const struct yaml_node *root,
                                         struct arena *arena, const struct yaml_node **ret_envelope)
{
    if (root == NULL || root->kind != YAML_MAP) {
        auto_buf struct buf given = {0};
        buf_append_string(&given, "empty");
        if (root != NULL && root->kind != YAML_NULL) {
            buf_clear(&given);
            yaml_describe(root, &given);
        }
        reader_error(reader, root, "begin with `name:` or `apiVersion: initrunner/v1`",
                     "a role file is a map, but this is %s", buf_string(&given));
        return NULL;
    }
    reader_check_tree(reader, root);
    if (is_other_kind(reader, root)) {
        return NULL;
    }
    const struct yaml_node *envelope = flat_is(root) ? flat_to_envelope(reader, root, arena) : root;
    *ret_envelope = envelope;
    return envelope == NULL ? NULL : reader_read_object(reader, &role_shape_file, envelope);
}

/** Note the place of a key or an item. */
static void note_place(struct json_object *places, const char *path, const struct yaml_node *node)
{
    struct json_object *place = json_object_new_array();
    json_object_array_add(place, json_object_new_int64((int64_t)node->line));
    json_object_array_add(place, json_object_new_int64((int64_t)node->column));
    json_object_object_add(places, path, place);
}

static void note_items(struct json_object *places, const char *path, const struct yaml_node *list)
{
    for (size_t i = 0; list->kind == YAML_LIST && i < list->count; i++) {
        auto_buf struct buf item = {0};
        buf_printf(&item, "%s[%zu]", path, i);
        note_place(places, buf_string(&item), list->items[i]);
    }
}

/** Where the sections of `spec` and the items of their lists are. */
static struct json_object *note_places(const struct yaml_node *envelope)
{
    struct json_object *places = json_object_new_object();
    const struct yaml_node *spec = envelope == NULL ? NULL : yaml_get(envelope, "spec");
    for (size_t i = 0; spec != NULL && spec->kind == YAML_MAP && i < spec->count; i++) {
        if (spec->pairs[i].key->kind == YAML_TEXT) {
            auto_buf struct buf path = {0};
            buf_printf(&path, "spec.%s", spec->pairs[i].key->text);
            note_place(places, buf_string(&path), spec->pairs[i].key);
            note_items(places, buf_string(&path), spec->pairs[i].value);
        }
    }
    return places;
}

static int compare_findings(const void *a, const void *b)
{
    const struct role_finding *left = a;
    const struct role_finding *right = b;
    if (left->line != right->line) {
        return left->line < right->line ? -1 : 1;
    }
    if (left->column != right->column) {
        return left->column < right->column ? -1 : 1;
    }
    int order = strcmp(left->path, right->path);
    return order != 0 ? order : strcmp(left->message, right->message);
}

/** Findings in the order of the file. */
static void sort_findings(struct role_findings *findings, size_t from)
{
    if (findings->count > from) {
        qsort(findings->items + from, findings->count - from, sizeof(*findings->items),
              compare_findings);
    }
}

int role_parse(const char *yaml, size_t len, const char *path, enum role_schema schema,
               struct role_findings *findings, struct role **ret_role, struct rondo_error *err)
{
    *ret_role = NULL;
    if (len > LIMIT_ROLE_FILE_BYTES) {
        return error_set(err, RONDO_ERR_LIMIT, "%s: a role file has at most %ld bytes", path,
                         LIMIT_ROLE_FILE_BYTES);
    }
    size_t before = findings->count;
    size_t errors = role_findings_errors(findings);
    struct arena arena = {0};
    struct yaml_node *root = NULL;
    const struct yaml_node *envelope = NULL;
    struct yaml_problem problem;
    struct json_object *normal = NULL;
    struct role_reader reader = {.findings = findings, .schema = schema};
    if (yaml_read(yaml, len, 1, &arena, &root, &problem) < 0) {
        findings_add(findings, ROLE_ERROR, problem.line, problem.column, "", problem.message, NULL);
    } else {
        normal = read_document(&reader, root, &arena, &envelope);
    }
    sort_findings(findings, before);
    int r = 0;
    if (role_findings_errors(findings) == errors) {
        r = role_fill(normal, path, ret_role, err);
        if (r == 0) {
            (*ret_role)->places = note_places(envelope);
        }
    } else {
        json_object_put(normal);
    }
    buf_fini(&reader.path);
    arena_fini(&arena);
    return r;
}

int role_read(const char *path, enum role_schema schema, struct role_findings *findings,
              struct role **ret_role, struct rondo_error *err)
{
    auto_buf struct buf text = {0};
    *ret_role = NULL;
    int r = file_read_named(NULL, path, LIMIT_ROLE_FILE_BYTES, &text, err);
    return r < 0 ? r
                 : role_parse(buf_string(&text), text.len, path, schema, findings, ret_role, err);
}
