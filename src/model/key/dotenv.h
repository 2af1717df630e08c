// SPDX-License-Identifier: Apache-2.0
/*
 * The format of `.env` files, by the rules of python-dotenv: `export`, single and double quotes
 * that may span lines, their escapes, comments, and ${VAR} and ${VAR:-default} in values. A line
 * that is no binding is skipped. What the process has wins over what a file says.
 */
#pragma once

#include "base/digest.h"

#include <stddef.h>

/** Bindings that are kept; further ones are ignored. */
#define DOTENV_MAX_ENTRIES 1000
/** A value stops growing by interpolation here, bytes: values of values double each time. */
#define DOTENV_VALUE_MAX_BYTES ((size_t)64 * 1024)
/** A file, bytes; a larger one is an error. */
#define DOTENV_FILE_MAX_BYTES ((size_t)1024 * 1024)

/** One binding. The value is zeroed when it is freed. */
struct dotenv_entry {
    char *name;
    char *value;
};

struct dotenv {
    struct dotenv_entry *entries; /**< later ones with the same name replace earlier ones */
    size_t count;
    size_t room;
    char digest[DIGEST_HEX_SIZE]; /**< of the folder's file; as of an empty one if it is absent */
};

/**
 * Take in the bindings of one text. Names that `dotenv` has already keep their values: they come
 * from a file that goes first.
 */
void dotenv_parse(struct dotenv *dotenv, const char *text, size_t len);

/** Release the bindings and zero the values. */
void dotenv_fini(struct dotenv *dotenv);
