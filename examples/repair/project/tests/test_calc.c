/*
 * tests [--list | NAME...]: runs all cases, or the named ones; --list prints the names.
 *
 * Each case runs in a child of its own, with limits on its time, so that a case that crashes or
 * never ends fails alone and the others still say what they have to say. The limit is on CPU
 * time, because a busy machine must not make a sound case fail.
 */
#include "calc.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CPU_LIMIT_US = 60 * 1000,
    WALL_LIMIT_S = 10,
};

struct test {
    const char *name;
    const char *expression;
    enum calc_status status;
    long value;
};

static const struct test tests[] = {
    {"number", "42", CALC_OK, 42},
    {"number_with_nine", "1990", CALC_OK, 1990},
    {"number_zero", "0", CALC_OK, 0},
    {"hex", "0x1f", CALC_OK, 31},
    {"hex_upper_case", "0xFF", CALC_OK, 255},
    {"hex_decimal_digits", "0x28", CALC_OK, 40},
    {"hex_without_digits", "0x", CALC_BAD_SYNTAX, 0},
    {"hex_wrong_digit", "0x1g", CALC_BAD_SYNTAX, 0},
    {"spaces", "  4 +  5 ", CALC_OK, 9},
    {"tab", "4\t+\t5", CALC_OK, 9},
    {"empty", "", CALC_BAD_SYNTAX, 0},
    {"only_spaces", "   ", CALC_BAD_SYNTAX, 0},
    {"invalid_character", "3 $ 4", CALC_BAD_SYNTAX, 0},
    {"add", "17+25", CALC_OK, 42},
    {"subtract", "17-25", CALC_OK, -8},
    {"subtract_twice", "10-4-3", CALC_OK, 3},
    {"multiply", "6*7", CALC_OK, 42},
    {"divide", "45/6", CALC_OK, 7},
    {"remainder", "45%6", CALC_OK, 3},
    {"remainder_small", "3%10", CALC_OK, 3},
    {"divide_by_zero", "1/0", CALC_DIVISION_BY_ZERO, 0},
    {"remainder_by_zero", "1%0", CALC_DIVISION_BY_ZERO, 0},
    {"divide_by_one", "9/1", CALC_OK, 9},
    {"product_before_sum", "2+3*4", CALC_OK, 14},
    {"parentheses", "(2+3)*4", CALC_OK, 20},
    {"parenthesis_left_open", "(2+3", CALC_BAD_SYNTAX, 0},
    {"parenthesis_unopened", "2+3)", CALC_BAD_SYNTAX, 0},
    {"sign", "-7", CALC_OK, -7},
    {"sign_of_product", "3*-7", CALC_OK, -21},
    {"sign_twice", "--7", CALC_OK, 7},
    {"power", "2^10", CALC_OK, 1024},
    {"power_of_one", "7^1", CALC_OK, 7},
    {"power_of_zero", "7^0", CALC_OK, 1},
    {"power_from_the_right", "2^3^2", CALC_OK, 512},
    {"power_negative", "2^(1-2)", CALC_BAD_ARGUMENT, 0},
    {"abs_negative", "abs(3-10)", CALC_OK, 7},
    {"abs_positive", "abs(10-3)", CALC_OK, 7},
    {"abs_two_arguments", "abs(1,2)", CALC_BAD_ARGUMENT, 0},
    {"min_first", "min(2,5,9)", CALC_OK, 2},
    {"min_negative", "min(0-3,0-5,0)", CALC_OK, -5},
    {"min_last", "min(9,5,2)", CALC_OK, 2},
    {"max_first", "max(9,5,2)", CALC_OK, 9},
    {"max_last", "max(2,5,9)", CALC_OK, 9},
    {"max_of_one", "max(5)", CALC_OK, 5},
    {"sum_one", "sum(8)", CALC_OK, 8},
    {"sum_four", "sum(1,2,3,4)", CALC_OK, 10},
    {"sum_five", "sum(1,2,3,4,5)", CALC_BAD_ARGUMENT, 0},
    {"gcd", "gcd(84,36)", CALC_OK, 12},
    {"gcd_of_primes", "gcd(17,5)", CALC_OK, 1},
    {"gcd_with_zero", "gcd(9,0)", CALC_OK, 9},
    {"gcd_negative_first", "gcd(0-4,6)", CALC_BAD_ARGUMENT, 0},
    {"gcd_negative_second", "gcd(4,0-6)", CALC_BAD_ARGUMENT, 0},
    {"gcd_negative_both", "gcd(0-4,0-6)", CALC_BAD_ARGUMENT, 0},
    {"gcd_one_argument", "gcd(4)", CALC_BAD_ARGUMENT, 0},
    {"fact_zero", "fact(0)", CALC_OK, 1},
    {"fact_five", "fact(5)", CALC_OK, 120},
    {"fact_twenty", "fact(20)", CALC_OK, 2432902008176640000},
    {"fact_too_large", "fact(21)", CALC_BAD_ARGUMENT, 0},
    {"fact_negative", "fact(0-1)", CALC_BAD_ARGUMENT, 0},
    {"root_of_square", "root(144)", CALC_OK, 12},
    {"root_one", "root(1)", CALC_OK, 1},
    {"root_between", "root(143)", CALC_OK, 11},
    {"root_zero", "root(0)", CALC_OK, 0},
    {"clamp_below", "clamp(1,3,8)", CALC_OK, 3},
    {"clamp_inside", "clamp(5,3,8)", CALC_OK, 5},
    {"clamp_above", "clamp(9,3,8)", CALC_OK, 8},
    {"clamp_point", "clamp(5,4,4)", CALC_OK, 4},
    {"clamp_two_arguments", "clamp(5,4)", CALC_BAD_ARGUMENT, 0},
    {"clamp_empty", "clamp(5,8,3)", CALC_BAD_ARGUMENT, 0},
    {"call_nested", "max(min(4,7),abs(3))", CALC_OK, 4},
    {"unknown_name", "foo(1)", CALC_BAD_NAME, 0},
    {"name_of_eight", "abcdefgh(1)", CALC_BAD_NAME, 0},
    {"name_too_long", "abcdefghi(1)", CALC_BAD_SYNTAX, 0},
    {"name_without_call", "abs", CALC_BAD_SYNTAX, 0},
    {"depth_reached", "((((((((((((((((((1))))))))))))))))))", CALC_OK, 1},
    {"depth_at_limit", "(((((((((((((((((((1)))))))))))))))))))", CALC_OK, 1},
    {"depth_past_limit", "((((((((((((((((((((1))))))))))))))))))))", CALC_TOO_DEEP, 0},
};

static const size_t test_count = sizeof(tests) / sizeof(tests[0]);

static bool is_selected(const struct test *test, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], test->name) == 0)
            return true;
    }
    return argc < 2;
}

static void set_limits(void)
{
    const struct rlimit no_core = {0, 0};
    const struct itimerval cpu = {.it_value = {.tv_usec = CPU_LIMIT_US}};

    setrlimit(RLIMIT_CORE, &no_core);
    setitimer(ITIMER_VIRTUAL, &cpu, NULL);
    alarm(WALL_LIMIT_S);
}

/* Runs in the child; its exit code is the verdict. */
static int check(const struct test *test)
{
    long value = 0;
    enum calc_status status = calc_evaluate(test->expression, &value);

    if (status == test->status && value == test->value)
        return 0;
    printf("FAIL %s: '%s' gave %ld (status %d), expected %ld (status %d)\n", test->name,
           test->expression, value, (int)status, test->value, (int)test->status);
    return 1;
}

static bool run(const struct test *test)
{
    int wait_status = 0;

    fflush(stdout);
    pid_t child = fork();

    if (child < 0) {
        perror("fork");
        return false;
    }
    if (child == 0) {
        set_limits();
        exit(check(test));
    }
    if (waitpid(child, &wait_status, 0) != child)
        return false;
    if (WIFSIGNALED(wait_status))
        printf("FAIL %s: '%s' ended by signal %d (%s)\n", test->name, test->expression,
               WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)));
    return WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0;
}

int main(int argc, char **argv)
{
    const bool is_list = argc == 2 && strcmp(argv[1], "--list") == 0;
    int failed = 0;
    int total = 0;

    for (size_t i = 0; i < test_count; i++) {
        if (is_list) {
            puts(tests[i].name);
        } else if (is_selected(&tests[i], argc, argv)) {
            total++;
            failed += run(&tests[i]) ? 0 : 1;
        }
    }
    if (!is_list)
        printf("%d of %d checks failed\n", failed, total);
    return failed == 0 ? 0 : 1;
}
