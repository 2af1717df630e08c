// SPDX-License-Identifier: Apache-2.0
/* The table of commands. */
#include "cli/commands/policy/commands.h"
#include "cli/commands/run/run_role.h"
#include "cli/commands/sinks/commands.h"
#include "cli/commands/token_commands.h"
#include "cli/commands/tools_source.h"
#include "cli/framework/command.h"

const struct option_row no_options[] = {{0}};

const struct command commands[] = {
    {
        .name = "run",
        .synopsis = "[OPTION...] ROLE",
        .help = "Run the agent of a role file",
        .description =
            "Reads a role file (apiVersion initrunner/v1) and runs its agent. With -p there is one "
            "answer, with -p and -a an autonomous run, otherwise a conversation. Each request to "
            "the model and each call of a tool is journalled before it is made and with its "
            "result; after a crash `rondo resume` goes on behind the last one, and nothing that "
            "was paid for is asked again.\n\n"
            "Keys of models come from the environment, or from a file .env beside the role. What a "
            "role asks for and this version does not do is named in a warning.",
        .examples =
            "rondo run role.yaml -p 'Say hello'\tone answer\n"
            "rondo run role.yaml -p 'Make the tests pass' -a --until all_tests_pass\tuntil it is "
            "proved\n"
            "rondo run role.yaml -p 'Try it' -a --dry-run\twithout a model",
        .options = run_options,
        .completes = COMPLETE_FILE,
        .run = cmd_run,
    },
    {
        .name = "loop",
        .synopsis = "[OPTION...] [--] COMMAND [ARG...]",
        .help = "Run a command in a loop until its exit conditions are met",
        .description =
            "Starts a run: COMMAND is executed once for each iteration, then the exit conditions "
            "are verified, each by a command of its own in a sandbox. The run ends when all are "
            "met, when a limit denies the next iteration, or when the worker says so in its "
            "result file. Progress is journalled as it happens; after a crash, `rondo resume` "
            "goes on at the last checkpoint.\n\n"
            "COMMAND finds RONDO_RUN_ID, RONDO_ITERATION, RONDO_PROMPT, RONDO_STATE_FILE (what it "
            "leaves there it finds again), RONDO_FEEDBACK_FILE (results of the last verification) "
            "and RONDO_RESULT_FILE in its environment.\n\n"
            "A first Ctrl-C stops after a final checkpoint, a second one at once.",
        .examples =
            "rondo loop --until all_tests_pass -- ./fix.sh\tuntil the project's own tests pass\n"
            "rondo loop -n 50 --until 'quick=make quick-check' -- ./fix.sh\twith a check of your "
            "own and a higher limit\n"
            "rondo loop --json -- ./fix.sh | jq .type\tfor programs",
        .options = loop_options,
        .completes = COMPLETE_PROGRAM,
        .run = cmd_loop,
    },
    {
        .name = "resume",
        .synopsis = "[OPTION...] RUN",
        .help = "Go on with a run that was cut off or ended without success",
        .description =
            "Goes on from the newest intact checkpoint and the journal behind it. The iteration "
            "count, limits and budgets go on; at most the one iteration that was cut off runs "
            "again. RUN is an id, the beginning of one, or 'last'. Options given here replace the "
            "recorded ones; exit conditions are fixed for a run.",
        .examples = "rondo resume last\tafter a crash\n"
                    "rondo resume last --max-iterations 100\tafter max_iterations",
        .options = resume_options,
        .completes = COMPLETE_RUN,
        .run = cmd_resume,
    },
    {
        .name = "serve",
        .synopsis = "[OPTION...]",
        .help = "Hold the runs of a store: dashboard, HTTP API, warnings, traces",
        .description =
            "Executes runs that are started over HTTP, takes over those whose process died, warns "
            "people before limits are reached, and shows every run of the store on a live page, "
            "also those that other processes execute. It ends with TERM: iterations under way may "
            "end, then runs are given up where they are and go on with the next start.\n\n"
            "It listens on this machine only unless told otherwise. Your own programs on it need "
            "no token, everybody else does (`rondo token create`). Others call it by an address "
            "in digits, by the name of the machine, or by a name that --host gives. A proxy of "
            "yours is one of your own programs, so with --host, an https --url or "
            "--require-token everybody needs a token; what a proxy says it passes on always "
            "does.\n\n"
            "Traces and metrics go to the collector that OTEL_EXPORTER_OTLP_ENDPOINT names. Under "
            "systemd it tells when it is ready and feeds the watchdog.",
        .examples = "rondo serve\tthe page: http://127.0.0.1:7466\n"
                    "rondo serve --listen 0.0.0.0:7466\tfor other machines, with tokens\n"
                    "rondo serve --host rondo.example.org\tbehind a TLS proxy on this machine\n"
                    "rondo serve --listen unix:/run/user/1000/rondo.sock\ton a Unix socket",
        .options = serve_options,
        .run = cmd_serve,
    },
    {
        .name = "validate",
        .synopsis = "[OPTION...] ROLE...",
        .help = "Say whether role files are right, and what they ask for",
        .description =
            "Reads role files (apiVersion initrunner/v1; - is standard input) and says all that is "
            "wrong with them, each with line, column, the path of the field and what would be "
            "right. Unknown keys and settings without effect are warned of. The exit code is 1 "
            "when a file is not valid.",
        .examples = "rondo validate role.yaml\tis it right?\n"
                    "rondo validate role.yaml --json | jq .spec.guardrails\twith all defaults\n"
                    "rondo validate --strict roles/*.yaml\tin continuous integration",
        .options = validate_options,
        .completes = COMPLETE_FILE,
        .run = cmd_validate,
    },
    {
        .name = "runs",
        .synopsis = "[OPTION...]",
        .help = "List runs",
        .description =
            "Lists the runs of the store, newest first. A run that has not ended is shown as "
            "`running` while somebody executes it, as `paused` when `rondo pause` holds it, as "
            "`parked` when it was given up in good order (a conversation, a run that waits for "
            "its turn in a server, a fork), and as `interrupted` when its process is gone.",
        .options = runs_options,
        .run = cmd_runs,
    },
    {
        .name = "show",
        .synopsis = "[OPTION...] RUN",
        .help = "Show all about one run",
        .description = "Shows what a run was asked to do, how far it came, its exit conditions as "
                       "evaluated last, and why it ended. RUN is an id, the beginning of one, or "
                       "'last'.",
        .options = show_options,
        .completes = COMPLETE_RUN,
        .run = cmd_show,
    },
    {
        .name = "logs",
        .synopsis = "[OPTION...] RUN",
        .help = "Show the journal of a run, also live",
        .description = "Shows every committed event of a run, in order. With -f it goes on until "
                       "the run has ended, whichever process executes it.",
        .examples = "rondo logs last -f\twatch a run of another process\n"
                    "rondo logs last --output\twith what the worker printed",
        .options = logs_options,
        .completes = COMPLETE_RUN,
        .run = cmd_logs,
    },
    {
        .name = "checkpoints",
        .synopsis = "[OPTION...] RUN [N]",
        .help = "List the checkpoints of a run, or show one",
        .description = "Lists the checkpoints of a run, newest first. With N (or 'last') shows one "
                       "whole: its digest is verified first.",
        .examples = "rondo checkpoints last last --raw >state\ttake the agent's state out",
        .options = checkpoints_options,
        .completes = COMPLETE_RUN,
        .run = cmd_checkpoints,
    },
    {
        .name = "stop",
        .synopsis = "[OPTION...] RUN",
        .help = "Stop a run, whoever executes it",
        .description = "Asks the process that executes the run to stop it after a final "
                       "checkpoint, and waits until it has ended. A run that nobody executes is "
                       "ended here. Its status becomes `cancelled`; it can be resumed.",
        .options = stop_options,
        .completes = COMPLETE_RUN,
        .run = cmd_stop,
    },
    {
        .name = "pause",
        .synopsis = "[OPTION...] RUN",
        .help = "Hold a run before its next iteration",
        .description = "Lets the iteration under way end, and no further one begin, until `rondo "
                       "continue` or `rondo resume`. A run in a terminal waits there meanwhile; "
                       "one of `rondo serve` gives its place to others. The time does not count "
                       "against the run's time limit.",
        .examples = "rondo pause last\tlook at what it does\n"
                    "rondo continue last\tand let it go on",
        .options = pause_options,
        .completes = COMPLETE_RUN,
        .run = cmd_pause,
    },
    {
        .name = "continue",
        .synopsis = "[OPTION...] RUN",
        .help = "Let a paused run go on",
        .description = "Ends the pause of a run: whoever executes it goes on with its next "
                       "iteration. A run that nobody executes any more is not executed by this; "
                       "`rondo resume` does that.",
        .options = continue_options,
        .completes = COMPLETE_RUN,
        .run = cmd_continue,
    },
    {
        .name = "limit",
        .synopsis = "[OPTION...] RUN",
        .help = "Change the limits of a run while it goes on",
        .description = "Changes limits in the options of a run that has not ended. They count from "
                       "its next step on: the next iteration, or an agent's next model request. A "
                       "limit below what is used up ends the run there. Limits of the "
                       "administrator's policies stay. For a run that has ended, give them to "
                       "`rondo resume`.",
        .examples = "rondo limit last --max-iterations 50\tgive it more room\n"
                    "rondo limit last --max-cost none\tand no bound of its own on money",
        .options = limit_options,
        .completes = COMPLETE_RUN,
        .run = cmd_limit,
    },
    {
        .name = "fork",
        .synopsis = "[OPTION...] RUN [CHECKPOINT]",
        .help = "Begin a new run where a checkpoint of another stands",
        .description = "Makes a run that is a copy of another one up to a checkpoint: its number, "
                       "or 'last', which is also the default. The other run stays as it is. "
                       "Nothing is executed; `rondo resume` goes on with the new run. Files in "
                       "the workspace are not taken back: both runs work on those of today.",
        .examples = "rondo checkpoints last\twhich there are\n"
                    "rondo fork last 3\ttry again from the third one",
        .options = fork_options,
        .completes = COMPLETE_RUN,
        .run = cmd_fork,
    },
    {
        .name = "policy",
        .synopsis = "COMMAND [OPTION...]",
        .help = "Check, show, change, explain and test the policies of agents",
        .description =
            "Policies say what agents may do: how often to iterate, which tools to call, when to "
            "ask a person. They are written in Cedar, in the file rondo.cedar beside the store "
            "or wherever --policy of a run says, and are asked before every step. A change of the "
            "file counts at the next step of every running loop. Without a file, Rondo's own "
            "policies hold, which are the limits in the options of a run.",
        .examples = "rondo policy check\tis the file right?\n"
                    "rondo policy explain --run last\twhy may this run not go on?\n"
                    "rondo policy set new.cedar\tput others in force, also for running loops",
        .options = no_options,
        .subcommands = policy_commands,
        .run = cmd_group,
    },
    {
        .name = "token",
        .synopsis = "COMMAND [OPTION...]",
        .help = "Make, list and revoke tokens of the API",
        .description = "Tokens let people and programs in that are not your own programs on the "
                       "server's machine. Each has a scope (read, operate or administer) and may "
                       "be limited to agents and to a time. The store keeps digests only, so a "
                       "token is shown once. A running server knows new and revoked ones at once.",
        .examples =
            "rondo token create ada --scope operate\tmay start and stop runs\n"
            "rondo token create board --agent nightly --expires 30d\tmay look at one agent\n"
            "rondo token revoke ada\tnot any more",
        .options = no_options,
        .subcommands = token_commands,
        .run = cmd_group,
    },
    {
        .name = "warnings",
        .synopsis = "[OPTION...]",
        .help = "List what people were warned of",
        .description =
            "Lists warnings, newest first: runs that come near a limit, that policies denied "
            "something, that ended badly or are silent, a store that failed, policies that were "
            "refused. They are made by `rondo serve`, also of runs that other processes execute; "
            "`rondo sinks` says whom they reach.",
        .examples = "rondo warnings --run last\tof one run\n"
                    "rondo warnings -f\tas they come\n"
                    "rondo warnings --kind stalled --json\tfor programs",
        .options = warnings_options,
        .run = cmd_warnings,
    },
    {
        .name = "sinks",
        .synopsis = "COMMAND [OPTION...]",
        .help = "Say where warnings go: webhooks, chats, commands",
        .description =
            "A sink gets each warning once it was made, by `rondo serve`: a webhook with a "
            "signature, a Slack-compatible address, or a command. What cannot be delivered is "
            "tried eight times within nine hours and then kept in a list.",
        .examples = "rondo sinks add ops --webhook https://ops.example.org/rondo\tadd one\n"
                    "rondo sinks test ops\tdoes it arrive?\n"
                    "rondo sinks deliveries --dead\twhat did not?",
        .options = no_options,
        .subcommands = sinks_commands,
        .run = cmd_group,
    },
    {
        .name = "tools",
        .synopsis = "COMMAND [OPTION...]",
        .help = "List and call the tools of roles and MCP servers",
        .description =
            "Tools are what agents can call: built-in ones, and those of servers that speak the "
            "Model Context Protocol. Servers that several roles use are registered once, under "
            "`mcp_servers` in rondo.yaml. These commands show and try them.",
        .examples = "rondo tools list --role role.yaml\twhat this agent can call\n"
                    "rondo tools call --server scanner scan\ttry one",
        .options = no_options,
        .subcommands = tools_commands,
        .run = cmd_group,
    },
    {
        .name = "trust",
        .synopsis = "[OPTION...] [FILE...]",
        .help = "Confirm files in the workspace that decide what Rondo runs",
        .description =
            "Some files decide which programs Rondo starts and which policies apply: rondo.yaml, "
            "role files, policy files. Where agents can write them (in the workspace of a run, or "
            "in a folder given with --sandbox-write), they take effect only with the content that "
            "you confirmed. This command shows what a file decides, asks you, and records its "
            "digest in your state folder, which agents cannot reach.\n\n"
            "A role or a policy file is confirmed when you name it for the first time, in `rondo "
            "run` or with --policy; a rondo.yaml always needs this command. After a change, each "
            "must be confirmed again. In a role file, changes to servers, tools, permissions, "
            "sandbox, limits, exit conditions and the model matter, but not those to the prompt."
            "\n\n"
            "A store that came with a project, or was copied or restored, is read-only until you "
            "confirm it, because a resume executes the commands in it.\n\n"
            "Without FILE, the command checks rondo.yaml, .rondo/rondo.cedar and .rondo/rondo.db "
            "of the "
            "working folder, and the files below it that were confirmed before.",
        .examples = "rondo trust\tconfirm what needs it here\n"
                    "rondo trust rondo.yaml --yes\tin a script that has checked the file\n"
                    "rondo trust --list\tlist confirmed files",
        .options = trust_options,
        .completes = COMPLETE_FILE,
        .run = cmd_trust,
    },
    {
        .name = "gc",
        .synopsis = "[OPTION...]",
        .help = "Delete old runs",
        .description = "Deletes runs that ended long ago, with their journals and checkpoints. "
                       "Runs without a final status and runs that somebody holds stay.",
        .options = gc_options,
        .run = cmd_gc,
    },
    {
        .name = "doctor",
        .synopsis = "[OPTION...]",
        .help = "Say what this machine offers and whether the store is well",
        .description = "Tries the sandbox tiers, looks for tools, checks the store thoroughly, "
                       "and shows limits. The exit code is 1 when something essential is broken.",
        .options = doctor_options,
        .run = cmd_doctor,
    },
    {
        .name = "completion",
        .synopsis = "bash | zsh | fish",
        .help = "Write a completion script for the shell",
        .description = "Writes a script that completes commands, options and runs.",
        .examples = "source <(rondo completion bash)\tin the present shell; the same with zsh\n"
                    "rondo completion fish | source\tin fish",
        .options = no_options,
        .completes = COMPLETE_SHELL,
        .run = cmd_completion,
    },
    {
        .name = "doc",
        .synopsis = "PAGE [COMMAND]",
        .help = "Write reference pages",
        .description =
            "Writes reference pages from the tables of the program: events, options, role, ...; "
            "`man COMMAND` is a manual page.",
        .options = no_options,
        .is_hidden = true,
        .run = cmd_doc,
    },
    {
        .name = "version",
        .synopsis = "[OPTION...]",
        .help = "Show the version",
        .description = "Shows the version of Rondo.",
        .options = version_options,
        .run = cmd_version,
    },
    {
        .name = "help",
        .synopsis = "[COMMAND...]",
        .help = "Show help on a command",
        .description = "Lists the commands, or shows the help of one.",
        .options = no_options,
        .completes = COMPLETE_COMMAND,
        .run = cmd_help,
    },
    {0},
};
