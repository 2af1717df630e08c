// SPDX-License-Identifier: Apache-2.0
/* Opening models: providers, keys, addresses, and what is said when something is missing. */
#include "asking.h"

#include "model/key/secret.h"
#include "model/provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Open and close. @return the code */
static int open_with(const struct model_options *options, struct rondo_error *err)
{
    struct model *model = NULL;
    struct model_options whole = *options;
    struct random random = random_seeded(1);
    whole.clock = clock_system();
    whole.random = &random;
    whole.price_input_micro = -1;
    whole.price_output_micro = -1;
    int r = model_open(&whole, &model, err);
    model_free(model);
    return r;
}

static int set_up(void **state)
{
    (void)state;
    setenv("HOME", "/nonexistent", 1);
    unsetenv("INITRUNNER_HOME");
    unsetenv("XDG_DATA_HOME");
    for (size_t i = 0; provider_at(i) != NULL; i++) {
        if (provider_at(i)->key_env != NULL) {
            unsetenv(provider_at(i)->key_env);
        }
    }
    return 0;
}

TEST_WITH(a_missing_key_is_asked_for_by_name, set_up, NULL)
{
    struct rondo_error err = {0};
    assert_int_equal(
        open_with(&(struct model_options){.provider = "openai", .name = "gpt-4o"}, &err),
        RONDO_ERR_INVALID);
    assert_string_equal(err.message,
                        "no key for model provider `openai`: set OPENAI_API_KEY in the "
                        "environment, in a file .env next to the role file, or in "
                        "~/.initrunner/.env");
}

TEST_WITH(each_provider_opens_with_its_usual_key, set_up, NULL)
{
    for (size_t i = 0; provider_at(i) != NULL; i++) {
        const struct provider *row = provider_at(i);
        struct rondo_error err = {0};
        struct model_options options = {.provider = row->name, .name = "dry-run"};
        if (row->ops == NULL) {
            continue;
        }
        if (row->key_env != NULL) {
            assert_int_equal(open_with(&options, &err), RONDO_ERR_INVALID);
            assert_non_null(strstr(err.message, row->key_env));
            setenv(row->key_env, "k-123", 1);
        }
        assert_int_equal(open_with(&options, &err), 0);
        if (row->key_env != NULL) {
            unsetenv(row->key_env);
        }
    }
}

TEST_WITH(a_key_from_another_variable_is_taken, set_up, NULL)
{
    struct rondo_error err = {0};
    struct model_options options = {
        .provider = "openai", .name = "m", .api_key_env = "RONDO_TEST_OTHER"};
    unsetenv("RONDO_TEST_OTHER");
    setenv("OPENAI_API_KEY", "usual", 1);
    assert_int_equal(open_with(&options, &err), RONDO_ERR_INVALID);
    assert_non_null(strstr(err.message, "RONDO_TEST_OTHER"));
    setenv("RONDO_TEST_OTHER", "x", 1);
    assert_int_equal(open_with(&options, &err), 0);
    unsetenv("OPENAI_API_KEY");
}

TEST_WITH(a_key_that_cannot_be_sent_is_not_shown, set_up, NULL)
{
    struct rondo_error err = {0};
    setenv("OPENAI_API_KEY", "sk-verysecret\nx", 1);
    assert_int_equal(open_with(&(struct model_options){.provider = "openai", .name = "m"}, &err),
                     RONDO_ERR_INVALID);
    assert_non_null(strstr(err.message, "OPENAI_API_KEY"));
    assert_null(strstr(err.message, "verysecret"));
    setenv("OPENAI_API_KEY", " \n", 1);
    assert_int_equal(open_with(&(struct model_options){.provider = "openai", .name = "m"}, &err),
                     RONDO_ERR_INVALID);
    unsetenv("OPENAI_API_KEY");
}

TEST_WITH(the_usual_key_does_not_go_to_another_address, set_up, NULL)
{
    static const char *const providers[] = {"openai", "anthropic"};
    setenv("OPENAI_API_KEY", "sk-usual-key", 1);
    setenv("ANTHROPIC_API_KEY", "sk-usual-key", 1);
    for (size_t i = 0; i < COUNT(providers); i++) {
        struct asking asking;
        struct http_peer *peer = http_peer_new();
        struct model_options options = {.base_url = http_peer_url(peer, "/v1/"),
                                        .price_input_micro = -1};
        asking_open(&asking, providers[i], "m", &options);
        asking_user(&asking, "hi");
        http_peer_reply(peer, 400, JSON_TYPE, "{}");
        struct model_reply reply = asking_ask(&asking);
        assert_null(strstr(http_peer_request(peer, 0)->headers, "usual"));
        assert_string_equal(http_peer_request(peer, 0)->path,
                            i == 0 ? "/v1/chat/completions" : "/v1/messages");
        model_reply_fini(&reply);
        asking_close(&asking);
        http_peer_free(peer);
    }
    unsetenv("OPENAI_API_KEY");
    unsetenv("ANTHROPIC_API_KEY");
}

TEST_WITH(wrong_options_are_told, set_up, NULL)
{
    static const struct {
        struct model_options options;
        int code;
        const char *message;
    } cases[] = {
        {{.provider = "opnai", .name = "m"},
         RONDO_ERR_INVALID,
         "unknown model provider `opnai`; did you mean `openai`? (with base_url, any server that "
         "speaks OpenAI's Chat Completions can be used)"},
        {{.provider = "bedrock", .name = "m"},
         RONDO_ERR_UNSUPPORTED,
         "model provider `bedrock` is not supported yet"},
        {{.provider = "bedrock", .name = "m", .base_url = "http://localhost/"},
         RONDO_ERR_UNSUPPORTED,
         "model provider `bedrock` is not supported yet"},
        {{.provider = "x", .name = "m", .base_url = "localhost:8000"},
         RONDO_ERR_INVALID,
         "base_url: an address like \"http://localhost:8000/v1\" is expected"},
        {{.provider = "openai", .name = ""}, RONDO_ERR_INVALID, "the name of the model is missing"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rondo_error err = {0};
        assert_int_equal(open_with(&cases[i].options, &err), cases[i].code);
        assert_string_equal(err.message, cases[i].message);
    }
}

TEST_WITH(a_script_that_is_not_there_is_an_error, set_up, NULL)
{
    struct rondo_error err = {0};
    assert_int_equal(open_with(&(struct model_options){.provider = "scripted",
                                                       .name = "no.jsonl",
                                                       .folder = "/nonexistent"},
                               &err),
                     RONDO_ERR_NOT_FOUND);
    assert_non_null(strstr(err.message, "/nonexistent/no.jsonl"));
}

TEST_WITH(a_recording_that_cannot_be_written_is_told_at_once, set_up, NULL)
{
    struct rondo_error err = {0};
    assert_int_equal(open_with(&(struct model_options){.provider = "scripted",
                                                       .name = "dry-run",
                                                       .record_file = "/nonexistent/tape"},
                               &err),
                     RONDO_ERR_NOT_FOUND);
    assert_string_equal(err.message, "while opening the recording: cannot open /nonexistent/tape: "
                                     "No such file or directory");
}

TEST_WITH(what_is_said_about_a_model_is_what_was_asked_for, set_up, NULL)
{
    struct asking asking;
    asking_open(&asking, "vllm", "qwen", NULL);
    assert_string_equal(model_provider(asking.model), "vllm");
    assert_string_equal(model_name(asking.model), "qwen");
    assert_string_equal(model_dialect(asking.model), "openai");
    asking_close(&asking);
}

TEST(failures_and_stops_have_names_that_read_back)
{
    for (enum model_stop i = MODEL_STOP_END; i <= MODEL_STOP_EMPTY; i++) {
        enum model_stop again = MODEL_STOP_END;
        assert_true(model_stop_from_name(model_stop_name(i), &again));
        assert_int_equal(again, i);
    }
    enum model_stop stop = MODEL_STOP_END;
    assert_false(model_stop_from_name("unknown", &stop));
    for (enum model_failure i = MODEL_OK; i <= MODEL_CANCELLED; i++) {
        assert_string_not_equal(model_failure_name(i), "unknown");
    }
}

TEST(a_secret_is_taken_out_of_texts)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"plain words", "plain words"},
        {"sk-abcdef123456", "[key]"},
        {"key=sk-abcdef123456&x", "key=[key]&x"},
        {"<sk-abcdef123456>", "<[key]>"},
        {"sk-abcdef", "[key]"},
        {"sk-ab", "sk-ab"},
        {"sk-a***456", "[key]"},
        {"sk-abc...456", "[key]"},
        {"Bearer sk-abcdef123456.", "Bearer [key]."},
        {"", ""},
    };
    struct secret secret = {0};
    secret_set(&secret, "", "  sk-abcdef123456\n");
    assert_int_equal(secret.len, 15);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct buf text = {0};
        secret_redact(&secret, cases[i].text, &text);
        assert_string_equal(buf_string(&text), cases[i].expected);
        buf_fini(&text);
    }
    secret_fini(&secret);
    struct buf text = {0};
    secret_redact(&secret, "sk-abcdef", &text);
    assert_string_equal(buf_string(&text), "sk-abcdef");
    buf_fini(&text);
}
