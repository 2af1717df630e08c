// SPDX-License-Identifier: Apache-2.0
/*
 * What git prints about claims and failures: names are names, each once and in order; texts are
 * within the limit; messages come without control characters.
 */
#include "fuzz.h"

#include "base/limits.h"
#include "git/access.h"
#include "git/claims/claim_list.h"
#include "git/commit.h"

#include <string.h>

#define ID_LEN 40

static void check_list(const char *lines)
{
    struct git_claims claims = {0};
    git_claim_list_parse(lines, ID_LEN, NULL, &claims);
    FUZZ_CHECK(claims.count <= LIMIT_GIT_CLAIMS);
    for (size_t i = 0; i < claims.count; i++) {
        const struct git_claim *claim = &claims.items[i];
        struct git_claims one = {0};
        FUZZ_CHECK(git_branch_check_name(claim->name, NULL) == 0);
        FUZZ_CHECK(strlen(claim->id) == ID_LEN);
        FUZZ_CHECK(strspn(claim->id, "0123456789abcdef") == ID_LEN);
        FUZZ_CHECK(i == 0 || strcmp(claims.items[i - 1].name, claim->name) < 0);
        if (i == 0) {
            git_claim_list_parse(lines, ID_LEN, claim->name, &one);
            FUZZ_CHECK(one.count == 1 && strcmp(one.items[0].name, claim->name) == 0);
            git_claims_fini(&one);
        }
    }
    git_claims_fini(&claims);
}

static void check_object(const uint8_t *data, size_t size)
{
    char *text = git_claim_text_parse((const char *)data, size);
    if (text != NULL) {
        size_t len = strlen(text);
        FUZZ_CHECK(len > 0 && len <= LIMIT_GIT_CLAIM_BYTES && len < size);
        FUZZ_CHECK(text[len - 1] != '\n');
    }
    free(text);
}

static void check_entries(const char *lines)
{
    const char *line = lines;
    const char *end = lines + strlen(lines);
    while (line < end) {
        const char *before = line;
        size_t size = 0;
        if (git_claim_check_parse(&line, "0123456789abcdef0123456789abcdef01234567", &size)) {
            FUZZ_CHECK(size <= GIT_CLAIM_OBJECT_BYTES);
        }
        FUZZ_CHECK(line > before && line <= end);
    }
}

static void check_message(const uint8_t *data, size_t size)
{
    struct git_reply reply = {.exit_code = 128};
    buf_append(&reply.errors, data, size);
    char *reason = git_access_reason(&reply);
    for (const char *at = reason; *at != '\0'; at++) {
        FUZZ_CHECK((unsigned char)*at >= ' ' || *at == '\n' || *at == '\t');
    }
    FUZZ_CHECK(git_access_judge(&reply) != GIT_CLAIM_DONE);
    free(reason);
    git_reply_fini(&reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    check_list(text);
    check_entries(text);
    check_object(data, size);
    check_message(data, size);
    free(text);
    return 0;
}
