// SPDX-License-Identifier: Apache-2.0
/* One session of a coding agent for each iteration: intent, process, result, report. */
#include "worker/coding_agent.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "base/json/json.h"
#include "base/memory.h"
#include "base/text/plain.h"
#include "journal/backward.h"
#include "journal/trace.h"
#include "loop/driver/body_ports.h"
#include "os/environment.h"
#include "store/find.h"
#include "store/locate/database.h"
#include "work/spec.h"
#include "worker/coding/stream.h"
#include "worker/coding_events.h"
#include "worker/coding_prompt.h"
#include "worker/files.h"
#include "worker/process.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** After its result an agent may take so long to end. */
#define AFTER_RESULT_NS (20 * NS_PER_S)
/** First pause after a transient failure, and the longest. */
#define BACKOFF_NS      (5 * NS_PER_S)
#define BACKOFF_MOST_NS (600 * NS_PER_S)
/** First wait for a quota whose time is not known, and the longest. */
#define QUOTA_NS      (300 * NS_PER_S)
#define QUOTA_MOST_NS (3600 * NS_PER_S)
/** After the time of a reset, for clocks that differ. */
#define RESET_MARGIN_NS (5 * NS_PER_S)
/** End of stderr that a failure shows, bytes. */
#define ERRORS_BYTES ((size_t)2048)

/** The session that was used last. */
struct last_session {
    char id[CODING_WORD_SIZE];
    bool has_begun; /* the agent has done something in it: it can be resumed */
    struct model_usage totals;
};

struct coding_agent {
    struct loop *loop;
    struct worker_options options;
    struct worker_files *files;
    struct coding_record record;
    struct last_session last;
    bool takes_over; /* of the last program something may live: its supervisor was killed */
};

/** One session. */
struct coding_session {
    struct coding_agent *agent;
    struct worker_process process;
    struct coding_stream *stream;
    struct coding_events *events;
    struct spawn_result spawned;
    struct buf errors; /* end of stderr */
    char id[CODING_WORD_SIZE];
    bool is_resumed;
    char **envp;
    struct coding_verdict verdict;
};

/* ---- What the journal knows ------------------------------------------------------------------
 */

static int64_t member_number(struct json_object *object, const char *name)
{
    return json_get_int(object, name, 0);
}

static void take_totals(struct last_session *last, const char *json)
{
    auto_json struct json_object *root = NULL;
    if (json != NULL && json_parse(json, strlen(json), &root, NULL) == 0) {
        last->totals = (struct model_usage){.input = member_number(root, "input"),
                                            .output = member_number(root, "output"),
                                            .cached = member_number(root, "cached")};
    }
}

/** Newest first: the first session that is named is the last one. */
static bool take_journal(const struct store_event *stored, void *context)
{
    struct last_session *last = context;
    struct journal_event event;
    auto_json struct json_object *root = NULL;
    if (journal_decode_stored(stored, &event, &root, NULL) < 0) {
        return true;
    }
    if (event.type == JOURNAL_WORKER_FINISHED && event.worker_finished.session != NULL) {
        snprintf(last->id, sizeof(last->id), "%s", event.worker_finished.session);
        last->has_begun = true;
        take_totals(last, event.worker_finished.totals);
        return false;
    }
    if (event.type == JOURNAL_WORKER_STARTED) {
        if (event.worker_started.session != NULL) {
            snprintf(last->id, sizeof(last->id), "%s", event.worker_started.session);
        }
        return false;
    }
    last->has_begun = true; /* words or a call */
    return true;
}

static int read_journal(struct coding_agent *agent, struct rondo_error *err)
{
    static const char *const types[] = {"worker.started", "worker.message", "worker.tool",
                                        "worker.finished", NULL};
    const struct run_state *state = loop_state(agent->loop);
    struct backward backward = {.run_id = loop_run_id(agent->loop),
                                .before = state->seq + 1,
                                .types = types,
                                .window = 512,
                                .most = LIMIT_CODING_EVENTS * 4};
    uint64_t reached;
    return state->epoch <= 1 ? 0
                             : backward_visit(runtime_store(loop_runtime(agent->loop)), &backward,
                                              take_journal, &agent->last, &reached, err);
}

static bool take_ended(const struct store_event *stored, void *context)
{
    struct coding_ended *ended = context;
    struct journal_event event;
    auto_json struct json_object *root = NULL;
    if (journal_decode_stored(stored, &event, &root, NULL) < 0) {
        return true;
    }
    const struct event_worker_finished *finished = &event.worker_finished;
    ended->is_known =
        finished->outcome != NULL && coding_class_from_name(finished->outcome, &ended->outcome);
    snprintf(ended->session, sizeof(ended->session), "%s",
             finished->session == NULL ? "" : finished->session);
    ended->until_ns = finished->until_ns;
    ended->denials = finished->denials > 0 ? (uint64_t)finished->denials : 0;
    return false;
}

int coding_last_session(struct store *store, const char *run_id, struct coding_ended *ret_ended,
                        struct rondo_error *err)
{
    static const char *const types[] = {"worker.finished", NULL};
    struct store_run run;
    struct coding_ended ended = {0};
    int r = store_find_run(store, run_id, NULL, &run, err);
    struct backward backward = {
        .run_id = run_id, .before = run.last_seq + 1, .types = types, .window = 512};
    uint64_t reached;
    r = r < 0 ? r : backward_visit(store, &backward, take_ended, &ended, &reached, err);
    if (r == 0) {
        *ret_ended = ended;
    }
    return r;
}

/* ---- Opening ---------------------------------------------------------------------------------
 */

static int read_record(struct coding_agent *agent, struct rondo_error *err)
{
    const char *json = loop_spec(agent->loop)->coding;
    auto_json struct json_object *root = NULL;
    int r = json_parse(json, strlen(json), &root, err);
    if (r == 0) {
        r = coding_record_decode(root, &agent->record, NULL, err);
    }
    if (r < 0) {
        error_prefix(err, "the recorded coding agent");
    }
    return r;
}

int coding_agent_new(struct loop *loop, const struct worker_options *options,
                     struct coding_agent **ret_agent, struct rondo_error *err)
{
    struct coding_agent *agent = memory_new_zero(1, sizeof(*agent));
    agent->loop = loop;
    agent->options = *options;
    agent->takes_over = loop_state(loop)->epoch > 1;
    int r = read_record(agent, err);
    if (r == 0) {
        r = worker_files_new(options->folder, loop_run_id(loop), loop_state(loop)->epoch,
                             &agent->files, err);
    }
    r = r < 0 ? r : read_journal(agent, err);
    if (r < 0) {
        coding_agent_free(agent);
        return r;
    }
    *ret_agent = agent;
    return 0;
}

void coding_agent_free(struct coding_agent *agent)
{
    if (agent == NULL) {
        return;
    }
    if (agent->files != NULL && loop_state(agent->loop)->phase == PHASE_ENDED) {
        worker_files_remove_run(agent->files);
    }
    worker_files_free(agent->files);
    coding_record_fini(&agent->record);
    free(agent);
}

/* ---- The environment -------------------------------------------------------------------------
 */

struct word_list {
    char **items;
    size_t count;
};

static void add(struct word_list *list, const char *item)
{
    list->items = memory_resize(list->items, list->count + 2, sizeof(*list->items));
    list->items[list->count++] = memory_dup_string(item);
    list->items[list->count] = NULL;
}

static void add_all(struct word_list *list, char *const *items)
{
    for (size_t i = 0; items != NULL && items[i] != NULL; i++) {
        add(list, items[i]);
    }
}

static void add_variable(struct word_list *list, const char *name, const char *value)
{
    auto_buf struct buf text = {0};
    buf_printf(&text, "%s=%s", name, value);
    add(list, buf_string(&text));
}

static void add_number(struct word_list *list, const char *name, uint64_t number)
{
    char digits[24];
    snprintf(digits, sizeof(digits), "%" PRIu64, number);
    add_variable(list, name, digits);
}

/** What the agent gets besides the user's own variables. */
static char **own_variables(const struct coding_agent *agent)
{
    const struct run_state *state = loop_state(agent->loop);
    const struct coding_record *record = &agent->record;
    char parent[TRACE_PARENT_SIZE];
    struct word_list list = {0};
    add_all(&list, record->env);
    if (record->permissions == CODING_UNATTENDED) {
        add_all(&list, record->unattended_env);
    }
    if (record->agent_home != NULL) {
        add_variable(&list, "HOME", record->agent_home);
    }
    add_variable(&list, "TERM", "dumb");
    add_variable(&list, "NO_COLOR", "1");
    add_variable(&list, "CI", "1");
    add_variable(&list, "RONDO_RUN_ID", loop_run_id(agent->loop));
    add_number(&list, "RONDO_ITERATION", state->iteration);
    add_number(&list, "RONDO_ATTEMPT", state->attempt);
    trace_parent(loop_run_id(agent->loop), TRACE_ITERATION, state->iteration, state->attempt,
                 parent);
    add_variable(&list, "TRACEPARENT", parent);
    add_all(&list, (char *const *)(uintptr_t)agent->options.variables);
    return list.items;
}

/** Names that pass into the sandbox: the agent's keys, and what the user added. */
static char **passed_names(const struct coding_agent *agent)
{
    struct word_list list = {0};
    add_all(&list, agent->record.keys);
    add_all(&list, loop_spec(agent->loop)->env_names);
    add(&list, "RONDO_*");
    return list.items;
}

static bool is_passed(char *const *names, const char *variable)
{
    size_t len = strcspn(variable, "=");
    for (size_t i = 0; names[i] != NULL; i++) {
        if (strncmp(names[i], variable, len) == 0 && names[i][len] == '\0') {
            return true;
        }
    }
    return false;
}

/** Without a sandbox: all but secrets that the agent does not need. */
static void drop_secrets(char **envp, char *const *names)
{
    size_t kept = 0;
    for (size_t i = 0; envp[i] != NULL; i++) {
        auto_free char *name = memory_dup_bytes(envp[i], strcspn(envp[i], "="));
        if (redact_is_secret_name(name) && !is_passed(names, envp[i])) {
            free(envp[i]);
        } else {
            envp[kept++] = envp[i];
        }
    }
    envp[kept] = NULL;
}

static char **environment_of(const struct coding_agent *agent, char *const *names)
{
    char **own = own_variables(agent);
    const char *const *extra = (const char *const *)own;
    bool is_free = loop_spec(agent->loop)->worker_tier == SANDBOX_NONE;
    char **envp =
        is_free ? environment_with(extra) : environment_reduced((const char *const *)names, extra);
    if (is_free) {
        drop_secrets(envp, names);
    }
    environment_drop(envp, (const char *const *)loop_spec(agent->loop)->denied_env);
    if (runtime_waits_for_store(loop_runtime(agent->loop))) {
        environment_drop(envp, store_database_variables);
    }
    memory_free_list(own);
    return envp;
}

/** The sandbox reduces the environment itself: names of everything that was chosen here. */
static char **names_of(char *const *envp)
{
    struct word_list list = {0};
    for (size_t i = 0; envp[i] != NULL; i++) {
        auto_free char *name = memory_dup_bytes(envp[i], strcspn(envp[i], "="));
        if (strcmp(name, "HOME") != 0) {
            add(&list, name);
        }
    }
    return list.items;
}

/* ---- The process -----------------------------------------------------------------------------
 */

/**
 * The watcher reads the deadlines each time anew. Until the first event the one of the start holds;
 * after the result there is nothing more to wait for, and after a refusal nothing at all.
 */
static void set_silence(struct coding_session *session)
{
    const struct loop_spec *spec = loop_spec(session->agent->loop);
    const struct coding_said *said = coding_stream_said(session->stream);
    bool has_begun = said->messages + said->tool_calls > 0 || said->session[0] != '\0' ||
                     session->agent->record.format == CODING_FORMAT_TEXT;
    bool ends_once = session->agent->record.format != CODING_FORMAT_OPENCODE;
    session->process.request.silence_ns = said->is_hopeless               ? 1
                                          : said->has_result && ends_once ? AFTER_RESULT_NS
                                          : has_begun                     ? spec->silence_ns
                                                                          : spec->first_output_ns;
}

static void take_output(void *context, const char *bytes, size_t len)
{
    struct coding_session *session = context;
    coding_stream_take(session->stream, bytes, len);
    set_silence(session);
}

static void take_errors(void *context, const char *bytes, size_t len)
{
    struct coding_session *session = context;
    buf_append(&session->errors, bytes, len);
    if (session->errors.len > ERRORS_BYTES) {
        size_t drop = session->errors.len - ERRORS_BYTES;
        memmove(session->errors.data, session->errors.data + drop, ERRORS_BYTES);
        session->errors.len = ERRORS_BYTES;
        session->errors.data[ERRORS_BYTES] = '\0';
    }
}

/** Run the program to its end. */
static int spawn_program(struct coding_session *session, char *const *argv,
                         const struct buf *prompt, struct rondo_error *err)
{
    struct coding_agent *agent = session->agent;
    struct worker_process *process = &session->process;
    struct spawn_request *request = &process->request;
    char **names = names_of(session->envp);
    worker_process_init(agent->loop, agent->files, (const char *const *)names, agent->takes_over,
                        process);
    process->policy.allow_network = true; /* Its model is somewhere else. */
    process->policy.home = agent->record.agent_home;
    request->argv = (const char *const *)argv;
    request->envp = (const char *const *)session->envp;
    if (agent->record.prompt == CODING_PROMPT_STDIN) {
        request->input = prompt->data;
        request->input_len = prompt->len;
    }
    request->output_keep = 1024;
    request->on_output = take_output;
    request->on_errors = take_errors;
    request->on_output_context = session;
    set_silence(session);
    int r = spawn_run(request, &session->spawned, err);
    agent->takes_over = r < 0 || session->spawned.lost_supervisor;
    worker_process_fini(process);
    memory_free_list(names);
    return r;
}

/* ---- The session -----------------------------------------------------------------------------
 */

/** Resume what was cut off, and with --resume-session every session; else a new one. */
static void choose_session(struct coding_session *session, bool may_resume)
{
    struct coding_agent *agent = session->agent;
    const struct run_state *state = loop_state(agent->loop);
    const struct coding_record *record = &agent->record;
    bool is_wanted = state->attempt > 1 || (record->keeps_session && state->iteration > 1);
    session->is_resumed =
        may_resume && is_wanted && record->resume_words != NULL && agent->last.has_begun;
    if (session->is_resumed) {
        memcpy(session->id, agent->last.id, sizeof(session->id));
        session->is_resumed = session->id[0] != '\0';
    }
    if (!session->is_resumed && record->start_words != NULL) {
        char name[96];
        snprintf(name, sizeof(name), "session/%" PRIu64 "/%" PRIu64 "/%d", state->iteration,
                 state->attempt, may_resume);
        id_from_name(loop_run_id(agent->loop), name, strlen(name), session->id);
    }
}

static void record_started(const struct coding_session *session)
{
    const struct coding_agent *agent = session->agent;
    struct journal_event event = {
        .type = JOURNAL_WORKER_STARTED,
        .worker_started = {.iteration = (int64_t)loop_state(agent->loop)->iteration,
                           .attempt = (int64_t)loop_state(agent->loop)->attempt,
                           .agent = agent->record.name,
                           .model = agent->record.model,
                           .session = session->id[0] == '\0' ? NULL : session->id,
                           .resumed = session->is_resumed},
    };
    loop_record(agent->loop, &event);
}

static int write_prompt(const struct coding_session *session, struct buf *prompt,
                        struct rondo_error *err)
{
    struct coding_agent *agent = session->agent;
    coding_prompt_write(agent->loop, session->is_resumed, prompt);
    int r = worker_files_begin(agent->files, err);
    return r < 0 ? r
                 : worker_files_write(agent->files, WORKER_FILE_PROMPT, prompt->data, prompt->len,
                                      err);
}

/** Hand over, record the intent, run. */
static int run_program(struct coding_session *session, struct rondo_error *err)
{
    struct coding_agent *agent = session->agent;
    auto_buf struct buf prompt = {0};
    auto_buf struct buf hint = {0};
    const char *path = worker_files_path(agent->files, WORKER_FILE_PROMPT);
    int r = write_prompt(session, &prompt, err);
    if (r == 0) {
        record_started(session);
        r = loop_commit(agent->loop, err);
    }
    if (r < 0) {
        return r;
    }
    buf_printf(&hint, "Your task is in the file %s. Read it, and do what it says.", path);
    bool is_short = prompt.len <= CODING_PROMPT_ARGUMENT_BYTES;
    struct coding_words words = {.session = session->id[0] == '\0' ? NULL : session->id,
                                 .is_resumed = session->is_resumed,
                                 .prompt = buf_string(is_short ? &prompt : &hint),
                                 .prompt_file = path};
    char **argv = coding_command(&agent->record, &words);
    r = spawn_program(session, argv, &prompt, err);
    memory_free_list(argv);
    return r;
}

static struct coding_verdict classify(const struct coding_session *session)
{
    const struct coding_record *record = &session->agent->record;
    struct coding_facts facts = {
        .said = coding_stream_said(session->stream),
        .is_text = record->format == CODING_FORMAT_TEXT,
        .spawned = &session->spawned,
        .exits = record->exits,
        .exit_count = record->exit_count,
        .is_answer_enough = work_is_review(loop_spec(session->agent->loop)),
        .now_ns = clock_now(runtime_clock(loop_runtime(session->agent->loop)))};
    return coding_classify(&facts);
}

/** Usage of this session alone. */
static struct model_usage usage_of(const struct coding_session *session)
{
    struct model_usage usage = coding_stream_said(session->stream)->usage;
    const struct model_usage *before = &session->agent->last.totals;
    if (session->agent->record.is_usage_total && session->is_resumed) {
        usage.input = usage.input > before->input ? usage.input - before->input : 0;
        usage.output = usage.output > before->output ? usage.output - before->output : 0;
        usage.cached = usage.cached > before->cached ? usage.cached - before->cached : 0;
    }
    return usage;
}

static int64_t cost_of(const struct coding_session *session, const struct model_usage *usage)
{
    const struct coding_record *record = &session->agent->record;
    const struct coding_said *said = coding_stream_said(session->stream);
    const char *model = record->model != NULL ? record->model : said->model;
    if (said->cost_micro >= 0) {
        return said->cost_micro;
    }
    struct prices prices = record->prices;
    if (!prices.is_known && record->provider != NULL) {
        prices = prices_find(record->provider, model);
    }
    if (said->has_usage && prices.is_known) {
        return prices_cost(&prices, usage);
    }
    bool was_refused = said->error.status != 0 && !said->has_usage && said->messages == 0;
    return said->lines == 0 || was_refused ? 0 : COST_UNKNOWN;
}

static int64_t doubled(int64_t first_ns, int64_t most_ns, uint64_t times)
{
    int64_t wait_ns = first_ns;
    for (uint64_t i = 0; i < times && wait_ns < most_ns; i++) {
        wait_ns *= 2;
    }
    return wait_ns < most_ns ? wait_ns : most_ns;
}

/**
 * Whether a session that an overloaded service has ended is repeated in the same iteration. A run
 * that works on a task has no later iteration: a night's work must not end with a service's bad
 * minutes.
 */
static bool is_repeated(const struct coding_session *session)
{
    const struct loop *loop = session->agent->loop;
    return session->verdict.outcome == CODING_API_TRANSIENT && loop_spec(loop)->work != NULL &&
           loop_state(loop)->attempt < LIMIT_CODING_TASK_REPEATS;
}

/** When the next session may begin; 0 = at once. */
static int64_t next_begin(const struct coding_session *session)
{
    struct loop *loop = session->agent->loop;
    const struct run_state *state = loop_state(loop);
    int64_t now_ns = clock_now(runtime_clock(loop_runtime(loop)));
    struct random *random = runtime_random(loop_runtime(loop));
    int64_t jitter_ns = (int64_t)random_below(random, (uint64_t)NS_PER_S);
    if (session->verdict.outcome == CODING_API_TRANSIENT) {
        uint64_t times = is_repeated(session) ? state->attempt - 1 : state->consecutive_failures;
        return now_ns + jitter_ns + doubled(BACKOFF_NS, BACKOFF_MOST_NS, times);
    }
    if (session->verdict.outcome != CODING_API_QUOTA || state->attempt > LIMIT_CODING_QUOTA_WAITS) {
        return 0;
    }
    int64_t resets_ns = session->verdict.resets_ns;
    if (resets_ns <= now_ns) {
        return now_ns + jitter_ns + doubled(QUOTA_NS, QUOTA_MOST_NS, state->attempt - 1);
    }
    int64_t most_ns = now_ns + LIMIT_CODING_WAIT_NS;
    return (resets_ns < most_ns ? resets_ns : most_ns - RESET_MARGIN_NS) + RESET_MARGIN_NS;
}

static void record_finished(struct coding_session *session)
{
    struct coding_agent *agent = session->agent;
    const struct coding_said *said = coding_stream_said(session->stream);
    struct model_usage usage = usage_of(session);
    auto_buf struct buf totals = {0};
    auto_buf struct buf message = {0};
    coding_events_clean(session->events, session->verdict.message, strlen(session->verdict.message),
                        &message);
    buf_printf(&totals, "{\"input\":%" PRId64 ",\"output\":%" PRId64 ",\"cached\":%" PRId64 "}",
               said->usage.input, said->usage.output, said->usage.cached);
    struct journal_event event = {
        .type = JOURNAL_WORKER_FINISHED,
        .worker_finished = {.iteration = (int64_t)loop_state(agent->loop)->iteration,
                            .attempt = (int64_t)loop_state(agent->loop)->attempt,
                            .agent = agent->record.name,
                            .outcome = coding_class_name(session->verdict.outcome),
                            .session = agent->last.id[0] == '\0' ? NULL : agent->last.id,
                            .model = said->model[0] == '\0' ? NULL : said->model,
                            .tokens = usage.input + usage.output,
                            .tokens_in = usage.input,
                            .tokens_out = usage.output,
                            .tokens_cached = usage.cached,
                            .cost_micro = cost_of(session, &usage),
                            .duration_ns = session->spawned.duration_ns,
                            .status = said->error.status,
                            .denials = (int64_t)said->denials,
                            .dropped = (int64_t)(coding_events_dropped(session->events) +
                                                 said->long_lines),
                            .promised = said->has_promise,
                            .until_ns = next_begin(session),
                            .totals = agent->record.is_usage_total ? buf_string(&totals) : NULL,
                            .message = message.len == 0 ? NULL : buf_string(&message)},
    };
    loop_record(agent->loop, &event);
}

static void remember_session(struct coding_session *session)
{
    struct last_session *last = &session->agent->last;
    const struct coding_said *said = coding_stream_said(session->stream);
    const char *id = said->session[0] != '\0' ? said->session : session->id;
    snprintf(last->id, sizeof(last->id), "%s", id);
    last->has_begun = said->messages + said->tool_calls > 0 || said->has_usage;
}

/* ---- The report ------------------------------------------------------------------------------
 */

static enum loop_outcome outcome_of(const struct coding_session *session)
{
    bool waits = loop_state(session->agent->loop)->waits_until_ns > 0;
    if (session->spawned.end == SPAWN_NOT_STARTED) {
        return LOOP_UNRECOVERABLE;
    }
    switch (session->verdict.outcome) {
    case CODING_OK:
        return LOOP_OK;
    case CODING_AUTH:
        return LOOP_UNRECOVERABLE;
    case CODING_KILLED:
        return LOOP_INTERRUPTED;
    case CODING_TIMEOUT:
        return LOOP_TIMED_OUT;
    case CODING_API_QUOTA:
        return waits ? LOOP_INTERRUPTED : LOOP_FAILED;
    case CODING_CRASH:
        return session->spawned.end == SPAWN_SIGNALLED ? LOOP_CRASHED : LOOP_FAILED;
    case CODING_API_TRANSIENT:
        return is_repeated(session) ? LOOP_INTERRUPTED : LOOP_FAILED;
    case CODING_NO_WORK:
    case CODING_DENIED:
    case CODING_LIMIT:
    case CODING_FAILED:
    case CODING_CLASS_COUNT:
        break;
    }
    return LOOP_FAILED;
}

/** In words: what it came to, and for what a person must do what to do. */
static void describe(const struct coding_session *session, struct buf *text)
{
    const struct coding_record *record = &session->agent->record;
    const struct coding_verdict *verdict = &session->verdict;
    if (verdict->outcome == CODING_OK || verdict->outcome == CODING_KILLED) {
        return;
    }
    buf_printf(text, "%s: %s", record->name, coding_class_name(verdict->outcome));
    auto_buf struct buf why = {0};
    coding_events_clean(session->events, verdict->message, strlen(verdict->message), &why);
    buf_printf(text, "%s%s", why.len > 0 ? ": " : "", buf_string(&why));
    if (verdict->outcome == CODING_AUTH) {
        buf_printf(text, ". Log in with `%s`", record->program);
        if (record->keys != NULL && record->keys[0] != NULL) {
            buf_printf(text, " or set %s", record->keys[0]);
        }
        buf_append_string(text, ", then try again");
    }
    if (verdict->outcome == CODING_API_QUOTA &&
        loop_state(session->agent->loop)->attempt > LIMIT_CODING_QUOTA_WAITS) {
        buf_printf(text,
                   ". It was waited for %d times; raise the quota, or use another account or model",
                   LIMIT_CODING_QUOTA_WAITS);
    }
    if (verdict->outcome == CODING_NO_WORK && record->permissions == CODING_GUARDED) {
        buf_append_string(text, ". With --sandbox namespace it needs no permission");
    }
}

static void report(struct coding_session *session)
{
    struct loop *loop = session->agent->loop;
    const struct coding_said *said = coding_stream_said(session->stream);
    const struct run_state *state = loop_state(loop);
    auto_buf struct buf message = {0};
    auto_buf struct buf output = {0};
    enum loop_outcome outcome = outcome_of(session);
    const struct buf *shown =
        outcome == LOOP_OK || session->errors.len == 0 ? &said->answer : &session->errors;
    coding_events_clean(session->events, buf_string(shown), shown->len, &output);
    describe(session, &message);
    bool is_done = outcome == LOOP_OK && loop_spec(loop)->condition_count == 0;
    struct loop_body_result body = {
        .outcome = outcome,
        .exit_code = session->spawned.end == SPAWN_EXITED ? session->spawned.exit_code : -1,
        .signal = session->spawned.end == SPAWN_SIGNALLED ? session->spawned.signal : 0,
        .duration_ns = session->spawned.duration_ns,
        .tokens = state->body_tokens,
        .cost_micro = state->is_body_cost_unknown ? COST_UNKNOWN : state->body_cost_micro,
        .finish = is_done ? FINISH_COMPLETED : FINISH_NONE,
        .summary = is_done && output.len > 0 ? buf_string(&output) : NULL,
        .message = message.len == 0 ? NULL : buf_string(&message),
        .output = output.data,
        .output_len = output.len,
        .output_total = session->spawned.output_total,
    };
    loop_report(loop, &body);
}

static void session_fini(struct coding_session *session)
{
    coding_stream_free(session->stream);
    coding_events_free(session->events);
    spawn_result_fini(&session->spawned);
    environment_free(session->envp);
    buf_fini(&session->errors);
}

/** @param may_resume false: with a new session in any case */
static int run_session(struct coding_agent *agent, bool may_resume, struct coding_session *session,
                       struct rondo_error *err)
{
    *session = (struct coding_session){.agent = agent};
    char **names = passed_names(agent);
    session->envp = environment_of(agent, names);
    memory_free_list(names);
    session->events =
        coding_events_new(agent->loop, &agent->options, (const char *const *)session->envp);
    session->stream = coding_stream_new(agent->record.format, coding_events_take, session->events);
    choose_session(session, may_resume);
    int r = run_program(session, err);
    if (r < 0) {
        return r;
    }
    coding_stream_end(session->stream);
    coding_events_end(session->events);
    session->verdict = classify(session);
    struct model_usage totals = coding_stream_said(session->stream)->usage;
    remember_session(session);
    record_finished(session);
    agent->last.totals = totals;
    return coding_events_failure(session->events, err);
}

/** An old session that the agent does not know any more: nothing happened in it. */
static bool was_not_resumed(const struct coding_session *session)
{
    const struct coding_said *said = coding_stream_said(session->stream);
    bool has_failed =
        session->verdict.outcome == CODING_CRASH || session->verdict.outcome == CODING_FAILED;
    return session->is_resumed && has_failed && session->spawned.end == SPAWN_EXITED &&
           said->messages + said->tool_calls == 0;
}

int coding_agent_run(struct coding_agent *agent, struct rondo_error *err)
{
    struct coding_session session;
    int r = run_session(agent, true, &session, err);
    if (r == 0 && was_not_resumed(&session)) {
        session_fini(&session);
        r = run_session(agent, false, &session, err);
    }
    if (r == 0) {
        report(&session);
    }
    session_fini(&session);
    return r;
}
