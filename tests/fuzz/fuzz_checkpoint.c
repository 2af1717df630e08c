// SPDX-License-Identifier: Apache-2.0
/*
 * Stored checkpoints. Input: one byte of flags, seven bytes of numbers, then fold, custom data,
 * conditions and state, split at bytes 0xff. Handed out by a store that has nothing else. With flag
 * 1 the digest is made to fit, by the description of format 1 and not by the code under test, so
 * that what follows the digest is reached too. What loads must be what was stored.
 */
#include "fuzz.h"

#include "base/digest.h"
#include "journal/checkpoint.h"

#include <string.h>

#define RUN_ID "0190a8b2-0000-7000-8000-000000000001"

enum flag {
    FLAG_DIGEST_FITS = 1,
    FLAG_PACKED = 2,
    FLAG_NO_CUSTOM_DATA = 4,
    FLAG_SIZE_FITS = 8,
};

struct one_store {
    struct store base;
    const struct store_checkpoint *checkpoint;
};

static int get_checkpoint(struct store *store, const char *run_id, uint64_t number,
                          store_checkpoint_fn *fn, void *context, struct rondo_error *err)
{
    (void)run_id, (void)number, (void)err;
    fn(((struct one_store *)store)->checkpoint, context);
    return 0;
}

/** The next part of the input, up to the separator. Its bytes are copied; free() them. */
static char *next_part(const uint8_t **data, size_t *size, size_t *ret_len)
{
    const uint8_t *end = *size == 0 ? NULL : memchr(*data, 0xff, *size);
    size_t len = end == NULL ? *size : (size_t)(end - *data);
    char *part = fuzz_bytes(*data, len);
    size_t used = end == NULL ? len : len + 1;
    *data += used;
    *size -= used;
    *ret_len = len;
    return part;
}

static void add_text(struct digest *digest, const char *text)
{
    size_t len = text == NULL ? 0 : strlen(text);
    digest_add_u64(digest, len);
    digest_add(digest, text, len);
}

static void fit_digest(struct store_checkpoint *stored)
{
    struct digest digest = digest_begin();
    add_text(&digest, "rondo-checkpoint-1");
    add_text(&digest, RUN_ID);
    digest_add_u64(&digest, stored->number);
    digest_add_u64(&digest, stored->seq);
    digest_add_u64(&digest, stored->iteration);
    digest_add_u64(&digest, (uint64_t)stored->time_ns);
    add_text(&digest, stored->fold);
    add_text(&digest, stored->custom_data);
    add_text(&digest, stored->conditions);
    digest_add_u64(&digest, stored->state_len);
    digest_add(&digest, stored->state, stored->state_len);
    digest_finish(&digest, stored->sha256);
}

static void check_loading(const struct store_checkpoint *stored)
{
    static const struct store_ops ops = {.name = "one", .get_checkpoint = get_checkpoint};
    struct one_store store = {.base = {&ops}, .checkpoint = stored};
    struct checkpoint checkpoint = {0};
    struct rondo_error err = {0};
    int r = checkpoint_load(&store.base, RUN_ID, 0, &checkpoint, &err);
    if (r < 0) {
        FUZZ_CHECK(r == RONDO_ERR_CORRUPT || r == RONDO_ERR_VERSION);
        FUZZ_CHECK(err.code == r && err.message[0] != '\0' && checkpoint.conditions == NULL);
        return;
    }
    FUZZ_CHECK(checkpoint.number == stored->number);
    FUZZ_CHECK(checkpoint.agent_state.len == stored->state_size);
    checkpoint_fini(&checkpoint);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 8) {
        return 0;
    }
    uint8_t flags = data[0];
    struct store_checkpoint stored = {
        .number = data[1],
        .seq = data[2],
        .iteration = data[3],
        .time_ns = data[4],
        .format = data[5],
        .state_size = (uint64_t)data[6] << 56 | data[7],
        .is_packed = (flags & FLAG_PACKED) != 0,
    };
    data += 8;
    size -= 8;
    char *parts[4];
    size_t lens[4];
    for (size_t i = 0; i < 4; i++) {
        parts[i] = next_part(&data, &size, &lens[i]);
    }
    stored.fold = parts[0];
    stored.custom_data = (flags & FLAG_NO_CUSTOM_DATA) != 0 ? NULL : parts[1];
    stored.conditions = parts[2];
    stored.state = parts[3];
    stored.state_len = lens[3];
    if ((flags & FLAG_SIZE_FITS) != 0) {
        stored.state_size = lens[3];
    }
    if ((flags & FLAG_DIGEST_FITS) != 0) {
        fit_digest(&stored);
    }
    check_loading(&stored);
    for (size_t i = 0; i < 4; i++) {
        free(parts[i]);
    }
    return 0;
}
