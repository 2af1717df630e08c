// SPDX-License-Identifier: Apache-2.0
/* CSV files: columns and types, statistics, filters; what is refused. */
#include "../tool_world.h"

#include "tool/data/csv_table.h"

#define PEOPLE                                                                                   \
    "name,age,city,score\r\n\"Doe, \"\"J\"\"\",41,Bonn,1.5\r\nAnn,29,Bonn,2.5\r\n\r\nBob,,Kiel," \
    "\r\nEve,35,\"a\nb\",4\r\n"

static void write_text(struct tool_world *world, const char *name, const char *text)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/%s", world->workspace, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void open_people(struct tool_world *world, const char *config)
{
    write_text(world, "people.csv", PEOPLE);
    world_open(world, config);
}

WORLD_TEST(a_file_is_shown_with_the_types_of_its_columns)
{
    open_people(*state, "{\"type\":\"csv_analysis\"}");
    world_expect(*state, "inspect_csv", "{\"path\":\"people.csv\"}",
                 "Rows: 4\nColumns: 4\n- name (text)\n- age (integer)\n- city (text)\n"
                 "- score (number)\n\nFirst rows:\nname | age | city | score\n"
                 "Doe, \"J\" | 41 | Bonn | 1.5\nAnn | 29 | Bonn | 2.5\nBob |  | Kiel | \n"
                 "Eve | 35 | a\nb | 4\n");
}

WORLD_TEST(columns_have_statistics)
{
    open_people(*state, "{\"type\":\"csv_analysis\"}");
    world_expect(*state, "summarize_csv", "{\"path\":\"people.csv\",\"column\":\"age\"}",
                 "age (integer): 3 values, 1 empty\n"
                 "  min 29, max 41, mean 35, median 35, sum 105, stddev 6\n");
    world_expect(*state, "summarize_csv", "{\"path\":\"people.csv\",\"column\":\"city\"}",
                 "city (text): 4 values, 0 empty\n"
                 "  3 different; most common: Bonn (2), Kiel (1), a\nb (1)\n");
    world_expect_error(*state, "summarize_csv", "{\"path\":\"people.csv\",\"column\":\"x\"}",
                       "Error: there is no column 'x'; there are: name, age, city, score");
}

WORLD_TEST(rows_are_filtered_by_numbers_and_texts)
{
    open_people(*state, "{\"type\":\"csv_analysis\",\"max_rows\":2}");
    static const struct {
        const char *filter;
        const char *rows;
    } cases[] = {
        {"\"filter_column\":\"age\",\"operator\":\">=\",\"filter_value\":\"35.0\"",
         "name\nDoe, \"J\"\nEve\n(2 of 2 rows)"},
        {"\"filter_column\":\"age\",\"operator\":\"<\",\"filter_value\":\"35\"",
         "name\nAnn\nBob\n(2 of 2 rows)"},
        {"\"filter_column\":\"city\",\"filter_value\":\"Kiel\"", "name\nBob\n(1 of 1 rows)"},
        {"\"filter_column\":\"city\",\"operator\":\"!=\",\"filter_value\":\"Bonn\"",
         "name\nBob\nEve\n(2 of 2 rows)"},
        {"\"filter_column\":\"name\",\"operator\":\"contains\",\"filter_value\":\"AN\"",
         "name\nAnn\n(1 of 1 rows)"},
        {"\"filter_column\":\"name\",\"filter_value\":\"Zoe\"", "No results"},
        {"\"limit\":100", "name\nDoe, \"J\"\nAnn\n(2 of 4 rows)"},
        {"\"limit\":1", "name\nDoe, \"J\"\n(1 of 4 rows)"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf call = {0};
        buf_printf(&call, "{\"path\":\"people.csv\",\"columns\":\" name \",%s}", cases[i].filter);
        world_expect(*state, "query_csv", buf_string(&call), cases[i].rows);
        buf_fini(&call);
    }
}

WORLD_TEST(other_delimiters_and_short_and_long_rows_are_read)
{
    write_text(*state, "t.tsv",
               "\xef\xbb\xbf"
               "a\tb\n1\n1\t2\t3");
    world_open(*state, "{\"type\":\"csv_analysis\",\"delimiter\":\"\\t\"}");
    world_expect(*state, "query_csv", "{\"path\":\"t.tsv\"}", "a | b\n1 | \n1 | 2\n(2 of 2 rows)");
}

WORLD_TEST(what_cannot_be_read_is_said)
{
    struct tool_world *world = *state;
    char link[PATH_MAX + 64];
    open_people(world, "{\"type\":\"csv_analysis\",\"max_file_size_mb\":0.001}");
    write_text(world, "open.csv", "a\n\"b");
    write_text(world, "empty.csv", "");
    snprintf(link, sizeof(link), "%s/link.csv", world->workspace);
    assert_int_equal(symlink("people.csv", link), 0);
    world_expect_error(world, "inspect_csv", "{\"path\":\"open.csv\"}",
                       "Error: 'open.csv' cannot be read as CSV: a quote is not closed");
    world_expect_error(world, "inspect_csv", "{\"path\":\"empty.csv\"}",
                       "Error: 'empty.csv' cannot be read as CSV: it is empty");
    world_expect_error(world, "inspect_csv", "{\"path\":\".\"}",
                       "Error: '.' is not a regular file");
    struct tool_result result = world_call(world, "inspect_csv", "{\"path\":\"link.csv\"}");
    assert_true(result.is_error);
    tool_result_fini(&result);
    result = world_call(world, "inspect_csv", "{\"path\":\"../../etc/passwd\"}");
    assert_true(result.is_error);
    tool_result_fini(&result);
    char big[1100];
    memset(big, 'x', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    write_text(world, "big.csv", big);
    world_expect_error(world, "inspect_csv", "{\"path\":\"big.csv\"}",
                       "Error: 'big.csv' is larger than max_file_size_mb (0.000999451)");
}

WORLD_TEST(cells_and_columns_have_a_limit)
{
    (void)state;
    struct csv_table table;
    struct buf text = {0};
    for (size_t i = 0; i < CSV_MAX_COLUMNS; i++) {
        buf_append_string(&text, i > 0 ? ",a" : "a");
    }
    assert_null(csv_table_read(buf_string(&text), text.len, ',', &table));
    assert_int_equal(table.columns, CSV_MAX_COLUMNS);
    csv_table_fini(&table);
    buf_append_string(&text, ",a");
    assert_string_equal(csv_table_read(buf_string(&text), text.len, ',', &table),
                        "it has too many cells");
    csv_table_fini(&table);
    buf_clear(&text);
    for (size_t i = 0; i < CSV_MAX_CELLS; i++) {
        buf_append(&text, "1\n", 2);
    }
    assert_null(csv_table_read(buf_string(&text), text.len, ',', &table));
    assert_int_equal(table.rows, CSV_MAX_CELLS - 1);
    csv_table_fini(&table);
    buf_append(&text, "1\n", 2);
    assert_string_equal(csv_table_read(buf_string(&text), text.len, ',', &table),
                        "it has too many cells");
    csv_table_fini(&table);
    buf_fini(&text);
}
