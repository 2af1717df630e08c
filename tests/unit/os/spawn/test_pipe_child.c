// SPDX-License-Identifier: Apache-2.0
/* Children with pipes, in each sandbox and without one. */
#include "os/spawn/pipe_child.h"
#include "os/spawn/sandbox_trial.h"

#include "../helper.h"
#include "base/buf.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>

#define SELF "/proc/self/exe"

static char folder[PATH_MAX];

static int set_up(void **state)
{
    (void)state;
    scratch_make(folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(folder);
    return 0;
}

/** Everything that a script writes until it ends; its stdin is "hello\n" and an end. */
static void converse(const char *script, const struct sandbox_policy *policy, struct buf *ret_text)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    const struct pipe_child_request request = {
        .argv = argv,
        .envp = (const char *const *)environ,
        .directory = folder,
        .supervisor = SELF,
        .sandbox = policy,
    };
    struct pipe_child *child = NULL;
    struct rondo_error err = {0};
    if (pipe_child_start(&request, &child, &err) != 0) {
        fail_msg("%s", err.message);
    }
    /* A script that does not read may be over by now. */
    signal(SIGPIPE, SIG_IGN);
    ssize_t written = write(pipe_child_input(child), "hello\n", 6);
    assert_true(written == 6 || (written < 0 && errno == EPIPE));
    pipe_child_close_input(child);
    struct pollfd slot = {.fd = pipe_child_output(child), .events = POLLIN};
    char bytes[512];
    ssize_t got = 1;
    while (got > 0 && poll(&slot, 1, 60000) > 0) {
        got = read(pipe_child_output(child), bytes, sizeof(bytes));
        buf_append(ret_text, bytes, got > 0 ? (size_t)got : 0);
    }
    assert_true(pipe_child_wait(child, GENEROUS_NS));
    char end[PIPE_CHILD_END_SIZE];
    pipe_child_describe_end(child, end);
    assert_string_equal(end, "exit code 3");
    pipe_child_free(child);
}

static void expect(enum sandbox_tier tier, const char *script, const char *expected)
{
    auto_buf struct buf text = {0};
    char reason[256];
    const char *const write_paths[] = {folder, NULL};
    const struct sandbox_policy policy = {.tier = tier, .write_paths = write_paths, .home = folder};
    if (tier != SANDBOX_NONE && !sandbox_is_available(tier, reason)) {
        print_message("%s: %s\n", sandbox_tier_name(tier), reason);
        skip();
    }
    converse(script, tier == SANDBOX_NONE ? NULL : &policy, &text);
    assert_string_equal(buf_string(&text), expected);
}

#define CASE(name) TEST_WITH(name, set_up, tear_down)

CASE(a_child_reads_and_writes_in_every_tier)
{
    for (int tier = SANDBOX_NONE; tier < SANDBOX_TIER_COUNT; tier++) {
        expect((enum sandbox_tier)tier, "cat; exit 3", "hello\n");
    }
}

CASE(a_sandboxed_child_has_the_home_that_it_is_given)
{
    char expected[PATH_MAX + 1];
    snprintf(expected, sizeof(expected), "%s\n", folder);
    for (int tier = SANDBOX_NONE + 1; tier < SANDBOX_TIER_COUNT; tier++) {
        expect((enum sandbox_tier)tier, "echo $HOME; echo kept >~/kept; exit 3", expected);
        char kept[PATH_MAX + 16];
        snprintf(kept, sizeof(kept), "%s/kept", folder);
        assert_int_equal(unlink(kept), 0);
    }
}

CASE(a_sandboxed_child_writes_nowhere_else)
{
    char outside[PATH_MAX];
    char script[2 * PATH_MAX];
    scratch_make(outside);
    snprintf(script, sizeof(script), "echo x 2>/dev/null >%s/planted; exit 3", outside);
    for (int tier = SANDBOX_NONE + 1; tier < SANDBOX_TIER_COUNT; tier++) {
        expect((enum sandbox_tier)tier, script, "");
        assert_int_equal(rmdir(outside), 0);
        assert_int_equal(mkdir(outside, 0700), 0);
    }
    scratch_remove(outside);
}

CASE(an_end_of_output_is_seen_while_the_child_lives)
{
    const char *const argv[] = {"sh", "-c", "exec >&-; sleep 1000", NULL};
    const struct pipe_child_request request = {
        .argv = argv, .envp = (const char *const *)environ, .supervisor = SELF};
    struct pipe_child *child = NULL;
    char byte;
    assert_int_equal(pipe_child_start(&request, &child, NULL), 0);
    struct pollfd slot = {.fd = pipe_child_output(child), .events = POLLIN};
    assert_int_equal(poll(&slot, 1, 60000), 1);
    assert_int_equal(read(slot.fd, &byte, 1), 0);
    pipe_child_stop(child, NS_PER_MS);
    pipe_child_free(child);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], SUPERVISE_ARGUMENT) == 0) {
        return supervise_main(argc, argv);
    }
    return test_run(NULL, NULL);
}
