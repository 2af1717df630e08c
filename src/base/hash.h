// SPDX-License-Identifier: Apache-2.0
/*
 * FNV-1a of 64 bits: for tables, and for telling texts apart that nobody chose to be confused. It
 * is no protection: who may choose a text makes two with one hash. Pure; any thread. Format:
 * http://www.isthe.com/chongo/tech/comp/fnv/
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/** With this a hash begins. */
#define HASH_START UINT64_C(14695981039346656037)

/** Continue a hash with one more byte. */
static inline uint64_t hash_byte(uint64_t hash, char byte)
{
    return (hash ^ (unsigned char)byte) * UINT64_C(1099511628211);
}

/** Continue a hash with the bytes of a text. @param text need not end with a NUL */
static inline uint64_t hash_bytes(uint64_t hash, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        hash = hash_byte(hash, text[i]);
    }
    return hash;
}
