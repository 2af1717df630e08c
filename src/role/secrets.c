// SPDX-License-Identifier: Apache-2.0
/*
 * Secrets that are written out in a role. A run keeps its role, so they would be in the store,
 * readable by everyone who may read it; a variable names them instead. Recursion is bounded by
 * YAML's depth.
 */
#include "role/role.h"

#include "base/ascii.h"
#include "base/error.h"
#include "base/text/redact.h"

#include <json-c/json.h>
#include <string.h>
#include <strings.h>

static bool find(struct json_object *value, const char *key, bool is_header, struct buf *path);

/** "$NAME" or "${NAME}" */
static bool has_variable(const char *text)
{
    for (const char *at = strchr(text, '$'); at != NULL; at = strchr(at + 1, '$')) {
        if (at[1] == '{' || at[1] == '_' || ascii_is_letter(at[1])) {
            return true;
        }
    }
    return false;
}

/** "https://user:password@host" */
static bool has_password(const char *text)
{
    const char *authority = strstr(text, "://");
    if (authority == NULL) {
        return false;
    }
    authority += 3;
    const char *at = memchr(authority, '@', strcspn(authority, "/?#"));
    return at != NULL && memchr(authority, ':', (size_t)(at - authority)) != NULL;
}

/** Addresses that are secrets themselves. */
static bool is_webhook(const char *text)
{
    static const char *const parts[] = {"hooks.slack.com/", "/api/webhooks/", "webhook.office.com/",
                                        "chat.googleapis.com/v1/spaces/"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (strstr(text, parts[i]) != NULL) {
            return true;
        }
    }
    return false;
}

/** Whether a setting of this name holds a secret; `api_key_env` holds a variable's name. */
static bool names_secret(const char *key, bool is_header)
{
    static const char *const words[] = {"api_key",     "apikey",    "password",   "passwd",
                                        "secret",      "bearer",    "credential", "access_token",
                                        "private_key", "auth_token"};
    size_t len = strlen(key);
    if (len > 4 && strcasecmp(key + len - 4, "_env") == 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcasestr(key, words[i]) != NULL) {
            return true;
        }
    }
    return strcasecmp(key, "token") == 0 || (is_header && redact_is_secret_name(key));
}

static bool is_secret(const char *text, const char *key, bool is_header)
{
    if (redact_has_token(text) || (has_password(text) && !has_variable(text))) {
        return true;
    }
    bool is_placeholder = text[0] == '\0' || strcmp(text, "<generated>") == 0;
    return !is_placeholder && !has_variable(text) &&
           (is_webhook(text) || (key != NULL && names_secret(key, is_header)));
}

/** Options of a command: "--api-key=x", and "--api-key" before "x". */
static bool find_in_list(struct json_object *list, struct buf *path)
{
    const char *option = NULL;
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        struct json_object *item = json_object_array_get_idx(list, i);
        size_t mark = path->len;
        buf_printf(path, "[%zu]", i);
        const char *text =
            json_object_is_type(item, json_type_string) ? json_object_get_string(item) : "";
        const char *value = text[0] == '-' ? strchr(text, '=') : NULL;
        bool is_found =
            value != NULL ? redact_is_secret_name(text) && value[1] != '\0' && !has_variable(value)
                          : find(item, text[0] == '-' ? NULL : option, option != NULL, path);
        if (is_found) {
            return true;
        }
        option = text[0] == '-' && value == NULL ? text : NULL;
        path->len = mark;
        path->data[mark] = '\0';
    }
    return false;
}

static bool find_in_object(struct json_object *object, bool is_header, struct buf *path)
{
    struct json_object_iterator at = json_object_iter_begin(object);
    struct json_object_iterator end = json_object_iter_end(object);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        const char *key = json_object_iter_peek_name(&at);
        size_t mark = path->len;
        buf_printf(path, "%s%.80s", mark > 0 ? "." : "", key);
        bool is_map = strcmp(key, "headers") == 0 || strcmp(key, "auth") == 0 ||
                      strcmp(key, "env") == 0 || strcmp(key, "query_params") == 0;
        if (find(json_object_iter_peek_value(&at), key, is_header || is_map, path)) {
            return true;
        }
        path->len = mark;
        path->data[mark] = '\0';
    }
    return false;
}

static bool find(struct json_object *value, const char *key, bool is_header, struct buf *path)
{
    switch (json_object_get_type(value)) {
    case json_type_string:
        return is_secret(json_object_get_string(value), key, is_header);
    case json_type_object:
        return find_in_object(value, is_header, path);
    case json_type_array:
        return find_in_list(value, path);
    case json_type_null:
    case json_type_boolean:
    case json_type_double:
    case json_type_int:
        break;
    }
    return false;
}

bool role_find_secret(struct json_object *value, struct buf *ret_path)
{
    buf_append_string(ret_path, "");
    return find(value, NULL, false, ret_path);
}

int role_check_secrets(const struct role *role, struct rondo_error *err)
{
    static const char *const sections[] = {"tools",    "model",         "triggers", "sinks",
                                           "security", "observability", "ingest",   "memory"};
    struct json_object *spec = NULL;
    json_object_object_get_ex(role->normal, "spec", &spec);
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
        struct json_object *section = NULL;
        auto_buf struct buf path = {0};
        buf_printf(&path, "spec.%s", sections[i]);
        if (json_object_object_get_ex(spec, sections[i], &section) &&
            find(section, NULL, false, &path)) {
            return error_set(err, RONDO_ERR_INVALID,
                             "%.200s contains a secret, which the run would keep; put it into a "
                             "variable, and write ${NAME} there",
                             buf_string(&path));
        }
    }
    return 0;
}
