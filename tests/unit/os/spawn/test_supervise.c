// SPDX-License-Identifier: Apache-2.0
#include "base/cancel.h"
#include "base/parse.h"

#include "../helper.h"

#include <sys/file.h>
#include <sys/stat.h>

/** Makes this program run one supervised command and print what the command prints. */
#define HELPER_ARGUMENT "run-supervised"

#define SHORT_NS (100 * NS_PER_MS)
#define SELF     "/proc/self/exe"

/* Leaves its group and session, is reparented, and prints its number. */
#define DAEMON "setsid sh -c '(echo $(sh -c \"echo \\$PPID\"); : >$READY; exec " FOREVER ") & ' "
/* The same; continues when it has done so. */
#define DAEMON_READY                                 \
    "export READY=/tmp/rondo-test-ready-$$; " DAEMON \
    "; while ! test -e $READY; do sleep 0.01; done; rm $READY; "

static struct spawn_request supervised(const char *script, const char *slot[4])
{
    struct spawn_request request = shell_request(script, slot);
    request.supervisor = SELF;
    return request;
}

TEST(the_exit_code_passes_through)
{
    const char *argv[4];
    struct spawn_request request = supervised("echo out; exit 42", argv);
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_EXITED);
    assert_int_equal(result.exit_code, 42);
    assert_string_equal(result.output, "out\n");
    spawn_result_fini(&result);
}

TEST(a_signal_passes_through)
{
    const char *argv[4];
    struct spawn_request request = supervised("kill -SEGV $$", argv);
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_SIGNALLED);
    assert_int_equal(result.signal, SIGSEGV);
    spawn_result_fini(&result);
}

TEST(a_program_that_cannot_be_executed_is_not_started)
{
    const char *argv[] = {"/etc/hostname", NULL};
    struct spawn_request request = {
        .argv = argv, .envp = (const char *const *)environ, .supervisor = SELF};
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_NOT_STARTED);
    spawn_result_fini(&result);
}

static void take_errors(void *context, const char *bytes, size_t len)
{
    strncat(context, bytes, len);
}

TEST(the_three_streams_pass_through)
{
    const char *argv[4];
    char errors[64] = "";
    struct spawn_request request = shell_request("cat; echo wrong >&2", argv);
    request.supervisor = SELF;
    request.input = "right\n";
    request.input_len = 6;
    request.on_errors = take_errors;
    request.on_output_context = errors;
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_EXITED);
    assert_string_equal(errors, "wrong\n");
    assert_int_equal(result.output_total, 12);
    assert_non_null(strstr(result.output, "right\n"));
    spawn_result_fini(&result);
}

TEST(a_missing_supervisor_is_not_started)
{
    const char *argv[4];
    struct spawn_request request = supervised("true", argv);
    request.supervisor = "/no/such/program";
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_NOT_STARTED);
    assert_non_null(strstr(result.reason, "/no/such/program"));
    spawn_result_fini(&result);
}

TEST(a_daemon_that_left_its_session_ends_with_the_command)
{
    const char *argv[4];
    struct spawn_request request = supervised(DAEMON_READY "exit 6", argv);
    struct spawn_result result = run(&request);
    int pid;
    assert_int_equal(result.exit_code, 6);
    assert_int_equal(read_numbers(result.output, &pid, 1), 1);
    assert_true(process_is_gone(pid));
    spawn_result_fini(&result);
}

TEST(a_deadline_ends_daemons_too)
{
    const char *argv[4];
    struct spawn_request request = supervised(DAEMON_READY FOREVER, argv);
    request.silence_ns = SHORT_NS;
    struct spawn_result result = run(&request);
    int pid;
    assert_int_equal(result.end, SPAWN_TIMED_OUT);
    assert_int_equal(read_numbers(result.output, &pid, 1), 1);
    assert_true(process_is_gone(pid));
    spawn_result_fini(&result);
}

TEST(a_child_may_clean_up_in_its_grace)
{
    const char *argv[4];
    struct spawn_request request =
        supervised("trap 'echo cleaned; exit 0' TERM; echo go; " FOREVER " & wait", argv);
    request.silence_ns = SHORT_NS;
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_TIMED_OUT);
    assert_string_equal(result.output, "go\ncleaned\n");
    spawn_result_fini(&result);
}

TEST(a_child_that_ignores_the_request_is_killed_after_its_grace)
{
    const char *argv[4];
    assert_killed_after_grace(supervised(STUBBORN, argv));
}

static void cancel_now(void *context, const char *bytes, size_t len)
{
    (void)bytes;
    (void)len;
    cancel_set(context, CANCEL_NOW);
}

TEST(cancelling_now_kills_at_once)
{
    struct cancel cancel;
    assert_int_equal(cancel_init(&cancel, NULL), 0);
    const char *argv[4];
    struct spawn_request request = supervised("trap '' TERM; echo go; " FOREVER, argv);
    request.grace_ns = 1000 * NS_PER_S;
    request.cancel = &cancel;
    request.on_output = cancel_now;
    request.on_output_context = &cancel;
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_CANCELLED);
    cancel_fini(&cancel);
    spawn_result_fini(&result);
}

TEST(a_command_that_signals_its_own_group_does_not_hurt_the_supervisor)
{
    const char *argv[4];
    struct spawn_request request = supervised(DAEMON_READY "kill -TERM 0", argv);
    struct spawn_result result = run(&request);
    int pid;
    assert_int_equal(result.end, SPAWN_SIGNALLED);
    assert_int_equal(result.signal, SIGTERM);
    assert_int_equal(read_numbers(result.output, &pid, 1), 1);
    assert_true(process_is_gone(pid));
    spawn_result_fini(&result);
}

TEST(a_command_that_asks_its_supervisor_to_end_is_not_obeyed)
{
    const char *argv[4];
    struct spawn_request request = supervised("kill -TERM $PPID; kill -INT $PPID; exit 8", argv);
    struct spawn_result result = run(&request);
    assert_int_equal(result.exit_code, 8);
    spawn_result_fini(&result);
}

TEST(a_supervisor_that_is_killed_is_reported_and_the_group_ended)
{
    const char *argv[4];
    struct spawn_request request = supervised("echo $$; kill -KILL $PPID; " FOREVER, argv);
    struct spawn_result result = run(&request);
    int pid;
    assert_int_equal(result.end, SPAWN_SIGNALLED);
    assert_string_equal(result.reason, "its supervisor was killed");
    assert_int_equal(read_numbers(result.output, &pid, 1), 1);
    wait_until_gone(pid);
    spawn_result_fini(&result);
}

TEST(the_command_sees_no_descriptor_but_its_mark)
{
    char folder[PATH_MAX];
    char lock[PATH_MAX + 8];
    scratch_make(folder);
    snprintf(lock, sizeof(lock), "%s/lock", folder);
    const char *argv[4];
    struct spawn_request request = supervised("ls /proc/$$/fd; :", argv);
    request.lock_path = lock;
    struct spawn_result result = run(&request);
    assert_string_equal(result.output, "0\n1\n2\n63\n");
    spawn_result_fini(&result);
    scratch_remove(folder);
}

/* --- the caller's death --- */

/** This program again, as one that is going to be killed. */
static int be_helper(const char *script, const char *lock)
{
    struct spawn_result result;
    const char *argv[4];
    struct spawn_request request = supervised(script, argv);
    request.total_ns = 0;
    request.lock_path = lock[0] == '\0' ? NULL : lock;
    return spawn_run(&request, &result, NULL) == 0 ? 0 : 1;
}

/* The helper's command writes its numbers here, as the helper itself does not pass its output. */
struct killing {
    char folder[PATH_MAX];
    char path[PATH_MAX + 16];
    char lock[PATH_MAX + 16];
    char script[4 * PATH_MAX];
};

static void killing_init(struct killing *killing)
{
    scratch_make(killing->folder);
    snprintf(killing->path, sizeof(killing->path), "%s/numbers", killing->folder);
    snprintf(killing->lock, sizeof(killing->lock), "%s/lock", killing->folder);
    snprintf(killing->script, sizeof(killing->script),
             "READY=/dev/null; export READY; " DAEMON " >>%s; (setsid " FOREVER
             " & echo $! >>%s); echo $$ >>%s; " FOREVER,
             killing->path, killing->path, killing->path);
}

/** Wait until the helper's command has written three numbers. */
static void killing_wait(const struct killing *killing, int numbers[3])
{
    int count = 0;
    int64_t deadline = clock_monotonic(clock_system()) + GENEROUS_NS;
    while (count < 3) {
        assert_true(clock_monotonic(clock_system()) < deadline);
        clock_sleep(clock_system(), 5 * NS_PER_MS, NULL);
        struct buf text = {0};
        (void)file_read(killing->path, 1000, &text, NULL);
        count = read_numbers(buf_string(&text), numbers, 3);
        buf_fini(&text);
    }
}

/**
 * Start the helper through a shell that ends once there are three numbers; then its group is
 * killed, and with it the helper, which has no time to do anything.
 * @param lock "" = none
 */
static void kill_helper(struct killing *killing, const char *lock, int numbers[3])
{
    char self[PATH_MAX];
    ssize_t len = readlink(SELF, self, sizeof(self) - 1);
    assert_true(len > 0);
    self[len] = '\0';
    char script[4 * PATH_MAX];
    snprintf(script, sizeof(script),
             "\"$0\" " HELPER_ARGUMENT
             " \"$1\" \"$2\" & while [ \"$(wc -l <%s || echo 0)\" -lt 3 ]; "
             "do sleep 0.01; done 2>/dev/null",
             killing->path);
    const char *argv[] = {"sh", "-c", script, self, killing->script, lock, NULL};
    struct spawn_request request = {
        .argv = argv, .envp = (const char *const *)environ, .total_ns = GENEROUS_NS};
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_EXITED);
    spawn_result_fini(&result);
    killing_wait(killing, numbers);
}

TEST(when_the_caller_is_killed_nothing_of_the_command_is_left)
{
    struct killing killing;
    int numbers[3];
    killing_init(&killing);
    kill_helper(&killing, "", numbers);
    for (int i = 0; i < 3; i++) {
        wait_until_gone(numbers[i]);
    }
    scratch_remove(killing.folder);
}

TEST(the_next_command_starts_only_when_the_former_one_is_gone)
{
    struct killing killing;
    int numbers[3];
    killing_init(&killing);
    kill_helper(&killing, killing.lock, numbers);
    char look[256];
    snprintf(look, sizeof(look), "for i in %d %d %d; do kill -0 $i && echo alive; done 2>/dev/null",
             numbers[0], numbers[1], numbers[2]);
    const char *look_argv[4];
    struct spawn_request second = supervised(look, look_argv);
    second.lock_path = killing.lock;
    struct spawn_result result = run(&second);
    assert_int_equal(result.end, SPAWN_EXITED);
    assert_string_equal(result.output, "");
    spawn_result_fini(&result);
    scratch_remove(killing.folder);
}

/* --- the death of the caller and of the supervisor --- */

#define MARK "RONDO_TEST_MARK=the only one"

/**
 * Start a script with a lock and the mark, wait for its number, kill its supervisor and make as if
 * this process had died too. @return the number of what is left
 */
static pid_t leave_remains(const char *script, const char *folder, const char *lock)
{
    char self[PATH_MAX];
    ssize_t len = readlink(SELF, self, sizeof(self) - 1);
    assert_true(len > 0);
    self[len] = '\0';
    char whole[2 * PATH_MAX];
    snprintf(whole, sizeof(whole),
             "export RONDO_TEST_FOLDER='%.4000s'; cd $RONDO_TEST_FOLDER; "
             "\"$0\" " HELPER_ARGUMENT " \"$1\" \"$2\" & helper=$!; "
             "until test -s number; do sleep 0.01; done; "
             /* If one of the two ran on, it would notice the death of the other, and clean up. The
                supervisor goes first: its group becomes an orphan when its caller dies, and the
                kernel sends HUP to an orphaned group in which a process is stopped. */
             "parent=$(cat parent); kill -STOP $helper $parent; "
             "for i in $helper $parent; do "
             "until grep -q '^State:.T' /proc/$i/status; do :; done; done; "
             "kill -9 $parent; while grep -q '^State:.[^ZX]' /proc/$parent/status; do :; done; "
             "kill -9 $helper; cat number; rm number parent",
             folder);
    const char *argv[] = {"sh", "-c", whole, self, script, lock, NULL};
    struct spawn_request request = {.argv = argv,
                                    .envp = (const char *const *)environ,
                                    .directory = folder,
                                    .total_ns = GENEROUS_NS,
                                    .output_keep = 100};
    struct spawn_result result = run(&request);
    int pid = 0;
    if (result.end != SPAWN_EXITED || result.exit_code != 0) {
        fail_msg("%d %d %s", result.end, result.exit_code, result.output);
    }
    assert_int_equal(read_numbers(result.output, &pid, 1), 1);
    spawn_result_fini(&result);
    return pid;
}

/* Writes the numbers of what is going to be left and of the supervisor, in this order of arrival.
 */
#define NUMBERS "cd $RONDO_TEST_FOLDER; echo $PPID >parent; "
static const char *const remains[] = {
    NUMBERS "echo $$ >number; exec " FOREVER,
    /* A session of its own. */
    NUMBERS "setsid sh -c 'echo $$ >number; exec " FOREVER "' & wait",
    /* No descriptors. */
    NUMBERS "setsid bash -c 'exec 63>&- </dev/null >/dev/null 2>&1; echo $$ >number; exec " FOREVER
            "' & wait",
    /* No environment. */
    NUMBERS "env -i setsid sh -c 'echo $$ >number; exec " FOREVER "' & wait",
    /* Neither, but what it descends from has one. */
    NUMBERS "sh -c 'env -i setsid bash -c \"exec 63>&-; echo \\$\\$ >number; exec " FOREVER
            "\"; :' & wait",
};

TEST(what_killed_supervisors_left_is_killed_before_the_next_command)
{
    setenv("RONDO_TEST_MARK", "the only one", 1);
    for (size_t i = 0; i < COUNT(remains); i++) {
        char folder[PATH_MAX];
        char lock[PATH_MAX + 8];
        char look[96];
        const char *argv[4];
        scratch_make(folder);
        snprintf(lock, sizeof(lock), "%s/lock", folder);
        pid_t left = leave_remains(remains[i], folder, lock);
        assert_false(process_is_gone(left));
        snprintf(look, sizeof(look),
                 "grep -q 'State:.[^ZX]' /proc/%d/status && echo alive; :", (int)left);
        struct spawn_request request = supervised(look, argv);
        request.lock_path = lock;
        request.lock_mark = MARK;
        request.takes_lock_over = true;
        struct spawn_result result = run(&request);
        assert_int_equal(result.end, SPAWN_EXITED);
        if (strstr(result.output, "alive") != NULL) {
            fail_msg("case %zu is alive beside the next command", i);
        }
        spawn_result_fini(&result);
        scratch_remove(folder);
    }
    unsetenv("RONDO_TEST_MARK");
}

TEST(a_descriptor_is_enough_to_be_found_at_any_time)
{
    char folder[PATH_MAX];
    char lock[PATH_MAX + 8];
    const char *argv[4];
    scratch_make(folder);
    snprintf(lock, sizeof(lock), "%s/lock", folder);
    pid_t left = leave_remains(remains[3], folder, lock);
    /* A command that takes the mode away from the file cannot keep others out. */
    assert_int_equal(chmod(lock, 0), 0);
    struct spawn_request request = supervised("true", argv);
    request.lock_path = lock;
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_EXITED);
    assert_true(process_is_gone(left));
    spawn_result_fini(&result);
    scratch_remove(folder);
}

TEST(those_that_started_us_are_spared)
{
    char folder[PATH_MAX];
    char lock[PATH_MAX + 8];
    const char *argv[4];
    scratch_make(folder);
    snprintf(lock, sizeof(lock), "%s/lock", folder);
    setenv("RONDO_TEST_MARK", "the only one", 1);
    /* This process has the mark too, in what /proc shows of its descendants. */
    struct spawn_request request = supervised("echo lives", argv);
    request.lock_path = lock;
    request.lock_mark = MARK;
    request.takes_lock_over = true;
    struct spawn_result result = run(&request);
    assert_string_equal(result.output, "lives\n");
    unsetenv("RONDO_TEST_MARK");
    spawn_result_fini(&result);
    scratch_remove(folder);
}

TEST(a_lock_that_is_a_link_is_not_opened)
{
    char folder[PATH_MAX];
    char lock[PATH_MAX + 8];
    char other[PATH_MAX + 8];
    const char *argv[4];
    scratch_make(folder);
    snprintf(lock, sizeof(lock), "%s/lock", folder);
    snprintf(other, sizeof(other), "%s/made", folder);
    assert_int_equal(symlink(other, lock), 0);
    struct spawn_request request = supervised("true", argv);
    request.lock_path = lock;
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_NOT_STARTED);
    assert_false(file_exists(other));
    spawn_result_fini(&result);
    scratch_remove(folder);
}

TEST(a_lock_that_cannot_be_had_is_not_started)
{
    const char *argv[4];
    struct spawn_request request = supervised("true", argv);
    request.lock_path = "/no/such/folder/lock";
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_NOT_STARTED);
    assert_non_null(strstr(result.reason, "/no/such/folder/lock"));
    spawn_result_fini(&result);
}

/** Take a lock as somebody else. @return its descriptor */
static int take_lock(char folder[PATH_MAX], char lock[PATH_MAX + 8])
{
    scratch_make(folder);
    snprintf(lock, PATH_MAX + 8, "%s/lock", folder);
    int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    return fd;
}

TEST(a_lock_that_stays_taken_refuses_within_its_limit)
{
    char folder[PATH_MAX];
    char lock[PATH_MAX + 8];
    int fd = take_lock(folder, lock);
    const char *argv[4];
    struct spawn_request request = supervised("true", argv);
    request.lock_path = lock;
    request.lock_wait_ns = SHORT_NS;
    struct spawn_result result = run(&request);
    assert_int_equal(result.end, SPAWN_NOT_STARTED);
    assert_non_null(strstr(result.reason, "still live"));
    close(fd);
    spawn_result_fini(&result);
    scratch_remove(folder);
}

TEST(a_deadline_counts_while_waiting_for_the_lock)
{
    char folder[PATH_MAX];
    char lock[PATH_MAX + 8];
    int fd = take_lock(folder, lock);
    const char *argv[4];
    struct spawn_request request = supervised("touch made", argv);
    request.directory = folder;
    request.lock_path = lock;
    request.total_ns = SHORT_NS;
    request.grace_ns = SHORT_NS;
    struct spawn_result result = run(&request);
    assert_int_not_equal(result.end, SPAWN_EXITED);
    assert_true(result.duration_ns < SPAWN_LOCK_WAIT_NS);
    close(fd);
    assert_int_equal(unlink(lock), 0);
    assert_int_equal(rmdir(folder), 0);
    spawn_result_fini(&result);
}

TEST(wrong_arguments_are_refused)
{
    const char *argv[] = {SELF, SUPERVISE_ARGUMENT, "watch", NULL};
    char self[PATH_MAX];
    ssize_t len = readlink(SELF, self, sizeof(self) - 1);
    self[len > 0 ? len : 0] = '\0';
    argv[0] = self;
    struct spawn_request request = {.argv = argv, .envp = (const char *const *)environ};
    struct spawn_result result = run(&request);
    assert_int_equal(result.exit_code, 2);
    spawn_result_fini(&result);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], SUPERVISE_ARGUMENT) == 0) {
        return supervise_main(argc, argv);
    }
    if (argc > 3 && strcmp(argv[1], HELPER_ARGUMENT) == 0) {
        return be_helper(argv[2], argv[3]);
    }
    return test_run(NULL, NULL);
}
