// SPDX-License-Identifier: Apache-2.0
/* Drawing tables. */
#include "cli/terminal/table.h"

#include "cli/terminal/text.h"

#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct table_column columns[] = {
    {"RUN", false, false},
    {"AGENT", false, true},
    {"N", true, false},
    {"WHO", false, true},
};

static const struct style plain = {0};

static struct table make_table(void)
{
    static const char *const cells[] = {
        "019a", "a-rather-long-agent-name", "7", "me", "019b", "\xe6\xbc\xa2", "1234", "",
    };
    struct table table = {.columns = columns, .column_count = 4};
    for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
        table_add(&table, cells[i]);
    }
    return table;
}

static void columns_are_as_wide_as_their_widest_cell(void **state)
{
    (void)state;
    struct table table = make_table();
    auto_buf struct buf out = {0};
    table_draw(&table, &plain, 100, &out);
    assert_string_equal(buf_string(&out), "RUN   AGENT                        N  WHO\n"
                                          "019a  a-rather-long-agent-name     7  me\n"
                                          "019b  \xe6\xbc\xa2                        1234  \n");
    table_fini(&table);
}

static void elastic_columns_give_way(void **state)
{
    (void)state;
    struct table table = make_table();
    auto_buf struct buf out = {0};
    table_draw(&table, &plain, 25, &out);
    assert_string_equal(buf_string(&out), "RUN   AGENT        N  WHO\n"
                                          "019a  a-rathe\xe2\x80\xa6     7  me\n"
                                          "019b  \xe6\xbc\xa2        1234  \n");
    table_fini(&table);
}

static void no_line_is_wider_than_the_terminal(void **state)
{
    (void)state;
    struct table table = make_table();
    for (size_t width = 1; width < 60; width++) {
        auto_buf struct buf out = {0};
        table_draw(&table, &plain, width, &out);
        char *rest = NULL;
        for (char *line = strtok_r(out.data, "\n", &rest); line != NULL;
             line = strtok_r(NULL, "\n", &rest)) {
            assert_true(text_width(line) <= width);
        }
    }
    table_fini(&table);
}

int main(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
        cmocka_unit_test(elastic_columns_give_way),
        cmocka_unit_test(no_line_is_wider_than_the_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
