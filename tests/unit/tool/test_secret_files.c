// SPDX-License-Identifier: Apache-2.0
/* Which names are those of secret files. */
#include "support/test.h"
#include "tool/secret_files.h"

TEST(names_of_secret_files_are_known_in_any_case_and_place)
{
    static const char *const secret[] = {
        ".env",         "a/.env",        "./a/../.ENV",     "/work/.env",
        ".env/",        ".env.local",    ".env.production", ".env.staging",
        ".env.test",    ".env.dev",      ".env.e",          ".env.ex",
        ".env.sandbox", ".env.di",       ".env.x",          ".env~",
        ".env-old",     ".env.bak",      "prod.env",        ".envrc",
        "server.key",   "tls/cert.pem",  "id_rsa",          ".ssh/id_new",
        "HEAD:.env",    "HEAD:a/.env",   "HEAD:./a/.Env",   ".aws/credentials",
        "x.P12",        ".netrc",        "HEAD~2:.npmrc",   ".env.1",
        ".env.swp",     ".env.test.bak", ".env.te",         ".env.example.local",
    };
    for (size_t i = 0; i < COUNT(secret); i++) {
        if (!secret_file_is(secret[i])) {
            fail_msg("%s", secret[i]);
        }
    }
}

TEST(other_names_are_not)
{
    static const char *const open[] = {
        "",
        "a",
        "env",
        "environment.c",
        ".env.example",
        ".env.sample",
        "env/x.py",
        "key.c",
        "monkey",
        "id_rsa.pub",
        "a/.env.template",
        ".env.dist",
        ".envelope",
        "HEAD:a.c",
        "README.md",
        "keys/x.txt",
        "src/os/sandbox.env.c",
    };
    for (size_t i = 0; i < COUNT(open); i++) {
        if (secret_file_is(open[i])) {
            fail_msg("%s", open[i]);
        }
    }
}
