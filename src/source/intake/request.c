// SPDX-License-Identifier: Apache-2.0
/* Start requests as documents. */
#include "source/intake/request.h"

#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const mode_names[] = {"single", "autonomous", "conversation"};

const char *start_mode_name(enum start_mode mode)
{
    return mode_names[mode];
}

void start_request_fini(struct start_request *request)
{
    free(request->kind);
    free(request->prompt);
    free(request->key);
    free(request->group);
    free(request->context);
    free(request->conversation);
    *request = (struct start_request){0};
}

static void write_optional(struct json_writer *writer, const char *key, const char *text)
{
    if (text != NULL) {
        json_write_string(writer, key, text);
    }
}

void start_request_encode(const struct start_request *request, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_int(&writer, "format", 1);
    json_write_string(&writer, "source", request->source);
    json_write_string(&writer, "kind", request->kind);
    json_write_string(&writer, "role", request->role);
    json_write_string(&writer, "mode", start_mode_name(request->mode));
    json_write_int(&writer, "received_ns", request->received_ns);
    json_write_string(&writer, "owner", request->owner);
    write_optional(&writer, "key", request->key);
    write_optional(&writer, "group", request->group);
    write_optional(&writer, "conversation", request->conversation);
    if (request->idle_s > 0) {
        json_write_int(&writer, "idle_s", request->idle_s);
    }
    json_write_raw(&writer, "context", request->context == NULL ? "{}" : request->context);
    json_write_string(&writer, "prompt", request->prompt);
    json_end_object(&writer);
}

static void copy_text(char *slot, size_t size, struct json_object *root, const char *name)
{
    snprintf(slot, size, "%s", json_get_string(root, name, ""));
}

static char *dup_member(struct json_object *root, const char *name)
{
    return memory_dup_string(json_get_string(root, name, NULL));
}

/** Read a document. @param ret_request start_request_fini(). @return 0 or RONDO_ERR_CORRUPT */
static int start_request_decode(const struct store_document *document,
                                struct start_request *ret_request, struct rondo_error *err)
{
    auto_json struct json_object *root = NULL;
    struct json_object *context = NULL;
    if (json_parse(document->data, document->data_len, &root, NULL) < 0 ||
        json_get_int(root, "format", 0) != 1 || !id_is_valid(document->key) ||
        json_get_string(root, "prompt", NULL) == NULL) {
        return error_set(err, RONDO_ERR_CORRUPT, "the start request %.60s cannot be read",
                         document->key);
    }
    struct start_request request = {
        .mode = START_SINGLE,
        .received_ns = json_get_int(root, "received_ns", 0),
        .version = document->version,
        .kind = memory_dup_string(json_get_string(root, "kind", "")),
        .prompt = dup_member(root, "prompt"),
        .key = dup_member(root, "key"),
        .group = dup_member(root, "group"),
        .conversation = dup_member(root, "conversation"),
        .idle_s = json_get_int(root, "idle_s", 0),
    };
    snprintf(request.id, sizeof(request.id), "%s", document->key);
    copy_text(request.source, sizeof(request.source), root, "source");
    copy_text(request.role, sizeof(request.role), root, "role");
    copy_text(request.owner, sizeof(request.owner), root, "owner");
    const char *mode = json_get_string(root, "mode", "");
    for (enum start_mode i = START_SINGLE; i <= START_CONVERSATION; i++) {
        request.mode = strcmp(mode, mode_names[i]) == 0 ? i : request.mode;
    }
    context = json_member(root, "context");
    request.context = memory_dup_string(
        context == NULL ? "{}" : json_object_to_json_string_ext(context, JSON_C_TO_STRING_PLAIN));
    *ret_request = request;
    return 0;
}

struct request_reading {
    start_request_fn *fn;
    void *context;
};

static bool read_request(const struct store_document *document, void *context)
{
    struct request_reading *reading = context;
    struct start_request request = {0};
    int r = start_request_decode(document, &request, NULL);
    bool has_more = reading->fn(r < 0 ? NULL : &request, document->key, reading->context);
    start_request_fini(&request);
    return has_more;
}

int start_requests_read(struct store *store, const char *id, start_request_fn *fn, void *context,
                        struct rondo_error *err)
{
    struct request_reading reading = {.fn = fn, .context = context};
    struct store_document_query query = {.collection = START_REQUEST_COLLECTION, .key = id};
    return store->ops->read_documents(store, &query, read_request, &reading, err);
}

struct request_finding {
    struct start_request *ret_request;
    struct rondo_error *err;
    int r;
};

static bool find_request(const struct store_document *document, void *context)
{
    struct request_finding *finding = context;
    int r = start_request_decode(document, finding->ret_request, finding->err);
    finding->r = r < 0 ? r : 1;
    return false;
}

int start_request_find(struct store *store, const char *id, struct start_request *ret_request,
                       struct rondo_error *err)
{
    struct request_finding finding = {.ret_request = ret_request, .err = err};
    struct store_document_query query = {.collection = START_REQUEST_COLLECTION, .key = id};
    int r = store->ops->read_documents(store, &query, find_request, &finding, err);
    return r < 0 ? r : finding.r;
}
