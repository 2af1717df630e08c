// SPDX-License-Identifier: Apache-2.0
/*
 * The program around the mock model server; mock_model.h says what it does.
 *
 *   mock_model [OPTION...]      prints "listening PORT" and serves until a signal ends it
 */
#include "mock_model.h"

#include "base/buf.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static const char help[] =
    "usage: mock_model [OPTION...]\n"
    "A model server for tests: OpenAI Chat Completions and Anthropic Messages on 127.0.0.1.\n"
    "Prints \"listening PORT\". Scripts and addresses: bench/mock_model/mock_model.h.\n\n"
    "  --port N            listen there (default: any free port)\n"
    "  --port-file FILE    write the port there, too, when it listens\n"
    "  --script FILE       answer by a script instead of the loop\n"
    "  --iterations N      the loop: iterations until finish_task (10)\n"
    "  --tool NAME         the loop: tool to call (think)\n"
    "  --arguments JSON    the loop: its arguments; {turn} is replaced ({\"thought\":\"turn "
    "{turn}\"})\n"
    "  --calls N           the loop: calls in one reply (1)\n"
    "  --text-bytes N      the loop: least length of a text\n"
    "  --delay-ms N        the loop: time before each reply\n"
    "  --key KEY           refuse requests with another key\n"
    "  --keep-bodies DIR   keep bodies and headers as ID-NUMBER.json and .headers\n"
    "  --fast              do not check requests\n"
    "  --die-with-parent   end when the process that started it ends\n"
    "  --help\n";

struct settings {
    struct mock_options mock;
    const char *port_file;
    const char *script_file;
    bool dies_with_parent;
};

static const struct option options[] = {
    {"port", required_argument, NULL, 'p'},
    {"port-file", required_argument, NULL, 'f'},
    {"script", required_argument, NULL, 's'},
    {"iterations", required_argument, NULL, 'n'},
    {"tool", required_argument, NULL, 't'},
    {"arguments", required_argument, NULL, 'a'},
    {"calls", required_argument, NULL, 'c'},
    {"text-bytes", required_argument, NULL, 'b'},
    {"delay-ms", required_argument, NULL, 'd'},
    {"key", required_argument, NULL, 'k'},
    {"keep-bodies", required_argument, NULL, 'r'},
    {"fast", no_argument, NULL, 'q'},
    {"die-with-parent", no_argument, NULL, 'e'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/** Take in one option. @return false when there is no such option */
static bool take_option(int option, struct settings *settings)
{
    uint64_t number = optarg == NULL ? 0 : strtoull(optarg, NULL, 10);
    switch (option) {
    case 'p':
        settings->mock.port = (uint16_t)number;
        return true;
    case 'f':
        settings->port_file = optarg;
        return true;
    case 's':
        settings->script_file = optarg;
        return true;
    case 'n':
        settings->mock.iterations = number;
        return true;
    case 't':
        settings->mock.tool = optarg;
        return true;
    case 'a':
        settings->mock.arguments = optarg;
        return true;
    case 'c':
        settings->mock.calls = (unsigned)number;
        return true;
    case 'b':
        settings->mock.text_bytes = number;
        return true;
    case 'd':
        settings->mock.delay_ms = (int64_t)number;
        return true;
    case 'k':
        settings->mock.key = optarg;
        return true;
    case 'r':
        settings->mock.keep_folder = optarg;
        return true;
    case 'q':
        settings->mock.is_fast = true;
        return true;
    case 'e':
        settings->dies_with_parent = true;
        return true;
    default:
        return false;
    }
}

static bool read_file(const char *path, struct buf *ret_text)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        fprintf(stderr, "mock_model: %s: %s\n", path, strerror(errno));
        return false;
    }
    for (size_t n = 1; n > 0;) {
        n = fread(buf_room(ret_text, 4096), 1, 4096, file);
        buf_grown(ret_text, n);
    }
    fclose(file);
    return true;
}

/** Say where it listens; a file appears as a whole, and before the words. */
static bool announce(uint16_t port, const char *path)
{
    char part[4096];
    snprintf(part, sizeof(part), "%s.part", path == NULL ? "" : path);
    FILE *file = path == NULL ? NULL : fopen(part, "we");
    if (path != NULL && (file == NULL || fprintf(file, "%u\n", port) < 0 || fclose(file) != 0 ||
                         rename(part, path) != 0)) {
        fprintf(stderr, "mock_model: %s: %s\n", path, strerror(errno));
        return false;
    }
    printf("listening %u\n", port);
    fflush(stdout);
    return true;
}

/** For the signal handler alone. */
static struct mock *served;

static void on_signal(int number)
{
    (void)number;
    mock_stop(served);
}

static int run(const struct settings *settings)
{
    struct mock *mock = NULL;
    struct rondo_error err = {0};
    if (mock_new(&settings->mock, &mock, &err) < 0) {
        fprintf(stderr, "mock_model: %s\n", err.message);
        return 2;
    }
    served = mock;
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    bool is_ready = announce(mock_port(mock), settings->port_file);
    if (is_ready) {
        mock_run(mock);
    }
    mock_free(mock);
    return is_ready ? 0 : 2;
}

int main(int argc, char **argv)
{
    struct settings settings = {0};
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (!take_option(option, &settings)) {
            fputs(help, option == 'h' ? stdout : stderr);
            return option == 'h' ? 0 : 2;
        }
    }
    auto_buf struct buf script = {0};
    if (settings.script_file != NULL) {
        if (!read_file(settings.script_file, &script)) {
            return 2;
        }
        settings.mock.script = buf_string(&script);
    }
    if (settings.dies_with_parent) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
    signal(SIGPIPE, SIG_IGN);
    return run(&settings);
}
