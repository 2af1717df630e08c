// SPDX-License-Identifier: Apache-2.0
/*
 * What fuzz targets share. A target is one file fuzz_<name>.c with LLVMFuzzerTestOneInput. With the
 * build option `fuzz` it becomes a libFuzzer program; otherwise replay.c runs it over its seeds.
 * A target states what must hold with FUZZ_CHECK, keeps no state between inputs, and frees all.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/** Entry point of a target, called by libFuzzer or by replay.c. @return 0 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** What must hold for every input; aborts with the place when it does not. */
#define FUZZ_CHECK(claim)                                                              \
    do {                                                                               \
        if (!(claim)) {                                                                \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #claim); \
            abort();                                                                   \
        }                                                                              \
    } while (0)

/** The input as a string that ends at its first NUL, in memory of exactly that size; free() it. */
char *fuzz_text(const uint8_t *data, size_t size);

/**
 * The input's bytes in memory of exactly that size and one NUL, so that reading past the end is
 * seen by the address sanitizer; free() it.
 */
char *fuzz_bytes(const uint8_t *data, size_t size);

/**
 * Whether a text is JSON by the letter of RFC 8259 and UTF-8: a second opinion, written apart from
 * the code under test.
 */
_Bool fuzz_is_json(const char *text, size_t len);
