// SPDX-License-Identifier: Apache-2.0
/*
 * Where keys come from: the environment, then `.env` in a folder, then ~/.initrunner/.env
 * (INITRUNNER_HOME, XDG_DATA_HOME as InitRunner has them). A variable that is set is never
 * overridden. Values never appear in messages.
 */
#pragma once

#include "rondo/error.h"

struct buf;
struct dotenv;

/** Digest of a file `.env`, by which it is confirmed. `ret_digest`: DIGEST_HEX_SIZE bytes. */
void dotenv_digest(const struct buf *text, char *ret_digest);

/**
 * Read the `.env` files that serve a folder. Files that are absent are no error.
 * @param folder absolute; NULL = only the home
 * @param ret_dotenv dotenv_free(), which zeroes the values
 */
int dotenv_read(const char *folder, struct dotenv **ret_dotenv, struct rondo_error *err);
void dotenv_free(struct dotenv *dotenv);

/** Value of a variable: of the process, else of the files; NULL = not set. Borrowed. */
const char *dotenv_get(const struct dotenv *dotenv, const char *name);

/** Replace $VAR and ${VAR} in a text; one that is not set stays unchanged. */
void dotenv_expand(const struct dotenv *dotenv, const char *text, struct buf *ret_text);
