// SPDX-License-Identifier: Apache-2.0
#include "handoff/view/redact.h"

#include "base/buf.h"
#include "base/hmac.h"
#include "base/json/canonical.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/random.h"
#include "handoff/audit/keys.h"
#include "tool/permission.h"

#include <json-c/json.h>
#include <stdio.h>
#include <string.h>

#define KEY_LABEL "rondo-redaction-v1"

/* ---- Pointers ------------------------------------------------------------------------------- */

bool redact_is_pointer(const char *pointer)
{
    size_t segments = 0;
    if (pointer[0] != '/' || strlen(pointer) > LIMIT_POINTER_BYTES) {
        return false;
    }
    for (const char *at = pointer; *at != '\0'; at++) {
        segments += *at == '/' ? 1 : 0;
        if (*at == '~' && at[1] != '0' && at[1] != '1') {
            return false;
        }
    }
    return segments <= LIMIT_POINTER_SEGMENTS;
}

/** One segment of a pointer, as it is written. */
struct segment {
    const char *text;
    size_t len;
};

/** Take the next segment. @return false at the end */
static bool next_segment(const char **at, struct segment *ret_segment)
{
    if (**at != '/') {
        return false;
    }
    ret_segment->text = *at + 1;
    ret_segment->len = strcspn(*at + 1, "/");
    *at += 1 + ret_segment->len;
    return true;
}

static bool is_wildcard(const struct segment *segment)
{
    return segment->len == 1 && segment->text[0] == '*';
}

/** The name that a segment means. */
static void unescape(const struct segment *segment, struct buf *ret_name)
{
    for (size_t i = 0; i < segment->len; i++) {
        char c = segment->text[i];
        if (c == '~') {
            c = segment->text[++i] == '0' ? '~' : '/';
        }
        buf_append(ret_name, &c, 1);
    }
}

static void append_escaped(const char *name, struct buf *path)
{
    buf_append_string(path, "/");
    for (; *name != '\0'; name++) {
        const char *shown = *name == '~' ? "~0" : *name == '/' ? "~1" : NULL;
        buf_append(path, shown == NULL ? name : shown, shown == NULL ? 1 : 2);
    }
}

/** The index that a segment means: digits without a leading zero. @return whether it is one */
static bool read_index(const struct segment *segment, size_t *ret_index)
{
    size_t index = 0;
    if (segment->len == 0 || segment->len > 9 || (segment->len > 1 && segment->text[0] == '0')) {
        return false;
    }
    for (size_t i = 0; i < segment->len; i++) {
        if (segment->text[i] < '0' || segment->text[i] > '9') {
            return false;
        }
        index = index * 10 + (size_t)(segment->text[i] - '0');
    }
    *ret_index = index;
    return true;
}

/* ---- Who sees what -------------------------------------------------------------------------- */

static bool has_name(const struct redact_names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++) {
        if (strcmp(names->names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static bool shares_name(const struct redact_names *one, const struct redact_names *other)
{
    for (size_t i = 0; i < one->count; i++) {
        if (has_name(other, one->names[i])) {
            return true;
        }
    }
    return false;
}

static bool is_about(const char *glob, const char *name)
{
    return glob == NULL || name == NULL || glob_matches(glob, name);
}

/** Whether a rule hides something from the one who looks: in doubt it does. */
static bool applies(const struct redact_view *view, const struct redact_rule *rule)
{
    if (!is_about(rule->agent, view->agent) || !is_about(rule->tool, view->tool)) {
        return false;
    }
    return view->roles.count == 0 || rule->hidden_from.count == 0 ||
           has_name(&rule->hidden_from, "*") || shares_name(&view->roles, &rule->hidden_from);
}

bool redact_hides(const struct redact_view *view)
{
    for (size_t i = 0; i < view->count; i++) {
        if (applies(view, &view->rules[i])) {
            return true;
        }
    }
    return false;
}

/* ---- Hiding --------------------------------------------------------------------------------- */

/** One application of a rule, and texts that were hidden. */
struct hiding {
    const struct redact_view *view;
    const char *pointer;
    struct json_object *paths;
    struct json_object *texts; /**< an array of those hidden so far */
    size_t count;
};

static void code_of(const struct redact_view *view, struct json_object *value, char *ret_hex,
                    size_t *ret_len)
{
    unsigned char code[DIGEST_SIZE];
    auto_buf struct buf canonical = {0};
    const char *text = json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN |
                                                                 JSON_C_TO_STRING_NOSLASHESCAPE);
    /* What has no canonical form is named by its text. */
    if (json_canonical(text, strlen(text), &canonical, NULL) < 0) {
        buf_append_string(&canonical, text);
    }
    struct hmac hmac = hmac_begin(view->key, sizeof(view->key));
    hmac_add(&hmac, canonical.data, canonical.len);
    hmac_finish(&hmac, code);
    digest_hex(code, ret_hex);
    *ret_len = json_object_is_type(value, json_type_string)
                   ? (size_t)json_object_get_string_len(value)
                   : canonical.len;
}

/** Tells a placeholder from an object of the agent that looks like one. */
static const char placeholder_mark = 0;

/** What is shown in place of a value. */
static struct json_object *placeholder(const struct hiding *hiding, struct json_object *value)
{
    char hex[DIGEST_HEX_SIZE];
    char code[DIGEST_HEX_SIZE + 16];
    size_t len = 0;
    auto_buf struct buf reason = {0};
    struct json_object *shown = json_object_new_object();
    code_of(hiding->view, value, hex, &len);
    snprintf(code, sizeof(code), "hmac-sha256:%s", hex);
    buf_printf(&reason, "a rule hides %s", hiding->pointer);
    json_object_object_add(shown, "redacted", json_object_new_boolean(true));
    json_object_object_add(shown, "reason", json_object_new_string(buf_string(&reason)));
    json_object_object_add(shown, "hmac", json_object_new_string(code));
    json_object_object_add(shown, "length", json_object_new_int64((int64_t)len));
    json_object_set_userdata(shown, (void *)&placeholder_mark, NULL);
    return shown;
}

static void keep_text(struct hiding *hiding, const char *text, size_t len)
{
    size_t count = json_length(hiding->texts);
    bool is_known = len < REDACT_SHORTEST_TEXT || count == LIMIT_REDACTED_TEXTS;
    for (size_t i = 0; i < count && !is_known; i++) {
        struct json_object *known = json_object_array_get_idx(hiding->texts, i);
        is_known = (size_t)json_object_get_string_len(known) == len &&
                   memcmp(json_object_get_string(known), text, len) == 0;
    }
    if (!is_known) {
        json_object_array_add(hiding->texts, json_object_new_string_len(text, (int)len));
    }
}

/** Remember the texts in a hidden value, also as they are within JSON that is quoted somewhere. */
static void keep_texts(struct hiding *hiding, struct json_object *value)
{
    if (json_object_is_type(value, json_type_string)) {
        const char *text = json_object_get_string(value);
        keep_text(hiding, text, strlen(text));
        const char *quoted = json_object_to_json_string_ext(
            value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
        keep_text(hiding, quoted + 1, strlen(quoted) - 2);
    } else if (json_object_is_type(value, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(value); i++) {
            keep_texts(hiding, json_object_array_get_idx(value, i));
        }
    } else if (json_object_is_type(value, json_type_object)) {
        struct json_object_iter member;
        json_object_object_foreachC(value, member)
        {
            keep_texts(hiding, member.val);
        }
    }
}

/** @return what to put in place of the value */
static struct json_object *hide(struct hiding *hiding, struct json_object *value,
                                const struct buf *path)
{
    keep_texts(hiding, value);
    hiding->count++;
    if (hiding->paths != NULL) {
        json_object_array_add(hiding->paths, json_object_new_string(buf_string(path)));
    }
    return placeholder(hiding, value);
}

static void hide_below(struct hiding *hiding, struct json_object *value, const char *rest,
                       struct buf *path);

static void hide_member(struct hiding *hiding, struct json_object *object, const char *name,
                        const char *rest, struct buf *path)
{
    struct json_object *member = NULL;
    size_t len = path->len;
    if (!json_object_object_get_ex(object, name, &member)) {
        return;
    }
    append_escaped(name, path);
    if (*rest == '\0') {
        json_object_object_add(object, name, hide(hiding, member, path));
    } else {
        hide_below(hiding, member, rest, path);
    }
    path->len = len;
    path->data[len] = '\0';
}

static void hide_element(struct hiding *hiding, struct json_object *array, size_t index,
                         const char *rest, struct buf *path)
{
    size_t len = path->len;
    struct json_object *element = json_object_array_get_idx(array, index);
    buf_printf(path, "/%zu", index);
    if (*rest == '\0') {
        json_object_array_put_idx(array, index, hide(hiding, element, path));
    } else {
        hide_below(hiding, element, rest, path);
    }
    path->len = len;
    path->data[len] = '\0';
}

/** All names of an object: it is changed while they are visited. @return memory_free_list() */
static char **names_of(struct json_object *object)
{
    size_t i = 0;
    char **names = memory_new_zero((size_t)json_object_object_length(object) + 1, sizeof(*names));
    struct json_object_iter member;
    json_object_object_foreachC(object, member)
    {
        names[i++] = memory_dup_string(member.key);
    }
    return names;
}

static void hide_in_object(struct hiding *hiding, struct json_object *object,
                           const struct segment *segment, const char *rest, struct buf *path)
{
    if (!is_wildcard(segment)) {
        auto_buf struct buf name = {0};
        unescape(segment, &name);
        hide_member(hiding, object, buf_string(&name), rest, path);
        return;
    }
    char **names = names_of(object);
    for (char **name = names; *name != NULL; name++) {
        hide_member(hiding, object, *name, rest, path);
    }
    memory_free_list(names);
}

static void hide_in_array(struct hiding *hiding, struct json_object *array,
                          const struct segment *segment, const char *rest, struct buf *path)
{
    size_t index = 0;
    size_t count = json_object_array_length(array);
    if (is_wildcard(segment)) {
        for (; index < count; index++) {
            hide_element(hiding, array, index, rest, path);
        }
    } else if (read_index(segment, &index) && index < count) {
        hide_element(hiding, array, index, rest, path);
    }
}

/** Recursion is bounded by the segments of a pointer. @param rest of the pointer, below `value` */
static void hide_below(struct hiding *hiding, struct json_object *value, const char *rest,
                       struct buf *path)
{
    struct segment segment;
    if (!next_segment(&rest, &segment)) {
        return;
    }
    if (json_object_is_type(value, json_type_object)) {
        hide_in_object(hiding, value, &segment, rest, path);
    } else if (json_object_is_type(value, json_type_array)) {
        hide_in_array(hiding, value, &segment, rest, path);
    }
}

/* ---- Copies of hidden texts ----------------------------------------------------------------- */

#define SCRUBBED "[redacted]"

/** A text without the hidden ones. Of too many not all are known: then any text may be a copy.
 * @return whether it had any */
static bool scrub_text(struct json_object *texts, const char *text, struct buf *ret_text)
{
    bool is_changed = false;
    if (json_object_array_length(texts) >= LIMIT_REDACTED_TEXTS &&
        strlen(text) >= REDACT_SHORTEST_TEXT) {
        buf_append_string(ret_text, SCRUBBED);
        return true;
    }
    buf_append_string(ret_text, text);
    for (size_t i = 0; i < json_object_array_length(texts); i++) {
        const char *hidden = json_object_get_string(json_object_array_get_idx(texts, i));
        const char *at = buf_string(ret_text);
        const char *found = strstr(at, hidden);
        struct buf clean = {0};
        if (found == NULL) {
            continue;
        }
        for (; found != NULL; found = strstr(at, hidden)) {
            buf_append(&clean, at, (size_t)(found - at));
            buf_append_string(&clean, SCRUBBED);
            at = found + strlen(hidden);
        }
        buf_append_string(&clean, at);
        buf_fini(ret_text);
        *ret_text = clean;
        is_changed = true;
    }
    return is_changed;
}

/** Texts in which copies are hidden. */
struct scrubbing {
    struct json_object *texts;
    struct json_object *paths; /**< NULL = none */
    struct buf path;
    size_t count;
};

static void scrub(struct scrubbing *scrubbing, struct json_object *value);

static void cut_path(struct scrubbing *scrubbing, size_t len)
{
    if (scrubbing->path.len > len) {
        scrubbing->path.len = len;
        scrubbing->path.data[len] = '\0';
    }
}

static void scrub_string(struct scrubbing *scrubbing, struct json_object *value)
{
    auto_buf struct buf clean = {0};
    if (!scrub_text(scrubbing->texts, json_object_get_string(value), &clean)) {
        return;
    }
    json_object_set_string_len(value, buf_string(&clean), (int)clean.len);
    scrubbing->count++;
    if (scrubbing->paths != NULL) {
        json_object_array_add(scrubbing->paths,
                              json_object_new_string(buf_string(&scrubbing->path)));
    }
}

/** A name can be a copy, too: the member gets another one. */
static void scrub_member(struct scrubbing *scrubbing, struct json_object *object, const char *name)
{
    size_t len = scrubbing->path.len;
    auto_buf struct buf clean = {0};
    struct json_object *member = json_member(object, name);
    if (scrub_text(scrubbing->texts, name, &clean)) {
        while (json_object_object_get_ex(object, buf_string(&clean), NULL)) {
            buf_append_string(&clean, "'");
        }
        json_object_object_add(object, buf_string(&clean), json_object_get(member));
        json_object_object_del(object, name);
        name = buf_string(&clean);
        scrubbing->count++;
    }
    append_escaped(name, &scrubbing->path);
    scrub(scrubbing, member);
    cut_path(scrubbing, len);
}

/** Recursion is bounded by the depth of JSON that is read. */
static void scrub(struct scrubbing *scrubbing, struct json_object *value)
{
    size_t len = scrubbing->path.len;
    if (json_object_is_type(value, json_type_string)) {
        scrub_string(scrubbing, value);
    } else if (json_object_is_type(value, json_type_array)) {
        for (size_t i = 0; i < json_object_array_length(value); i++) {
            buf_printf(&scrubbing->path, "/%zu", i);
            scrub(scrubbing, json_object_array_get_idx(value, i));
            cut_path(scrubbing, len);
        }
    } else if (json_object_is_type(value, json_type_object) &&
               json_object_get_userdata(value) != &placeholder_mark) {
        char **names = names_of(value);
        for (char **name = names; *name != NULL; name++) {
            scrub_member(scrubbing, value, *name);
        }
        memory_free_list(names);
    }
}

/* ---- Interface ------------------------------------------------------------------------------ */

void redact_key(unsigned char ret_key[DIGEST_SIZE])
{
    unsigned char secret[ED25519_SECRET_SIZE];
    if (audit_keys_secret(secret, NULL) < 0) {
        random_system()->fill(random_system(), secret, sizeof(secret));
    }
    struct hmac hmac = hmac_begin(secret, sizeof(secret));
    hmac_add(&hmac, KEY_LABEL, strlen(KEY_LABEL));
    hmac_finish(&hmac, ret_key);
    explicit_bzero(secret, sizeof(secret));
}

size_t redact_hide(const struct redact_view *view, struct json_object *document,
                   struct json_object *texts, struct json_object *paths)
{
    struct hiding hiding = {.view = view, .paths = paths, .texts = texts};
    for (size_t i = 0; i < view->count; i++) {
        const struct redact_rule *rule = &view->rules[i];
        for (size_t j = 0; j < rule->pointers.count && applies(view, rule); j++) {
            auto_buf struct buf path = {0};
            hiding.pointer = rule->pointers.names[j];
            if (redact_is_pointer(hiding.pointer)) {
                hide_below(&hiding, document, hiding.pointer, &path);
            }
        }
    }
    return hiding.count;
}

/** One that is a part of another comes after it. */
static int longest_first(const void *a, const void *b)
{
    const char *left = json_object_get_string(*(struct json_object *const *)a);
    const char *right = json_object_get_string(*(struct json_object *const *)b);
    size_t left_len = strlen(left);
    size_t right_len = strlen(right);
    return left_len != right_len ? (left_len < right_len ? 1 : -1) : strcmp(left, right);
}

size_t redact_scrub(struct json_object *texts, struct json_object *value, struct json_object *paths)
{
    struct scrubbing scrubbing = {.texts = texts, .paths = paths};
    if (json_object_array_length(texts) > 0) {
        json_object_array_sort(texts, longest_first);
        scrub(&scrubbing, value);
    }
    buf_fini(&scrubbing.path);
    return scrubbing.count;
}

size_t redact_apply(const struct redact_view *view, struct json_object *document,
                    struct json_object *paths)
{
    auto_json struct json_object *texts = json_object_new_array();
    size_t count = redact_hide(view, document, texts, paths);
    (void)redact_scrub(texts, document, paths);
    return count;
}

size_t redact_apply_text(const struct redact_view *view, const char *json, size_t len,
                         struct buf *ret_json)
{
    auto_json struct json_object *document = NULL;
    if (view->count == 0) {
        buf_append(ret_json, json, len);
        return 0;
    }
    if (json_parse(json, len, &document, NULL) < 0) {
        buf_append_string(ret_json, "{\"redacted\":true,\"reason\":\"it is not JSON\"}");
        return 1;
    }
    size_t count = redact_apply(view, document, NULL);
    buf_append_string(ret_json, json_object_to_json_string_ext(document, JSON_C_TO_STRING_PLAIN));
    return count;
}

/** Whether a rule's pointer hides a value, or something that it is in. */
static bool covers(const char *rule, const char *pointer)
{
    struct segment expected;
    struct segment given;
    while (next_segment(&rule, &expected)) {
        if (!next_segment(&pointer, &given)) {
            return false;
        }
        bool is_same =
            expected.len == given.len && memcmp(expected.text, given.text, given.len) == 0;
        if (!is_same && !is_wildcard(&expected)) {
            return false;
        }
    }
    return true;
}

/** @return the value at a pointer, borrowed; whether there is one is in `ret_is_there` */
static struct json_object *find(struct json_object *value, const char *pointer, bool *ret_is_there)
{
    struct segment segment;
    *ret_is_there = true;
    while (*ret_is_there && next_segment(&pointer, &segment)) {
        size_t index = 0;
        if (json_object_is_type(value, json_type_array)) {
            *ret_is_there = read_index(&segment, &index) && index < json_object_array_length(value);
            value = *ret_is_there ? json_object_array_get_idx(value, index) : NULL;
        } else {
            auto_buf struct buf name = {0};
            unescape(&segment, &name);
            *ret_is_there = json_object_is_type(value, json_type_object) &&
                            json_object_object_get_ex(value, buf_string(&name), &value);
        }
    }
    return value;
}

/** Whether a text has copies of hidden ones. */
static bool has_copies(const struct redact_view *view, struct json_object *document,
                       struct json_object *value)
{
    auto_json struct json_object *texts = json_object_new_array();
    auto_json struct json_object *copy = NULL;
    auto_buf struct buf clean = {0};
    if (!json_object_is_type(value, json_type_string) ||
        json_object_deep_copy(document, &copy, NULL) < 0) {
        return false;
    }
    (void)redact_hide(view, copy, texts, NULL);
    return scrub_text(texts, json_object_get_string(value), &clean);
}

static bool may_reveal_all(const struct redact_view *view)
{
    for (size_t i = 0; i < view->count; i++) {
        if (applies(view, &view->rules[i]) && !shares_name(&view->roles, &view->rules[i].reveal)) {
            return false;
        }
    }
    return true;
}

enum redact_verdict redact_reveal(const struct redact_view *view, struct json_object *document,
                                  const char *pointer, struct json_object **ret_value)
{
    bool is_there = false;
    bool is_hidden = false;
    struct json_object *value =
        redact_is_pointer(pointer) ? find(document, pointer, &is_there) : NULL;
    if (!is_there) {
        return REDACT_MISSING;
    }
    for (size_t i = 0; i < view->count; i++) {
        const struct redact_rule *rule = &view->rules[i];
        for (size_t j = 0; j < rule->pointers.count && applies(view, rule); j++) {
            if (!covers(rule->pointers.names[j], pointer)) {
                continue;
            }
            is_hidden = true;
            if (!shares_name(&view->roles, &rule->reveal)) {
                return REDACT_NOT_PERMITTED;
            }
        }
    }
    if (!is_hidden && !has_copies(view, document, value)) {
        return REDACT_NOT_HIDDEN;
    }
    if (!is_hidden && !may_reveal_all(view)) {
        return REDACT_NOT_PERMITTED;
    }
    *ret_value = value;
    return REDACT_REVEALED;
}
