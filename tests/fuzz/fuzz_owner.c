// SPDX-License-Identifier: Apache-2.0
/* Owner names from a shared store: no process is called dead that this machine did not name. */
#include "fuzz.h"

#include "loop/owner.h"
#include "os/host.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *owner = fuzz_text(data, size);
    struct host_process self;
    host_describe_self(&self);
    bool is_of_this_boot = self.boot_id[0] == '\0' || strstr(owner, self.boot_id) != NULL;
    FUZZ_CHECK(!owner_is_dead(owner) || is_of_this_boot);

    struct store_run holder = {.lease_until_ns = INT64_C(1800000000000000000)};
    snprintf(holder.owner, sizeof(holder.owner), "%s", owner);
    char text[OWNER_DESCRIPTION_SIZE];
    owner_describe(&holder, text);
    FUZZ_CHECK(strlen(text) < sizeof(text));
    free(owner);
    return 0;
}
