// SPDX-License-Identifier: Apache-2.0
/* Reading template links. */
#include "policy/links.h"

#include "base/error.h"
#include "base/json/json.h"

#include <json-c/json.h>
#include <string.h>

/** The value of a slot, NULL when it is not given. */
static int read_value(struct json_object *values, const char *slot, struct cedar_uid **ret_uid,
                      struct rondo_error *err)
{
    struct json_object *value = NULL;
    if (!json_object_object_get_ex(values, slot, &value)) {
        return 0;
    }
    const char *type = json_get_string(value, "type", NULL);
    const char *id = json_get_string(value, "id", NULL);
    if (type == NULL || id == NULL) {
        return error_set(err, RONDO_ERR_INVALID, "%s is not {\"type\":..,\"id\":..}", slot);
    }
    *ret_uid = cedar_uid_new(type, id, err);
    return *ret_uid == NULL ? RONDO_ERR_INVALID : 0;
}

static int add_link(struct cedar_builder *builder, struct json_object *link,
                    struct rondo_error *err)
{
    struct json_object *values = NULL;
    const char *template_id = json_get_string(link, "templateId", NULL);
    const char *new_id = json_get_string(link, "newId", NULL);
    if (template_id == NULL || new_id == NULL ||
        !json_object_object_get_ex(link, "values", &values)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "a link needs \"templateId\", \"newId\" and \"values\"");
    }
    struct cedar_uid *principal = NULL;
    struct cedar_uid *resource = NULL;
    int r = read_value(values, "?principal", &principal, err);
    if (r == 0) {
        r = read_value(values, "?resource", &resource, err);
    }
    if (r == 0) {
        r = cedar_builder_link(builder, template_id, new_id, principal, resource, err);
    }
    cedar_uid_free(principal);
    cedar_uid_free(resource);
    return r;
}

int links_add(struct cedar_builder *builder, const char *name, const char *json, size_t len,
              struct rondo_error *err)
{
    auto_json struct json_object *root = NULL;
    int r = json_parse(json, len, &root, err);
    if (r == 0 && !json_object_is_type(root, json_type_array)) {
        r = error_set(err, RONDO_ERR_INVALID, "not a list of links");
    }
    for (size_t i = 0; r == 0 && i < json_object_array_length(root); i++) {
        r = add_link(builder, json_object_array_get_idx(root, i), err);
    }
    if (r == RONDO_ERR_NOT_FOUND) {
        r = err->code = RONDO_ERR_INVALID; /* A template is missing, not the file. */
    }
    if (r < 0) {
        error_prefix(err, "%s", name);
    }
    return r;
}
