// SPDX-License-Identifier: Apache-2.0
/* `.env` files: any bytes give bounded bindings, and what was read can be written and read again.
 */
#include "../fuzz.h"

#include "base/buf.h"
#include "model/key/dotenv.h"
#include "model/key/environment.h"

#include <stdbool.h>
#include <string.h>

/** Write a value so that it is read as it is; dollar signs would be variables. */
static bool write_quoted(const char *value, struct buf *text)
{
    buf_append_string(text, "\"");
    for (; *value != '\0'; value++) {
        if (*value == '$') {
            return false;
        }
        buf_append_string(text, *value == '"' || *value == '\\' ? "\\" : "");
        buf_append(text, value, 1);
    }
    buf_append_string(text, "\"\n");
    return true;
}

static void check_entry(const struct dotenv_entry *entry)
{
    struct dotenv again = {0};
    auto_buf struct buf text = {0};
    FUZZ_CHECK(entry->name[0] != '\0');
    FUZZ_CHECK(strlen(entry->value) <= DOTENV_VALUE_MAX_BYTES);
    buf_append_string(&text, "A=");
    if (strchr(entry->value, '\\') == NULL && write_quoted(entry->value, &text)) {
        dotenv_parse(&again, text.data, text.len);
        FUZZ_CHECK(again.count == 1 && strcmp(again.entries[0].value, entry->value) == 0);
    }
    dotenv_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_bytes(data, size);
    struct dotenv dotenv = {0};
    auto_buf struct buf expanded = {0};
    dotenv_parse(&dotenv, text, size);
    FUZZ_CHECK(dotenv.count <= DOTENV_MAX_ENTRIES);
    for (size_t i = 0; i < dotenv.count && i < 16; i++) {
        check_entry(&dotenv.entries[i]);
    }
    dotenv_expand(&dotenv, text, &expanded);
    dotenv_fini(&dotenv);
    free(text);
    return 0;
}
