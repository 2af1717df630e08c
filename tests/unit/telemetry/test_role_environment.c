// SPDX-License-Identifier: Apache-2.0
/* What `observability` of a role says, as the settings of an exporter. */
#include "base/json/json.h"
#include "base/memory.h"
#include "support/test.h"
#include "telemetry/otel_environment.h"
#include "telemetry/role_environment.h"

#include <json-c/json.h>
#include <string.h>

static const char *const nothing[] = {"HOME=/", NULL};

/** The settings of a role with this section. @return whether it has any */
static bool read_role(const char *section, const char *const *envp, struct otel_environment *ret)
{
    struct buf json = {0};
    struct json_object *role = NULL;
    struct rondo_error err = {0};
    buf_printf(&json, "{\"metadata\":{\"name\":\"fixer\"},\"spec\":{\"observability\":%s}}",
               section);
    assert_int_equal(json_parse(json.data, json.len, &role, NULL), 0);
    char **entries = role_environment(role, envp);
    if (entries != NULL && otel_environment_read((const char *const *)entries, ret, &err) < 0) {
        fail_msg("%s", err.message);
    }
    bool has_any = entries != NULL;
    memory_free_list(entries);
    json_object_put(role);
    buf_fini(&json);
    return has_any;
}

TEST(a_role_without_it_or_for_another_backend_adds_nothing)
{
    struct otel_environment got;
    assert_false(read_role("null", nothing, &got));
    assert_false(read_role("{\"backend\":\"logfire\"}", nothing, &got));
}

TEST(for_the_console_spans_are_written_out_unless_the_environment_names_a_place)
{
    static const char *const placed[] = {"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318", NULL};
    static const char *const off[] = {"OTEL_TRACES_EXPORTER=none", NULL};
    const char *section = "{\"backend\":\"console\",\"service_name\":\"s\"}";
    struct otel_environment got;
    assert_true(read_role(section, nothing, &got));
    assert_true(got.traces.is_on && got.traces.is_console);
    assert_null(got.traces.endpoint);
    assert_false(got.metrics.is_on);
    assert_string_equal(got.service_name, "s");
    otel_environment_fini(&got);
    assert_true(read_role(section, placed, &got));
    assert_false(got.traces.is_console);
    assert_string_equal(got.traces.endpoint, "http://c:4318/v1/traces");
    otel_environment_fini(&got);
    assert_true(read_role(section, off, &got));
    assert_false(got.traces.is_on);
    otel_environment_fini(&got);
}

static void expect_address(const char *endpoint, const char *address)
{
    struct otel_environment got;
    struct buf section = {0};
    buf_printf(&section, "{\"endpoint\":\"%s\"}", endpoint);
    assert_true(read_role(buf_string(&section), nothing, &got));
    assert_string_equal(got.traces.endpoint, address);
    assert_false(got.metrics.is_on);
    otel_environment_fini(&got);
    buf_fini(&section);
}

TEST(spans_go_to_its_endpoint_over_http)
{
    expect_address("http://localhost:4317", "http://localhost:4318/v1/traces");
    expect_address("http://c:4317/", "http://c:4318/v1/traces");
    expect_address("https://c/otlp/", "https://c/otlp/v1/traces");
    expect_address("http://c:4318/v1/traces", "http://c:4318/v1/traces");
}

TEST(the_name_of_the_service_is_that_of_the_agent_unless_given)
{
    struct otel_environment got;
    read_role("{}", nothing, &got);
    assert_string_equal(got.service_name, "fixer");
    assert_int_equal(got.sampler, OTEL_SAMPLE_ALL);
    assert_false(got.captures_content);
    otel_environment_fini(&got);
    read_role("{\"service_name\":\"s\\nOTEL_X=1\"}", nothing, &got);
    assert_string_equal(got.service_name, "s");
    otel_environment_fini(&got);
}

TEST(the_share_of_runs_and_the_contents_follow_the_role)
{
    struct otel_environment got;
    read_role("{\"sample_rate\":0.25,\"include_content\":true}", nothing, &got);
    assert_int_equal(got.sampler, OTEL_SAMPLE_RATIO);
    assert_true(got.sample_ratio > 0.24 && got.sample_ratio < 0.26);
    assert_true(got.captures_content);
    otel_environment_fini(&got);
    read_role("{\"sample_rate\":0}", nothing, &got);
    assert_true(got.sample_ratio == 0);
    otel_environment_fini(&got);
}

TEST(the_environment_takes_precedence)
{
    static const char *const envp[] = {
        "OTEL_EXPORTER_OTLP_ENDPOINT=http://mine:4318",
        "OTEL_SERVICE_NAME=mine",
        "OTEL_TRACES_SAMPLER=always_on",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=false",
        NULL,
    };
    struct otel_environment got;
    read_role("{\"endpoint\":\"http://its:4318\",\"service_name\":\"its\",\"sample_rate\":0.1,"
              "\"include_content\":true}",
              envp, &got);
    assert_string_equal(got.traces.endpoint, "http://mine:4318/v1/traces");
    assert_string_equal(got.service_name, "mine");
    assert_int_equal(got.sampler, OTEL_SAMPLE_ALL);
    assert_false(got.captures_content);
    otel_environment_fini(&got);
}
