// SPDX-License-Identifier: Apache-2.0
/* The shell tool: what is refused, what is told, and what a command can reach. */
#include "command_world.h"

#include "tool/builtin/shell_environment.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>

#define SHELL "{\"type\":\"shell\",\"require_confirmation\":false}"

/** Arguments of a command line, quoted for JSON. The caller frees. */
static char *command_line(const char *line)
{
    struct buf arguments = {0};
    struct json_writer writer = json_writer(&arguments);
    json_begin_object(&writer, NULL);
    json_write_string(&writer, "command", line);
    json_end_object(&writer);
    return buf_steal(&arguments);
}

static struct tool_result run_line(struct tool_world *world, const char *line)
{
    char *arguments = command_line(line);
    struct tool_result result = world_call(world, "run_shell", arguments);
    free(arguments);
    return result;
}

static void expect(struct tool_world *world, const char *line, const char *text)
{
    char *arguments = command_line(line);
    world_expect(world, "run_shell", arguments, text);
    free(arguments);
}

static void expect_error(struct tool_world *world, const char *line, const char *part)
{
    char *arguments = command_line(line);
    world_expect_error(world, "run_shell", arguments, part);
    free(arguments);
}

/** A script, for what one command cannot do: `sh -c '...'`; no single quotes in it. */
static struct tool_result run_script(struct tool_world *world, const char *script)
{
    struct buf line = {0};
    buf_printf(&line, "sh -c '%s'", script);
    struct tool_result result = run_line(world, buf_string(&line));
    buf_fini(&line);
    return result;
}

BOTH_TIERS(output_is_told_by_stream)
{
    struct tool_world *world = world_in_tier(state);
    world_open(world, SHELL);
    expect(world, "echo 'two words'", "STDOUT:\ntwo words\n");
    expect(world, "true", "(no output)");
    expect(world, "sh -c 'echo out; echo err >&2; exit 3'",
           "Exit code: 3\nSTDOUT:\nout\n\nSTDERR:\nerr\n");
    expect(world, "false", "Exit code: 1");
}

ALSO_IN_TIER(landlock, output_is_told_by_stream);

BOTH_TIERS(the_exit_code_is_there_for_verifiers)
{
    struct tool_world *world = world_in_tier(state);
    world_open(world, SHELL);
    struct tool_result result = run_script(world, "kill -SEGV $$");
    assert_true(result.has_exit_code);
    assert_int_equal(result.exit_code, 128 + SIGSEGV);
    assert_false(result.is_error);
    tool_result_fini(&result);
}

BOTH_TIERS(nothing_is_expanded)
{
    struct tool_world *world = world_in_tier(state);
    world_open(world, SHELL);
    expect(world, "echo $HOME `id` $(id) * ~ a;b", "STDOUT:\n$HOME `id` $(id) * ~ a;b\n");
}

WORLD_TEST(operators_are_refused)
{
    world_open(*state, SHELL);
    expect_error(*state, "ls | wc",
                 "Error: shell operator '|' is not allowed — use dedicated tools instead");
    expect_error(*state, "ls && rm x", "Error: shell operator '&&' is not allowed");
    expect_error(*state, "grep ';' file", "Error: shell operator ';' is not allowed");
    expect_error(*state, ":(){ :|:& };:", "Error: fork bomb pattern detected");
    expect_error(*state, ":() {", "Error: fork bomb pattern detected");
}

WORLD_TEST(what_is_no_command_is_refused)
{
    world_open(*state, SHELL);
    expect_error(*state, "", "Error: empty command");
    expect_error(*state, "echo 'a", "Error: invalid command syntax: No closing quotation");
}

WORLD_TEST(lists_are_by_base_name)
{
    world_open(*state, "{\"type\":\"shell\",\"allowed_commands\":[\"echo\",\"rm\"],"
                       "\"blocked_commands\":[\"rm\"]}");
    expect(*state, "/bin/echo x", "STDOUT:\nx\n");
    expect_error(*state, "ls", "Error: command 'ls' is not in the allowed list: ['echo', 'rm']");
    expect_error(*state, "/bin/rm x", "Error: command 'rm' is blocked");
    expect_error(*state, "'r'm x", "Error: command 'rm' is blocked");
    expect_error(*state, "\\rm x", "Error: command 'rm' is blocked");
}

WORLD_TEST(dangerous_commands_are_blocked_by_default)
{
    world_open(*state, SHELL);
    expect_error(*state, "rm -rf /", "Error: command 'rm' is blocked");
    expect_error(*state, "/usr/bin/sudo id", "Error: command 'sudo' is blocked");
}

BOTH_TIERS(a_missing_command_is_told)
{
    struct tool_world *world = world_in_tier(state);
    world_open(world, SHELL);
    expect_error(world, "no-such-command-anywhere x",
                 "Error: command 'no-such-command-anywhere' not found");
}

WORLD_TEST(confirmation_is_needed_unless_the_entry_says_no)
{
    struct tool_world *world = *state;
    world_open(world, "{\"type\":\"shell\"}");
    assert_true(toolbox_find(world->toolbox, "run_shell")->needs_confirmation);
    toolbox_free(world->toolbox);
    world->toolbox = NULL;
    world_open(world, SHELL);
    assert_false(toolbox_find(world->toolbox, "run_shell")->needs_confirmation);
    assert_false(toolbox_find(world->toolbox, "run_shell")->is_idempotent);
}

BOTH_TIERS(a_flood_is_cut)
{
    struct tool_world *world = world_in_tier(state);
    world_open(world, "{\"type\":\"shell\",\"max_output_bytes\":1000}");
    struct tool_result result = run_line(world, "head -c 10000000 /dev/zero");
    assert_true(result.is_truncated);
    assert_true(result.text.len <= 3000); /* each byte became three */
    tool_result_fini(&result);
    result = run_script(world, "yes | head -c 10000000; yes x | head -c 10000000 >&2");
    assert_int_equal(result.text.len, 1000);
    assert_string_equal(result.text.data + 1000 - 12, "\n[truncated]");
    tool_result_fini(&result);
}

/** Whether a process whose command line holds a text lives. */
static bool is_running(const char *marker)
{
    bool is_found = false;
    DIR *proc = opendir("/proc");
    struct dirent *entry;
    while (!is_found && (entry = readdir(proc)) != NULL) {
        char path[300];
        char text[512];
        snprintf(path, sizeof(path), "/proc/%s/cmdline", entry->d_name);
        FILE *file = isdigit((unsigned char)entry->d_name[0]) ? fopen(path, "re") : NULL;
        if (file != NULL) {
            size_t len = fread(text, 1, sizeof(text), file);
            fclose(file);
            is_found = memmem(text, len, marker, strlen(marker)) != NULL;
        }
    }
    closedir(proc);
    return is_found;
}

BOTH_TIERS(a_timeout_ends_all_descendants)
{
    struct tool_world *world = world_in_tier(state);
    char seconds[32];
    char script[128];
    world_open(world, "{\"type\":\"shell\",\"timeout_seconds\":1}");
    snprintf(seconds, sizeof(seconds), "%d.%d", 5000 + (int)getpid(), is_namespace(world));
    snprintf(script, sizeof(script), "setsid sleep %s & trap \"\" TERM; echo begun; sleep %s",
             seconds, seconds);
    struct tool_result result = run_script(world, script);
    assert_true(result.is_error);
    assert_string_equal(buf_string(&result.text), "Execution timed out after 1s\nSTDOUT:\nbegun\n");
    assert_false(is_running(seconds));
    tool_result_fini(&result);
}

ALSO_IN_TIER(landlock, a_timeout_ends_all_descendants);

BOTH_TIERS(the_deadline_of_the_call_counts_too)
{
    struct tool_world *world = world_in_tier(state);
    world_open(world, SHELL);
    world->deadline_ns = clock_monotonic(clock_system()) + NS_PER_S;
    expect_error(world, "sleep 1000", "Execution timed out after ");
}

static void *cancel_soon(void *context)
{
    struct tool_world *world = context;
    char path[2 * PATH_MAX];
    snprintf(path, sizeof(path), "%s/begun", world->workspace);
    while (!file_exists(path)) {
        clock_sleep(clock_system(), NS_PER_MS, NULL);
    }
    cancel_set(world->cancel, CANCEL_NOW);
    return NULL;
}

BOTH_TIERS(a_call_can_be_cancelled)
{
    struct tool_world *world = world_in_tier(state);
    struct cancel cancel;
    pthread_t thread;
    world_open(world, "{\"type\":\"shell\",\"working_dir\":\".\"}");
    assert_int_equal(cancel_init(&cancel, NULL), 0);
    world->cancel = &cancel;
    assert_int_equal(pthread_create(&thread, NULL, cancel_soon, world), 0);
    struct tool_result result = run_script(world, "touch begun; sleep 1000");
    pthread_join(thread, NULL);
    assert_string_equal(buf_string(&result.text), "Error: command 'sh' was cancelled");
    tool_result_fini(&result);
    cancel_fini(&cancel);
}

BOTH_TIERS(commands_start_in_the_right_folder)
{
    struct tool_world *world = world_in_tier(state);
    char roles[2 * PATH_MAX];
    struct buf text = {0};
    world_make_folder(world, "../roles");
    snprintf(roles, sizeof(roles), "%s/roles", world->folder);
    world_open(world, SHELL);
    buf_printf(&text, "STDOUT:\n%s\n", world->workspace);
    expect(world, "pwd", buf_string(&text));
    toolbox_free(world->toolbox);
    world->toolbox = NULL;
    world->around.role_folder = roles;
    world_open(world, SHELL);
    buf_clear(&text);
    buf_printf(&text, "STDOUT:\n%s\n", roles);
    expect(world, "pwd", buf_string(&text));
    toolbox_free(world->toolbox);
    world->toolbox = NULL;
    world_make_folder(world, "sub");
    world_open(world, "{\"type\":\"shell\",\"working_dir\":\"sub\"}");
    buf_clear(&text);
    buf_printf(&text, "STDOUT:\n%s/sub\n", world->workspace);
    expect(world, "pwd", buf_string(&text));
    buf_fini(&text);
}

/** Variables with canary values, and whether commands may see them. */
static const struct {
    const char *name;
    bool is_kept;
} canaries[] = {
    {"OPENAI_API_KEY", false},
    {"ANTHROPIC_API_KEY", false},
    {"AWS_SECRET_ACCESS_KEY", false},
    {"AWS_SESSION_TOKEN", false},
    {"GITHUB_TOKEN", false},
    {"DATABASE_URL", false},
    {"my_service_password", false},
    {"Stripe_Anything", false},
    {"X_CREDENTIALS", false},
    {"SSH_AUTH_SOCK", false},
    {"AZURE_TENANT", false},
    {"RONDO_CANARY_PLAIN", false},
    {"PGPASSWORD", false},
    {"TOKEN", false},
    {"MY_PASS", false},
    {"pgpass", false},
    {"PASSWD2", false},
    {"AUTH", false},
    {"LC_SECRET", false},
    {"LC_TIME", true},
    {"PATH_SECRET", false},
    {"KRB5CCNAME", false},
    {"_", false},
};

static void set_canaries(bool is_set)
{
    for (size_t i = 0; i < COUNT(canaries); i++) {
        if (is_set) {
            setenv(canaries[i].name, "canary-value", 1);
        } else {
            unsetenv(canaries[i].name);
        }
    }
}

BOTH_TIERS(secrets_of_the_environment_do_not_leak)
{
    struct tool_world *world = world_in_tier(state);
    world_open(world, SHELL);
    set_canaries(true);
    struct tool_result result = run_line(world, "env");
    set_canaries(false);
    for (size_t i = 0; i < COUNT(canaries); i++) {
        char line[128];
        snprintf(line, sizeof(line), "\n%s=canary-value\n", canaries[i].name);
        bool is_there = strstr(buf_string(&result.text), line) != NULL;
        if (is_there != canaries[i].is_kept) {
            fail_msg("%s: %d", canaries[i].name, is_there);
        }
    }
    tool_result_fini(&result);
}

ALSO_IN_TIER(landlock, secrets_of_the_environment_do_not_leak);

static void expect_variable(const char *output, const char *name, bool is_there)
{
    char line[128];
    snprintf(line, sizeof(line), "\n%s=canary\n", name);
    if ((strstr(output, line) != NULL) != is_there) {
        fail_msg("%s", name);
    }
}

BOTH_TIERS(the_role_names_what_else_commands_see)
{
    static const struct {
        const char *name;
        bool is_seen;
    } variables[] = {
        {"RONDO_CANARY_A", false}, {"RONDO_CANARY_B", true}, {"RONDO_C_TOKEN", true},
        {"RONDO_D", false},        {"RONDO_E", false},       {"TZ", false},
    };
    struct tool_world *world = world_in_tier(state);
    struct json_object *security = json_of(
        "{\"sensitive_env_prefixes\":[\"RONDO_CANARY\",\"T\"],\"sensitive_env_suffixes\":[],"
        "\"env_allowlist\":[\"RONDO_CANARY_B\",\"RONDO_C_TOKEN\",\"RONDO_D*\",\"*\",\"\","
        "\"RONDO_E=canary\",5]}");
    world->around.security_tools = security;
    world_open(world, SHELL);
    for (size_t i = 0; i < COUNT(variables); i++) {
        setenv(variables[i].name, "canary", 1);
    }
    struct tool_result result = run_line(world, "env");
    for (size_t i = 0; i < COUNT(variables); i++) {
        unsetenv(variables[i].name);
        expect_variable(buf_string(&result.text), variables[i].name, variables[i].is_seen);
    }
    tool_result_fini(&result);
    json_object_put(security);
}

IN_TIER(namespace, the_sandbox_holds)
{
    struct tool_world *world = world_in_tier(state);
    char secret[2 * PATH_MAX];
    char line[3 * PATH_MAX];
    snprintf(secret, sizeof(secret), "%s/secret", world->folder);
    const char *const hidden[] = {secret, NULL};
    world->around.hide_paths = hidden;
    world->around.role_folder = world->workspace;
    world_write(world, "../outside", "outside");
    world_write(world, ".env", "KEY=canary");
    world_open(world, SHELL);
    snprintf(line, sizeof(line), "cat %s/outside", world->folder);
    struct tool_result result = run_line(world, line);
    assert_null(strstr(buf_string(&result.text), "STDOUT"));
    tool_result_fini(&result);
    result = run_line(world, "cat .env");
    assert_null(strstr(buf_string(&result.text), "canary"));
    tool_result_fini(&result);
    expect(world, "touch made", "(no output)");
    world_expect_file(world, "made", "");
}

/** A server on loopback that says nothing. @return its port */
static int listen_on_loopback(int *ret_fd)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    *ret_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(*ret_fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(*ret_fd, 5), 0);
    assert_int_equal(getsockname(*ret_fd, (struct sockaddr *)&address, &len), 0);
    return ntohs(address.sin_port);
}

IN_TIER(namespace, the_network_is_on_unless_it_is_switched_off)
{
    struct tool_world *world = world_in_tier(state);
    int fd = -1;
    char line[256];
    snprintf(line, sizeof(line),
             "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", %d)); "
             "print(\"connected\")'",
             listen_on_loopback(&fd));
    world_open(world, SHELL);
    struct tool_result result = run_line(world, line);
    if (strstr(buf_string(&result.text), "not found") != NULL ||
        strstr(buf_string(&result.text), "could not be run") != NULL) {
        print_message("no python3 in the sandbox\n");
        tool_result_fini(&result);
        close(fd);
        skip();
    }
    assert_string_equal(buf_string(&result.text), "STDOUT:\nconnected\n");
    tool_result_fini(&result);
    for (int i = 0; i < 2; i++) {
        toolbox_free(world->toolbox);
        world->toolbox = NULL;
        world->around.allow_network = i == 0;
        world->around.is_offline = i == 0;
        world_open(world, SHELL);
        result = run_line(world, line);
        assert_non_null(strstr(buf_string(&result.text), "Exit code: 1"));
        tool_result_fini(&result);
    }
    close(fd);
}

WORLD_TEST(a_sandbox_that_is_none_is_refused)
{
    struct tool_world *world = *state;
    struct rondo_error err = {0};
    world->around.sandbox = "docker";
    assert_int_equal(world_try_open(world, SHELL, &err), RONDO_ERR_INVALID);
    assert_non_null(strstr(err.message, "there is no sandbox \"docker\""));
}

int main(int argc, char **argv)
{
    if (is_supervisor(argc, argv)) {
        return supervise_main(argc, argv);
    }
    return test_run(NULL, NULL);
}
