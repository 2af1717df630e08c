// SPDX-License-Identifier: Apache-2.0
/* Buffers, digests and compression. */
#include "base/buf.h"
#include "base/digest.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/zip.h"
#include "rondo/error.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

TEST(a_buffer_is_always_a_string)
{
    auto_buf struct buf buf = {0};
    assert_string_equal(buf_string(&buf), "");
    for (int i = 0; i < 1000; i++) {
        buf_printf(&buf, "%d,", i);
        assert_int_equal(strlen(buf_string(&buf)), buf.len);
    }
    buf_clear(&buf);
    assert_string_equal(buf_string(&buf), "");
    buf_append_string(&buf, "x");
    char *stolen = buf_steal(&buf);
    assert_string_equal(stolen, "x");
    free(stolen);
    stolen = buf_steal(&buf);
    assert_string_equal(stolen, "");
    free(stolen);
}

TEST(room_in_which_nothing_is_written_is_no_content)
{
    auto_buf struct buf buf = {0};
    char *room = buf_room(&buf, 1000);
    memset(room, 'x', 1000); /* what memory may have been used for before */
    room = buf_room(&buf, 1000);
    assert_string_equal(buf_string(&buf), "");
    memcpy(room, "kept", 4);
    buf_grown(&buf, 4);
    memset(buf_room(&buf, 10), 'x', 10);
    (void)buf_room(&buf, 10);
    assert_string_equal(buf_string(&buf), "kept");
}

TEST(bytes_are_appended_as_digits)
{
    (void)state;
    struct buf buf = {0};
    buf_append_hex(&buf, "\0\x0f\xa0\xff", 4);
    assert_string_equal(buf_string(&buf), "000fa0ff");
    buf_fini(&buf);
}

TEST(a_fitted_buffer_keeps_its_content_and_grows_again)
{
    auto_buf struct buf buf = {0};
    buf_fit(&buf);
    assert_string_equal(buf_string(&buf), "");
    buf_append_string(&buf, "kept");
    buf_fit(&buf);
    assert_int_equal(buf.size, 5);
    assert_string_equal(buf_string(&buf), "kept");
    buf_append_string(&buf, " and grown");
    assert_string_equal(buf_string(&buf), "kept and grown");
}

TEST(a_list_of_texts_is_copied_with_its_texts)
{
    const char *const texts[] = {"one", "", "three", NULL};
    const char *const nothing[] = {NULL};
    char **copy = memory_dup_list(texts);
    char **empty = memory_dup_list(nothing);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(copy[i], texts[i]);
        assert_ptr_not_equal(copy[i], texts[i]);
    }
    assert_null(copy[3]);
    assert_null(empty[0]);
    assert_null(memory_dup_list(NULL));
    memory_free_list(copy);
    memory_free_list(empty);
    memory_free_list(NULL);
}

TEST(sha256_of_the_standard_vectors)
{
    unsigned char sha256[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    struct digest digest = digest_begin();
    digest_add(&digest, "ab", 2);
    digest_add(&digest, "c", 1);
    digest_finish(&digest, sha256);
    digest_hex(sha256, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    digest = digest_begin();
    digest_add(&digest, NULL, 0);
    digest_finish(&digest, sha256);
    digest_hex(sha256, hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(numbers_are_digested_big_endian)
{
    unsigned char one[DIGEST_SIZE];
    unsigned char two[DIGEST_SIZE];
    struct digest digest = digest_begin();
    digest_add_u64(&digest, 0x0102030405060708ULL);
    digest_finish(&digest, one);
    digest = digest_begin();
    digest_add(&digest, "\1\2\3\4\5\6\7\10", 8);
    digest_finish(&digest, two);
    assert_memory_equal(one, two, DIGEST_SIZE);
}

TEST(packed_bytes_come_back)
{
    struct random random = random_seeded(5);
    for (size_t len = 0; len < 70000; len = len * 3 + 1) {
        auto_buf struct buf bytes = {0};
        auto_buf struct buf packed = {0};
        auto_buf struct buf again = {0};
        while (bytes.len < len) {
            char byte = (char)random_below(&random, 4);
            buf_append(&bytes, &byte, 1);
        }
        zip_pack(bytes.data, bytes.len, &packed);
        assert_int_equal(zip_unpack(packed.data, packed.len, len, &again, NULL), 0);
        assert_int_equal(again.len, len);
        assert_true(len == 0 || memcmp(again.data, bytes.data, len) == 0);
    }
}

TEST(damaged_or_wrongly_sized_packed_bytes_are_refused)
{
    auto_buf struct buf packed = {0};
    auto_buf struct buf again = {0};
    zip_pack("aaaaaaaaaaaaaaaaaaaaaaaaaaaa", 28, &packed);
    assert_int_equal(zip_unpack(packed.data, packed.len, 27, &again, NULL), RONDO_ERR_CORRUPT);
    assert_int_equal(zip_unpack(packed.data, packed.len, 29, &again, NULL), RONDO_ERR_CORRUPT);
    assert_int_equal(zip_unpack(packed.data, packed.len - 1, 28, &again, NULL), RONDO_ERR_CORRUPT);
    assert_int_equal(zip_unpack("not zstd", 8, 28, &again, NULL), RONDO_ERR_CORRUPT);
    assert_int_equal(again.len, 0);
}
