// SPDX-License-Identifier: Apache-2.0
/* Start requests: what is taken is a valid spec that round-trips; anything else is said in words.
 */
#include "fuzz.h"

#include "base/json/json.h"
#include "server/api/start_request.h"
#include "worker/body.h"

#include <json-c/json.h>
#include <string.h>

static void check_spec(const struct loop_spec *spec)
{
    auto_buf struct buf first = {0};
    auto_buf struct buf second = {0};
    struct loop_spec again;
    FUZZ_CHECK(loop_spec_check(spec, NULL) == 0);
    FUZZ_CHECK(body_is_known(spec));
    FUZZ_CHECK(spec->condition_count <= LIMIT_CONDITIONS);
    loop_spec_encode(spec, &first);
    FUZZ_CHECK(fuzz_is_json(first.data, first.len));
    FUZZ_CHECK(loop_spec_decode(first.data, first.len, &again, NULL) == 0);
    loop_spec_encode(&again, &second);
    loop_spec_fini(&again);
    FUZZ_CHECK(strcmp(buf_string(&first), buf_string(&second)) == 0);
}

/** Sandboxes are tried out by starting programs, which is not what is looked at here. */
static void use_no_sandbox(struct json_object *request)
{
    if (json_object_is_type(request, json_type_object)) {
        json_object_object_add(request, "verifier_sandbox", json_object_new_string("none"));
        json_object_object_del(request, "sandbox");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *json = fuzz_bytes(data, size);
    auto_json struct json_object *request = NULL;
    if (json_parse(json, size, &request, NULL) == 0) {
        struct start_options options = {.workspace = "/"};
        struct loop_spec spec;
        struct rondo_error err = {0};
        auto_buf struct buf findings = {0};
        use_no_sandbox(request);
        if (start_request_read(request, &options, &spec, &findings, &err) == 0) {
            check_spec(&spec);
            loop_spec_fini(&spec);
        } else {
            FUZZ_CHECK(err.message[0] != '\0');
        }
    }
    free(json);
    return 0;
}
