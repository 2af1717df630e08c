// SPDX-License-Identifier: Apache-2.0
/*
 * Reading and writing sinks. One table of members says which kinds have them, so that a member that
 * means nothing is an error and not a surprise.
 */
#include "alert/sink_read.h"

#include "alert/sink_sign.h"
#include "base/ascii.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/text/signing.h"
#include "model/key/secret.h"

#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Sets of kinds, one bit each. */
#define OF_ALL                        UINT_MAX
#define OF_WEBHOOK                    (1U << SINK_WEBHOOK)
#define URL_BIT(ID, id, target, help) | ((target) == SINK_HAS_URL ? 1U << SINK_##ID : 0U)
#define OF_URL                        (0U SINK_KINDS(URL_BIT))
#define OF_COMMAND                    (~OF_URL)

static const struct {
    const char *name;
    enum sink_target target;
} kinds[SINK_KIND_COUNT] = {
#define KIND(ID, id, target, help) [SINK_##ID] = {#id, target},
    SINK_KINDS(KIND)};

static const struct {
    const char *name;
    unsigned of; /* kinds of sinks that may have it */
    bool is_stored_only;
} members[] = {
    {"name", OF_ALL, false},        {"kind", OF_ALL, false},    {"kinds", OF_ALL, false},
    {"agents", OF_ALL, false},      {"url", OF_URL, false},     {"secret", OF_WEBHOOK, false},
    {"command", OF_COMMAND, false}, {"pins", OF_COMMAND, true}, {"created_ns", OF_ALL, true},
    {"disabled", OF_ALL, true},
};

const char *sink_kind_name(enum sink_kind kind)
{
    return kinds[kind].name;
}

enum sink_target sink_kind_target(enum sink_kind kind)
{
    return kinds[kind].target;
}

void sink_fini(struct sink *sink)
{
    secret_free_string(sink->url);
    secret_free_string(sink->secret);
    memory_free_list(sink->command);
    for (size_t i = 0; sink->pins != NULL && sink->pins[i].path != NULL; i++) {
        free(sink->pins[i].path);
    }
    free(sink->pins);
    memory_free_list(sink->agents);
    free(sink->name);
    free(sink->disabled);
    *sink = (struct sink){0};
}

/* ---- Reading -------------------------------------------------------------------------------- */

static struct json_object *member_of(struct json_object *object, const char *name)
{
    struct json_object *value = NULL;
    return json_object_object_get_ex(object, name, &value) ? value : NULL;
}

/** A text without NUL and control characters, of a length in range. */
static int check_text(struct json_object *value, const char *what, size_t max,
                      struct rondo_error *err)
{
    if (!json_object_is_type(value, json_type_string)) {
        return error_set(err, RONDO_ERR_INVALID, "%s: expected text", what);
    }
    const char *text = json_object_get_string(value);
    size_t len = (size_t)json_object_get_string_len(value);
    if (len > max) {
        return error_set(err, RONDO_ERR_LIMIT, "%s: more than %zu bytes", what, max);
    }
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f) {
            return error_set(err, RONDO_ERR_INVALID, "%s: control characters are not allowed",
                             what);
        }
    }
    return len > 0 ? 0 : error_set(err, RONDO_ERR_INVALID, "%s: must not be empty", what);
}

static int read_name(struct json_object *object, struct sink *sink, struct rondo_error *err)
{
    struct json_object *value = member_of(object, "name");
    int r = check_text(value, "name", SINK_NAME_LEN, err);
    if (r < 0) {
        return r;
    }
    const char *name = json_object_get_string(value);
    for (const char *at = name; *at != '\0'; at++) {
        if (!ascii_is_letter_or_digit(*at) && strchr("._-", *at) == NULL) {
            return error_set(err, RONDO_ERR_INVALID,
                             "name: only letters, digits, dots, dashes and underscores");
        }
    }
    sink->name = memory_dup_string(name);
    return 0;
}

static int read_kind(struct json_object *object, struct sink *sink, struct rondo_error *err)
{
    const char *name = json_get_string(object, "kind", "");
    auto_buf struct buf names = {0};
    for (unsigned i = 0; i < SINK_KIND_COUNT; i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            sink->kind = (enum sink_kind)i;
            return 0;
        }
        const char *separator = i == 0 ? "" : i + 1 < SINK_KIND_COUNT ? ", " : " or ";
        buf_printf(&names, "%s%s", separator, kinds[i].name);
    }
    return error_set(err, RONDO_ERR_INVALID, "kind: expected %s", buf_string(&names));
}

static int check_members(struct json_object *object, enum sink_kind kind, bool is_stored,
                         struct rondo_error *err)
{
    struct json_object_iterator at = json_object_iter_begin(object);
    struct json_object_iterator end = json_object_iter_end(object);
    for (; !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        const char *name = json_object_iter_peek_name(&at);
        bool is_known = false;
        for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
            is_known = is_known ||
                       (strcmp(members[i].name, name) == 0 && (members[i].of >> kind & 1) != 0 &&
                        (is_stored || !members[i].is_stored_only));
        }
        /* null is what an absent member is shown as. */
        if (!is_known && json_object_iter_peek_value(&at) != NULL) {
            return error_set(err, RONDO_ERR_INVALID, "%.64s: not a member of a sink of kind %s",
                             name, kinds[kind].name);
        }
    }
    return 0;
}

/** Read a list of texts; absent or null gives NULL. */
static int read_list(struct json_object *object, const char *name, size_t max, size_t max_bytes,
                     char ***ret_list, struct rondo_error *err)
{
    struct json_object *array = member_of(object, name);
    if (array == NULL) {
        return 0;
    }
    if (!json_object_is_type(array, json_type_array) || json_object_array_length(array) == 0) {
        return error_set(err, RONDO_ERR_INVALID, "%s: expected a list of strings", name);
    }
    size_t count = json_object_array_length(array);
    if (count > max) {
        return error_set(err, RONDO_ERR_LIMIT, "%s: more than %zu", name, max);
    }
    char **list = memory_new_zero(count + 1, sizeof(*list));
    *ret_list = list;
    for (size_t i = 0; i < count; i++) {
        struct json_object *item = json_object_array_get_idx(array, i);
        int r = check_text(item, name, max_bytes, err);
        if (r < 0) {
            return r;
        }
        list[i] = memory_dup_string(json_object_get_string(item));
    }
    return 0;
}

static int read_kinds(struct json_object *object, struct sink *sink, struct rondo_error *err)
{
    char **names = NULL;
    int r = read_list(object, "kinds", WARNING_KIND_COUNT, SINK_NAME_LEN, &names, err);
    for (size_t i = 0; r == 0 && names != NULL && names[i] != NULL; i++) {
        enum warning_kind kind = WARNING_TEST;
        if (warning_kind_from_name(names[i], &kind)) {
            sink->kinds |= 1U << kind;
        } else {
            r = error_set(err, RONDO_ERR_INVALID, "kinds: no kind of warning is called %.64s",
                          names[i]);
        }
    }
    memory_free_list(names);
    return r;
}

/** Length of "scheme://host" (with a port) of an http address; 0 = it is none. */
static size_t origin_len(const char *url)
{
    size_t scheme = strncasecmp(url, "https://", 8) == 0  ? 8
                    : strncasecmp(url, "http://", 7) == 0 ? 7
                                                          : 0;
    size_t host = scheme == 0 ? 0 : strcspn(url + scheme, "/?#");
    return host == 0 ? 0 : scheme + host;
}

static int read_url(struct json_object *object, struct sink *sink, struct rondo_error *err)
{
    struct json_object *value = member_of(object, "url");
    int r = check_text(value, "url", LIMIT_SINK_URL_BYTES, err);
    if (r < 0) {
        return r;
    }
    const char *url = json_object_get_string(value);
    size_t len = origin_len(url);
    if (len == 0 || strchr(url, ' ') != NULL) {
        return error_set(err, RONDO_ERR_INVALID, "url: expected an http or https address");
    }
    if (memchr(url, '@', len) != NULL) {
        return error_set(err, RONDO_ERR_INVALID, "url: a user in the address is not supported");
    }
    sink->url = memory_dup_string(url);
    return 0;
}

static int read_secret(struct json_object *object, struct sink *sink, struct rondo_error *err)
{
    struct json_object *value = member_of(object, "secret");
    if (value == NULL) {
        return 0;
    }
    const char *secret =
        json_object_is_type(value, json_type_string) ? json_object_get_string(value) : NULL;
    if (!sink_secret_is_valid(secret)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "secret: expected whsec_ and base64 of %d to %d bytes", SIGNING_KEY_MIN,
                         SIGNING_KEY_MAX);
    }
    sink->secret = memory_dup_string(secret);
    return 0;
}

static int read_target(struct json_object *object, struct sink *sink, struct rondo_error *err)
{
    if (kinds[sink->kind].target == SINK_HAS_URL) {
        int r = read_url(object, sink, err);
        return r < 0 ? r : read_secret(object, sink, err);
    }
    if (member_of(object, "command") == NULL) {
        return error_set(err, RONDO_ERR_INVALID, "command: expected a list of strings");
    }
    return read_list(object, "command", LIMIT_SINK_ARGUMENTS, LIMIT_SINK_ARGUMENT_BYTES,
                     &sink->command, err);
}

/** Digests of files by their paths. */
static void read_pins(struct json_object *pins, struct sink *sink)
{
    size_t count = 0;
    if (!json_object_is_type(pins, json_type_object)) {
        return;
    }
    size_t room = (size_t)json_object_object_length(pins) + 1;
    sink->pins = memory_new_zero(room, sizeof(*sink->pins));
    struct json_object_iter member;
    json_object_object_foreachC(pins, member)
    {
        const char *hex = json_object_get_string(member.val);
        struct sink_pin *pin = &sink->pins[count++];
        pin->path = memory_dup_string(member.key);
        snprintf(pin->sha256, sizeof(pin->sha256), "%s", hex == NULL ? "" : hex);
    }
}

static int read_members(struct json_object *object, bool is_stored, struct sink *sink,
                        struct rondo_error *err)
{
    int r = read_name(object, sink, err);
    r = r < 0 ? r : read_kind(object, sink, err);
    r = r < 0 ? r : check_members(object, sink->kind, is_stored, err);
    r = r < 0 ? r : read_target(object, sink, err);
    r = r < 0 ? r : read_kinds(object, sink, err);
    r = r < 0 ? r
              : read_list(object, "agents", LIMIT_SINK_AGENTS, LIMIT_AGENT_ID_LEN, &sink->agents,
                          err);
    if (r == 0 && is_stored) {
        read_pins(member_of(object, "pins"), sink);
        sink->created_ns = json_get_int(object, "created_ns", 0);
        sink->disabled = memory_dup_string(json_get_string(object, "disabled", NULL));
    }
    return r;
}

int sink_parse(struct json_object *object, bool is_stored, struct sink *ret_sink,
               struct rondo_error *err)
{
    if (!json_object_is_type(object, json_type_object)) {
        return error_set(err, RONDO_ERR_INVALID, "a sink is a JSON object");
    }
    struct sink sink = {0};
    int r = read_members(object, is_stored, &sink, err);
    if (r < 0) {
        sink_fini(&sink);
        return r;
    }
    *ret_sink = sink;
    return 0;
}

int sink_decode(const char *json, size_t len, struct sink *ret_sink, struct rondo_error *err)
{
    auto_json struct json_object *object = NULL;
    int r = json_parse(json, len, &object, err);
    return r < 0 ? r : sink_parse(object, true, ret_sink, err);
}

/* ---- Writing -------------------------------------------------------------------------------- */

static void write_list(struct json_writer *writer, const char *key, char *const *list)
{
    if (list == NULL) {
        json_write_null(writer, key);
        return;
    }
    json_begin_array(writer, key);
    for (size_t i = 0; list[i] != NULL; i++) {
        json_write_string(writer, NULL, list[i]);
    }
    json_end_array(writer);
}

static void write_kinds(struct json_writer *writer, uint32_t set)
{
    if (set == 0) {
        json_write_null(writer, "kinds");
        return;
    }
    json_begin_array(writer, "kinds");
    for (unsigned i = 0; i < WARNING_KIND_COUNT; i++) {
        if ((set >> i & 1) != 0) {
            json_write_string(writer, NULL, warning_kind_name((enum warning_kind)i));
        }
    }
    json_end_array(writer);
}

static void write_pins(struct json_writer *writer, const struct sink_pin *pins)
{
    if (pins == NULL) {
        return;
    }
    json_begin_object(writer, "pins");
    for (size_t i = 0; pins[i].path != NULL; i++) {
        json_write_string(writer, pins[i].path, pins[i].sha256);
    }
    json_end_object(writer);
}

void sink_encode(const struct sink *sink, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "name", sink->name);
    json_write_string(&writer, "kind", sink_kind_name(sink->kind));
    json_write_string(&writer, "url", sink->url);
    json_write_string(&writer, "secret", sink->secret);
    write_list(&writer, "command", sink->command);
    write_pins(&writer, sink->pins);
    write_kinds(&writer, sink->kinds);
    write_list(&writer, "agents", sink->agents);
    json_write_int(&writer, "created_ns", sink->created_ns);
    json_write_string(&writer, "disabled", sink->disabled);
    json_end_object(&writer);
}

void sink_show(const struct sink *sink, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    char created[CLOCK_UTC_SIZE];
    clock_format_utc(sink->created_ns, created);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "name", sink->name);
    json_write_string(&writer, "kind", sink_kind_name(sink->kind));
    if (sink->url == NULL) {
        json_write_null(&writer, "url");
    } else {
        json_write_string_len(&writer, "url", sink->url, origin_len(sink->url));
    }
    write_list(&writer, "command", sink->command);
    write_kinds(&writer, sink->kinds);
    write_list(&writer, "agents", sink->agents);
    json_write_string(&writer, "created", created);
    if (sink->disabled != NULL) {
        json_write_string(&writer, "disabled", sink->disabled);
    }
    json_end_object(&writer);
}

bool sink_wants(const struct sink *sink, const struct warning *warning)
{
    bool is_wanted = sink->agents == NULL;
    for (size_t i = 0; sink->agents != NULL && sink->agents[i] != NULL; i++) {
        is_wanted = is_wanted || strcmp(sink->agents[i], warning->agent_id) == 0;
    }
    return is_wanted && sink->disabled == NULL &&
           (sink->kinds == 0 || (sink->kinds >> warning->kind & 1) != 0);
}

void sink_mark(const char *name, char ret_mark[SINK_MARK_SIZE])
{
    unsigned char bytes[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    struct digest digest = digest_begin();
    digest_add(&digest, name, strlen(name));
    digest_finish(&digest, bytes);
    digest_hex(bytes, hex);
    memcpy(ret_mark, hex, SINK_MARK_SIZE - 1);
    ret_mark[SINK_MARK_SIZE - 1] = '\0';
}
