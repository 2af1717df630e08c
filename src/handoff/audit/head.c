// SPDX-License-Identifier: Apache-2.0
/* How far a chain is, as a document. */
#include "base/error.h"
#include "base/json/json.h"
#include "handoff/audit/entry.h"

#include <json-c/json.h>
#include <string.h>

#define FORMAT 1

void audit_head_encode(const struct audit_head *head, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "format", FORMAT);
    json_write_int(&writer, "size", (int64_t)head->size);
    json_write_string(&writer, "hash", head->hash);
    json_begin_array(&writer, "peaks");
    for (unsigned level = 0; level < 64; level++) {
        if ((head->size >> level & 1) != 0) {
            char hex[DIGEST_HEX_SIZE];
            digest_hex(head->merkle.peaks[level], hex);
            json_write_string(&writer, NULL, hex);
        }
    }
    json_end_array(&writer);
    json_end_object(&writer);
}

static bool read_digit(char c, unsigned *value)
{
    static const char digits[] = "0123456789abcdef";
    const char *place = c == '\0' ? NULL : strchr(digits, c);
    *value = *value << 4 | (unsigned)(place == NULL ? 0 : place - digits);
    return place != NULL;
}

/** @return whether it is the text of a digest */
static bool read_digest(const char *hex, unsigned char *ret_digest)
{
    if (hex == NULL || strlen(hex) != DIGEST_HEX_SIZE - 1) {
        return false;
    }
    for (size_t i = 0; i < DIGEST_SIZE; i++) {
        unsigned value = 0;
        if (!read_digit(hex[2 * i], &value) || !read_digit(hex[2 * i + 1], &value)) {
            return false;
        }
        ret_digest[i] = (unsigned char)value;
    }
    return true;
}

static bool read_peaks(struct json_object *list, struct audit_head *head)
{
    size_t next = 0;
    if (!json_object_is_type(list, json_type_array)) {
        return false;
    }
    for (unsigned level = 0; level < 64; level++) {
        bool is_set = (head->size >> level & 1) != 0;
        if (is_set && !read_digest(json_object_get_string(json_object_array_get_idx(list, next++)),
                                   head->merkle.peaks[level])) {
            return false;
        }
    }
    head->merkle.size = head->size;
    return next == json_object_array_length(list);
}

int audit_head_decode(const char *data, size_t len, struct audit_head *ret_head,
                      struct rondo_error *err)
{
    auto_json struct json_object *root = NULL;
    struct audit_head head = {0};
    bool is_valid =
        json_parse_strict(data, len, &root, NULL) == 0 && json_get_int(root, "format", 0) == FORMAT;
    int64_t size = is_valid ? json_get_int(root, "size", -1) : -1;
    const char *hash = is_valid ? json_get_string(root, "hash", "") : "";
    head.size = size < 0 ? 0 : (uint64_t)size;
    is_valid = size >= 0 && strlen(hash) == (size == 0 ? 0 : HANDOFF_DIGEST_SIZE - 1) &&
               read_peaks(json_member(root, "peaks"), &head);
    if (!is_valid) {
        return error_set(err, RONDO_ERR_CORRUPT, "the head of the audit chain cannot be read");
    }
    memcpy(head.hash, hash, strlen(hash) + 1);
    *ret_head = head;
    return 0;
}
