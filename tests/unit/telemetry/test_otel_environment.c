// SPDX-License-Identifier: Apache-2.0
/* The standard variables: what they mean, and what is refused. */
#include "base/clock.h"
#include "base/memory.h"
#include "support/test.h"
#include "telemetry/otel_environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENDPOINT "OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318"

/** Read variables that must be right. */
#define READ(name, ...)                                               \
    const char *name##_envp[] = {__VA_ARGS__, NULL};                  \
    struct otel_environment name;                                     \
    struct rondo_error name##_err = {0};                              \
    if (otel_environment_read(name##_envp, &name, &name##_err) < 0) { \
        fail_msg("%s", name##_err.message);                           \
    }

static void assert_refused(const char *variable, const char *name)
{
    const char *envp[] = {ENDPOINT, variable, NULL};
    struct otel_environment environment;
    struct rondo_error err = {0};
    assert_int_equal(otel_environment_read(envp, &environment, &err), RONDO_ERR_INVALID);
    assert_non_null(strstr(err.message, name));
    otel_environment_fini(&environment);
}

TEST(without_an_endpoint_everything_is_off)
{
    READ(got, "OTEL_SERVICE_NAME=x", "HOME=/");
    assert_false(got.traces.is_on);
    assert_false(got.metrics.is_on);
    otel_environment_fini(&got);
}

TEST(a_base_gets_the_paths_of_the_signals)
{
    READ(got, "OTEL_EXPORTER_OTLP_ENDPOINT=https://c/otlp/");
    assert_string_equal(got.traces.endpoint, "https://c/otlp/v1/traces");
    assert_string_equal(got.metrics.endpoint, "https://c/otlp/v1/metrics");
    otel_environment_fini(&got);
}

TEST(an_endpoint_of_a_signal_is_taken_as_it_is)
{
    READ(got, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c/x?y");
    assert_string_equal(got.traces.endpoint, "http://c/x?y");
    assert_false(got.metrics.is_on);
    otel_environment_fini(&got);
}

TEST(an_exporter_that_is_named_needs_no_endpoint)
{
    READ(got, "OTEL_TRACES_EXPORTER=otlp");
    assert_string_equal(got.traces.endpoint, "http://localhost:4318/v1/traces");
    otel_environment_fini(&got);
}

TEST(none_and_disabled_turn_it_off)
{
    READ(none, ENDPOINT, "OTEL_METRICS_EXPORTER=none");
    assert_true(none.traces.is_on);
    assert_false(none.metrics.is_on);
    otel_environment_fini(&none);
    READ(disabled, ENDPOINT, "OTEL_SDK_DISABLED=TRUE");
    assert_false(disabled.traces.is_on);
    otel_environment_fini(&disabled);
}

TEST(headers_are_decoded_and_those_of_the_signal_win)
{
    READ(got, ENDPOINT, "OTEL_EXPORTER_OTLP_HEADERS= a = b%20c ,x=1=2,,a=d",
         "OTEL_EXPORTER_OTLP_METRICS_HEADERS=m=1");
    assert_int_equal(got.traces.headers.count, 2);
    assert_string_equal(got.traces.headers.pairs[0].name, "a");
    assert_string_equal(got.traces.headers.pairs[0].value, "d");
    assert_string_equal(got.traces.headers.pairs[1].value, "1=2");
    assert_int_equal(got.metrics.headers.count, 1);
    otel_environment_fini(&got);
}

TEST(what_would_break_a_header_is_refused)
{
    assert_refused("OTEL_EXPORTER_OTLP_HEADERS=a=x%0d%0ab:c", "OTEL_EXPORTER_OTLP_HEADERS");
    assert_refused("OTEL_EXPORTER_OTLP_HEADERS=a b=c", "OTEL_EXPORTER_OTLP_HEADERS");
    assert_refused("OTEL_EXPORTER_OTLP_HEADERS=secret-without-name", "OTEL_EXPORTER_OTLP_HEADERS");
    assert_refused("OTEL_EXPORTER_OTLP_HEADERS=a=%", "OTEL_EXPORTER_OTLP_HEADERS");
    assert_refused("OTEL_EXPORTER_OTLP_HEADERS=a=%4", "OTEL_EXPORTER_OTLP_HEADERS");
    assert_refused("OTEL_EXPORTER_OTLP_HEADERS=a=%ff", "OTEL_EXPORTER_OTLP_HEADERS");
    assert_refused("OTEL_EXPORTER_OTLP_HEADERS==x", "OTEL_EXPORTER_OTLP_HEADERS");
}

TEST(refusals_do_not_repeat_values)
{
    const char *envp[] = {ENDPOINT, "OTEL_EXPORTER_OTLP_HEADERS=hunter2", NULL};
    struct otel_environment environment;
    struct rondo_error err = {0};
    assert_true(otel_environment_read(envp, &environment, &err) < 0);
    assert_null(strstr(err.message, "hunter2"));
    otel_environment_fini(&environment);
}

/** "h0=x,h1=x,..." with so many entries. */
static char *many_headers(size_t count)
{
    struct buf text = {0};
    buf_append_string(&text, "OTEL_EXPORTER_OTLP_HEADERS=");
    for (size_t i = 0; i < count; i++) {
        buf_printf(&text, "h%zu=x,", i);
    }
    return buf_steal(&text);
}

TEST(headers_are_bounded)
{
    char *most = many_headers(OTEL_MAX_HEADERS);
    char *more = many_headers(OTEL_MAX_HEADERS + 1);
    READ(got, ENDPOINT, most);
    assert_int_equal(got.traces.headers.count, OTEL_MAX_HEADERS);
    otel_environment_fini(&got);
    assert_refused(more, "OTEL_EXPORTER_OTLP_HEADERS");
    free(most);
    free(more);
}

TEST(a_value_is_bounded)
{
    struct buf text = {0};
    buf_append_string(&text, "OTEL_RESOURCE_ATTRIBUTES=a=");
    size_t begin = strlen("OTEL_RESOURCE_ATTRIBUTES=");
    while (text.len - begin < OTEL_MAX_VALUE_BYTES) {
        buf_append_string(&text, "x");
    }
    READ(got, ENDPOINT, buf_string(&text));
    otel_environment_fini(&got);
    buf_append_string(&text, "x");
    assert_refused(buf_string(&text), "OTEL_RESOURCE_ATTRIBUTES");
    buf_fini(&text);
}

TEST(the_service_is_named_by_its_own_variable_first)
{
    READ(both, ENDPOINT, "OTEL_SERVICE_NAME=me",
         "OTEL_RESOURCE_ATTRIBUTES=service.name=other,deployment.environment=a%2Cb");
    assert_string_equal(both.service_name, "me");
    assert_int_equal(both.resource.count, 1);
    assert_string_equal(both.resource.pairs[0].value, "a,b");
    otel_environment_fini(&both);
    READ(one, ENDPOINT, "OTEL_RESOURCE_ATTRIBUTES=service.name=other");
    assert_string_equal(one.service_name, "other");
    otel_environment_fini(&one);
}

TEST(numbers_have_defaults_and_ranges)
{
    READ(got, ENDPOINT, "OTEL_EXPORTER_OTLP_TIMEOUT=250", "OTEL_BSP_SCHEDULE_DELAY=");
    assert_int_equal(got.traces.timeout_ns, 250 * NS_PER_MS);
    assert_int_equal(got.batch_delay_ns, 5 * NS_PER_S);
    assert_int_equal(got.batch_spans, 512);
    assert_int_equal(got.metrics_interval_ns, 60 * NS_PER_S);
    otel_environment_fini(&got);
    assert_refused("OTEL_EXPORTER_OTLP_TIMEOUT=0", "OTEL_EXPORTER_OTLP_TIMEOUT");
    assert_refused("OTEL_EXPORTER_OTLP_TIMEOUT=86400001", "OTEL_EXPORTER_OTLP_TIMEOUT");
    assert_refused("OTEL_BSP_MAX_EXPORT_BATCH_SIZE=x", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE");
    assert_refused("OTEL_BSP_MAX_EXPORT_BATCH_SIZE=10001", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE");
    assert_refused("OTEL_METRIC_EXPORT_INTERVAL=99", "OTEL_METRIC_EXPORT_INTERVAL");
}

TEST(another_encoding_is_noticed)
{
    READ(got, ENDPOINT, "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
         "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=http/json");
    assert_false(got.traces.is_json);
    assert_true(got.metrics.is_json);
    otel_environment_fini(&got);
    assert_refused("OTEL_EXPORTER_OTLP_PROTOCOL=smoke", "OTEL_EXPORTER_OTLP_PROTOCOL");
    assert_refused("OTEL_EXPORTER_OTLP_COMPRESSION=zstd", "OTEL_EXPORTER_OTLP_COMPRESSION");
    assert_refused("OTEL_TRACES_EXPORTER=zipkin", "OTEL_TRACES_EXPORTER");
    assert_refused("OTEL_METRICS_EXPORTER=console", "OTEL_METRICS_EXPORTER");
    assert_refused("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=ftp://x",
                   "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
}

TEST(sampling_goes_by_the_random_part_of_the_trace)
{
    READ(half, ENDPOINT, "OTEL_TRACES_SAMPLER=parentbased_traceidratio",
         "OTEL_TRACES_SAMPLER_ARG=0.5");
    assert_true(otel_is_sampled(&half, "01a1fe92a7b878ccb57fffffffffffff"));
    assert_false(otel_is_sampled(&half, "01a1fe92a7b878ccb580000000000000"));
    otel_environment_fini(&half);
    READ(none, ENDPOINT, "OTEL_TRACES_SAMPLER=always_off");
    assert_false(otel_is_sampled(&none, "01a1fe92a7b878ccb500000000000000"));
    otel_environment_fini(&none);
    READ(all, ENDPOINT, "OTEL_TRACES_SAMPLER=traceidratio");
    assert_true(otel_is_sampled(&all, "01a1fe92a7b878ccb5ffffffffffffff"));
    otel_environment_fini(&all);
    assert_refused("OTEL_TRACES_SAMPLER=dice", "OTEL_TRACES_SAMPLER");
}

TEST(a_share_is_a_number_from_0_to_1)
{
    const char *envp[] = {ENDPOINT, "OTEL_TRACES_SAMPLER=traceidratio",
                          "OTEL_TRACES_SAMPLER_ARG=1.5", NULL};
    struct otel_environment environment;
    assert_int_equal(otel_environment_read(envp, &environment, NULL), RONDO_ERR_INVALID);
    otel_environment_fini(&environment);
}

TEST(content_is_captured_only_when_asked_for)
{
    READ(off, ENDPOINT);
    assert_false(off.captures_content);
    otel_environment_fini(&off);
    READ(on, ENDPOINT, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=span_only");
    assert_true(on.captures_content);
    otel_environment_fini(&on);
}
