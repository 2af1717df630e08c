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
/** Length of the name of a server, and of a label. */
#define LIMIT_LABEL_LEN 63
/** Labels of a server, or of the pool of a run. */
#define LIMIT_LABELS 8
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
/** The address of a store in a database, bytes. */
#define LIMIT_STORE_ADDRESS_BYTES (4 * LIMIT_KIB)
/** A store with its log that is copied to be read before it is confirmed, bytes. */
#define LIMIT_STORE_COPY_BYTES (1024 * LIMIT_MIB)
/** What one transaction of a copy writes (`rondo store copy`): bytes, unless one part has more, and
 * parts. */
#define LIMIT_STORE_PIECE_BYTES (4 * LIMIT_MIB)
#define LIMIT_STORE_PIECE_PARTS 4096
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
/** Bytes of a comment of a person, and of the constraints of a decision. */
#define LIMIT_HANDOFF_COMMENT_BYTES (4 * LIMIT_KIB)
/** Supervisors of a request that are looked at. */
#define LIMIT_HANDOFF_SUPERVISORS 64
/** Questions that a person asks at once, and bytes of one of them. */
#define LIMIT_HANDOFF_QUESTIONS      16
#define LIMIT_HANDOFF_QUESTION_BYTES LIMIT_KIB
/** Calls of one agent, and of all agents of a store, that wait for the decision of a person. */
#define LIMIT_HANDOFFS_OF_AGENT 64
#define LIMIT_HANDOFFS_OPEN     1024
/** Files that a call may name when a person must decide about it, and bytes of them that are read:
 * of the others it is compared what the system says of them. */
#define LIMIT_OPERANDS      64
#define LIMIT_OPERAND_BYTES ((size_t)32 * 1024 * 1024)
/** Words of the call that may be names of files. */
#define LIMIT_OPERAND_WORDS 16384
/** Folders that a command names, in which its words may be names of files, too. */
#define LIMIT_OPERAND_FOLDERS 16
/** Files that a pattern such as *.sh may match, and names that are looked at for that. */
#define LIMIT_OPERAND_MATCHES 1000
#define LIMIT_OPERAND_ENTRIES 50000
/** Calls that an agent may make to find answers to questions of people, the call itself counted. */
#define LIMIT_EVIDENCE_CALLS 16
/** Bytes of the answers. */
#define LIMIT_HANDOFF_ANSWER_BYTES ((size_t)16 * 1024)
/** Percent of them that are kept for critical actions. */
#define LIMIT_HANDOFFS_KEPT 20
/** Percent of the places of a store above which people are too few. */
#define LIMIT_HANDOFFS_CROWDED 80
/** The same of one lane; and the most that a desk file can set of any of them. */
#define LIMIT_HANDOFFS_OF_LANE  8
#define LIMIT_HANDOFFS_SETTABLE 200000
/** Days in which the id of a signed request counts once. */
#define LIMIT_SIGNATURE_ID_DAYS 8
/** Seconds that the former secret of a token may count beside a new one. */
#define LIMIT_KEY_OVERLAP_S (30 * 24 * 3600)
/** A desk file, bytes; its people, its desks or rules, and names in one list. */
#define LIMIT_DESKS_BYTES  (1 * LIMIT_MIB)
#define LIMIT_DESKS_PEOPLE ((size_t)10000)
#define LIMIT_DESKS        ((size_t)1000)
#define LIMIT_DESKS_NAMES  ((size_t)1000)
/** Times that an agent may answer questions, and steps of a ladder, that it can set. */
#define LIMIT_DESKS_REWORK 100
#define LIMIT_DESKS_LADDER 8
/** Lanes of one foreign agent. */
#define LIMIT_LANES_OF_AGENT 1024
/** Evaluations of foreign actions that are kept, that wait to be written, bytes of a context. */
#define LIMIT_EVALUATIONS              10000
#define LIMIT_EVALUATIONS_WAITING      2048
#define LIMIT_EVALUATION_CONTEXT_BYTES (4 * LIMIT_KIB)
/** Requests of agents that were refused and are kept as dead letters; those of one token. */
#define LIMIT_INTAKE_LETTERS           1000
#define LIMIT_INTAKE_LETTERS_OF_CALLER 100
/** Bytes of a text in a receipt or a finding. */
#define LIMIT_RECEIPT_NOTE_BYTES LIMIT_KIB
/** Times that people are asked about the same action in one run. */
#define LIMIT_HANDOFF_REPEATS 64
/** Entries of an audit chain after which its head is signed at the latest. */
#define LIMIT_AUDIT_HEAD_ENTRIES 1000
/** Signing keys of a user, the present one and former ones, and the file that they are in. */
#define LIMIT_AUDIT_KEYS           32
#define LIMIT_AUDIT_KEY_FILE_BYTES (16 * LIMIT_KIB)
/** A line of an exported audit chain, bytes. */
#define LIMIT_AUDIT_LINE_BYTES (2 * LIMIT_MIB)
/** A JSON pointer of a rule that hides values: bytes, and segments. */
#define LIMIT_POINTER_BYTES    1024
#define LIMIT_POINTER_SEGMENTS 32
/** Hidden texts of one document whose copies in it are hidden, too. */
#define LIMIT_REDACTED_TEXTS 64
/** Entries of the audit chain, the newest ones, of which statistics are made. */
#define LIMIT_STATS_ENTRIES 100000
/** Classes of triggers, rules and desks in statistics; the others are counted together. */
#define LIMIT_STATS_CLASSES 64
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
/** Files up to which each event stores what is known of all; with more, each batch does. */
#define LIMIT_WATCH_MARK_FILES 256
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
/** A mail that is read, bytes; the rest of a longer one is not. A session with a mail server. */
#define LIMIT_MAIL_BYTES         (4 * LIMIT_MIB)
#define LIMIT_MAIL_SESSION_BYTES (16 * LIMIT_MIB)
/** A query for mails, the name of a folder, and a Message-ID, bytes. */
#define LIMIT_MAIL_QUERY_BYTES  1000
#define LIMIT_MAIL_FOLDER_BYTES 500
#define LIMIT_MAIL_ID_BYTES     500
/** Mails of a search. Recipients of a mail, and the text of one that is sent, bytes. */
#define LIMIT_MAIL_RESULTS    100
#define LIMIT_MAIL_RECIPIENTS 50
#define LIMIT_MAIL_TEXT_BYTES (1 * LIMIT_MIB)
/** Roles that a run can give work to, those of others included; their bytes in its options. */
#define LIMIT_DELEGATES       16
#define LIMIT_DELEGATES_BYTES (1 * LIMIT_MIB)
/** How deep runs may be nested by it, whatever a role says. */
#define LIMIT_DELEGATION_DEPTH 8
/** What is given to another agent, bytes. */
#define LIMIT_DELEGATION_BYTES (256 * LIMIT_KIB)
/** Old messages that a model summarises, bytes of text. */
#define LIMIT_COMPACTION_BYTES (256 * LIMIT_KIB)
/** What is kept of its summary, bytes. */
#define LIMIT_COMPACTION_SUMMARY_BYTES (16 * LIMIT_KIB)
/** Messages of a bot that wait for their answer. */
#define LIMIT_CHAT_TURNS 100
/** Messages that one answer is sent in; the rest is left out. */
#define LIMIT_CHAT_REPLY_PARTS 5
/** Output of git that is read as a whole, and lists of paths or commits by git, bytes. */
#define LIMIT_GIT_OUTPUT_BYTES ((size_t)(16 * LIMIT_MIB))
#define LIMIT_GIT_LIST_BYTES   ((size_t)(64 * LIMIT_MIB))
/** Files that an attempt may have changed, and their bytes together. */
#define LIMIT_GIT_CHANGES       200000
#define LIMIT_GIT_CHANGED_BYTES (1024 * LIMIT_MIB)
/** Folders in the working tree of an attempt. */
#define LIMIT_GIT_FOLDERS 300000
/** A .gitignore, .gitattributes or .gitmodules in it, and all of them together, bytes. */
#define LIMIT_GIT_RULES_BYTES     LIMIT_MIB
#define LIMIT_GIT_RULES_SUM_BYTES ((uint64_t)(64 * LIMIT_MIB))
/** The patch of an attempt, bytes; more is cut. */
#define LIMIT_GIT_PATCH_BYTES ((size_t)(64 * LIMIT_MIB))
/** A difference, or a progress log, that is shown to people, bytes; more is cut. */
#define LIMIT_SHOWN_DIFF_BYTES     ((size_t)LIMIT_MIB)
#define LIMIT_SHOWN_PROGRESS_BYTES ((size_t)(256 * LIMIT_KIB))
/** Changed files of a person that are listed by name. */
#define LIMIT_GIT_DIRTY 100
/** Drivers in the settings of git (filters, diffs) that are switched off by name, settings. */
#define LIMIT_GIT_DRIVERS 512
/** A file of git's records of a working tree, bytes. Working trees of one repository. */
#define LIMIT_GIT_RECORD_BYTES (16 * LIMIT_KIB)
#define LIMIT_GIT_WORKTREES    10000
/** A hook whose content is compared, bytes; of a larger one the size and time are. */
#define LIMIT_GIT_HOOK_BYTES (4 * LIMIT_MIB)
/** A commit message without trailers, and the name of a branch, bytes. */
#define LIMIT_GIT_MESSAGE_BYTES (64 * LIMIT_KIB)
#define LIMIT_GIT_BRANCH_BYTES  200
/** The address of a remote, bytes. */
#define LIMIT_GIT_ADDRESS_BYTES 4096
/** A token that is given to git, and its user, bytes. */
#define LIMIT_GIT_TOKEN_BYTES 4096
/** Claims of a remote that are looked at; the text of one, bytes. */
#define LIMIT_GIT_CLAIMS      2000
#define LIMIT_GIT_CLAIM_BYTES ((size_t)(4 * LIMIT_KIB))
/** A file of tasks (prd.json, a PRD in Markdown, a .feature file), bytes. */
#define LIMIT_PRD_FILE_BYTES (8 * LIMIT_MIB)
/** Tasks in it; criteria of one task; dependencies of one task. */
#define LIMIT_PRD_TASKS        10000
#define LIMIT_PRD_CRITERIA     1000
#define LIMIT_PRD_DEPENDENCIES 1000
/** The id of a task, bytes; its title, bytes. */
#define LIMIT_PRD_ID_BYTES    128
#define LIMIT_PRD_TITLE_BYTES (4 * LIMIT_KIB)
/** Findings about one PRD that are kept; more are counted. */
#define LIMIT_PRD_FINDINGS 200
/** How long a change of a PRD waits for another process that changes the same file. */
#define LIMIT_PRD_LOCK_NS (INT64_C(10) * 1000000000)
/** A progress log that is appended to and read, bytes; one entry of it. */
#define LIMIT_PROGRESS_BYTES       (64 * LIMIT_MIB)
#define LIMIT_PROGRESS_ENTRY_BYTES (64 * LIMIT_KIB)
/** Archives of one name and day. */
#define LIMIT_PRD_ARCHIVES 1000
/** A line that a coding agent's command line writes, bytes: of JSON (a longer one is passed over)
 * and of text (a longer one is cut). */
#define LIMIT_CODING_LINE_BYTES      ((size_t)4 * 1024 * 1024)
#define LIMIT_CODING_TEXT_LINE_BYTES ((size_t)8 * 1024)
/** Messages and tool calls of a coding agent that one attempt records, and bytes of one text. */
#define LIMIT_CODING_EVENTS     2000
#define LIMIT_CODING_TEXT_BYTES (4 * LIMIT_KIB)
/** What a coding agent gets of the verification before, bytes. */
#define LIMIT_CODING_FEEDBACK_BYTES (24 * LIMIT_KIB)
/** Attempts of one iteration that a quota cut off, those of a PRD's task that an overloaded service
 * did, and the longest wait for one. */
#define LIMIT_CODING_QUOTA_WAITS  50
#define LIMIT_CODING_TASK_REPEATS 8
#define LIMIT_CODING_WAIT_NS      (INT64_C(8) * 24 * 3600 * 1000000000)
/** A file that describes a coding agent, bytes, and words of one of its lists. */
#define LIMIT_CODING_FILE_BYTES (64 * LIMIT_KIB)
#define LIMIT_CODING_WORDS      ((size_t)64)
/** The time in which a coding agent must say its version. */
#define LIMIT_CODING_VERSION_NS (INT64_C(3) * 1000000000)
/** A claim of an issue as others wrote it, bytes; the name of its owner in it. */
#define LIMIT_CLAIM_BYTES       (4 * LIMIT_KIB)
#define LIMIT_CLAIM_OWNER_BYTES 200
/** Attempts and takeovers that a claim may say. */
#define LIMIT_CLAIM_COUNT 1000000
/** Claims in comments that one claim says to have taken over: the newest ones. */
#define LIMIT_CLAIM_SUPERSEDED 32
/** What a work item keeps of its issue's title and of each address, and its message, bytes. */
#define LIMIT_ITEM_TITLE_BYTES   300
#define LIMIT_ITEM_URL_BYTES     2048
#define LIMIT_ITEM_MESSAGE_BYTES (2 * LIMIT_KIB)
/** Notes of its history that are kept, the newest ones, and one of them, bytes. */
#define LIMIT_ITEM_HISTORY 200
/** Runs of the last day whose use is kept: what more use is added up. */
#define LIMIT_ITEM_USES 32
/** Parts of one issue that are tasks of its run. */
#define LIMIT_ISSUE_PLAN      100
#define LIMIT_ITEM_NOTE_BYTES 500
/** Texts for a forge: the title of a pull request; its body, or a comment; the agent's summary in
 * it; the output of a check, or a log, of which the end is kept; bytes. Checks that are listed. */
#define LIMIT_PULL_TITLE_BYTES   200
#define LIMIT_FORGE_POST_BYTES   ((size_t)60000)
#define LIMIT_POST_SUMMARY_BYTES (4 * LIMIT_KIB)
#define LIMIT_POST_OUTPUT_BYTES  (4 * LIMIT_KIB)
#define LIMIT_POST_CHECKS        20
/** What an agent gets of an issue: its text, one comment, all comments, bytes; comments. Together
 * with what is around them no more than a prompt shows of a task (32 KiB, work/prompt.c). */
#define LIMIT_TASK_BODY_BYTES     (16 * LIMIT_KIB)
#define LIMIT_TASK_COMMENT_BYTES  (4 * LIMIT_KIB)
#define LIMIT_TASK_COMMENTS_BYTES (8 * LIMIT_KIB)
#define LIMIT_TASK_COMMENTS       20
/** The part of an issue's title in the name of a branch, bytes. */
#define LIMIT_BRANCH_TITLE_BYTES 40
/** Issues of one queue that wait because they could not be claimed or were skipped. */
#define LIMIT_ISSUES_COOLING 10000
/** Attempts at tasks of a PRD at the same time; attempts at one task. */
#define LIMIT_WORK_JOBS     16
#define LIMIT_WORK_ATTEMPTS 20
/** Repositories that one server works on. */
#define LIMIT_WORK_QUEUES 100
/** Branches of other tasks that an attempt begins from. */
#define LIMIT_WORK_STARTS 32
/** What the next attempt is told of the output of the last one, bytes. */
#define LIMIT_WORK_OUTPUT_BYTES (8 * LIMIT_KIB)
/** What a prompt for a task shows of the progress log, bytes; and of its entries, at most. */
#define LIMIT_WORK_PROGRESS_BYTES   (16 * LIMIT_KIB)
#define LIMIT_WORK_PROGRESS_ENTRIES 5
/** Files of a commit that the journal names. */
#define LIMIT_WORK_FILES 50
/** One answer of a forge, bytes: 100 issues whose texts are as long as GitHub lets them be. */
#define LIMIT_FORGE_ANSWER_BYTES (48 * LIMIT_MIB)
/** Values (texts, numbers, lists, objects) of one answer. */
#define LIMIT_FORGE_VALUES ((size_t)300000)
/** Issues of one list, the oldest ones, and their texts together, bytes. Of comments likewise. */
#define LIMIT_FORGE_ISSUES     ((size_t)10000)
#define LIMIT_FORGE_COMMENTS   ((size_t)2000)
#define LIMIT_FORGE_LIST_BYTES ((size_t)(64 * LIMIT_MIB))
/** The text of an issue or comment, bytes; more is cut. Its title likewise. */
#define LIMIT_FORGE_TEXT_BYTES  ((size_t)(64 * LIMIT_KIB))
#define LIMIT_FORGE_TITLE_BYTES ((size_t)(1 * LIMIT_KIB))
/** Labels or assignees of an issue; one name, bytes: a longer one is left out. */
#define LIMIT_FORGE_NAMES      200
#define LIMIT_FORGE_NAME_BYTES 255
/** Accounts that may write in a repository; further ones are strangers. Parts of one issue. */
#define LIMIT_FORGE_MEMBERS  ((size_t)10000)
#define LIMIT_FORGE_CHILDREN ((size_t)500)
/** The address of a page, bytes. A token of a forge, characters. */
#define LIMIT_FORGE_URL_BYTES 2048
#define LIMIT_FORGE_TOKEN_LEN 4096
