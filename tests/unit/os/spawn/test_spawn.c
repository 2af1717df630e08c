// SPDX-License-Identifier: Apache-2.0
#include "base/cancel.h"

#include "../helper.h"

#include <pthread.h>
#include <sys/stat.h>

#define SHORT_NS (100 * NS_PER_MS)

TEST(the_exit_code_is_told)
{
    const char *argv[4];
    struct spawn_request request = shell_request("exit 7", argv);
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_EXITED);
    assert_int_equal(result.exit_code, 7);
    assert_string_equal(result.reason, "");
    assert_true(result.duration_ns > 0);
    spawn_result_fini(&result);
}

TEST(a_signal_is_told)
{
    const char *argv[4];
    struct spawn_request request = shell_request("kill -SEGV $$", argv);
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_SIGNALLED);
    assert_int_equal(result.signal, SIGSEGV);
    spawn_result_fini(&result);
}

TEST(a_missing_program_is_not_started)
{
    const char *argv[] = {"no-such-program-anywhere", NULL};
    struct spawn_request request = {.argv = argv, .envp = (const char *const *)environ};
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_NOT_STARTED);
    assert_string_equal(result.reason, "no-such-program-anywhere: no such program");
    assert_string_equal(result.output, "");
    spawn_result_fini(&result);
}

TEST(a_file_without_permission_is_not_started)
{
    char folder[PATH_MAX];
    scratch_make(folder);
    scratch_write(folder, "tool", "#!/bin/sh\n");
    const char *argv[] = {"./tool", NULL};
    struct spawn_request request = {
        .argv = argv, .envp = (const char *const *)environ, .directory = folder};
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_NOT_STARTED);
    assert_non_null(strstr(result.reason, "not an executable file"));
    spawn_result_fini(&result);
    scratch_remove(folder);
}

TEST(a_file_that_is_no_program_is_not_started)
{
    char folder[PATH_MAX];
    char path[PATH_MAX + 8];
    scratch_make(folder);
    scratch_write(folder, "tool",
                  "\x7F"
                  "not a program");
    snprintf(path, sizeof(path), "%s/tool", folder);
    assert_int_equal(chmod(path, 0755), 0);
    const char *argv[] = {path, NULL};
    struct spawn_request request = {.argv = argv, .envp = (const char *const *)environ};
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_NOT_STARTED);
    assert_non_null(strstr(result.reason, "Exec format error"));
    spawn_result_fini(&result);
    scratch_remove(folder);
}

TEST(a_missing_directory_is_not_started_and_named)
{
    const char *argv[4];
    struct spawn_request request = shell_request("true", argv);
    request.directory = "/no/such/folder";
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_NOT_STARTED);
    assert_non_null(strstr(result.reason, "/no/such/folder"));
    spawn_result_fini(&result);
}

TEST(the_program_is_searched_in_the_childs_own_path)
{
    const char *argv[] = {"sh", "-c", "true", NULL};
    const char *const envp[] = {"PATH=", NULL};
    struct spawn_request request = {.argv = argv, .envp = envp, .directory = "/bin"};
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_NOT_STARTED);
    spawn_result_fini(&result);
}

TEST(the_directory_is_the_one_asked_for)
{
    const char *argv[4];
    struct spawn_request request = shell_request("pwd -P", argv);
    request.directory = "/usr/lib";
    struct spawn_result result = run(&request);
    assert_string_equal(result.output, "/usr/lib\n");
    spawn_result_fini(&result);
}

TEST(the_environment_is_exactly_the_one_given)
{
    const char *argv[] = {"env", NULL};
    const char *const envp[] = {"A=1", "PATH=/usr/bin:/bin", "B=two words", NULL};
    struct spawn_request request = {.argv = argv, .envp = envp, .output_keep = 1000};
    struct spawn_result result = run(&request);
    assert_string_equal(result.output, "A=1\nPATH=/usr/bin:/bin\nB=two words\n");
    spawn_result_fini(&result);
}

TEST(stdout_and_stderr_arrive_in_order)
{
    const char *argv[4];
    struct spawn_request request = shell_request("echo 1; echo 2 >&2; echo 3", argv);
    struct spawn_result result = run(&request);
    assert_string_equal(result.output, "1\n2\n3\n");
    assert_int_equal(result.output_total, 6);
    spawn_result_fini(&result);
}

TEST(stdin_is_empty)
{
    const char *argv[4];
    struct spawn_request request = shell_request("readlink /proc/self/fd/0; cat; echo end", argv);
    struct spawn_result result = run(&request);
    assert_string_equal(result.output, "/dev/null\nend\n");
    spawn_result_fini(&result);
}

TEST(stdin_can_be_given)
{
    const char *argv[4];
    struct spawn_request request = shell_request("read a; echo got $a; wc -c", argv);
    size_t len = 200000; /* more than a pipe holds */
    char *input = malloc(len);
    memset(input, 'x', len);
    memcpy(input, "first\n", 6);
    request.input = input;
    request.input_len = len;
    struct spawn_result result = run(&request);
    assert_string_equal(result.output, "got first\n199994\n");
    spawn_result_fini(&result);
    free(input);
}

TEST(stdin_can_be_given_empty)
{
    const char *argv[4];
    struct spawn_request request = shell_request("cat; echo end", argv);
    request.input = "";
    struct spawn_result result = run(&request);
    assert_string_equal(result.output, "end\n");
    spawn_result_fini(&result);
}

struct child_streams {
    char output[64];
    char errors[64];
};

static void take_output_text(void *context, const char *bytes, size_t len)
{
    struct child_streams *streams = context;
    strncat(streams->output, bytes, len);
}

static void take_error_text(void *context, const char *bytes, size_t len)
{
    struct child_streams *streams = context;
    strncat(streams->errors, bytes, len);
}

TEST(stderr_can_be_apart)
{
    const char *argv[4];
    struct child_streams streams = {0};
    struct spawn_request request = shell_request("echo 1; echo 2 >&2; echo 3", argv);
    request.on_output = take_output_text;
    request.on_errors = take_error_text;
    request.on_output_context = &streams;
    struct spawn_result result = run(&request);
    assert_string_equal(streams.output, "1\n3\n");
    assert_string_equal(streams.errors, "2\n");
    assert_int_equal(result.output_total, 6);
    spawn_result_fini(&result);
}

TEST(no_descriptor_of_ours_reaches_the_child)
{
    int leak = open("/dev/null", O_RDONLY);
    assert_true(leak >= 0);
    const char *argv[4];
    struct spawn_request request = shell_request("ls /proc/$$/fd; :", argv);
    struct spawn_result result = run(&request);
    assert_string_equal(result.output, "0\n1\n2\n");
    close(leak);
    spawn_result_fini(&result);
}

TEST(the_child_has_default_signals_and_none_blocked)
{
    signal(SIGUSR1, SIG_IGN);
    const char *argv[] = {"grep", "-E", "SigBlk|SigIgn", "/proc/self/status", NULL};
    struct spawn_request request = {
        .argv = argv, .envp = (const char *const *)environ, .output_keep = 1000};
    struct spawn_result result = run(&request);
    signal(SIGUSR1, SIG_DFL);
    unsigned long long blocked;
    unsigned long long ignored;
    assert_int_equal(sscanf(result.output, "SigBlk: %llx SigIgn: %llx", &blocked, &ignored), 2);
    assert_int_equal(blocked, 0);
    /* The C library keeps signals 32 and 33 for itself and always ignores them in a child. */
    assert_int_equal(ignored & ~0x180000000ULL, 0);
    spawn_result_fini(&result);
}

TEST(long_output_keeps_its_end_and_is_counted)
{
    const char *argv[4];
    struct spawn_request request =
        shell_request("head -c 1000000 /dev/zero | tr '\\0' x; printf END", argv);
    request.output_keep = 10;
    struct spawn_result result = run(&request);
    assert_string_equal(result.output, "xxxxxxxEND");
    assert_int_equal(result.output_len, 10);
    assert_int_equal(result.output_total, 1000003);
    spawn_result_fini(&result);
}

static void take_live(void *context, const char *bytes, size_t len)
{
    buf_append(context, bytes, len);
}

TEST(output_is_tapped_live_and_in_full)
{
    struct buf live = {0};
    const char *argv[4];
    struct spawn_request request = shell_request("echo one; echo two", argv);
    request.output_keep = 1;
    request.on_output = take_live;
    request.on_output_context = &live;
    struct spawn_result result = run(&request);
    assert_string_equal(buf_string(&live), "one\ntwo\n");
    buf_fini(&live);
    spawn_result_fini(&result);
}

TEST(a_child_that_writes_nothing_meets_the_first_deadline)
{
    const char *argv[4];
    struct spawn_request request = shell_request(FOREVER, argv);
    request.first_output_ns = SHORT_NS;
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_TIMED_OUT);
    assert_non_null(strstr(result.reason, "nothing at all"));
    spawn_result_fini(&result);
}

TEST(a_child_that_falls_silent_meets_the_second_deadline)
{
    const char *argv[4];
    struct spawn_request request = shell_request("echo start; " FOREVER, argv);
    request.first_output_ns = GENEROUS_NS;
    request.silence_ns = SHORT_NS;
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_TIMED_OUT);
    assert_string_equal(result.output, "start\n");
    assert_non_null(strstr(result.reason, "wrote nothing for"));
    spawn_result_fini(&result);
}

TEST(a_child_that_talks_for_ever_meets_the_third_deadline)
{
    const char *argv[4];
    struct spawn_request request = shell_request("while :; do echo x; sleep 0.01; done", argv);
    request.total_ns = SHORT_NS;
    request.silence_ns = GENEROUS_NS;
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_TIMED_OUT);
    assert_non_null(strstr(result.reason, "ran longer than"));
    spawn_result_fini(&result);
}

TEST(a_child_may_clean_up_in_its_grace)
{
    const char *argv[4];
    struct spawn_request request =
        shell_request("trap 'echo cleaned; exit 0' TERM; echo go; " FOREVER " & wait", argv);
    request.silence_ns = SHORT_NS; /* after the first word, so that the trap is there */
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_TIMED_OUT);
    assert_string_equal(result.output, "go\ncleaned\n");
    spawn_result_fini(&result);
}

TEST(a_child_that_ignores_the_request_is_killed_after_its_grace)
{
    const char *argv[4];
    assert_killed_after_grace(shell_request(STUBBORN, argv));
}

TEST(background_children_end_with_the_command)
{
    const char *argv[4];
    struct spawn_request request =
        shell_request("trap '' TERM; " FOREVER " & echo $!; exit 3", argv);
    struct spawn_result result = run(&request);
    int pid;
    assert_int_equal(result.exit_code, 3);
    assert_int_equal(read_numbers(result.output, &pid, 1), 1);
    wait_until_gone(pid);
    spawn_result_fini(&result);
}

TEST(an_escaped_grandchild_that_holds_the_pipe_does_not_block)
{
    const char *argv[4];
    struct spawn_request request = shell_request(
        "export READY=/tmp/rondo-test-ready-$$; setsid sh -c 'echo $$; : >$READY; exec " FOREVER
        "' & while ! test -e $READY; do sleep 0.01; done; rm $READY; exit 4",
        argv);
    struct spawn_result result = run(&request);
    int pid;
    assert_int_equal(result.end, SPAWN_EXITED);
    assert_int_equal(result.exit_code, 4);
    assert_int_equal(read_numbers(result.output, &pid, 1), 1);
    assert_false(process_is_gone(pid)); /* Without a supervisor nobody finds it. */
    kill(pid, SIGKILL);
    spawn_result_fini(&result);
}

TEST(no_zombie_is_left)
{
    const char *argv[4];
    struct spawn_request request = shell_request("echo $$", argv);
    struct spawn_result result = run(&request);
    int pid;
    assert_int_equal(read_numbers(result.output, &pid, 1), 1);
    assert_int_equal(kill(pid, 0), -1);
    spawn_result_fini(&result);
}

struct child_canceller {
    struct cancel cancel;
    enum cancel_level level;
};

static void cancel_at_output(void *context, const char *bytes, size_t len)
{
    (void)bytes;
    (void)len;
    struct child_canceller *canceller = context;
    cancel_set(&canceller->cancel, canceller->level);
}

static struct spawn_result run_cancelled(enum cancel_level level, const char *script,
                                         int64_t grace_ns)
{
    struct child_canceller canceller = {.level = level};
    assert_int_equal(cancel_init(&canceller.cancel, NULL), 0);
    const char *argv[4];
    struct spawn_request request = shell_request(script, argv);
    request.grace_ns = grace_ns;
    request.cancel = &canceller.cancel;
    request.on_output = cancel_at_output;
    request.on_output_context = &canceller;
    struct spawn_result result = run(&request);
    cancel_fini(&canceller.cancel);
    return result;
}

TEST(cancelling_politely_lets_the_child_clean_up)
{
    struct spawn_result result = run_cancelled(
        CANCEL_GRACEFUL, "trap 'echo bye; exit 0' TERM; echo go; " FOREVER " & wait", GENEROUS_NS);
    assert_int_equal(result.end, SPAWN_CANCELLED);
    assert_string_equal(result.output, "go\nbye\n");
    spawn_result_fini(&result);
}

TEST(cancelling_now_kills_at_once)
{
    struct spawn_result result = run_cancelled(
        CANCEL_NOW, "trap 'echo bye; exit 0' TERM; echo go; " FOREVER " & wait", GENEROUS_NS);
    assert_int_equal(result.end, SPAWN_CANCELLED);
    assert_int_equal(result.signal, SIGKILL);
    assert_string_equal(result.output, "go\n");
    spawn_result_fini(&result);
}

/* First output: cancel politely. Second, from the handler of TERM: insist. */
static void cancel_harder_each_time(void *context, const char *bytes, size_t len)
{
    (void)len;
    cancel_set(context, bytes[0] == 'g' ? CANCEL_GRACEFUL : CANCEL_NOW);
}

TEST(insisting_during_the_grace_kills_at_once)
{
    struct cancel cancel;
    assert_int_equal(cancel_init(&cancel, NULL), 0);
    const char *argv[4];
    struct spawn_request request =
        shell_request("trap 'echo no' TERM; echo go; while :; do sleep 0.01; done", argv);
    request.grace_ns = 1000 * NS_PER_S;
    request.total_ns = 0;
    request.cancel = &cancel;
    request.on_output = cancel_harder_each_time;
    request.on_output_context = &cancel;
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_CANCELLED);
    assert_int_equal(result.signal, SIGKILL);
    cancel_fini(&cancel);
    spawn_result_fini(&result);
}

TEST(a_child_that_ended_before_the_cancelling_keeps_its_result)
{
    struct cancel cancel;
    assert_int_equal(cancel_init(&cancel, NULL), 0);
    const char *argv[4];
    struct spawn_request request = shell_request("exit 5", argv);
    request.cancel = &cancel;
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_EXITED);
    assert_int_equal(result.exit_code, 5);
    cancel_fini(&cancel);
    spawn_result_fini(&result);
}

static void *run_many(void *context)
{
    int *failures = context;
    for (int i = 0; i < 20; i++) {
        const char *argv[4];
        struct spawn_request request = shell_request("echo $$; exit 9", argv);
        struct spawn_result result = {0};
        if (spawn_run(&request, &result, NULL) != 0 || result.exit_code != 9 ||
            result.output_total == 0) {
            (*failures)++;
        }
        spawn_result_fini(&result);
    }
    return NULL;
}

TEST(many_threads_run_children_at_once)
{
    pthread_t threads[4];
    int failures[4] = {0};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run_many, &failures[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(failures[i], 0);
    }
}

static int count_descriptors(void)
{
    int count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count;
}

TEST(no_descriptor_is_left_open)
{
    int before = count_descriptors();
    const char *argv[4];
    struct spawn_request request = shell_request("true", argv);
    struct spawn_result result = run(&request);
    spawn_result_fini(&result);
    struct child_streams streams = {0};
    request.input = "x";
    request.input_len = 1;
    request.on_errors = take_error_text;
    request.on_output_context = &streams;
    result = run(&request);
    spawn_result_fini(&result);
    argv[0] = "no-such-program-anywhere";
    result = run(&request);
    spawn_result_fini(&result);
    assert_int_equal(count_descriptors(), before);
}
