// SPDX-License-Identifier: Apache-2.0
/* The tool `audio`: what is requested of YouTube and of models, and what comes of it. */
#include "../builtin/http_tool_world.h"

#define YOUTUBE_AT_PEER \
    "{\"type\":\"audio\",\"youtube_url\":\"PEER\",\"youtube_languages\":[\"en\"]}"
#define LISTENER(more) "{\"type\":\"audio\",\"transcription_url\":\"PEER/v1\"" more "}"
#define VIDEO          "{\"url\":\"https://youtu.be/dQw4w9WgXcQ\"}"
#define PAGE           "<html>\"INNERTUBE_API_KEY\":\"key9\"</html>"
#define FILE_CALL      "{\"file_path\":\"talk.MP3\"}"

/** The player's reply, with the address of a transcript at the peer. */
static void reply_tracks(struct http_world *self, const char *path)
{
    struct buf reply = {0};
    buf_printf(&reply,
               "{\"captions\":{\"playerCaptionsTracklistRenderer\":{\"captionTracks\":[{"
               "\"baseUrl\":\"%s\",\"languageCode\":\"en\"}]}}}",
               path[0] == '/' ? http_peer_url(self->peer, path) : path);
    http_peer_reply(self->peer, 200, NULL, buf_string(&reply));
    buf_fini(&reply);
}

HTTP_WORLD_TEST(a_transcript_is_fetched_by_way_of_page_and_player)
{
    struct http_world *self = *state;
    http_world_open(self, YOUTUBE_AT_PEER);
    http_peer_reply(self->peer, 200, NULL, PAGE);
    reply_tracks(self, "/api/timedtext?v=1&fmt=srv3");
    http_peer_reply(self->peer, 200, NULL,
                    "<transcript><text start=\"0\">Hello</text><text start=\"2\">you</text>"
                    "</transcript>");
    world_expect(&self->world, "get_youtube_transcript", VIDEO, "Hello you");
    assert_string_equal(http_peer_request(self->peer, 0)->path, "/watch?v=dQw4w9WgXcQ");
    assert_string_equal(http_peer_request(self->peer, 1)->path, "/youtubei/v1/player?key=key9");
    assert_string_equal(http_peer_request(self->peer, 1)->body,
                        "{\"context\":{\"client\":{\"clientName\":\"ANDROID\",\"clientVersion\":"
                        "\"20.10.38\"}},\"videoId\":\"dQw4w9WgXcQ\"}");
    assert_string_equal(http_peer_request(self->peer, 2)->path, "/api/timedtext?v=1");
}

HTTP_WORLD_TEST(a_consent_page_is_answered_once)
{
    struct http_world *self = *state;
    http_world_open(self, YOUTUBE_AT_PEER);
    http_peer_always(self->peer, 200, NULL,
                     "<form action=\"https://consent.youtube.com/s\"><input name=\"v\" "
                     "value=\"cb7\"></form>");
    world_expect_error(&self->world, "get_youtube_transcript", VIDEO,
                       "Error fetching transcript: YouTube's page is not the expected one");
    assert_int_equal(http_peer_request_count(self->peer), 2);
    assert_string_equal(header_of(self, 0, "cookie"), "");
    assert_string_equal(header_of(self, 1, "cookie"), "CONSENT=YES+cb7");
}

HTTP_WORLD_TEST(a_page_does_not_lead_elsewhere)
{
    struct http_world *self = *state;
    http_world_open(self, YOUTUBE_AT_PEER);
    http_peer_reply(self->peer, 200, NULL, PAGE);
    reply_tracks(self, "http://169.254.169.254/latest/meta-data");
    world_expect_error(&self->world, "get_youtube_transcript", VIDEO,
                       "Error fetching transcript: it is not at YouTube");
    assert_int_equal(http_peer_request_count(self->peer), 2);
}

HTTP_WORLD_TEST(what_youtube_refuses_is_told)
{
    struct http_world *self = *state;
    http_world_open(self, YOUTUBE_AT_PEER);
    http_peer_reply(self->peer, 429, NULL, "");
    world_expect_error(&self->world, "get_youtube_transcript", VIDEO,
                       "Error fetching transcript: YouTube answers with status 429");
    http_peer_reply(self->peer, 200, NULL, PAGE);
    http_peer_reply(self->peer, 200, NULL, "no json");
    world_expect_error(&self->world, "get_youtube_transcript", VIDEO,
                       "Error fetching transcript: YouTube's reply is not JSON");
    world_expect_error(&self->world, "get_youtube_transcript", "{\"url\":\"https://a.b/c\"}",
                       "Error: could not extract a YouTube video ID from URL: 'https://a.b/c'");
}

HTTP_WORLD_TEST(a_transcript_is_cut_at_the_roles_limit)
{
    struct http_world *self = *state;
    self->world.around.model_provider = "openai";
    http_world_open(self, LISTENER(",\"max_transcript_chars\":3"));
    world_write(&self->world, "talk.MP3", "abc");
    http_peer_reply(self->peer, 200, NULL, "{\"text\":\"\xc3\xa4\xc3\xb6\xc3\xbc\"}");
    http_peer_reply(self->peer, 200, NULL, "{\"text\":\"\xc3\xa4\xc3\xb6\xc3\xbc!\"}");
    world_expect(&self->world, "transcribe_audio", FILE_CALL, "\xc3\xa4\xc3\xb6\xc3\xbc");
    world_expect(&self->world, "transcribe_audio", FILE_CALL,
                 "\xc3\xa4\xc3\xb6\xc3\xbc\n[truncated]");
}

HTTP_WORLD_TEST(a_file_is_sent_as_a_form_to_a_model_that_transcribes)
{
    struct http_world *self = *state;
    self->world.around.model_provider = "openai";
    self->world.around.model_name = "gpt-5-mini";
    http_world_open(self, LISTENER(""));
    world_write(&self->world, "talk.MP3", "so\xff\x01und");
    http_peer_reply(self->peer, 200, NULL, "{\"text\":\"Hello.\"}");
    world_expect(&self->world, "transcribe_audio", FILE_CALL, "Hello.");
    const struct peer_request *seen = http_peer_request(self->peer, 0);
    assert_string_equal(seen->path, "/v1/audio/transcriptions");
    assert_non_null(strstr(header_of(self, 0, "content-type"), "multipart/form-data; boundary="));
    assert_string_equal(header_of(self, 0, "authorization"), "");
    assert_non_null(strstr(seen->body, "name=\"model\"\r\n\r\nwhisper-1\r\n"));
    assert_non_null(strstr(seen->body, "filename=\"audio.mp3\"\r\nContent-Type: audio/mpeg\r\n\r\n"
                                       "so\xff\x01und\r\n--"));
}

HTTP_WORLD_TEST(a_file_is_sent_in_a_chat_to_a_model_that_also_listens)
{
    struct http_world *self = *state;
    http_world_open(self, LISTENER(",\"transcription_model\":\"openai:gpt-4o-audio-preview\""));
    world_write(&self->world, "talk.MP3", "abc");
    http_peer_reply(self->peer, 200, NULL,
                    "{\"choices\":[{\"message\":{\"content\":\"Hello.\"}}]}");
    world_expect(&self->world, "transcribe_audio", FILE_CALL, "Hello.");
    const struct peer_request *seen = http_peer_request(self->peer, 0);
    assert_string_equal(seen->path, "/v1/chat/completions");
    assert_non_null(strstr(seen->body, "\"model\":\"gpt-4o-audio-preview\""));
    assert_non_null(strstr(seen->body, "\"input_audio\":{\"data\":\"YWJj\",\"format\":\"mp3\"}"));
}

HTTP_WORLD_TEST(what_a_listener_refuses_is_told)
{
    struct http_world *self = *state;
    http_world_open(self, LISTENER(",\"transcription_model\":\"openai:whisper-1\""));
    world_write(&self->world, "talk.MP3", "abc");
    http_peer_reply(self->peer, 400, NULL, "{\"error\":{\"message\":\"too short\"}}");
    http_peer_reply(self->peer, 200, NULL, "[]");
    world_expect_error(&self->world, "transcribe_audio", FILE_CALL,
                       "Error: openai:whisper-1 answers with status 400: too short");
    world_expect_error(&self->world, "transcribe_audio", FILE_CALL,
                       "Error: the reply of openai:whisper-1 has no transcript");
}

HTTP_WORLD_TEST(only_providers_with_a_key_and_such_models_are_asked)
{
    struct http_world *self = *state;
    self->world.around.model_provider = "anthropic";
    self->world.around.model_name = "claude-sonnet-4-5";
    http_world_open(self, "{\"type\":\"audio\"}");
    world_write(&self->world, "talk.MP3", "abc");
    world_expect_error(&self->world, "transcribe_audio", FILE_CALL,
                       "Error: the provider anthropic transcribes nothing; the role can name "
                       "another one: transcription_model: openai:whisper-1");
    assert_int_equal(http_peer_request_count(self->peer), 0);
}

HTTP_WORLD_TEST(without_its_key_a_provider_is_not_asked)
{
    struct http_world *self = *state;
    unsetenv("TOGETHER_API_KEY");
    http_world_open(self, "{\"type\":\"audio\",\"transcription_model\":\"together:whisper\"}");
    world_write(&self->world, "talk.MP3", "abc");
    world_expect_error(&self->world, "transcribe_audio", FILE_CALL,
                       "Error: the environment variable TOGETHER_API_KEY is not set");
}

HTTP_WORLD_TEST(a_file_has_a_kind_and_a_size_and_is_in_the_workspace)
{
    struct http_world *self = *state;
    http_world_open(self, LISTENER(",\"transcription_model\":\"openai:whisper-1\","
                                   "\"max_audio_mb\":0.00001"));
    world_write(&self->world, "talk.MP3", "12345678901");
    world_write(&self->world, "talk.wav", "1234567890");
    http_peer_reply(self->peer, 200, NULL, "{\"text\":\"x\"}");
    world_expect(&self->world, "transcribe_audio", "{\"file_path\":\"talk.wav\"}", "x");
    world_expect_error(&self->world, "transcribe_audio", FILE_CALL,
                       "Error: file is 0.0 MB, exceeds 1e-05 MB limit. Please provide a shorter "
                       "clip or compress the audio.");
    world_expect_error(&self->world, "transcribe_audio", "{\"file_path\":\"notes.txt\"}",
                       "Error: unsupported format. Supported: .flac, .m4a, .mp3, .mp4, .mpeg, "
                       ".ogg, .wav, .webm");
    struct tool_result result =
        world_call(&self->world, "transcribe_audio", "{\"file_path\":\"../../etc/x.mp3\"}");
    assert_true(result.is_error);
    tool_result_fini(&result);
    assert_int_equal(http_peer_request_count(self->peer), 1);
}
