// SPDX-License-Identifier: Apache-2.0
/* The table of secret files. */
#include "tool/secret_files.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/memory.h"
#include "tool/permission.h"

#include <stddef.h>
#include <string.h>

const char *const secret_file_globs[] = {
    /* Environments. A pathspec cannot take back what another one excluded, so these rows spell out
       ".env.*" but for .env.exa*, .env.sam*, .env.tem* and .env.dis*: examples are no secrets. */
    ".env",
    ".env[-_~]*",
    ".env.?",
    ".env.??",
    ".env.[!edst]*",
    ".env.d[!i]*",
    ".env.di[!s]*",
    ".env.e[!x]*",
    ".env.ex[!a]*",
    ".env.s[!a]*",
    ".env.sa[!m]*",
    ".env.t[!e]*",
    ".env.te[!m]*",
    ".env.*.local",
    "*.env",
    ".envrc",
    /* Private keys and key stores. */
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_ecdsa_sk",
    "id_ed25519_sk",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "*.jks",
    "*.keystore",
    "*.kdbx",
    /* Stored passwords and tokens. */
    ".netrc",
    "_netrc",
    ".pgpass",
    ".my.cnf",
    ".npmrc",
    ".pypirc",
    ".htpasswd",
    ".dockercfg",
    ".git-credentials",
    ".vault-token",
    /* Folders of them. */
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    NULL,
};

static bool is_secret_name(const char *name, size_t len)
{
    auto_free char *lower = memory_dup_bytes(name, len);
    for (size_t i = 0; i < len; i++) {
        lower[i] = ascii_lower(lower[i]);
    }
    for (size_t i = 0; secret_file_globs[i] != NULL; i++) {
        if (glob_matches(secret_file_globs[i], lower)) {
            return true;
        }
    }
    return false;
}

bool secret_file_is(const char *path)
{
    while (*path != '\0') {
        size_t len = strcspn(path, "/:");
        if (is_secret_name(path, len)) {
            return true;
        }
        path += len;
        path += *path != '\0' ? 1 : 0;
    }
    return false;
}
