// SPDX-License-Identifier: Apache-2.0
/*
 * Equality, hashes, sets and records of Cedar values. Hashes only speed things up: wherever two are
 * equal the values themselves are compared.
 */
#include "policy/cedar/value/value.h"

#include "policy/cedar/value/sort.h"

#include <stdlib.h>
#include <string.h>

#define HASH_SEED UINT64_C(0x9e3779b97f4a7c15)

static uint64_t mix(uint64_t hash, uint64_t word)
{
    __extension__ unsigned __int128 product =
        (unsigned __int128)(hash ^ word) * UINT64_C(0xd6e8feb86659fd93);
    return (uint64_t)product ^ (uint64_t)(product >> 64) ^ (hash << 7);
}

static uint64_t finish(uint64_t hash)
{
    hash ^= hash >> 32;
    hash *= UINT64_C(0xd6e8feb86659fd93);
    hash ^= hash >> 29;
    return hash == 0 ? 1 : hash;
}

/** Hash of bytes; the same in every process, never 0. */
static uint64_t cedar_hash(const void *bytes, size_t len)
{
    uint64_t hash = HASH_SEED ^ len;
    const char *at = bytes;
    for (size_t left = len; left > 0;) {
        uint64_t word = 0;
        size_t step = left < sizeof(word) ? left : sizeof(word);
        memcpy(&word, at, step);
        hash = mix(hash, word);
        at += step;
        left -= step;
    }
    return finish(hash);
}

void cedar_text_fill(struct cedar_text *ret_text, const char *bytes, size_t len)
{
    if (len > 0) {
        memmove(ret_text->bytes, bytes, len);
    }
    memset(ret_text->bytes + len, 0, CEDAR_TEXT_WORD - len % CEDAR_TEXT_WORD);
    ret_text->hash = cedar_hash(ret_text->bytes, len);
    ret_text->len = (uint32_t)len;
}

const struct cedar_text *cedar_text_new(struct arena *arena, const char *bytes, size_t len)
{
    struct cedar_text *text = arena_new(arena, cedar_text_size(len));
    cedar_text_fill(text, bytes, len);
    return text;
}

struct cedar_uid cedar_uid_of(const struct cedar_text *type, const struct cedar_text *id)
{
    return (struct cedar_uid){.hash = finish(mix(type->hash, id->hash)), .type = type, .id = id};
}

const struct cedar_uid *cedar_uid_make(struct arena *arena, const struct cedar_text *type,
                                       const struct cedar_text *id)
{
    struct cedar_uid *uid = arena_new(arena, sizeof(*uid));
    *uid = cedar_uid_of(type, id);
    return uid;
}

bool cedar_type_is_action(const struct cedar_text *type)
{
    static const char name[] = "Action";
    static const char suffix[] = "::Action";
    size_t len = sizeof(suffix) - 1;
    if (type->len == sizeof(name) - 1) {
        return memcmp(type->bytes, name, sizeof(name) - 1) == 0;
    }
    return type->len > len && memcmp(type->bytes + type->len - len, suffix, len) == 0;
}

static bool records_equal(const struct cedar_record *a, const struct cedar_record *b)
{
    if (a->count != b->count) {
        return false;
    }
    for (size_t i = 0; i < a->count; i++) {
        const struct cedar_value *other = cedar_record_get(b, a->fields[i].name);
        if (other == NULL || !cedar_value_equals(a->fields[i].value, *other)) {
            return false;
        }
    }
    return true;
}

static bool sets_equal(const struct cedar_set *a, const struct cedar_set *b)
{
    if (a->count != b->count || memcmp(a->hashes, b->hashes, a->count * sizeof(*a->hashes)) != 0) {
        return false;
    }
    for (size_t i = 0; i < a->count; i++) {
        /* Members with one hash may be in another order. */
        if (!cedar_value_equals(a->values[i], b->values[i]) &&
            !cedar_set_contains(b, a->values[i])) {
            return false;
        }
    }
    return true;
}

bool cedar_value_equals(struct cedar_value a, struct cedar_value b)
{
    if (a.kind != b.kind) {
        return false;
    }
    switch (a.kind) {
    case CEDAR_BOOL:
        return a.as.truth == b.as.truth;
    case CEDAR_LONG:
    case CEDAR_DECIMAL:
    case CEDAR_DATETIME:
    case CEDAR_DURATION:
        return a.as.number == b.as.number;
    case CEDAR_STRING:
        return cedar_text_equals(cedar_as_text(a), cedar_as_text(b));
    case CEDAR_ENTITY:
        return cedar_uid_equals(cedar_as_uid(a), cedar_as_uid(b));
    case CEDAR_SET:
        return sets_equal(cedar_as_set(a), cedar_as_set(b));
    case CEDAR_RECORD:
        return records_equal(cedar_as_record(a), cedar_as_record(b));
    case CEDAR_IP:
        return cedar_ip_equals(cedar_as_ip(a), cedar_as_ip(b));
    }
    return false;
}

static uint64_t cedar_value_hash(struct cedar_value value);

static uint64_t record_hash(const struct cedar_record *record)
{
    uint64_t hash = record->count;
    for (size_t i = 0; i < record->count; i++) {
        /* A sum, because fields with one hash may be in another order. */
        hash += mix(record->fields[i].hash, cedar_value_hash(record->fields[i].value));
    }
    return hash;
}

static uint64_t ip_hash(const struct cedar_ip *ip)
{
    return cedar_hash(ip->bytes, ip->is_v6 ? 16 : 4) + ip->prefix;
}

/** Equal values have equal hashes. */
static uint64_t cedar_value_hash(struct cedar_value value)
{
    uint64_t hash = 0;
    switch (value.kind) {
    case CEDAR_BOOL:
        hash = value.as.truth;
        break;
    case CEDAR_LONG:
    case CEDAR_DECIMAL:
    case CEDAR_DATETIME:
    case CEDAR_DURATION:
        hash = (uint64_t)value.as.number;
        break;
    case CEDAR_STRING:
        hash = cedar_as_text(value)->hash;
        break;
    case CEDAR_ENTITY:
        hash = cedar_as_uid(value)->hash;
        break;
    case CEDAR_SET:
        hash =
            cedar_hash(cedar_as_set(value)->hashes, cedar_as_set(value)->count * sizeof(uint64_t));
        break;
    case CEDAR_RECORD:
        hash = record_hash(cedar_as_record(value));
        break;
    case CEDAR_IP:
        hash = ip_hash(cedar_as_ip(value));
        break;
    }
    return finish(mix(HASH_SEED + (uint64_t)value.kind, hash));
}

struct hashed {
    uint64_t hash;
    struct cedar_value value;
};

static int compare_hashed(const void *left, const void *right)
{
    const struct hashed *a = left;
    const struct hashed *b = right;
    return (a->hash > b->hash) - (a->hash < b->hash);
}

static bool is_among(const struct hashed *members, size_t count, const struct hashed *member)
{
    for (size_t i = count; i > 0 && members[i - 1].hash == member->hash; i--) {
        if (cedar_value_equals(members[i - 1].value, member->value)) {
            return true;
        }
    }
    return false;
}

const struct cedar_set *cedar_set_make(struct arena *arena, struct cedar_value *values,
                                       size_t count)
{
    struct hashed *members = arena_new_array(arena, count + 1, sizeof(*members));
    for (size_t i = 0; i < count; i++) {
        members[i] = (struct hashed){.hash = cedar_value_hash(values[i]), .value = values[i]};
    }
    cedar_sort(members, count, sizeof(*members), compare_hashed);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_among(members, kept, &members[i])) {
            members[kept++] = members[i];
        }
    }
    struct cedar_set *set = arena_new(arena, sizeof(*set));
    uint64_t *hashes = arena_new_array(arena, kept + 1, sizeof(*hashes));
    for (size_t i = 0; i < kept; i++) {
        values[i] = members[i].value;
        hashes[i] = members[i].hash;
    }
    *set = (struct cedar_set){.count = kept, .hashes = hashes, .values = values};
    return set;
}

/** First place whose hash is not below `hash`. */
static size_t first_not_below(const uint64_t *hashes, size_t count, uint64_t hash)
{
    size_t low = 0;
    while (count > 0) {
        size_t half = count / 2;
        if (hashes[low + half] < hash) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return low;
}

bool cedar_set_contains(const struct cedar_set *set, struct cedar_value value)
{
    uint64_t hash = cedar_value_hash(value);
    size_t i = set->count <= 8 ? 0 : first_not_below(set->hashes, set->count, hash);
    for (; i < set->count && set->hashes[i] <= hash; i++) {
        if (set->hashes[i] == hash && cedar_value_equals(set->values[i], value)) {
            return true;
        }
    }
    return false;
}

/** By hash, and those with one hash by their bytes: names that collide cost no more than others. */
static int compare_fields(const void *left, const void *right)
{
    const struct cedar_field *a = left;
    const struct cedar_field *b = right;
    if (a->hash != b->hash) {
        return a->hash > b->hash ? 1 : -1;
    }
    if (a->name->len != b->name->len) {
        return a->name->len > b->name->len ? 1 : -1;
    }
    return memcmp(a->name->bytes, b->name->bytes, a->name->len);
}

/** Records with more fields than a slot can tell apart are searched by halves. */
#define SLOTS_TO_FIELDS UINT8_MAX
/** Fields that are left to be looked through one by one then. */
#define SCAN_FIELDS 16

static void make_slots(struct arena *arena, struct cedar_record *record)
{
    if (record->count == 0 || record->count > SLOTS_TO_FIELDS) {
        return;
    }
    uint32_t size = 8;
    while (size < record->count * 2) {
        size *= 2;
    }
    uint8_t *slots = arena_new(arena, size);
    memset(slots, 0, size);
    record->slot_mask = size - 1;
    for (uint32_t i = 0; i < record->count; i++) {
        uint64_t slot = record->fields[i].hash & record->slot_mask;
        while (slots[slot] != 0) {
            slot = (slot + 1) & record->slot_mask;
        }
        slots[slot] = (uint8_t)(i + 1);
    }
    record->slots = slots;
}

const struct cedar_record *cedar_record_make(struct arena *arena, struct cedar_field *fields,
                                             size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fields[i].hash = fields[i].name->hash;
    }
    cedar_sort(fields, count, sizeof(*fields), compare_fields);
    for (size_t i = 1; i < count; i++) {
        if (cedar_text_equals(fields[i - 1].name, fields[i].name)) {
            return NULL;
        }
    }
    struct cedar_record *record = arena_new(arena, sizeof(*record));
    *record = (struct cedar_record){.count = (uint32_t)count, .fields = fields};
    make_slots(arena, record);
    return record;
}

static const struct cedar_value *search(const struct cedar_record *record,
                                        const struct cedar_text *name)
{
    const struct cedar_field *fields = record->fields; /* may be NULL when there are none */
    size_t first = 0;
    for (size_t left = record->count; left > SCAN_FIELDS;) {
        size_t half = left / 2;
        if (fields[first + half].hash < name->hash) {
            first += half + 1;
            left -= half + 1;
        } else {
            left = half;
        }
    }
    for (size_t i = first; i < record->count && fields[i].hash <= name->hash; i++) {
        if (fields[i].hash == name->hash && cedar_text_equals(fields[i].name, name)) {
            return &fields[i].value;
        }
    }
    return NULL;
}

const struct cedar_value *cedar_record_get(const struct cedar_record *record,
                                           const struct cedar_text *name)
{
    return record->slots != NULL ? cedar_record_look_up(record, name->hash, name)
                                 : search(record, name);
}

const char *cedar_kind_name(enum cedar_kind kind)
{
    static const char *const names[] = {
        [CEDAR_BOOL] = "bool",         [CEDAR_LONG] = "long", [CEDAR_STRING] = "string",
        [CEDAR_ENTITY] = "entity",     [CEDAR_SET] = "set",   [CEDAR_RECORD] = "record",
        [CEDAR_DECIMAL] = "decimal",   [CEDAR_IP] = "ipaddr", [CEDAR_DATETIME] = "datetime",
        [CEDAR_DURATION] = "duration",
    };
    return (unsigned)kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "unknown";
}
