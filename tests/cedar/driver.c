// SPDX-License-Identifier: Apache-2.0
/*
 * The Cedar engine as a filter, for tests in other languages. Each line of stdin is one case, each
 * line of stdout its outcome:
 *
 *     {"policies": TEXT?, "templates": {ID: TEXT}?, "links": [{"templateId": ID, "newId": ID,
 *      "values": {"?principal": UID?, "?resource": UID?}}]?, "entities": JSON TEXT?,
 *      "requests": [{"principal": UID, "action": UID, "resource": UID, "context": JSON TEXT?}]?}
 *
 *     {"parse": null or "file:line:column: message", "entities": null or message, "answers":
 *      [{"decision": "allow", "reason": [ID], "errors": [ID]} or {"error": message}]}
 *
 * A UID is {"type": T, "id": I}. Entities and contexts are texts in a string, so that they reach
 * the engine byte by byte. Only the public interface is used. One thread.
 */
#include "base/auto.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "rondo/cedar.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** What one line asks about. */
struct test_case {
    struct json_object *line;
    struct cedar_policies *policies;
    struct cedar_entities *entities;
    struct cedar_evaluator *evaluator;
};

static struct json_object *member(struct json_object *object, const char *key)
{
    struct json_object *value = NULL;
    return json_object_object_get_ex(object, key, &value) ? value : NULL;
}

static const char *text_of(struct json_object *string, size_t *ret_len)
{
    *ret_len = string == NULL ? 0 : (size_t)json_object_get_string_len(string);
    return string == NULL ? "" : json_object_get_string(string);
}

/** A uid by way of its text form, because an id may hold NUL bytes. NULL with the error. */
static struct cedar_uid *read_uid(struct json_object *object, struct rondo_error *err)
{
    static const char hex[] = "0123456789abcdef";
    size_t len = 0;
    const char *id = text_of(member(object, "id"), &len);
    auto_buf struct buf text = {0};
    buf_append_string(&text, json_get_string(object, "type", ""));
    buf_append_string(&text, "::\"");
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)id[i];
        if (byte < ' ' || byte == '"' || byte == '\\') {
            buf_append(&text, (char[]){'\\', 'x', hex[byte >> 4], hex[byte & 15]}, 4);
        } else {
            buf_append(&text, &id[i], 1);
        }
    }
    buf_append_string(&text, "\"");
    return cedar_uid_parse(buf_string(&text), err);
}

static int add_templates(struct cedar_builder *builder, struct json_object *templates,
                         struct rondo_error *err)
{
    int r = 0;
    struct json_object_iterator at = json_object_iter_begin(templates);
    struct json_object_iterator end = json_object_iter_end(templates);
    for (; r == 0 && !json_object_iter_equal(&at, &end); json_object_iter_next(&at)) {
        size_t len = 0;
        const char *bytes = text_of(json_object_iter_peek_value(&at), &len);
        r = cedar_builder_add_template(builder, json_object_iter_peek_name(&at), bytes, len, NULL,
                                       err);
    }
    return r;
}

static int add_link(struct cedar_builder *builder, struct json_object *link,
                    struct rondo_error *err)
{
    static const char *const slots[] = {"?principal", "?resource"};
    struct json_object *values = member(link, "values");
    struct cedar_uid *uids[2] = {NULL, NULL};
    int r = 0;
    for (size_t i = 0; i < 2 && r == 0; i++) {
        struct json_object *value = member(values, slots[i]);
        uids[i] = value == NULL ? NULL : read_uid(value, err);
        r = value != NULL && uids[i] == NULL ? -1 : 0;
    }
    if (r == 0) {
        r = cedar_builder_link(builder, json_get_string(link, "templateId", ""),
                               json_get_string(link, "newId", ""), uids[0], uids[1], err);
    }
    cedar_uid_free(uids[0]);
    cedar_uid_free(uids[1]);
    return r;
}

/** Policies, templates, links; what was added before an error stays. */
static int build(struct test_case *test, struct rondo_error *err)
{
    struct cedar_builder *builder = cedar_builder_new(CEDAR_POSITION_IDS);
    size_t len = 0;
    const char *text = text_of(member(test->line, "policies"), &len);
    int r = cedar_builder_add(builder, "policies", text, len, NULL, err);
    struct json_object *templates = member(test->line, "templates");
    if (r == 0 && templates != NULL) {
        r = add_templates(builder, templates, err);
    }
    struct json_object *links = member(test->line, "links");
    size_t count = links == NULL ? 0 : json_object_array_length(links);
    for (size_t i = 0; i < count && r == 0; i++) {
        r = add_link(builder, json_object_array_get_idx(links, i), err);
    }
    test->policies = cedar_builder_finish(builder);
    return r;
}

static void write_ids(struct json_writer *writer, const char *key, const struct test_case *test,
                      const struct cedar_answer *answer, bool is_errors)
{
    json_begin_array(writer, key);
    size_t count = is_errors ? answer->error_count : answer->reason_count;
    for (size_t i = 0; i < count; i++) {
        uint32_t index = is_errors ? answer->errors[i].policy : answer->reasons[i];
        json_write_string(writer, NULL, cedar_policies_id(test->policies, index));
    }
    json_end_array(writer);
}

static void decide(struct test_case *test, const struct cedar_request *request,
                   struct json_writer *writer)
{
    struct cedar_answer answer;
    cedar_authorize(test->evaluator, test->policies, request, &answer);
    for (size_t i = 0; i < answer.error_count; i++) {
        char text[RONDO_ERROR_MESSAGE_SIZE];
        cedar_failure_describe(test->policies, &answer.errors[i], text, sizeof(text));
    }
    json_write_string(writer, "decision", answer.is_allowed ? "allow" : "deny");
    write_ids(writer, "reason", test, &answer, false);
    write_ids(writer, "errors", test, &answer, true);
}

static void answer_request(struct test_case *test, struct json_object *object,
                           struct json_writer *writer)
{
    struct rondo_error err = {0};
    struct cedar_uid *principal = read_uid(member(object, "principal"), &err);
    struct cedar_uid *action = principal == NULL ? NULL : read_uid(member(object, "action"), &err);
    struct cedar_uid *resource = action == NULL ? NULL : read_uid(member(object, "resource"), &err);
    struct cedar_context *context = NULL;
    struct json_object *text = member(object, "context");
    bool is_good = resource != NULL;
    if (is_good && text != NULL) {
        size_t len = 0;
        const char *json = text_of(text, &len);
        context = cedar_context_parse(json, len, &err);
        is_good = context != NULL;
    }
    json_begin_object(writer, NULL);
    if (is_good) {
        decide(test,
               &(struct cedar_request){.principal = principal,
                                       .action = action,
                                       .resource = resource,
                                       .context = context,
                                       .entities = test->entities},
               writer);
    } else {
        json_write_string(writer, "error", err.message);
    }
    json_end_object(writer);
    cedar_context_free(context);
    cedar_uid_free(principal);
    cedar_uid_free(action);
    cedar_uid_free(resource);
}

static void answer_all(struct test_case *test, struct json_writer *writer)
{
    struct json_object *requests = member(test->line, "requests");
    size_t count = requests == NULL ? 0 : json_object_array_length(requests);
    for (size_t i = 0; i < count; i++) {
        answer_request(test, json_object_array_get_idx(requests, i), writer);
    }
}

/** Write the message of an error, or null. */
static void write_outcome(struct json_writer *writer, const char *key, bool is_good,
                          const struct rondo_error *err)
{
    json_write_string(writer, key, is_good ? NULL : err->message);
}

static void run_case(struct test_case *test, struct json_writer *writer)
{
    struct rondo_error err = {0};
    bool is_parsed = build(test, &err) == 0;
    write_outcome(writer, "parse", is_parsed, &err);
    struct json_object *text = member(test->line, "entities");
    if (text != NULL) {
        size_t len = 0;
        const char *json = text_of(text, &len);
        test->entities = cedar_entities_parse(json, len, NULL, &err);
    }
    bool is_loaded = text == NULL || test->entities != NULL;
    write_outcome(writer, "entities", is_loaded, &err);
    json_begin_array(writer, "answers");
    if (is_parsed && is_loaded) {
        answer_all(test, writer);
    }
    json_end_array(writer);
    cedar_entities_free(test->entities);
    cedar_policies_unref(test->policies);
}

static int run_line(const char *line, size_t len, struct cedar_evaluator *evaluator)
{
    struct rondo_error err = {0};
    struct json_object *object = NULL;
    if (json_parse(line, len, &object, &err) < 0) {
        fprintf(stderr, "driver: %s\n", err.message);
        return -1;
    }
    auto_buf struct buf text = {0};
    struct json_writer writer = json_writer(&text);
    struct test_case test = {.line = object, .evaluator = evaluator};
    json_begin_object(&writer, NULL);
    run_case(&test, &writer);
    json_end_object(&writer);
    puts(buf_string(&text));
    json_object_put(object);
    return 0;
}

int main(void)
{
    struct cedar_evaluator *evaluator = cedar_evaluator_new();
    auto_free char *line = NULL;
    size_t room = 0;
    int r = 0;
    for (ssize_t len; r == 0 && (len = getline(&line, &room, stdin)) > 0;) {
        r = run_line(line, (size_t)len, evaluator);
        fflush(stdout);
    }
    cedar_evaluator_free(evaluator);
    return r == 0 ? 0 : 2;
}
