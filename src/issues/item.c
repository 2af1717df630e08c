// SPDX-License-Identifier: Apache-2.0
/* Work items as documents: one table of members for writing, reading and checking. */
#include "issues/item.h"

#include "base/digest.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "base/text/utf8.h"

#include <assert.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Of the document. */
#define FORMAT 1
/** A repository that is longer is shortened in keys. */
#define KEY_REPOSITORY_LEN 200

static const char *const state_names[ITEM_STATE_COUNT] = {
    [ITEM_ASSIGNED] = "assigned",   [ITEM_IN_PROGRESS] = "in-progress",
    [ITEM_IN_REVIEW] = "in-review", [ITEM_RETRY_LATER] = "retry-later",
    [ITEM_BLOCKED] = "blocked",     [ITEM_NEEDS_HUMAN] = "needs-human",
    [ITEM_CANCELLED] = "cancelled", [ITEM_FENCED] = "fenced",
    [ITEM_DONE] = "done",
};

static const char *const reason_names[ITEM_REASON_COUNT] = {
    [ITEM_REASON_NONE] = "none",
    [ITEM_ATTEMPTS_SPENT] = "attempts_spent",
    [ITEM_TIME_OVER] = "time_over",
    [ITEM_BUDGET_SPENT] = "budget_spent",
    [ITEM_DENIED] = "denied",
    [ITEM_AUTH] = "auth",
    [ITEM_CONFLICT] = "conflict",
    [ITEM_CRASHED_TWICE] = "crashed_twice",
    [ITEM_CLOSED_UNMERGED] = "closed_unmerged",
    [ITEM_READ_ONLY] = "read_only",
    [ITEM_REFUSED] = "refused",
    [ITEM_STOPPED] = "stopped",
    [ITEM_MODEL_FAILED] = "model_failed",
    [ITEM_FORGE_FAILED] = "forge_failed",
    [ITEM_INTERRUPTED] = "interrupted",
    [ITEM_ISSUE_CLOSED] = "issue_closed",
    [ITEM_UNLABELLED] = "unlabelled",
    [ITEM_REASSIGNED] = "reassigned",
    [ITEM_EDITED] = "edited",
    [ITEM_ISSUE_GONE] = "issue_gone",
    [ITEM_BY_PERSON] = "by_person",
};

static const char *const step_names[ITEM_STEP_COUNT] = {
    [ITEM_STEP_NONE] = "none",       [ITEM_STEP_CLAIM] = "claim", [ITEM_STEP_MIRROR] = "mirror",
    [ITEM_STEP_START] = "start",     [ITEM_STEP_PUSH] = "push",   [ITEM_STEP_PULL] = "pull",
    [ITEM_STEP_RELEASE] = "release", [ITEM_STEP_CLEAN] = "clean",
};

const char *item_state_name(enum item_state state)
{
    return state_names[state];
}

const char *item_reason_name(enum item_reason reason)
{
    return reason_names[reason];
}

const char *item_step_name(enum item_step step)
{
    return step_names[step];
}

static bool find_name(const char *const *names, size_t count, const char *name, unsigned *ret_at)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0) {
            *ret_at = (unsigned)i;
            return true;
        }
    }
    return false;
}

bool item_state_from_name(const char *name, enum item_state *ret_state)
{
    unsigned at = 0;
    bool is_found = find_name(state_names, ITEM_STATE_COUNT, name, &at);
    *ret_state = is_found ? (enum item_state)at : *ret_state;
    return is_found;
}

bool item_state_has_label(enum item_state state)
{
    return state < ITEM_CANCELLED;
}

bool item_state_is_over(enum item_state state)
{
    switch (state) {
    case ITEM_BLOCKED:
    case ITEM_NEEDS_HUMAN:
    case ITEM_CANCELLED:
    case ITEM_FENCED:
    case ITEM_DONE:
        return true;
    case ITEM_ASSIGNED:
    case ITEM_IN_PROGRESS:
    case ITEM_IN_REVIEW:
    case ITEM_RETRY_LATER:
    case ITEM_STATE_COUNT:
        return false;
    }
    return false;
}

static void free_notes(struct item *item)
{
    for (size_t i = 0; i < item->note_count; i++) {
        free(item->notes[i].text);
    }
    free(item->notes);
}

void item_fini(struct item *item)
{
    free(item->key);
    free(item->repository);
    free(item->title);
    free(item->url);
    free(item->message);
    free(item->content_digest);
    free(item->branch);
    free(item->base_branch);
    free(item->pull_url);
    free(item->mirrored_digest);
    free(item->uses);
    free_notes(item);
    *item = (struct item){0};
}

/* ---- Keys and texts ------------------------------------------------------------------------- */

static void append_digest(const char *text, struct buf *ret_text)
{
    unsigned char bytes[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    struct digest digest = digest_begin();
    digest_add(&digest, text, strlen(text));
    digest_finish(&digest, bytes);
    digest_hex(bytes, hex);
    buf_append(ret_text, hex, 32);
}

void item_append_prefix(const char *repository, struct buf *ret_key)
{
    size_t len = strlen(repository);
    if (len <= KEY_REPOSITORY_LEN) {
        buf_append(ret_key, repository, len);
    } else {
        buf_append(ret_key, repository, KEY_REPOSITORY_LEN - 33);
        buf_append_string(ret_key, "~");
        append_digest(repository, ret_key);
    }
    buf_append_string(ret_key, "#");
}

char *item_key(const char *repository, int64_t number)
{
    struct buf key = {0};
    item_append_prefix(repository, &key);
    buf_printf(&key, "%" PRId64, number);
    return buf_steal(&key);
}

void item_clean(const char *text, size_t most, struct buf *ret_text)
{
    static const char dots[] = "...";
    auto_buf struct buf clean = {0};
    text_clean(text, strnlen(text, 4 * most + 16), &clean);
    if (clean.len <= most) {
        buf_append(ret_text, clean.data, clean.len);
        return;
    }
    size_t kept = 0;
    size_t step = utf8_sequence_len(clean.data, clean.len);
    while (kept + step + strlen(dots) <= most) {
        kept += step;
        step = utf8_sequence_len(clean.data + kept, clean.len - kept);
    }
    buf_append(ret_text, clean.data, kept);
    buf_append_string(ret_text, dots);
}

void item_note(struct item *item, int64_t now_ns, const char *format, ...)
{
    char raw[4 * LIMIT_ITEM_NOTE_BYTES];
    struct buf text = {0};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(raw, sizeof(raw), format, arguments);
    va_end(arguments);
    item_clean(raw, LIMIT_ITEM_NOTE_BYTES, &text);
    if (item->note_count == LIMIT_ITEM_HISTORY) {
        free(item->notes[0].text);
        item->note_count--;
        memmove(item->notes, item->notes + 1, item->note_count * sizeof(*item->notes));
    }
    item->notes = memory_resize(item->notes, item->note_count + 1, sizeof(*item->notes));
    item->notes[item->note_count++] =
        (struct item_note){.time_ns = now_ns, .state = item->state, .text = buf_steal(&text)};
}

/** The two oldest become one. */
static void merge_uses(struct item *item)
{
    const struct item_use *oldest = &item->uses[0];
    struct item_use *next = &item->uses[1];
    next->tokens += oldest->tokens;
    next->cost_micro = oldest->cost_micro < 0 || next->cost_micro < 0
                           ? COST_UNKNOWN
                           : next->cost_micro + oldest->cost_micro;
}

void item_use(struct item *item, int64_t now_ns, int64_t tokens, int64_t cost_micro)
{
    size_t dropped = 0;
    while (dropped < item->use_count && item->uses[dropped].time_ns < now_ns - ITEM_DAY_NS) {
        dropped++;
    }
    if (item->use_count - dropped == LIMIT_ITEM_USES) {
        merge_uses(item);
        dropped = 1;
    }
    item->use_count -= dropped;
    if (dropped > 0) {
        memmove(item->uses, item->uses + dropped, item->use_count * sizeof(*item->uses));
    }
    item->uses = memory_resize(item->uses, item->use_count + 1, sizeof(*item->uses));
    item->uses[item->use_count++] =
        (struct item_use){.time_ns = now_ns, .tokens = tokens, .cost_micro = cost_micro};
}

/* ---- The table ------------------------------------------------------------------------------ */

enum item_member_kind {
    MEMBER_TEXT,    /* char *: left out when NULL, cut at `size` */
    MEMBER_CHARS,   /* char[size]: left out when empty */
    MEMBER_INT,     /* int64_t, not below `least` */
    MEMBER_LATER,   /* the same: left out when 0, because older documents do not have it */
    MEMBER_BOOL,    /* bool: left out when false */
    MEMBER_STATE,   /* enum item_state */
    MEMBER_MIRROR,  /* the same, or ITEM_STATE_COUNT, which is left out */
    MEMBER_REASON,  /* enum item_reason: left out when NONE */
    MEMBER_STEP,    /* enum item_step: left out when NONE */
    MEMBER_CRASHES, /* uint64_t: left out when 0 */
};

struct item_member {
    const char *name;
    enum item_member_kind kind;
    size_t offset;
    size_t size;
    int64_t least;
    bool is_required;
};

#define MEMBER_WITH(field, item_member_kind, ...)                                           \
    {                                                                                       \
        .name = #field, .kind = (item_member_kind), .offset = offsetof(struct item, field), \
        __VA_ARGS__                                                                         \
    }
#define MEMBER(field, item_member_kind) MEMBER_WITH(field, item_member_kind, .size = 0)
#define CHARS(field)                    MEMBER_WITH(field, MEMBER_CHARS, .size = sizeof(((struct item *)NULL)->field))

static const struct item_member members[] = {
    MEMBER_WITH(repository, MEMBER_TEXT, .size = 4096, .is_required = true),
    MEMBER_WITH(number, MEMBER_INT, .least = 1, .is_required = true),
    MEMBER_WITH(title, MEMBER_TEXT, .size = LIMIT_ITEM_TITLE_BYTES),
    MEMBER_WITH(url, MEMBER_TEXT, .size = LIMIT_ITEM_URL_BYTES),
    CHARS(owner),
    MEMBER_WITH(state, MEMBER_STATE, .is_required = true),
    MEMBER(reason, MEMBER_REASON),
    MEMBER_WITH(message, MEMBER_TEXT, .size = LIMIT_ITEM_MESSAGE_BYTES),
    MEMBER(step, MEMBER_STEP),
    MEMBER(crashed_step, MEMBER_STEP),
    MEMBER(crashes, MEMBER_CRASHES),
    CHARS(nonce),
    CHARS(claim_id),
    MEMBER(renewed_ns, MEMBER_INT),
    MEMBER(claimed_pull, MEMBER_INT),
    MEMBER(is_released, MEMBER_BOOL),
    MEMBER(released_until_ns, MEMBER_LATER),
    MEMBER(claimed_ns, MEMBER_INT),
    MEMBER(next_ns, MEMBER_INT),
    MEMBER(retries, MEMBER_INT),
    MEMBER(attempts, MEMBER_INT),
    MEMBER(active_ns, MEMBER_INT),
    MEMBER_WITH(tokens, MEMBER_INT, .least = COST_UNKNOWN),
    MEMBER_WITH(cost_micro, MEMBER_INT, .least = COST_UNKNOWN),
    CHARS(run_id),
    CHARS(counted_run),
    MEMBER(counted_ns, MEMBER_INT),
    MEMBER_WITH(content_digest, MEMBER_TEXT, .size = DIGEST_HEX_SIZE),
    MEMBER_WITH(branch, MEMBER_TEXT, .size = LIMIT_GIT_BRANCH_BYTES),
    MEMBER_WITH(base_branch, MEMBER_TEXT, .size = LIMIT_GIT_BRANCH_BYTES),
    CHARS(base_id),
    CHARS(commit),
    MEMBER(is_pushed, MEMBER_BOOL),
    MEMBER(pull, MEMBER_INT),
    MEMBER_WITH(pull_url, MEMBER_TEXT, .size = LIMIT_ITEM_URL_BYTES),
    MEMBER(review_ns, MEMBER_INT),
    MEMBER(follow_ups, MEMBER_INT),
    MEMBER(comment_id, MEMBER_INT),
    CHARS(comment_nonce),
    MEMBER(read_comment_id, MEMBER_INT),
    MEMBER(mirrored, MEMBER_MIRROR),
    MEMBER_WITH(mirrored_digest, MEMBER_TEXT, .size = DIGEST_HEX_SIZE),
    MEMBER(updated_ns, MEMBER_INT),
};
#define MEMBER_COUNT (sizeof(members) / sizeof(members[0]))

/* ---- Writing -------------------------------------------------------------------------------- */

/** A text, cut to its limit at a character: what is kept may not depend on the forge. */
static void write_text(struct json_writer *writer, const struct item_member *member,
                       const char *text)
{
    size_t len = strlen(text);
    if (len > member->size) {
        len = member->size;
        while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80) {
            len--;
        }
    }
    json_write_string_len(writer, member->name, text, len);
}

/* long: one case a kind of member */
static void write_member(struct json_writer *writer, const struct item_member *member,
                         const struct item *item)
{
    const void *place = (const char *)item + member->offset;
    switch (member->kind) {
    case MEMBER_TEXT: {
        const char *text = *(char *const *)place;
        if (text != NULL) {
            write_text(writer, member, text);
        }
        break;
    }
    case MEMBER_CHARS:
        if (*(const char *)place != '\0') {
            json_write_string(writer, member->name, place);
        }
        break;
    case MEMBER_INT:
        json_write_int(writer, member->name, *(const int64_t *)place);
        break;
    case MEMBER_LATER:
        if (*(const int64_t *)place != 0) {
            json_write_int(writer, member->name, *(const int64_t *)place);
        }
        break;
    case MEMBER_BOOL:
        if (*(const bool *)place) {
            json_write_bool(writer, member->name, true);
        }
        break;
    case MEMBER_STATE:
    case MEMBER_MIRROR: {
        enum item_state state = *(const enum item_state *)place;
        if (state < ITEM_STATE_COUNT) {
            json_write_string(writer, member->name, item_state_name(state));
        }
        break;
    }
    case MEMBER_REASON:
        if (item->reason != ITEM_REASON_NONE) {
            json_write_string(writer, member->name, item_reason_name(item->reason));
        }
        break;
    case MEMBER_STEP: {
        enum item_step step = *(const enum item_step *)place;
        if (step != ITEM_STEP_NONE) {
            json_write_string(writer, member->name, item_step_name(step));
        }
        break;
    }
    case MEMBER_CRASHES:
        if (item->crashes > 0) {
            json_write_int(writer, member->name, (int64_t)item->crashes);
        }
        break;
    }
}

static void write_uses(struct json_writer *writer, const struct item *item)
{
    if (item->use_count == 0) {
        return; /* Older documents do not have them. */
    }
    json_begin_array(writer, "uses");
    for (size_t i = 0; i < item->use_count; i++) {
        json_begin_object(writer, NULL);
        json_write_int(writer, "time_ns", item->uses[i].time_ns);
        json_write_int(writer, "tokens", item->uses[i].tokens);
        json_write_int(writer, "cost_micro", item->uses[i].cost_micro);
        json_end_object(writer);
    }
    json_end_array(writer);
}

void item_encode(const struct item *item, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "format", FORMAT);
    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        write_member(&writer, &members[i], item);
    }
    write_uses(&writer, item);
    json_begin_array(&writer, "notes");
    for (size_t i = 0; i < item->note_count; i++) {
        json_begin_object(&writer, NULL);
        json_write_int(&writer, "time_ns", item->notes[i].time_ns);
        json_write_string(&writer, "state", item_state_name(item->notes[i].state));
        json_write_string(&writer, "text", item->notes[i].text);
        json_end_object(&writer);
    }
    json_end_array(&writer);
    json_end_object(&writer);
}

/* ---- Reading -------------------------------------------------------------------------------- */

/** A name of one of the enumerations. @return whether it is known */
static bool read_name(const struct item_member *member, const char *name, void *place)
{
    unsigned at = 0;
    bool is_found;
    switch (member->kind) {
    case MEMBER_STATE:
    case MEMBER_MIRROR:
        return item_state_from_name(name, place);
    case MEMBER_REASON:
        is_found = find_name(reason_names, ITEM_REASON_COUNT, name, &at);
        *(enum item_reason *)place = (enum item_reason)at;
        return is_found;
    case MEMBER_STEP:
        is_found = find_name(step_names, ITEM_STEP_COUNT, name, &at);
        *(enum item_step *)place = (enum item_step)at;
        return is_found;
    case MEMBER_TEXT:
    case MEMBER_CHARS:
    case MEMBER_INT:
    case MEMBER_LATER:
    case MEMBER_BOOL:
    case MEMBER_CRASHES:
        return false;
    }
    return false;
}

static bool read_text(const struct item_member *member, struct json_object *value, void *place)
{
    const char *text = json_object_get_string(value);
    size_t len = (size_t)json_object_get_string_len(value);
    bool is_chars = member->kind == MEMBER_CHARS;
    if (strlen(text) != len || len > (is_chars ? member->size - 1 : member->size)) {
        return false;
    }
    if (is_chars) {
        snprintf(place, member->size, "%s", text);
    } else {
        *(char **)place = memory_dup_string(text);
    }
    return true;
}

static bool read_int(const struct item_member *member, struct json_object *value, void *place)
{
    int64_t number = json_object_get_int64(value);
    if (number < member->least) {
        return false;
    }
    if (member->kind == MEMBER_CRASHES) {
        *(uint64_t *)place = (uint64_t)number;
    } else {
        *(int64_t *)place = number;
    }
    return true;
}

/** @return whether the member has a type and value that item_encode() writes */
static bool read_value(const struct item_member *member, struct json_object *value, void *place)
{
    switch (member->kind) {
    case MEMBER_TEXT:
    case MEMBER_CHARS:
        return json_object_is_type(value, json_type_string) && read_text(member, value, place);
    case MEMBER_INT:
    case MEMBER_LATER:
    case MEMBER_CRASHES:
        return json_object_is_type(value, json_type_int) && read_int(member, value, place);
    case MEMBER_BOOL:
        *(bool *)place = json_object_get_boolean(value);
        return json_object_is_type(value, json_type_boolean);
    case MEMBER_STATE:
    case MEMBER_MIRROR:
    case MEMBER_REASON:
    case MEMBER_STEP:
        return json_object_is_type(value, json_type_string) &&
               read_name(member, json_object_get_string(value), place);
    }
    return false;
}

static int read_member(const struct item_member *member, struct json_object *root,
                       struct item *item, struct rondo_error *err)
{
    struct json_object *value = json_member(root, member->name);
    void *place = (char *)item + member->offset;
    if (value == NULL && !member->is_required) {
        return 0;
    }
    if (value == NULL) {
        return error_set(err, RONDO_ERR_CORRUPT, "%s is missing", member->name);
    }
    return read_value(member, value, place)
               ? 0
               : error_set(err, RONDO_ERR_CORRUPT, "%s cannot be %.100s", member->name,
                           json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN));
}

static int read_note(struct json_object *entry, struct item *item, struct rondo_error *err)
{
    enum item_state state = ITEM_ASSIGNED;
    const char *name = json_get_string(entry, "state", "");
    const char *text = json_get_string(entry, "text", NULL);
    if (!item_state_from_name(name, &state) || text == NULL ||
        strlen(text) > LIMIT_ITEM_NOTE_BYTES) {
        return error_set(err, RONDO_ERR_CORRUPT, "a note with state '%.60s' cannot be read", name);
    }
    item->notes[item->note_count++] = (struct item_note){
        .time_ns = json_get_int(entry, "time_ns", 0),
        .state = state,
        .text = memory_dup_string(text),
    };
    return 0;
}

static int read_notes(struct json_object *root, struct item *item, struct rondo_error *err)
{
    struct json_object *notes = json_member(root, "notes");
    size_t count = json_length(notes);
    if (count > LIMIT_ITEM_HISTORY) {
        return error_set(err, RONDO_ERR_CORRUPT, "it has %zu notes", count);
    }
    item->notes = count == 0 ? NULL : memory_new_zero(count, sizeof(*item->notes));
    int r = 0;
    for (size_t i = 0; r == 0 && i < count; i++) {
        r = read_note(json_object_array_get_idx(notes, i), item, err);
    }
    return r;
}

static int read_uses(struct json_object *root, struct item *item, struct rondo_error *err)
{
    struct json_object *uses = json_member(root, "uses");
    size_t count = json_length(uses);
    if (count > LIMIT_ITEM_USES) {
        return error_set(err, RONDO_ERR_CORRUPT, "it has %zu uses", count);
    }
    item->uses = count == 0 ? NULL : memory_new_zero(count, sizeof(*item->uses));
    for (size_t i = 0; i < count; i++) {
        struct json_object *entry = json_object_array_get_idx(uses, i);
        struct item_use *use = &item->uses[item->use_count++];
        *use = (struct item_use){.time_ns = json_get_int(entry, "time_ns", -1),
                                 .tokens = json_get_int(entry, "tokens", -1),
                                 .cost_micro = json_get_int(entry, "cost_micro", COST_UNKNOWN)};
        if (use->time_ns < 0 || use->tokens < 0 || use->cost_micro < COST_UNKNOWN) {
            return error_set(err, RONDO_ERR_CORRUPT, "a use cannot be read");
        }
    }
    return 0;
}

static int check_key(const char *key, const struct item *item, struct rondo_error *err)
{
    char *expected = item_key(item->repository, item->number);
    bool is_right = strcmp(expected, key) == 0;
    free(expected);
    return is_right ? 0
                    : error_set(err, RONDO_ERR_CORRUPT, "it is of %.200s, number %" PRId64,
                                item->repository, item->number);
}

static int check_format(struct json_object *root, struct rondo_error *err)
{
    int64_t format = json_get_int(root, "format", 0);
    if (format > FORMAT) {
        return error_set(err, RONDO_ERR_VERSION, "its format is %" PRId64 ", of a newer Rondo",
                         format);
    }
    return format == FORMAT ? 0 : error_set(err, RONDO_ERR_CORRUPT, "it has no format");
}

static int decode(const char *key, struct json_object *root, struct item *item,
                  struct rondo_error *err)
{
    int r = check_format(root, err);
    for (size_t i = 0; r == 0 && i < MEMBER_COUNT; i++) {
        r = read_member(&members[i], root, item, err);
    }
    r = r == 0 ? read_uses(root, item, err) : r;
    r = r == 0 ? read_notes(root, item, err) : r;
    return r == 0 ? check_key(key, item, err) : r;
}

int item_decode(const char *key, const char *json, size_t len, struct item *ret_item,
                struct rondo_error *err)
{
    auto_json struct json_object *root = NULL;
    struct item item = {.mirrored = ITEM_STATE_COUNT};
    int r = json_parse_strict(json, len, &root, err);
    r = r < 0 ? RONDO_ERR_CORRUPT : decode(key, root, &item, err);
    if (r < 0) {
        if (err != NULL) {
            err->code = r;
        }
        error_prefix(err, "the work item %.200s cannot be read", key);
        item_fini(&item);
        return r;
    }
    item.key = memory_dup_string(key);
    *ret_item = item;
    return 0;
}

/* ---- The store ------------------------------------------------------------------------------ */

struct item_finding {
    struct item *ret_item;
    const struct buf *expected; /* only to compare */
    struct rondo_error *err;
    uint64_t version;
    bool is_same;
    int r;
};

static bool find_item(const struct store_document *document, void *context)
{
    struct item_finding *finding = context;
    finding->version = document->version;
    if (finding->expected != NULL) {
        finding->is_same = document->data_len == finding->expected->len &&
                           memcmp(document->data, finding->expected->data, document->data_len) == 0;
        return false;
    }
    int r = item_decode(document->key, document->data, document->data_len, finding->ret_item,
                        finding->err);
    if (r == 0) {
        finding->ret_item->version = document->version;
    }
    finding->r = r < 0 ? r : 1;
    return false;
}

static int find(struct store *store, const char *key, struct item_finding *finding)
{
    struct store_document_query query = {.collection = ITEM_COLLECTION, .key = key};
    int r = store->ops->read_documents(store, &query, find_item, finding, finding->err);
    return r < 0 ? r : finding->r;
}

int item_load(struct store *store, const char *key, struct item *ret_item, struct rondo_error *err)
{
    struct item_finding finding = {.ret_item = ret_item, .err = err};
    return find(store, key, &finding);
}

/** It has not the version that was expected: others changed it, or an earlier try to save just this
 *  went through though its answer was lost. */
static int check_saved(struct store *store, struct item *item, const struct buf *json,
                       struct rondo_error *err)
{
    struct item_finding finding = {.expected = json, .err = err};
    int r = find(store, item->key, &finding);
    if (r < 0) {
        return r;
    }
    if (!finding.is_same || finding.version != item->version + 1) {
        return error_set(err, RONDO_ERR_STATE, "the work item %.200s was changed by others",
                         item->key);
    }
    item->version = finding.version;
    return 0;
}

int item_save(struct store *store, struct item *item, struct rondo_error *err)
{
    auto_buf struct buf json = {0};
    bool is_applied = false;
    item_encode(item, &json);
    assert(json.len <= LIMIT_DOCUMENT_BYTES);
    struct store_change change = {
        .kind = STORE_PUT,
        .collection = ITEM_COLLECTION,
        .key = item->key,
        .data = json.data,
        .data_len = json.len,
        .if_version = (int64_t)item->version,
    };
    int r = store->ops->change_documents(store, &change, 1, &is_applied, err);
    if (r < 0) {
        return r;
    }
    if (!is_applied) {
        return check_saved(store, item, &json, err);
    }
    item->version++;
    return 0;
}

struct item_reading {
    item_fn *fn;
    void *context;
    struct rondo_error *err;
    int r;
};

static bool read_item(const struct store_document *document, void *context)
{
    struct item_reading *reading = context;
    struct item item = {0};
    int r = item_decode(document->key, document->data, document->data_len, &item,
                        reading->r == 0 ? reading->err : NULL);
    if (r < 0) {
        reading->r = reading->r == 0 ? r : reading->r;
        return true;
    }
    item.version = document->version;
    bool has_more = reading->fn(&item, reading->context);
    item_fini(&item);
    return has_more;
}

int items_read(struct store *store, const char *repository, item_fn *fn, void *context,
               struct rondo_error *err)
{
    struct item_reading reading = {.fn = fn, .context = context, .err = err};
    auto_buf struct buf prefix = {0};
    struct store_document_query query = {.collection = ITEM_COLLECTION};
    if (repository != NULL) {
        item_append_prefix(repository, &prefix);
        query.prefix = buf_string(&prefix);
    }
    int r = store->ops->read_documents(store, &query, read_item, &reading, err);
    return r < 0 ? r : reading.r;
}
