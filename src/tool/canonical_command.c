// SPDX-License-Identifier: Apache-2.0
/*
 * Canonical command lines. Which programs start others is a table; what a shell would make of
 * variables and patterns is not followed, so that a list of what is denied cannot be complete.
 *
 * all opens: finds the name that policies see; opens nothing.
 */
#include "tool/canonical.h"

#include "base/ascii.h"
#include "base/auto.h"
#include "base/memory.h"
#include "os/process/program.h"
#include "tool/shell_words.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

/** Programs that start the command in their arguments. */
static const struct {
    const char *name;
    const char *valued; /* letters of options that take the next word */
    size_t operands;    /* before the command */
    bool takes_variables;
} wrappers[] = {
    {"env", "uCS", 0, true},
    {"command", "", 0, false},
    {"exec", "a", 0, false},
    {"builtin", "", 0, false},
    {"nohup", "", 0, false},
    {"setsid", "", 0, false},
    {"nice", "n", 0, false},
    {"ionice", "cnpPu", 0, false},
    {"time", "fo", 0, false},
    {"timeout", "sk", 1, false},
    {"stdbuf", "ioe", 0, false},
    {"chrt", "TPD", 1, false},
    {"taskset", "", 1, false},
    {"xargs", "IEdnPsLa", 0, false},
    {"busybox", "", 0, false},
    {"sudo", "ugpCDhrtU", 0, true},
    {"doas", "uC", 0, false},
    {"unshare", "SGRw", 0, false},
    {"flock", "wE", 1, false},
    {"chroot", "", 1, false},
    {"strace", "eopsuaEIOPSXb", 0, false},
    {"watch", "nq", 0, false},
    {"ssh-agent", "aEOPt", 0, false},
    {"setpriv", "", 0, false},
    {"prlimit", "p", 0, false},
    {"numactl", "CNPmilp", 0, false},
    {"fakeroot", "lsibu", 0, false},
    {"dbus-run-session", "", 0, false},
    {"systemd-run", "pEMHtu", 0, false},
    {"systemd-inhibit", "", 0, false},
    {"linux32", "", 0, false},
    {"linux64", "", 0, false},
    {"eval", "", 0, false},
};

static const char *const shells[] = {"sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "rbash"};

/** Programs that give the value of -c or --command to a shell. */
static const char *const commanders[] = {"script", "su", "runuser", "flock"};

/** Options of git before its sub-command that take the next word. */
static const char *const git_valued[] = {
    "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--attr-source"};

void canonical_program(const char *word, const char *folder, struct buf *ret_text)
{
    const char *slash = strrchr(word, '/');
    char found[PATH_MAX];
    char reason[256];
    if (slash == NULL) {
        buf_append_string(ret_text, word);
        return;
    }
    auto_buf struct buf absolute = {0};
    canonical_path(folder, "/nonexistent", word, &absolute);
    if (slash[1] != '\0' &&
        program_find(slash + 1, (const char *const *)environ, "/", found, reason)) {
        auto_free char *real = realpath(found, NULL);
        if (real != NULL && strcmp(real, buf_string(&absolute)) == 0) {
            buf_append_string(ret_text, slash + 1);
            return;
        }
    }
    auto_buf struct buf relative = {0};
    canonical_path(folder, folder, word, &relative);
    buf_printf(ret_text, "%s%s", buf_string(&relative)[0] == '/' ? "" : "./",
               buf_string(&relative));
}

static void add_line(struct canonical_commands *commands, struct buf *line)
{
    for (size_t i = 0; i < commands->count; i++) {
        if (strcmp(commands->lines[i], buf_string(line)) == 0) {
            return;
        }
    }
    if (commands->count == CANONICAL_FORMS_MAX) {
        commands->is_cut = true;
        return;
    }
    commands->lines[commands->count++] = buf_steal(line);
}

static bool is_assignment(const char *word)
{
    size_t len = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    return len > 0 && !ascii_is_digit(word[0]) && word[len] == '=';
}

static bool is_in_list(const char *word, const char *const *list, size_t count)
{
    size_t i = 0;
    while (i < count && strcmp(list[i], word) != 0) {
        i++;
    }
    return i < count;
}

/** The text after -c; NULL when there is none. */
static const char *script_of(char *const *words)
{
    bool has_c = false;
    for (size_t i = 1; words[i] != NULL; i++) {
        bool is_option = (words[i][0] == '-' || words[i][0] == '+') && words[i][1] != '\0';
        if (!is_option) {
            return has_c ? words[i] : NULL;
        }
        has_c = has_c || (words[i][1] != '-' && strchr(words[i], 'c') != NULL);
        bool takes_next = words[i][1] == 'o' || words[i][1] == 'O';
        i += takes_next && words[i + 1] != NULL ? 1 : 0;
    }
    return NULL;
}

/** Where the command of a wrapper begins. */
static size_t skip_options(char *const *words, size_t wrapper)
{
    size_t i = 1;
    size_t operands = wrappers[wrapper].operands;
    for (; words[i] != NULL; i++) {
        const char *word = words[i];
        bool is_env = strcmp(wrappers[wrapper].name, "env") == 0;
        if (strcmp(word, "-") == 0 && is_env) {
            continue; /* the same as -i */
        }
        if (word[0] == '-' && word[1] != '\0') {
            bool is_short = word[1] != '-' && word[2] == '\0';
            bool is_valued = is_short && strchr(wrappers[wrapper].valued, word[1]) != NULL;
            /* env -S: its value is a command line, which begins with the next word. */
            bool is_line = word[1] == 'S' && is_env;
            i += is_valued && !is_line && words[i + 1] != NULL ? 1 : 0;
        } else if (wrappers[wrapper].takes_variables && is_assignment(word)) {
            continue;
        } else if (operands > 0) {
            operands--;
        } else {
            break;
        }
    }
    return i;
}

static void add_script(struct canonical_commands *commands, const char *text, const char *folder);

static void add_words(struct canonical_commands *commands, char *const *words, const char *folder);

/** The value of -c or --command, whatever is before it; NULL when there is none. */
static const char *command_option_of(char *const *words)
{
    static const char name[] = "--command";
    for (size_t i = 1; words[i] != NULL; i++) {
        const char *word = words[i];
        size_t len = strlen(word);
        if (strncmp(word, name, sizeof(name) - 1) == 0 && word[sizeof(name) - 1] == '=') {
            return word + sizeof(name);
        }
        bool is_short = word[0] == '-' && word[1] != '-' && len > 1 && word[len - 1] == 'c';
        if (is_short || strcmp(word, name) == 0) {
            return words[i + 1];
        }
    }
    return NULL;
}

/** `git -C folder push` is `git push`. */
static void add_sub_command(struct canonical_commands *commands, char *const *words)
{
    auto_buf struct buf line = {0};
    size_t i = 1;
    for (; words[i] != NULL && words[i][0] == '-'; i++) {
        bool is_valued =
            is_in_list(words[i], git_valued, sizeof(git_valued) / sizeof(git_valued[0]));
        i += is_valued && words[i + 1] != NULL ? 1 : 0;
    }
    if (i == 1 || words[i] == NULL) {
        return;
    }
    buf_append_string(&line, "git");
    for (; words[i] != NULL; i++) {
        buf_printf(&line, " %s", words[i]);
    }
    add_line(commands, &line);
}

/** Commands that are arguments of `words`. */
static void add_inner(struct canonical_commands *commands, char *const *words, const char *folder)
{
    auto_free char *name = memory_new(strlen(words[0]) + 1);
    shell_word_base_name(words[0], name);
    if (is_assignment(words[0])) {
        add_words(commands, words + 1, folder);
    } else if (is_in_list(name, shells, sizeof(shells) / sizeof(shells[0]))) {
        const char *script = script_of(words);
        if (script != NULL) {
            add_script(commands, script, folder);
        }
    }
    if (strcmp(name, "git") == 0) {
        add_sub_command(commands, words);
    } else if (is_in_list(name, commanders, sizeof(commanders) / sizeof(commanders[0]))) {
        const char *command = command_option_of(words);
        if (command != NULL) {
            add_script(commands, command, folder);
        }
    }
    for (size_t i = 0; i < sizeof(wrappers) / sizeof(wrappers[0]); i++) {
        if (strcmp(wrappers[i].name, name) == 0) {
            char *const *inner = words + skip_options(words, i);
            add_words(commands, inner, folder);
            if (inner[0] != NULL && strpbrk(inner[0], " \t\n;|&") != NULL) {
                add_script(commands, inner[0], folder); /* env -S, eval, watch */
            }
        }
    }
    for (size_t i = 1; strcmp(name, "find") == 0 && words[i] != NULL; i++) {
        bool starts = strcmp(words[i], "-exec") == 0 || strcmp(words[i], "-execdir") == 0 ||
                      strcmp(words[i], "-ok") == 0 || strcmp(words[i], "-okdir") == 0;
        if (starts) {
            add_words(commands, words + i + 1, folder);
        }
    }
}

static void add_words(struct canonical_commands *commands, char *const *words, const char *folder)
{
    auto_buf struct buf line = {0};
    if (words[0] == NULL || commands->is_cut) {
        return;
    }
    canonical_program(words[0], folder, &line);
    for (size_t i = 1; words[i] != NULL; i++) {
        buf_printf(&line, " %s", words[i]);
    }
    add_line(commands, &line);
    if (!commands->is_cut) {
        add_inner(commands, words, folder);
    }
}

/** Join what blanks part, where the quotes make no sense. */
static void add_broken(struct canonical_commands *commands, const char *text)
{
    static const char blanks[] = " \t\r\n";
    auto_buf struct buf line = {0};
    for (const char *at = text + strspn(text, blanks); *at != '\0'; at += strspn(at, blanks)) {
        size_t len = strcspn(at, blanks);
        buf_append_string(&line, line.len > 0 ? " " : "");
        buf_append(&line, at, len);
        at += len;
    }
    if (line.len > 0) {
        add_line(commands, &line);
    }
}

static void add_text(struct canonical_commands *commands, const char *text, const char *folder)
{
    auto_shell_words struct shell_words words = {0};
    if (shell_words_split(text, &words) != NULL) {
        add_broken(commands, text);
    } else if (words.count > 0) {
        add_words(commands, words.words, folder);
    }
}

/** Whether a command ends before this byte; what a shell reads inside of "..." ends one too. */
static bool is_separator(const char *at, char quote)
{
    if (quote == '\'') {
        return false;
    }
    bool is_substitution = *at == '`' || (at[0] == '$' && at[1] == '(');
    return is_substitution || (quote == '\0' && strchr(";|&\n(){}", *at) != NULL);
}

static void add_script(struct canonical_commands *commands, const char *text, const char *folder)
{
    char quote = '\0';
    auto_buf struct buf piece = {0};
    for (const char *at = text;; at++) {
        if (*at == '\0' || is_separator(at, quote)) {
            add_text(commands, buf_string(&piece), folder);
            buf_clear(&piece);
            quote = '\0';
            if (*at == '\0' || commands->is_cut) {
                return;
            }
            continue;
        }
        if (*at == '\\' && quote != '\'' && at[1] != '\0') {
            buf_append(&piece, at++, 1);
        } else if (quote == '\0' && (*at == '\'' || *at == '"')) {
            quote = *at;
        } else if (*at == quote) {
            quote = '\0';
        }
        buf_append(&piece, at, 1);
    }
}

void canonical_command(const char *line, const char *folder, bool is_script,
                       struct canonical_commands *ret_commands)
{
    *ret_commands = (struct canonical_commands){0};
    add_text(ret_commands, line, folder);
    if (is_script) {
        add_script(ret_commands, line, folder);
    }
    if (ret_commands->count == 0) {
        ret_commands->lines[ret_commands->count++] = memory_dup_string("");
    }
}

void canonical_commands_fini(struct canonical_commands *commands)
{
    for (size_t i = 0; i < commands->count; i++) {
        free(commands->lines[i]);
    }
    *commands = (struct canonical_commands){0};
}
