/* The search: a hill climb over one-token changes; see search.h. */
#include "search.h"

#include "cover.h"
#include "mutate.h"
#include "process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    TABU_PERMILLE =
        400, /* what failed before the last repair may work now, but later than others */
    JITTER_PERMILLE = 100,
    WINDOW = 4,        /* how many candidates are tried after those of the line that helps */
    SAVE_INTERVAL = 4, /* how many candidates may have to be tried again after a crash */
};

/* What one iteration has at hand. */
struct round {
    struct search *search;
    struct scratch scratch;
    struct source_set sources;
    struct mutation_list candidates;
    size_t tried;
    const struct mutation *best; /* among the candidates, or NULL while none helps */
    struct check_score best_score;
    struct text repair; /* the description of the accepted repair, empty without one */
};

static void suspect_lines(struct round *round, const struct check_report *report)
{
    struct state *state = &round->search->state;
    struct suspect_map map = {0};

    suspect_init(&map, &round->sources);
    if (report->score.errors == 0 && report->score.failing > 0)
        cover_add(&map, &round->sources, &round->scratch, text_string(&report->test_output));
    suspect_add_diagnostics(&map, &round->sources, text_string(&report->build_output));
    suspect_add_diagnostics(&map, &round->sources, text_string(&report->lint_output));
    suspect_spread(&map, &round->sources);
    free(state->levels);
    state->levels = map.levels;
    state->level_count = map.count;
    map.levels = NULL;
    suspect_fini(&map);
}

/* Looks at the sources afresh: at the start, after a repair, and whenever the workspace is not
 * what the state is about, as after a crash between a repair and the next checkpoint. */
static bool get_bearings(struct round *round)
{
    struct state *state = &round->search->state;
    struct check_report report = {0};
    const uint64_t fingerprint = source_fingerprint(&round->sources);

    if (state->fingerprint != fingerprint && state->fingerprint != 0 &&
        state->previous == fingerprint && state->repair_count > 0)
        state_drop_repair(state, state->repair_count - 1);
    check_measure(&round->scratch, &report);
    if (!check_is_green(&report.score))
        suspect_lines(round, &report);
    const bool is_good = !process_is_stopped();

    if (is_good) {
        state->fingerprint = fingerprint;
        state->score = report.score;
        state->position = 0;
    }
    check_report_fini(&report);
    return is_good;
}

static bool is_known(const struct round *round)
{
    const struct state *state = &round->search->state;
    size_t lines = 0;

    for (size_t i = 0; i < round->sources.count; i++)
        lines += (size_t)round->sources.files[i].line_count;
    return state->fingerprint == source_fingerprint(&round->sources) &&
           (state->level_count == lines || check_is_green(&state->score));
}

static int compare_priorities(const void *a, const void *b)
{
    const struct mutation *left = a;
    const struct mutation *right = b;

    if (left->priority != right->priority)
        return left->priority > right->priority ? -1 : 1;
    return (left->key > right->key) - (left->key < right->key);
}

/* For a pair both lines count: a wrong repair can keep the line of the right one from being run,
 * and then tests say nothing about that line. */
static int level_of(const struct round *round, const struct suspect_map *map,
                    const struct mutation *mutation)
{
    const int *levels = round->search->state.levels;
    const int *line = suspect_at(map, &round->sources, mutation->file, mutation->line);
    const int level = levels[line - map->levels];

    if (!mutation->undo.is_set)
        return level;
    line = suspect_at(map, &round->sources, mutation->file, mutation->undo.line);
    return (levels[line - map->levels] + level) / 2;
}

static void order_candidates(struct round *round)
{
    const struct state *state = &round->search->state;
    struct suspect_map map = {0};

    mutate_list(&round->sources, &round->candidates);
    mutate_combine(&round->sources, state->repairs, state->repair_count, &round->candidates);
    suspect_init(&map, &round->sources);
    for (size_t i = 0; i < round->candidates.count; i++) {
        struct mutation *mutation = &round->candidates.items[i];
        const uint64_t noise = text_hash(mutation->key, &state->seed, sizeof(state->seed));

        mutation->priority = (long)level_of(round, &map, mutation) * mutation->weight;
        mutation->priority += mutation->priority * (long)(noise % JITTER_PERMILLE) / 1000;
        if (state_is_tabu(state, mutation->key))
            mutation->priority = mutation->priority * TABU_PERMILLE / 1000;
    }
    suspect_fini(&map);
    qsort(round->candidates.items, round->candidates.count, sizeof(*round->candidates.items),
          compare_priorities);
}

/* The state goes first: if we die in between, the fingerprints tell that the repair is missing. */
static bool store_repair(struct round *round, const struct source_file *file)
{
    struct text path = {0};
    struct stat status = {0};

    text_printf(&path, "%s/%s", round->search->workspace, file->path);
    bool is_stored = state_save(&round->search->state, round->search->runtime->state_file) &&
                     stat(path.data, &status) == 0 &&
                     text_replace_file(path.data, text_string(&file->content), file->content.len,
                                       (unsigned)status.st_mode & 0777);

    if (!is_stored)
        fprintf(stderr, "repair-worker: %s: %s\n", path.data, strerror(errno));
    text_fini(&path);
    return is_stored;
}

/* A repair of a repair takes its place; one that only takes it back leaves nothing. */
static void note_repair(struct state *state, const struct mutation *mutation, char *path)
{
    struct mutation_repair repair = {
        .path = path, .line = mutation->line, .column = mutation->column};

    memcpy(repair.before, mutation->before, sizeof(repair.before));
    memcpy(repair.after, mutation->after, sizeof(repair.after));
    for (size_t i = 0; i < state->repair_count; i++) {
        const struct mutation_repair *old = &state->repairs[i];

        if (strcmp(old->path, path) != 0 || old->line != repair.line ||
            old->column != repair.column)
            continue;
        memcpy(repair.before, old->before, sizeof(repair.before));
        state_drop_repair(state, i);
        break;
    }
    if (strcmp(repair.before, repair.after) != 0)
        state_add_repair(state, &repair);
}

static bool accept_best(struct round *round)
{
    struct state *state = &round->search->state;
    struct source_file *file = &round->sources.files[round->best->file];
    struct text content = {0};

    mutate_describe(&round->sources, round->best, &round->repair);
    for (size_t i = 0; i < state->position; i++) {
        if (&round->candidates.items[i] != round->best)
            state_add_tabu(state, round->candidates.items[i].key);
    }
    if (round->best->undo.is_set)
        state_drop_repair(state, round->best->undo.repair);
    note_repair(state, round->best, file->path);
    state->previous = state->fingerprint;
    mutate_apply(&round->sources, round->best, &content);
    text_fini(&file->content);
    file->content = content;
    state->fingerprint = source_fingerprint(&round->sources);
    state->score = round->best_score;
    state->level_count = 0; /* makes the next iteration get its bearings */
    return store_repair(round, file);
}

/* Tries the candidate at the state's position and moves on. */
static bool try_next(struct round *round)
{
    struct state *state = &round->search->state;
    const struct mutation *mutation = &round->candidates.items[state->position];
    const struct source_file *file = &round->sources.files[mutation->file];
    const struct check_score *bar = round->best != NULL ? &round->best_score : &state->score;
    struct text content = {0};
    struct check_score score = {0};

    mutate_apply(&round->sources, mutation, &content);
    bool is_fine = scratch_write(&round->scratch, file->path, &content);
    bool is_better = is_fine && check_is_better(&round->scratch, bar, &score);

    text_fini(&content);
    if (!is_fine || process_is_stopped())
        return is_fine;
    if (is_better) {
        round->best = mutation;
        round->best_score = score;
    }
    state->tried++;
    state->position++;
    round->tried++;
    return scratch_write(&round->scratch, file->path, &file->content);
}

/*
 * The first change that helps is often not the right one, but one that satisfies some of the tests
 * by luck; the right one helps more, and is likely to be in the same line. So the candidates of
 * that line are put next, and their number is returned.
 */
static size_t bring_line_forward(struct round *round)
{
    const struct mutation found = *round->best;
    struct mutation *items = round->candidates.items;
    size_t next = round->search->state.position;
    const size_t first = next;

    for (size_t i = first; i < round->candidates.count; i++) {
        const struct mutation candidate = items[i];

        if (candidate.file != found.file || candidate.line != found.line)
            continue;
        memmove(&items[next + 1], &items[next], (i - next) * sizeof(*items));
        items[next++] = candidate;
    }
    return next - first;
}

/* Whether a build from nothing says so too; if not, the search goes on with what it says. */
static bool confirm_green(struct round *round)
{
    struct state *state = &round->search->state;
    const struct source_file *file = &round->sources.files[round->best->file];
    struct check_report report = {0};

    if (!check_is_green(&state->score) ||
        !scratch_write(&round->scratch, file->path, &file->content))
        return false;
    check_measure_afresh(&round->scratch, &report);
    state->score = report.score;
    check_report_fini(&report);
    return check_is_green(&state->score);
}

/* Tries candidates until the budget is used up, or until one helps and its line is done. The state
 * is not saved between the two: a crash must not skip over the candidate that helps. */
static bool try_candidates(struct round *round)
{
    struct search *search = round->search;
    struct state *state = &search->state;
    size_t limit = search->budget;

    while (round->tried < limit && state->position < round->candidates.count) {
        const bool had_best = round->best != NULL;

        if (!try_next(round))
            return false;
        if (process_is_stopped())
            return true;
        if (round->best != NULL && !had_best)
            limit = round->tried + bring_line_forward(round) + WINDOW;
        if (round->best == NULL && round->tried % SAVE_INTERVAL == 0 &&
            !state_save(state, search->runtime->state_file))
            return false;
    }
    return round->best == NULL || accept_best(round);
}

static enum search_outcome search_round(struct round *round)
{
    struct state *state = &round->search->state;

    if (!is_known(round)) {
        if (!get_bearings(round))
            return SEARCH_STOPPED;
        if (!state_save(state, round->search->runtime->state_file))
            return SEARCH_BROKEN;
    }
    if (check_is_green(&state->score))
        return SEARCH_GREEN;
    order_candidates(round);
    if (!try_candidates(round))
        return SEARCH_BROKEN;
    if (round->best != NULL && confirm_green(round))
        return SEARCH_GREEN;
    if (process_is_stopped())
        return SEARCH_STOPPED;
    return round->best != NULL || state->position < round->candidates.count ? SEARCH_GOES_ON
                                                                            : SEARCH_EXHAUSTED;
}

static void print_progress(const struct round *round)
{
    struct text line = {0};

    text_printf(&line, "iteration %ld: tried %zu mutations, ", round->search->runtime->iteration,
                round->tried);
    check_describe(&round->search->state.score, &line);
    if (round->repair.len > 0)
        text_printf(&line, ", accepted %s", round->repair.data);
    puts(line.data);
    fflush(stdout);
    text_fini(&line);
}

enum search_outcome search_iterate(struct search *search)
{
    struct round round = {.search = search};
    enum search_outcome outcome = SEARCH_BROKEN;

    if (source_load(&round.sources, search->workspace) &&
        scratch_open(&round.scratch, search->workspace, search->runtime->run_id)) {
        /* The compilers' own temporary files go into the copy and vanish with it. */
        setenv("TMPDIR", round.scratch.path.data, 1);
        outcome = search_round(&round);
        if (outcome != SEARCH_BROKEN && outcome != SEARCH_STOPPED &&
            !state_save(&search->state, search->runtime->state_file))
            outcome = SEARCH_BROKEN;
        if (outcome == SEARCH_STOPPED)
            printf("iteration %ld: stopped by a signal\n", search->runtime->iteration);
        else if (outcome != SEARCH_BROKEN)
            print_progress(&round);
    }
    scratch_close(&round.scratch);
    mutate_list_fini(&round.candidates);
    source_fini(&round.sources);
    text_fini(&round.repair);
    return outcome;
}
