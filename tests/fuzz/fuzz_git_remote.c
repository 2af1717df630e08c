// SPDX-License-Identifier: Apache-2.0
/* Addresses of remotes: parts are parts of the address, and no host can be an option of ssh. */
#include "fuzz.h"

#include "git/remote.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    struct git_remote remote;
    char *owner = NULL;
    char *name = NULL;
    if (git_remote_parse(text, &remote, NULL) == 0) {
        FUZZ_CHECK(remote.path != NULL && strstr(text, remote.path) != NULL);
        FUZZ_CHECK(remote.host == NULL || (remote.host[0] != '-' && remote.host[0] != '\0'));
        FUZZ_CHECK(remote.transport == GIT_LOCAL || remote.transport == GIT_OTHER ||
                   (remote.host != NULL && remote.path[0] != '\0'));
        if (git_remote_forge(&remote, "github.com", &owner, &name)) {
            FUZZ_CHECK(owner[0] != '\0' && name[0] != '\0' && strchr(name, '/') == NULL);
        }
        free(owner);
        free(name);
        git_remote_fini(&remote);
    }
    free(text);
    return 0;
}
