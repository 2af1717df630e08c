// SPDX-License-Identifier: Apache-2.0
/* Reading one skill file. */
#include "role/skill_file.h"

#include "base/auto.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory.h"
#include "os/file_untrusted.h"
#include "role/reader.h"

#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

void skill_home_append(struct buf *path)
{
    const char *own = getenv("INITRUNNER_HOME");
    const char *data = getenv("XDG_DATA_HOME");
    const char *home = getenv("HOME");
    if (own != NULL && own[0] != '\0') {
        buf_append_string(path, own);
    } else if (data != NULL && data[0] != '\0') {
        buf_printf(path, "%s/initrunner", data);
    } else {
        buf_printf(path, "%s/.initrunner", home == NULL ? "" : home);
    }
}

/** Where the line after `at` begins. */
static size_t next_line(const char *text, size_t len, size_t at)
{
    const char *end = memchr(text + at, '\n', len - at);
    return end == NULL ? len : (size_t)(end - text) + 1;
}

/**
 * Find the front matter: between a first line `---` and the next line that begins so.
 * @return whether there is one
 */
static bool split(const struct buf *text, size_t *ret_start, size_t *ret_end, size_t *ret_body)
{
    const char *bytes = buf_string(text);
    if (strncmp(bytes, "---", 3) != 0) {
        return false;
    }
    *ret_start = next_line(bytes, text->len, 0);
    for (size_t at = *ret_start; at < text->len; at = next_line(bytes, text->len, at)) {
        if (strncmp(bytes + at, "---", 3) == 0) {
            *ret_end = at;
            *ret_body = at + 3;
            return true;
        }
    }
    return false;
}

static struct json_object *read_front_matter(const char *text, size_t len,
                                             struct role_findings *findings)
{
    struct arena arena = {0};
    struct yaml_node *root = NULL;
    struct yaml_problem problem;
    struct role_reader reader = {.findings = findings, .schema = ROLE_SCHEMA_1_13};
    struct json_object *normal = NULL;
    if (yaml_read(text, len, 2, &arena, &root, &problem) < 0) {
        findings_add(findings, ROLE_ERROR, problem.line, problem.column, "", problem.message, NULL);
    } else if (root == NULL || root->kind != YAML_MAP) {
        findings_add(findings, ROLE_ERROR, 2, 1, "", "the front matter is not a map", NULL);
    } else {
        reader_check_tree(&reader, root);
        normal = reader_read_object(&reader, &role_shape_skill, root);
    }
    buf_fini(&reader.path);
    arena_fini(&arena);
    return normal;
}

static bool is_blank(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

int skill_file_read(const char *path, struct role_findings *findings, struct skill_file *ret_file,
                    struct rondo_error *err)
{
    auto_buf struct buf text = {0};
    size_t start = 0;
    size_t end = 0;
    size_t body = 0;
    int r = file_read_named(NULL, path, LIMIT_ROLE_FILE_BYTES, &text, err);
    if (r < 0) {
        return r;
    }
    if (!split(&text, &start, &end, &body)) {
        return error_set(err, RONDO_ERR_INVALID, "%s has no front matter", path);
    }
    ret_file->normal = read_front_matter(text.data + start, end - start, findings);
    size_t last = text.len;
    while (body < last && is_blank(text.data[body])) {
        body++;
    }
    while (last > body && is_blank(text.data[last - 1])) {
        last--;
    }
    buf_append(&ret_file->body, text.data + body, last - body);
    return 0;
}

void skill_file_fini(struct skill_file *file)
{
    json_object_put(file->normal);
    buf_fini(&file->body);
}
