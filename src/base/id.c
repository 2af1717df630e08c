// SPDX-License-Identifier: Apache-2.0
/*
 * UUIDv7: 48 bits of milliseconds, version 7, 74 random bits; UUIDv5: SHA-1 of a name (RFC 9562).
 * Pure. OpenSSL's own function instead of EVP: see base/digest.c.
 */
#define OPENSSL_SUPPRESS_DEPRECATED

#include "base/id.h"

#include "base/clock.h"

#include <assert.h>
#include <openssl/sha.h>
#include <stdio.h>
#include <string.h>

static void write_id(unsigned char *b, unsigned version, char *ret_id)
{
    b[6] = (unsigned char)((version << 4) | (b[6] & 0x0f));
    b[8] = (unsigned char)(0x80 | (b[8] & 0x3f));
    snprintf(ret_id, ID_SIZE,
             "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1],
             b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14],
             b[15]);
}

void id_new(int64_t time_ns, struct random *random, char *ret_id)
{
    unsigned char b[16];
    random->fill(random, b, sizeof(b));
    uint64_t ms = (uint64_t)(time_ns / NS_PER_MS);
    for (unsigned i = 0; i < 6; i++) {
        b[i] = (unsigned char)(ms >> (40 - 8 * i));
    }
    write_id(b, 7, ret_id);
}

/** The 16 bytes of an id. */
static void read_id(const char *id, unsigned char *ret_bytes)
{
    for (size_t i = 0; i < 16; i++) {
        id += *id == '-' ? 1 : 0;
        int n = sscanf(id, "%2hhx", &ret_bytes[i]);
        assert(n == 1);
        id += 2;
    }
}

void id_from_name(const char *space, const void *name, size_t len, char *ret_id)
{
    unsigned char digest[SHA_DIGEST_LENGTH];
    unsigned char bytes[16];
    SHA_CTX context;
    assert(id_is_valid(space));
    read_id(space, bytes);
    SHA1_Init(&context);
    SHA1_Update(&context, bytes, sizeof(bytes));
    SHA1_Update(&context, name, len);
    SHA1_Final(digest, &context);
    write_id(digest, 5, ret_id);
}

static bool is_digit(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

bool id_is_from_name(const char *id)
{
    return id_is_valid(id) && id[14] == '5';
}

bool id_is_valid(const char *text)
{
    if (strlen(text) != ID_SIZE - 1) {
        return false;
    }
    for (size_t i = 0; i < ID_SIZE - 1; i++) {
        bool is_hyphen_place = i == 8 || i == 13 || i == 18 || i == 23;
        if (is_hyphen_place ? text[i] != '-' : !is_digit(text[i])) {
            return false;
        }
    }
    return true;
}
