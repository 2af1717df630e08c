// SPDX-License-Identifier: Apache-2.0
/*
 * Changed files: each file that was created, modified or deleted becomes one event, once it has
 * been quiet for a moment. Whether it has changed is decided by the picture (watch_picture.h),
 * never by how many events the kernel reported: what an editor writes under another name and
 * renames is one change, and a file that came and went is none.
 *
 * The mark is the picture. A small one changes with each event, in its transaction. A large one is
 * written after the events of a batch; a crash before leaves the old one, so the same changes are
 * found again and submitted with the same keys, which the intake knows for seven days.
 */
#include "base/auto.h"
#include "base/clock.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "base/memory.h"
#include "base/parse.h"
#include "source/source.h"
#include "source/template.h"
#include "source/watch/watch_tree.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** A file that is open for writing is reported when it has not changed for so long. */
#define UNCLOSED_NS (30 * NS_PER_S)
/** A file that never is quiet is reported all the same after so long. */
#define RESTLESS_NS (600 * NS_PER_S)
/** After a failure, and while a folder is missing. */
#define RETRY_NS (30 * NS_PER_S)
/** While a queue is full. */
#define FULL_NS (5 * NS_PER_S)
/** Events of one call; more follow in the next. */
#define BATCH_EVENTS 64

extern const struct source_type file_watch_source_type;

struct file_watch {
    struct source source;
    struct watch_tree *tree;
    struct watch_picture picture;
    char *template;
    int64_t debounce_ns;
    int64_t scan_due_ns; /**< SOURCE_NEVER = none is needed */
    int64_t full_ns;     /**< when the queue was found full; 0 = it was not */
    bool is_silent;      /**< the scan makes the first picture: nothing of it is a change */
    bool is_changed;     /**< the picture is newer than the mark */
    bool is_in_doubt;    /**< the last report failed; the event may be there all the same */
    char problem[sizeof((struct rondo_error){0}.message)]; /**< of the last scan; "" = none */
};

static int64_t now_of(const struct file_watch *watch)
{
    return clock_now(watch->source.host->clock);
}

static void log_line(const struct file_watch *watch, const char *text)
{
    const struct source_host *host = watch->source.host;
    if (host->log != NULL) {
        auto_buf struct buf line = {0};
        buf_printf(&line, "%s: %s", host->id, text);
        host->log(host->context, buf_string(&line));
    }
}

/* ---- Noticing -------------------------------------------------------------------------------- */

static void need_scan(struct file_watch *watch, int64_t due_ns)
{
    watch->scan_due_ns = due_ns < watch->scan_due_ns ? due_ns : watch->scan_due_ns;
}

/** A file may have changed: look at it when it has been quiet. */
static void notice(struct file_watch *watch, struct watched_file *file, int64_t wait_ns)
{
    int64_t now_ns = now_of(watch);
    file->first_ns = file->first_ns == 0 ? now_ns : file->first_ns;
    file->due_ns = now_ns + wait_ns;
    if (file->due_ns > file->first_ns + RESTLESS_NS) {
        file->due_ns = file->first_ns + RESTLESS_NS;
    }
}

static void on_changed(void *context, const char *path, bool is_written)
{
    struct file_watch *watch = context;
    struct watched_file *file = watch_picture_add(&watch->picture, path);
    if (file == NULL) {
        need_scan(watch, now_of(watch) + watch->debounce_ns); /* It says what is too much. */
        return;
    }
    file->is_noticed = false;
    bool waits_longer = is_written && watch->debounce_ns < UNCLOSED_NS;
    notice(watch, file, waits_longer ? UNCLOSED_NS : watch->debounce_ns);
}

static void on_unclear(void *context)
{
    struct file_watch *watch = context;
    need_scan(watch, now_of(watch) + watch->debounce_ns);
}

static int on_found(void *context, const char *path, const struct watched_state *state,
                    struct rondo_error *err)
{
    struct file_watch *watch = context;
    struct watched_file *file = watch_picture_add(&watch->picture, path);
    if (file == NULL) {
        return error_set(err, RONDO_ERR_LIMIT,
                         "there are more than %d files, or their names need more than %ld bytes; "
                         "name folders further down in `paths`, or `extensions`",
                         LIMIT_WATCH_FILES, LIMIT_WATCH_PATHS_BYTES);
    }
    file->scan = watch->picture.scan;
    if (watch->is_silent) {
        file->known = *state;
    } else if (!watched_state_equal(&file->known, state) && file->first_ns == 0) {
        file->noticed = *state;
        file->is_noticed = true;
        notice(watch, file, watch->debounce_ns);
    }
    return 0;
}

static struct watch_report report_of(struct file_watch *watch)
{
    return (struct watch_report){on_found, on_changed, on_unclear, watch};
}

/** Files of the picture that a whole scan did not find. */
static void notice_deleted(struct file_watch *watch)
{
    for (struct watched_file *file = watch->picture.files; file != NULL; file = file->hh.next) {
        if (file->scan != watch->picture.scan && file->known.is_there && file->first_ns == 0) {
            file->is_noticed = false;
            notice(watch, file, watch->debounce_ns);
        }
    }
}

/** What the last scan did not see, and why. Each change is logged. @param problem "" = nothing */
static void note_problem(struct file_watch *watch, const char *problem)
{
    if (strcmp(problem, watch->problem) != 0) {
        log_line(watch, problem[0] == '\0' ? "everything in `paths` is watched" : problem);
        snprintf(watch->problem, sizeof(watch->problem), "%s", problem);
    }
}

static int scan(struct file_watch *watch, struct rondo_error *err)
{
    bool is_whole = false;
    struct watch_report report = report_of(watch);
    watch->picture.scan++;
    watch->scan_due_ns = SOURCE_NEVER;
    int r = watch_tree_scan(watch->tree, &report, &is_whole, err);
    if (r == 0 && is_whole) {
        notice_deleted(watch);
    } else {
        need_scan(watch, now_of(watch) + RETRY_NS);
    }
    if (r == 0) {
        note_problem(watch, is_whole ? ""
                                     : "a folder in `paths` is not there, cannot be read, or is "
                                       "reached by a symbolic link that agents can change; it is "
                                       "looked for every 30 s");
    }
    return r;
}

/** Look again. What cannot be seen now is a problem that is shown; the rest is watched. */
static void scan_again(struct file_watch *watch)
{
    struct rondo_error err = {0};
    if (scan(watch, &err) < 0) {
        note_problem(watch, err.message);
    }
}

/* ---- Reporting ------------------------------------------------------------------------------- */

static const char *change_of(const struct watched_file *file, const struct watched_state *state)
{
    if (!state->is_there) {
        return "deleted";
    }
    return file->known.is_there ? "modified" : "created";
}

/** What makes the event unique: the batch, the file and its state. */
static void write_key(const struct file_watch *watch, const struct watched_file *file,
                      const struct watched_state *state, struct buf *ret_key)
{
    unsigned char bytes[DIGEST_SIZE];
    char hex[DIGEST_HEX_SIZE];
    struct digest digest = digest_begin();
    digest_add(&digest, file->path, strlen(file->path));
    digest_finish(&digest, bytes);
    digest_hex(bytes, hex);
    buf_printf(ret_key, "%" PRIu64 " %s %d %016" PRIx64, watch->picture.batch, hex, state->is_there,
               state->stamp);
}

static void write_context(const struct watched_file *file, const char *change, struct buf *ret_json)
{
    struct json_writer writer = json_writer(ret_json);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "path", file->path);
    json_write_string(&writer, "change", change);
    json_end_object(&writer);
}

/** The picture as it is once a file was reported, with the number of the batch after that. */
static void write_mark(struct file_watch *watch, struct watched_file *file,
                       const struct watched_state *state, struct buf *ret_mark)
{
    struct watched_state before = file->known;
    file->known = *state;
    watch->picture.batch++;
    watch_picture_encode(&watch->picture, ret_mark);
    watch->picture.batch--;
    file->known = before;
}

/** @param mark NULL = the picture is stored later */
static int submit(struct file_watch *watch, const struct watched_file *file,
                  const struct watched_state *state, const char *mark,
                  struct intake_result *ret_result, struct rondo_error *err)
{
    const char *change = change_of(file, state);
    auto_buf struct buf prompt = {0};
    auto_buf struct buf key = {0};
    auto_buf struct buf context = {0};
    const struct template_value values[] = {
        {.name = "path", .text = file->path, .len = strlen(file->path), .is_line = true},
        {.name = "change", .text = change, .len = strlen(change), .is_instruction = true},
        {0},
    };
    int r = template_fill(watch->template, values, &prompt, err);
    if (r < 0) {
        return r;
    }
    write_key(watch, file, state, &key);
    write_context(file, change, &context);
    const char *conversation = watch->source.host->conversation;
    auto_buf struct buf talk = {0};
    /* A key that is too long names no conversation. */
    (void)(conversation == NULL || template_key(conversation, values, &talk, NULL));
    const struct intake_event event = {
        .prompt = buf_string(&prompt),
        .key = buf_string(&key),
        .group = file->path,
        .context = buf_string(&context),
        .conversation = talk.len == 0 ? NULL : buf_string(&talk),
        .mark = mark,
    };
    return source_submit(&watch->source, &event, ret_result, err);
}

/** The file is as the picture says from now on. */
static void settle(struct file_watch *watch, struct watched_file *file,
                   const struct watched_state *state)
{
    file->first_ns = 0;
    file->known = *state;
    if (!state->is_there) {
        watch_picture_remove(&watch->picture, file);
    }
}

/** Whether all reports wait, because the queue was full a moment ago. Not after a set-back clock.
 */
static bool is_full(const struct file_watch *watch, int64_t now_ns)
{
    return watch->full_ns != 0 && now_ns >= watch->full_ns && now_ns < watch->full_ns + FULL_NS;
}

/** Report one file whose time has come. @return 1 an event was made, 0 none, or a code */
static int report_file(struct file_watch *watch, struct watched_file *file, int64_t now_ns,
                       struct rondo_error *err)
{
    struct intake_result result = {0};
    struct watched_state state = watch_tree_look(watch->tree, file->path);
    bool may_wait = now_ns < file->first_ns + RESTLESS_NS;
    if (file->is_noticed && may_wait && !watched_state_equal(&state, &file->noticed)) {
        file->noticed = state;
        notice(watch, file, watch->debounce_ns);
        return 0;
    }
    if (watched_state_equal(&state, &file->known)) {
        settle(watch, file, &state);
        return 0;
    }
    auto_buf struct buf mark = {0};
    bool has_mark = watch->picture.count <= LIMIT_WATCH_MARK_FILES && !watch->is_changed;
    if (has_mark) {
        write_mark(watch, file, &state, &mark);
    }
    int r = submit(watch, file, &state, has_mark ? buf_string(&mark) : NULL, &result, err);
    if (r < 0 || result.outcome == INTAKE_FULL) {
        watch->full_ns = r < 0 ? watch->full_ns : now_ns;
        return r;
    }
    watch->picture.batch += has_mark ? 1 : 0;
    watch->is_changed = !has_mark;
    settle(watch, file, &state);
    return 1;
}

/** Report what is due. @return how many events, or a code */
static int report_due(struct file_watch *watch, int64_t now_ns, struct rondo_error *err)
{
    int count = 0;
    struct watched_file *file = NULL;
    struct watched_file *next = NULL;
    if (is_full(watch, now_ns)) {
        return 0;
    }
    watch->full_ns = 0;
    watch_picture_sort(&watch->picture);
    HASH_ITER(hh, watch->picture.files, file, next)
    {
        if (count == BATCH_EVENTS || watch->full_ns != 0) {
            break;
        }
        if (file->first_ns != 0 && file->due_ns <= now_ns) {
            int r = report_file(watch, file, now_ns, err);
            if (r < 0) {
                return r;
            }
            count += r;
        }
    }
    return count;
}

static int store_picture(struct file_watch *watch, struct rondo_error *err)
{
    auto_buf struct buf mark = {0};
    if (!watch->is_changed) {
        return 0;
    }
    watch->picture.batch++;
    watch_picture_encode(&watch->picture, &mark);
    int r =
        intake_set_mark(watch->source.host->intake, watch->source.host->id, buf_string(&mark), err);
    if (r < 0) {
        watch->picture.batch--;
        return r;
    }
    watch->is_changed = false;
    return 0;
}

static int fire(struct source *source, int64_t now_ns, struct rondo_error *err)
{
    struct file_watch *watch = (struct file_watch *)source;
    /* A picture that could not be stored comes first: its batch is not over. A report whose fate is
     * not known is repeated before that: with the number of its batch it has the same key. */
    int r = watch->is_in_doubt ? 0 : store_picture(watch, err);
    if (r == 0 && watch->scan_due_ns <= now_ns) {
        scan_again(watch);
    }
    if (r == 0) {
        r = report_due(watch, now_ns, err);
        watch->is_in_doubt = r < 0;
    }
    int stored = r < 0 ? 0 : store_picture(watch, err);
    return r < 0 ? r : stored;
}

static int64_t next_due(struct source *source)
{
    struct file_watch *watch = (struct file_watch *)source;
    int64_t due_ns = SOURCE_NEVER;
    for (struct watched_file *file = watch->picture.files; file != NULL; file = file->hh.next) {
        if (file->first_ns != 0 && file->due_ns < due_ns) {
            due_ns = file->due_ns;
        }
    }
    if (due_ns < watch->full_ns + FULL_NS && is_full(watch, now_of(watch))) {
        due_ns = watch->full_ns + FULL_NS;
    }
    due_ns = due_ns < watch->scan_due_ns ? due_ns : watch->scan_due_ns;
    return watch->is_changed ? 0 : due_ns;
}

static int ready(struct source *source, int64_t now_ns, struct rondo_error *err)
{
    struct file_watch *watch = (struct file_watch *)source;
    struct watch_report report = report_of(watch);
    (void)now_ns;
    (void)err;
    watch_tree_read(watch->tree, &report);
    return 0;
}

/* ---- The source ------------------------------------------------------------------------------ */

static char **read_list(struct json_object *config, const char *name)
{
    struct json_object *list = json_member(config, name);
    size_t count = json_length(list);
    char **texts = memory_new_zero(count + 1, sizeof(*texts));
    for (size_t i = 0; i < count; i++) {
        texts[i] = memory_dup_string(json_object_get_string(json_object_array_get_idx(list, i)));
    }
    return texts;
}

static int open_tree(struct file_watch *watch, struct json_object *config, struct rondo_error *err)
{
    char **paths = read_list(config, "paths");
    char **extensions = read_list(config, "extensions");
    const char *agent_folders[SOURCE_AGENT_FOLDERS];
    source_agent_folders(watch->source.host, agent_folders);
    const struct watch_tree_options options = {
        .folder = watch->source.host->folder,
        .agent_folders = agent_folders,
        .paths = (const char *const *)paths,
        .extensions = (const char *const *)extensions,
    };
    int r = watch_tree_open(&options, &watch->tree, err);
    memory_free_list(paths);
    memory_free_list(extensions);
    return r;
}

/** A mark that cannot be read is no reason not to watch; what changed before is not known then. */
static bool read_mark(struct file_watch *watch, const char *mark)
{
    struct rondo_error err = {0};
    auto_json struct json_object *json = NULL;
    if (mark == NULL) {
        return false;
    }
    if (json_parse(mark, strlen(mark), &json, &err) == 0 &&
        watch_picture_decode(json, &watch->picture, &err) == 0) {
        return true;
    }
    watch_picture_fini(&watch->picture);
    log_line(watch, err.message);
    return false;
}

static void close_watch(struct source *source)
{
    struct file_watch *watch = (struct file_watch *)source;
    watch_tree_close(watch->tree);
    watch_picture_fini(&watch->picture);
    free(watch->template);
    free(watch);
}

static int start_watch(struct file_watch *watch, struct json_object *config, const char *mark,
                       struct rondo_error *err)
{
    int r = open_tree(watch, config, err);
    if (r < 0) {
        return r;
    }
    bool is_known = read_mark(watch, mark);
    watch->is_silent = !is_known && !json_get_bool(config, "process_existing", false);
    watch->is_changed = !is_known;
    r = scan(watch, err);
    watch->is_silent = false;
    return r < 0 ? r : store_picture(watch, err);
}

static int open_watch(struct json_object *config, const struct source_host *host, const char *mark,
                      struct source **ret_source, struct rondo_error *err)
{
    struct file_watch *watch = memory_new_zero(1, sizeof(*watch));
    struct json_object *seconds = json_member(config, "debounce_seconds");
    watch->source = (struct source){.type = &file_watch_source_type, .host = host};
    watch->template =
        memory_dup_string(json_get_string(config, "prompt_template", "File changed: {path}"));
    watch->debounce_ns =
        seconds == NULL ? NS_PER_S : duration_from_seconds(json_object_get_double(seconds));
    watch->scan_due_ns = SOURCE_NEVER;
    int r = start_watch(watch, config, mark, err);
    if (r < 0) {
        close_watch(&watch->source);
        return r;
    }
    *ret_source = &watch->source;
    return 0;
}

static int descriptor(struct source *source)
{
    return watch_tree_descriptor(((struct file_watch *)source)->tree);
}

static const char *problem(struct source *source)
{
    return ((const struct file_watch *)source)->problem;
}

static void describe(struct source *source, struct json_writer *writer)
{
    const struct file_watch *watch = (const struct file_watch *)source;
    int64_t waiting = 0;
    for (struct watched_file *file = watch->picture.files; file != NULL; file = file->hh.next) {
        waiting += file->first_ns != 0;
    }
    json_write_int(writer, "files", (int64_t)watch->picture.count);
    json_write_int(writer, "folders", (int64_t)watch_tree_folders(watch->tree));
    json_write_int(writer, "changing", waiting);
}

static const char *const identity[] = {"paths", "extensions", NULL};
static const char *const summary[] = {"paths", NULL};

const struct source_type file_watch_source_type = {
    .name = "file_watch",
    .is_local = true,
    .identity = identity,
    .summary = summary,
    .open = open_watch,
    .close = close_watch,
    .next_due = next_due,
    .problem = problem,
    .fire = fire,
    .descriptor = descriptor,
    .ready = ready,
    .describe = describe,
};
