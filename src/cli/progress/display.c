// SPDX-License-Identifier: Apache-2.0
/*
 * The display's thread. Events come as fast as they are committed; the live area is drawn a few
 * times a second, with all lines that came due in between, in one write.
 */
#include "cli/progress/display.h"

#include "base/auto.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/memory.h"
#include "cli/framework/report.h"
#include "cli/framework/signals.h"
#include "cli/progress/agent_view.h"
#include "cli/progress/event_line.h"
#include "cli/progress/output_queue.h"
#include "cli/progress/prd_view.h"
#include "cli/progress/view.h"
#include "cli/terminal/terminal.h"
#include "cli/terminal/text.h"
#include "journal/describe.h"
#include "journal/reader.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/** Time between two frames. */
#define FRAME_NS (80 * NS_PER_MS)
/** Pause after the store could not be read. */
#define RETRY_NS (250 * NS_PER_MS)
/** Columns assumed when the terminal does not say. */
#define DEFAULT_COLUMNS 80
#define DEFAULT_ROWS    24
/** Bytes of the worker's last line that are shown. */
#define LINE_BYTES 1024

struct display {
    struct display_options options;
    struct style style;
    bool is_live;
    char run_id[ID_SIZE];
    struct cancel stop;
    pthread_t thread;
    bool has_thread;

    struct output_queue *output; /* of the worker */
    atomic_bool is_store_failing;

    pthread_mutex_t lock; /* guards the next two */
    pthread_cond_t changed;
    bool is_pause_wanted;
    bool is_paused;

    bool is_agent;
    struct agent_view agent; /* display's thread only, as the rest, but for its tail */
    bool is_prd;
    struct prd_view prd;
    struct view view;
    struct terminal terminal;
    struct buf permanent;
    uint64_t shown_iteration;
    unsigned tick;
    int64_t drawn_ns;
};

void display_output(void *context, const char *bytes, size_t len)
{
    struct display *display = context;
    if (display->is_agent) {
        agent_view_text(&display->agent, bytes, len); /* Whole replies come as events. */
    } else if (display->options.wants_progress) {
        output_queue_add(display->output, bytes, len);
    }
}

void display_pause(struct display *display)
{
    if (display == NULL) {
        return;
    }
    pthread_mutex_lock(&display->lock);
    display->is_pause_wanted = true;
    while (display->is_live && display->has_thread && !display->is_paused) {
        pthread_cond_wait(&display->changed, &display->lock);
    }
    pthread_mutex_unlock(&display->lock);
}

void display_resume(struct display *display)
{
    if (display == NULL) {
        return;
    }
    pthread_mutex_lock(&display->lock);
    display->is_pause_wanted = false;
    display->is_paused = false;
    pthread_mutex_unlock(&display->lock);
}

void display_iteration(struct display *display, uint64_t iteration)
{
    output_queue_begin(display->output, iteration);
}

void display_store_failing(struct display *display, bool is_failing)
{
    bool was_failing = atomic_exchange(&display->is_store_failing, is_failing);
    if (is_failing && !was_failing && !display->is_live) {
        report_warning("the store fails; the run continues without checkpoints");
    }
}

/** Remove the live area when requested. @return whether nothing must be drawn */
static bool is_paused(struct display *display)
{
    pthread_mutex_lock(&display->lock);
    bool begins = display->is_pause_wanted && !display->is_paused;
    if (begins) {
        struct buf nothing = {0};
        terminal_update(&display->terminal, &display->permanent, &nothing);
        buf_clear(&display->permanent);
        display->is_paused = true;
        pthread_cond_signal(&display->changed);
    }
    bool is_paused = display->is_paused;
    pthread_mutex_unlock(&display->lock);
    return is_paused;
}

static void draw(struct display *display, int64_t monotonic_ns)
{
    char line[LINE_BYTES];
    size_t line_len = output_queue_last(display->output, line, sizeof(line));
    struct frame_info info = {
        .style = &display->style,
        .columns = style_columns(stderr, DEFAULT_COLUMNS),
        .rows = style_rows(stderr, DEFAULT_ROWS),
        .tick = display->tick++,
        .now_ns = clock_now(clock_system()),
        .worker_line = line,
        .worker_line_len = line_len,
        .is_stopping = signals_want_stop() || display->view.state.is_stop_requested,
        .is_store_failing = atomic_load(&display->is_store_failing),
    };
    auto_buf struct buf lines = {0};
    auto_buf struct buf activity = {0};
    if (display->is_agent) {
        size_t others = view_frame_rows(&display->view, &info);
        agent_view_lines(&display->agent, &info, info.rows > others ? info.rows - others : 0,
                         &lines);
        agent_view_activity(&display->agent, &display->view, &info, &activity);
        info.lines = buf_string(&lines);
        info.activity = buf_string(&activity);
    }
    auto_buf struct buf head = {0};
    if (display->is_prd) {
        size_t others = view_frame_rows(&display->view, &info);
        prd_view_lines(&display->prd, &info, info.rows > others ? info.rows - others : 0, &lines);
        prd_view_head(&display->prd, &info.head_done, &info.head_total, &head);
        info.lines = buf_string(&lines);
        info.head = buf_string(&head);
        if (line_len == 0) { /* else the last line of a worker is more telling */
            prd_view_activity(&display->prd, &info, &activity);
            info.activity = buf_string(&activity);
        }
    }
    auto_buf struct buf frame = {0};
    view_frame(&display->view, &info, &frame);
    terminal_update(&display->terminal, &display->permanent, &frame);
    buf_clear(&display->permanent);
    display->drawn_ns = monotonic_ns;
}

/** Events that leave a line of their own above the live area, besides the line per iteration. */
static bool is_shown_live(const struct journal_entry *entry)
{
    static const bool is_shown[JOURNAL_TYPE_COUNT] = {
        [JOURNAL_RUN_OPTIONS] = true,         [JOURNAL_RUN_STOP_REQUESTED] = true,
        [JOURNAL_RUN_PAUSED] = true,          [JOURNAL_RUN_CONTINUED] = true,
        [JOURNAL_GATE_DENIED] = true,         [JOURNAL_ITERATION_INTERRUPTED] = true,
        [JOURNAL_FINISH_REJECTED] = true,     [JOURNAL_CHECKPOINT_CORRUPT] = true,
        [JOURNAL_STORAGE_DEGRADED] = true,    [JOURNAL_NOTE] = true,
        [JOURNAL_LIMIT_WARNING] = true,       [JOURNAL_POLICY_CHANGED] = true,
        [JOURNAL_POLICY_REFUSED] = true,      [JOURNAL_HANDOFF_REQUESTED] = true,
        [JOURNAL_HANDOFF_DECIDED] = true,     [JOURNAL_HISTORY_COMPACTED] = true,
        [JOURNAL_DELEGATION_FINISHED] = true,
    };
    return entry->is_known && is_shown[entry->event.type];
}

static void add_event_text(struct display *display, const struct journal_entry *entry)
{
    enum event_level level = event_level(&entry->event);
    enum colour colour = level == EVENT_LEVEL_INFO ? COLOUR_DIM : event_colour(level);
    auto_buf struct buf text = {0};
    struct style plain = display->style;
    plain.has_colour = false;
    event_line(entry, &plain, &text);
    buf_append_string(&display->permanent, "  ");
    buf_append_string(&display->permanent, style_begin(&display->style, colour));
    text_wrap(buf_string(&text), 4, style_columns(stderr, DEFAULT_COLUMNS), 2, &display->permanent);
    buf_append_string(&display->permanent, style_end(&display->style));
    buf_append_string(&display->permanent, "\n");
}

/** Besides, what an agent's events leave; its iterations have panels in place of lines. */
static bool take_agent(struct display *display, const struct journal_entry *entry)
{
    if (!display->is_agent) {
        return false;
    }
    if (display->view.condition_count == 0) {
        display->view.has_finished = false;
    }
    return agent_view_apply(&display->agent, &display->view, entry, &display->style,
                            style_columns(stderr, DEFAULT_COLUMNS), &display->permanent);
}

/** The tasks of a PRD have lines of their own in place of those of iterations. */
static bool take_prd(struct display *display, const struct journal_entry *entry)
{
    if (!display->is_prd) {
        return false;
    }
    display->view.has_finished = false;
    return prd_view_apply(&display->prd, entry, &display->style,
                          style_columns(stderr, DEFAULT_COLUMNS), &display->permanent);
}

static void take_live(struct display *display, const struct journal_entry *entry)
{
    view_apply(&display->view, entry);
    bool is_taken = take_agent(display, entry) || take_prd(display, entry);
    if (view_line_is_due(&display->view, entry)) {
        view_take_line(&display->view, &display->style, &display->permanent);
        buf_append_string(&display->permanent, "\n");
    }
    if (is_shown_live(entry) && !is_taken) {
        add_event_text(display, entry);
    }
}

/** Where there is no live area, the worker's output is shown between the events it belongs to. */
static void show_output(struct display *display, uint64_t iteration)
{
    if (display->options.wants_progress && !display->is_live) {
        auto_buf struct buf lines = {0};
        output_queue_take(display->output, iteration, &lines);
        fwrite(buf_string(&lines), 1, lines.len, stderr);
    }
}

/** What is worth a line while one answer is made; the answer itself goes to stdout. */
static bool is_shown_in_answer(const struct journal_entry *entry)
{
    static const bool is_shown[JOURNAL_TYPE_COUNT] = {
        [JOURNAL_MODEL_RETRYING] = true,      [JOURNAL_TOOL_FINISHED] = true,
        [JOURNAL_POLICY_REFUSED] = true,      [JOURNAL_POLICY_CHANGED] = true,
        [JOURNAL_GATE_DENIED] = true,         [JOURNAL_STEP_DENIED] = true,
        [JOURNAL_RUN_STOP_REQUESTED] = true,  [JOURNAL_STORAGE_DEGRADED] = true,
        [JOURNAL_CHECKPOINT_CORRUPT] = true,  [JOURNAL_RUN_PAUSED] = true,
        [JOURNAL_RUN_CONTINUED] = true,       [JOURNAL_HANDOFF_REQUESTED] = true,
        [JOURNAL_HANDOFF_DECIDED] = true,     [JOURNAL_HISTORY_COMPACTED] = true,
        [JOURNAL_DELEGATION_FINISHED] = true,
    };
    return entry->is_known && is_shown[entry->event.type];
}

static void take_plain(struct display *display, const struct journal_entry *entry)
{
    bool is_answer = display->is_agent && !display->agent.is_numbered;
    if (is_answer && !is_shown_in_answer(entry)) {
        return;
    }
    if (entry->is_known && entry->event.type == JOURNAL_ITERATION_STARTED) {
        display->shown_iteration = (uint64_t)entry->event.iteration_started.iteration;
    } else {
        show_output(display, display->shown_iteration);
    }
    auto_buf struct buf line = {0};
    if (display->is_agent) {
        agent_view_plain(&display->agent, entry, &display->style, &line);
    } else {
        event_line(entry, &display->style, &line);
        buf_append_string(&line, "\n");
    }
    fwrite(buf_string(&line), 1, line.len, stderr);
}

static void take_entry(struct display *display, const struct journal_entry *entry)
{
    if (display->options.wants_json) {
        auto_buf struct buf line = {0};
        event_json(entry, &line);
        report_output(&line);
    }
    if (display->is_live) {
        take_live(display, entry);
    } else if (display->options.wants_progress) {
        take_plain(display, entry);
    }
}

/** One round. @return whether there is more to read at once */
static bool read_once(struct display *display, struct journal_reader *reader, bool is_stopping)
{
    const struct journal_entry *entry = NULL;
    struct rondo_error err = {0};
    int r = journal_reader_next(reader, is_stopping ? 0 : FRAME_NS, &display->stop, &entry, &err);
    if (r == 1) {
        take_entry(display, entry);
    } else if (r == 0) {
        show_output(display, display->shown_iteration);
    } else if (r < 0) {
        cancel_wait(&display->stop, RETRY_NS); /* Writers to the store will report it. */
    }
    return r == 1;
}

static void *display_main(void *argument)
{
    struct display *display = argument;
    struct journal_reader *reader =
        journal_reader_new(display->options.writer, display->run_id, display->options.after);
    for (;;) {
        bool is_stopping = cancel_is_set(&display->stop);
        bool has_more = read_once(display, reader, is_stopping);
        int64_t now_ns = clock_monotonic(clock_system());
        if (display->is_live && now_ns - display->drawn_ns >= FRAME_NS && !is_paused(display)) {
            draw(display, now_ns);
        }
        if (is_stopping && !has_more) {
            break;
        }
    }
    journal_reader_free(reader);
    return NULL;
}

struct display *display_start(const struct display_options *options)
{
    struct display *display = memory_new_zero(1, sizeof(*display));
    display->options = *options;
    memcpy(display->run_id, options->run_id, ID_SIZE);
    display->style = style_for(stderr, options->no_colour);
    display->is_live = options->wants_progress && display->style.is_terminal;
    display->terminal.stream = stderr;
    pthread_mutex_init(&display->lock, NULL);
    pthread_cond_init(&display->changed, NULL);
    display->is_agent = agent_view_is_for(options->spec);
    view_init(&display->view, options->spec);
    if (display->is_agent) {
        agent_view_init(&display->agent, options->spec);
    }
    display->is_prd = display->is_live && work_is_parent(options->spec);
    if (display->is_prd && options->after > 0) {
        prd_view_load(&display->prd, writer_store(options->writer), options->run_id,
                      options->after);
    }
    if (options->state != NULL) {
        uint64_t limit = display->view.state.limit;
        display->view.state = *options->state;
        display->view.state.seq = options->after;
        display->view.state.limit = limit;
    }
    display->output = output_queue_new();
    if (!options->wants_json && !options->wants_progress) {
        return display;
    }
    if (display->is_live) {
        buf_append_string(&display->permanent, options->header);
    } else if (options->wants_progress) {
        fputs(options->header, stderr);
    }
    struct rondo_error err = {0};
    display->has_thread = cancel_init(&display->stop, &err) == 0 &&
                          pthread_create(&display->thread, NULL, display_main, display) == 0;
    if (!display->has_thread) {
        report_warning("no progress is shown: this process cannot start another thread");
    }
    signals_guard_terminal(display->is_live);
    return display;
}

void display_finish(struct display *display)
{
    if (display->has_thread) {
        cancel_set(&display->stop, CANCEL_GRACEFUL);
        pthread_join(display->thread, NULL);
    }
    if (display->is_live && display->has_thread) {
        struct buf nothing = {0};
        terminal_update(&display->terminal, &display->permanent, &nothing);
        signals_guard_terminal(false);
    }
    terminal_fini(&display->terminal);
    agent_view_fini(&display->agent);
    prd_view_fini(&display->prd);
    pthread_cond_destroy(&display->changed);
    pthread_mutex_destroy(&display->lock);
    buf_fini(&display->permanent);
    cancel_fini(&display->stop);
    output_queue_free(display->output);
    free(display);
}
