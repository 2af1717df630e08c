// SPDX-License-Identifier: Apache-2.0
/* The files that a call names, and what is known of them. */
#include "tool/operands.h"
#include "tool_world.h"

#include "base/auto.h"
#include "base/limits.h"
#include "tool/canonical.h"

#include <fcntl.h>

static const struct tool_argument command_arguments[] = {
    {"command", ARGUMENT_COMMAND}, {"code", ARGUMENT_PROGRAM}, {"path", ARGUMENT_PATH}, {0}};

static void in_workspace(const struct tool_world *world, const char *name, char *ret_path)
{
    snprintf(ret_path, (size_t)2 * PATH_MAX, "%s/%s", world->workspace, name);
}

static void put(const struct tool_world *world, const char *name, const char *text)
{
    char path[2 * PATH_MAX];
    in_workspace(world, name, path);
    (void)unlink(path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static struct tool_operands read_call(const struct tool_world *world, const char *arguments)
{
    struct tool tool = {.name = "t", .arguments = command_arguments};
    struct tool_operands operands;
    struct json_object *object = json_of(arguments);
    operands_read(&tool, world->workspace, object, &operands);
    json_object_put(object);
    return operands;
}

/** @param names of the operands, separated by blanks */
static void expect(const struct tool_world *world, const char *arguments, const char *names)
{
    auto_operands struct tool_operands operands = read_call(world, arguments);
    auto_buf struct buf found = {0};
    for (size_t i = 0; i < operands.count; i++) {
        buf_printf(&found, "%s%s", i > 0 ? " " : "", operands.items[i].path);
    }
    if (strcmp(buf_string(&found), names) != 0) {
        fail_msg("%s: \"%s\", not \"%s\"", arguments, buf_string(&found), names);
    }
}

WORLD_TEST(words_of_commands_and_programs_that_name_files_are_operands)
{
    struct tool_world *world = *state;
    put(world, "a.sh", "1");
    put(world, "b c.csv", "2");
    put(world, "\xc3\xa4.txt", "3");
    char folder[2 * PATH_MAX];
    in_workspace(world, "folder", folder);
    assert_int_equal(mkdir(folder, 0755), 0);
    expect(world, "{\"command\":\"sh ./a.sh nothing\"}", "a.sh");
    expect(world, "{\"command\":\"./a.sh 'b c.csv' a.sh\"}", "a.sh b c.csv");
    expect(world, "{\"command\":\"tool --in=a.sh folder/../a.sh\"}", "a.sh");
    expect(world, "{\"code\":\"open('b c.csv').read(); run(\\\"a.sh\\\")\"}", "a.sh b c.csv");
    expect(world, "{\"code\":\"import os\\nos.system('sh a.sh;ls')\"}", "a.sh");
    expect(world, "{\"path\":\"\xc3\xa4.txt\"}", "\xc3\xa4.txt");
    expect(world, "{\"path\":\"missing\"}", "");
    expect(world, "{\"text\":\"a.sh\"}", "");
    expect(world, "{\"command\":\"cat /etc/passwd .. ../..\"}", "");
}

static void make_folder(const struct tool_world *world, const char *name)
{
    char path[2 * PATH_MAX];
    in_workspace(world, name, path);
    assert_int_equal(mkdir(path, 0755), 0);
}

WORLD_TEST(names_that_only_the_shell_puts_together_are_operands)
{
    struct tool_world *world = *state;
    make_folder(world, "d");
    make_folder(world, "d/e");
    put(world, "a.sh", "1");
    put(world, "d/x", "2");
    put(world, "d/e/y", "3");
    expect(world, "{\"command\":\"cd d && ./x\"}", "d d/x");
    expect(world, "{\"command\":\"cd d; cd e; ./y\"}", "d d/e d/e/y");
    expect(world, "{\"command\":\"make -C d -fx\"}", "d d/x");
    expect(world, "{\"command\":\"D=d sh $D/x\"}", "d d/x");
    expect(world, "{\"command\":\"tool @a.sh -fa.sh\"}", "a.sh");
    expect(world, "{\"command\":\"sh $PWD/a.sh\"}", "a.sh");
    expect(world, "{\"command\":\"sh ${PWD}/a.sh\"}", "a.sh");
    expect(world, "{\"command\":\"sh \\\"$(pwd)\\\"/a.sh\"}", "a.sh");
    expect(world, "{\"command\":\"sh /proc/self/cwd/a.sh\"}", "a.sh");
    expect(world, "{\"code\":\"os.chdir('d'); run('./x')\"}", "d d/x");
}

static bool pattern_notices(const struct tool_world *world, const char *arguments, const char *name)
{
    bool is_noticed = false;
    auto_operands struct tool_operands before = read_call(world, arguments);
    put(world, name, "changed");
    auto_operands struct tool_operands now = read_call(world, arguments);
    for (size_t i = 0; i < now.count && i < before.count; i++) {
        is_noticed = is_noticed || strcmp(before.items[i].digest, now.items[i].digest) != 0;
    }
    return is_noticed || before.count != now.count;
}

WORLD_TEST(a_pattern_is_what_it_matches)
{
    struct tool_world *world = *state;
    make_folder(world, "d");
    put(world, "a.sh", "1");
    put(world, "d/x.sh", "2");
    expect(world, "{\"command\":\"sh *.sh\"}", "*.sh");
    expect(world, "{\"command\":\"sh [!b].sh none*\"}", "[!b].sh");
    assert_true(pattern_notices(world, "{\"command\":\"sh *.sh\"}", "a.sh"));
    assert_true(pattern_notices(world, "{\"command\":\"sh *.sh\"}", "b.sh"));
    assert_true(pattern_notices(world, "{\"command\":\"sh ?/x*\"}", "d/x.sh"));
    assert_true(pattern_notices(world, "{\"command\":\"cd d; sh *\"}", "d/z.sh"));
    assert_false(pattern_notices(world, "{\"command\":\"sh a*\"}", "c.sh"));
}

WORLD_TEST(a_pattern_that_leads_into_the_workspace_from_outside_counts)
{
    struct tool_world *world = *state;
    char arguments[4 * PATH_MAX];
    const char *name = strrchr(world->workspace, '/') + 1;
    put(world, "a.sh", "1");
    snprintf(arguments, sizeof(arguments), "{\"command\":\"sh %s/*.sh\"}", world->workspace);
    assert_true(pattern_notices(world, arguments, "a.sh"));
    put(world, "a.sh", "1");
    snprintf(arguments, sizeof(arguments), "{\"command\":\"sh ../%c*/a.sh\"}", name[0]);
    assert_true(pattern_notices(world, arguments, "a.sh"));
    snprintf(arguments, sizeof(arguments), "{\"command\":\"sh /%c*%s/a.sh\"}", world->workspace[1],
             strchr(world->workspace + 1, '/'));
    put(world, "a.sh", "2");
    assert_true(pattern_notices(world, arguments, "a.sh"));
    expect(world, "{\"command\":\"awk /a.*b /no-such*/x\"}", "");
}

WORLD_TEST(what_a_pattern_of_a_command_matches_is_bounded)
{
    struct tool_world *world = *state;
    for (int i = 0; i < LIMIT_OPERAND_MATCHES; i++) {
        char name[16];
        snprintf(name, sizeof(name), "f%04d", i);
        put(world, name, "");
    }
    auto_operands struct tool_operands most = read_call(world, "{\"command\":\"sh f*\"}");
    assert_false(most.is_cut);
    assert_int_equal(most.count, 1);
    put(world, "f", "");
    auto_operands struct tool_operands more = read_call(world, "{\"command\":\"sh f*\"}");
    assert_true(more.is_cut);
    auto_operands struct tool_operands product = read_call(world, "{\"code\":\"2 * 3\"}");
    assert_false(product.is_cut);
}

/** Whether a call names something else after a change. */
static bool has_changed(const struct tool_operands *before, const struct tool_operands *now)
{
    bool is_same = before->count == now->count;
    for (size_t i = 0; is_same && i < now->count; i++) {
        is_same = strcmp(before->items[i].path, now->items[i].path) == 0 &&
                  strcmp(before->items[i].digest, now->items[i].digest) == 0;
    }
    return !is_same;
}

#define RUN_A "{\"command\":\"sh a.sh\"}"

static void expect_change(const struct tool_world *world, struct tool_operands *before)
{
    auto_operands struct tool_operands now = read_call(world, RUN_A);
    assert_true(has_changed(before, &now));
    operands_fini(before);
    put(world, "a.sh", "echo one");
    *before = read_call(world, RUN_A);
}

WORLD_TEST(whatever_is_done_to_a_file_is_noticed)
{
    struct tool_world *world = *state;
    char path[2 * PATH_MAX];
    char other[2 * PATH_MAX];
    in_workspace(world, "a.sh", path);
    in_workspace(world, "other", other);
    put(world, "a.sh", "echo one");
    struct tool_operands before = read_call(world, RUN_A);
    auto_operands struct tool_operands same = read_call(world, RUN_A);
    assert_false(has_changed(&before, &same));
    put(world, "a.sh", "echo two");
    expect_change(world, &before);
    put(world, "other", "echo two");
    assert_int_equal(rename(other, path), 0);
    expect_change(world, &before);
    put(world, "other", "echo one"); /* A link to the same content leads elsewhere. */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("other", path), 0);
    expect_change(world, &before);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/bin/true", path), 0);
    expect_change(world, &before);
    assert_int_equal(unlink(path), 0);
    expect_change(world, &before);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_change(world, &before);
    assert_int_equal(truncate(path, (off_t)LIMIT_OPERAND_BYTES + 1), 0);
    expect_change(world, &before);
    assert_int_equal(unlink(other), 0);
    assert_int_equal(link(path, other), 0);
    expect_change(world, &before);
    operands_fini(&before);
}

WORLD_TEST(of_a_file_that_is_not_read_the_status_is_compared)
{
    struct tool_world *world = *state;
    char path[2 * PATH_MAX];
    in_workspace(world, "a.sh", path);
    put(world, "a.sh", "");
    assert_int_equal(truncate(path, (off_t)LIMIT_OPERAND_BYTES), 0);
    struct tool_operands before = read_call(world, RUN_A);
    assert_int_equal(strncmp(before.items[0].digest, "sha256:", 7), 0);
    operands_fini(&before);
    assert_int_equal(truncate(path, (off_t)LIMIT_OPERAND_BYTES + 1), 0);
    before = read_call(world, RUN_A);
    assert_int_equal(strncmp(before.items[0].digest, "stat:", 5), 0);
    usleep(20000); /* More than a tick of the clock that stamps files. */
    auto_close int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "x", 1, 0), 1);
    auto_operands struct tool_operands now = read_call(world, RUN_A);
    assert_true(has_changed(&before, &now));
    operands_fini(&before);
}

WORLD_TEST(the_digest_of_a_secret_is_not_shown)
{
    struct tool_world *world = *state;
    put(world, ".env", "PIN=1234");
    auto_operands struct tool_operands operands = read_call(world, "{\"command\":\"cat .env\"}");
    assert_int_equal(operands.count, 1);
    assert_int_equal(strncmp(operands.items[0].digest, "stat:", 5), 0);
}

static void name_files(const struct tool_world *world, int count, struct buf *ret_arguments)
{
    buf_append_string(ret_arguments, "{\"command\":\"cat");
    for (int i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof(name), "f%03d", i);
        put(world, name, name);
        buf_printf(ret_arguments, " %s", name);
    }
    buf_append_string(ret_arguments, "\"}");
}

WORLD_TEST(files_and_words_are_bounded)
{
    struct tool_world *world = *state;
    for (int more = 0; more < 2; more++) {
        auto_buf struct buf arguments = {0};
        name_files(world, LIMIT_OPERANDS + more, &arguments);
        auto_operands struct tool_operands operands = read_call(world, buf_string(&arguments));
        assert_int_equal(operands.count, LIMIT_OPERANDS);
        assert_int_equal(operands.is_cut, more == 1);
        auto_buf struct buf words = {0};
        buf_append_string(&words, "{\"code\":\"");
        for (int i = 0; i < LIMIT_OPERAND_WORDS + more; i++) {
            buf_append_string(&words, "x ");
        }
        buf_append_string(&words, "\"}");
        auto_operands struct tool_operands none = read_call(world, buf_string(&words));
        assert_int_equal(none.is_cut, more == 1);
    }
}
