// SPDX-License-Identifier: Apache-2.0
/* The pinned options of a PRD's run, driven by one table of members. */
#include "work/spec.h"

#include "base/ascii.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Of the name of a task in that of its branch, bytes. */
#define MOST_BRANCH_PART ((size_t)80)

static const struct {
    const char *name;
    size_t offset;
    bool is_optional;
} texts[] = {
    {"repository", offsetof(struct work_spec, repository), false},
    {"settings", offsetof(struct work_spec, settings), false},
    {"prd", offsetof(struct work_spec, prd), false},
    {"progress", offsetof(struct work_spec, progress), false},
    {"tag", offsetof(struct work_spec, tag), true},
    {"name", offsetof(struct work_spec, name), false},
    {"branch", offsetof(struct work_spec, branch), false},
    {"base", offsetof(struct work_spec, base), false},
    {"remote", offsetof(struct work_spec, remote), true},
    {"review_secret", offsetof(struct work_spec, review_secret), true},
    {"setup", offsetof(struct work_spec, setup), true},
};

static const struct {
    const char *name;
    size_t offset;
} lists[] = {
    {"protect", offsetof(struct work_spec, protect)},
};

static const struct {
    const char *name;
    size_t offset;
    int64_t low, high, otherwise;
} numbers[] = {
    {"jobs", offsetof(struct work_spec, jobs), 1, LIMIT_WORK_JOBS, 1},
    {"attempts", offsetof(struct work_spec, attempts), 1, LIMIT_WORK_ATTEMPTS, 3},
    {"branch_per_task", offsetof(struct work_spec, is_branch_per_task), 0, 1, 0},
    {"pull_request", offsetof(struct work_spec, wants_request), 0, 1, 0},
    {"clean", offsetof(struct work_spec, is_clean), 0, 1, 0},
    {"archive", offsetof(struct work_spec, is_archived), 0, 1, 0},
    {"issue", offsetof(struct work_spec, issue), 0, INT64_MAX, 0},
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static char **text_at(const struct work_spec *spec, size_t i)
{
    return (char **)(void *)((char *)(uintptr_t)spec + texts[i].offset);
}

static char ***list_at(const struct work_spec *spec, size_t i)
{
    return (char ***)(void *)((char *)(uintptr_t)spec + lists[i].offset);
}

static int64_t *number_at(const struct work_spec *spec, size_t i)
{
    return (int64_t *)(void *)((char *)(uintptr_t)spec + numbers[i].offset);
}

void work_spec_fini(struct work_spec *spec)
{
    for (size_t i = 0; i < COUNT(texts); i++) {
        free(*text_at(spec, i));
    }
    for (size_t i = 0; i < COUNT(lists); i++) {
        memory_free_list(*list_at(spec, i));
    }
    loop_spec_fini(&spec->worker);
    loop_spec_fini(&spec->reviewer);
    *spec = (struct work_spec){0};
}

void work_spec_encode(const struct work_spec *spec, struct buf *ret_buf)
{
    struct json_writer writer = json_writer(ret_buf);
    json_begin_object(&writer, NULL);
    for (size_t i = 0; i < COUNT(texts); i++) {
        if (*text_at(spec, i) != NULL) {
            json_write_string(&writer, texts[i].name, *text_at(spec, i));
        }
    }
    for (size_t i = 0; i < COUNT(lists); i++) {
        char **list = *list_at(spec, i);
        json_begin_array(&writer, lists[i].name);
        for (size_t k = 0; list != NULL && list[k] != NULL; k++) {
            json_write_string(&writer, NULL, list[k]);
        }
        json_end_array(&writer);
    }
    for (size_t i = 0; i < COUNT(numbers); i++) {
        json_write_int(&writer, numbers[i].name, *number_at(spec, i));
    }
    auto_buf struct buf worker = {0};
    loop_spec_encode(&spec->worker, &worker);
    json_write_raw(&writer, "worker", buf_string(&worker));
    if (spec->review_secret != NULL) {
        auto_buf struct buf reviewer = {0};
        loop_spec_encode(&spec->reviewer, &reviewer);
        json_write_raw(&writer, "reviewer", buf_string(&reviewer));
    }
    json_end_object(&writer);
}

static char **decode_list(struct json_object *array)
{
    size_t count = json_length(array);
    count = count > LIMIT_ARGUMENTS ? LIMIT_ARGUMENTS : count;
    char **list = memory_new_zero(count + 1, sizeof(*list));
    for (size_t i = 0; i < count; i++) {
        const char *text = json_object_get_string(json_object_array_get_idx(array, i));
        list[i] = memory_dup_string(text == NULL ? "" : text);
    }
    return list;
}

static int decode_spec(struct json_object *root, const char *name, struct loop_spec *ret_spec,
                       struct rondo_error *err)
{
    struct json_object *spec = json_member(root, name);
    const char *text =
        spec == NULL ? "{}" : json_object_to_json_string_ext(spec, JSON_C_TO_STRING_PLAIN);
    return loop_spec_decode(text, strlen(text), ret_spec, err);
}

static int decode_members(struct json_object *root, struct work_spec *spec, struct rondo_error *err)
{
    for (size_t i = 0; i < COUNT(texts); i++) {
        *text_at(spec, i) = memory_dup_string(json_get_string(root, texts[i].name, NULL));
        if (*text_at(spec, i) == NULL && !texts[i].is_optional) {
            return error_set(err, RONDO_ERR_INVALID, "`%s` is missing", texts[i].name);
        }
    }
    for (size_t i = 0; i < COUNT(lists); i++) {
        *list_at(spec, i) = decode_list(json_member(root, lists[i].name));
    }
    for (size_t i = 0; i < COUNT(numbers); i++) {
        int64_t number = json_get_int(root, numbers[i].name, numbers[i].otherwise);
        if (number < numbers[i].low || number > numbers[i].high) {
            return error_set(err, RONDO_ERR_INVALID, "`%s` is out of range", numbers[i].name);
        }
        *number_at(spec, i) = number;
    }
    int r = decode_spec(root, "worker", &spec->worker, err);
    return r < 0 || spec->review_secret == NULL
               ? r
               : decode_spec(root, "reviewer", &spec->reviewer, err);
}

int work_spec_decode(const char *json, struct work_spec *ret_spec, struct rondo_error *err)
{
    auto_json struct json_object *root = NULL;
    struct work_spec spec = {0};
    int r = json_parse(json, strlen(json), &root, err);
    r = r < 0 ? r : decode_members(root, &spec, err);
    if (r < 0) {
        error_prefix(err, "the stored options of the PRD's run");
        work_spec_fini(&spec);
        return r;
    }
    *ret_spec = spec;
    return 0;
}

/** An id as the last part of a branch's name. @return whether it is the id itself */
static bool add_branch_part(const char *id, struct buf *ret_name)
{
    size_t len = strlen(id);
    bool is_same = len > 0 && (len < 5 || strcmp(id + len - 5, ".lock") != 0);
    for (size_t i = 0; i < len; i++) {
        bool is_dot = id[i] == '.' && i > 0 && id[i + 1] != '.' && id[i + 1] != '\0';
        bool is_kept = is_dot || ascii_is_letter_or_digit(id[i]) || id[i] == '-' || id[i] == '_';
        buf_append(ret_name, is_kept ? id + i : "-", 1);
        is_same = is_same && is_kept;
    }
    return is_same && len <= MOST_BRANCH_PART;
}

char *work_task_branch(const struct work_spec *spec, const char *task)
{
    auto_buf struct buf part = {0};
    struct buf name = {0};
    if (!spec->is_branch_per_task) {
        return memory_dup_string(spec->branch);
    }
    if (add_branch_part(task, &part)) {
        buf_printf(&name, "%s/%s", spec->branch, buf_string(&part));
    } else { /* Different ids have different names. */
        unsigned char bytes[DIGEST_SIZE];
        char digest[DIGEST_HEX_SIZE];
        struct digest state = digest_begin();
        digest_add(&state, task, strlen(task));
        digest_finish(&state, bytes);
        digest_hex(bytes, digest);
        buf_printf(&name, "%s/%.40s-%.8s", spec->branch, buf_string(&part), digest);
    }
    return buf_steal(&name);
}

bool work_is_parent(const struct loop_spec *spec)
{
    return spec->kind != NULL && strcmp(spec->kind, WORK_KIND) == 0 && spec->work != NULL;
}

static void encode_child(const char *parent, const char *task, int64_t attempt, bool is_review,
                         struct buf *ret_buf)
{
    struct json_writer writer = json_writer(ret_buf);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "parent", parent);
    json_write_string(&writer, "task", task);
    json_write_int(&writer, "attempt", attempt);
    if (is_review) {
        json_write_bool(&writer, "review", true);
    }
    json_end_object(&writer);
}

void work_child_encode(const char *parent, const char *task, int64_t attempt, struct buf *ret_buf)
{
    encode_child(parent, task, attempt, false, ret_buf);
}

void work_review_encode(const char *parent, const char *task, int64_t attempt, struct buf *ret_buf)
{
    encode_child(parent, task, attempt, true, ret_buf);
}

bool work_is_review(const struct loop_spec *spec)
{
    auto_json struct json_object *root = NULL;
    return spec->work != NULL && !work_is_parent(spec) &&
           json_parse(spec->work, strlen(spec->work), &root, NULL) == 0 &&
           json_get_bool(root, "review", false);
}

bool work_find_parent(const struct loop_spec *spec, char *ret_parent)
{
    auto_json struct json_object *root = NULL;
    if (spec->work == NULL || work_is_parent(spec) ||
        json_parse(spec->work, strlen(spec->work), &root, NULL) < 0) {
        return false;
    }
    const char *parent = json_get_string(root, "parent", NULL);
    if (parent != NULL) {
        snprintf(ret_parent, ID_SIZE, "%s", parent);
    }
    return parent != NULL;
}
