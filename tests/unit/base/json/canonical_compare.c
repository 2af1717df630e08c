// SPDX-License-Identifier: Apache-2.0
/* Reads lines of canonical_reference.mjs, and says whether json_canonical() gives the same forms.
 */
#include "base/json/canonical.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t len;
    size_t count = 0;
    size_t wrong = 0;
    while ((len = getline(&line, &size, stdin)) > 0) {
        char *tab = memchr(line, '\t', (size_t)len);
        if (tab == NULL || line[len - 1] != '\n') {
            break;
        }
        line[len - 1] = '\0';
        auto_buf struct buf form = {0};
        struct rondo_error err = {0};
        int r = json_canonical(line, (size_t)(tab - line), &form, &err);
        if ((r < 0 || strcmp(buf_string(&form), tab + 1) != 0) && wrong++ < 5) {
            printf("# %.*s has the form %s, not %s\n", (int)(tab - line), line,
                   r < 0 ? err.message : buf_string(&form), tab + 1);
        }
        count++;
    }
    free(line);
    printf("%s 1 - %zu random values have the form of ECMAScript\n1..1\n",
           wrong == 0 && count > 0 ? "ok" : "not ok", count);
    return wrong == 0 && count > 0 ? 0 : 1;
}
