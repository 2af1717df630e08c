// SPDX-License-Identifier: Apache-2.0
/*
 * `rondo prd run` on four tasks, the last of which needs the first, with a stand-in for git, a
 * worker and a check that count their steps. At a chosen step one process is killed with SIGKILL:
 * Rondo itself, git (before, in or after its work, or with a lock of a branch left behind), the
 * worker, its supervisor, or the check. Then the run is resumed until it has ended. Afterwards
 *
 *  - the branch has one commit for each task, in one line, with the trailers of its task;
 *  - every commit was recorded once, after its intent and a check that passed;
 *  - the prd.json could be parsed whenever it was looked at, and says that all is done;
 *  - the progress log has one entry for each task;
 *  - nothing is left: no working tree, no lock, no other reference, no folder of an attempt.
 */
#include "check.h"

#include "base/auto.h"
#include "base/clock.h"
#include "base/json/json.h"
#include "os/file.h"
#include "support/test.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define TASKS     4
#define MOST_RUNS 6
#define LOOK_NS   (15 * NS_PER_MS)
#define PATH_ROOM (SCENE_PATH + 64)

struct prd_scene {
    struct crash_scene *scene;
    char control[PATH_ROOM];
    char file[PATH_ROOM];
    char run_id[ID_SIZE];
    bool is_killed_at_end; /* when the run has ended, but the process has not */
};

/* ---- The programs --------------------------------------------------------------------------- */

/** Counts the steps of a kind, and says what is to happen at this one. */
static const char step_text[] =
    "#!/bin/sh\n"
    "cd \"${0%/*}\" && echo \"$2\" >>\"steps-$1\" && [ -e plan ] || exit 0\n"
    "read -r kind mode at <plan\n"
    "[ \"$kind\" = \"$1\" ] && [ \"$(wc -l <\"steps-$1\")\" -ge \"$at\" ] &&\n"
    "mkdir hit 2>/dev/null && echo \"$2\" >hit/what && echo \"$mode\"\n";

static const char git_text[] =
    "#!/bin/sh\n"
    "C='%s'\n"
    "words=\"$*\"\n"
    "mode=$(\"$C/step\" git \"$words\")\n"
    "branch=\"$GIT_DIR/refs/heads/prd/scene\"\n"
    "case $mode in\n"
    "'') exec \"$C/git\" \"$@\" ;;\n"
    "parent-before) kill -9 \"$(cat \"$C/pid\")\" ;;\n"
    "before) kill -9 $$ ;;\n"
    "in) timeout -s KILL 0.004 \"$C/git\" \"$@\"; kill -9 $$ ;;\n"
    "lock) mkdir -p \"${branch%%/*}\"; : >\"$branch.lock\"; kill -9 $$ ;;\n"
    "parent-lock) mkdir -p \"${branch%%/*}\"; : >\"$branch.lock\"\n"
    "  kill -9 \"$(cat \"$C/pid\")\" $$ ;;\n"
    "esac\n"
    "\"$C/git\" \"$@\"\n"
    "code=$?\n"
    "case $mode in\n"
    "parent-after) kill -9 \"$(cat \"$C/pid\")\" ;;\n"
    "after) kill -9 $$ ;;\n"
    "esac\n"
    "exit $code\n";

/** Worker and check: each does its work in two steps. */
static const char act_text[] = "#!/bin/sh\n"
                               "C='%s'\n"
                               "act() {\n"
                               "  case $(\"$C/step\" \"$1\" \"$RONDO_TASK_ID\") in\n"
                               "  parent) kill -9 \"$(cat \"$C/pid\")\"; sleep 1000 ;;\n"
                               "  self) kill -9 $$ ;;\n"
                               "  above) kill -9 $PPID; sleep 1000 ;;\n"
                               "  esac\n"
                               "}\n";

static const char worker_text[] = "act worker\n"
                                  "echo \"$RONDO_TASK_ID\" >\"$RONDO_TASK_ID.txt\"\n"
                                  "act worker\n"
                                  "echo end >>\"$RONDO_TASK_ID.txt\"\n"
                                  "act worker\n";

static const char check_text[] = "act check\n"
                                 "for file in *.txt; do\n"
                                 "  [ \"$(wc -l <\"$file\")\" -eq 2 ] || exit 1\n"
                                 "done\n"
                                 "act check\n";

static const char prd_text[] =
    "{\n  \"name\": \"scene\",\n  \"userStories\": [\n"
    "    {\"id\": \"A\", \"title\": \"First\", \"status\": \"pending\", \"passes\": false},\n"
    "    {\"id\": \"B\", \"title\": \"Second\", \"status\": \"pending\", \"passes\": false},\n"
    "    {\"id\": \"C\", \"title\": \"Third\", \"status\": \"pending\", \"passes\": false},\n"
    "    {\"id\": \"D\", \"title\": \"Fourth\", \"dependsOn\": [\"A\"], \"status\": \"pending\", "
    "\"passes\": false}\n  ]\n}\n";

static void write_program(const struct prd_scene *prd, const char *name, const char *first,
                          const char *second)
{
    char path[PATH_ROOM + 16];
    auto_buf struct buf content = {0};
    buf_append_string(&content, first);
    buf_append_string(&content, second);
    snprintf(path, sizeof(path), "%s/%s", prd->scene->folder, name);
    assert_int_equal(file_replace_durably(path, content.data, content.len, NULL), 0);
    assert_int_equal(chmod(path, 0700), 0);
}

/** Run a script in the scene's folder to its end. @param ret_text what it said; or NULL */
static int shell(const struct prd_scene *prd, const char *script, struct buf *ret_text)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    struct child *child = child_start(prd->scene, argv);
    int status = child_wait(child);
    if (ret_text != NULL) {
        buf_append(ret_text, buf_string(&child->out), child->out.len);
    } else if (status != 0) {
        print_message("%s\n", buf_string(&child->out));
    }
    child_end(child);
    return status;
}

static int set_up(void **state)
{
    char text[sizeof(git_text) + PATH_ROOM];
    char act[sizeof(act_text) + PATH_ROOM];
    if (scene_setup_in_memory(state) != 0) {
        return -1;
    }
    struct prd_scene *prd = calloc(1, sizeof(*prd));
    prd->scene = *state;
    *state = prd;
    snprintf(prd->control, sizeof(prd->control), "%s/control", prd->scene->folder);
    snprintf(prd->file, sizeof(prd->file), "%s/repo/prd.json", prd->scene->folder);
    setenv("SCENE", prd->scene->folder, 1);
    setenv("GIT_CONFIG_GLOBAL", "/dev/null", 1);
    setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
    assert_int_equal(shell(prd, "mkdir \"$SCENE/control\" && : >\"$SCENE/control/git\"", NULL), 0);
    snprintf(text, sizeof(text), git_text, prd->control);
    snprintf(act, sizeof(act), act_text, prd->control);
    write_program(prd, "git", text, "");
    write_program(prd, "control/step", step_text, "");
    write_program(prd, "worker", act, worker_text);
    write_program(prd, "check", act, check_text);
    return 0;
}

static int tear_down(void **state)
{
    struct prd_scene *prd = *state;
    *state = prd->scene;
    free(prd);
    return scene_teardown(state);
}

/** A new repository and PRD, and nothing counted yet. */
static void begin(struct prd_scene *prd, const char *kind, const char *mode, uint64_t at)
{
    static const char script[] =
        "cd \"$SCENE\" && rm -rf repo cache home control/hit control/steps-* control/plan &&\n"
        "mkdir home && git init -q -b main repo && cd repo && git config user.name Tester &&\n"
        "git config user.email tester@example.org && echo base >base.md && git add base.md &&\n"
        "git commit -q -m base";
    char path[PATH_ROOM + 16];
    char plan[128];
    scene_clear(prd->scene);
    prd->run_id[0] = '\0';
    assert_int_equal(shell(prd, script, NULL), 0);
    assert_int_equal(file_replace_durably(prd->file, prd_text, strlen(prd_text), NULL), 0);
    if (mode != NULL) {
        snprintf(path, sizeof(path), "%s/plan", prd->control);
        snprintf(plan, sizeof(plan), "%s %s %" PRIu64 "\n", kind, mode, at);
        assert_int_equal(file_replace_durably(path, plan, strlen(plan), NULL), 0);
    }
}

/* ---- Running -------------------------------------------------------------------------------- */

static void check_file(const struct prd_scene *prd)
{
    auto_buf struct buf text = {0};
    auto_json struct json_object *root = NULL;
    struct rondo_error err = {0};
    assert_int_equal(file_read(prd->file, (size_t)1 << 20, &text, NULL), 0);
    if (json_parse(buf_string(&text), text.len, &root, &err) < 0) {
        fail_msg("prd.json is torn (%s):\n%s", err.message, buf_string(&text));
    }
}

static bool find_run(struct prd_scene *prd)
{
    static const char query[] = "SELECT id FROM runs ORDER BY key LIMIT 1";
    return prd->run_id[0] != '\0' ||
           (scene_text(prd->scene, query, prd->run_id, sizeof(prd->run_id)) &&
            prd->run_id[0] != '\0');
}

static bool has_ended(struct prd_scene *prd)
{
    static const char ended[] = "SELECT count(*) FROM runs WHERE ended_ns > 0 AND id = '%s'";
    char query[sizeof(ended) + ID_SIZE];
    snprintf(query, sizeof(query), ended, prd->run_id);
    return find_run(prd) && scene_count(prd->scene, query) == 1;
}

/** Rondo runs only a git of the system, so ours takes its place in a mount namespace. */
#define NAMESPACE                                                                                 \
    "exec bwrap --dev-bind / / --ro-bind \"$(readlink -f /usr/bin/git)\" \"$SCENE/control/git\" " \
    "--ro-bind \"$SCENE/git\" \"$(readlink -f /usr/bin/git)\" \"$@\""
#define RUN_SCRIPT                                                  \
    "echo $$ >\"$SCENE/control/pid\"; export HOME=\"$SCENE/home\" " \
    "XDG_CACHE_HOME=\"$SCENE/cache\" XDG_STATE_HOME=\"$SCENE/home\"; "

/** Start or continue the run, and look at the file until it has ended. @return status of waitpid */
static int run_once(struct prd_scene *prd, const char *jobs, struct buf *ret_text)
{
    static const char begin_script[] = RUN_SCRIPT
        "cd \"$SCENE/repo\"; exec \"$RONDO_BINARY\" prd run "
        "prd.json --store \"$0\" --sandbox none --gate \"words=$SCENE/check\" --jobs \"$1\" "
        "\"$SCENE/worker\"";
    static const char resume_script[] =
        RUN_SCRIPT "exec \"$RONDO_BINARY\" resume \"$1\" --store \"$0\"";
    bool is_known = find_run(prd);
    const char *const argv[] = {
        "sh",
        "-c",
        NAMESPACE,
        "sh",
        "sh",
        "-c",
        is_known ? resume_script : begin_script,
        prd->scene->store,
        is_known ? prd->run_id : jobs,
        NULL,
    };
    struct child *child = child_start(prd->scene, argv);
    int64_t until_ns = clock_monotonic(clock_system()) + SCENE_PATIENCE_NS;
    while (child_listen(child, prd->is_killed_at_end ? NS_PER_MS : LOOK_NS)) {
        check_file(prd);
        if (prd->is_killed_at_end && has_ended(prd)) {
            shell(prd, "kill -9 \"$(cat \"$SCENE/control/pid\")\"", NULL);
        }
        if (clock_monotonic(clock_system()) > until_ns) {
            fail_msg("rondo hangs:\n%s", buf_string(&child->out));
        }
    }
    int status = child_wait(child);
    check_file(prd);
    buf_append(ret_text, buf_string(&child->out), child->out.len);
    child_end(child);
    return status;
}

/** A server takes the run over, whose process is dead, and continues it to its end. */
static int serve_once(struct prd_scene *prd, struct buf *ret_text)
{
    static const char script[] =
        RUN_SCRIPT "exec \"$RONDO_BINARY\" serve --store \"$0\" --listen unix:\"$SCENE/socket\"";
    const char *const argv[] = {"sh", "-c",   NAMESPACE,         "sh", "sh",
                                "-c", script, prd->scene->store, NULL};
    struct child *child = child_start(prd->scene, argv);
    int64_t until_ns = clock_monotonic(clock_system()) + SCENE_PATIENCE_NS;
    bool is_alive = true;
    while (is_alive && !has_ended(prd)) {
        is_alive = child_listen(child, LOOK_NS);
        check_file(prd);
        if (clock_monotonic(clock_system()) > until_ns) {
            fail_msg("the server does not continue the run:\n%s", buf_string(&child->out));
        }
    }
    shell(prd, "kill -TERM \"$(cat \"$SCENE/control/pid\")\"", NULL);
    int status = child_wait(child);
    buf_append(ret_text, buf_string(&child->out), child->out.len);
    child_end(child);
    return status;
}

static bool is_hit(const struct prd_scene *prd)
{
    char path[PATH_ROOM + 16];
    snprintf(path, sizeof(path), "%s/hit", prd->control);
    return access(path, F_OK) == 0;
}

/* ---- What must be true ---------------------------------------------------------------------- */

static void expect_count(struct prd_scene *prd, const char *query, int64_t expected)
{
    int64_t count = scene_count(prd->scene, query);
    if (count != expected) {
        fail_msg("%s: %lld, not %lld", query, (long long)count, (long long)expected);
    }
}

static void expect_text(struct prd_scene *prd, const char *script, const char *expected)
{
    auto_buf struct buf text = {0};
    assert_int_equal(shell(prd, script, &text), 0);
    assert_string_equal(buf_string(&text), expected);
}

static void check_repository(struct prd_scene *prd)
{
    char run_line[ID_SIZE + 8];
    expect_text(prd,
                "cd \"$SCENE/repo\" && git log --format='%(trailers:key=Rondo-Task,valueonly)' "
                "main..prd/scene | sed '/^$/d' | sort | tr '\\n' ' '",
                "A B C D ");
    snprintf(run_line, sizeof(run_line), "4 %s\n", prd->run_id);
    expect_text(prd,
                "cd \"$SCENE/repo\" && git log --format='%(trailers:key=Rondo-Run,valueonly)' "
                "main..prd/scene | sed '/^$/d' | uniq -c | sed 's/^ *//'",
                run_line);
    expect_text(prd, "cd \"$SCENE/repo\" && git rev-list --merges prd/scene", "");
    expect_text(prd,
                "cd \"$SCENE/repo\" && for file in A B C D; do\n"
                "git show \"prd/scene:$file.txt\"; done | tr '\\n' ' '",
                "A end B end C end D end ");
    expect_text(prd, "cd \"$SCENE/repo\" && git status --porcelain --untracked-files=no", "");
}

static void check_nothing_left(struct prd_scene *prd)
{
    expect_text(prd, "cd \"$SCENE/repo\" && git worktree list | wc -l", "1\n");
    expect_text(prd, "cd \"$SCENE/repo\" && ls .git/worktrees 2>/dev/null | cat", "");
    expect_text(prd, "cd \"$SCENE/repo\" && find .git -name '*.lock'", "");
    expect_text(prd,
                "cd \"$SCENE/repo\" && git for-each-ref --format='%(refname)' | "
                "grep -v ^refs/rondo/backup/",
                "refs/heads/main\nrefs/heads/prd/scene\n");
    expect_text(prd, "find \"$SCENE/cache/rondo/work\" -mindepth 1", "");
}

static void check_files(struct prd_scene *prd)
{
    expect_text(prd, "grep -c '\"passes\": true' \"$SCENE/repo/prd.json\"", "4\n");
    expect_text(prd, "grep -o '^## Task [A-D]' \"$SCENE/repo/progress.txt\" | sort | tr '\\n' ','",
                "## Task A,## Task B,## Task C,## Task D,");
}

static void check_journal(struct prd_scene *prd)
{
    expect_count(prd, "SELECT count(*) FROM events WHERE type = 'task.committed'", TASKS);
    expect_count(prd,
                 "SELECT count(DISTINCT json_extract(data, '$.task')) FROM events "
                 "WHERE type = 'task.committed'",
                 TASKS);
    /* The commit of the record is that of an intent before it, after a check that passed. */
    expect_count(
        prd,
        "SELECT count(*) FROM events c WHERE type = 'task.committed' AND EXISTS (SELECT 1 FROM "
        "events i WHERE i.type = 'task.committing' AND i.seq < c.seq AND json_extract(i.data, "
        "'$.commit') = json_extract(c.data, '$.commit') AND EXISTS (SELECT 1 FROM events k WHERE "
        "k.type = 'task.checked' AND k.seq < i.seq AND json_extract(k.data, '$.status') = 'met' "
        "AND json_extract(k.data, '$.stage') IN ('after', 'merged') AND json_extract(k.data, "
        "'$.attempt') = json_extract(i.data, '$.attempt') AND json_extract(k.data, '$.task') = "
        "json_extract(i.data, '$.task')))",
        TASKS);
    expect_count(prd,
                 "SELECT count(*) FROM events WHERE type = 'task.ended' AND "
                 "json_extract(data, '$.outcome') = 'committed'",
                 TASKS);
    expect_count(prd, "SELECT count(*) FROM runs WHERE ended_ns = 0", 0);
}

/**
 * @param by_server a server continues the run
 * @return whether the step was reached
 */
static bool kill_at(struct prd_scene *prd, const char *jobs, const char *kind, const char *mode,
                    uint64_t at, bool by_server)
{
    auto_buf struct buf text = {0};
    begin(prd, kind, mode, at);
    int status = -1;
    for (int i = 0; status != 0; i++) {
        buf_printf(&text, "--- jobs %s, %s %s %" PRIu64 "\n", jobs, kind, mode, at);
        status = by_server && i > 0 && find_run(prd) ? serve_once(prd, &text)
                                                     : run_once(prd, jobs, &text);
        if (i == MOST_RUNS) {
            fail_msg("it does not come to an end:\n%s", buf_string(&text));
        }
    }
    if (scene_number("RONDO_CRASH_SHOW", 0) != 0) {
        fputs(buf_string(&text), stderr);
    }
    assert_true(find_run(prd));
    check_repository(prd);
    check_nothing_left(prd);
    check_files(prd);
    check_journal(prd);
    return is_hit(prd);
}

struct kill_plan {
    const char *kind, *mode;
    uint64_t points[4]; /* of the bounded version; ends with 0 */
    uint64_t stride;    /* of the long one */
};

static void skip_without_namespaces(struct prd_scene *prd)
{
    if (shell(prd, "bwrap --dev-bind / / test -x /usr/bin/git", NULL) != 0) {
        print_message("bwrap is missing, or may make no namespaces here\n");
        skip();
    }
}

/** All points of plans; in the long version every n-th that there is. */
static void enumerate(struct prd_scene *prd, const char *jobs, const struct kill_plan *plans,
                      size_t count, bool by_server)
{
    uint64_t kills = 0;
    skip_without_namespaces(prd);
    for (size_t i = 0; i < count; i++) {
        const struct kill_plan *plan = &plans[i];
        bool is_reached = true;
        for (uint64_t n = 0; is_reached && (scene_is_long() || plan->points[n] != 0); n++) {
            uint64_t at = scene_is_long() ? 1 + n * plan->stride : plan->points[n];
            is_reached = kill_at(prd, jobs, plan->kind, plan->mode, at, by_server);
            kills += is_reached ? 1 : 0;
        }
    }
    print_message("%" PRIu64 " kills\n", kills);
    assert_true(kills > 0);
}

static const struct kill_plan of_parent[] = {
    {"git", "parent-before", {16, 0}, 1},
    {"git", "parent-after", {14, 0}, 3},
    {"worker", "parent", {2, 0}, 1},
    {"check", "parent", {3, 0}, 1},
};
static const struct kill_plan of_others[] = {
    {"worker", "self", {5, 0}, 1},
    {"worker", "above", {2, 0}, 1},
    {"check", "self", {4, 0}, 1},
};
static const struct kill_plan of_git[] = {
    {"git", "before", {13, 0}, 3}, {"git", "in", {10, 0}, 2},          {"git", "after", {15, 0}, 3},
    {"git", "lock", {0}, 5},       {"git", "parent-lock", {17, 0}, 5},
};

static const struct kill_plan of_parent_with_server[] = {
    {"git", "parent-before", {15, 0}, 4},
    {"worker", "parent", {3, 0}, 2},
};

#define KILL_TEST(name) TEST_WITH(name, set_up, tear_down)

KILL_TEST(tasks_survive_a_kill_of_rondo)
{
    enumerate(*state, "1", of_parent, COUNT(of_parent), false);
}

KILL_TEST(parallel_tasks_survive_a_kill_of_rondo)
{
    enumerate(*state, "3", of_parent, COUNT(of_parent), false);
}

KILL_TEST(tasks_survive_a_kill_of_worker_supervisor_or_check)
{
    enumerate(*state, "1", of_others, COUNT(of_others), false);
}

KILL_TEST(parallel_tasks_survive_a_kill_of_worker_supervisor_or_check)
{
    enumerate(*state, "3", of_others, COUNT(of_others), false);
}

KILL_TEST(tasks_survive_a_kill_of_git)
{
    enumerate(*state, "1", of_git, COUNT(of_git), false);
}

KILL_TEST(parallel_tasks_survive_a_kill_of_git)
{
    enumerate(*state, "3", of_git, COUNT(of_git), false);
}

KILL_TEST(a_server_continues_parallel_tasks_after_a_kill_of_rondo)
{
    enumerate(*state, "3", of_parent_with_server, COUNT(of_parent_with_server), true);
}

/** Nobody can resume it then. The trees are large, so that it takes a moment to remove one. */
KILL_TEST(nothing_is_left_by_a_kill_after_the_end_of_the_run)
{
    static const char many[] = "cd \"$SCENE/repo\" && mkdir many && cd many &&\n"
                               "seq 4000 | split -l 1 -a 4 && git add . && git commit -q -m many";
    struct prd_scene *prd = *state;
    auto_buf struct buf text = {0};
    skip_without_namespaces(prd);
    begin(prd, NULL, NULL, 0);
    assert_int_equal(shell(prd, many, NULL), 0);
    prd->is_killed_at_end = true;
    run_once(prd, "3", &text);
    assert_true(has_ended(prd));
    check_nothing_left(prd);
    check_files(prd);
    check_journal(prd);
}
