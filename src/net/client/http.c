// SPDX-License-Identifier: Apache-2.0
/*
 * The caller's side of a call: following redirects, waiting, handing the body over, watching the
 * clock. Redirects are followed here and not by libcurl, so that each hop is a request of its own,
 * with its own guard and without secrets for other origins.
 *
 * all opens: the system's certificates, or those that the user's environment names.
 */
#include "net/client/http.h"

#include "base/auto.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/parse.h"
#include "base/version.h"
#include "net/client/guard.h"
#include "net/client/http_internal.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CA_FOLDER "/etc/ssl/certs"

/** A call on its way through its redirects. */
struct journey {
    struct http_client *client;
    struct http_loop *loop;
    const struct http_request *request;
    struct http_response *response;
    const struct curl_library *curl;
    int64_t deadline_ns;
    struct http_origin origin; /* of the hop */
    char *url;
    const char *method;
    bool sends_body;
    bool only_harmless; /* headers, since another origin was entered */
    unsigned hops;
};

static int64_t now_ns(void)
{
    return clock_monotonic(clock_system());
}

static int64_t add_ns(int64_t start_ns, int64_t duration_ns)
{
    int64_t sum;
    return __builtin_add_overflow(start_ns, duration_ns, &sum) ? INT64_MAX : sum;
}

static void fail(struct http_response *response, enum http_failure failure, const char *message)
{
    response->failure = failure;
    snprintf(response->message, sizeof(response->message), "%s", message);
}

/* --- the client --- */

/** Whether a folder of certificates has the names by which OpenSSL finds one: "4042bcee.0". */
static bool has_digest_names(const char *path)
{
    bool is_found = false;
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return false;
    }
    for (struct dirent *entry = readdir(folder); entry != NULL && !is_found;
         entry = readdir(folder)) {
        is_found = strlen(entry->d_name) == 10 && strcmp(entry->d_name + 8, ".0") == 0;
    }
    closedir(folder);
    return is_found;
}

static const char *ca_file_of(const struct http_client_options *options)
{
    if (options != NULL && options->ca_file != NULL) {
        return options->ca_file;
    }
    const char *file = getenv("SSL_CERT_FILE");
    return file != NULL && file[0] != '\0' ? file : NULL;
}

int http_client_new(const struct http_client_options *options, struct http_client **ret_client,
                    struct rondo_error *err)
{
    (void)err;
    struct http_client *client = memory_new_zero(1, sizeof(*client));
    const char *user_agent = options != NULL ? options->user_agent : NULL;
    client->user_agent =
        memory_dup_string(user_agent != NULL ? user_agent : "rondo/" RONDO_VERSION);
    client->ca_file = memory_dup_string(ca_file_of(options));
    pthread_mutex_init(&client->mutex, NULL);
    *ret_client = client;
    return 0;
}

void http_client_free(struct http_client *client)
{
    if (client == NULL) {
        return;
    }
    http_loop_free(client->loop);
    pthread_mutex_destroy(&client->mutex);
    free(client->user_agent);
    free(client->ca_file);
    free(client->ca_folder);
    free(client);
}

/** The loop; started by the first caller. */
static int loop_of(struct http_client *client, struct http_loop **ret_loop, struct rondo_error *err)
{
    int r = 0;
    pthread_mutex_lock(&client->mutex);
    if (client->loop == NULL) {
        if (client->ca_file == NULL && client->ca_folder == NULL && has_digest_names(CA_FOLDER)) {
            client->ca_folder = memory_dup_string(CA_FOLDER);
        }
        r = http_loop_new(&client->loop, err);
    }
    *ret_loop = client->loop;
    pthread_mutex_unlock(&client->mutex);
    return r;
}

void http_client_prepare(struct http_client *client)
{
    struct http_loop *loop = NULL;
    (void)loop_of(client, &loop, NULL);
}

/* --- waiting for one hop --- */

/** What a caller knows about its wait. */
struct wait {
    struct http_call *call;
    int64_t deadline_ns;      /* of the whole call */
    int64_t connect_ns;       /* deadline for the connection */
    int64_t idle_ns;          /* longest silence; 0 = any */
    enum http_failure reason; /* why the call was ended from here; HTTP_OK = it was not */
};

/** @return the time that passes first */
static int64_t next_deadline(const struct wait *wait)
{
    int64_t next = wait->deadline_ns;
    if (!atomic_load(&wait->call->is_connected)) {
        return next < wait->connect_ns ? next : wait->connect_ns;
    }
    if (wait->idle_ns > 0) {
        int64_t idle = add_ns(atomic_load(&wait->call->active_ns), wait->idle_ns);
        next = next < idle ? next : idle;
    }
    return next;
}

/** End the call from here; the mutex of the call is held. */
static void end_call(struct wait *wait, enum http_failure reason)
{
    struct http_call *call = wait->call;
    if (wait->reason == HTTP_OK) {
        wait->reason = reason;
        if (!call->is_finished) {
            http_loop_order(call->loop, call, HTTP_ORDER_ABORT);
        }
    }
}

/** Hand over what is pending; the mutex of the call is held. */
static void deliver(struct wait *wait, struct buf *taken)
{
    struct http_call *call = wait->call;
    const struct http_request *request = call->request;
    struct buf empty = *taken;
    bool was_paused = call->is_paused;
    *taken = call->pending;
    call->pending = empty;
    call->is_paused = false;
    pthread_mutex_unlock(&call->mutex);
    bool continues = request->on_body(request->on_body_context, taken->data, taken->len);
    buf_clear(taken);
    pthread_mutex_lock(&call->mutex);
    if (!continues) {
        end_call(wait, HTTP_STOPPED);
    } else if (was_paused && !call->is_finished) {
        /* Nothing could come meanwhile: the silence was ours. */
        atomic_store(&call->active_ns, now_ns());
        http_loop_order(call->loop, call, HTTP_ORDER_RESUME);
    }
}

/** Sleep until something changes or a time passes; the mutex of the call is held. */
static void sleep_until(struct http_call *call, int64_t until_ns)
{
    struct timespec until = {.tv_sec = until_ns / NS_PER_S, .tv_nsec = until_ns % NS_PER_S};
    pthread_cond_timedwait(&call->changed, &call->mutex, &until);
}

/** One step of waiting; the mutex of the call is held. @return whether the call has ended */
static bool wait_step(struct wait *wait, struct buf *taken)
{
    struct http_call *call = wait->call;
    bool is_cancelled = call->is_finished && call->failure == HTTP_CANCELLED;
    if (wait->reason == HTTP_OK && !is_cancelled && call->pending.len > 0) {
        deliver(wait, taken);
        return false;
    }
    if (call->is_finished) {
        return true;
    }
    if (wait->reason != HTTP_OK) {
        pthread_cond_wait(&call->changed, &call->mutex);
        return false;
    }
    int64_t until_ns = next_deadline(wait);
    if (until_ns <= now_ns()) {
        end_call(wait, atomic_load(&call->is_connected) ? HTTP_TIMED_OUT : HTTP_NO_CONNECTION);
        return false;
    }
    sleep_until(call, until_ns);
    return false;
}

static void say_late(const struct wait *wait, struct http_response *response)
{
    const struct http_request *request = wait->call->request;
    bool is_over = wait->deadline_ns <= now_ns();
    char duration[FORMAT_DURATION_SIZE];
    int64_t connect_ns = request->connect_ns > 0 ? request->connect_ns : HTTP_CONNECT_TIMEOUT_NS;
    if (wait->reason == HTTP_NO_CONNECTION) {
        format_duration(is_over ? request->total_ns : connect_ns, duration);
        snprintf(response->message, sizeof(response->message), "not connected within %s", duration);
    } else if (wait->reason == HTTP_TIMED_OUT) {
        format_duration(is_over ? request->total_ns : wait->idle_ns, duration);
        snprintf(response->message, sizeof(response->message),
                 is_over ? "no complete reply within %s" : "nothing came for %s", duration);
    } else if (wait->reason == HTTP_STOPPED) {
        snprintf(response->message, sizeof(response->message), "stopped");
    }
}

/** Start the transfer and wait for its end. @return how it failed */
static enum http_failure run_call(struct http_call *call, int64_t deadline_ns)
{
    const struct http_request *request = call->request;
    int64_t connect_ns = request->connect_ns > 0 ? request->connect_ns : HTTP_CONNECT_TIMEOUT_NS;
    struct wait wait = {.call = call,
                        .deadline_ns = deadline_ns,
                        .connect_ns = add_ns(now_ns(), connect_ns),
                        .idle_ns = request->idle_ns};
    auto_buf struct buf taken = {0};
    pthread_mutex_lock(&call->mutex);
    http_loop_order(call->loop, call, HTTP_ORDER_START);
    while (!wait_step(&wait, &taken)) {
    }
    pthread_mutex_unlock(&call->mutex);
    enum http_failure failure = http_transfer_judge(call);
    /* It may have ended by itself just before it was cancelled. */
    if (wait.reason != HTTP_OK && (call->was_ordered_to_end || wait.reason == HTTP_STOPPED)) {
        say_late(&wait, call->response);
        return wait.reason;
    }
    return failure;
}

/* --- the hops of a call --- */

static void init_waiting(struct http_call *call)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&call->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&call->mutex, NULL);
}

/** What a failure says about "nothing was sent" does not hold any more after a redirect. */
static enum http_failure after_hops(enum http_failure failure, unsigned hops)
{
    bool claims_nothing_sent =
        failure == HTTP_NO_HOST || failure == HTTP_NO_CONNECTION || failure == HTTP_TLS;
    return hops > 0 && claims_nothing_sent ? HTTP_BROKEN : failure;
}

static struct http_call call_of(const struct journey *journey)
{
    return (struct http_call){
        .request = journey->request,
        .url = journey->url,
        .method = journey->method,
        .curl = journey->curl,
        .loop = journey->loop,
        .response = journey->response,
        .host = journey->origin.host,
        .needs_lookup = journey->origin.is_name,
        .sends_body = journey->sends_body,
    };
}

static void release_call(struct http_call *call)
{
    http_transfer_fini(call);
    pthread_mutex_destroy(&call->mutex);
    pthread_cond_destroy(&call->changed);
}

/** @param ret_next set when the reply names another place; free() it */
static int run_hop(struct journey *journey, char **ret_next, struct rondo_error *err)
{
    struct http_call call = call_of(journey);
    char *next = NULL;
    init_waiting(&call);
    http_transfer_init(&call, journey->client, journey->only_harmless);
    enum http_failure failure = run_call(&call, journey->deadline_ns);
    journey->response->failure = after_hops(failure, journey->hops);
    if (failure == HTTP_OK) {
        call.curl->easy_getinfo(call.easy, CURLINFO_REDIRECT_URL, &next);
        *ret_next = memory_dup_string(next);
    }
    release_call(&call);
    if (failure == HTTP_NO_CONNECTION && call.os_errno != 0) {
        return error_set_errno(err, RONDO_ERR_SYSTEM, call.os_errno, "cannot make a connection");
    }
    return 0;
}

/** @return false when the guard or the form of the URL forbids the hop */
static bool enter_origin(struct journey *journey)
{
    const struct net_guard *guard = journey->request->guard;
    http_origin_fini(&journey->origin);
    if (!http_origin_parse(journey->curl, journey->url, &journey->origin)) {
        fail(journey->response, HTTP_BAD_REQUEST, "the URL is not one of http or https");
        return false;
    }
    if (guard != NULL &&
        !net_guard_allows_host(guard, journey->origin.host, journey->origin.port)) {
        char message[256];
        snprintf(message, sizeof(message), "'%.200s' is not among the allowed hosts",
                 journey->origin.host);
        fail(journey->response, HTTP_BLOCKED, message);
        return false;
    }
    return true;
}

/** What becomes of the method (RFC 9110, 15.4). */
static void change_method(struct journey *journey)
{
    long status = journey->response->status;
    bool is_post = strcmp(journey->method, "POST") == 0;
    bool is_head = strcmp(journey->method, "HEAD") == 0;
    if ((status == 303 && !is_head) || ((status == 301 || status == 302) && is_post)) {
        journey->method = "GET";
        journey->sends_body = false;
    }
}

/** Go where the reply points. @return whether there is another hop to make */
static bool follow(struct journey *journey, const char *next)
{
    struct http_response *response = journey->response;
    struct http_origin there = {0};
    if (journey->hops == journey->request->max_redirects) {
        fail(response, HTTP_REDIRECTS, "there were too many redirects");
        return false;
    }
    if (!http_origin_parse(journey->curl, next, &there)) {
        fail(response, HTTP_REDIRECTS, "the reply redirects to what is not http or https");
        return false;
    }
    journey->only_harmless |= !http_origin_equals(&journey->origin, &there);
    http_origin_fini(&there);
    change_method(journey);
    free(journey->url);
    journey->url = memory_dup_string(next);
    journey->hops++;
    buf_clear(&response->headers);
    buf_clear(&response->body);
    response->status = 0;
    return true;
}

static int travel(struct journey *journey, struct rondo_error *err)
{
    bool continues = true;
    while (continues) {
        auto_free char *next = NULL;
        if (!enter_origin(journey)) {
            return 0;
        }
        int r = run_hop(journey, &next, err);
        if (r < 0) {
            return r;
        }
        continues = next != NULL && journey->request->max_redirects > 0 && follow(journey, next);
    }
    return 0;
}

/** @return whether there is anything to do */
static bool check(const struct http_request *request, struct http_response *response)
{
    if (!http_request_is_valid(request, response->message, sizeof(response->message))) {
        response->failure = HTTP_BAD_REQUEST;
        return false;
    }
    if (cancel_is_set(request->cancel)) {
        fail(response, HTTP_CANCELLED, "cancelled");
        return false;
    }
    return true;
}

int http_call(struct http_client *client, const struct http_request *request,
              struct http_response *ret_response, struct rondo_error *err)
{
    struct journey journey = {.client = client,
                              .request = request,
                              .response = ret_response,
                              .method = request->method,
                              .sends_body = request->part_count > 0};
    int64_t started_ns = now_ns();
    *ret_response = (struct http_response){0};
    if (!check(request, ret_response)) {
        return 0;
    }
    int r = loop_of(client, &journey.loop, err);
    if (r == 0) {
        r = http_loop_library(journey.loop, &journey.curl, err);
    }
    if (r < 0) {
        return r;
    }
    journey.deadline_ns = add_ns(started_ns, request->total_ns);
    journey.url = memory_dup_string(request->url);
    r = travel(&journey, err);
    http_origin_fini(&journey.origin);
    free(journey.url);
    ret_response->duration_ns = now_ns() - started_ns;
    return r;
}
