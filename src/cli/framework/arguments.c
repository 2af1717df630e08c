// SPDX-License-Identifier: Apache-2.0
/* Overwriting arguments where the kernel reads them. */
#include "cli/framework/arguments.h"

#include "base/auto.h"
#include "base/memory.h"
#include "store/locate/database.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/** Where an address begins in a word: "ADDRESS", "--OPTION=ADDRESS", "NAME=ADDRESS" or
 *  "--OPTION=NAME=ADDRESS". @return NULL = there is none */
static char *find_address(char *word)
{
    char *at = word;
    for (int i = 0; i < 3 && at != NULL; i++) {
        if (store_database_is_address(at)) {
            return at;
        }
        at = strchr(at, '=');
        at = at == NULL ? NULL : at + 1;
    }
    return NULL;
}

bool arguments_hide_passwords(int argc, char **argv)
{
    bool had_one = false;
    for (int i = 1; i < argc; i++) {
        char *address = find_address(argv[i]);
        if (address == NULL) {
            continue;
        }
        auto_free char *shown = store_database_show(address);
        size_t len = strlen(address);
        size_t shown_len = strlen(shown);
        if (shown_len < len) {
            char *copy = memory_dup_string(argv[i]);
            memcpy(address, shown, shown_len);
            explicit_bzero(address + shown_len, len - shown_len);
            argv[i] = copy; /* It lives as long as the process. */
            had_one = true;
        }
    }
    return had_one;
}
