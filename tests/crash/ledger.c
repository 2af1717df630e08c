// SPDX-License-Identifier: Apache-2.0
/* Reading what victims say (see victim.c). */
#include "check.h"

#include "base/memory.h"
#include "support/test.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ledger_clear(struct ledger *ledger)
{
    free(ledger->facts);
    *ledger = (struct ledger){0};
}

static void add(struct ledger *ledger, const struct acknowledged_fact *fact)
{
    if (ledger->count == ledger->room) {
        ledger->room = ledger->room == 0 ? 64 : 2 * ledger->room;
        ledger->facts = memory_resize(ledger->facts, ledger->room, sizeof(*ledger->facts));
    }
    ledger->facts[ledger->count++] = *fact;
}

static void read_line(struct ledger *ledger, const char *line)
{
    struct acknowledged_fact fact = {0};
    if (line[0] == '!') {
        fail_msg("the victim says: %s", line);
    } else if (sscanf(line, "s %36s", fact.run_id) == 1) {
        fact.kind = FACT_STARTED;
    } else if (sscanf(line, "w %36s %" SCNu64, fact.run_id, &fact.number) == 2) {
        fact.kind = FACT_CLAIMED;
    } else if (sscanf(line, "a %36s %" SCNu64 " %" SCNu64 " %" SCNu64, fact.run_id, &fact.number,
                      &fact.attempt, &fact.seq) == 4) {
        fact.kind = FACT_BEGUN;
    } else if (sscanf(line, "c %36s %" SCNu64, fact.run_id, &fact.number) == 2) {
        fact.kind = FACT_CHECKPOINT;
    } else if (sscanf(line, "e %36s %31s", fact.run_id, fact.text) == 2) {
        fact.kind = FACT_ENDED;
    } else if (sscanf(line, "{\"run_id\":\"%36[^\"]\",\"seq\":%" SCNu64, fact.run_id,
                      &fact.number) == 2) {
        fact.kind = FACT_EVENT;
    } else {
        return;
    }
    add(ledger, &fact);
}

void ledger_read(struct ledger *ledger, const struct buf *output)
{
    const char *line = buf_string(output);
    const char *end = line + output->len;
    while (line < end) {
        size_t len = strcspn(line, "\n");
        if (line + len == end) {
            return;
        }
        char copy[1024];
        snprintf(copy, sizeof(copy), "%.*s", (int)len, line);
        read_line(ledger, copy);
        line += len + 1;
    }
}
