// SPDX-License-Identifier: Apache-2.0
/*
 * A durable loop in a program of your own. It counts the primes below 10,000, a thousand numbers in
 * each iteration, writes its result to primes.txt, and is done when the exit condition, a command
 * that Rondo runs after each iteration, finds the right number there.
 *
 *     cc fixer.c $(pkg-config --cflags --libs rondo) -o fixer
 *     ./fixer                 start a run
 *     ./fixer --limit 4       with at most four iterations: the fifth is denied
 *     ./fixer --die-in 3      drop dead in iteration 3, as a crash would
 *     ./fixer resume          continue the last run
 *
 * Exit code: that of the final status (0 = completed), 10 when the loop could not continue.
 */
#include <errno.h>
#include <limits.h>
#include <rondo/rondo.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NUMBERS_EACH 1000

/* What the body has to remember from iteration to iteration. It is stored in each checkpoint as it
 * is, so it holds no pointers. */
struct progress {
    int next;  /* first number that was not looked at */
    int found; /* primes below it */
};

struct arguments {
    int is_resume;
    int limit;
    int die_in;
};

/* rondo_loop_stop is the one call that a signal handler may make. */
static struct rondo_loop *loop_to_stop;

static void on_signal(int number)
{
    (void)number;
    rondo_loop_stop(loop_to_stop);
}

static int is_prime(int number)
{
    for (int divisor = 2; divisor * divisor <= number; divisor++) {
        if (number % divisor == 0) {
            return 0;
        }
    }
    return number > 1;
}

static int write_result(int found)
{
    FILE *file = fopen("primes.txt", "w");
    if (file == NULL) {
        return -1;
    }
    fprintf(file, "%d\n", found);
    return fclose(file);
}

/* The body of one iteration. */
static void work(struct rondo_loop *loop, struct progress *progress)
{
    int end = progress->next + NUMBERS_EACH;
    for (; progress->next < end; progress->next++) {
        progress->found += is_prime(progress->next);
    }
    if (write_result(progress->found) < 0) {
        /* This iteration failed; the loop continues, up to three times in a row. */
        rondo_loop_fail(loop, "cannot write primes.txt");
    }
}

/* The state goes into every checkpoint from now on. Rondo makes one after each iteration by itself;
 * this program wants custom data in it, so it asks for one of its own. */
static void save(struct rondo_loop *loop, const struct progress *progress)
{
    struct rondo_error err;
    char custom_data[64];
    snprintf(custom_data, sizeof(custom_data), "{\"progress\":\"%d%%\"}", progress->next / 100);
    if (rondo_loop_set_state(loop, progress, sizeof(*progress), &err) < 0 ||
        rondo_loop_save_checkpoint(loop, custom_data, &err) < 0) {
        /* A store that fails for good ends the loop at the next rondo_loop_next. */
        fprintf(stderr, "fixer: no checkpoint: %s\n", err.message);
    }
}

/* After a resume the state is that of the checkpoint; in a new run there is none. */
static struct progress load(const struct rondo_loop *loop)
{
    struct progress progress = {.next = 0};
    size_t len = 0;
    const void *state = rondo_loop_state(loop, &len);
    if (len == sizeof(progress)) {
        memcpy(&progress, state, len);
    }
    return progress;
}

/* Events are what was committed: first those that are there, later those to come. */
static void show_events(struct rondo_subscription *subscription)
{
    struct rondo_error err;
    struct rondo_event event;
    while (rondo_subscription_next(subscription, 0, &event, &err) == 1) {
        printf("  %llu %s\n", (unsigned long long)event.seq, event.type);
    }
}

static void show_conditions(const struct rondo_loop *loop)
{
    struct rondo_condition_state condition;
    for (size_t i = 0; rondo_loop_condition(loop, i, &condition) == 0; i++) {
        printf("condition %s: %s (%s)\n", condition.name,
               rondo_condition_status_name(condition.status),
               rondo_condition_reason_name(condition.reason));
    }
}

static struct rondo_loop *open_loop(struct rondo *rondo, const struct arguments *arguments)
{
    static const struct rondo_condition conditions[] = {
        {.name = "counted", .command = "test \"$(cat primes.txt)\" = 1229"},
        {.name = NULL},
    };
    struct rondo_loop_options options = {
        .agent_id = "fixer",
        .exit_conditions = conditions,
        .max_iterations = (uint64_t)arguments->limit,
    };
    struct rondo_error err;
    struct rondo_loop *loop = arguments->is_resume
                                  ? rondo_loop_resume(rondo, "last", &options, &err)
                                  : rondo_loop_start(rondo, &options, &err);
    if (loop == NULL) {
        fprintf(stderr, "fixer: %s (%s)\n", err.message, rondo_code_name(err.code));
    }
    return loop;
}

static enum rondo_turn run(struct rondo_loop *loop, struct rondo_subscription *subscription,
                           int die_in)
{
    struct progress progress = load(loop);
    enum rondo_turn turn;
    while ((turn = rondo_loop_next(loop)) == RONDO_CONTINUE) {
        printf("iteration %llu from number %d\n", (unsigned long long)rondo_loop_iteration(loop),
               progress.next);
        work(loop, &progress);
        if (rondo_loop_iteration(loop) == (uint64_t)die_in) {
            _exit(9);
        }
        save(loop, &progress);
        show_events(subscription);
    }
    return turn;
}

static int finish(const struct rondo_loop *loop, enum rondo_turn turn)
{
    struct rondo_violation violation;
    if (turn == RONDO_BROKEN) {
        fprintf(stderr, "fixer: %s\n", rondo_loop_error(loop)->message);
        return 10;
    }
    show_conditions(loop);
    if (rondo_loop_violation(loop, &violation)) {
        printf("iteration %llu was denied by %s: %lld of %lld %s used\n",
               (unsigned long long)violation.iteration, violation.policy_id,
               (long long)violation.value, (long long)violation.limit, violation.limit_name);
    }
    printf("%s\n", rondo_loop_status_name(loop));
    return rondo_status_exit_code(rondo_loop_status(loop));
}

static void show_usage(void)
{
    fprintf(stderr, "usage: fixer [resume] [--limit N] [--die-in N]\n");
    exit(2);
}

/** A number of iterations, from 1 on. */
static int parse_number(const char *text)
{
    char *end = NULL;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || number < 1 || number > INT_MAX) {
        show_usage();
    }
    return (int)number;
}

static struct arguments parse(int argc, char **argv)
{
    struct arguments arguments = {.limit = 12};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "resume") == 0) {
            arguments.is_resume = 1;
        } else if (strcmp(argv[i], "--limit") == 0 && i + 1 < argc) {
            arguments.limit = parse_number(argv[++i]);
        } else if (strcmp(argv[i], "--die-in") == 0 && i + 1 < argc) {
            arguments.die_in = parse_number(argv[++i]);
        } else {
            show_usage();
        }
    }
    return arguments;
}

int main(int argc, char **argv)
{
    struct arguments arguments = parse(argc, argv);
    setvbuf(stdout, NULL, _IOLBF, 0); /* so that a pipe gets each line before a crash */
    struct rondo_error err;
    struct rondo *rondo = rondo_open(NULL, &err);
    if (rondo == NULL) {
        fprintf(stderr, "fixer: %s\n", err.message);
        return 10;
    }
    int exit_code = 10;
    struct rondo_loop *loop = open_loop(rondo, &arguments);
    if (loop != NULL) {
        loop_to_stop = loop;
        signal(SIGINT, on_signal);
        signal(SIGTERM, on_signal);
        struct rondo_subscription *subscription =
            rondo_subscribe(rondo, rondo_loop_run_id(loop), 0);
        enum rondo_turn turn = run(loop, subscription, arguments.die_in);
        show_events(subscription);
        exit_code = finish(loop, turn);
        rondo_subscription_free(subscription);
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
        rondo_loop_free(loop);
    }
    rondo_close(rondo);
    return exit_code;
}
