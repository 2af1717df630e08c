// SPDX-License-Identifier: Apache-2.0
/*
 * The detection table. A row fits when its file exists in the workspace and, if it names a probe,
 * the file's content passes it. Rows are in order of how surely they give what the project's own
 * people run: a target in a Makefile before what a tool would do by default.
 */
#include "loop/detect.h"

#include "base/auto.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/limits.h"
#include "os/file_untrusted.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <json-c/json.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum detect_probe {
    PROBE_NONE,        /* the file is enough */
    PROBE_MAKE_TARGET, /* a Makefile has the target */
    PROBE_NPM_SCRIPT,  /* a package.json has the script */
    PROBE_TEXT,        /* the file contains the text */
};

struct detect_row {
    const char *condition;
    const char *file; /* shell pattern for names in the workspace's top folder */
    enum detect_probe probe;
    const char *what; /* target, script or text */
    const char *command;
    const char *origin;
};

static const char *const standard_names[] = {
    "all_tests_pass",
    "build_succeeds",
    "linting_clean",
    "security_scan_clean",
};

static const struct detect_row rows[] = {
#define TESTS "all_tests_pass"
    {TESTS, "Makefile", PROBE_MAKE_TARGET, "test", "make test", "Makefile: target test"},
    {TESTS, "Makefile", PROBE_MAKE_TARGET, "check", "make check", "Makefile: target check"},
    {TESTS, "GNUmakefile", PROBE_MAKE_TARGET, "test", "make test", "GNUmakefile: target test"},
    {TESTS, "makefile", PROBE_MAKE_TARGET, "test", "make test", "makefile: target test"},
    {TESTS, "meson.build", PROBE_NONE, NULL,
     "test -d build || meson setup build && meson test -C build", "meson.build"},
    {TESTS, "CMakeLists.txt", PROBE_NONE, NULL,
     "cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure",
     "CMakeLists.txt"},
    {TESTS, "package.json", PROBE_NPM_SCRIPT, "test", "npm test --silent",
     "package.json: script test"},
    {TESTS, "Cargo.toml", PROBE_NONE, NULL, "cargo test --offline", "Cargo.toml"},
    {TESTS, "go.mod", PROBE_NONE, NULL, "go test ./...", "go.mod"},
    {TESTS, "tox.ini", PROBE_NONE, NULL, "tox -q", "tox.ini"},
    {TESTS, "pytest.ini", PROBE_NONE, NULL, "python3 -m pytest -q", "pytest.ini"},
    {TESTS, "pyproject.toml", PROBE_TEXT, "pytest", "python3 -m pytest -q",
     "pyproject.toml: pytest"},
    {TESTS, "pyproject.toml", PROBE_NONE, NULL, "python3 -m unittest discover -q",
     "pyproject.toml"},
    {TESTS, "setup.py", PROBE_NONE, NULL, "python3 -m unittest discover -q", "setup.py"},
    {TESTS, "pom.xml", PROBE_NONE, NULL, "mvn -q -o test", "pom.xml"},
    {TESTS, "gradlew", PROBE_NONE, NULL, "./gradlew --offline test", "gradlew"},
    {TESTS, "mix.exs", PROBE_NONE, NULL, "mix test", "mix.exs"},
    {TESTS, "Rakefile", PROBE_TEXT, "test", "rake test", "Rakefile: test"},
    {TESTS, "composer.json", PROBE_TEXT, "phpunit", "vendor/bin/phpunit", "composer.json: phpunit"},
    {TESTS, "*.sln", PROBE_NONE, NULL, "dotnet test --nologo", "solution file"},
    {TESTS, "*.csproj", PROBE_NONE, NULL, "dotnet test --nologo", "C# project file"},
    {TESTS, "deno.json", PROBE_NONE, NULL, "deno test", "deno.json"},
#undef TESTS
#define BUILD "build_succeeds"
    {BUILD, "Makefile", PROBE_MAKE_TARGET, "build", "make build", "Makefile: target build"},
    {BUILD, "Makefile", PROBE_NONE, NULL, "make", "Makefile: first target"},
    {BUILD, "GNUmakefile", PROBE_NONE, NULL, "make", "GNUmakefile: first target"},
    {BUILD, "makefile", PROBE_NONE, NULL, "make", "makefile: first target"},
    {BUILD, "meson.build", PROBE_NONE, NULL,
     "test -d build || meson setup build && meson compile -C build", "meson.build"},
    {BUILD, "CMakeLists.txt", PROBE_NONE, NULL, "cmake -S . -B build && cmake --build build",
     "CMakeLists.txt"},
    {BUILD, "package.json", PROBE_NPM_SCRIPT, "build", "npm run --silent build",
     "package.json: script build"},
    {BUILD, "tsconfig.json", PROBE_NONE, NULL, "npx --no-install tsc --noEmit", "tsconfig.json"},
    {BUILD, "Cargo.toml", PROBE_NONE, NULL, "cargo build --offline", "Cargo.toml"},
    {BUILD, "go.mod", PROBE_NONE, NULL, "go build ./...", "go.mod"},
    {BUILD, "pyproject.toml", PROBE_NONE, NULL, "python3 -m compileall -q .", "pyproject.toml"},
    {BUILD, "setup.py", PROBE_NONE, NULL, "python3 -m compileall -q .", "setup.py"},
    {BUILD, "pom.xml", PROBE_NONE, NULL, "mvn -q -o -DskipTests package", "pom.xml"},
    {BUILD, "gradlew", PROBE_NONE, NULL, "./gradlew --offline assemble", "gradlew"},
    {BUILD, "mix.exs", PROBE_NONE, NULL, "mix compile --warnings-as-errors", "mix.exs"},
    {BUILD, "*.sln", PROBE_NONE, NULL, "dotnet build --nologo", "solution file"},
    {BUILD, "*.csproj", PROBE_NONE, NULL, "dotnet build --nologo", "C# project file"},
#undef BUILD
#define LINT "linting_clean"
    {LINT, "Makefile", PROBE_MAKE_TARGET, "lint", "make lint", "Makefile: target lint"},
    {LINT, "GNUmakefile", PROBE_MAKE_TARGET, "lint", "make lint", "GNUmakefile: target lint"},
    {LINT, "makefile", PROBE_MAKE_TARGET, "lint", "make lint", "makefile: target lint"},
    {LINT, "package.json", PROBE_NPM_SCRIPT, "lint", "npm run --silent lint",
     "package.json: script lint"},
    {LINT, "eslint.config.*", PROBE_NONE, NULL, "npx --no-install eslint .", "eslint.config"},
    {LINT, ".eslintrc*", PROBE_NONE, NULL, "npx --no-install eslint .", ".eslintrc"},
    {LINT, "Cargo.toml", PROBE_NONE, NULL, "cargo clippy --offline -- -D warnings", "Cargo.toml"},
    {LINT, ".golangci.y*ml", PROBE_NONE, NULL, "golangci-lint run", ".golangci.yml"},
    {LINT, "go.mod", PROBE_NONE, NULL, "go vet ./...", "go.mod"},
    {LINT, "ruff.toml", PROBE_NONE, NULL, "ruff check .", "ruff.toml"},
    {LINT, "pyproject.toml", PROBE_TEXT, "[tool.ruff", "ruff check .", "pyproject.toml: ruff"},
    {LINT, ".flake8", PROBE_NONE, NULL, "flake8", ".flake8"},
    {LINT, "pyproject.toml", PROBE_TEXT, "pylint", "pylint --recursive=y .",
     "pyproject.toml: pylint"},
    {LINT, ".rubocop.yml", PROBE_NONE, NULL, "rubocop", ".rubocop.yml"},
    {LINT, "mix.exs", PROBE_TEXT, "credo", "mix credo --strict", "mix.exs: credo"},
    {LINT, "deno.json", PROBE_NONE, NULL, "deno lint", "deno.json"},
#undef LINT
#define SCAN "security_scan_clean"
    {SCAN, "Makefile", PROBE_MAKE_TARGET, "security", "make security", "Makefile: target security"},
    {SCAN, "Makefile", PROBE_MAKE_TARGET, "audit", "make audit", "Makefile: target audit"},
    {SCAN, "package.json", PROBE_NPM_SCRIPT, "audit", "npm run --silent audit",
     "package.json: script audit"},
    {SCAN, ".gitleaks.toml", PROBE_NONE, NULL, "gitleaks detect --no-banner --redact",
     ".gitleaks.toml"},
    {SCAN, ".semgrep.yml", PROBE_NONE, NULL, "semgrep scan --error --quiet --config .semgrep.yml",
     ".semgrep.yml"},
    {SCAN, "pyproject.toml", PROBE_TEXT, "[tool.bandit", "bandit -q -r .",
     "pyproject.toml: bandit"},
    {SCAN, ".bandit", PROBE_NONE, NULL, "bandit -q -r .", ".bandit"},
    {SCAN, "Cargo.lock", PROBE_NONE, NULL, "cargo audit --no-fetch", "Cargo.lock"},
    {SCAN, "go.mod", PROBE_NONE, NULL, "govulncheck ./...", "go.mod"},
    {SCAN, "package-lock.json", PROBE_NONE, NULL, "npm audit --audit-level=low",
     "package-lock.json (needs the network: --sandbox-network)"},
#undef SCAN
};
#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

bool detect_is_standard(const char *name)
{
    for (size_t i = 0; i < sizeof(standard_names) / sizeof(standard_names[0]); i++) {
        if (strcmp(standard_names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/** Whether a line of the Makefile begins a rule for the target ("a test b: ..."). */
static bool has_make_target(const char *text, const char *target)
{
    size_t target_len = strlen(target);
    for (const char *line = text; line != NULL && *line != '\0';) {
        size_t line_len = strcspn(line, "\n");
        size_t colon = strcspn(line, ":=#\n");
        bool is_rule = line[0] != '\t' && line[colon] == ':' && line[colon + 1] != '=';
        for (size_t at = 0; is_rule && at < colon;) {
            size_t word = strcspn(line + at, " \t:");
            if (word == target_len && strncmp(line + at, target, word) == 0) {
                return true;
            }
            at += word + 1;
        }
        line = line[line_len] == '\n' ? line + line_len + 1 : NULL;
    }
    return false;
}

/** What `npm init` writes for a project that has no tests yet. */
#define NPM_PLACEHOLDER "no test specified"

static bool has_npm_script(const struct buf *text, const char *script)
{
    auto_json struct json_object *root = NULL;
    struct json_object *scripts = NULL;
    if (json_parse(text->data, text->len, &root, NULL) < 0 ||
        !json_object_is_type(root, json_type_object) ||
        !json_object_object_get_ex(root, "scripts", &scripts)) {
        return false;
    }
    const char *command = json_get_string(scripts, script, NULL);
    return command != NULL && strstr(command, NPM_PLACEHOLDER) == NULL;
}

/**
 * What detection looks at: the workspace's top folder, in which agents can put anything.
 */
struct project {
    const char *workspace;
    int fd;
    struct rondo_error refusal; /* why a file that is there did not count; code 0 = none */
};

static bool passes_probe(const struct detect_row *row, struct project *project, const char *name)
{
    if (row->probe == PROBE_NONE) {
        return true;
    }
    auto_buf struct buf text = {0};
    struct rondo_error refusal = {0};
    if (file_read_untrusted(project->fd, name, LIMIT_PROJECT_FILE_BYTES, &text, &refusal) < 0) {
        project->refusal = refusal;
        return false;
    }
    if (text.len == 0) {
        return false;
    }
    switch (row->probe) {
    case PROBE_MAKE_TARGET:
        return has_make_target(text.data, row->what);
    case PROBE_NPM_SCRIPT:
        return has_npm_script(&text, row->what);
    case PROBE_TEXT:
        return strstr(text.data, row->what) != NULL;
    case PROBE_NONE:
        break;
    }
    return true;
}

/** Find a file of the workspace's top folder by the row's pattern. */
static bool find_file(const struct project *project, const char *pattern, struct buf *ret_name)
{
    struct stat status;
    buf_clear(ret_name);
    if (strpbrk(pattern, "*?[") == NULL) {
        buf_append_string(ret_name, pattern);
        /* opens: only whether the name is there, without following it */
        return fstatat(project->fd, pattern, &status, AT_SYMLINK_NOFOLLOW) == 0;
    }
    int fd = file_open_beneath(project->fd, ".", O_RDONLY | O_DIRECTORY);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (folder == NULL) {
        return false;
    }
    bool is_found = false;
    const struct dirent *entry;
    while (!is_found && (entry = readdir(folder)) != NULL) {
        if (fnmatch(pattern, entry->d_name, 0) == 0) {
            buf_append_string(ret_name, entry->d_name);
            is_found = true;
        }
    }
    closedir(folder);
    return is_found;
}

static int nothing_found(const struct project *project, const char *name, struct rondo_error *err)
{
    bool is_refused = project->refusal.code != 0;
    return error_set(err, RONDO_ERR_NOT_FOUND,
                     "cannot infer a command for %s from the files in %s%s%.300s%s; give one: "
                     "--until '%s=COMMAND'",
                     name, project->workspace, is_refused ? " (" : "", project->refusal.message,
                     is_refused ? ")" : "", name);
}

int detect_command(const char *workspace, const char *name, struct detect_result *ret_result,
                   struct rondo_error *err)
{
    if (!detect_is_standard(name)) {
        return error_set(err, RONDO_ERR_INVALID,
                         "'%s' is not a standard exit condition, so it needs a command: "
                         "--until '%s=COMMAND'",
                         name, name);
    }
    /* opens: the workspace itself */
    auto_close int fd = file_open_folder(workspace, err);
    if (fd < 0) {
        return fd;
    }
    struct project project = {.workspace = workspace, .fd = fd};
    auto_buf struct buf file = {0};
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (strcmp(rows[i].condition, name) == 0 && find_file(&project, rows[i].file, &file) &&
            passes_probe(&rows[i], &project, buf_string(&file))) {
            ret_result->command = rows[i].command;
            ret_result->origin = rows[i].origin;
            return 0;
        }
    }
    return nothing_found(&project, name, err);
}

void detect_describe(struct buf *ret_buf)
{
    static const char *const probes[] = {
        [PROBE_NONE] = "",
        [PROBE_MAKE_TARGET] = " with the target ",
        [PROBE_NPM_SCRIPT] = " with the script ",
        [PROBE_TEXT] = " that mentions ",
    };
    const char *condition = "";
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (strcmp(condition, rows[i].condition) != 0) {
            condition = rows[i].condition;
            buf_printf(ret_buf, "%s### %s\n\n| the project has | command |\n|---|---|\n",
                       i == 0 ? "" : "\n", condition);
        }
        buf_printf(ret_buf, "| `%s`%s%s%s%s | `%s` |\n", rows[i].file, probes[rows[i].probe],
                   rows[i].what == NULL ? "" : "`", rows[i].what == NULL ? "" : rows[i].what,
                   rows[i].what == NULL ? "" : "`", rows[i].command);
    }
}
