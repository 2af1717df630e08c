// SPDX-License-Identifier: Apache-2.0
/* Documents of a role: which are read, how they are cut, what is found. */
#include "../tool_world.h"

#include "role/role.h"
#include "tool/data/document_files.h"
#include "tool/data/documents.h"

static void write_text(struct tool_world *world, const char *name, const char *text)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/%s", world->workspace, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void make_folder(struct tool_world *world, const char *name)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/%s", world->workspace, name);
    assert_int_equal(mkdir(path, 0755), 0);
}

static void open_bounded(struct tool_world *world, const char *ingest, size_t most_names)
{
    struct rondo_error err = {0};
    struct json_object *section = json_of(ingest);
    world->toolbox = toolbox_new(&world->around);
    assert_int_equal(documents_open_bounded(world->toolbox, section, NULL, most_names, &err), 0);
    json_object_put(section);
}

static void open_documents(struct tool_world *world, const char *ingest, const char *resources)
{
    struct rondo_error err = {0};
    struct json_object *section = json_of(ingest);
    struct json_object *limits = json_of(resources);
    world->toolbox = toolbox_new(&world->around);
    assert_int_equal(documents_open(world->toolbox, section, limits, &err), 0);
    json_object_put(section);
    json_object_put(limits);
}

static void fill(struct tool_world *world)
{
    make_folder(world, "docs");
    make_folder(world, "docs/deep");
    write_text(world, "docs/faq.md", "How are refunds made?\n\nRefunds take five days.");
    write_text(world, "docs/deep/guide.md", "Install the pump before winter.");
    write_text(world, "docs/page.html", "<html><body><p>Opening hours: nine</p></body></html>");
    write_text(world, "docs/.hidden.md", "refunds secret");
    write_text(world, "docs/.env", "KEY=refunds");
    write_text(world, "other.md", "refunds elsewhere");
}

static struct tool_result ask(struct tool_world *world, const char *query)
{
    struct buf call = {0};
    buf_printf(&call, "{\"query\":\"%s\"}", query);
    struct tool_result result = world_call(world, "search_documents", buf_string(&call));
    buf_fini(&call);
    return result;
}

static void expect_found(struct tool_world *world, const char *query, const char *part)
{
    struct tool_result result = ask(world, query);
    if (strstr(buf_string(&result.text), part) == NULL) {
        fail_msg("%s: %s", query, buf_string(&result.text));
    }
    tool_result_fini(&result);
}

WORLD_TEST(pieces_are_found_by_stems_of_words_with_their_source)
{
    fill(*state);
    open_documents(*state, "{\"sources\":[\"./docs/**/*.md\",\"docs/*.html\"]}", "{}");
    expect_found(*state, "refunding?", "[Source: docs/faq.md | Score: 0.");
    expect_found(*state, "pumps \\\" OR NEAR(", "[Source: docs/deep/guide.md | Score: 0.");
    expect_found(*state, "opening", "Opening hours: nine");
    expect_found(*state, "zebra", "No relevant documents found.");
    expect_found(*state, "?!", "No relevant documents found.");
    struct tool_result result = ask(*state, "refunds");
    assert_null(strstr(buf_string(&result.text), "secret"));
    assert_null(strstr(buf_string(&result.text), "elsewhere"));
    tool_result_fini(&result);
    world_expect(*state, "search_documents", "{\"query\":\"refunds\",\"source\":\"guide\"}",
                 "No relevant documents found.");
}

WORLD_TEST(a_folder_and_a_file_are_sources_too)
{
    fill(*state);
    open_documents(*state, "{\"sources\":[\"docs\",\"other.md\",\"missing.md\"]}", "{}");
    expect_found(*state, "elsewhere", "[Source: other.md | ");
    expect_found(*state, "winter", "[Source: docs/deep/guide.md | ");
}

WORLD_TEST(nothing_outside_is_reached_and_what_is_no_text_is_said)
{
    struct tool_world *world = *state;
    char link[PATH_MAX + 64];
    fill(world);
    write_text(world, "docs/data.bin", "\xff\xfe");
    snprintf(link, sizeof(link), "%s/docs/passwd.md", world->workspace);
    assert_int_equal(symlink("/etc/passwd", link), 0);
    open_documents(world, "{\"sources\":[\"docs/*\",\"https://example.org/x\",\"a.pdf\"]}", "{}");
    expect_found(world, "refunds", "(1 of 3 files were not read: not text, or too large)");
    expect_found(world, "root", "No relevant documents found.");
}

WORLD_TEST(sizes_have_limits)
{
    fill(*state);
    open_documents(*state, "{\"sources\":[\"docs/*.md\",\"docs/**/*.md\"]}",
                   "{\"max_file_size_mb\":0.00001,\"max_total_ingest_mb\":1}");
    expect_found(*state, "refunds", "There are no documents.");
    expect_found(*state, "refunds", "(2 of 2 files were not read");
}

WORLD_TEST(texts_are_cut_by_size_and_by_paragraph)
{
    write_text(*state, "long.txt", "alpha beta gamma delta epsilon zeta eta theta iota kappa");
    write_text(*state, "parts.md", "first one\n\nsecond two\n\nthird three\n\nfour");
    open_documents(*state,
                   "{\"sources\":[\"long.txt\"],\"chunking\":{\"strategy\":\"fixed\","
                   "\"chunk_size\":20,\"chunk_overlap\":6}}",
                   "{}");
    expect_found(*state, "kappa", "]\neta iota kappa");
    toolbox_free(((struct tool_world *)*state)->toolbox);
    open_documents(*state,
                   "{\"sources\":[\"parts.md\"],\"chunking\":{\"strategy\":\"paragraph\","
                   "\"chunk_size\":24,\"chunk_overlap\":0}}",
                   "{}");
    expect_found(*state, "second", "]\nfirst one\n\nsecond two");
    struct tool_result result = ask(*state, "second");
    assert_null(strstr(buf_string(&result.text), "third"));
    tool_result_fini(&result);
}

/* `docs` of fill() and the folder in it; hidden names count, `.` and `..` do not. */
#define NAMES_OF_DOCS 6

WORLD_TEST(as_many_names_as_the_limit_allows_are_looked_at)
{
    fill(*state);
    open_bounded(*state, "{\"sources\":[\"docs\"]}", NAMES_OF_DOCS);
    struct tool_result result = ask(*state, "refunds winter");
    assert_non_null(strstr(buf_string(&result.text), "docs/faq.md"));
    assert_non_null(strstr(buf_string(&result.text), "docs/deep/guide.md"));
    assert_null(strstr(buf_string(&result.text), "not all files"));
    tool_result_fini(&result);
}

WORLD_TEST(with_one_name_more_the_answer_says_that_files_are_missing)
{
    fill(*state);
    open_bounded(*state, "{\"sources\":[\"other.md\",\"docs\",\"docs/*.html\"]}",
                 NAMES_OF_DOCS - 1);
    expect_found(*state, "elsewhere", "[Source: other.md");
    expect_found(*state, "elsewhere",
                 "(not all files were found: the folders have more than 5 names)");
    expect_found(*state, "opening", "No relevant documents found.");
}

/** Each look at it is a second later. */
static int64_t passing_ns(const struct clock *clock)
{
    int64_t *seconds = clock->context;
    return ++*seconds * NS_PER_S;
}

WORLD_TEST(reading_stops_at_the_deadline_and_begins_again_with_the_next_call)
{
    struct tool_world *world = *state;
    int64_t seconds = 0;
    const struct clock passing = {.monotonic_ns = passing_ns, .context = &seconds};
    fill(world);
    world->around.clock = &passing;
    world->deadline_ns = 12 * NS_PER_S;
    open_documents(world, "{\"sources\":[\"docs\"]}", "{}");
    world_expect_error(world, "search_documents", "{\"query\":\"refunds\"}",
                       "Error: the documents cannot be read in the time of the call");
    assert_true(seconds < 20);
    world->deadline_ns = 10000 * NS_PER_S;
    expect_found(world, "refunds", "[Source: docs/faq.md");
}

/** Sets the token when it was looked at some times. */
struct cancelling {
    struct cancel cancel;
    int looks_left;
};

static int64_t cancelling_ns(const struct clock *clock)
{
    struct cancelling *cancelling = clock->context;
    if (--cancelling->looks_left == 0) {
        cancel_set(&cancelling->cancel, CANCEL_GRACEFUL);
    }
    return NS_PER_S;
}

WORLD_TEST(reading_stops_when_it_is_cancelled)
{
    struct tool_world *world = *state;
    struct cancelling cancelling = {.looks_left = 6};
    const struct clock clock = {.monotonic_ns = cancelling_ns, .context = &cancelling};
    assert_int_equal(cancel_init(&cancelling.cancel, NULL), 0);
    fill(world);
    world->around.clock = &clock;
    world->cancel = &cancelling.cancel;
    open_documents(world, "{\"sources\":[\"docs\"]}", "{}");
    world_expect_error(world, "search_documents", "{\"query\":\"refunds\"}",
                       "Error: cancelled while the documents were read");
    assert_true(cancelling.looks_left > -10);
    cancel_fini(&cancelling.cancel);
}

TEST(patterns_fit_paths)
{
    assert_true(document_path_fits("*.md", "a.md"));
    assert_false(document_path_fits("*.md", "x/a.md"));
    assert_true(document_path_fits("**/*.md", "a.md"));
    assert_true(document_path_fits("**/*.md", "x/y/a.md"));
    assert_false(document_path_fits("**/*.md", ".x/a.md"));
    assert_true(document_path_fits("**", "x/y/a.txt"));
    assert_true(document_path_fits("*/a?.[tm]*", "x/a1.txt"));
    assert_false(document_path_fits("*/a?.[tm]*", "x/y/a1.txt"));
    assert_false(document_path_fits("*.md", ".a.md"));
}

TEST(addresses_and_files_that_are_no_text_are_known)
{
    assert_true(role_source_is_unreadable("https://example.org/x.md"));
    assert_true(role_source_is_unreadable("docs/**/*.PDF"));
    assert_false(role_source_is_unreadable("docs/**/*.md"));
    assert_false(role_source_is_unreadable("docs"));
}
