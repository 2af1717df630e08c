// SPDX-License-Identifier: Apache-2.0
/* Panels at given widths, with and without box. */
#include "cli/terminal/panel.h"
#include "support/test.h"

#include "cli/terminal/text.h"

#include <locale.h>
#include <string.h>

static const struct style grey = {.is_terminal = true, .is_unicode = true};
static const struct style ascii = {.is_terminal = true};

static void check(const struct panel *panel, const struct style *style, size_t columns,
                  const char *expected)
{
    auto_buf struct buf out = {0};
    panel_render(panel, style, columns, &out);
    assert_string_equal(buf_string(&out), expected);
}

TEST(a_panel_has_title_body_and_subtitle)
{
    struct panel panel = {.title = "Agent (iteration 1/3)",
                          .subtitle = "tokens: 10in/2out",
                          .body = "Hello\n\n漢字\n"};
    check(&panel, &grey, 40,
          "╭─ Agent (iteration 1/3) ──────────────╮\n"
          "│ Hello                                │\n"
          "│                                      │\n"
          "│ 漢字                                 │\n"
          "╰────────────────── tokens: 10in/2out ─╯\n");
}

TEST(without_utf8_it_is_drawn_in_ascii)
{
    struct panel panel = {.title = "T", .body = "x\n"};
    check(&panel, &ascii, 40,
          "+- T ----------------------------------+\n"
          "| x                                    |\n"
          "+--------------------------------------+\n");
}

TEST(a_narrow_one_has_rules_and_no_box)
{
    struct panel panel = {
        .title = "Agent (iteration 1/3)", .subtitle = "tokens: 1in/2out | 5ms", .body = "x\n"};
    check(&panel, &grey, 39,
          "─ Agent (iteration 1/3) ───────────────\n"
          "x\n"
          "tokens: 1in/2out | 5ms\n");
    check(&panel, &grey, 20,
          "─ Agent (iteratio… ─\n"
          "x\n"
          "tokens: 1in/2out |\n5ms\n");
}

TEST(what_is_too_long_is_cut)
{
    struct panel panel = {.title =
                              "A title that is by far too long for a panel this narrow, is it not?",
                          .body = "A line that is by far too long for a panel this narrow\n"};
    check(&panel, &ascii, 40,
          "+- A title that is by far too long f… -+\n"
          "| A line that is by far too long for … |\n"
          "+--------------------------------------+\n");
}

TEST(figures_that_do_not_fit_are_left_out)
{
    struct panel panel = {
        .title = "T", .subtitle = "tokens: 1,234in/56out | 1.2 s | budget: 5/100", .body = "x\n"};
    check(&panel, &ascii, 46,
          "+- T ----------------------------------------+\n"
          "| x                                          |\n"
          "+------------ tokens: 1,234in/56out | 1.2 s -+\n");
}

TEST(every_line_has_the_same_width)
{
    struct panel panel = {.title = "\033[1mTitle\033[0m",
                          .subtitle = "tokens: 1,234in/56out | 1.2 s | budget: 5/100",
                          .body = "\033[36mcode\033[0m\nplain\n",
                          .colour = COLOUR_BLUE};
    struct style style = grey;
    style.has_colour = true;
    for (size_t columns = PANEL_COLUMNS_BOX; columns < 200; columns++) {
        auto_buf struct buf out = {0};
        panel_render(&panel, &style, columns, &out);
        size_t expected = columns < PANEL_COLUMNS_MAX ? columns : PANEL_COLUMNS_MAX;
        char *rest = NULL;
        for (char *line = strtok_r(out.data, "\n", &rest); line != NULL;
             line = strtok_r(NULL, "\n", &rest)) {
            assert_int_equal(text_width(line), expected);
        }
        assert_int_equal(panel_body_columns(columns), expected - 4);
    }
}

int main(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    return test_run(NULL, NULL);
}
