// SPDX-License-Identifier: Apache-2.0
/* The sources of the roles: opened, called, shown, closed. */
#include "base/error.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "loop/owner.h"
#include "loop/runtime.h"
#include "os/host.h"
#include "source/duty/duty_internal.h"
#include "source/duty/status.h"
#include "source/intake/mark.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Documents of sources in one transaction. */
#define CHANGES_AT_ONCE 64

/* ---- Opening -------------------------------------------------------------------------------- */

static void close_source(struct duty_source *source)
{
    if (source->source != NULL) {
        source->type->close(source->source);
    }
    json_object_put(source->config);
    free(source->conversation);
    free(source->type_name);
    free(source->summary);
    free(source->folder);
    free(source);
}

/* ---- Documents ------------------------------------------------------------------------------ */

/** Changes that are made together: one commit for many sources. */
struct source_changes {
    struct store_change changes[CHANGES_AT_ONCE];
    struct duty_source *sources[CHANGES_AT_ONCE];
    struct buf texts[CHANGES_AT_ONCE];
    size_t count;
};

static bool make_changes(struct duty *duty, struct source_changes *list)
{
    bool is_applied = false;
    return list->count == 0 || duty->store->ops->change_documents(
                                   duty->store, list->changes, list->count, &is_applied, NULL) == 0;
}

/** Forget a source's document with the next changes. @param id kept until they are made */
static void add_forgotten(struct duty *duty, const char *id, struct source_changes *list)
{
    list->changes[list->count++] = (struct store_change){
        .kind = STORE_DELETE,
        .collection = SOURCE_COLLECTION,
        .key = id,
        .if_version = STORE_ANY_VERSION,
    };
    if (list->count == CHANGES_AT_ONCE) {
        (void)make_changes(duty, list);
        list->count = 0;
    }
}

static void digest_of(const void *bytes, size_t len, unsigned char ret_digest[DIGEST_SIZE])
{
    struct digest digest = digest_begin();
    digest_add(&digest, bytes, len);
    digest_finish(&digest, ret_digest);
}

static void log_source(void *context, const char *line)
{
    duty_log(context, "%s", line);
}

static void wake_duty(void *context)
{
    duty_wake(context);
}

static int open_source(struct duty *duty, struct duty_source *source, struct rondo_error *err)
{
    char *mark = NULL;
    if (source->type == NULL) {
        return error_set(err, RONDO_ERR_UNSUPPORTED, "triggers of type '%s' are not supported",
                         source->type_name);
    }
    int r = source_mark_read(duty->store, source->id, &mark, NULL, err);
    if (r == 0) {
        r = source->type->open(source->config, &source->host, mark, &source->source, err);
    }
    free(mark);
    return r;
}

static void fill_host(struct duty *duty, const struct duty_role *role, struct duty_source *source)
{
    const char *conversation = json_get_string(source->config, "conversation", "");
    source->conversation = conversation[0] == '\0' ? NULL : memory_dup_string(conversation);
    source->host = (struct source_host){
        .intake = duty->intake,
        .clock = duty->clock,
        .random = runtime_random(duty->options.runtime),
        .store = duty->store,
        .http = duty->options.http,
        .ports = duty->ports,
        .id = source->id,
        .role = source->role,
        .folder = source->folder,
        .workspace = duty->options.workspace,
        .is_autonomous =
            role->plan.autonomous.kind != NULL &&
            (duty->options.is_autonomous || json_get_bool(source->config, "autonomous", false)),
        .conversation = source->conversation,
        .idle_s = json_get_int(source->config, "conversation_idle_seconds", SOURCE_IDLE_S),
        .log = log_source,
        .wake = wake_duty,
        .context = duty,
    };
}

/** What a machine notices is not what another one notices: each has its own source. */
static void add_host(char id[SOURCE_ID_SIZE])
{
    struct host_process self;
    size_t len = strlen(id);
    host_describe_self(&self);
    snprintf(id + len, SOURCE_ID_SIZE - len, "@%.64s", self.host);
}

/** A trigger of the plan, not yet opened. */
static struct duty_source *new_source(struct duty *duty, const struct duty_role *role,
                                      struct json_object *config, size_t index)
{
    struct duty_source *source = memory_new_zero(1, sizeof(*source));
    const char *type = json_get_string(config, "type", "");
    source->config = json_object_get(config);
    const char *settings = json_object_to_json_string(config);
    digest_of(settings, strlen(settings), source->settings);
    source->type_name = memory_dup_string(type);
    source->type = source_type_find(type);
    if (source->type != NULL) {
        auto_buf struct buf summary = {0};
        source_summary(source->type, config, &summary);
        source->summary = memory_dup_string(buf_string(&summary));
        source_id(source->type, role->plan.name, config, source->id);
        if (source->type->is_local && store_is_shared(duty->store)) {
            add_host(source->id);
        }
    } else {
        source->summary = memory_dup_string("");
        snprintf(source->id, sizeof(source->id), "%s/%.20s-%zu", role->plan.name, type, index);
    }
    memcpy(source->role, role->plan.name, sizeof(source->role));
    source->folder = memory_dup_string(role->plan.folder);
    fill_host(duty, role, source);
    return source;
}

static struct duty_source *find_source(struct duty_source *list, const char *id)
{
    while (list != NULL && strcmp(list->id, id) != 0) {
        list = list->next;
    }
    return list;
}

/** Take the source of before out of its list if it is the same in every setting and works. */
static struct duty_source *take_same(struct duty_source **list, const struct duty_source *wanted)
{
    for (struct duty_source **at = list; *at != NULL; at = &(*at)->next) {
        struct duty_source *source = *at;
        if (source->source != NULL && strcmp(source->id, wanted->id) == 0 &&
            source->host.is_autonomous == wanted->host.is_autonomous &&
            strcmp(source->folder, wanted->folder) == 0 &&
            memcmp(source->settings, wanted->settings, DIGEST_SIZE) == 0) {
            *at = source->next;
            return source;
        }
    }
    return NULL;
}

/** Its name in /hooks/NAME, or NULL. */
static const char *hook_of(const struct duty_source *source)
{
    return source->source == NULL || source->type->hook == NULL
               ? NULL
               : source->type->hook(source->source);
}

/** A hook of that name, or NULL. */
static struct duty_source *find_hook(const struct duty *duty, const char *hook)
{
    for (struct duty_role *role = duty->roles; role != NULL; role = role->next) {
        for (struct duty_source *at = role->sources; at != NULL; at = at->next) {
            const char *name = hook_of(at);
            if (name != NULL && strcmp(name, hook) == 0) {
                return at;
            }
        }
    }
    return NULL;
}

/**
 * Whether requests to the hook's name come to another webhook, which was first: a sender must not
 * start another agent than it means without anybody seeing it.
 */
static bool is_shadowed(const struct duty *duty, const struct duty_source *source,
                        char ret_problem[DUTY_PROBLEM_SIZE])
{
    const char *hook = hook_of(source);
    const struct duty_source *first = hook == NULL ? NULL : find_hook(duty, hook);
    bool is_shadowed = first != NULL && first != source;
    if (is_shadowed) {
        snprintf(ret_problem, DUTY_PROBLEM_SIZE,
                 "/hooks/%s belongs to another webhook of %s; give this one a `name`", hook,
                 first->role);
    }
    return is_shadowed;
}

static void open_or_name(struct duty *duty, const struct duty_role *role,
                         struct duty_source *source)
{
    struct rondo_error err = {0};
    int r = find_source(role->sources, source->id) != NULL
                ? error_set(&err, RONDO_ERR_INVALID, "the same trigger occurs twice")
                : open_source(duty, source, &err);
    char shadow[DUTY_PROBLEM_SIZE];
    if (r == 0 && is_shadowed(duty, source, shadow)) {
        duty_log(duty, "%s: %s", source->id, shadow);
    }
    if (r < 0) {
        snprintf(source->problem, sizeof(source->problem), "%.*s", DUTY_PROBLEM_SIZE - 1,
                 err.message);
        duty_log(duty, "%s: the trigger %s is left out: %s", role->plan.name, source->id,
                 source->problem);
    }
}

/** Of two sources with one id only the first has a document. */
static void append_source(struct duty_role *role, struct duty_source *source)
{
    struct duty_source **last = &role->sources;
    while (*last != NULL) {
        last = &(*last)->next;
    }
    source->next = NULL;
    *last = source;
}

static void close_list(struct duty *duty, struct duty_source *list)
{
    struct source_changes changes = {0};
    for (const struct duty_source *at = list; at != NULL; at = at->next) {
        add_forgotten(duty, at->id, &changes);
    }
    (void)make_changes(duty, &changes); /* One that stays is of a daemon that is gone. */
    while (list != NULL) {
        struct duty_source *next = list->next;
        close_source(list);
        list = next;
    }
}

/** The triggers of a plan, in their order; those that are the same as before are open. */
static struct duty_source *plan_sources(struct duty *duty, const struct duty_role *role,
                                        struct duty_source **before)
{
    struct duty_source *list = NULL;
    size_t count = json_length(role->plan.triggers);
    if (count > LIMIT_ROLE_SOURCES) {
        duty_log(duty, "%s: only its first %d triggers are used", role->plan.name,
                 LIMIT_ROLE_SOURCES);
        count = LIMIT_ROLE_SOURCES;
    }
    for (size_t i = count; i-- > 0;) {
        struct duty_source *source =
            new_source(duty, role, json_object_array_get_idx(role->plan.triggers, i), i);
        struct duty_source *same = take_same(before, source);
        if (same != NULL) {
            close_source(source);
            source = same;
        }
        source->next = list;
        list = source;
    }
    return list;
}

void duty_open_sources(struct duty *duty, struct duty_role *role, bool is_fresh)
{
    pthread_rwlock_wrlock(&duty->hooks_lock);
    struct duty_source *before = role->sources;
    if (is_fresh) {
        close_list(duty, before);
        before = NULL;
    }
    struct duty_source *wanted = plan_sources(duty, role, &before);
    close_list(duty, before); /* What they hold (a port, a name) may be needed. */
    role->sources = NULL;
    while (wanted != NULL) {
        struct duty_source *source = wanted;
        wanted = wanted->next;
        if (source->source == NULL) {
            open_or_name(duty, role, source);
            json_object_put(source->config);
            source->config = NULL;
        }
        append_source(role, source);
    }
    json_object_put(role->plan.triggers);
    role->plan.triggers = NULL;
    pthread_rwlock_unlock(&duty->hooks_lock);
}

void duty_close_sources(struct duty *duty, struct duty_role *role)
{
    pthread_rwlock_wrlock(&duty->hooks_lock);
    struct duty_source *list = role->sources;
    role->sources = NULL;
    close_list(duty, list);
    pthread_rwlock_unlock(&duty->hooks_lock);
}

/* ---- Calling -------------------------------------------------------------------------------- */

/** A call of a source came to an end. */
static void note_call(struct duty *duty, struct duty_source *source, int r,
                      const struct rondo_error *err)
{
    if (r < 0) {
        source->retry_ns = clock_monotonic(duty->clock) + DUTY_RETRY_NS;
        if (!source->is_failing) {
            duty_log(duty, "%s fails and is tried again: %s", source->id, err->message);
        }
        snprintf(source->problem, sizeof(source->problem), "fails: %.*s", DUTY_PROBLEM_SIZE - 8,
                 err->message);
    } else {
        source->retry_ns = 0;
        source->problem[0] = '\0';
    }
    source->is_failing = r < 0;
}

/** When a source is due, not before it may be tried again. */
static int64_t due_of(const struct duty *duty, const struct duty_source *source)
{
    if (source->source == NULL || source->type->next_due == NULL) {
        return SOURCE_NEVER;
    }
    int64_t due_ns = source->type->next_due(source->source);
    if (due_ns != SOURCE_NEVER && source->retry_ns != 0) {
        int64_t retry_ns = clock_now(duty->clock) + source->retry_ns - clock_monotonic(duty->clock);
        due_ns = due_ns > retry_ns ? due_ns : retry_ns;
    }
    return due_ns;
}

int64_t duty_fire_due(struct duty *duty)
{
    int64_t next_ns = SOURCE_NEVER;
    for (struct duty_role *role = duty->roles; role != NULL; role = role->next) {
        for (struct duty_source *source = role->sources; source != NULL; source = source->next) {
            int64_t now_ns = clock_now(duty->clock);
            if (source->retry_ns <= clock_monotonic(duty->clock)) {
                source->retry_ns = 0;
            }
            if (due_of(duty, source) <= now_ns) {
                struct rondo_error err = {0};
                note_call(duty, source, source->type->fire(source->source, now_ns, &err), &err);
            }
            int64_t due_ns = due_of(duty, source);
            next_ns = due_ns < next_ns ? due_ns : next_ns;
        }
    }
    return next_ns;
}

void duty_call_ready(struct duty *duty, struct duty_source *source)
{
    struct rondo_error err = {0};
    note_call(duty, source, source->type->ready(source->source, clock_now(duty->clock), &err),
              &err);
}

bool duty_receive(struct duty *duty, const char *hook, const struct source_delivery *delivery,
                  struct source_answer *ret_answer)
{
    pthread_rwlock_rdlock(&duty->hooks_lock);
    struct duty_source *source = find_hook(duty, hook);
    if (source != NULL) {
        source->type->receive(source->source, delivery, ret_answer);
    }
    pthread_rwlock_unlock(&duty->hooks_lock);
    return source != NULL;
}

/* ---- Showing -------------------------------------------------------------------------------- */

/** The document of a source as it is now. */
static void write_status(const struct duty *duty, const struct duty_source *source,
                         struct buf *ret_json)
{
    auto_buf struct buf details = {0};
    struct json_writer writer = json_writer(&details);
    bool is_open = source->source != NULL;
    json_begin_object(&writer, NULL);
    if (is_open && source->type->describe != NULL) {
        source->type->describe(source->source, &writer);
    }
    json_end_object(&writer);
    int64_t (*due)(struct source *) = NULL;
    if (is_open) {
        due = source->type->shown_due != NULL ? source->type->shown_due : source->type->next_due;
    }
    int64_t due_ns = due == NULL ? SOURCE_NEVER : due(source->source);
    const char *hook = hook_of(source);
    const char *problem = source->problem;
    if (is_open && problem[0] == '\0' && source->type->problem != NULL) {
        problem = source->type->problem(source->source);
    }
    char shadow[DUTY_PROBLEM_SIZE];
    if (problem[0] == '\0' && is_shadowed(duty, source, shadow)) {
        problem = shadow;
    }
    struct source_status status = {
        .role = source->role,
        .type = source->type_name,
        .summary = source->summary,
        .problem = problem,
        .hook = hook == NULL ? "" : hook,
        .due_ns = due_ns == SOURCE_NEVER ? 0 : due_ns,
        .details = buf_string(&details),
        .owner = runtime_owner(duty->options.runtime),
    };
    source_status_encode(&status, ret_json);
}

/** Add the document of a source, if it differs from the one in the store. */
static void add_shown(const struct duty *duty, struct duty_source *source,
                      struct source_changes *list)
{
    unsigned char digest[DIGEST_SIZE];
    struct buf *text = &list->texts[list->count];
    text->len = 0;
    write_status(duty, source, text);
    digest_of(text->data, text->len, digest);
    if (memcmp(digest, source->shown, DIGEST_SIZE) == 0) {
        return;
    }
    list->sources[list->count] = source;
    list->changes[list->count++] = (struct store_change){
        .kind = STORE_PUT,
        .collection = SOURCE_COLLECTION,
        .key = source->id,
        .data = buf_string(text),
        .data_len = text->len,
        .if_version = STORE_ANY_VERSION,
    };
}

static void show_added(struct duty *duty, struct source_changes *list)
{
    bool is_made = make_changes(duty, list);
    for (size_t i = 0; is_made && i < list->count; i++) {
        digest_of(list->texts[i].data, list->texts[i].len, list->sources[i]->shown);
    }
    list->count = 0;
}

void duty_show_sources(struct duty *duty)
{
    struct source_changes changes = {0};
    for (struct duty_role *role = duty->roles; role != NULL; role = role->next) {
        for (struct duty_source *source = role->sources; source != NULL; source = source->next) {
            if (find_source(role->sources, source->id) == source) {
                add_shown(duty, source, &changes);
            }
            if (changes.count == CHANGES_AT_ONCE) {
                show_added(duty, &changes);
            }
        }
    }
    show_added(duty, &changes);
    for (size_t i = 0; i < CHANGES_AT_ONCE; i++) {
        buf_fini(&changes.texts[i]);
    }
}

void duty_show_again(struct duty *duty)
{
    for (struct duty_role *role = duty->roles; role != NULL; role = role->next) {
        for (struct duty_source *source = role->sources; source != NULL; source = source->next) {
            memset(source->shown, 0, sizeof(source->shown));
        }
    }
}

struct stale_sources {
    char (*ids)[SOURCE_ID_SIZE];
    size_t count;
};

static bool note_stale(const struct source_status *status, void *context)
{
    struct stale_sources *stale = context;
    if (!status->is_on_duty) {
        stale->ids = memory_resize(stale->ids, stale->count + 1, SOURCE_ID_SIZE);
        snprintf(stale->ids[stale->count++], SOURCE_ID_SIZE, "%s", status->id);
    }
    return true;
}

void duty_forget_sources(struct duty *duty)
{
    struct stale_sources stale = {0};
    struct source_changes changes = {0};
    (void)source_statuses_read(duty->store, note_stale, &stale, NULL);
    for (size_t i = 0; i < stale.count; i++) {
        add_forgotten(duty, stale.ids[i], &changes);
    }
    (void)make_changes(duty, &changes);
    free(stale.ids);
}
