// SPDX-License-Identifier: Apache-2.0
/* The stored picture of watched files: any name comes back, damage is noticed, size is bounded. */
#include "source/watch/watch_picture.h"

#include "base/auto.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int decode(const char *text, struct watch_picture *picture)
{
    auto_json struct json_object *json = NULL;
    assert_int_equal(json_parse(text, strlen(text), &json, NULL), 0);
    return watch_picture_decode(json, picture, NULL);
}

TEST(any_name_comes_back)
{
    static const char *const names[] = {"a",        "a%b", "a\nb\x01", "\xff\xfe",
                                        "\xc3\xa4", "%41", "a\"\\"};
    struct watch_picture picture = {.batch = 7};
    struct watch_picture back = {0};
    auto_buf struct buf json = {0};
    for (size_t i = 0; i < COUNT(names); i++) {
        watch_picture_add(&picture, names[i])->known = (struct watched_state){true, UINT64_MAX - i};
    }
    watch_picture_encode(&picture, &json);
    assert_int_equal(decode(buf_string(&json), &back), 0);
    assert_int_equal(back.batch, 7);
    assert_int_equal(back.count, COUNT(names));
    for (size_t i = 0; i < COUNT(names); i++) {
        assert_true(watch_picture_find(&back, names[i])->known.stamp == UINT64_MAX - i);
    }
    watch_picture_fini(&picture);
    watch_picture_fini(&back);
}

TEST(a_damaged_picture_is_refused)
{
    static const char *const texts[] = {
        "[]",
        "{}",
        "{\"files\":[]}",
        "{\"files\":{\"a\":1}}",
        "{\"files\":{\"a\":\"12\"}}",
        "{\"files\":{\"a\":\"0123456789abcdeg\"}}",
        "{\"files\":{\"a%0\":\"0123456789abcdef\"}}",
        "{\"files\":{\"a%00\":\"0123456789abcdef\"}}",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct watch_picture picture = {0};
        assert_int_equal(decode(texts[i], &picture), RONDO_ERR_CORRUPT);
        watch_picture_fini(&picture);
    }
}

TEST(a_picture_has_a_largest_number_of_files)
{
    struct watch_picture picture = {0};
    char name[16];
    for (unsigned i = 0; i < LIMIT_WATCH_FILES; i++) {
        snprintf(name, sizeof(name), "%u", i);
        assert_non_null(watch_picture_add(&picture, name));
    }
    assert_null(watch_picture_add(&picture, "more"));
    assert_non_null(watch_picture_add(&picture, "0"));
    watch_picture_remove(&picture, watch_picture_find(&picture, "0"));
    assert_non_null(watch_picture_add(&picture, "more"));
    watch_picture_fini(&picture);
}

TEST(a_full_picture_of_hostile_names_fits_into_a_mark)
{
    struct watch_picture picture = {0};
    auto_buf struct buf json = {0};
    char name[80];
    unsigned count = 0;
    for (struct watched_file *file = NULL; count < LIMIT_WATCH_FILES; count++) {
        snprintf(name, sizeof(name), "\x01\x02\x03\x04\x05\x06\x07%u", count);
        file = watch_picture_add(&picture, name);
        if (file == NULL) {
            break;
        }
        file->known = (struct watched_state){true, UINT64_MAX};
    }
    watch_picture_encode(&picture, &json);
    assert_true(json.len <= (size_t)LIMIT_SOURCE_MARK_BYTES);
    watch_picture_fini(&picture);
}

TEST(paths_have_a_largest_size_together)
{
    struct watch_picture picture = {0};
    auto_buf struct buf json = {0};
    size_t len = (size_t)LIMIT_WATCH_PATHS_BYTES / 6;
    auto_free char *path = memory_new_zero(1, len + 2);
    memset(path, 1, len);
    struct watched_file *file = watch_picture_add(&picture, path);
    assert_non_null(file);
    file->known = (struct watched_state){true, 1};
    watch_picture_encode(&picture, &json);
    assert_true(json.len <= (size_t)LIMIT_SOURCE_MARK_BYTES);
    watch_picture_remove(&picture, file);
    path[len] = 1;
    assert_null(watch_picture_add(&picture, path));
    watch_picture_fini(&picture);
}
