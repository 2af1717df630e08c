// SPDX-License-Identifier: Apache-2.0
#include "forge/parts.h"

#include "base/limits.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <string.h>
#include <strings.h>

enum forge_end parts_check_name(struct forge *forge, const char *name)
{
    if (!link_is_segment(name) || strlen(name) > LIMIT_FORGE_NAME_BYTES) {
        return forge_end_with(forge, FORGE_CONFLICT, "`%.100s` is not a name", name);
    }
    return FORGE_OK;
}

/** A label that is looked for. */
struct label_search {
    const char *name;
    int64_t id;
};

static bool take_labels(void *context, struct json_object *entries)
{
    struct label_search *search = context;
    for (size_t i = 0; i < json_length(entries) && search->id == 0; i++) {
        struct json_object *label = json_object_array_get_idx(entries, i);
        int64_t id = json_get_int(label, "id", 0);
        if (id > 0 && strcasecmp(json_get_string(label, "name", ""), search->name) == 0) {
            search->id = id;
        }
    }
    return search->id == 0;
}

enum forge_end parts_find_label(struct forge *forge, const char *where, const char *name,
                                int64_t *ret_id)
{
    auto_buf struct buf path = {0};
    struct label_search search = {.name = name};
    buf_printf(&path, "%s/labels?%s", where, forge->ops->names.page_size);
    struct forge_list list = {
        .path = buf_string(&path), .take_page = take_labels, .context = &search};
    enum forge_end end = forge_read_list(forge, &list);
    if (end == FORGE_OK) {
        *ret_id = search.id;
    }
    return end;
}

void parts_write_list(const char *key, const char *value, struct buf *ret_body)
{
    struct json_writer writer = json_writer(ret_body);
    json_begin_object(&writer, NULL);
    json_begin_array(&writer, key);
    json_write_string(&writer, NULL, value);
    json_end_array(&writer);
    json_end_object(&writer);
}

void parts_write_text(const char *key, const char *value, struct buf *ret_body)
{
    struct json_writer writer = json_writer(ret_body);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, key, value);
    json_end_object(&writer);
}

void parts_write_label(const char *name, const char *color, const char *prefix,
                       const char *description, struct buf *ret_body)
{
    auto_buf struct buf full_color = {0};
    struct json_writer writer = json_writer(ret_body);
    buf_printf(&full_color, "%s%s", prefix, color);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "name", name);
    json_write_string(&writer, "color", buf_string(&full_color));
    json_write_string(&writer, "description", description);
    json_end_object(&writer);
}

void parts_write_labels(const char *const *labels, struct buf *ret_query)
{
    for (size_t i = 0; labels[i] != NULL; i++) {
        buf_append_string(ret_query, i == 0 ? "&labels=" : "%2C");
        link_escape(labels[i], ret_query);
    }
}

enum forge_end parts_create_label(struct forge *forge, const struct buf *body)
{
    auto_buf struct buf path = {0};
    buf_printf(&path, "%s/labels", forge->root);
    enum forge_end end = forge_write(forge, "POST", buf_string(&path), body, NULL);
    /* Another process was faster. */
    bool is_there = end == FORGE_CONFLICT && forge->outcome.status != 400;
    return is_there ? forge_end_with(forge, FORGE_OK, "%s", "") : end;
}

void parts_write_root(const struct forge_place *place, struct buf *ret_path)
{
    buf_append_string(ret_path, "/repos/");
    link_escape(place->owner, ret_path);
    buf_append_string(ret_path, "/");
    link_escape(place->name, ret_path);
}

void parts_write_comment_path(int64_t number, int64_t id, struct buf *ret_path)
{
    (void)number;
    buf_printf(ret_path, "/issues/comments/%" PRId64, id);
}
