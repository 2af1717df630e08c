// SPDX-License-Identifier: Apache-2.0
/* Which `.env` files serve a folder, and what a variable is. Reads files; any thread. */
#include "model/key/environment.h"

#include "base/ascii.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/memory.h"
#include "model/key/dotenv.h"
#include "model/key/secret.h"
#include "os/file_untrusted.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void dotenv_digest(const struct buf *text, char *ret_digest)
{
    unsigned char bytes[DIGEST_SIZE];
    struct digest digest = digest_begin();
    digest_add(&digest, buf_string(text), text->len);
    digest_finish(&digest, bytes);
    digest_hex(bytes, ret_digest);
}

/** @param agent_folders as in file_read_named */
static int read_file(struct dotenv *dotenv, const char *const *agent_folders, const char *path,
                     char *ret_digest, struct rondo_error *err)
{
    struct buf text = {0};
    struct rondo_error why = {0};
    int r = file_read_named(agent_folders, path, DOTENV_FILE_MAX_BYTES, &text, &why);
    if (r == 0 && text.len > 0) {
        dotenv_parse(dotenv, text.data, text.len);
    }
    dotenv_digest(&text, ret_digest);
    secret_fini_buf(&text);
    if (r < 0 && r != RONDO_ERR_NOT_FOUND) {
        return error_set(err, r, "while reading keys: %s", why.message);
    }
    return 0;
}

/** Path of InitRunner's own `.env`; empty when there is no home. */
static void home_path(struct buf *ret_path)
{
    const char *own = getenv("INITRUNNER_HOME");
    const char *data = getenv("XDG_DATA_HOME");
    const char *home = getenv("HOME");
    if (own != NULL && *own != '\0') {
        buf_printf(ret_path, "%s/.env", own);
    } else if (data != NULL && *data != '\0') {
        buf_printf(ret_path, "%s/initrunner/.env", data);
    } else if (home != NULL && *home != '\0') {
        buf_printf(ret_path, "%s/.initrunner/.env", home);
    }
}

int dotenv_read(const char *folder, struct dotenv **ret_dotenv, struct rondo_error *err)
{
    struct dotenv *dotenv = memory_new_zero(1, sizeof(*dotenv));
    auto_buf struct buf path = {0};
    char of_home[DIGEST_HEX_SIZE];
    int r = 0;
    if (folder != NULL) {
        const char *const agent_folders[] = {folder, NULL};
        buf_printf(&path, "%s/.env", folder);
        r = read_file(dotenv, agent_folders, buf_string(&path), dotenv->digest, err);
        buf_clear(&path);
    }
    home_path(&path);
    if (r == 0 && path.len > 0) {
        r = read_file(dotenv, NULL, buf_string(&path), of_home, err);
    }
    if (r < 0) {
        dotenv_free(dotenv);
        return r;
    }
    *ret_dotenv = dotenv;
    return 0;
}

void dotenv_free(struct dotenv *dotenv)
{
    if (dotenv != NULL) {
        dotenv_fini(dotenv);
        free(dotenv);
    }
}

const char *dotenv_get(const struct dotenv *dotenv, const char *name)
{
    const char *value = getenv(name);
    for (size_t i = 0; value == NULL && i < dotenv->count; i++) {
        if (strcmp(dotenv->entries[i].name, name) == 0) {
            value = dotenv->entries[i].value;
        }
    }
    return value;
}

static bool is_name_byte(char c)
{
    return ascii_is_letter_or_digit(c) || c == '_';
}

/** Length of the variable after a dollar sign, braces included; 0 = none. */
static size_t variable_len(const char *text, const char **ret_name, size_t *ret_name_len)
{
    size_t len = 0;
    if (text[0] == '{') {
        const char *end = strchr(text, '}');
        *ret_name = text + 1;
        *ret_name_len = end == NULL ? 0 : (size_t)(end - text - 1);
        return end == NULL ? 0 : (size_t)(end - text + 1);
    }
    while (is_name_byte(text[len])) {
        len++;
    }
    *ret_name = text;
    *ret_name_len = len;
    return len;
}

void dotenv_expand(const struct dotenv *dotenv, const char *text, struct buf *ret_text)
{
    while (*text != '\0') {
        const char *name = NULL;
        size_t name_len = 0;
        size_t len = *text == '$' ? variable_len(text + 1, &name, &name_len) : 0;
        char *variable = memory_dup_bytes(len == 0 ? "" : name, name_len);
        const char *value = len == 0 ? NULL : dotenv_get(dotenv, variable);
        free(variable);
        if (value != NULL) {
            buf_append_string(ret_text, value);
        } else {
            buf_append(ret_text, text, len + 1);
        }
        text += len + 1;
    }
}
