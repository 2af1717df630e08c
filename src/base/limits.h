// SPDX-License-Identifier: Apache-2.0
/*
 * Every size that a network, a file, a worker or a user can choose, by name. Each has a test at
 * the limit and one past it. Raising one is a change of behaviour and belongs in the CHANGELOG.
 */
#pragma once

#include <stdint.h>

#define LIMIT_KIB 1024L
#define LIMIT_MIB (1024L * 1024L)

/** Agent state in one checkpoint, bytes before compression. */
#define LIMIT_STATE_BYTES (64 * LIMIT_MIB)
/** Custom data (JSON) in one checkpoint, bytes. */
#define LIMIT_CUSTOM_DATA_BYTES (1 * LIMIT_MIB)
/** States at least this large are stored zstd-compressed. */
#define LIMIT_STATE_COMPRESS_FROM_BYTES (4 * LIMIT_KIB)
/** The worker's result file, bytes. */
#define LIMIT_RESULT_FILE_BYTES (2 * LIMIT_MIB)
/** The summary in a finish request, bytes. */
#define LIMIT_SUMMARY_BYTES (16 * LIMIT_KIB)
/** A prompt, bytes. */
#define LIMIT_PROMPT_BYTES (1 * LIMIT_MIB)
/** Prompts longer than this are handed over by file only (Linux caps one string at 128 KiB). */
#define LIMIT_PROMPT_ENV_BYTES (96 * LIMIT_KIB)
/** Worker output that an iteration keeps: its end, bytes. */
#define LIMIT_WORKER_OUTPUT_BYTES (32 * LIMIT_KIB)
/** Verifier output that a condition keeps: its end, bytes. */
#define LIMIT_VERIFIER_OUTPUT_BYTES (8 * LIMIT_KIB)
/** One event's data, bytes of JSON: room for every part at its own limit, escaped. */
#define LIMIT_EVENT_BYTES (16 * LIMIT_MIB)
/** What one reply of a model says (text, thinking, calls, native form), bytes before escaping. */
#define LIMIT_MODEL_REPLY_BYTES (2 * LIMIT_MIB)
/** What a role says of its model beside name, temperature and length, bytes of JSON. */
#define LIMIT_MODEL_EXTRA_BYTES (16 * LIMIT_KIB)
/** Attributes of an event that a library caller adds, bytes of JSON. */
#define LIMIT_EVENT_ATTRIBUTES_BYTES (64 * LIMIT_KIB)
/** Events that best-effort durability keeps in memory while the store fails. */
#define LIMIT_PENDING_EVENTS 10000
/** Bytes of their data. */
#define LIMIT_PENDING_BYTES (16 * LIMIT_MIB)
/** Content of a store that `rondo gc` writes anew to make the file smaller. */
#define LIMIT_COMPACT_BYTES (256 * LIMIT_MIB)
/** Nesting of JSON that is read. */
#define LIMIT_JSON_DEPTH 64
/** Length of an agent id. */
#define LIMIT_AGENT_ID_LEN 128
/** Length of a condition's name. */
#define LIMIT_CONDITION_NAME_LEN 64
/** Exit conditions of one run. */
#define LIMIT_CONDITIONS 32
/** Verifiers of one run that run at the same time. */
#define LIMIT_PARALLEL_VERIFIERS 8
/** Tool calls of one reply that run at the same time. */
#define LIMIT_PARALLEL_TOOL_CALLS 8
/** A shell command (a verifier), bytes. */
#define LIMIT_COMMAND_BYTES (64 * LIMIT_KIB)
/** Arguments of a worker command. */
#define LIMIT_ARGUMENTS 1024
/** The file given with --config, bytes. */
#define LIMIT_CONFIG_FILE_BYTES (256 * LIMIT_KIB)
/** A file that the command line of a sink names, bytes. */
#define LIMIT_SINK_PROGRAM_BYTES (64 * LIMIT_MIB)
/** A record of what was confirmed, bytes of JSON. */
#define LIMIT_TRUST_RECORD_BYTES (64 * LIMIT_KIB)
/** Symbolic links that a path may go through (as the kernel has it). */
#define LIMIT_PATH_LINKS 40
/** A project file (Makefile, package.json, ...) that detection reads, bytes. */
#define LIMIT_PROJECT_FILE_BYTES (1 * LIMIT_MIB)
/** The file that tells whose a project's folder in the state folder is, bytes. */
#define LIMIT_STATE_PROJECT_BYTES (8 * LIMIT_KIB)
/** A store with its log that is copied to be read before it is confirmed, bytes. */
#define LIMIT_STORE_COPY_BYTES (1024 * LIMIT_MIB)
/** A policy text that the store keeps (the texts of a folder together), bytes. */
#define LIMIT_POLICY_BYTES (8 * LIMIT_MIB)
/** Where policies come from (a path), bytes. */
#define LIMIT_POLICY_SOURCE_BYTES 4095
/** Name of the user who changed a policy, bytes. */
#define LIMIT_POLICY_BY_BYTES 255
/** The prompt of a follow-up, bytes. */
#define LIMIT_FOLLOW_UP_PROMPT_BYTES (16 * LIMIT_KIB)
/** A checklist of a heartbeat, bytes. */
#define LIMIT_HEARTBEAT_BYTES (64 * LIMIT_KIB)
/** How far back times of a trigger that were missed are made up for. */
#define LIMIT_CATCH_UP_S (INT64_C(366) * 24 * 3600)
/** The prompt of a start request, bytes: room to be escaped in a document. */
#define LIMIT_START_PROMPT_BYTES (128 * LIMIT_KIB)
/** What a start request says of its event, bytes of JSON. */
#define LIMIT_START_CONTEXT_BYTES (16 * LIMIT_KIB)
/** Key, group or conversation of a start request, bytes. */
#define LIMIT_START_KEY_BYTES (1 * LIMIT_KIB)
/** What a source remembers (its mark), bytes of JSON. */
#define LIMIT_SOURCE_MARK_BYTES (768 * LIMIT_KIB)
/** Start requests of one role that may wait. */
#define LIMIT_QUEUE_LENGTH 10000
/** Refusals of start requests that are kept; older ones are forgotten. */
#define LIMIT_REFUSALS_KEPT 10000
/** Keys of events that one transaction forgets. */
#define LIMIT_KEYS_PURGED 1000
/** Roles that one daemon keeps, and sources of one role. */
#define LIMIT_DAEMON_ROLES 1000
#define LIMIT_ROLE_SOURCES 100
/** A document that the store keeps for a layer above, bytes of JSON. */
#define LIMIT_DOCUMENT_BYTES (1 * LIMIT_MIB)

/** What an agent sends with a request to people, bytes of JSON. */
#define LIMIT_HANDOFF_BODY_BYTES (256 * LIMIT_KIB)
/** Calls of one agent, and of all agents of a store, that wait for the decision of a person. */
#define LIMIT_HANDOFFS_OF_AGENT 64
#define LIMIT_HANDOFFS_OPEN     1024
/** Times that people are asked about the same action in one run. */
#define LIMIT_HANDOFF_REPEATS 64
/** A memory of an agent, bytes. */
#define LIMIT_MEMORY_BYTES (16 * LIMIT_KIB)
/** Its metadata, bytes of JSON. */
#define LIMIT_MEMORY_METADATA_BYTES (16 * LIMIT_KIB)
/** Further words by which it is found, bytes. */
#define LIMIT_MEMORY_GRAMS_BYTES (64 * LIMIT_KIB)
/** Its category, bytes. */
#define LIMIT_MEMORY_CATEGORY_LEN 64
/** Its owner, bytes: an agent, or a name by which agents share memories. */
#define LIMIT_MEMORY_OWNER_LEN 160
/** Its source, bytes. */
#define LIMIT_MEMORY_SOURCE_LEN 64
/** Memories that one owner ever had, those that were forgotten too. */
#define LIMIT_MEMORY_IDS 100000000L
/** Words of one search of memories. */
#define LIMIT_MEMORY_WORDS 16
/** Bytes of one of these words. */
#define LIMIT_MEMORY_WORD_BYTES 128
/** Memories that one search of the store gives. */
#define LIMIT_MEMORY_FOUND 200
/** Bytes of the vector of a memory: one for each dimension. */
#define LIMIT_MEMORY_VECTOR_BYTES (8 * LIMIT_KIB)
/** Bytes of the name of the model of a vector. */
#define LIMIT_MEMORY_MODEL_LEN 160
/** A file of memories that is imported, bytes. */
#define LIMIT_MEMORY_IMPORT_BYTES (256 * LIMIT_MIB)
/** Memories in it. */
#define LIMIT_MEMORY_IMPORT_ROWS 1000000L
/** How long a call of an MCP tool may take that reports progress, nanoseconds: an hour. */
#define LIMIT_MCP_CALL_NS (INT64_C(3600) * 1000000000)
/** A tool's description that an MCP server gives, bytes; more is cut. */
#define LIMIT_MCP_DESCRIPTION_BYTES (8 * LIMIT_KIB)
/** The schema of such a tool, bytes; a tool with a larger one is left out. */
#define LIMIT_MCP_SCHEMA_BYTES (128 * LIMIT_KIB)
/** A question of an agent's to a person, bytes. */
#define LIMIT_CLARIFY_BYTES (4 * LIMIT_KIB)
/** Arguments of a call that a question to a person shows at once, bytes. */
#define LIMIT_QUESTION_BYTES (32 * LIMIT_KIB)
/** Markdown that is laid out, bytes; longer texts are shown as they are. */
#define LIMIT_MARKDOWN_BYTES (64 * LIMIT_KIB)
/** Iteration limits that can be asked for. */
#define LIMIT_MAX_ITERATIONS 1000000000L
/** Checkpoints a run keeps; older ones are pruned. */
#define LIMIT_CHECKPOINTS_KEPT 100
/** Loops that one process may run at once. */
#define LIMIT_LOOPS_PER_PROCESS 10000
/** The largest duration that an option accepts, in nanoseconds: 366 days. */
#define LIMIT_DURATION_NS (INT64_C(366) * 24 * 3600 * 1000000000)
/** A role file or a skill file, bytes. */
#define LIMIT_ROLE_FILE_BYTES (1 * LIMIT_MIB)
/** A regular expression in it, bytes. */
#define LIMIT_PATTERN_BYTES (4 * LIMIT_KIB)
/** Work of one search for it: items tried, and characters that they pass. Half a second. */
#define LIMIT_PATTERN_STEPS 50000000
/** Nesting of the YAML in it, aliases followed. */
#define LIMIT_YAML_DEPTH 64
/** Nodes of the YAML in it, aliases followed. */
#define LIMIT_YAML_NODES 100000
/** Aliases in it. */
#define LIMIT_YAML_ALIASES 1000
/** Findings about one role file. */
#define LIMIT_ROLE_FINDINGS 200
/** Objects in a list of a role file: tools, endpoints, scripts, ... */
#define LIMIT_ROLE_LIST 1000
/** Skills that a role names. */
#define LIMIT_ROLE_SKILLS 64
/** Skills that are offered to a role which does not name them (`auto_skills`). */
#define LIMIT_OFFERED_SKILLS 200
/** Their texts together, bytes. */
#define LIMIT_OFFERED_SKILLS_BYTES (256 * LIMIT_KIB)
/** Names that are looked at in one folder of skills. */
#define LIMIT_SKILL_FOLDER_NAMES 1000
/** Model requests of one agent under way at a time, where it has budgets; further ones wait. */
#define LIMIT_BUDGET_REQUESTS 256
/** The address of a sink of warnings, bytes. */
#define LIMIT_SINK_URL_BYTES 2048
/** Words of a sink's command. */
#define LIMIT_SINK_ARGUMENTS 64
/** One of these words, bytes. */
#define LIMIT_SINK_ARGUMENT_BYTES 4096
/** Agents that a sink names. */
#define LIMIT_SINK_AGENTS 256
/** Pending deliveries of warnings; any beyond are dead-lettered at once. */
#define LIMIT_DELIVERIES_WAITING 10000
/** Dead-lettered deliveries that are kept; older ones are deleted. */
#define LIMIT_DEAD_LETTERS_KEPT 1000
/** Entries of one folder in /etc or /opt that root's sandbox looks at; with more it is hidden. */
#define LIMIT_SANDBOX_SEARCH_ENTRIES 10000
/** Of these, those that not everyone may read; with more the whole folder is hidden. */
#define LIMIT_SANDBOX_SEARCH_PATHS 256
/** Folders below what a sandboxed command may write; with more of them it is not run. */
#define LIMIT_SANDBOX_GIT_FOLDERS 300000
/** The configuration of a git folder that a command left; a larger one is renamed. */
#define LIMIT_SANDBOX_GIT_CONFIG_BYTES (16 * LIMIT_KIB)
/** Of a configuration or hook that was there before a command, compared byte by byte after it. */
#define LIMIT_SANDBOX_GIT_SUM_BYTES (16 * LIMIT_MIB)
/** Warnings that a store keeps; older ones are forgotten. */
#define LIMIT_WARNINGS_KEPT 10000
/** Sinks of a store. */
#define LIMIT_SINKS 64
/** Models that a role falls back to. */
#define LIMIT_MODEL_FALLBACKS 8
/** The secret of a webhook, bytes. */
#define LIMIT_HOOK_SECRET_BYTES (1 * LIMIT_KIB)
/** Signatures in one request that are looked at; any beyond are ignored. */
#define LIMIT_HOOK_SIGNATURES 16
/** The text of a prompt template, bytes. */
#define LIMIT_TEMPLATE_BYTES (64 * LIMIT_KIB)
/** Names in one placeholder of a template, as in {body.a.b}: three. */
#define LIMIT_TEMPLATE_NAMES 16
/** A prompt that is made from a template, bytes. */
#define LIMIT_TEMPLATE_PROMPT_BYTES (128 * LIMIT_KIB)
/** The body of a request to a webhook, bytes. */
#define LIMIT_HOOK_BODY_BYTES (1 * LIMIT_MIB)
/** The id of a delivery, characters. */
#define LIMIT_DELIVERY_ID_LEN 255
/** Requests per minute that a webhook may be set to accept. */
#define LIMIT_HOOK_RATE_PER_MINUTE 1000000
/** Names in the folders of an agent's documents that one reading looks at. */
#define LIMIT_DOCUMENT_NAMES 200000
/** Files that one trigger watches. */
#define LIMIT_WATCH_FILES 10000
/** Their paths, bytes; characters that need an escape count six. */
#define LIMIT_WATCH_PATHS_BYTES (480 * LIMIT_KIB)
/** Folders that one trigger watches. */
#define LIMIT_WATCH_FOLDERS 2000
/** Nesting of these folders. */
#define LIMIT_WATCH_DEPTH 64
/** The token of a Telegram bot, characters. */
#define LIMIT_TELEGRAM_TOKEN_LEN 256
/** An answer of Telegram, bytes. */
#define LIMIT_TELEGRAM_BODY_BYTES (1 * LIMIT_MIB)
/** Conversations of one agent that are kept; those that were used last. */
#define LIMIT_CONVERSATIONS 200
/** Turns of a conversation whose runs its document lists. */
#define LIMIT_CONVERSATION_RUNS 100
/** Messages of a request of a turn, its prompt included. */
#define LIMIT_CONVERSATION_MESSAGES 1000
/** What a turn takes over of one message of an earlier one, bytes. */
#define LIMIT_CONVERSATION_TEXT_BYTES (16 * LIMIT_KIB)
/** What a turn takes over of all earlier ones, bytes. */
#define LIMIT_CONVERSATION_BYTES (128 * LIMIT_KIB)
/** Messages of a bot that wait for their answer. */
#define LIMIT_CHAT_TURNS 100
/** Messages that one answer is sent in; the rest is left out. */
#define LIMIT_CHAT_REPLY_PARTS 5
