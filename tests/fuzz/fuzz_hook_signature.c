// SPDX-License-Identifier: Apache-2.0
/*
 * Webhook requests: lines of headers (hub signature, id, timestamp, signatures, authorization), the
 * rest is the body. Without the secret nothing is genuine.
 */
#include "fuzz.h"

#include "base/memory.h"
#include "source/webhook/hook_signature.h"

#include <string.h>

/** Cut a line off. @return it; NULL for an empty one: the header is absent */
static const char *cut_line(char **text)
{
    char *line = *text;
    char *end = strchr(line, '\n');
    *text = end == NULL ? line + strlen(line) : end + 1;
    if (end != NULL) {
        *end = '\0';
    }
    return line[0] == '\0' ? NULL : line;
}

static void check(enum hook_scheme scheme, const struct hook_message *message)
{
    static const char secret[] = "a key that no seed was signed with";
    struct hook_key key = {
        .scheme = scheme,
        .secret = {.bytes = memory_dup_string(secret), .len = sizeof(secret) - 1},
    };
    enum hook_verdict verdict = hook_verify(&key, message);
    FUZZ_CHECK((verdict == HOOK_GENUINE) == (scheme == HOOK_UNSIGNED));
    FUZZ_CHECK(hook_verdict_text(verdict)[0] != '\0');
    hook_key_fini(&key);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    char *at = text;
    struct hook_message message = {.now_s = 1614265330};
    message.hub_signature = cut_line(&at);
    message.webhook_id = cut_line(&at);
    message.webhook_timestamp = cut_line(&at);
    message.webhook_signature = cut_line(&at);
    message.authorization = cut_line(&at);
    message.body = at;
    message.len = strlen(at);
    check(HOOK_UNSIGNED, &message);
    check(HOOK_GITHUB, &message);
    check(HOOK_STANDARD, &message);
    check(HOOK_BEARER, &message);
    free(text);
    return 0;
}
