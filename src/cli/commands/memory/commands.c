// SPDX-License-Identifier: Apache-2.0
/* The table of the commands of `rondo memory`. */
#include "cli/commands/memory/commands.h"

#include "store/memories.h"

const struct command memory_commands[] = {
    {
        .name = "memory list",
        .synopsis = "[OPTION...]",
        .help = "List memories, newest first",
        .description = "Lists memories of one agent, or of all.",
        .examples = "rondo memory list --agent fixer --kind procedural\tits procedures",
        .options = memory_list_options,
        .run = cmd_memory_list,
    },
    {
        .name = "memory search",
        .synopsis = "[OPTION...] WORD...",
        .help = "Search memories by words, best first",
        .description =
            "Finds memories that contain any of the words, as the agents' tool `recall` does. "
            "English words are stemmed, longer words of other languages are compared by their "
            "beginning, and Chinese, Japanese, Korean and Thai text by pairs of characters. The "
            "score of the best result is at most 1; age and kind lower it.",
        .examples = "rondo memory search --agent fixer rollback\twhat does it know about this?",
        .options = memory_search_options,
        .run = cmd_memory_search,
    },
    {
        .name = "memory show",
        .synopsis = "[OPTION...] ID",
        .help = "Show one memory in full",
        .description = "Shows a memory with its run, its source and its metadata.",
        .options = memory_show_options,
        .run = cmd_memory_show,
    },
    {
        .name = "memory add",
        .synopsis = "[OPTION...] TEXT|-",
        .help = "Add a memory to an agent",
        .description = "Stores TEXT (- is standard input) as a memory of an agent. Secrets in it "
                       "are redacted. The id is written to standard output.",
        .examples = "rondo memory add --agent fixer 'The staging host is stage-2.'\ta fact",
        .options = memory_add_options,
        .run = cmd_memory_add,
    },
    {
        .name = "memory forget",
        .synopsis = "[OPTION...] [ID...]",
        .help = "Delete memories",
        .description = "Deletes the memories with these ids, or with --all every memory of an "
                       "agent (of one kind, with --kind). Deleted memories cannot be restored.",
        .examples = "rondo memory forget 100000017\tone memory\n"
                    "rondo memory forget --all --agent fixer --kind episodic\tall episodes",
        .options = memory_forget_options,
        .run = cmd_memory_forget,
    },
    {
        .name = "memory consolidate",
        .synopsis = "[OPTION...]",
        .help = "Derive facts from episodes",
        .description =
            "Lets the models of agents derive facts from episodes. By default, this is done for "
            "the ended runs that are due, as `rondo run`, `rondo serve` and `rondo daemon` do "
            "automatically; with --agent, for all episodes of an agent, with the model and the "
            "settings of its newest run. Each episode is used once.",
        .examples = "rondo memory consolidate --agent fixer\tall its episodes, now",
        .options = memory_consolidate_options,
        .run = cmd_memory_consolidate,
    },
    {
        .name = "memory export",
        .synopsis = "[OPTION...]",
        .help = "Write memories as JSON lines",
        .description = "Writes memories to standard output, oldest first, one JSON object per "
                       "line, for `rondo memory import`.",
        .examples = "rondo memory export --agent fixer >fixer.jsonl\ta backup",
        .options = memory_export_options,
        .run = cmd_memory_export,
    },
    {
        .name = "memory import",
        .synopsis = "[OPTION...] FILE",
        .help = "Import memories from a file",
        .description =
            "Imports what `rondo memory export` wrote, or a memory store of InitRunner 1.0 to 1.2 "
            "(SQLite; give the agent with --agent). Memories that the agent already has are "
            "skipped, so an import can be repeated. Secrets are redacted.",
        .examples =
            "rondo memory import --agent fixer ~/.initrunner/memory/fixer.db\tfrom InitRunner",
        .options = memory_import_options,
        .completes = COMPLETE_FILE,
        .run = cmd_memory_import,
    },
    {0},
};

const struct option_choice memory_kind_choices[] = {
    {"episodic", STORE_EPISODIC + 1},
    {"semantic", STORE_SEMANTIC + 1},
    {"procedural", STORE_PROCEDURAL + 1},
    {0},
};

uint32_t memory_kind_bits(int64_t choice)
{
    return choice == 0 ? 0 : UINT32_C(1) << (choice - 1);
}
