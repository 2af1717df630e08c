// SPDX-License-Identifier: Apache-2.0
/*
 * The display's thread. Events come as fast as they are committed; the live area is drawn a few
 * times a second, with all lines that came due in between, in one write.
 */
#include "cli/display.h"

#include "base/auto.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/memory.h"
#include "cli/event_text.h"
#include "cli/report.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "cli/view.h"
#include "journal/reader.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/** Time between two frames. */
#define FRAME_NS (80 * NS_PER_MS)
/** How long to wait for events where nothing moves by itself. */
#define QUIET_NS NS_PER_S
/** Pause after the store could not be read. */
#define RETRY_NS (250 * NS_PER_MS)
/** Columns assumed when the terminal does not say. */
#define DEFAULT_COLUMNS 80
#define DEFAULT_ROWS    24
/** Bytes of the worker's last line that are kept. */
#define LINE_BYTES 1024

struct display {
    struct display_options options;
    struct style style;
    bool is_live;
    char run_id[ID_SIZE];
    struct cancel stop;
    pthread_t thread;
    bool has_thread;

    pthread_mutex_t line_lock; /* guards the next three */
    char line[LINE_BYTES];     /* last line that is not empty */
    size_t line_len;
    bool is_line_whole; /* the next byte begins a new one */

    atomic_bool is_store_failing;

    struct view view; /* display's thread only, as the rest */
    struct terminal terminal;
    struct buf permanent;
    unsigned tick;
    int64_t drawn_ns;
};

static void add_line_bytes(struct display *display, const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] == '\n' || bytes[i] == '\r') {
            display->is_line_whole = true;
            continue;
        }
        if (display->is_line_whole) {
            display->is_line_whole = false;
            display->line_len = 0;
        }
        if (display->line_len < sizeof(display->line)) {
            display->line[display->line_len++] = bytes[i];
        }
    }
}

void display_output(void *context, const char *bytes, size_t len)
{
    struct display *display = context;
    if (!display->is_live) {
        return;
    }
    /* Only the end of a long piece can become the last line. */
    size_t keep = len > 2 * LINE_BYTES ? 2 * LINE_BYTES : len;
    pthread_mutex_lock(&display->line_lock);
    display->is_line_whole = display->is_line_whole || keep < len;
    add_line_bytes(display, bytes + len - keep, keep);
    pthread_mutex_unlock(&display->line_lock);
}

void display_store_failing(struct display *display, bool is_failing)
{
    atomic_store(&display->is_store_failing, is_failing);
}

static size_t copy_line(struct display *display, char ret_line[LINE_BYTES])
{
    pthread_mutex_lock(&display->line_lock);
    size_t len = display->line_len;
    memcpy(ret_line, display->line, len);
    pthread_mutex_unlock(&display->line_lock);
    return len;
}

static void draw(struct display *display, int64_t monotonic_ns)
{
    char line[LINE_BYTES];
    size_t line_len = copy_line(display, line);
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
        [JOURNAL_RUN_OPTIONS] = true,      [JOURNAL_STOP_REQUESTED] = true,
        [JOURNAL_GATE_DENIED] = true,      [JOURNAL_ITERATION_INTERRUPTED] = true,
        [JOURNAL_FINISH_REJECTED] = true,  [JOURNAL_CHECKPOINT_CORRUPT] = true,
        [JOURNAL_STORAGE_DEGRADED] = true, [JOURNAL_NOTE] = true,
    };
    return entry->is_known && is_shown[entry->event.type];
}

static void add_event_text(struct display *display, const struct journal_entry *entry)
{
    bool is_warning = event_is_warning(entry);
    buf_append_string(&display->permanent, "  ");
    buf_append_string(&display->permanent,
                      style_begin(&display->style, is_warning ? COLOUR_RED : COLOUR_DIM));
    buf_append_string(&display->permanent, is_warning ? "warning: " : "");
    struct style plain = display->style;
    plain.has_colour = false;
    event_text(entry, &plain, &display->permanent);
    buf_append_string(&display->permanent, style_end(&display->style));
    buf_append_string(&display->permanent, "\n");
}

static void take_live(struct display *display, const struct journal_entry *entry)
{
    view_apply(&display->view, entry);
    if (view_line_is_due(&display->view, entry)) {
        auto_buf struct buf line = {0};
        view_take_line(&display->view, &display->style, &line);
        text_fit(buf_string(&line), style_columns(stderr, DEFAULT_COLUMNS) - 1,
                 &display->permanent);
        buf_append_string(&display->permanent, "\n");
    }
    if (is_shown_live(entry)) {
        add_event_text(display, entry);
    }
}

static void take_plain(struct display *display, const struct journal_entry *entry)
{
    auto_buf struct buf line = {0};
    buf_append_string(&line, event_is_warning(entry) ? "warning: " : "");
    event_text(entry, &display->style, &line);
    buf_append_string(&line, "\n");
    fwrite(line.data, 1, line.len, stderr);
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
    int64_t wait_ns = is_stopping ? 0 : display->is_live ? FRAME_NS : QUIET_NS;
    int r = journal_reader_next(reader, wait_ns, &display->stop, &entry, &err);
    if (r == 1) {
        take_entry(display, entry);
    } else if (r < 0) {
        cancel_wait(&display->stop, RETRY_NS); /* Who writes to the store will report it. */
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
        if (display->is_live && now_ns - display->drawn_ns >= FRAME_NS) {
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
    display->is_line_whole = true;
    display->terminal.stream = stderr;
    view_init(&display->view, options->spec);
    if (options->state != NULL) {
        uint64_t limit = display->view.state.limit;
        display->view.state = *options->state;
        display->view.state.seq = options->after;
        display->view.state.limit = limit;
    }
    pthread_mutex_init(&display->line_lock, NULL);
    if (!options->wants_json && !options->wants_progress) {
        return display;
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
    buf_fini(&display->terminal.frame);
    buf_fini(&display->permanent);
    cancel_fini(&display->stop);
    pthread_mutex_destroy(&display->line_lock);
    free(display);
}
