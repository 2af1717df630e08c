// SPDX-License-Identifier: Apache-2.0
/* Drawing tables. */
#include "cli/terminal/table.h"
#include "support/test.h"

#include "cli/terminal/text.h"

#include <locale.h>
#include <string.h>

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
    for (size_t i = 0; i < COUNT(cells); i++) {
        table_add(&table, cells[i]);
    }
    return table;
}

TEST(columns_are_as_wide_as_their_widest_cell)
{
    struct table table = make_table();
    auto_buf struct buf out = {0};
    table_draw(&table, &plain, 100, &out);
    assert_string_equal(buf_string(&out), "RUN   AGENT                        N  WHO\n"
                                          "019a  a-rather-long-agent-name     7  me\n"
                                          "019b  \xe6\xbc\xa2                        1234  \n");
    table_fini(&table);
}

TEST(elastic_columns_give_way)
{
    struct table table = make_table();
    auto_buf struct buf out = {0};
    table_draw(&table, &plain, 25, &out);
    assert_string_equal(buf_string(&out), "RUN   AGENT        N  WHO\n"
                                          "019a  a-rathe\xe2\x80\xa6     7  me\n"
                                          "019b  \xe6\xbc\xa2        1234  \n");
    table_fini(&table);
}

TEST(no_line_is_wider_than_the_terminal)
{
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
    return test_run(NULL, NULL);
}
